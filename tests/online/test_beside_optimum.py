"""No policy beats the exact optimum, with or without preemption, and no bound exceeds it."""

from __future__ import annotations

from random import Random

import preemptive_optimum
import pytest
import wide_optimum
from depth import first
from wide_instances import OBJECTIVES, PLAYED, random_wide, steady

from rarmodel import registry
from rarmodel.engine.arrays import NEVER
from rarmodel.model.features import PREEMPTION, RESERVATIONS
from rarmodel.model.objectives import Value
from rarmodel.online.play import play
from rarmodel.online.verified_play import proven_of, schedule_of, unsuitable
from rarmodel.schema import Instance
from rarmodel.verifier import verify

LATEST = 7
POLICIES = [one for one in registry.parts("policies") if one.name != "replan" and not one.packs]


def tiny(random: Random, *, preemption: bool) -> Instance:
    """Two or three jobs on at most 4 GPUs."""
    while True:
        features = {*random.sample(PLAYED, random.randint(0, 3))}
        features -= set() if preemption else {RESERVATIONS.name}
        found = random_wide(
            random,
            features | ({PREEMPTION.name} if preemption else set()),
            jobs=2 if preemption else 3,
            servers=random.randint(1, 3),
            objectives=OBJECTIVES,
            most_slots=4,
            stall=random.random() < 0.3,
        )
        if sum(server.gpus for server in found.cluster.servers) <= 4:
            return found if preemption else steady(found)


def best_of(instance: Instance) -> dict[str, Value] | None:
    """The least value of each objective over all schedules that end by LATEST."""
    if instance.preemption is not None:
        return preemptive_optimum.optima(instance, LATEST)
    return wide_optimum.optima(instance, LATEST)


def check(seed: int, *, preemption: bool) -> int:
    """Compare each policy with the optimum; how many schedules were compared."""
    random = Random(seed)
    instance = tiny(random, preemption=preemption)
    best = best_of(instance)
    if best is None:
        return 0
    compared = 0
    for policy in POLICIES:
        if unsuitable(instance, policy):
            continue
        placement = registry.find("placements", random.choice(registry.names("placements")))
        rounds = random.choice([None, 1, 2])
        played = play(instance, policy, placement, round_slots=rounds)
        ends = played.completion
        if (ends == NEVER).any() or ends.max() > LATEST:
            continue
        schedule = schedule_of(instance, played.jobs, played.stays, policy.name)
        if not verify(instance, schedule).feasible:  # It misses a deadline.
            continue
        for name, proven in proven_of(instance, played).items():
            assert proven.value is not None
            assert proven.bound <= best[name] <= proven.value, (policy.name, name)
        compared += 1
    return compared


@pytest.mark.parametrize("part", first(1, range(4)))
@pytest.mark.parametrize("preemption", [False, True])
def test_no_policy_beats_the_optimum(part: int, *, preemption: bool) -> None:
    seeds = range(10 * part, 10 * part + 10)
    assert sum(check(seed, preemption=preemption) for seed in seeds) > 30


@pytest.mark.slow
@pytest.mark.parametrize("preemption", [False, True])
@pytest.mark.parametrize("first", range(1000, 4000, 100))
def test_no_policy_beats_more_optima(first: int, *, preemption: bool) -> None:
    assert sum(check(seed, preemption=preemption) for seed in range(first, first + 100)) > 0
