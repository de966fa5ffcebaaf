"""Shorter packings by dives: from a bad schedule to one that is proven to be the shortest."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import inf
from time import perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from documents import instance_of, job_data

from rarmodel import generate, solve
from rarmodel.bounds import LowerBound
from rarmodel.engine import Engine, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.limits import TIME_LIMIT, Limits
from rarmodel.schema import Instance
from rarmodel.search import SEARCH, Session, one_after_another
from rarmodel.search.block_dive import BlockDive
from rarmodel.search.block_packing import (
    MOST_GAP,
    MOST_JOBS,
    MOST_ODD,
    pack,
    packable,
    programs_of,
    worth_packing,
)
from rarmodel.search.block_program import Packed
from rarmodel.search.block_sizes import Kind
from rarmodel.search.bundles import Bundle, Bundles, Item
from rarmodel.search.layout import Layout
from rarmodel.search.proving import MOST_JOBS as MOST_PROVEN
from rarmodel.search.solution import Solution
from rarmodel.verifier import verify


@pytest.fixture
def any_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Improve even the worst schedules."""
    monkeypatch.setattr("rarmodel.search.block_packing.MOST_GAP", 1.0)


def session_of(jobs: int, servers: int) -> Session:
    instance = generate("paper", seed=7, jobs=jobs, servers=servers)
    SEARCH.prepare(instance)
    session = Session(instance, Limits(threads=2))
    session.take(one_after_another(instance))
    return session


def sizes_of(*sizes: int, servers: list[int]) -> Instance:
    """Jobs of these sizes."""
    jobs = [job_data(f"job-{index}", size) for index, size in enumerate(sizes)]
    return instance_of(*jobs, servers=servers)


@pytest.mark.usefixtures("any_gap")
def test_dives_go_on_until_the_bound_is_met() -> None:
    session = session_of(60, 8)
    assert session.makespan > session.bound.slots
    assert session.close_gap(perf_counter() + 60) == "the makespan meets the lower bound"
    schedule = session.schedule("search")
    assert schedule is not None
    report = verify(session.instance, schedule)
    assert (report.feasible, report.makespan) == (True, session.bound.slots)


@pytest.mark.usefixtures("any_gap")
@pytest.mark.parametrize("seed", [1, 3])
def test_dives_pack_beside_rings_that_spread(seed: int) -> None:
    """Jobs of 12 GPUs, whose size does not nest, and one of 24, which no server has."""
    instance = generate("contention", seed=seed, jobs=30, servers=6)
    session = Session(instance, Limits(threads=2))
    session.run(iterations=1)
    before = session.makespan
    pack(session, Limits(threads=2), perf_counter() + 10)
    assert session.bound.slots <= session.makespan < before
    schedule = session.schedule("search")
    assert schedule is not None
    report = verify(instance, schedule)
    assert (report.feasible, report.makespan) == (True, session.makespan)
    assert any(len(assignment.gpus) > 1 for assignment in schedule.assignments)


@pytest.mark.usefixtures("any_gap")
def test_a_job_that_fits_a_server_spreads_where_need_be() -> None:
    """One server has room for jobs of 4 GPUs: two of them would take 20 slots there."""
    jobs = [job_data(f"job-{j}", size, iterations=100) for j, size in enumerate((4, 4, 1, 1))]
    instance = instance_of(*jobs, servers=[4, 2, 2, 2], horizon=100)
    session = Session(instance, Limits(threads=2))
    session.take(one_after_another(instance))
    pack(session, Limits(threads=2), perf_counter() + 60)
    schedule = session.schedule("search")
    assert schedule is not None
    report = verify(instance, schedule)
    assert (report.feasible, report.makespan) == (True, 10)
    assert any(len(assignment.gpus) > 1 for assignment in schedule.assignments)


@pytest.mark.usefixtures("any_gap")
def test_rings_that_hold_their_gpus_too_long_give_no_schedule() -> None:
    """Two rings that overlap share the links of two servers, whatever the bound says."""
    jobs = [job_data(f"job-{j}", 3, gradient_mb=100.0, iterations=100) for j in range(2)]
    instance = instance_of(*jobs, job_data("one", 1), servers=[2, 2, 2], horizon=10_000)
    session = Session(instance, Limits(threads=2))
    session.take(one_after_another(instance))
    session.bound = LowerBound(1, "too low")
    pack(session, Limits(threads=2), perf_counter() + 5)
    schedule = session.schedule("search")
    assert schedule is not None
    assert verify(instance, schedule).feasible


@pytest.mark.usefixtures("any_gap")
def test_search_dives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where annealing ends with a bad schedule, the dives have the rest of the time."""

    def run(self: Session, *_: object, **__: object) -> str:
        self.take(one_after_another(self.instance))
        return TIME_LIMIT

    monkeypatch.setattr(Session, "run", run)
    instance = generate("paper", seed=7, jobs=60, servers=8)
    result = solve(instance, method="search", time_limit=60, threads=2, second_aim=False)
    assert result.status == "optimal"


@pytest.mark.parametrize(
    ("instance", "expected"),
    [
        (generate("paper", jobs=MOST_JOBS), True),
        (generate("paper", jobs=MOST_JOBS + 1), False),
        (generate("contention"), True),
        (generate("contention", seed=6), True),
        (sizes_of(3, 3, 3, 3, 3, 2, servers=[4, 2, 2, 2]), False),
        (generate("spread", jobs=MOST_PROVEN + 1), False),
        (sizes_of(*[3] * 9, *[2] * MOST_ODD, servers=[4, 6]), True),
        (sizes_of(*[3] * 9, *[2] * (MOST_ODD + 1), servers=[4, 6]), False),
        (sizes_of(2, 5, 5, servers=[4, 4]), True),
        (sizes_of(2, 5, 5, 5, servers=[4, 4]), False),
        (sizes_of(2, 2, 3, servers=[3]), False),
    ],
    ids=[
        "sizes nest",
        "too many jobs",
        "some odd sizes and rings",
        "a job that must spread although it fits a server",
        "two such jobs",
        "most jobs spread",
        "few odd",
        "too many odd",
        "two rings",
        "three rings",
        "no block for a size",
    ],
)
def test_which_instances_dives_can_pack(instance: Instance, expected: bool) -> None:
    session = Session(instance)
    assert packable(instance, session.bound.slots) is expected
    assert session.closable is (expected or len(instance.jobs) <= MOST_PROVEN)


@pytest.mark.parametrize(("makespan", "worth"), [(100, True), (102, True), (103, False)])
def test_dives_are_worth_it_where_the_gap_is_small(makespan: int, worth: bool) -> None:
    session: Any = SimpleNamespace(makespan=makespan, bound=LowerBound(100, "area"))
    assert worth_packing(session) is worth


def test_with_a_great_gap_the_search_goes_on_until_dives_are_worth_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, done = session_of(60, 8), list[str]()
    worth = iter([False, False, True])

    def run(_: float) -> str:
        done.append("run")
        return TIME_LIMIT

    monkeypatch.setattr("rarmodel.search.session.worth_packing", lambda _: next(worth))
    monkeypatch.setattr("rarmodel.search.session.pack", lambda *_: "packed")
    monkeypatch.setattr(session, "run", run)
    assert session.close_gap(perf_counter() + 60) == "packed"
    assert done == ["run", "run"]


def test_the_search_for_a_smaller_gap_may_meet_the_bound_or_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rarmodel.search.block_packing.MOST_GAP", -1.0)
    session = session_of(60, 8)
    assert session.close_gap(perf_counter()) == TIME_LIMIT
    assert session.close_gap(perf_counter() + 60) == "the makespan meets the lower bound"


def test_it_ends_at_its_deadline() -> None:
    """A bound that nothing reaches; both threads are at work when the time is over."""
    instance = generate("paper", seed=3)
    session = Session(instance, Limits(threads=2))
    while session.makespan > (1 + MOST_GAP) * session.bound.slots:
        session.run(iterations=1)
    session.bound = LowerBound(session.bound.slots - 2, "too low")
    assert session.close_gap(perf_counter() + 1.0) == TIME_LIMIT


@pytest.mark.usefixtures("any_gap")
def test_it_ends_where_no_packing_is_shorter() -> None:
    """13 jobs of 10 slots on two GPUs need 70 slots, whatever a bound says."""
    jobs = [job_data(f"job-{j}", iterations=100) for j in range(13)]
    instance = instance_of(*jobs, servers=[1, 1], horizon=130)
    session = Session(instance, Limits(threads=2))
    session.take(one_after_another(instance))
    session.bound = LowerBound(65, "too low")
    assert pack(session, Limits(threads=2), inf) == TIME_LIMIT
    assert session.makespan == 70


@pytest.mark.usefixtures("any_gap")
def test_narrow_jobs_are_packed_one_by_one_if_no_bundle_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nine blocks for a bundle are too many for two servers; 12 GPUs take two turns on 8."""
    asked = []

    def bundles_of(*_: object) -> Bundles:
        asked.append(True)
        return Bundles(4, [Bundle((Item(1, Kind(1, 1)),) * 9, 0)])

    monkeypatch.setattr("rarmodel.search.block_packing.bundles_of", bundles_of)
    session = Session(sizes_of(4, 2, 2, 1, 1, 1, 1, servers=[4, 4]), Limits(threads=2))
    session.take(one_after_another(session.instance))
    before = session.makespan
    pack(session, Limits(threads=2), perf_counter() + 60)
    assert asked
    assert 7 * session.makespan == 2 * before


def test_a_program_that_bundles_make_too_large_leaves_them_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundles = [Bundle((Item(slots, Kind(1, slots)),), 0) for slots in range(1, 100)]
    monkeypatch.setattr("rarmodel.search.block_packing.bundles_of", lambda *_: Bundles(4, bundles))
    instance = sizes_of(4, 2, 2, 1, 1, 1, 1, servers=[4, 4])
    program = programs_of(instance, 99)(99, bundled=True)
    plain = programs_of(instance, 99)(99, bundled=False)
    assert (program.bundled, plain.bundled) == (True, False)
    assert program.size > plain.size
    monkeypatch.setattr("rarmodel.search.block_program.MOST_COLUMNS", plain.size)
    left = programs_of(instance, 99)(99, bundled=True)
    assert (left.bundled, left.size, left.too_large) == (False, plain.size, False)


def test_threads_share_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def program(*_: object) -> SimpleNamespace:
        made.append(True)
        sleep(0.1)
        return SimpleNamespace(bundled=False)

    monkeypatch.setattr("rarmodel.search.block_packing.BlockProgram", program)
    instance = session_of(20, 4).instance
    programs = programs_of(instance, 99)
    with ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(programs, 9, bundled=False) for _ in range(3)]
    assert len({id(task.result()) for task in tasks}) == len(made) == 1


@pytest.mark.parametrize(("missing", "divers"), [(2, 1), (1, 2)])
def test_all_threads_dive_for_the_last_slot(
    monkeypatch: pytest.MonkeyPatch, missing: int, divers: int
) -> None:
    begun: list[Any] = []

    def run(diver: Any) -> None:
        begun.append(diver)
        while not diver.stopped:
            sleep(0.01)

    monkeypatch.setattr("rarmodel.search.block_packing._Diver.run", run)
    session = session_of(60, 8)
    session.bound = LowerBound(session.makespan - missing, "for the test")
    assert pack(session, Limits(threads=2), perf_counter() + 0.5) == TIME_LIMIT
    assert len(begun) == divers


@pytest.mark.usefixtures("any_gap")
def test_it_ends_where_the_program_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rarmodel.search.block_program.MOST_COLUMNS", 0)
    session = session_of(60, 5)
    assert pack(session, Limits(threads=2), perf_counter() + 60) == TIME_LIMIT


@pytest.mark.usefixtures("any_gap")
def test_ctrl_c_stops_all_threads() -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    session = Session(generate("paper", seed=3), Limits(threads=2, progress=interrupt))
    session.take(one_after_another(session.instance))
    with pytest.raises(KeyboardInterrupt):
        pack(session, Limits(threads=2), perf_counter() + 600)


@pytest.mark.usefixtures("any_gap")
def test_an_error_on_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("failed")

    monkeypatch.setattr("rarmodel.search.block_packing.BlockProgram", fail)
    with pytest.raises(RuntimeError, match="failed"):
        pack(session_of(60, 8), Limits(threads=2), perf_counter() + 60)


def test_dives_go_on_where_tempering_gains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its packing may have slower rings than it assumed. Here it never has a shorter one."""
    begun, after, least = list[Solution](), set[int](), list[int]()

    def tempered(
        layout: Layout, solution: Solution, target: int, most: Ints, random: Any, over: Any
    ) -> Packed:
        assert target == solution.makespan - 1
        assert verify(session.instance, solution.schedule(session.instance, "test")).feasible
        begun.append(solution)
        if len(begun) == 4:
            least.append(session.bound.slots)
            session.raise_bound(LowerBound(session.makespan, "test"))
        return Packed(solution.starts, solution.rings)

    def dive(*arguments: Any) -> BlockDive:
        after.add(len(begun))
        return BlockDive(*arguments)

    monkeypatch.setattr("rarmodel.search.block_packing.temper", tempered)
    monkeypatch.setattr("rarmodel.search.block_packing.BlockDive", dive)
    session = Session(generate("contention", seed=4), Limits(threads=1))
    SEARCH.prepare(session.instance)
    session.run(perf_counter() + 1)
    assert session.close_gap(perf_counter() + 120) == "the makespan meets the lower bound"
    # The bound may rise after the first second; what counts is the one that tempering met.
    assert session.makespan == least[0] + 1
    # The thread may begin once more before it is told to stop.
    assert len(begun) >= 4
    assert after >= {1, 2, 3}


@pytest.mark.parametrize("seed", [4, 9])
def test_rings_of_tempering_spread_as_far_as_they_end_no_later(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """The engine runs each ring alone over more and more servers."""
    known: list[tuple[Solution, Ints]] = []

    def tempered(
        layout: Layout, solution: Solution, target: int, most: Ints, random: Any, over: Any
    ) -> None:
        known.append((solution, most))
        session.raise_bound(LowerBound(session.makespan, "test"))

    monkeypatch.setattr("rarmodel.search.block_packing.temper", tempered)
    session = Session(generate("contention", seed=seed), Limits(threads=1))
    SEARCH.prepare(session.instance)
    session.run(perf_counter() + 1)
    session.close_gap(perf_counter() + 120)
    solution, most = known[0]
    instance = session.instance
    widest = np.argsort([-server.gpus for server in instance.cluster.servers], kind="stable")
    limited = 0
    for job in range(len(instance.jobs)):
        if solution.used[job] == 1:
            assert most[job] == 0
            continue
        alone = Engine(instance.model_copy(update={"jobs": (instance.jobs[job],)}))
        lasting = solution.completions[job] - solution.starts[job]
        enough = []
        for servers in range(2, len(widest) + 1):
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
        limited += most[job] < len(widest)
    assert limited > 0
