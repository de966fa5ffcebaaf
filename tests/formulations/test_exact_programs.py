"""The paper's programs against exhaustive enumeration, and against each other, on every solver."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from random import Random

import pyomo.environ as pyo
import pytest
from depth import examples, first
from enumeration import optimal_makespan
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import instances, random_instance

from rarmodel.errors import UsageError
from rarmodel.exact.admission import admit
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.busy_time import BUSY_TIME
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.schedule_selection import SCHEDULE_SELECTION
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.model import job_extremes, topology
from rarmodel.schema import Instance
from rarmodel.solvers import Solver
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.gurobi import GUROBI
from rarmodel.solvers.highs import HIGHS
from rarmodel.solvers.scip import SCIP

SOLVERS: list[Solver] = [s for s in (HIGHS, CPSAT, SCIP, GUROBI) if s.version()]


def scope_of(instance: Instance, horizon: int) -> Scope:
    return Scope(instance, topology(instance.cluster), job_extremes(instance), horizon, 0)


def tiny(seed: int, *, rack: bool = False) -> Instance:
    if rack:
        return random_instance(
            Random(seed), jobs=3, servers=3, tree=True, most_gpus=2, most_slots=3
        )
    return random_instance(
        Random(seed), jobs=4, servers=2, tree=seed % 2 == 0, most_slots=3, stall=seed % 3 == 0
    )


def optimum_by(
    formulation: Formulation, solver: Solver, scope: Scope, *, may_refuse: bool = False
) -> int | None:
    """Optimum of a model by itself; None if the solver's licence is too small."""
    model = formulation.build(scope)
    try:
        answer = solver.solve(model, Limits(time_limit=120, threads=1))
    except UsageError as error:
        if may_refuse and "size-limited license" in str(error):
            return None
        raise
    assert answer.termination == "finished"
    assert answer.bound is not None
    return round(answer.bound)


@pytest.mark.parametrize("rack", [False, True], ids=["two servers", "rack tree"])
@pytest.mark.parametrize("seed", first(3, range(20, 26)))
def test_every_exact_pairing_has_the_optimum_of_enumeration(seed: int, rack: bool) -> None:
    instance = tiny(seed, rack=rack)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    scope = scope_of(instance, optimum + 1)
    for solver in SOLVERS:
        found = optimum_by(TIME_INDEXED, solver, scope, may_refuse=solver is GUROBI)
        assert found in {optimum, None}, solver.name
    for solver in (SCIP, GUROBI):
        if solver.version():
            found = optimum_by(RAR_DDLS, solver, scope, may_refuse=solver is GUROBI)
            assert found in {optimum, None}, solver.name
    assert optimum_by(BUSY_TIME, HIGHS, scope) <= optimum  # type: ignore[operator]
    everything = replace(scope_of(instance, optimum), data={"pool": "all"})
    if SCHEDULE_SELECTION.unfit(everything) is None:
        assert optimum_by(SCHEDULE_SELECTION, HIGHS, everything) == optimum


@examples(15)
@given(instances(jobs=5, servers=4), st.integers(0, 3), st.integers(0, 3))
def test_every_feasible_schedule_is_a_solution_of_the_original_program(
    instance: Instance, seed: int, spare: int
) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None and found.makespan <= 60)
    assert found is not None
    assume(RAR_DDLS.unfit(scope_of(instance, 1)) is None)
    scope = scope_of(instance, found.makespan + spare)
    model = RAR_DDLS.build(scope)
    verdict = admit(model, RAR_DDLS, scope, found.schedule, [HIGHS], Limits())
    assert (verdict.broken, verdict.value) == (None, found.makespan)
    assert pyo.value(model.makespan) == found.makespan
    plan = RAR_DDLS.plan(model, scope)
    assert plan is not None
    by_job = {a.job: a for a in found.schedule.assignments}
    assert plan.starts == tuple(by_job[j].start for j in scope.jobs)


@pytest.mark.parametrize("seed", range(6))
def test_a_program_with_too_few_slots_is_infeasible(seed: int) -> None:
    instance = tiny(seed)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    model = RAR_DDLS.build(scope_of(instance, optimum - 1))
    assert SCIP.solve(model, Limits(time_limit=120)).termination == "infeasible"


def least_limit(instance: Instance) -> float:
    """θ* by trying every gift of GPUs to jobs."""
    gpus = range(instance.cluster.total_gpus)
    slots = [extreme.least_slots for extreme in job_extremes(instance)]
    best = float("inf")
    for given_gpus in product(*(combinations(gpus, job.size) for job in instance.jobs)):
        load = [0] * len(gpus)
        for chosen, busy in zip(given_gpus, slots, strict=True):
            for g in chosen:
                load[g] += busy
        best = min(best, max(load))
    return best


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
@pytest.mark.parametrize("seed", range(30, 36))
def test_busy_time_is_the_least_limit_on_any_gpu(seed: int, solver: Solver) -> None:
    instance = random_instance(Random(seed), jobs=4, servers=2, tree=False, most_gpus=2)
    scope = scope_of(instance, 100)
    expected = least_limit(instance)
    assert optimum_by(BUSY_TIME, solver, scope) == expected
    assert optimum_by(BUSY_TIME, solver, replace(scope, every_schedule=True)) == expected
