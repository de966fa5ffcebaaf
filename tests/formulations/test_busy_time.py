"""The least limit θ*_u: against all ways to share jobs out, and against the optimal makespan."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from math import ceil, inf
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from depth import examples
from documents import instance_data, instance_of, job_data
from enumeration import optimal_makespan
from hypothesis import assume, given
from hypothesis import strategies as st
from pyomo.core.expr.visitor import identify_variables
from random_instances import instances, random_instance
from scopes import scope_of

from rarmodel import load_instance, solve
from rarmodel.bounds import best_bound, limit_bound
from rarmodel.errors import UsageError
from rarmodel.exact.admission import admit
from rarmodel.files import parse_instance
from rarmodel.formulations import Scope, shared_out
from rarmodel.formulations.busy_time import BUSY_TIME
from rarmodel.formulations.shared_out import Gpu, WorkToShare, simple_bounds, work_to_share
from rarmodel.heuristics import estimate, random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.model import job_extremes
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS

INSTANCE = random_instance(Random(3), jobs=4, servers=2, tree=False)


def least_limit(scope: Scope) -> int | None:
    """Optimum of the model; None if it is infeasible."""
    model = BUSY_TIME.build(scope)
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(None, skip_validation=True)  # No starting solution.
    answer = HIGHS.solve(model, Limits(time_limit=60, threads=1))
    if answer.termination == "infeasible":
        return None
    assert answer.termination == "finished"
    assert answer.bound is not None
    assert BUSY_TIME.plan(model, scope) is None
    return round(answer.bound)


def brute_force(instance: Instance, work: tuple[float, ...]) -> float:
    """The least θ over every choice of GPUs for every job, as (14)–(16) are printed."""
    gpus = range(instance.cluster.total_gpus)
    best = inf
    for served in product(*(combinations(gpus, job.size) for job in instance.jobs)):
        load = [0.0] * len(gpus)
        for held, slots in zip(served, work, strict=True):
            for g in held:
                load[g] += slots
        best = min(best, max(load))
    return best


@pytest.mark.parametrize("every", [False, True], ids=["equals-are-one", "as-printed"])
@pytest.mark.parametrize("seed", range(24))
def test_optimum_is_that_of_all_ways_to_share_jobs_out(seed: int, every: bool) -> None:
    random = Random(seed)
    instance = random_instance(
        random, jobs=random.randint(3, 5), servers=2, tree=False, most_gpus=3, most_slots=4
    )
    instance = with_equal_jobs(instance, seed)
    horizon = sum(extreme.least_slots for extreme in job_extremes(instance))
    scope = replace(scope_of(instance, horizon), every_schedule=every)
    least = brute_force(instance, estimate(instance).work)
    assert least_limit(scope) == least
    if least > 1:
        assert least_limit(replace(scope, horizon=int(least) - 1)) is None


def with_equal_jobs(instance: Instance, seed: int) -> Instance:
    """The last job made equal to the first, but for its name, in every other instance."""
    if seed % 2:
        return instance
    first, *middle, last = instance.jobs
    return instance.model_copy(
        update={"jobs": (first, *middle, first.model_copy(update={"name": last.name}))}
    )


@examples(15)
@given(instances(jobs=4, servers=2), st.randoms(use_true_random=False))
def test_estimates_of_ones_own_give_a_bound_too(instance: Instance, random: Random) -> None:
    assume(instance.cluster.total_gpus <= 6)
    slots = [e.least_slots * random.choice([0.5, 1.0, 1.25, 3.0]) for e in job_extremes(instance)]
    names = [job.name for job in instance.jobs]
    scope = scope_of(instance, 10_000, estimates=dict(zip(names, slots, strict=True)))
    exact = brute_force(instance, estimate(instance, slots).work)
    # Rounded down to thousandths of a slot, which a whole limit seldom sees.
    least = least_limit(scope)
    assert least is not None
    assert ceil(exact - 0.001 * len(names)) <= least <= ceil(exact - 1e-9)
    assert least <= (least_limit(scope_of(instance, 10_000)) or 0)


@pytest.mark.parametrize("stall", [False, True], ids=["flowing", "stalling"])
@pytest.mark.parametrize("tree", [False, True], ids=["star", "tree"])
@pytest.mark.parametrize("seed", range(50, 56))
@pytest.mark.usefixtures("idle_search")
def test_no_schedule_is_shorter(seed: int, tree: bool, stall: bool) -> None:
    instance = random_instance(
        Random(seed), jobs=3 + seed % 2, servers=2, tree=tree, stall=stall, most_slots=4
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    least = least_limit(scope_of(instance, 1000))
    assert least is not None
    assert limit_bound(instance).slots <= least <= optimum
    known = best_bound(instance).slots
    assert known <= optimum
    result = solve(instance, formulation="busy-time")
    assert result.makespan is not None
    assert result.lower_bound == max(known, least)
    assert result.makespan >= optimum


@pytest.mark.usefixtures("idle_search")
def test_the_bound_can_exceed_the_simple_ones_and_counts_as_the_makespans() -> None:
    # Seven jobs of 3 slots on 3 GPUs: one of these serves three jobs.
    jobs = [job_data(name, iterations=30) for name in "abcdefg"]
    instance = parse_instance(instance_data(*jobs, servers=(3,)))
    result = solve(instance, formulation="busy-time", solver="highs")
    assert best_bound(instance).slots == 7
    assert (result.lower_bound, result.bound_name) == (9, "highs")
    assert not result.restricted


@examples(15)
@given(instances(jobs=6, servers=4), st.integers(0, 3), st.booleans())
def test_every_feasible_schedule_is_a_solution(instance: Instance, seed: int, every: bool) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None)
    assert found is not None
    scope = replace(scope_of(instance, found.makespan), every_schedule=every)
    model: Any = BUSY_TIME.build(scope)
    assert admit(model, BUSY_TIME, scope, found.schedule, [HIGHS], Limits()).broken is None
    assert model.limit.value == max(found.loads)


@examples(20)
@given(instances(jobs=6, servers=4), st.booleans())
def test_the_model_starts_with_a_solution(instance: Instance, every: bool) -> None:
    horizon = sum(extreme.least_slots for extreme in job_extremes(instance))
    scope = replace(scope_of(instance, horizon), every_schedule=every)
    model: Any = BUSY_TIME.build(scope)
    for constraint in model.component_data_objects(pyo.Constraint):
        assert constraint.slack() >= 0, constraint.name
    for variable in model.component_data_objects(pyo.Var):
        assert variable.lb <= variable.value <= variable.ub


def test_a_solution_beyond_the_horizon_is_not_offered() -> None:
    model = BUSY_TIME.build(scope_of(load_instance("fragmented-leftovers"), 15))
    assert all(v.value is None for v in model.component_data_objects(pyo.Var))


def test_equal_jobs_are_one_unless_every_schedule_is_asked_for() -> None:
    scope = scope_of(with_equal_jobs(INSTANCE, 0), 100)
    first, *_, last = scope.jobs
    merged: Any = BUSY_TIME.build(scope)
    assert {j for j, *_ in merged.y} == set(scope.jobs) - {last}
    assert merged.y[first, "s0", 0].ub == 2
    printed: Any = BUSY_TIME.build(replace(scope, every_schedule=True))
    assert {j for j, *_ in printed.y} == set(scope.jobs)
    assert printed.y[first, "s0", 0].ub == 1


def test_size_grows_as_the_model_does() -> None:
    for name in ("two-servers", "spreading-mistake", "philly-2869ce"):
        scope = scope_of(load_instance(name), 1000)
        terms = sum(
            len(list(identify_variables(constraint.body)))
            for constraint in BUSY_TIME.build(scope).component_data_objects(pyo.Constraint)
        )
        assert 0.3 < BUSY_TIME.size(scope) / terms < 3


@pytest.mark.usefixtures("idle_search")
def test_a_model_that_is_too_large_is_refused_in_one_line() -> None:
    assert BUSY_TIME.unfit(scope_of(load_instance("philly-2869ce"), 302)) is None
    result = solve("paper-160", formulation="busy-time", time_limit=60)
    assert "the model, with about 125,424 terms, is larger than 50,000" in result.stopped
    assert result.seconds < 10
    assert result.lower_bound == 273


def test_jobs_too_long_for_solvers_arithmetic_are_refused_in_one_line() -> None:
    def unfit(iterations: int) -> str | None:
        instance = instance_of(job_data("a", iterations=iterations), horizon=10**10)
        return BUSY_TIME.unfit(scope_of(instance, 10**10))

    assert unfit(100_000_000) is None  # 10 million slots.
    assert unfit(100_000_001) == (
        "job 'a' takes 10,000,001 slots and more, and solvers' arithmetic cannot be trusted above "
        "10,000,000 in this formulation; take longer slots"
    )


@pytest.mark.parametrize(
    ("estimates", "message"),
    [
        ([1, 2], "estimates: a list of 2; an object|estimates: .*; an object"),
        ({"nope": 3}, "estimates: no job 'nope'; choose from j0"),
        ({"j0": 0}, "estimates: 0 for job 'j0'; slots above 0 expected"),
        ({"j0": "3"}, "estimates: '3' for job 'j0'|estimates: \"3\" for job 'j0'"),
        ({"j0": True}, "estimates: .* for job 'j0'"),
        ({"j0": inf}, "estimates: .* for job 'j0'"),
    ],
)
def test_wrong_estimates_are_a_usage_error(estimates: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        BUSY_TIME.build(scope_of(INSTANCE, 100, estimates=estimates))


def shared_out_by_sorting(data: WorkToShare, limit: int | None) -> dict[Gpu, dict[str, int]] | None:
    """LPT and MULTIFIT as their definitions read: sort all GPUs for every job."""
    served: dict[Gpu, dict[str, int]] = {g: {} for g in data.gpus}
    load = dict.fromkeys(data.gpus, 0)
    sizes = {j: data.scope.jobs[j].size for j in data.equal}
    for j in sorted(data.equal, key=lambda j: (-data.work.of[j], -sizes[j])):
        work = data.work.of[j]
        for _ in data.equal[j]:
            fit = [
                g for g in data.gpus if limit is None or load[g] + work <= limit * data.work.unit
            ]
            chosen = sorted(fit, key=load.__getitem__, reverse=limit is not None)[: sizes[j]]
            if len(chosen) < sizes[j]:
                return None
            for g in chosen:
                served[g][j] = served[g].get(j, 0) + 1
                load[g] += work
    return served


@given(seed=st.integers(0, 10**6))
@examples(25)
def test_the_starting_solution_is_that_of_sorting_all_gpus(seed: int) -> None:
    random = Random(seed)
    instance = random_instance(
        random, jobs=random.randint(2, 9), servers=random.randint(1, 3), tree=False, most_gpus=4
    )
    instance = with_equal_jobs(instance, seed)
    data = work_to_share(scope_of(instance, 1000))
    first = shared_out_by_sorting(data, None)
    assert shared_out._longest_first(data, None) == first
    assert first is not None
    for limit in range(1, shared_out.busiest(data, first) + 1):
        assert shared_out._longest_first(data, limit) == shared_out_by_sorting(data, limit)


def test_simple_bounds_stop_when_they_must() -> None:
    scope = scope_of(INSTANCE, 1000)
    stopped, whole = simple_bounds(scope, lambda: True), simple_bounds(scope)
    assert stopped[0] == whole[0] <= whole[1] <= stopped[1]
