"""`time-indexed` on wider instances: every feature and objective against trying everything.

The optimum of the model is verified slot by slot; then everything is tried to find a better one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import broken_constraints
from scopes import scope_of
from wide_instances import OBJECTIVES, WIDE, every_wide_schedule, random_wide, wide_instances
from wide_instances import optimum as slow_optimum
from wide_optimum import optimum

from rarmodel.api import solve
from rarmodel.bounds import best_bound, least_values
from rarmodel.dispatch import shortest_first
from rarmodel.exact import schedule_of
from rarmodel.files import parse_instance
from rarmodel.formulations.aims import aim_of
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import attempt
from rarmodel.limits import Limits
from rarmodel.model import horizon_of, too_short
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers import Solver
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.highs import HIGHS
from rarmodel.verifier import verify

FEATURES = tuple(feature.name for feature in WIDE)
MIXED = (
    ("total-flow", "makespan"),
    ("late-jobs", "total-tardiness", "cost"),
    ("max-stretch", "total-completion"),
    ("cost", "max-flow"),
)


def best_of_the_model(instance: Instance, solver: Solver) -> Schedule | None:
    """What the model alone gives, without starting solution: one objective after another."""
    scope = scope_of(instance, horizon_of(instance))
    schedule = None
    for stage in range(len(instance.objectives)):
        scope = replace(scope, stage=stage)
        model = TIME_INDEXED.build(scope)
        answer = solver.solve(model, Limits(time_limit=120))
        if answer.termination == "infeasible":
            assert schedule is None
            return None
        assert answer.termination == "finished"
        assert answer.bound is not None
        plan = TIME_INDEXED.plan(model, scope)
        assert plan is not None
        schedule = schedule_of(instance, plan, "model")
        values = values_of(instance, schedule)
        assert aim_of(scope, stage).at_least(answer.bound) == values[stage]
        scope = replace(scope, at_most=values[: stage + 1])
    return schedule


def values_of(instance: Instance, schedule: Schedule) -> tuple[Value, ...]:
    report = verify(instance, schedule)
    assert report.feasible, report.violations
    assert report.objective is not None
    return tuple(report.objective.values())


def check(instance: Instance, schedule: Schedule | None) -> None:
    """The schedule is the best of all; there is none if there is none."""
    later = horizon_of(instance) + 2
    assert optimum(instance, later, schedule) == (schedule and values_of(instance, schedule))


def drawn(
    seed: int, features: Collection[str], objectives: Sequence[str], jobs: int = 3
) -> Instance:
    return random_wide(Random(seed), features, jobs=jobs, objectives=objectives, most_slots=3)


@pytest.mark.parametrize("solver", [HIGHS, CPSAT], ids=["highs", "cpsat"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_all_features_with_every_objective(objective: str, solver: Solver) -> None:
    for seed in range(2):
        instance = drawn(seed, FEATURES, [objective])
        check(instance, best_of_the_model(instance, solver))


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_alone(feature: str) -> None:
    for seed in range(3):
        instance = drawn(seed, [feature], [OBJECTIVES[(seed * 4 + len(feature)) % 9]])
        check(instance, best_of_the_model(instance, HIGHS))


@pytest.mark.parametrize("objectives", MIXED, ids=", ".join)
def test_lists_of_objectives(objectives: Sequence[str]) -> None:
    for seed in range(2):
        instance = drawn(seed, FEATURES if seed else (), objectives)
        check(instance, best_of_the_model(instance, HIGHS))


@pytest.mark.parametrize("seed", range(4))
def test_solve_proves_what_trying_everything_finds(seed: int) -> None:
    instance = drawn(100 + seed, FEATURES[seed::4], MIXED[seed])
    result = solve(instance, formulation="time-indexed", time_limit=120)
    check(instance, result.schedule)
    if result.schedule is None:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal"
        values = values_of(instance, result.schedule)
        assert tuple(goal.value for goal in result.objective) == values
        assert tuple(goal.bound for goal in result.objective) == values


@pytest.mark.slow
@pytest.mark.parametrize("solver", [HIGHS, CPSAT], ids=["highs", "cpsat"])
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_random_instances(part: int, solver: Solver) -> None:
    for seed in range(50 * part, 50 * part + 50):
        random = Random(seed)
        some = random.sample(FEATURES, random.randint(0, 4))
        chosen = random.sample(OBJECTIVES, random.choice([1, 1, 2, 3]))
        instance = drawn(seed, FEATURES if seed % 3 == 0 else some, chosen)
        check(instance, best_of_the_model(instance, solver))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_solve_on_hundreds_of_random_instances(part: int) -> None:
    for seed in range(30 * part, 30 * part + 30):
        random = Random(seed)
        some = random.sample(FEATURES, random.randint(0, 4))
        chosen = random.sample(OBJECTIVES, random.choice([1, 1, 2, 3]))
        instance = drawn(seed, FEATURES if seed % 3 == 0 else some, chosen)
        result = solve(instance, formulation="time-indexed", time_limit=120)
        assert result.status in {"optimal", "infeasible"}
        check(instance, result.schedule)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_cut_off_from_trying_everything_is_worth_nothing(seed: int) -> None:
    chosen = [OBJECTIVES[seed], OBJECTIVES[8 - seed]][: 1 + (seed != 4)]
    instance = random_wide(
        Random(seed), FEATURES if seed % 2 else (), jobs=2, objectives=chosen, most_slots=2
    )
    latest = min(6, horizon_of(instance))
    fast = optimum(instance, latest)
    ended = [
        values_of(instance, schedule)
        for schedule in every_wide_schedule(instance, latest)
        if (verify(instance, schedule).makespan or 0) <= latest
    ]
    assert fast == min(ended, default=None)
    if latest == horizon_of(instance):
        assert fast == slow_optimum(instance)


@settings(max_examples=20, deadline=None)
@given(wide_instances(), st.booleans(), st.integers(0, 3))
def test_every_feasible_schedule_is_a_solution(
    instance: Instance, every_schedule: bool, spare_slots: int
) -> None:
    schedule = attempt(shortest_first, instance, Limits()).schedule
    assume(schedule is not None)
    assert schedule is not None
    report = verify(instance, schedule)
    assert report.makespan is not None
    values = values_of(instance, schedule)
    last = len(values) - 1
    for stage, at_most in ((0, ()), (last, values)):
        scope = replace(
            scope_of(instance, report.makespan + spare_slots),
            every_schedule=every_schedule,
            stage=stage,
            at_most=at_most,
        )
        model = TIME_INDEXED.build(scope)
        TIME_INDEXED.load(model, scope, schedule)
        assert broken_constraints(model) == []
        found = pyo.value(model.objective)
        assert aim_of(scope, stage).at_least(found) == values[stage]
        plan = TIME_INDEXED.plan(model, scope)
        assert plan is not None
        assert values_of(instance, schedule_of(instance, plan, "model")) == values


@settings(max_examples=40, deadline=None)
@given(wide_instances())
def test_least_values_are_no_greater_than_those_of_a_schedule(instance: Instance) -> None:
    schedule = attempt(shortest_first, instance, Limits()).schedule
    assume(schedule is not None)
    assert schedule is not None
    assert best_bound(instance).slots <= (verify(instance, schedule).makespan or 0)
    values = values_of(instance, schedule)
    assert all(bound <= value for bound, value in zip(least_values(instance), values, strict=True))


def instance_with(**job: object) -> Instance:
    return parse_instance(
        {
            "schema_version": 1,
            "name": "one",
            "time": {"slot_seconds": 1.0},
            "cluster": {
                "servers": [{"name": "s0", "gpus": 2}],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 100.0,
                "reduction_gbps": 100.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": [
                {
                    "name": "a",
                    "gpus": 1,
                    "iterations": 5,
                    "gradient_mb": 0.0,
                    "batch_size": 1,
                    "forward_ms_per_sample": 0.0,
                    "backward_ms": 1000.0,
                }
                | job
            ],
        }
    )


def test_a_deadline_that_no_placement_meets_is_named() -> None:
    instance = instance_with(release=3, deadline=7)
    line = "job 'a' can start at slot 3 at the earliest, takes 5 slots at least, and must complete "
    assert too_short(instance) == (line + "by slot 7",)
    for options in ({"formulation": "time-indexed"}, {"method": "fifo"}):
        result = solve(instance, **options)  # type: ignore[arg-type]
        assert result.status == "infeasible"
        assert result.reasons == too_short(instance)
    scope = scope_of(instance, 20)
    answer = HIGHS.solve(TIME_INDEXED.build(scope), Limits())
    assert answer.termination == "infeasible"
    assert too_short(instance_with(release=3, deadline=8)) == ()


def test_a_sum_is_minimised_in_units_and_its_bound_rounded_up_to_them() -> None:
    instance = instance_with(weight=6, due=3, release=1).model_copy(
        update={"objective": "total-tardiness"}
    )
    aim = aim_of(scope_of(instance, 12), 0)
    assert (aim.base, aim.unit) == (18, Fraction(6))  # It completes at slot 6 at the earliest.
    assert [aim.value(steps) for steps in range(3)] == [18, 24, 30]
    assert [aim.at_least(bound) for bound in (3.0, 3.0000001, 3.1, 4.0)] == [18, 18, 24, 24]


def test_the_greatest_of_terms_takes_one_of_few_values() -> None:
    instance = instance_with(release=1).model_copy(update={"objective": "max-stretch"})
    aim = aim_of(scope_of(instance, 8), 0)
    assert [float(value) for value in aim.values] == [1.0, 1.2, 1.4]
    assert [aim.steps(value) for value in aim.values] == [0, 1, 2]
    assert float(aim.at_least(0.4)) == 1.2
