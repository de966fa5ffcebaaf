"""Packers: from a bad schedule to one that is proven to be the shortest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from documents import instance_of, job_data

from rarmodel import generate
from rarmodel.bounds import LowerBound, best_bound
from rarmodel.engine import Engine, placements_of
from rarmodel.limits import Limits
from rarmodel.packing import Layout, Packer, Solution, one_after_another, packable
from rarmodel.packing.packer import NUMBERS, most_servers, temper_again
from rarmodel.packing.solution import Packed
from rarmodel.schema import Instance
from rarmodel.search import Session
from rarmodel.verifier import verify


@dataclass
class Best:
    """What a packer improves. It asks this to stop once the bound is met."""

    instance: Instance
    solution: Solution | None
    bound: LowerBound

    @property
    def makespan(self) -> int:
        return self.solution.makespan if self.solution else 2**62

    def take(self, found: Solution | None) -> bool:
        if found is None or found.makespan >= self.makespan:
            return False
        report = verify(self.instance, found.schedule(self.instance, "test"))
        assert (report.feasible, report.makespan) == (True, found.makespan)
        self.solution = found
        return True


def best_of(instance: Instance, bound: int | None = None) -> Best:
    known = best_bound(instance) if bound is None else LowerBound(bound, "test")
    return Best(instance, one_after_another(instance), known)


def test_dives_meet_the_bound() -> None:
    best = best_of(generate("paper", seed=7, jobs=60, servers=8))
    assert best.makespan > best.bound.slots
    Packer(best.instance, 0).run(best)
    assert best.makespan == best.bound.slots


def test_tempering_meets_the_bound_beside_rings_that_spread() -> None:
    """Jobs of 12 GPUs, whose size does not nest, and some of 24, which no server has."""
    instance = generate("contention", seed=2)
    session = Session(instance, Limits(threads=1))
    session.run(iterations=10)
    best = Best(instance, session.solution, LowerBound(session.bound.slots + 2, "test"))
    before = best.makespan
    Packer(instance, 0).run(best)
    assert best.makespan <= best.bound.slots < before
    assert best.solution is not None
    assert (best.solution.used > 1).any()


def test_dives_end_where_no_packing_is_shorter() -> None:
    """13 jobs of 10 slots on two GPUs need 70 slots, whatever a bound says."""
    jobs = [job_data(f"job-{j}", iterations=100) for j in range(13)]
    best = best_of(instance_of(*jobs, servers=[1, 1], horizon=130), bound=65)
    Packer(best.instance, 0).run(best)
    assert best.makespan == 70


def test_dives_end_where_the_program_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarmodel.packing.block_program.MOST_COLUMNS", 0)
    best = best_of(generate("paper", seed=7, jobs=60, servers=5))
    before = best.makespan
    Packer(best.instance, 0).run(best)
    assert best.makespan == before


def test_dives_that_fail_aim_at_a_later_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    targets: list[int] = []

    class Failing:
        def __init__(self, program: Any, *_: object) -> None:
            targets.append(program)

        def packing(self) -> tuple[None, bool]:
            packer.stopped = len(targets) == 9
            return None, False

    monkeypatch.setattr("rarmodel.packing.packer.Dive", Failing)
    monkeypatch.setattr("rarmodel.packing.packer.NUMBERS", NUMBERS._replace(dives_per_slot=3))
    monkeypatch.setattr("rarmodel.packing.packer.BlockProgram", Target)
    best = best_of(generate("paper", seed=7, jobs=60, servers=8))
    least = best.bound.slots
    packer = Packer(best.instance, 0)
    packer.run(best)
    assert targets == [least + 1] * 3 + [least + 2] * 3 + [least + 3] * 3


class Target(int):
    """In place of a program: its target."""

    too_large = False

    def __new__(cls, gpus: object, kinds: object, target: int) -> Target:
        return super().__new__(cls, target)


def test_tempering_gives_rings_other_times_and_more_time_where_it_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rarmodel.packing.packer.NUMBERS", NUMBERS._replace(rounds=5))
    asked: list[tuple[int, bool]] = []

    def failing(*arguments: Any, anew: bool) -> None:
        over, count = arguments[-1], 0
        while not over():
            count += 1
        asked.append((count, anew))
        packer.stopped = len(asked) == 3

    monkeypatch.setattr("rarmodel.packing.packer.temper", failing)
    best = best_of(generate("contention", seed=4))
    packer = Packer(best.instance, 0)
    packer.run(best)
    assert asked == [(5, False), (10, True), (20, True)]


def test_it_ends_where_rings_leave_no_room_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def no_room(*_: object, anew: bool) -> None:
        asked.append(anew)

    monkeypatch.setattr("rarmodel.packing.packer.temper", no_room)
    best = best_of(generate("contention", seed=4))
    Packer(best.instance, 0).run(best)
    assert asked == [False] + [True] * (NUMBERS.most_starts - 1)


def test_rings_that_become_slower_give_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rings that overlap share the links of two servers."""
    jobs = [job_data(f"job-{j}", 3, gradient_mb=100.0, iterations=100) for j in range(2)]
    instance = instance_of(*jobs, *[job_data(f"one-{j}", 1) for j in range(9)], servers=[2, 2, 2])
    best = best_of(instance, bound=1)
    before = best.makespan

    def slow(layout: Layout, *_: object, anew: bool) -> Packed:
        packer.stopped = True
        rings = [{0: 2, 1: 1}, {1: 1, 2: 2}]
        return Packed(np.zeros(11, np.int64), [*rings, *[{2: 1}] * 9])

    monkeypatch.setattr("rarmodel.packing.packer.temper", slow)
    packer = Packer(instance, 0)
    temper_again(packer, best)  # Of the instance itself, `run` makes nothing: most of it spreads.
    assert packer.stopped
    assert best.makespan == before


def sizes_of(*sizes: int, servers: list[int]) -> Instance:
    """Jobs of these sizes."""
    jobs = [job_data(f"job-{index}", size) for index, size in enumerate(sizes)]
    return instance_of(*jobs, servers=servers)


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (generate("paper", jobs=NUMBERS.most_jobs), True),
        (generate("paper", jobs=NUMBERS.most_jobs + 1), False),
        (generate("contention"), True),
        (generate("spread"), False),
        (sizes_of(*[1] * (NUMBERS.most_per_server + 1), servers=[2]), True),
        (sizes_of(*[1] * NUMBERS.most_per_server, servers=[2]), False),
        (sizes_of(*[2, 3] * NUMBERS.most_per_server, servers=[3]), False),
    ],
    ids=[
        "sizes nest",
        "too many jobs",
        "some rings spread",
        "most jobs spread",
        "one server for dives",
        "one server with too few jobs",
        "one server and other sizes",
    ],
)
def test_which_instances_are_packed_anew(instance: Instance, expected: bool) -> None:
    assert packable(instance) is expected


@pytest.mark.parametrize("seed", [4, 12])
def test_rings_spread_as_far_as_they_end_no_later(seed: int) -> None:
    """The engine runs each ring alone over more and more servers."""
    instance = generate("contention", seed=seed)
    session = Session(instance, Limits(threads=1))
    session.run(iterations=5)
    solution = session.solution
    assert solution is not None
    most = most_servers(instance, solution)
    widest = np.argsort([-server.gpus for server in instance.cluster.servers], kind="stable")
    limited = 0
    for job in range(len(instance.jobs)):
        if solution.used[job] == 1:
            assert most[job] == 0
            continue
        alone = Engine(instance.model_copy(update={"jobs": (instance.jobs[job],)}))
        lasting = solution.completions[job] - solution.starts[job]
        enough, ways = [], min(instance.jobs[job].size, len(widest))
        for servers in range(2, ways + 1):
            # One worker on each server, and the rest on the first servers.
            workers = dict.fromkeys(widest[:servers].tolist(), 1)
            left = instance.jobs[job].size - servers
            for server in workers:
                more = min(left, instance.cluster.servers[server].gpus - 1)
                workers[server], left = workers[server] + more, left - more
            if left == 0:
                slots, _ = alone.evaluate(np.zeros(1, np.int64), placements_of([workers]))
                enough += [servers] if slots <= lasting else []
        assert most[job] == max(enough)
        limited += most[job] < ways
    assert limited > 0
