"""A session can be stopped and gone on with, and takes what others know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import active_count
from time import perf_counter, sleep

import pytest

from rarmodel import generate, load_instance, solve
from rarmodel.bounds import LowerBound
from rarmodel.bounds.bound import in_slots
from rarmodel.bounds.cutting_stock import CUTTING_STOCK
from rarmodel.engine.arrays import Ints
from rarmodel.errors import VerificationError
from rarmodel.limits import Limits
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.partial_schedule import STOPPED
from rarmodel.packing import one_after_another
from rarmodel.proof import Outcome, Refutation
from rarmodel.schema import Instance
from rarmodel.search import Session
from rarmodel.search import session as session_module
from rarmodel.search.session import MOST_IMPROVEMENTS
from rarmodel.search.worker import Worker
from rarmodel.verifier import verify


@pytest.fixture
def instance() -> Instance:
    return load_instance("philly-2869ce")  # No bound that it proves soon is met.


def session_of(instance: Instance, threads: int = 2) -> Session:
    return Session(instance, Limits(threads=threads, seed=4))


def test_runs_in_parts_end_where_one_run_does(instance: Instance) -> None:
    whole, parts = session_of(instance), session_of(instance)
    assert whole.run(iterations=14) == "iteration limit"
    for iterations in (1, 2, 4, 7):
        assert parts.run(iterations=iterations) == "iteration limit"
    assert whole.schedule("search") == parts.schedule("search")
    assert whole.bound == parts.bound


def test_without_time_there_is_a_first_schedule_and_then_a_better_one(instance: Instance) -> None:
    session = session_of(instance)
    assert session.run(deadline=perf_counter()) == "time limit"
    first = session.makespan
    assert session.run(iterations=1) == "iteration limit"
    assert session.makespan < first
    schedule = session.schedule("mine")
    assert schedule is not None
    report = verify(instance, schedule)
    assert (report.feasible, report.makespan) == (True, session.makespan)
    assert schedule.method == "mine"


def test_ctrl_c_keeps_what_was_found(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    session = session_of(instance)
    step, steps = Worker.step, []

    def interrupted(worker: Worker, *known: object) -> object:
        steps.append(worker)
        if len(steps) == 6:
            raise KeyboardInterrupt
        return step(worker, *known)  # type: ignore[arg-type]

    monkeypatch.setattr(Worker, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.run(iterations=30)
    before = session.makespan
    assert session.solution is not None
    assert session.run(iterations=30) == "iteration limit"
    assert session.makespan <= before


def until_told(stop: Ints) -> None:
    """Do nothing until told to stop; for ever, nobody waits."""
    begun = perf_counter()
    while stop[0] == 0 and perf_counter() - begun < 60:
        sleep(0.01)
    assert stop[0] == 1


def test_at_the_deadline_workers_are_told_to_stop(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(instance)
    session.run(iterations=1)
    monkeypatch.setattr(Worker, "step", lambda worker, *_: until_told(worker._thread.stop))
    assert session.run(deadline=perf_counter() + 0.2) == "time limit"
    monkeypatch.undo()
    assert session.run(iterations=1) == "iteration limit"


def test_if_not_even_a_first_order_ends_in_time_there_is_a_schedule(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_of(instance)

    def endless(lists: ListSchedules, *_: object) -> int:
        until_told(lists.partial.stop)
        return STOPPED

    monkeypatch.setattr(ListSchedules, "makespan", endless)
    assert session.run(deadline=perf_counter()) == "time limit"
    assert session.solution is None
    schedule = session.schedule("search")
    assert schedule is not None
    assert verify(instance, schedule).makespan == session.makespan
    monkeypatch.undo()
    assert session.run(iterations=1) == "iteration limit"


def test_a_bound_that_ran_out_of_time_is_gone_on_with_in_the_next_run(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, asked = session_of(instance), []

    def slow(*arguments: object) -> None:
        stop = arguments[-1]
        assert callable(stop)
        asked.append(stop())

    session._slow_bounds = [replace(CUTTING_STOCK, tighten=in_slots(slow))]
    monkeypatch.setattr(session_module, "BOUND_SHARE", 0.0)
    session.run(deadline=perf_counter() + 100.0, iterations=6)
    assert asked == [True]
    session.run(iterations=2)
    session.run(iterations=2)
    assert asked == [True, False]


def test_a_better_schedule_from_outside_is_taken(instance: Instance) -> None:
    better = solve(instance, method="search", iterations=30, threads=1).schedule
    assert better is not None
    session = session_of(instance)
    assert session.take(better)
    assert not session.take(better)
    assert session.makespan == verify(instance, better).makespan
    session.run(iterations=1)
    first = session.improvements[0]
    assert first.makespan == verify(instance, better).makespan
    again = first.schedule(instance, "again")
    assert verify(instance, again).makespan == first.makespan


def test_an_infeasible_schedule_is_refused() -> None:
    instance = load_instance("start-later")
    schedule = solve(instance, method="search", iterations=1).schedule
    assert schedule is not None
    at_once = tuple(a.model_copy(update={"start": 0}) for a in schedule.assignments)
    with pytest.raises(VerificationError, match="the schedule by 'search' is not feasible"):
        Session(instance).take(schedule.model_copy(update={"assignments": at_once}))


def test_a_bound_from_outside_can_end_the_search(instance: Instance) -> None:
    session = session_of(instance)
    session.run(iterations=1)
    assert not session.raise_bound(LowerBound(session.bound.slots, "no better"))
    assert session.raise_bound(LowerBound(session.makespan, "from outside"))
    assert session.run() == "the makespan meets the lower bound"
    assert session.bound.name == "from outside"


def test_improvements_end_with_the_best_and_are_few(instance: Instance) -> None:
    session = session_of(instance)
    session.run(iterations=20)
    makespans = [solution.makespan for solution in session.improvements]
    assert makespans == sorted(makespans, reverse=True)
    assert makespans[-1] == session.makespan
    assert session.solution is not None
    for makespan in range(session.makespan - 1, session.makespan - 100, -1):
        session.take(session.solution._replace(makespan=makespan))
    kept = [solution.makespan for solution in session.improvements]
    assert MOST_IMPROVEMENTS / 2 <= len(kept) <= MOST_IMPROVEMENTS
    assert kept == sorted(kept, reverse=True)
    assert kept[-1] == session.makespan


@pytest.mark.parametrize("threads", [1, 2])
def test_beside_a_proof_one_of_several_threads_searches_on(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof finds nothing, so that a schedule that meets the bound is the search's."""
    decided = []

    def decide(self: Refutation, target: int, deadline: float, over: Callable[[], bool]) -> Outcome:
        decided.append(self._threads)
        while threads > 1 and not over():
            sleep(0.01)
        return Outcome.OPEN

    monkeypatch.setattr(Refutation, "decide", decide)
    instance = generate("stars", jobs=20, servers=5, seed=3)
    session = session_of(instance, threads)
    session.run(iterations=1)
    session.solution = one_after_another(instance)
    session.bound = LowerBound(int(0.9 * session.makespan), "not met yet")
    before = session.makespan
    found = session.close_gap(perf_counter() + 60)
    if threads == 1:
        assert (found, session.makespan) == ("time limit", before)
    else:
        assert found == "the makespan meets the lower bound"
        assert session.makespan <= session.bound.slots
        schedule = session.schedule("search")
        assert schedule is not None
        assert verify(instance, schedule).feasible
    assert set(decided) <= {1}


def test_what_ends_a_proof_ends_the_search_beside_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(Refutation, "decide", interrupt)
    session = session_of(generate("stars", jobs=20, servers=5, seed=3))
    session.run(iterations=1)
    session.bound = LowerBound(session.makespan - 1, "near")
    monkeypatch.setattr(Worker, "step", lambda *_: None)
    before = active_count()
    with pytest.raises(KeyboardInterrupt):
        session.close_gap(perf_counter() + 60)
    assert active_count() == before
