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
from rarmodel.model.features import RESERVATIONS, RING_SIZES
from rarmodel.online.play import Played, play
from rarmodel.online.verified_play import LATE, schedule_of, unsuitable
from rarmodel.schema import Instance
from rarmodel.schema.schedule import Assignment
from rarmodel.verifier import verify

QUICK = [one.name for one in registry.parts("policies") if one.name != "replan" and not one.packs]


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
@examples(6)
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


def _in_two_racks(*jobs: dict[str, object]) -> Instance:
    """Jobs of an hour on two racks of two servers with 4 GPUs each."""
    links = [
        {"node": f"s{i}", "parent": f"rack{i // 2}", "gbps": 10.0, "level": "server"}
        for i in range(4)
    ]
    links += [
        {"node": f"rack{i}", "parent": "spine", "gbps": 10.0, "level": "rack"} for i in range(2)
    ]
    work = {"iterations": 60, "gradient_mb": 0.0, "batch_size": 1, "forward_ms_per_sample": 0.0}
    return Instance.model_validate(
        {
            "schema_version": 1,
            "name": "racks",
            "time": {"slot_seconds": 60.0},
            "cluster": {
                "servers": [{"name": f"s{i}", "gpus": 4} for i in range(4)],
                "network": {"kind": "tree", "links": links},
                "intra_server_gbps": 100.0,
                "reduction_gbps": 100.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.0},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": [{**work, "backward_ms": 60_000.0, **job} for job in jobs],
        }
    )


@pytest.mark.parametrize("placement", registry.names("placements"))
def test_ring_within_a_rack_waits_for_room_in_one_rack(placement: str) -> None:
    first = {"gpus": 2, "spread": {"min_servers": 1}}
    instance = _in_two_racks(
        {"name": "a", **first, "servers": ["s0"], "iterations": 10},
        {"name": "b", **first, "servers": ["s2"]},
        {"name": "ring", "gpus": 8, "spread": {"within": "rack"}},
    )
    found = rarmodel.simulate(instance, policy="fifo", placement=placement)
    assert found.schedule is not None
    ring = found.schedule.assignments[2]
    assert isinstance(ring, Assignment)
    # 12 GPUs are idle at once, but no rack has 8 before `a` ends.
    assert ring.start == 10
    assert set(ring.gpus) == {"s0", "s1"}
