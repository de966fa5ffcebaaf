"""Where replicas go: they fit, and break up as few idle servers as any placement does."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest
from depth import first
from documents import instance_data, job_data
from serving_instances import demand, service, variant

from rarmodel.files import parse_instance
from rarmodel.schema import Instance
from rarmodel.serving import Wanted, broken_servers, place
from rarmodel.serving.placing import Unit


def cluster(*gpus: int, away: dict[int, int] | None = None, **more: int) -> Instance:
    """Servers with so many GPUs, some of which are away for ever; a service of each size."""
    data = instance_data(job_data("a"), servers=gpus)
    data["cluster"] |= more
    data["cluster"]["reservations"] = [
        {"server": f"s{s}", "gpus": n, "from": 0} for s, n in (away or {}).items()
    ]
    kinds = [variant(f"w{w}", gpus=w) for w in (1, 2, 4) if w <= max(gpus)]
    if "gpu_slices" in more:
        kinds += [variant(f"q{q}", slices=q, memory_gb=10 * q) for q in (1, 2, 3)]
    data["services"] = [service("chat", demand(0, 5, 1.0), variants=kinds)]
    return parse_instance(data)


def wanted(instance: Instance, kind: str, start: int = 0, end: int = 5) -> Wanted:
    (chat,) = instance.services
    (one,) = (one for one in chat.variants if one.name == kind)
    return Wanted(chat, one, tuple(range(len(instance.cluster.servers))), start, end)


def placed(instance: Instance, *replicas: Wanted) -> list[Unit]:
    units = place(instance, replicas)
    assert isinstance(units, list), units
    return units


def test_a_replica_goes_where_gpus_are_away_already() -> None:
    instance = cluster(4, 4, 4, away={1: 2})
    units = placed(instance, *[wanted(instance, "w1")] * 2)
    assert [unit.server for unit in units] == [1, 1]
    assert broken_servers(instance, units) == 0


def test_the_smallest_idle_server_with_room_for_all_is_broken_up() -> None:
    instance = cluster(8, 4, 2)
    assert {u.server for u in placed(instance, *[wanted(instance, "w1")] * 3)} == {1}
    assert {u.server for u in placed(instance, *[wanted(instance, "w1")] * 2)} == {2}


def test_large_replicas_come_first_and_fill_servers() -> None:
    instance = cluster(4, 4)
    sizes = ["w1", "w2", "w1", "w4"]
    units = placed(instance, *(wanted(instance, kind) for kind in sizes))
    on = {unit.replicas[0]: unit.server for unit in units}
    assert on[3] != on[0] == on[1] == on[2]


def test_a_server_that_was_broken_up_before_is_taken_again() -> None:
    instance = cluster(2, 2)
    units = placed(instance, wanted(instance, "w1", 0, 2), wanted(instance, "w1", 3, 5))
    assert len({unit.server for unit in units}) == 1


def test_slices_fill_a_gpu_before_another_is_taken() -> None:
    instance = cluster(2, gpu_slices=4, gpu_memory_gb=40)
    units = placed(instance, *(wanted(instance, kind) for kind in ("q1", "q3", "q2", "q2")))
    assert sorted(len(unit.replicas) for unit in units) == [2, 2]


def test_memory_can_ask_for_another_gpu() -> None:
    instance = cluster(2, gpu_slices=4, gpu_memory_gb=30)
    units = placed(instance, *(wanted(instance, kind) for kind in ("q2", "q2")))
    assert [len(unit.replicas) for unit in units] == [1, 1]


def test_gpus_of_jobs_that_run_are_left_to_them() -> None:
    running = {"gpus": {"s0": [0, 1]}, "iterations_done": 1}
    data = instance_data(job_data("a", 2, running=running), servers=(2, 2))
    data["services"] = [service("chat", demand(0, 5, 1.0))]
    instance = parse_instance(data)
    (unit,) = placed(instance, wanted(instance, "only"))
    assert unit.server == 1


def test_what_finds_no_room_is_named() -> None:
    instance = cluster(2, away={0: 1})
    why = place(instance, [wanted(instance, "w2", 3)])
    assert why == (
        "a replica of service 'chat', variant 'w2', finds no server with 2 idle GPUs from slot 3 on"
    )


@pytest.mark.parametrize("seed", first(40, range(400)))
def test_no_placement_at_one_time_breaks_up_fewer_servers(seed: int) -> None:
    random = Random(seed)
    equal = random.choice([2, 4])
    gpus = [equal] * random.randint(2, 4)
    ones_only = random.random() < 0.5
    if ones_only:
        gpus = [random.choice([1, 2, 3, 4]) for _ in gpus]
    away = {s: random.randint(1, n) for s, n in enumerate(gpus) if random.random() < 0.2}
    if not ones_only:
        away = {}
    instance = cluster(*gpus, away=away)
    kinds = ["w1"] if ones_only else [f"w{w}" for w in (1, 2, 4) if w <= equal]
    some = [wanted(instance, random.choice(kinds)) for _ in range(random.randint(1, 5))]
    left = [n - away.get(s, 0) for s, n in enumerate(gpus)]
    least: int | None = None
    for servers in product(range(len(gpus)), repeat=len(some)):
        taken = [0] * len(gpus)
        for s, one in zip(servers, some, strict=True):
            taken[s] += one.variant.gpus
        if all(t <= n for t, n in zip(taken, left, strict=True)):
            broken = len({s for s in servers if s not in away})
            least = broken if least is None else min(least, broken)
    units = place(instance, some)
    assert isinstance(units, str) is (least is None)
    if isinstance(units, list):
        assert broken_servers(instance, units) == least
