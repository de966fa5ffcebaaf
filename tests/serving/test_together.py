"""Replicas together with the jobs: `time-indexed` finds the best of all schedules."""

from __future__ import annotations

from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from depth import first
from documents import instance_data, job_data
from joint_enumeration import best_values, random_tiny
from serving_instances import batch, demand, random_serving, service, variant

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.verifier import verify


@pytest.mark.parametrize("seed", first(12, range(400)))
def test_the_joint_optimum_is_the_best_of_all_schedules(seed: int) -> None:
    instance = random_tiny(Random(seed))
    result = rarmodel.solve(instance, formulation="time-indexed")
    best = best_values(instance)
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert tuple(goal.value for goal in result.objective) == best
    assert result.schedule is not None
    assert verify(instance, result.schedule, slot_by_slot=True).feasible


def moved_aside() -> dict[str, Any]:
    """A service that costs less on the only server with room for the job."""
    data = instance_data(job_data("a", 2, 20, servers=["s0"]), servers=[2, 1], horizon=20)
    for server, kind in zip(data["cluster"]["servers"], ("A", "B"), strict=True):
        server["gpu_type"] = kind
    data["cluster"]["prices_per_gpu_hour"] = {"A": 1.8, "B": 3.6}
    data["services"] = [service("chat", demand(0, 9, 50.0))]
    return data


def test_a_replica_moves_aside_for_a_job() -> None:
    """Replicas first hold a GPU of s0 until slot 9; on s1 they leave the job both at once."""
    data = {**moved_aside(), "objective": ["makespan", "cost"]}
    first = rarmodel.solve(data, formulation="time-indexed-compact")
    assert first.makespan == 11
    both = rarmodel.solve(data, formulation="time-indexed")
    assert (both.makespan, both.status) == (2, "optimal")
    assert both.schedule is not None
    # Then s0 costs less, and no job is there any more.
    held = [(one.start, one.end, *one.gpus) for one in both.schedule.services]
    assert sorted(held) == [(0, 2, "s1"), (2, 9, "s0")]
    assert both.schedule_by != "start"


def test_the_model_alone_and_its_own_solution_give_the_same() -> None:
    data = moved_aside()
    assert rarmodel.solve(data, formulation="time-indexed", model_only=True).makespan == 2
    formulated = rarmodel.formulate(data, "time-indexed")
    found = formulated.solve()
    assert found.makespan == 2
    assert found.schedule is not None
    assert len(formulated.schedule().services) == len(found.schedule.services)
    formulated.load(found.schedule)
    again = rarmodel.solve(data, formulation="time-indexed", start=formulated)
    assert again.makespan == 2


def test_a_schedule_to_start_from_is_never_made_worse() -> None:
    data = moved_aside()
    start = rarmodel.solve(data, formulation="time-indexed").schedule
    result = rarmodel.solve(data, formulation="time-indexed", start=start)
    assert (result.makespan, result.schedule_by) == (2, "start")


def test_running_jobs_keep_gpus_that_are_reserved_and_replicas_wait_for_them() -> None:
    """The running job has both GPUs of s0, one of them reserved: no replica fits before slot 3."""
    running = {"gpus": {"s0": [0, 1]}, "iterations_done": 1}
    data = instance_data(job_data("a", 2, 31, running=running), servers=[2], horizon=9)
    reserved = [{"server": "s0", "gpus": 1, "from": 0, "to": 7}]
    data["cluster"]["reservations"] = reserved
    data["services"] = [service("chat", demand(3, 9, 50.0))]
    result = rarmodel.solve(data, formulation="time-indexed")
    assert (result.makespan, result.status) == (3, "optimal")
    for from_slot, rate in ((2, 50.0), (3, 100.0)):
        data["services"] = [service("chat", demand(from_slot, 9, rate))]
        assert rarmodel.solve(data, formulation="time-indexed").status == "infeasible"


def sliced_aside() -> dict[str, Any]:
    """The same with a replica that holds half of a GPU."""
    sliced = moved_aside()
    sliced["cluster"]["gpu_slices"] = 4
    sliced["services"][0]["variants"] = [variant("half", batch(1, 20.0), slices=2)]
    return sliced


def test_a_replica_of_slices_moves_aside_for_a_job() -> None:
    assert rarmodel.solve(sliced_aside(), formulation="time-indexed-compact").makespan == 11
    result = rarmodel.solve(sliced_aside(), formulation="time-indexed")
    assert (result.makespan, result.status) == (2, "optimal")


def test_a_replica_of_slices_is_on_the_gpu_of_a_job_that_shares() -> None:
    """Each GPU has a job that takes half of it. Replicas first take a GPU of their own."""
    data = sliced_aside()
    data["jobs"] = [
        job_data(f"j{i}", 1, 20, slices=2, servers=[server])
        for i, server in enumerate(("s0", "s0", "s1"))
    ]
    data["objective"] = "total-completion"
    for job in data["jobs"]:
        job["sensitivity"] = 1.0
    data["services"][0]["demand"] = [demand(0, 9, 150.0)]
    first_one = rarmodel.solve(data, method="fifo-backfill")
    both = rarmodel.solve(data, formulation="time-indexed")
    assert both.status == "optimal"
    assert both.objective[0].value == 6
    assert first_one.objective[0].value is not None
    assert first_one.objective[0].value > 6
    assert both.schedule is not None
    jobs = {(s, gpu) for one in both.schedule.assignments for s in one.gpus for gpu in one.gpus[s]}
    held = {(s, gpu) for one in both.schedule.services for s in one.gpus for gpu in one.gpus[s]}
    assert jobs == held == {("s0", 0), ("s0", 1), ("s1", 0)}
    ways: list[dict[str, Any]] = [{"method": "fifo-backfill"}, {"formulation": "time-indexed"}]
    for way in ways:
        again = rarmodel.solve(data, start=both.schedule, **way)
        assert (again.objective[0].value, again.schedule_by) == (6, "start")


def test_what_one_model_cannot_hold_is_decided_first_and_said() -> None:
    def late(model: Any, scope: Any) -> None:
        """No job starts at slot 0."""
        model.late = pyo.Constraint(list(scope.jobs), rule=lambda m, j: m.started[j, 0] == 0)

    data = sliced_aside()
    result = rarmodel.solve(data, formulation=TIME_INDEXED.extended("late", late))
    assert result.schedule is not None
    where = "formulation 'late' has additions, which know jobs alone"
    assert result.stopped.endswith(f"; replicas were decided first, as {where}")
    with pytest.raises(UsageError, match="no model with services"):
        rarmodel.formulate(random_serving(Random(4)), "time-indexed", every_schedule=True)
    assert rarmodel.formulate(data, "time-indexed").solve().makespan == 2
