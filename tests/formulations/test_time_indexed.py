"""The time-indexed formulation against enumeration, and against the schedules it must contain."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pyomo.environ as pyo
import pytest
from depth import examples, first
from documents import instance_of, job_data
from enumeration import optimal_makespan
from hypothesis import assume, given
from hypothesis import strategies as st
from models import broken_constraints
from pyomo.core.expr.visitor import identify_variables
from random_instances import instances, random_instance
from scopes import scope_of

from rarmodel import load_instance, solve
from rarmodel.bounds import best_bound
from rarmodel.engine import Engine, placements_of
from rarmodel.exact import schedule_of
from rarmodel.files import parse_instance
from rarmodel.formulations import Formulation, Plan
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.symmetry import server_order
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import list_scheduling, random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS
from rarmodel.verifier import verify

both = pytest.mark.parametrize(
    "formulation", [TIME_INDEXED, COMPACT], ids=lambda formulation: formulation.name
)

HARD = 49
"""Seed of an instance whose optimum exceeds the simple lower bounds."""


@both
@examples(15)
@given(instances(jobs=5, servers=4), st.integers(0, 3), st.integers(0, 4), st.booleans())
def test_every_feasible_schedule_is_a_solution(
    formulation: Formulation,
    instance: Instance,
    seed: int,
    spare_slots: int,
    every_schedule: bool,
) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None and found.makespan <= 200)
    assert found is not None
    scope = replace(scope_of(instance, found.makespan + spare_slots), every_schedule=every_schedule)
    model = formulation.build(scope)
    formulation.load(model, scope, found.schedule)
    assert broken_constraints(model) == []
    assert pyo.value(model.makespan) == found.makespan
    plan = formulation.plan(model, scope)
    assert plan is not None
    evaluation = Engine(instance).evaluate(np.array(plan.starts), placements_of(plan.workers))
    assert evaluation.makespan == found.makespan


def optimum_of_the_model(formulation: Formulation, instance: Instance, horizon: int) -> int:
    """Optimum of the model alone: no starting solution, no bound but the trivial one."""
    scope = replace(scope_of(instance, horizon), lower_bound=0)
    model = formulation.build(scope)
    answer = HIGHS.solve(model, Limits(time_limit=120))
    assert answer.termination == "finished"
    assert answer.bound is not None
    plan = formulation.plan(model, scope)
    assert plan is not None
    report = verify(instance, schedule_of(instance, plan, "model"))
    assert report.feasible
    assert report.makespan == round(answer.bound)
    return report.makespan


@both
@pytest.mark.parametrize("tree", [False, True], ids=["star", "tree"])
@pytest.mark.parametrize("stall", [False, True], ids=["flowing", "stalling"])
@pytest.mark.parametrize("seed", first(1, range(4, 14)))
def test_optimum_equals_enumeration_on_four_jobs_and_two_servers(
    formulation: Formulation, seed: int, tree: bool, stall: bool
) -> None:
    instance = random_instance(
        Random(seed), jobs=4, servers=2, tree=tree, most_slots=4, stall=stall
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert optimum_of_the_model(formulation, instance, optimum + 3) == optimum
    result = solve(instance, formulation=formulation, time_limit=120)
    assert result.status == "optimal"
    assert result.lower_bound == result.makespan == optimum


@both
@pytest.mark.parametrize("seed", range(4))
def test_optimum_equals_enumeration_on_three_servers_of_a_tree(
    formulation: Formulation, seed: int
) -> None:
    instance = random_instance(
        Random(100 + seed), jobs=3, servers=3, tree=True, most_gpus=2, most_slots=3
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert optimum_of_the_model(formulation, instance, optimum + 3) == optimum


@both
@pytest.mark.parametrize("seed", first(3, range(4, 12)))
def test_optimum_equals_enumeration_at_large_speeds(formulation: Formulation, seed: int) -> None:
    """Slots of 10,000 times the length: what tolerances are worth grows with the speed."""
    small = random_instance(Random(seed), jobs=4, servers=2, tree=seed % 2 == 0, most_slots=4)
    slot = small.time.model_copy(update={"slot_seconds": 1e4 * small.time.slot_seconds})
    jobs = tuple(
        job.model_copy(update={"iterations": int(9_999.5 * job.iterations)}) for job in small.jobs
    )
    instance = small.model_copy(update={"time": slot, "jobs": jobs})
    assert TIME_INDEXED.unfit(scope_of(instance, 10)) is None
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert optimum_of_the_model(formulation, instance, optimum + 2) == optimum


@both
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 260))
def test_optimum_equals_enumeration_on_many_instances(formulation: Formulation, seed: int) -> None:
    random = Random(seed)
    instance = random_instance(
        random,
        jobs=random.choice([3, 4]),
        servers=random.choice([2, 3]),
        tree=random.random() < 0.5,
        most_slots=3,
        most_gpus=3,
        stall=random.random() < 0.5,
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert optimum_of_the_model(formulation, instance, optimum + 2) == optimum


def test_a_model_with_too_few_slots_is_infeasible() -> None:
    instance = random_instance(Random(HARD), jobs=4, servers=2, tree=False, most_slots=4)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert optimum > best_bound(instance).slots
    model = TIME_INDEXED.build(scope_of(instance, optimum - 1))
    answer = HIGHS.solve(model, Limits(time_limit=120))
    assert answer.termination == "infeasible"
    assert not answer.has_solution
    assert answer.bound is None


def test_a_horizon_without_a_schedule_is_proven_infeasible() -> None:
    instance = random_instance(Random(HARD), jobs=4, servers=2, tree=False, most_slots=4)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    short = instance.time.model_copy(update={"horizon": optimum - 1})
    result = solve(
        instance.model_copy(update={"time": short}), formulation="time-indexed", time_limit=120
    )
    assert result.status == "infeasible"
    assert result.schedule is None
    assert result.makespan is result.gap is None
    assert result.lower_bound == optimum


@both
def test_size_grows_with_the_horizon_as_the_model_does(formulation: Formulation) -> None:
    instance = random_instance(Random(3), jobs=5, servers=3, tree=False)
    for horizon in (20, 40):
        scope = scope_of(instance, horizon)
        model = formulation.build(scope)
        terms = sum(
            len(list(identify_variables(constraint.body)))
            for constraint in model.component_data_objects(pyo.Constraint)
        )
        assert 0.3 < formulation.size(scope) / terms < 3


def test_a_plan_becomes_a_verified_schedule() -> None:
    instance = random_instance(Random(3), jobs=4, servers=2, tree=False)
    found = run_policy(instance, list_scheduling)
    assert found is not None
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    plan = Plan(
        tuple(a.start for a in found.schedule.assignments),
        tuple(
            {index[s]: len(gpus) for s, gpus in a.gpus.items()} for a in found.schedule.assignments
        ),
    )
    report = verify(instance, schedule_of(instance, plan, "plan"))
    assert report.feasible
    assert report.makespan == found.makespan


def test_a_job_with_very_many_placements_is_left_to_the_compact_program() -> None:
    instance = load_instance("paper-160")
    reason = TIME_INDEXED.unfit(scope_of(instance, 300))
    assert reason is not None
    assert "extend time-indexed-compact" in reason
    assert COMPACT.unfit(scope_of(instance, 300)) is None


@both
def test_equal_servers_beside_running_jobs_alone_have_no_order(formulation: Formulation) -> None:
    running = {"gpus": {"s0": [0]}, "iterations_done": 1}
    instance = instance_of(job_data("a", running=running), servers=[1, 2, 2])
    result = solve(instance, formulation=formulation, time_limit=60)
    assert result.status == "optimal"
    model = formulation.build(scope_of(instance, result.makespan or 0))
    assert list(model.component_data_objects(pyo.Constraint))


def test_servers_of_which_a_running_job_holds_unlike_parts_have_no_order() -> None:
    """Only the second server has room for the other job at slot 0."""
    running = {"gpus": {"s0": [0, 1], "s1": [0]}, "iterations_done": 0}
    instance = instance_of(
        job_data("a", gpus=3, running=running),
        job_data("b", gpus=3, iterations=12, spread={"max_servers": 1}),
        servers=[4, 4],
    )
    optimum = optimal_makespan(instance)
    assert optimum == 2
    assert optimum_of_the_model(TIME_INDEXED, instance, 5) == optimum


def with_equal_racks(seed: int, jobs: int) -> Instance:
    """Two racks of equal servers; or of unlike ones, the large one first in the second rack."""
    # On servers of one GPU, slots are long enough for every ring.
    instance = random_instance(
        Random(seed), jobs=jobs, servers=4, tree=False, most_gpus=1, most_slots=3
    )
    uplinks = {"s0": "r0", "s1": "r0", "s2": "r1", "s3": "r1", "r0": "core", "r1": "core"}
    links = [
        {"node": node, "parent": parent, "gbps": 12.0 if node.startswith("r") else 10.0}
        for node, parent in uplinks.items()
    ]
    data = instance.model_dump(mode="json", exclude_unset=True)
    outer = 1 + seed % 2
    for server, gpus in zip(data["cluster"]["servers"], (outer, 2, 2, outer), strict=True):
        server["gpus"] = gpus
    data["cluster"]["network"] = {"kind": "tree", "links": links}
    return parse_instance(data)


def test_equal_racks_have_one_order_server_by_server() -> None:
    order = server_order(scope_of(with_equal_racks(0, jobs=2), 10))
    assert order.groups == ((("s0", "s1"), ("s3", "s2")),)
    within = server_order(scope_of(with_equal_racks(1, jobs=2), 10)).groups
    assert within[0] == (("s0", "s1"), ("s2", "s3"))
    assert set(within[1:]) == {(("s0",), ("s1",)), (("s2",), ("s3",))}


@pytest.mark.parametrize("seed", range(1, 4))
def test_optimum_equals_enumeration_on_equal_racks(seed: int) -> None:
    instance = with_equal_racks(seed, jobs=3)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    assert optimum_of_the_model(TIME_INDEXED, instance, optimum + 2) == optimum


@examples(8)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_every_feasible_schedule_on_equal_racks_is_a_solution(seed: int, jobs: int) -> None:
    instance = with_equal_racks(seed, jobs)
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None and found.makespan <= 50)
    assert found is not None
    scope = scope_of(instance, found.makespan)
    model = TIME_INDEXED.build(scope)
    TIME_INDEXED.load(model, scope, found.schedule)
    assert broken_constraints(model) == []
    assert pyo.value(model.makespan) == found.makespan
