"""Rings that nobody slows move to fewer links, and nothing else changes."""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from random_instances import random_instance
from wide_instances import OBJECTIVES, WIDE, random_wide

from rarmodel import parts, solve
from rarmodel.files import parse_instance
from rarmodel.methods import move_to_fewer_links
from rarmodel.model import topology
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import Report, verify

NAMES = [feature.name for feature in WIDE]


def halls(*jobs: dict[str, Any], nodes: int = 16, **more: Any) -> Instance:
    """An idle cluster of nodes of 8 GPUs, four to a rack, with jobs that exchange nothing."""
    some = {"iterations": 500, "gradient_mb": 0.0, "batch_size": 8}
    times = {"forward_ms_per_sample": 10.0, "backward_ms": 20.0}
    links = [{"node": f"n{i}", "parent": f"r{i // 4}", "gbps": 100} for i in range(nodes)]
    links += [
        {"node": f"r{i}", "parent": "core", "gbps": 400, "level": "rack"} for i in range(nodes // 4)
    ]
    return parse_instance(
        {
            "schema_version": 1,
            "name": "halls",
            "time": {"slot_seconds": 10},
            "cluster": {
                "servers": [{"name": f"n{i}", "gpus": 8} for i in range(nodes)],
                "network": {"kind": "tree", "links": links},
                "intra_server_gbps": 600,
                "reduction_gbps": 800,
                **more,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": [{"name": f"j{i}", **some, **times, **job} for i, job in enumerate(jobs)],
        }
    )


def placed(instance: Instance, *rings: tuple[int, dict[str, int]]) -> tuple[Schedule, Report]:
    """The schedule with these starts and workers by server, on the first GPUs of each."""
    schedule = Schedule(
        schema_version=1,
        instance=instance.name,
        method="by hand",
        assignments=tuple(
            Assignment(
                job=job.name, start=start, gpus={n: tuple(range(k)) for n, k in ring.items()}
            )
            for job, (start, ring) in zip(instance.jobs, rings, strict=True)
        ),
    )
    report = verify(instance, schedule)
    assert report.feasible, report.violations
    return schedule, report


def links(instance: Instance, schedule: Schedule) -> list[int]:
    tree = topology(instance.cluster)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    return [
        len(tree.links_used({index[name]: len(held) for name, held in one.gpus.items()}))
        for one in schedule.assignments
    ]


def moved(instance: Instance, *rings: tuple[int, dict[str, int]]) -> list[int]:
    """The links of each ring after rings have moved."""
    schedule, report = placed(instance, *rings)
    found, checked = move_to_fewer_links(instance, schedule, report)
    assert checked.feasible
    assert checked.completion == report.completion
    assert [one.start for one in found.assignments] == [one.start for one in schedule.assignments]
    return links(instance, found)


@pytest.mark.parametrize("method", [row["name"] for row in parts("methods")])
def test_in_every_method_an_idle_cluster_is_packed(method: str) -> None:
    for gpus, fewest in ((16, 2), (8, 0), (32, 4), (40, 7)):
        instance = halls({"gpus": gpus})
        options: dict[str, Any] = {"iterations": 2} if method == "search" else {}
        result = solve(instance, method=method, threads=1, **options)
        assert result.schedule is not None
        assert links(instance, result.schedule) == [fewest]
        assert [tie.value for tie in result.ties][1] == fewest
    scattered = halls({"gpus": 16}, {"gpus": 16}, {"gpus": 24}, {"gpus": 8})
    result = solve(scattered, method=method, threads=1, **options)
    assert result.schedule is not None
    assert links(scattered, result.schedule) == [2, 2, 3, 0]


def test_a_formulation_is_packed_too() -> None:
    result = solve(halls({"gpus": 16}, {"gpus": 12}), formulation="time-indexed", threads=1)
    assert result.schedule is not None
    assert [tie.value for tie in result.ties][1] == 4


def test_a_ring_moves_to_one_rack_or_one_node() -> None:
    two = halls({"gpus": 16})
    assert moved(two, (0, {"n0": 8, "n15": 8})) == [2]
    assert moved(halls({"gpus": 8}), (0, {"n0": 4, "n7": 4})) == [0]


def test_what_is_taken_later_is_taken() -> None:
    # Each of the others may use its node only; that of node 1 begins while job 0 runs.
    pinned = [{"gpus": 8, "servers": [f"n{i}"]} for i in range(1, 15)]
    others = [(0 if i != 1 else 1, {f"n{i}": 8}) for i in range(1, 15)]
    instance = halls({"gpus": 16}, *pinned)
    assert moved(instance, (0, {"n0": 8, "n15": 8}), *others) == [4, *[0] * 14]
    # Without it the two nodes of a rack are free.
    fewer = halls({"gpus": 16}, *pinned[1:])
    assert moved(fewer, (0, {"n0": 8, "n15": 8}), *others[1:])[0] == 2


def test_all_rings_are_placed_anew_where_single_ones_cannot_move() -> None:
    # No server has more than four free GPUs, so neither ring can go anywhere alone.
    instance = halls({"gpus": 16}, {"gpus": 16}, nodes=4)
    nodes = [f"n{i}" for i in range(4)]
    schedule = Schedule(
        schema_version=1,
        instance=instance.name,
        method="by hand",
        assignments=(
            Assignment(job="j0", start=0, gpus=dict.fromkeys(nodes, (0, 1, 2, 3))),
            Assignment(job="j1", start=0, gpus=dict.fromkeys(nodes, (4, 5, 6, 7))),
        ),
    )
    found, report = move_to_fewer_links(instance, schedule, verify(instance, schedule))
    assert report.feasible
    assert links(instance, found) == [2, 2]


def test_reserved_gpus_are_taken() -> None:
    reserved = [{"server": f"n{i}", "gpus": 8, "from": 1, "to": 99} for i in range(1, 15)]
    instance = halls({"gpus": 16}, reservations=reserved)
    assert moved(instance, (0, {"n0": 8, "n15": 8})) == [4]
    assert moved(halls({"gpus": 16}, reservations=reserved[1:]), (0, {"n0": 8, "n15": 8})) == [2]


def test_a_ring_that_shares_a_link_stays() -> None:
    heavy = {"gpus": 8, "gradient_mb": 2000.0}
    instance = halls(heavy, heavy)
    shared = [(0, {"n0": 4, "n4": 4}), (0, {"n1": 4, "n5": 4})]
    schedule, report = placed(instance, *shared)
    found, _ = move_to_fewer_links(instance, schedule, report)
    assert found is schedule


def test_a_ring_that_would_be_faster_stays() -> None:
    heavy = halls({"gpus": 8, "gradient_mb": 2000.0})
    schedule, report = placed(heavy, (0, {"n0": 4, "n4": 4}))
    assert move_to_fewer_links(heavy, schedule, report)[0] is schedule
    # On two nodes of one rack it is as fast as on nodes of two.
    assert moved(halls({"gpus": 16, "gradient_mb": 2000.0}), (0, {"n0": 8, "n4": 8})) == [2]


def test_demands_of_a_ring_are_kept() -> None:
    apart = {"gpus": 8, "spread": {"min_servers": 2, "equal": True}}
    assert moved(halls(apart), (0, {"n0": 4, "n4": 4})) == [2]
    listed = {"gpus": 16, "servers": ["n0", "n4", "n8"]}
    assert moved(halls(listed), (0, {"n0": 8, "n4": 8})) == [4]
    most = {"gpus": 12, "spread": {"min_servers": 3}}
    assert moved(halls(most), (0, {"n0": 4, "n4": 4, "n8": 4})) == [3]


def test_running_jobs_and_jobs_that_may_be_interrupted_stay() -> None:
    held = {"n0": list(range(8)), "n4": list(range(8))}
    running = halls({"gpus": 16, "running": {"gpus": held, "iterations_done": 1}})
    assert moved(running, (0, {"n0": 8, "n4": 8})) == [4]


def test_a_list_of_objectives_moves_nothing() -> None:
    instance = halls({"gpus": 16}).model_copy(update={"objective": ("makespan",)})
    assert moved(instance, (0, {"n0": 8, "n15": 8})) == [4]
    assert moved(
        instance.model_copy(update={"objective": "makespan"}), (0, {"n0": 8, "n15": 8})
    ) == [2]


@examples(5)
@given(st.integers(0, 2**32))
def test_starts_and_completions_stay_and_links_never_grow(seed: int) -> None:
    random = Random(seed)
    features = [name for name in NAMES if name != PREEMPTION.name] if seed % 3 else []
    objective = random.choice(OBJECTIVES)
    instance = random_wide(
        random, features, jobs=6, servers=4, objectives=(objective,), stall=seed % 2 == 0
    )
    alone = instance.model_copy(update={"objective": (objective,)})
    method = random.choice(["fifo-backfill", "shortest-first"])
    schedule = solve(alone, method=method).schedule
    if schedule is None:
        return
    report = verify(instance, schedule)
    found, checked = move_to_fewer_links(instance, schedule, report)
    assert checked.feasible
    assert checked.completion == report.completion
    assert [one.start for one in found.assignments] == [one.start for one in schedule.assignments]
    if report.ties and "total-links" in report.ties and checked.ties:
        assert checked.ties["total-links"] <= report.ties["total-links"]
        assert (found is schedule) == (checked.ties == report.ties)


@pytest.mark.parametrize("seed", range(20))
def test_a_lone_ring_without_exchange_gets_the_fewest_links_there_are(seed: int) -> None:
    random = Random(seed)
    drawn = random_instance(random, jobs=1, servers=4, tree=seed % 2 == 0, most_slots=4)
    job = drawn.jobs[0].model_copy(update={"gradient_mb": 0.0})
    quiet = drawn.contention.model_copy(update={"overhead_ms_per_server": 0.0})
    instance = drawn.model_copy(update={"jobs": (job,), "contention": quiet})
    servers, tree = instance.cluster.servers, topology(instance.cluster)
    fewest = min(
        len(tree.links_used(dict.fromkeys(some, 1)))
        for number in range(1, min(job.size, len(servers)) + 1)
        for some in combinations(range(len(servers)), number)
        if sum(servers[s].gpus for s in some) >= job.size
    )
    ring: dict[str, int] = {}
    left = job.size
    for server in sorted(servers, key=lambda _: random.random()):
        if left:
            ring[server.name] = count = random.randint(1, min(left, server.gpus))
            left -= count
    if left:
        for server in servers:
            more = min(left, server.gpus - ring.get(server.name, 0))
            ring[server.name] = ring.get(server.name, 0) + more
            left -= more
    assert left == 0
    assert moved(instance, (0, ring)) == [fewest]
