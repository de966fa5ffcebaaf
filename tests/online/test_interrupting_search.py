"""`search` where jobs may be interrupted: its schedules beside optima, and beside none of those."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from by_hand import worked
from depth import first
from preemptive_optimum import optima
from wide_instances import FEATURES, OBJECTIVES, random_wide

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.model import never_complete
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Instance

LATEST = 7


def asked(instance: Instance, *objectives: str) -> Instance:
    return instance.model_copy(update={"objective": objectives})


@pytest.mark.parametrize("seed", first(10, range(25)))
def test_no_schedule_is_better_than_every_choice_allows(seed: int) -> None:
    random = Random(seed)
    features = {PREEMPTION.name, *random.sample(FEATURES, random.randint(0, 3))}
    while True:
        instance = random_wide(random, features, jobs=2, servers=2, most_slots=3)
        if instance.cluster.total_gpus <= 4 and not never_complete(instance):
            break
    name = random.choice(OBJECTIVES)
    found = rarmodel.solve(asked(instance, name), method="search", iterations=20, seed=seed)
    best = optima(asked(instance, name), LATEST)
    if found.schedule is None or best is None:
        pytest.skip("one of them has no schedule")
    assert found.report is not None
    assert found.report.feasible
    assert found.report.makespan is not None
    if found.report.makespan <= LATEST:
        assert found.objective[0].value is not None
        assert found.objective[0].value >= best[name]
    assert found.objective[0].bound is not None
    assert found.objective[0].bound <= best[name]


LONG_AND_SHORT: list[Mapping[str, Any]] = [
    {"slots": 20, "gpus": 4},
    {"slots": 2, "gpus": 4, "release": 3, "due": 5},
    {"slots": 1, "gpus": 4, "release": 8, "due": 9, "weight": 5},
]


@pytest.mark.parametrize(
    ("objective", "value"), [("total-flow", 23 + 2 + 5), ("total-tardiness", 0)]
)
def test_a_long_job_is_interrupted_for_short_and_urgent_ones(objective: str, value: int) -> None:
    instance = asked(worked(LONG_AND_SHORT, restore=0), objective)
    found = rarmodel.solve(instance, method="search", iterations=20)
    assert found.objective[0].value == value
    plain = instance.model_copy(update={"preemption": None})
    assert rarmodel.solve(plain, method="search", iterations=20).objective[0].value != value


def test_an_interruption_that_costs_all_work_is_none() -> None:
    jobs = [dict(LONG_AND_SHORT[0], checkpoint_iterations=None), *LONG_AND_SHORT[1:]]
    instance = asked(worked(jobs, restore=0), "makespan")
    found = rarmodel.solve(instance, method="search", iterations=20)
    assert found.objective[0].value == 23
    assert found.schedule is not None
    assert all(len(one.segments) == 1 for one in found.schedule.assignments)


def test_the_same_seed_and_iterations_give_the_same_schedule() -> None:
    random = Random(3)
    instance = random_wide(random, {PREEMPTION.name, "releases"}, jobs=6, servers=2)
    instance = asked(instance, "total-flow")
    first, second = (
        rarmodel.solve(instance, method="search", iterations=30, seed=5, threads=1).schedule
        for _ in range(2)
    )
    assert first == second


def test_a_start_is_not_lost() -> None:
    instance = asked(worked(LONG_AND_SHORT, restore=0), "total-flow")
    start = rarmodel.solve(instance, method="search", iterations=30)
    again = rarmodel.solve(instance, method="search", iterations=1, start=start.schedule)
    assert again.objective[0].value == start.objective[0].value


def test_workers_of_a_scheduler_are_refused() -> None:
    instance = worked(LONG_AND_SHORT, restore=0)
    with pytest.raises(UsageError, match="leave the scheduler out"):
        rarmodel.solve(instance, method="search", scheduler="tcp://nowhere:1", time_limit=1)


def test_criteria_of_the_user_stop_it() -> None:
    instance = asked(worked(LONG_AND_SHORT, restore=0), "max-stretch")
    found = rarmodel.solve(
        instance, method="search", iterations=99, stop=lambda p: p.iterations > 3
    )
    assert found.schedule is not None
