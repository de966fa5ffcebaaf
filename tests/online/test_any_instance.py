"""Every policy and placement, on instances that use everything: what comes out is a schedule."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from wide_instances import PLAYED, random_wide, steady, with_interruptions

import rarmodel
from rarmodel import registry
from rarmodel.engine import evaluate
from rarmodel.engine.arrays import NEVER
from rarmodel.errors import UsageError
from rarmodel.model.features import LEVELS, RESERVATIONS, RING_SIZES
from rarmodel.online.play import Played, play
from rarmodel.online.verified_play import LATE, schedule_of, unsuitable
from rarmodel.schema import Instance
from rarmodel.verifier import verify

QUICK = [one.name for one in registry.parts("policies") if one.name != "replan"]


def any_instance(random: Random, *, preemption: bool, elastic: bool = False) -> Instance:
    """An instance with some of all features, perhaps with preemption; elastic if it must be."""
    while True:
        found = _any_instance(random, preemption=preemption, elastic=elastic)
        if not elastic or any(len(job.sizes) > 1 for job in found.jobs):
            return found


def _any_instance(random: Random, *, preemption: bool, elastic: bool) -> Instance:
    features = [name for name in PLAYED if random.random() < 0.5]
    if elastic:
        features = [*{*features, RING_SIZES.name}]
    if not preemption:
        features = [name for name in features if name != RESERVATIONS.name]
    instance = random_wide(
        random, features, jobs=random.randint(1, 6), servers=random.randint(1, 4)
    )
    if not preemption:
        return steady(instance)
    restore = random.choice([0.0, 1.0, 2.5]) * instance.time.slot_seconds
    return with_interruptions(random, instance, restore)


@pytest.mark.parametrize("policy", QUICK)
@examples(10)
@given(
    seed=st.integers(0, 2**32),
    placement=st.sampled_from(registry.names("placements")),
    preemption=st.booleans(),
    rounds=st.sampled_from([None, 1, 3]),
)
def test_what_is_played_is_what_verifier_and_engine_read(
    policy: str, seed: int, placement: str, rounds: int | None, *, preemption: bool
) -> None:
    rule = registry.find("policies", policy)
    instance = any_instance(Random(seed), preemption=preemption, elastic=rule.elastic)
    assert unsuitable(instance, rule) is None
    found = play(instance, rule, registry.find("placements", placement), round_slots=rounds, seed=1)
    if (found.completion == NEVER).any():
        return
    _agrees(instance, found)


def _agrees(instance: Instance, found: Played) -> None:
    schedule = schedule_of(instance, found.jobs, found.stays, "policy")
    ends = {
        instance.jobs[j].name: end
        for j, end in zip(found.jobs.index.tolist(), found.completion.tolist(), strict=True)
    }
    for slot_by_slot in (False, True):
        report = verify(instance, schedule, slot_by_slot=slot_by_slot)
        assert [one for one in report.violations if one.constraint not in LATE] == []
        assert report.completion == ends
        lost = zip(found.jobs.index.tolist(), found.lost.tolist(), strict=True)
        assert report.lost == {instance.jobs[j].name: n for j, n in lost if n}
    carried_out = evaluate(instance, schedule).completion.tolist()
    assert carried_out == [ends[job.name] for job in instance.jobs]


def test_levels_are_refused_in_one_line() -> None:
    for seed in range(20):
        instance = random_wide(Random(seed), [LEVELS.name], jobs=2, servers=4)
        if any(job.spread is not None and job.spread.within is not None for job in instance.jobs):
            with pytest.raises(UsageError, match=r"^simulate does not handle levels \(.*\)"):
                rarmodel.simulate(instance, policy="fifo")
            return
    pytest.fail("no ring was drawn that must stay within a level")
