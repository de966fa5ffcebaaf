"""Simulations beside services: replicas follow demand, jobs give way, and the figures are right."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from depth import first
from documents import Data, instance_data, job_data
from serving_instances import demand, random_serving, service, variant, with_services

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.online import unsuitable
from rarmodel.online.policies.priorities import SRTF
from rarmodel.schema.instance import Preemption
from rarmodel.verifier import verify


def beside(asked: Data, *jobs: Data, **fields: Any) -> Data:
    """Jobs that may be interrupted, on two servers of two GPUs, beside a service."""
    preemption = {"restore_seconds": 1.0}
    return {**instance_data(*jobs), "services": [asked], "preemption": preemption, **fields}


@pytest.mark.parametrize("policy", ["fifo-backfill", "srtf"])
def test_simulations_give_way_where_a_replica_begins(policy: str) -> None:
    data = beside(service("chat", demand(1, 10, 200.0)), job_data("a", 2, 20), job_data("b", 2, 30))
    found = rarmodel.simulate(data, policy)
    assert found.verified
    assert found.schedule is not None
    assert len(found.schedule.services) == 4
    assert found.preemptions == 2
    assert found.proven["cost"].value is not None
    assert found.report is not None
    instance = parse_instance({**data, "objective": "cost"})
    report = verify(instance, found.schedule)
    assert report.objective == {"cost": found.proven["cost"].value}
    assert found.proven["cost"].bound >= Fraction(4 * 9, 3600)


def test_figures_of_a_service_by_hand() -> None:
    """Four replicas of 50 a second for nine slots, and one that starts up in slot 10 for slot 11.

    The last entry asks for nothing, so its slots do not count.
    """
    asked = service(
        *("chat", demand(1, 10, 200.0), demand(11, 20, 10.0), demand(20, 30, 0.0)),
        variants=[variant("only", startup_seconds=1.0)],
    )
    jobs = job_data("a", 2, 20), job_data("b", 2, 30)
    found = rarmodel.simulate(beside(asked, *jobs), "fifo-backfill")
    chat = found.services["chat"]
    assert (chat.slots, chat.met, chat.most_replicas) == (18, 18, 4)
    assert chat.bound == Fraction(4 * 9 + 9, 3600)
    # Four start up in slot 0; one of them goes on through slot 10, as starting again costs as much.
    assert chat.cost == Fraction(4 * 10 + 10, 3600)
    assert found.summary()["services"]["chat"]["ratio"] == pytest.approx(50 / 45)
    told = "demand is met in 18 of 18 slots; replicas cost 0.0138889, at most 1.111 times the least"
    assert found.lines()["service chat"] == told


def test_jobs_that_are_not_preemptible_never_give_way() -> None:
    """Job b does not start on a server where it might meet a replica, and is never interrupted."""
    asked = service("chat", demand(5, 10, 200.0))
    jobs = job_data("a", 2, 100), job_data("b", 2, 100, preemptible=False)
    found = rarmodel.simulate(beside(asked, *jobs), "fifo-backfill")
    assert found.verified
    assert found.schedule is not None
    segments = {one.job: one.segments for one in found.schedule.assignments}
    assert len(segments["a"]) == 2
    assert [one.start for one in segments["b"]] == [10]


@pytest.mark.parametrize("seed", first(8, range(100)))
def test_random_days_are_verified_and_contradict_no_bound(seed: int) -> None:
    random = Random(seed)
    instance = random_serving(random, startups=True, jobs=5, services=random.randint(1, 2))
    servers = [one.model_copy(update={"gpus": 8}) for one in instance.cluster.servers]
    cluster = instance.cluster.model_copy(update={"servers": tuple(servers)})
    jobs = tuple(
        job.model_copy(
            update={"release": random.randint(0, 12), "preemptible": random.random() < 0.7}
        )
        for job in instance.jobs
    )
    time = instance.time.model_copy(update={"horizon": None})
    update = {"cluster": cluster, "jobs": jobs, "time": time}
    instance = instance.model_copy(
        update={**update, "preemption": Preemption(restore_seconds=random.choice([0.0, 2.0]))}
    )
    policies = ["fifo-backfill", "las", "srtf"]
    for found in rarmodel.simulate(instance, policies):
        assert found.verified, found.reasons
        assert found.schedule is not None
        report = verify(instance, found.schedule, slot_by_slot=True)
        assert report.feasible, report.violations
        for name, one in found.proven.items():
            assert one.value is not None
            assert one.bound <= one.value, name
        total = Fraction(0)
        for name, figures in found.services.items():
            answered = report.services[name]
            asked = sum(one.end - one.start for one in answered if one.demand > 0)
            assert figures.slots == figures.met == asked
            assert figures.bound <= figures.cost
            total += Fraction(figures.cost)
        alone = instance.model_copy(update={"services": (), "objective": "cost"})
        whole = instance.model_copy(update={"objective": "cost"})
        of_jobs = verify(alone, found.schedule.model_copy(update={"services": ()})).objective
        of_all = verify(whole, found.schedule).objective
        assert of_jobs is not None
        assert of_all is not None
        assert of_all["cost"] == of_jobs["cost"] + total


def test_replicas_are_decided_once_for_all_policies() -> None:
    asked = service("chat", demand(1, 10, 50.0))
    data = beside(asked, job_data("a", 2, 20), job_data("b", 1, 30))
    one, two = rarmodel.simulate(data, ["fifo", "srtf"])
    assert one.services == two.services
    assert [rarmodel.simulate(data, name).services for name in ("fifo", "srtf")] == [
        one.services,
        two.services,
    ]


def test_what_cannot_be_played_is_said_in_a_line() -> None:
    with pytest.raises(UsageError, match=r"services \(services\) without preemption"):
        rarmodel.simulate(with_services(service("chat", demand(0, 1, 1.0))), "fifo")
    assert unsuitable(parse_instance(with_services(service("chat", demand(0, 1, 1.0)))), SRTF)
    shared = beside(service("chat", demand(0, 1, 1.0)), job_data("a", 1, 20, slices=1))
    shared["cluster"]["gpu_slices"] = 2
    with pytest.raises(
        UsageError, match=r"services \(services\) where jobs share GPUs \(jobs\[0\]"
    ):
        rarmodel.simulate(shared, "fifo")
    much = beside(service("chat", demand(0, 4, 1000.0)), job_data("a", 1, 20))
    with pytest.raises(UsageError, match="nothing is played: the replicas that services need find"):
        rarmodel.simulate(much, "fifo")
