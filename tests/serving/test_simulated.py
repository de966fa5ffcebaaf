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
from rarmodel.errors import NoScheduleError, UsageError
from rarmodel.files import parse_instance
from rarmodel.online import unsuitable
from rarmodel.online.policies.priorities import SRTF
from rarmodel.schema import Instance
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


def random_day(random: Random, *, shared: bool, interrupted: bool) -> Instance:
    """Jobs that arrive beside services, on large servers; some run at slot 0."""
    made = random_serving(
        *(random,), startups=True, slices=shared, jobs=5, services=random.randint(1, 2)
    )
    data: Any = made.model_dump(mode="json", by_alias=True, exclude_unset=True)
    del data["time"]["horizon"]
    gpus = random.choice([4, 8])
    for server in data["cluster"]["servers"]:
        server["gpus"] = gpus
    if random.random() < 0.4:
        data["tenants"] = [{"name": "t", "gpus": random.randint(8, 16)}]
        data["services"][0]["tenant"] = "t"
    taken = iter(range(gpus))
    for job in data["jobs"]:
        job["release"] = random.randint(0, 12)
        if random.random() < 0.3 and job["gpus"] <= 2:
            own = [gpu for _, gpu in zip(range(job["gpus"]), taken, strict=False)]
            if len(own) == job["gpus"]:
                job |= {"release": 0, "running": {"gpus": {"s0": own}, "iterations_done": 1}}
        if "tenants" in data and random.random() < 0.5:
            job["tenant"] = "t"
        if interrupted:
            job["preemptible"] = random.random() < 0.7
    if interrupted:
        data["preemption"] = {"restore_seconds": random.choice([0.0, 2.0])}
    if shared:
        for job in data["jobs"]:
            job |= {"slices": random.randint(1, 3), "sensitivity": random.choice([0.25, 0.5, 1.0])}
            job |= {"memory_gb": random.choice([5, 20])}
    return parse_instance(data)


@pytest.mark.parametrize(
    ("shared", "interrupted"), [(False, True), (False, False), (True, True), (True, False)]
)
@pytest.mark.parametrize("seed", first(4, range(100)))
def test_random_days_are_verified_and_contradict_no_bound(
    seed: int, *, shared: bool, interrupted: bool
) -> None:
    instance = random_day(Random(seed), shared=shared, interrupted=interrupted)
    policies = ["fifo-backfill", "las", "srtf", *(["lucid", "muri"] if shared else [])]
    try:
        played = rarmodel.simulate(instance, policies)
    except NoScheduleError:
        pytest.skip("no replicas answer, or they find no room")
    for found in played:
        if found.causes:
            continue
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


def starts(data: Data, policy: str = "fifo-backfill") -> dict[str, list[int]]:
    """When the jobs of a simulation, which is verified, begin and go on."""
    found = rarmodel.simulate(data, policy)
    assert found.verified
    assert found.schedule is not None
    return {one.job: [part.start for part in one.segments] for one in found.schedule.assignments}


def test_without_preemption_jobs_leave_room_for_replicas() -> None:
    """Two GPUs are away in slots 5 to 9, so `late` does not go after `short`, but after `long`."""
    asked = service("chat", demand(5, 10, 100.0))
    jobs = job_data("long", 2, 80), job_data("short", 2, 10), job_data("late", 2, 80, release=1)
    data = with_services(asked, jobs=[*jobs])
    assert starts(data) == {"long": [0], "short": [0], "late": [8]}
    assert starts(data, "srtf") == starts(data)
    for policy in ("fifo-backfill", "srtf"):
        found = rarmodel.simulate(data, policy)
        assert found.preemptions == 0
        assert all(one.met == one.slots for one in found.services.values())


def test_jobs_that_run_give_way_if_replicas_find_no_room_beside_them() -> None:
    """Three replicas on four GPUs of which both jobs hold two; one GPU is enough for no job."""
    asked = service("chat", demand(3, 10, 150.0))

    def running(name: str, server: str, **fields: Any) -> Data:
        at = {"gpus": {server: [0, 1]}, "iterations_done": 0}
        return job_data(name, 2, 80, running=at, **fields)

    data = beside(asked, running("a", "s0"), running("b", "s1"))
    assert starts(data) == {"a": [0, 10], "b": [0, 10]}
    one = beside(service("chat", demand(3, 10, 100.0)), running("a", "s0"), running("b", "s1"))
    assert sorted(starts(one).values()) == [[0], [0, 8]]
    reserved: Any = beside(asked, running("a", "s0"), running("b", "s1"))
    reserved["cluster"]["reservations"] = [{"server": "s1", "gpus": 1, "from": 50, "to": 51}]
    for fixed in (
        reserved,
        beside(asked, running("a", "s0"), running("b", "s1", preemptible=False)),
        beside(
            asked,
            running("a", "s0"),
            running("b", "s1", tenant="t"),
            tenants=[{"name": "t", "gpus": 2}],
        ),
        with_services(asked, jobs=[running("a", "s0"), running("b", "s1")]),
    ):
        with pytest.raises(NoScheduleError, match=r"nothing is played: .* find no room"):
            rarmodel.simulate(fixed, "fifo-backfill")


@pytest.mark.parametrize("interrupted", [True, False])
def test_jobs_share_the_gpus_that_replicas_leave(interrupted: bool) -> None:
    """Of two GPUs one is away in slots 2 and 3: then all four jobs are on the other, or wait."""
    asked = service("chat", demand(2, 4, 50.0))
    jobs = [job_data(name, 1, 40, slices=1, sensitivity=0) for name in "abcd"]
    data: Any = with_services(asked, jobs=jobs)
    data["cluster"] |= {"servers": [{"name": "s0", "gpus": 2}], "gpu_slices": 3}
    if interrupted:
        data["preemption"] = {"restore_seconds": 0.0}
    found = starts(data)
    if interrupted:
        assert sum(len(some) == 2 for some in found.values()) == 1
    else:
        assert sorted(found.values()) == [[0], [0], [0], [4]]


def test_what_cannot_be_played_is_said_in_a_line() -> None:
    asked = service("chat", demand(0, 1, 1.0))
    reserved: Any = with_services(asked)
    reserved["cluster"]["reservations"] = [{"server": "s0", "gpus": 1, "from": 5, "to": 6}]
    falling = with_services(
        asked,
        resources=[
            {
                "name": "power",
                "capacity": [
                    {"from": 0, "to": 5, "capacity": 9},
                    {"from": 5, "to": 6, "capacity": 5},
                ],
            }
        ],
    )
    falling["jobs"][0]["resources"] = {"power": 1}
    for data, told in (
        (reserved, r"reservations \(cluster.reservations\) without preemption"),
        (falling, r"capacities that fall \(resources\[0\].capacity\) without preemption"),
    ):
        with pytest.raises(UsageError, match=told):
            rarmodel.simulate(data, "fifo")
        assert unsuitable(parse_instance(data), SRTF)
    much = beside(service("chat", demand(0, 4, 1000.0)), job_data("a", 1, 20))
    with pytest.raises(
        NoScheduleError, match="nothing is played: the replicas that services need find"
    ):
        rarmodel.simulate(much, "fifo")
