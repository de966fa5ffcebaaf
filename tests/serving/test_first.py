"""Replicas first: every way to solve gives a schedule of the whole that the verifier accepts."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import first
from documents import instance_data, job_data
from serving_instances import batch, demand, random_serving, service, variant, with_services

import rarmodel
from rarmodel import registry
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.model import handled
from rarmodel.model.features import SERVICES
from rarmodel.model.objectives import COST
from rarmodel.model.services import cost_of_replicas
from rarmodel.schema import Instance
from rarmodel.serving import Decided, decide_replicas
from rarmodel.serving.mix import cheapest_mix
from rarmodel.verifier import verify

METHODS = [name for name in registry.names("methods") if name != "random"]


def decided(instance: Instance) -> Decided:
    found = decide_replicas(instance, Limits(20.0))
    assert isinstance(found, Decided), found
    return found


@pytest.mark.parametrize("seed", first(20, range(300)))
def test_random_wholes_are_verified_or_said_to_have_no_room(seed: int) -> None:
    random = Random(seed)
    instance = random_serving(
        random, startups=seed % 2 == 0, slices=seed % 3 == 0, jobs=4, services=random.randint(1, 2)
    )
    instance = instance.model_copy(update={"objective": random.choice(["cost", "makespan"])})
    result = rarmodel.solve(instance, method="fifo-backfill")
    if result.schedule is None:
        assert result.status in {"infeasible", "unknown"}
        assert "room" in result.stopped or "finds no server" in result.stopped or result.reasons
        return
    report = verify(instance, result.schedule, slot_by_slot=True)
    assert report.feasible, report.violations
    assert result.objective[0].bound is not None
    assert result.objective[0].bound <= (report.objective or {})[instance.objectives[0]]


@pytest.mark.parametrize("method", METHODS)
def test_each_method_that_handles_services_gives_a_verified_whole(method: str) -> None:
    found = registry.find("methods", method)
    instance = random_serving(Random(4))
    options: dict[str, Any] = {"iterations": 2} if method == "search" else {}
    if SERVICES.name not in handled(found):
        with pytest.raises(UsageError, match=r"does not handle services \(services\)"):
            rarmodel.solve(instance, method=method, **options)
        return
    result = rarmodel.solve(instance, method=method, **options)
    assert result.schedule is not None
    assert result.schedule.services
    assert verify(instance, result.schedule).feasible


def test_the_whole_costs_what_jobs_and_the_cheapest_mix_cost() -> None:
    instance = random_serving(Random(4)).model_copy(update={"objective": "cost"})
    mix = cheapest_mix(instance, Limits(20.0))
    assert not isinstance(mix, str)
    result = rarmodel.solve(instance, method="fifo-backfill")
    assert result.schedule is not None
    assert result.report is not None
    assert cost_of_replicas(instance, result.schedule.services, COST) == mix.price
    jobs = instance.model_copy(update={"services": ()})
    alone = verify(jobs, result.schedule.model_copy(update={"services": ()}))
    assert result.report.objective is not None
    assert alone.objective is not None
    assert result.report.objective["cost"] == alone.objective["cost"] + mix.price


def test_jobs_wait_where_replicas_take_their_gpus() -> None:
    """Both servers of two GPUs serve in slots 0 to 9, so the job of two GPUs comes after them."""
    asked = service("chat", demand(0, 10, 200.0), variants=[variant("only", gpus=1)])
    data = {**instance_data(job_data("a", 2, 20)), "services": [asked]}
    result = rarmodel.solve(data, formulation="time-indexed-compact")
    assert result.makespan == 12
    assert result.status == "feasible"  # The bound is of the job alone: 2 slots.
    assert result.lower_bound == 2


def test_a_service_that_cannot_answer_makes_the_instance_infeasible() -> None:
    slow = service("chat", demand(0, 4, 1.0), variants=[variant("slow", batch(8, 60.0))])
    result = rarmodel.solve(with_services(slow), method="fifo-backfill")
    assert result.status == "infeasible"
    (line,) = result.reasons
    assert line == (
        "service 'chat': no variant answers within 100 ms; the fastest batch takes 60 ms, and a "
        "request may wait for one before its own"
    )
    poor = variant("poor", accuracy=0.5)
    asked = service("chat", demand(0, 4, 1.0), variants=[poor], min_accuracy=0.6)
    result = rarmodel.solve(with_services(asked), formulation="time-indexed")
    assert result.status == "infeasible"
    assert "min_accuracy is 0.6" in result.reasons[0]


def test_demand_beyond_the_cluster_is_no_proof_that_there_is_no_schedule() -> None:
    asked = service("chat", demand(0, 4, 1000.0))
    result = rarmodel.solve(with_services(asked), method="fifo-backfill")
    assert result.status == "unknown"
    assert "find no room" in result.stopped


def test_running_jobs_keep_their_gpus() -> None:
    running = {"gpus": {"s0": [1]}, "iterations_done": 1}
    jobs = [job_data("a", 1, 31, running=running), job_data("b", 2, 20)]
    data = {**instance_data(*jobs), "services": [service("chat", demand(0, 9, 50.0))]}
    result = rarmodel.solve(data, method="fifo-backfill")
    assert result.schedule is not None
    held = {one.job: one.gpus for one in result.schedule.assignments}
    assert held["a"] == {"s0": (1,)}
    (replica,) = result.schedule.services
    assert replica.gpus == {"s0": (0,)}  # Beside the running job, so s1 stays whole for b.


def test_a_mix_that_finds_no_room_is_decided_anew_by_servers() -> None:
    """Two large replicas leave a GPU of s0 and one of s1, and the small one needs two of a server.

    By groups of equal servers all of them fit the eight GPUs, and this would cost least.
    """
    kinds = [
        variant("large", batch(1, 1000 / 110), gpus=3),
        variant("small", batch(1, 1000 / 60), gpus=2),
    ]
    asked = service("chat", demand(0, 4, 260.0), variants=kinds)
    data = {**instance_data(job_data("a", 1, 20), servers=[4, 4, 4]), "services": [asked]}
    for server, kind in zip(data["cluster"]["servers"], "AAB", strict=True):
        server["gpu_type"] = kind
    data["cluster"]["prices_per_gpu_hour"] = {"A": 1.0, "B": 10.0}
    found = decided(parse_instance(data))
    held = sorted((one.variant, *one.gpus) for one in found.replicas)
    assert held == [("large", "s0"), ("large", "s1"), ("small", "s2")]
    assert rarmodel.solve(data, method="fifo-backfill").schedule is not None


def test_replicas_of_several_kinds_share_a_gpu_where_there_is_no_other() -> None:
    asked = [
        service(name, demand(0, 4, 50.0), variants=[variant("part", slices=1)]) for name in "ab"
    ]
    job = job_data("a", 1, 20)
    data = {**instance_data(job, servers=[2]), "services": asked}
    data["cluster"]["gpu_slices"] = 2
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 1, "from": 0, "to": 4}]
    result = rarmodel.solve(data, method="fifo-backfill")
    assert result.schedule is not None
    one, other = result.schedule.services
    assert one.gpus == other.gpus
    assert result.makespan == 6


def test_caps_of_tenants_hold_for_jobs_and_replicas_together() -> None:
    """Of the lab's two GPUs its service has one until slot 9: its jobs run one after another."""
    data = {
        **instance_data(job_data("a", 1, 20, tenant="lab"), job_data("b", 1, 20, tenant="lab")),
        "tenants": [{"name": "lab", "gpus": 2}],
        "services": [service("chat", demand(0, 9, 50.0), tenant="lab")],
    }
    result = rarmodel.solve(data, formulation="time-indexed-compact")
    assert result.makespan == 4
    data["tenants"] = [{"name": "lab", "gpus": 3}]
    assert rarmodel.solve(data, formulation="time-indexed-compact").makespan == 2
    data["tenants"] = [{"name": "lab", "gpus": 1}]
    assert rarmodel.solve(data, method="fifo-backfill").makespan == 13


def test_a_start_keeps_its_replicas_and_no_answer_is_worse() -> None:
    instance = random_serving(Random(4))
    start = rarmodel.solve(instance, method="fifo-backfill").schedule
    assert start is not None
    ways: list[dict[str, Any]] = [
        {"iterations": 2},
        {"formulation": "time-indexed-compact", "time_limit": 20},
    ]
    for way in ways:
        result = rarmodel.solve(instance, start=start, **way)
        assert result.schedule is not None
        assert result.makespan is not None
        assert result.makespan <= (verify(instance, start).makespan or 0)
        kept = [(one.variant, one.start, one.end) for one in result.schedule.services]
        assert kept == [(one.variant, one.start, one.end) for one in start.services]


def test_compare_puts_services_into_each_row() -> None:
    instance = random_serving(Random(4))
    rows = rarmodel.compare(
        instance, methods=["fifo-backfill", "first-fit"], formulations=["time-indexed"]
    )[0].results
    assert [one.status for one in rows][1] == "skipped"
    for one in (rows[0], rows[2]):
        assert one.schedule is not None
        assert one.schedule.services
        assert verify(instance, one.schedule).feasible


def test_parts_that_have_no_services_say_so() -> None:
    instance = random_serving(Random(4))
    with pytest.raises(UsageError, match="'cheapest-mix' has no jobs"):
        rarmodel.solve(instance, formulation="cheapest-mix")
    with pytest.raises(UsageError, match=r"does not handle services \(services\) in one model"):
        rarmodel.formulate(instance, "time-indexed-compact")
    with pytest.raises(UsageError, match="leave model_only out"):
        rarmodel.solve(instance, formulation="time-indexed-compact", model_only=True)
    with pytest.raises(UsageError, match=r"has services \(services\)"):
        rarmodel.certificate(instance, rarmodel.solve(instance, method="fifo-backfill"))


@pytest.mark.parametrize("way", ["fifo-backfill", "time-indexed"])
@pytest.mark.parametrize("seed", first(2, range(25)))
def test_jobs_that_share_gpus_have_replicas_beside_them(seed: int, way: str) -> None:
    random = Random(seed)
    jobs = []
    for i in range(4):
        shares: dict[str, Any] = {}
        if random.random() < 0.6:
            shares = {"slices": random.choice([1, 2])}
        size, iterations = random.choice([1, 1, 2]), random.randint(10, 60)
        jobs.append(job_data(f"j{i}", size, iterations, **shares))
    data = instance_data(*jobs, servers=(3, 3), horizon=100)
    data["cluster"]["gpu_slices"] = 4
    asked = [demand(0, 6, 50.0), demand(6, 12, random.choice([50.0, 100.0, 140.0]))]
    kinds = [variant("whole"), variant("part", slices=2)]
    data["services"] = [service("chat", *asked, variants=kinds)]
    options: dict[str, Any] = {"method": way}
    if way == "time-indexed":
        options = {"formulation": way, "time_limit": 20}
    result = rarmodel.solve(data, **options)
    assert result.schedule is not None
    assert result.schedule.services
    assert verify(parse_instance(data), result.schedule, slot_by_slot=True).feasible
