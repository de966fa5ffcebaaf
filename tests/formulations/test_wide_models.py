"""Models of wider instances: every feature and objective against trying everything.

The optimum of a model is verified slot by slot; then everything is tried to find a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import count, islice, product
from random import Random
from typing import NamedTuple

import pyomo.environ as pyo
import pytest
from depth import examples, first
from hypothesis import assume, given
from hypothesis import strategies as st
from model_alone import best_alone, values_of
from models import broken_constraints
from scopes import scope_of
from wide_instances import FEATURES, OBJECTIVES, every_wide_schedule, random_wide, wide_instances
from wide_instances import optimum as slow_optimum
from wide_optimum import optimum

from rarmodel import solve
from rarmodel.bounds import best_bound, least_values, windows_by_prices
from rarmodel.errors import UsageError
from rarmodel.exact import schedule_of
from rarmodel.exact.diagnosis import explain
from rarmodel.files import parse_instance
from rarmodel.formulations import Formulation
from rarmodel.formulations.aims import aim_of
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.interval import INTERVAL
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.lists import shortest_first
from rarmodel.methods import attempt
from rarmodel.model import horizon_of, too_short, used
from rarmodel.model.features import (
    CARDS,
    DUTY,
    GPU_MEMORY,
    GPU_TYPES,
    LATENCY,
    LEVELS,
    NETWORK_PRESSURES,
    OVERLAP,
    PLACES,
    RESOURCES,
    RING_SIZES,
    SPREADS,
)
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers import Answer, Solver
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.highs import HIGHS
from rarmodel.solvers.scip import SCIP
from rarmodel.verifier import verify

MIXED = (
    ("total-flow", "makespan"),
    ("late-jobs", "total-tardiness", "cost"),
    ("max-stretch", "total-completion"),
    ("cost", "max-flow"),
    ("makespan", "total-links"),
    ("total-links", "total-completion", "cost"),
)


class WholeNumbers:
    """CP-SAT on `time-indexed-compact`, all of whose variables are whole in a schedule."""

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        for variable in model.component_data_objects(pyo.Var):
            if variable.is_continuous():
                variable.domain = pyo.NonNegativeIntegers
                variable.setub(10_000 if variable.ub is None else variable.ub)
        return CPSAT.solve(model, limits)


class Model(NamedTuple):
    """A formulation and a solver for it, with the features that it handles."""

    formulation: Formulation
    solver: Solver | WholeNumbers

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(name for name in FEATURES if name in self.formulation.handles)


STRONG, STRONG_IN_CPSAT = Model(TIME_INDEXED, HIGHS), Model(TIME_INDEXED, CPSAT)
COMPACT_ONE, COMPACT_IN_CPSAT = Model(COMPACT, HIGHS), Model(COMPACT, WholeNumbers())
PAPER = Model(RAR_DDLS, SCIP)
ALL = {
    "time-indexed-highs": STRONG,
    "time-indexed-cpsat": STRONG_IN_CPSAT,
    "compact-highs": COMPACT_ONE,
    "compact-cpsat": COMPACT_IN_CPSAT,
}
every_model = pytest.mark.parametrize("model", ALL.values(), ids=ALL)
in_highs = pytest.mark.parametrize("model", [STRONG, COMPACT_ONE], ids=["time-indexed", "compact"])
every_formulation = pytest.mark.parametrize(
    "formulation", [TIME_INDEXED, COMPACT, RAR_DDLS], ids=lambda one: one.name
)
needs_scip = pytest.mark.skipif(SCIP.version() is None, reason="SCIP is not installed")


def best_of(model: Model, instance: Instance, horizon: int | None = None) -> Schedule | None:
    """What the model alone gives."""
    return best_alone(model.formulation, model.solver, instance, horizon)


def check(instance: Instance, schedule: Schedule | None, latest: int | None = None) -> None:
    """The schedule is the best of all; there is none if there is none."""
    latest = latest or horizon_of(instance) + 2
    assert optimum(instance, latest, schedule) == (schedule and values_of(instance, schedule))


def drawn(
    seed: int, features: Collection[str], objectives: Sequence[str], jobs: int = 3
) -> Instance:
    return random_wide(Random(seed), features, jobs=jobs, objectives=objectives, most_slots=3)


@pytest.mark.parametrize(
    ("objective", "model"),
    [
        # The models are those of HiGHS for CP-SAT too, so most objectives are slow there.
        pytest.param(
            objective,
            model,
            id=f"{objective}-{name}",
            marks=[pytest.mark.slow] if "cpsat" in name and objective in OBJECTIVES[2:] else [],
        )
        for objective, (name, model) in product(OBJECTIVES, ALL.items())
    ],
)
def test_all_features_with_every_objective(objective: str, model: Model) -> None:
    instance = drawn(OBJECTIVES.index(objective) + 1, model.features, [objective])
    check(instance, best_of(model, instance))


@in_highs
@pytest.mark.parametrize("seed", first(1, range(3)))
@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_alone(feature: str, seed: int, model: Model) -> None:
    if feature not in model.features:
        pytest.skip("the formulation refuses it")
    instance = drawn(seed, [feature], [OBJECTIVES[(seed * 4 + len(feature)) % 9]])
    check(instance, best_of(model, instance))


@in_highs
@pytest.mark.parametrize("seed", first(1, [1, 0]))
@pytest.mark.parametrize("objectives", MIXED, ids=", ".join)
def test_lists_of_objectives(objectives: Sequence[str], seed: int, model: Model) -> None:
    instance = drawn(seed, model.features if seed else (), objectives)
    check(instance, best_of(model, instance))


@needs_scip
@pytest.mark.parametrize("feature", [*PAPER.features, "all"])
def test_the_papers_program_with_each_feature_that_it_takes(feature: str) -> None:
    # Cards go with the count alone, which `test_network_cards` tries.
    most = [name for name in PAPER.features if name != CARDS.name]
    features = most if feature == "all" else [feature]
    place = (*PAPER.features, "all").index(feature)
    instance = drawn(place, features, [OBJECTIVES[place % len(OBJECTIVES)]], jobs=2)
    latest = min(7, horizon_of(instance))
    check(instance, best_of(PAPER, instance, latest), latest)


def test_a_quota_below_every_ring_size_is_explained_in_time() -> None:
    # HiGHS was seen never to end one of the diagnosis' models.
    others = DUTY, LEVELS, RESOURCES, LATENCY, OVERLAP, CARDS, NETWORK_PRESSURES, GPU_MEMORY
    names = {feature.name for feature in others}
    instance = any_instance(44, [name for name in FEATURES if name not in names])
    result = solve(instance, formulation=COMPACT, time_limit=120)
    assert result.status == "infeasible"
    assert all("is beyond the cap of 1 GPU of tenant 't'" in line for line in result.reasons)
    scope = scope_of(instance, horizon_of(instance))
    assert "  constraint quota" in explain(COMPACT, scope, HIGHS, Limits(time_limit=120))


@needs_scip
@pytest.mark.parametrize("feature", [SPREADS.name, RING_SIZES.name, GPU_TYPES.name])
def test_the_papers_program_refuses_the_rest_in_a_line(feature: str) -> None:
    drawn_ones = (drawn(seed, [feature], ["makespan"]) for seed in count())
    instance = next(one for one in drawn_ones if feature in used(one))
    line = f"formulation 'rar-ddls' does not handle {feature} ({used(instance)[feature]})"
    with pytest.raises(UsageError) as error:
        solve(instance, formulation=RAR_DDLS)
    assert str(error.value) == line


@in_highs
@pytest.mark.parametrize("seed", range(4))
def test_solve_proves_what_trying_everything_finds(seed: int, model: Model) -> None:
    instance = drawn(100 + seed, model.features[seed::4], MIXED[seed])
    result = solve(instance, formulation=model.formulation, time_limit=120)
    check(instance, result.schedule)
    if result.schedule is None:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal"
        values = values_of(instance, result.schedule)
        assert tuple(goal.value for goal in result.objective) == values
        assert tuple(goal.bound for goal in result.objective) == values


def any_instance(seed: int, features: Collection[str], jobs: int = 3) -> Instance:
    """All features, or a few, and up to three objectives."""
    random = Random(seed)
    some = random.sample(tuple(features), random.randint(0, 4))
    chosen = random.sample(OBJECTIVES, random.choice([1, 1, 2, 3]))
    return drawn(seed, features if seed % 3 == 0 else some, chosen, jobs)


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_alone_with_every_objective(feature: str, model: Model) -> None:
    if feature not in model.features:
        pytest.skip("the formulation refuses it")
    for place, objective in enumerate(OBJECTIVES):
        instance = drawn(10 * len(feature) + place, [feature], [objective])
        check(instance, best_of(model, instance))


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_random_instances(part: int, model: Model) -> None:
    for seed in range(50 * part, 50 * part + 50):
        instance = any_instance(seed, model.features)
        check(instance, best_of(model, instance))


@pytest.mark.slow
@needs_scip
@pytest.mark.parametrize("part", range(10))
def test_the_papers_program_on_hundreds_of_random_instances(part: int) -> None:
    for seed in range(20 * part, 20 * part + 20):
        instance = any_instance(seed, PAPER.features, jobs=2)
        latest = min(7, horizon_of(instance))
        check(instance, best_of(PAPER, instance, latest), latest)


@pytest.mark.slow
@in_highs
@pytest.mark.parametrize("part", range(10))
def test_solve_on_hundreds_of_random_instances(part: int, model: Model) -> None:
    for seed in range(30 * part, 30 * part + 30):
        instance = any_instance(seed, model.features)
        result = solve(instance, formulation=model.formulation, time_limit=120)
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


@every_formulation
@examples(8)
@given(st.data(), st.booleans(), st.integers(0, 3))
def test_every_feasible_schedule_is_a_solution(
    formulation: Formulation, data: st.DataObject, every_schedule: bool, spare_slots: int
) -> None:
    instance = data.draw(wide_instances(handles=formulation.handles))
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
        model = formulation.build(scope)
        formulation.load(model, scope, schedule)
        assert broken_constraints(model) == []
        found = pyo.value(model.objective)
        assert aim_of(scope, stage).at_least(found) == values[stage]
        plan = formulation.plan(model, scope)
        assert plan is not None
        assert values_of(instance, schedule_of(instance, plan, "model")) == values


@examples(20)
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
    for options in ({"formulation": "time-indexed"}, {"method": "fifo-backfill"}):
        result = solve(instance, **options)  # type: ignore[arg-type]
        assert result.status == "infeasible"
        assert result.reasons == too_short(instance)
    scope = scope_of(instance, 20)
    for formulation in (TIME_INDEXED, COMPACT):
        assert HIGHS.solve(formulation.build(scope), Limits()).termination == "infeasible"
    assert too_short(instance_with(release=3, deadline=8)) == ()


@needs_scip
@pytest.mark.parametrize("model", [PAPER, STRONG, COMPACT_ONE], ids=["paper", "strong", "compact"])
def test_an_objective_of_one_value_needs_no_constraint_to_keep_it(model: Model) -> None:
    instance = instance_with().model_copy(update={"objective": ("max-tardiness", "makespan")})
    schedule = best_of(model, instance, 6)  # No job has a due slot.
    assert schedule is not None
    assert values_of(instance, schedule) == (0, 5)


@pytest.mark.parametrize(("bound", "slots"), [(6.2, 7), (7.0, 7), (7.0000001, 7), (7.001, 8)])
def test_a_makespan_is_whole(bound: float, slots: int) -> None:
    assert aim_of(scope_of(instance_with(), 12), 0).at_least(bound) == slots


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


def calm(instance: Instance) -> Instance:
    """The instance without exchange and overhead: no ring slows another or costs more spread."""
    contention = instance.contention.model_copy(update={"overhead_ms_per_server": 0.0})
    jobs = tuple(
        job.model_copy(update={"gradient_mb": 0.0, "backward_ms": job.backward_ms or 1.0})
        for job in instance.jobs
    )
    return instance.model_copy(update={"contention": contention, "jobs": jobs})


def spread_costs(instance: Instance) -> Instance:
    """The same but for the overhead of each server."""
    return calm(instance).model_copy(update={"contention": instance.contention})


INTERVALS = Model(INTERVAL, CPSAT)
WITHOUT_PLACES = tuple(name for name in FEATURES if name not in PLACES)
without_contention = pytest.mark.parametrize("without", [calm, spread_costs])


@without_contention
@pytest.mark.parametrize("seed", first(2, [1, 2, 0]))
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_smaller_model_without_contention(
    objective: str, seed: int, without: Callable[[Instance], Instance]
) -> None:
    features = ((), FEATURES, WITHOUT_PLACES)[seed]
    instance = without(drawn(seed, features, [objective]))
    check(instance, best_of(STRONG, instance))


@without_contention
@pytest.mark.parametrize("place", first(1, range(2)))
@pytest.mark.parametrize("objective", [one for one in OBJECTIVES if one != "cost"])
def test_intervals_without_contention(
    objective: str, place: int, without: Callable[[Instance], Instance]
) -> None:
    every = INTERVALS.features
    kinds = (every, tuple(name for name in every if name not in PLACES), ())
    for features in kinds[: 2 + place]:
        drawn_ones = (without(drawn(seed, features, [objective])) for seed in count())
        fit = (one for one in drawn_ones if INTERVAL.unfit(scope_of(one, horizon_of(one))) is None)
        instance = next(islice(fit, place, None))
        check(instance, best_of(INTERVALS, instance))


@pytest.mark.parametrize("objectives", [one for one in MIXED if "cost" not in one], ids=", ".join)
def test_intervals_with_lists_of_objectives(objectives: Sequence[str]) -> None:
    instance = calm(drawn(1, (), objectives))
    check(instance, best_of(INTERVALS, instance))


IN_WINDOWS = {"interval": INTERVALS, "time-indexed": STRONG}


@pytest.mark.parametrize("model", IN_WINDOWS.values(), ids=IN_WINDOWS)
@pytest.mark.parametrize("objective", ["total-completion", "total-flow", "total-tardiness"])
def test_windows_by_prices_keep_the_best_schedule(objective: str, model: Model) -> None:
    for seed, features in enumerate(((), WITHOUT_PLACES)):
        instance = calm(drawn(seed, set(features) & set(INTERVALS.features), [objective]))
        best = best_of(STRONG, instance)
        if best is None:
            continue
        values = values_of(instance, best)
        known = windows_by_prices(instance, values)
        assert known is not None
        scope = scope_of(instance, horizon_of(instance))
        scope = replace(scope, at_most=values, known_windows=known)
        built = model.formulation.build(scope)
        answer = model.solver.solve(built, Limits(time_limit=120))
        assert answer.termination == "finished"
        assert answer.bound is not None
        assert aim_of(scope, 0).at_least(answer.bound) == values[0]
        model.formulation.load(built, scope, best)
        assert broken_constraints(built) == []


@pytest.mark.parametrize("objective", [one for one in OBJECTIVES if one != "cost"])
def test_intervals_bound_what_contention_makes_longer(objective: str) -> None:
    for seed in range(3):
        instance = drawn(seed, (), [objective])
        scope = scope_of(instance, horizon_of(instance))
        built = INTERVAL.build(scope)
        answer = CPSAT.solve(built, Limits(time_limit=120))
        best = best_of(STRONG, instance)
        assert best is not None
        assert answer.bound is not None
        assert aim_of(scope, 0).at_least(answer.bound) <= values_of(instance, best)[0]
        INTERVAL.load(built, scope, best)
        assert broken_constraints(built) == []
