"""Schedules that are played: order, waits, scale, and predictions by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import pytest
from documents import instance_data, job_data, tree_data

from rarmodel.errors import UsageError, VerificationError
from rarmodel.files import parse_instance, parse_schedule
from rarmodel.schema import Instance, Link, Schedule
from rarmodel.testbed import parts_of, play, predicted, rows_of
from rarmodel.testbed import played_schedule as played
from rarmodel.testbed.real_rings import Iteration, RealRing, Work

SECOND_MB = 1250.0
"""A gradient whose exchange between two workers takes a second at 10 Gbit/s."""

Places = dict[str, list[int]]


def job(name: str, iterations: int, gradient_mb: float = SECOND_MB, **fields: Any) -> Any:
    """A job of two workers with a second of compute between exchanges."""
    whole = {"gradient_mb": gradient_mb, "backward_ms": 1000.0, **fields}
    return job_data(name, **{"gpus": 2, "iterations": iterations, **whole})


def instance(*jobs: Any) -> Instance:
    data = instance_data(*jobs, servers=(2, 2, 2), horizon=1000)
    data["time"]["slot_seconds"] = 10.0
    data["cluster"]["reduction_gbps"] = 1e9
    data["contention"]["degradation"]["alpha"] = 0.0
    return parse_instance(data)


def schedule(**places: tuple[int, Places]) -> Schedule:
    assignments = [
        {"job": name, "start": start, "gpus": gpus} for name, (start, gpus) in places.items()
    ]
    data = {"schema_version": 1, "instance": "example", "method": "hand"}
    return parse_schedule({**data, "assignments": assignments})


ACROSS: Places = {"s0": [0], "s1": [0]}
BESIDE: Places = {"s0": [1], "s1": [1]}


def completions(problem: Instance, plan: Schedule, model: str) -> list[float]:
    gbps = [10.0] * len(problem.cluster.servers)
    contention = problem.contention.model_copy(update={"model": model})
    found = predicted(contention, gbps, parts_of(problem, plan))
    return [round(one.completion, 6) for one in found]


@pytest.mark.parametrize(("model", "both"), [("count", 3.0), ("duty", 2.5)])
def test_two_rings_slow_each_other_until_one_completes(model: str, both: float) -> None:
    problem = instance(job("a", 4), job("b", 8))
    plan = schedule(a=(0, ACROSS), b=(0, BESIDE))
    # Then the other has 4 iterations left, of 2 s alone.
    assert completions(problem, plan, model) == pytest.approx([4 * both, 4 * both + 8], rel=1e-3)


def test_a_job_starts_when_its_gpus_are_free_and_not_at_its_slot() -> None:
    problem = instance(job("a", 1), job("b", 2))
    plan = schedule(b=(1, {"s1": [0], "s2": [0]}), a=(0, ACROSS))
    first, second = predicted(problem.contention, [10.0] * 3, parts_of(problem, plan))
    assert first.completion == pytest.approx(2.0)
    assert (first.job, second.job) == ("a", "b")
    assert second.start == pytest.approx(2.0)
    assert second.completion == pytest.approx(6.0)


def test_a_job_that_waits_in_spite_of_free_gpus_waits_for_the_job_that_completes_then() -> None:
    problem = instance(job("a", 1), job("b", 1), job("c", 1))
    held_back = schedule(a=(0, ACROSS), c=(0, {"s2": [0, 1]}), b=(1, BESIDE))
    waits = {part.job: part.after for part in parts_of(problem, held_back)}
    assert waits == {"a": (), "c": (), "b": (0, 1)}
    after_one = schedule(a=(0, ACROSS), b=(1, ACROSS), c=(5, {"s2": [0, 1]}))
    assert [part.after for part in parts_of(problem, after_one)] == [(), (0,), ()]


def test_infeasible_schedules_are_refused() -> None:
    problem = instance(job("a", 1), job("b", 1))
    with pytest.raises(VerificationError):
        parts_of(problem, schedule(a=(0, ACROSS), b=(0, ACROSS)))


def test_a_ring_within_a_server_is_one_worker_that_sleeps() -> None:
    problem = instance(job("a", 3))
    (part,) = parts_of(problem, schedule(a=(0, {"s1": [0, 1]})))
    assert part.links == ()
    work = part.work(100.0)
    assert (work.servers, work.iterations) == ((1,), 3)
    assert work.compute_seconds == pytest.approx(1.0 + 0.05)  # 1 s at 10 Gbit/s, here at 200.


def test_size_is_scaled_and_the_rest_of_an_iteration_is_not() -> None:
    problem = instance(job("a", 3))
    (part,) = parts_of(problem, schedule(a=(0, ACROSS)))
    work = part.work(100.0)
    assert (work.servers, work.iterations) == ((0, 1), 3)
    assert work.gradient_mb == pytest.approx(12.5)
    assert work.compute_seconds == pytest.approx(1.0)


def test_a_ring_visits_servers_in_the_order_of_the_tree() -> None:
    data = tree_data(
        *(("s0", "left"), ("s1", "right"), ("s2", "left"), ("s3", "right")),
        *(("left", "core"), ("right", "core")),
        servers=(1, 1, 1, 1),
        horizon=1000,
    )
    data["jobs"] = [job("a", 1, gradient_mb=1.0, gpus=4)]
    data["time"]["slot_seconds"] = 10.0
    plan = schedule(a=(0, {f"s{i}": [0] for i in range(4)}))
    (part,) = parts_of(parse_instance(data), plan)
    assert part.servers in {(0, 2, 1, 3), (1, 3, 0, 2)}


def test_wider_instances_are_refused() -> None:
    problem = instance(job("a", 1, release=3))
    with pytest.raises(UsageError, match="the testbed does not handle releases"):
        parts_of(problem, schedule(a=(3, ACROSS)))


class Pretended:
    """A ring that stops as soon as it is let go, and says that it took two seconds."""

    def __init__(self, name: int, log: list[str]) -> None:
        self.name, self.log = name, log
        self.reading, self.writing = os.pipe()

    def fileno(self) -> int:
        return self.reading

    def go(self, begin: float) -> None:
        self.log.append(f"go {self.name}")
        self.begin = begin
        os.write(self.writing, b"!")

    def iterations(self) -> list[Iteration]:
        self.log.append(f"stopped {self.name}")
        return [Iteration(self.begin, self.begin + 1, self.begin + 2)]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What happens to the network and to the rings of a schedule that is played."""
    said: list[Any] = []

    @contextmanager
    def made(names: Sequence[str], links: Sequence[Link], _: float) -> Iterator[None]:
        said.append((list(names), [round(link.gbps, 6) for link in links]))
        yield

    @contextmanager
    def ready(works: Sequence[Work]) -> Iterator[list[RealRing]]:
        rings = [Pretended(i, said) for i, _ in enumerate(works)]
        yield cast("list[RealRing]", rings)
        for ring in rings:
            os.close(ring.reading)
            os.close(ring.writing)

    monkeypatch.setattr(played, "made", made)
    monkeypatch.setattr(played, "ready", ready)
    return said


def test_rings_go_when_those_that_they_wait_for_have_stopped(log: list[Any]) -> None:
    problem = instance(job("a", 1), job("b", 1), job("c", 1))
    plan = schedule(a=(0, ACROSS), b=(1, ACROSS), c=(0, {"s2": [0, 1]}))
    told: list[str] = []
    found = play(problem, plan, scale=100.0, progress=told.append)
    assert log[0] == (["s0", "s1", "s2"], [round(0.1 / 0.94, 6)] * 3)
    assert log[1:3] == ["go 0", "go 1"]
    assert log.index("go 2") > log.index("stopped 0")
    assert [one.job for one in found] == ["a", "c", "b"]
    assert all(one.completion - one.start == pytest.approx(2.0) for one in found)
    assert len(told) == 3
    rows = rows_of(problem, plan, found)
    assert [row["job"] for row in rows] == ["a", "c", "b"]
    assert [row["count_s"] for row in rows] == pytest.approx([2.0, 1.05, 4.0])
    assert rows[0].keys() == {"job", "start_s", "completion_s", "count_s", "duty_s"}


def test_too_many_workers_are_refused() -> None:
    data = instance_data(job("a", 1, gpus=201, gradient_mb=1.0), servers=(101, 101), horizon=99)
    data["time"]["slot_seconds"] = 10.0
    plan = schedule(a=(0, {"s0": list(range(101)), "s1": list(range(100))}))
    with pytest.raises(UsageError, match="the jobs have 201 workers between servers; at most 200"):
        play(parse_instance(data), plan, scale=100.0)
