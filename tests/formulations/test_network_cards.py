"""Network cards in exact programs: rings that must leave cards idle, beside enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyomo.environ as pyo
import pytest
from depth import first
from models import broken_constraints
from scopes import scope_of
from wide_optimum import optimum

from rarmodel import solve
from rarmodel.exact import schedule_of
from rarmodel.files import parse_instance
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.pool import pool_of
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.lists import shortest_first
from rarmodel.methods import attempt
from rarmodel.model import horizon_of
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers.cpsat import CPSAT
from rarmodel.solvers.scip import SCIP
from rarmodel.verifier import verify

CASES = [(model, seed) for seed in range(40) for model in ("count", "duty", "pressures")]


def spread_rings(seed: int, kind: str) -> Instance:
    """Two jobs that need two servers at least, which have up to four network cards."""
    random = Random(seed)
    jobs = [
        {
            "name": name,
            "gpus": random.choice([2, 3, 4]),
            "iterations": random.randint(4, 12),
            "gradient_mb": random.choice([50.0, 100.0, 150.0]),
            "batch_size": 1,
            "forward_ms_per_sample": random.choice([10.0, 100.0]),
            "backward_ms": 50.0,
            "spread": {"min_servers": 2},
        }
        for name in "ab"
    ]
    if kind == "pressures":
        for job in jobs:
            job["network_sensitivity"] = random.choice([0.5, 1.0, 2.0])
        jobs[0]["network_pressure"] = 0.7
    servers = [
        {"name": f"s{i}", "gpus": random.choice([2, 3]), "network_cards": random.choice([1, 2, 3])}
        for i in range(3)
    ]
    data = {
        "schema_version": 1,
        "name": "cards",
        "time": {"slot_seconds": 2.0},
        "cluster": {
            "servers": servers,
            "network": {"kind": "star", "gbps": 6.0},
            "intra_server_gbps": 100.0,
            "reduction_gbps": 100.0,
        },
        "contention": {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 10.0,
            "overlap": random.choice([1.0, 1.0, 2.0]),
            "model": "count" if kind == "count" else "duty",
        },
        "objective": random.choice(["makespan", "total-completion"]),
        "jobs": jobs,
    }
    return parse_instance(data)


def wide_rings(seed: int, kind: str) -> Instance:
    """The same on servers of two GPUs, for jobs that need several of them by their size."""
    instance = spread_rings(seed, kind)
    servers = tuple(one.model_copy(update={"gpus": 2}) for one in instance.cluster.servers)
    jobs = tuple(
        job.model_copy(update={"gpus": max(3, job.size), "spread": None}) for job in instance.jobs
    )
    cluster = instance.cluster.model_copy(update={"servers": servers})
    return instance.model_copy(update={"cluster": cluster, "jobs": jobs, "objective": "makespan"})


def without_overlap(instance: Instance) -> Instance:
    contention = instance.contention.model_copy(update={"overlap": 1.0})
    return instance.model_copy(update={"contention": contention})


def rows_of(model: pyo.ConcreteModel) -> Iterator[str]:
    return (one.name for one in model.component_objects(pyo.Constraint, active=True))


def best(instance: Instance) -> tuple[Schedule, int]:
    """What the model finds alone, with every variable whole, and its objective."""
    scope = scope_of(instance, horizon_of(instance))
    model = COMPACT.build(scope)
    for variable in model.component_data_objects(pyo.Var):
        if variable.is_continuous():
            variable.domain = pyo.NonNegativeIntegers
            variable.setub(10**7 if variable.ub is None else variable.ub)
    assert CPSAT.solve(model, Limits(time_limit=60)).termination == "finished"
    plan = COMPACT.plan(model, scope)
    assert plan is not None
    return schedule_of(instance, plan, "model"), round(pyo.value(model.objective))


@pytest.mark.parametrize("case", first(9, CASES))
def test_the_optimum_is_that_of_enumeration(case: tuple[str, int]) -> None:
    kind, seed = case
    instance = spread_rings(seed, kind)
    schedule, found = best(instance)
    report = verify(instance, schedule)
    assert report.feasible
    assert report.objective is not None
    assert (found,) == tuple(report.objective.values())
    assert (found,) == optimum(instance, horizon_of(instance) + 1, schedule)


@pytest.mark.parametrize("kind", ["count", "duty", "pressures"])
def test_both_forms_of_the_time_indexed_program_have_one_solution(kind: str) -> None:
    """A schedule of a heuristic satisfies both, with the same objective."""
    instance = spread_rings(3, kind)
    schedule = attempt(shortest_first, instance, Limits()).schedule
    assert schedule is not None
    scope = scope_of(instance, verify(instance, schedule).makespan or 0)
    found = []
    for formulation in (COMPACT, TIME_INDEXED):
        model = formulation.build(scope)
        formulation.load(model, scope, schedule)
        assert broken_constraints(model) == []
        found.append(pyo.value(model.objective))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["count", "duty", "pressures"])
@pytest.mark.parametrize("seed", range(2))
def test_the_pool_of_all_schedules_has_the_optimum(seed: int, kind: str) -> None:
    instance = wide_rings(seed, kind)
    horizon = horizon_of(instance)
    scope = scope_of(instance, horizon)
    scope = replace(scope, data={"pool": "all"})
    (least,) = optimum(instance, horizon + 1) or (None,)
    assert min(entry.makespan for entry in pool_of(scope)) == least
    shared_out = solve(instance, formulation="busy-time", time_limit=60)
    assert shared_out.makespan == least
    assert shared_out.lower_bound is not None
    assert least is not None
    assert shared_out.lower_bound <= least


@pytest.mark.skipif(SCIP.version() is None, reason="SCIP is not installed")
@pytest.mark.parametrize("seed", [0, 5])
def test_the_papers_program_takes_cards_by_count(seed: int) -> None:
    instance = without_overlap(wide_rings(seed, "count"))
    (least,) = optimum(instance, horizon_of(instance) + 1) or (0,)
    scope = scope_of(instance, int(least) + 1)
    model = RAR_DDLS.build(scope)
    assert SCIP.solve(model, Limits(time_limit=60)).termination == "finished"
    plan = RAR_DDLS.plan(model, scope)
    assert plan is not None
    assert verify(instance, schedule_of(instance, plan, "model")).makespan == least


def test_the_papers_program_refuses_cards_by_duty_in_a_line() -> None:
    instance = without_overlap(wide_rings(0, "duty"))
    assert RAR_DDLS.unfit is not None
    assert RAR_DDLS.unfit(scope_of(instance, 9)) == (
        "rar-ddls takes contention by duty without network cards; time-indexed takes both"
    )


def test_without_several_cards_there_are_no_rows_for_them() -> None:
    instance = spread_rings(0, "duty")
    servers = tuple(one.model_copy(update={"network_cards": 1}) for one in instance.cluster.servers)
    cluster = instance.cluster.model_copy(update={"servers": servers})
    plain = instance.model_copy(update={"cluster": cluster})
    of_cards = {"has_workers", "speed_by_cards", "weighs_by_workers", "counts_by_cards"}
    for one, rows in ((instance, of_cards), (plain, set())):
        model = COMPACT.build(scope_of(one, 12))
        assert of_cards & set(rows_of(model)) == rows
