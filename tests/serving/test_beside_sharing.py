"""Services beside jobs that share GPUs: each way to solve, beside the best of all schedules."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import pytest
from depth import first
from replicas_by_gpu import Beside, best_of_all, random_both
from wide_instances import FEATURES, OBJECTIVES

import rarmodel
from rarmodel.bounds import best_bound, value_bounds
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

NAMES = [name for name in FEATURES if name in TIME_INDEXED.handles]
SEEDS = first(6, range(100))


@cache
def drawn(seed: int) -> tuple[Instance, tuple[Value, ...], Schedule]:
    """The next small instance from a seed on that has a schedule, and its best one."""
    random = Random(seed)
    while True:
        some = NAMES if seed % 2 else random.sample(NAMES, random.randint(0, 5))
        objectives = random.sample(OBJECTIVES, 2)
        found = random_both(
            random, some, shared=seed % 3 != 2, jobs=2, most_slots=2, objectives=objectives
        )
        if horizon_of(found) > 5 or Beside(found).many(60):
            continue
        if (best := best_of_all(found)) is not None:
            return found, *best


@pytest.mark.parametrize("seed", SEEDS)
def test_no_bound_is_above_the_best_schedule(seed: int) -> None:
    instance, _, schedule = drawn(seed)
    report = verify(instance, schedule)
    assert best_bound(instance).slots <= (report.makespan or 0)
    assert report.objective is not None
    for bound, value in zip(value_bounds(instance), report.objective.values(), strict=True):
        assert bound.value <= value


@pytest.mark.parametrize("seed", SEEDS)
def test_both_together_are_proven_to_be_the_best(seed: int) -> None:
    instance, best, _ = drawn(seed)
    result = rarmodel.solve(instance, formulation="time-indexed")
    assert result.status == "optimal", result.stopped
    assert tuple(goal.value for goal in result.objective) == best
    assert result.schedule is not None
    assert verify(instance, result.schedule, slot_by_slot=True).feasible


@pytest.mark.parametrize(
    "way", [{"method": "fifo-backfill"}, {"method": "shortest-first"}, {"iterations": 3}]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_replicas_first_are_never_better(seed: int, way: dict[str, Any]) -> None:
    instance, best, _ = drawn(seed)
    result = rarmodel.solve(instance, **way)
    for goal, value in zip(result.objective[:1], best, strict=False):
        assert goal.bound is None or goal.bound <= value
    if result.schedule is None:
        assert result.status == "unknown"
        return
    report = verify(instance, result.schedule, slot_by_slot=True)
    assert report.feasible, report.violations
    assert report.objective is not None
    assert tuple(report.objective.values()) >= best


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replica_less_changes_no_completion_and_less_demand_makes_nothing_worse(
    seed: int,
) -> None:
    instance, best, schedule = drawn(seed)
    whole = verify(instance, schedule)
    for i in range(len(schedule.services)):
        kept = schedule.services[:i] + schedule.services[i + 1 :]
        less = verify(instance, schedule.model_copy(update={"services": kept}))
        assert less.completion == whole.completion
        assert {one.constraint for one in less.violations} <= {"demand", "accuracy"}
    (asked,) = instance.services
    entries = tuple(
        one.model_copy(update={"requests_per_second": one.requests_per_second / 2})
        for one in asked.demand
    )
    easier = instance.model_copy(
        update={"services": (asked.model_copy(update={"demand": entries}),)}
    )
    found = best_of_all(easier)
    assert found is not None
    assert found[0] <= best
