"""Services (section 16): each violation by hand, and two ways to count that agree."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import first
from documents import Data, instance_data, job_data
from serving_instances import (
    batch,
    demand,
    random_serving,
    rate,
    serves,
    service,
    variant,
    with_services,
)

from rarmodel.files import parse_instance, parse_schedule
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify


def replica(
    name: str = "chat",
    kind: str = "only",
    start: int = 0,
    end: int = 4,
    gpus: dict[str, list[int]] | None = None,
) -> Data:
    held = {"s1": [1]} if gpus is None else gpus
    return {"service": name, "variant": kind, "from": start, "to": end, "gpus": held}


def scheduled(instance: Instance, *replicas: Data, **starts: int) -> Schedule:
    """Jobs a (2 GPUs of s0) and b (GPU 0 of s1) from slot 0, or from others, beside replicas."""
    return parse_schedule(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": "by hand",
            "assignments": [
                {"job": "a", "start": starts.get("a", 0), "gpus": {"s0": [0, 1]}},
                {"job": "b", "start": starts.get("b", 0), "gpus": {"s1": [0]}},
            ],
            "services": list(replicas),
        }
    )


def broken(data: Data, *replicas: Data, **starts: int) -> list[tuple[str, str | None, int | None]]:
    """Constraint, server and slot of each violation, which both ways to count find."""
    instance = parse_instance(data)
    schedule = scheduled(instance, *replicas, **starts)
    report = verify(instance, schedule)
    slowly = verify(instance, schedule, slot_by_slot=True)
    assert report.violations == slowly.violations
    assert report.services == slowly.services
    assert report.objective == slowly.objective
    return [(one.constraint, one.server, one.slot) for one in report.violations]


CHAT = with_services(service("chat", demand(1, 4, 50.0)))


def chat(**fields: Any) -> Data:
    """The service of `CHAT` with other fields."""
    return with_services(service("chat", demand(1, 4, 50.0), **fields))


def test_a_replica_that_answers_in_time_is_enough() -> None:
    assert broken(CHAT, replica()) == []


@pytest.mark.parametrize(
    ("replicas", "slot"),
    [
        ([], 1),
        ([replica(end=3)], 3),
        ([replica(start=2)], 1),
        ([replica(start=1, end=2), replica(start=3)], 2),
    ],
)
def test_demand_is_reached_in_each_slot(replicas: list[Data], slot: int) -> None:
    assert broken(CHAT, *replicas) == [("demand", None, slot)]


def test_demand_counts_exactly() -> None:
    """Of 50 requests a second one replica answers 50, and not 50.000001."""
    assert broken(with_services(service("chat", demand(0, 1, 50.000001))), replica()) == [
        ("demand", None, 0)
    ]
    third = variant("only", batch(1, 30.0))
    exact = service("chat", demand(0, 1, 33.333), variants=[third])
    assert broken(with_services(exact), replica()) == []


@pytest.mark.parametrize(("start", "kept"), [(0, True), (1, False), (2, False)])
def test_a_replica_starts_up_unless_it_is_up_at_slot_0(start: int, kept: bool) -> None:
    data = with_services(
        service("chat", demand(2, 4, 50.0), variants=[variant("only", startup_seconds=1.5)])
    )
    found = broken(data, replica(start=start))
    assert (found == []) is kept
    assert kept or found == [("demand", None, 2)]


def test_the_most_accurate_replicas_answer_first() -> None:
    """Of 60 requests good replicas answer 50: (50·0.9 + 10·0.3) / 60 = 0.8."""
    kinds = [variant("good", accuracy=0.9), variant("poor", accuracy=0.3)]
    both = [replica(kind="good"), replica(kind="poor", gpus={"s1": [0]})]
    for least, found in ((0.8, []), (0.8001, [("accuracy", None, 0)])):
        asked = service("chat", demand(0, 2, 60.0), variants=kinds, min_accuracy=least)
        assert broken(with_services(asked), *both, b=9) == found


def test_where_demand_fails_accuracy_is_not_reported() -> None:
    kinds = [variant("poor", accuracy=0.3)]
    asked = service("chat", demand(0, 4, 60.0), variants=kinds, min_accuracy=0.8)
    assert broken(with_services(asked), replica(kind="poor")) == [("demand", None, 0)]


@pytest.mark.parametrize(
    ("latency_ms", "found"),
    [(40.0, []), (39.9, [("latency", "s1", 0), ("demand", None, 1)])],
)
def test_twice_the_time_of_a_batch_is_within_the_latency(
    latency_ms: float, found: list[tuple[str, str | None, int | None]]
) -> None:
    constraints = [(name, slot) for name, _, slot in broken(chat(latency_ms=latency_ms), replica())]
    assert constraints == [(name, slot) for name, _, slot in found]


MALFORMED: list[tuple[str, Data]] = [
    ("a service that is not there", replica(name="mail")),
    ("a variant that is not there", replica(kind="other")),
    ("a slot below 0", replica(start=-1)),
    ("an end before the begin", replica(start=4, end=4)),
    ("no server", replica(gpus={})),
    ("two servers", replica(gpus={"s0": [0], "s1": [1]})),
    ("a server that is not there", replica(gpus={"s9": [0]})),
    ("a GPU that is not there", replica(gpus={"s1": [2]})),
    ("a GPU twice", replica(gpus={"s1": [1, 1]})),
    ("more GPUs than the variant has", replica(gpus={"s1": [0, 1]})),
]


@pytest.mark.parametrize(("case", "wrong"), MALFORMED, ids=[case for case, _ in MALFORMED])
def test_a_malformed_replica_does_not_count(case: str, wrong: Data) -> None:
    found = broken(CHAT, replica(), wrong, b=9)
    assert {name for name, *_ in found} == {"replica"}
    assert ("demand", None, 1) in broken(CHAT, wrong, b=9)


def test_servers_and_types_that_a_service_asks_for_are_kept() -> None:
    assert broken(chat(servers=["s0"]), replica()) == [("servers", "s1", 0)]
    data = chat(variants=[variant("only", gpu_type="A")])
    for server, kind in zip(data["cluster"]["servers"], "AB", strict=True):
        server["gpu_type"] = kind
    assert broken(data, replica()) == [("type", "s1", 0)]


def test_no_replica_holds_a_gpu_beside_a_job_or_another_replica() -> None:
    """b holds GPU 0 of s1 in slot 0 only."""
    on_b = replica(gpus={"s1": [0]})
    assert broken(CHAT, on_b) == [("capacity", "s1", 0)]
    assert broken(CHAT, on_b, b=4) == []
    assert broken(CHAT, replica(), replica(start=3)) == [("capacity", "s1", 3)]


def test_slices_and_memory_of_a_gpu_are_enough_for_its_replicas() -> None:
    small = variant("only", slices=2, memory_gb=20)
    data = chat(variants=[small])
    data["cluster"] |= {"gpu_slices": 4, "gpu_memory_gb": 40}
    assert broken(data, replica(), replica()) == []
    assert broken(data, replica(), replica(), replica()) == [
        ("capacity", "s1", 0),
        ("memory", "s1", 0),
    ]
    data["cluster"]["servers"][1]["gpu_slices"] = 1
    assert ("capacity", "s1", 0) in broken(data, replica())


def test_reservations_and_quotas_count_replicas() -> None:
    reserved = with_services(service("chat", demand(1, 4, 50.0)))
    reserved["cluster"]["reservations"] = [{"server": "s1", "gpus": 1, "from": 2, "to": 3}]
    assert broken(reserved, replica(), b=0) == []
    assert broken(reserved, replica(), b=2) == [("reservation", "s1", 2)]
    capped = chat(tenant="web")
    capped["tenants"] = [{"name": "all", "gpus": 1}, {"name": "web", "parent": "all"}]
    assert broken(capped, replica()) == []
    assert broken(capped, replica(), replica(gpus={"s0": [0]}), a=4) == [("quota", None, 0)]
    capped["jobs"][1]["tenant"] = "all"
    assert broken(capped, replica()) == [("quota", None, 0)]


def test_cost_counts_replicas_and_other_objectives_do_not() -> None:
    data = {**CHAT, "objective": ["cost", "makespan"]}
    instance = parse_instance(data)
    values = verify(instance, scheduled(instance, replica(start=0, end=9))).objective
    assert values is not None
    alone = parse_instance({**instance_data(), "objective": ["cost", "makespan"]})
    jobs = verify(alone, scheduled(alone).model_copy(update={"services": ()})).objective
    assert jobs is not None
    assert values["makespan"] == jobs["makespan"]
    assert float(values["cost"] - jobs["cost"]) == 9 / 3600


def test_replicas_neither_slow_jobs_nor_end_at_the_horizon() -> None:
    data = {**with_services(service("chat", demand(10, 40, 50.0)))}
    instance = parse_instance(data)
    report = verify(instance, scheduled(instance, replica(start=10, end=40)))
    assert report.feasible
    assert report.completion == {"a": 2, "b": 1}


def test_the_report_says_what_is_answered() -> None:
    instance = parse_instance(CHAT)
    report = verify(instance, scheduled(instance, replica(end=3)))
    assert [one.summary() for one in report.services["chat"]] == [
        {
            "from": 1,
            "to": 3,
            "requests_per_second": 50,
            "capacity": 50,
            "accuracy": None,
            "ready": {"only": 1},
        },
        {
            "from": 3,
            "to": 4,
            "requests_per_second": 50,
            "capacity": 0,
            "accuracy": None,
            "ready": {},
        },
    ]
    assert report.lines()["service chat"] == (
        "demand is reached in 2 of 3 slots, with at most 1 replica"
    )
    assert report.summary()["services"]["chat"][1]["capacity"] == 0


def random_schedule(random: Random, instance: Instance) -> Schedule:
    """Jobs one after another on the first servers with room, and replicas anywhere."""
    replicas = []
    for asked in instance.services:
        for _ in range(random.randint(0, 5)):
            one = random.choice(asked.variants)
            server = random.choice(instance.cluster.servers)
            start = random.randint(0, 8)
            gpus = random.sample(range(server.gpus), min(one.gpus, server.gpus))
            end = start + random.randint(1, 8)
            replicas.append(replica(asked.name, one.name, start, end, {server.name: gpus}))
    assignments = []
    for i, job in enumerate(instance.jobs):
        left, held = job.size, {}
        for server in instance.cluster.servers:
            held[server.name] = list(range(min(left, server.gpus)))
            left -= len(held[server.name])
        used = {name: gpus for name, gpus in held.items() if gpus}
        assignments.append({"job": job.name, "start": 10 * i, "gpus": used})
    return parse_schedule(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": "random",
            "assignments": assignments,
            "services": replicas,
        }
    )


@pytest.mark.parametrize("seed", first(40, range(400)))
def test_by_event_slot_by_slot_and_a_naive_count_agree(seed: int) -> None:
    random = Random(seed)
    instance = random_serving(random, startups=True, slices=seed % 2 == 1, services=2)
    schedule = random_schedule(random, instance)
    report = verify(instance, schedule)
    slowly = verify(instance, schedule, slot_by_slot=True)
    assert report.violations == slowly.violations
    assert report.services == slowly.services
    wrong = {one.job for one in report.violations if one.constraint in {"demand", "accuracy"}}
    good = {"servers", "type", "latency", "reservation"}
    faulty = {
        one.job
        for one in report.violations
        if one.job.startswith("s") and one.constraint not in {"demand", "accuracy", *good}
    }
    for asked in instance.services:
        if asked.name in faulty:
            continue  # Some of its replicas do not count.
        assert (asked.name in wrong) == any(
            not serves(asked, _ready(instance, schedule, asked.name, t), _requests(asked, t))
            for entry in asked.demand
            for t in range(entry.start, entry.end)
        )


def _requests(asked: Any, slot: int) -> Any:
    from fractions import Fraction

    (entry,) = (one for one in asked.demand if one.start <= slot < one.end)
    return Fraction(str(entry.requests_per_second))


def _ready(instance: Instance, schedule: Schedule, name: str, slot: int) -> list[int]:
    (asked,) = (one for one in instance.services if one.name == name)
    counts = []
    for one in asked.variants:
        seconds = one.startup_seconds
        counts.append(
            sum(
                r.variant == one.name
                and r.service == name
                and r.start <= slot < r.end
                and (r.start == 0 or (slot - r.start) * instance.time.slot_seconds >= seconds)
                for r in schedule.services
            )
        )
        assert rate(one, asked.latency_ms) >= 0
    return counts


def test_files_without_services_have_none_in_reports() -> None:
    instance = parse_instance(instance_data(job_data("a", 2, 20), job_data("b")))
    report = verify(instance, scheduled(instance))
    assert report.feasible
    assert not report.services
    assert "services" not in report.summary()
