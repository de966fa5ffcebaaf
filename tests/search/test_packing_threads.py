"""Threads that pack jobs anew: when they begin, how many there are, and what stops them."""

from __future__ import annotations

from time import perf_counter, sleep
from types import SimpleNamespace
from typing import Any

import pytest

from rarmodel import generate, solve
from rarmodel.bounds import LowerBound
from rarmodel.limits import TIME_LIMIT, Limits
from rarmodel.packing import one_after_another, packable
from rarmodel.packing.packer import NUMBERS
from rarmodel.search import SEARCH, Session
from rarmodel.search.packing_threads import pack, worth_packing
from rarmodel.search.proving import MOST_JOBS as MOST_PROVEN
from rarmodel.verifier import verify


@pytest.fixture
def any_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Improve even the worst schedules."""
    monkeypatch.setattr("rarmodel.packing.packer.NUMBERS", NUMBERS._replace(most_gap=1.0))


def session_of(jobs: int, servers: int) -> Session:
    instance = generate("paper", seed=7, jobs=jobs, servers=servers)
    SEARCH.prepare(instance)
    session = Session(instance, Limits(threads=2))
    session.take(one_after_another(instance))
    return session


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
def test_search_packs_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where annealing ends with a bad schedule, packing has the rest of the time."""

    def run(self: Session, *_: object, **__: object) -> str:
        self.take(one_after_another(self.instance))
        return TIME_LIMIT

    monkeypatch.setattr(Session, "run", run)
    instance = generate("paper", seed=7, jobs=60, servers=8)
    result = solve(instance, method="search", time_limit=60, threads=2, objective=["makespan"])
    assert result.status == "optimal"


@pytest.mark.parametrize("family", ["paper", "contention", "spread"])
def test_gaps_that_may_be_closed(family: str) -> None:
    instance = generate(family, jobs=MOST_PROVEN + 1)
    assert Session(instance).closable is packable(instance)
    assert Session(generate(family, jobs=4)).closable


@pytest.mark.parametrize(("makespan", "worth"), [(100, True), (102, True), (103, False)])
def test_packing_is_worth_it_where_the_gap_is_small(makespan: int, worth: bool) -> None:
    session: Any = SimpleNamespace(makespan=makespan, bound=LowerBound(100, "area"))
    assert worth_packing(session) is worth


def test_with_a_great_gap_the_search_goes_on_until_packing_is_worth_it(
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
    monkeypatch.setattr("rarmodel.packing.packer.NUMBERS", NUMBERS._replace(most_gap=-1.0))
    session = session_of(60, 8)
    assert session.close_gap(perf_counter()) == TIME_LIMIT
    assert session.close_gap(perf_counter() + 60) == "the makespan meets the lower bound"


def test_it_ends_at_its_deadline() -> None:
    """A bound that nothing reaches; both threads are at work when the time is over."""
    instance = generate("paper", seed=3)
    session = Session(instance, Limits(threads=2))
    while session.makespan > (1 + NUMBERS.most_gap) * session.bound.slots:
        session.run(iterations=1)
    session.bound = LowerBound(session.bound.slots - 2, "too low")
    assert session.close_gap(perf_counter() + 1.0) == TIME_LIMIT


@pytest.mark.parametrize(("missing", "packers"), [(2, 1), (1, 2)])
def test_all_threads_pack_for_the_last_slot(
    monkeypatch: pytest.MonkeyPatch, missing: int, packers: int
) -> None:
    begun: list[Any] = []

    def run(packer: Any, _: object) -> None:
        begun.append(packer)
        while not packer.stopped:
            sleep(0.01)

    monkeypatch.setattr("rarmodel.packing.Packer.run", run)
    session = session_of(60, 8)
    session.bound = LowerBound(session.makespan - missing, "for the test")
    assert pack(session, Limits(threads=2), perf_counter() + 0.5) == TIME_LIMIT
    assert len(begun) == packers


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

    monkeypatch.setattr("rarmodel.packing.packer.BlockProgram", fail)
    with pytest.raises(RuntimeError, match="failed"):
        pack(session_of(60, 8), Limits(threads=2), perf_counter() + 60)
