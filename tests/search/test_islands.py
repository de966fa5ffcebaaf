"""The search on a Dask cluster: what islands find, exchange and lose, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any

import pytest

from rarmodel import generate, load_instance, solve
from rarmodel.bounds import LowerBound
from rarmodel.errors import UsageError, VerificationError
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.methods import Attempt
from rarmodel.packing import one_after_another
from rarmodel.packing.packer import NUMBERS
from rarmodel.schema import Instance
from rarmodel.search import Session, islands
from rarmodel.search.islands import Island
from rarmodel.search.wide import session_of

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    """A Dask cluster of two workers of one thread each, in this process."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.fixture
def scheduler(running: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(islands, "ROUND_SECONDS", 0.1)
    return str(running.scheduler_address)


@pytest.fixture(scope="module")
def open_instance() -> Instance:
    """An instance whose gap stays open, and which is too large for a proof."""
    return generate("contention", seed=1)


def test_islands_prove_an_optimum_and_forget_the_search(scheduler: str) -> None:
    result = solve("two-servers", scheduler=scheduler, time_limit=60)
    assert (result.status, result.makespan, result.method) == ("optimal", 12, "search")
    assert result.stopped == "the makespan meets the lower bound"
    assert islands._sessions == {}


def test_an_island_proves_other_objectives(scheduler: str) -> None:
    result = solve("two-servers", objective="total-completion", scheduler=scheduler, time_limit=60)
    assert (result.status, result.objective[0].value) == ("optimal", 32)


def test_rounds_are_counted(scheduler: str, open_instance: Instance) -> None:
    shown: list[tuple[float | None, float | None]] = []
    result = solve(
        open_instance,
        scheduler=scheduler,
        iterations=3,
        objective=["makespan"],
        progress=lambda value, bound: shown.append((value, bound)),
    )
    assert (result.status, result.stopped) == ("feasible", "iteration limit")
    assert shown[-1] == (result.makespan, result.lower_bound)
    values = [value for value, _ in shown if value is not None]
    assert values == sorted(values, reverse=True)


def test_time_limit_and_patience_end_the_search(scheduler: str, open_instance: Instance) -> None:
    options: dict[str, Any] = {"scheduler": scheduler, "objective": ["makespan"]}
    result = solve(open_instance, **options, time_limit=1)
    assert (result.status, result.stopped) == ("feasible", "time limit")
    result = solve(open_instance, **options, patience=2, iterations=40)
    assert result.stopped in {"no improvement in 2 rounds", "iteration limit"}


def test_ctrl_c_keeps_the_best_so_far(scheduler: str, open_instance: Instance) -> None:
    def interrupt(value: float | None, bound: float | None) -> None:
        if value is not None:
            raise KeyboardInterrupt

    result = solve(open_instance, scheduler=scheduler, time_limit=60, progress=interrupt)
    assert (result.status, result.stopped) == ("feasible", INTERRUPTED)


def test_the_first_island_alone_looks_for_a_proof(
    scheduler: str, open_instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def close_gap(session: Session, deadline: float) -> str:
        asked.append(session._first)
        return "time limit"

    monkeypatch.setattr(Session, "closable", True)
    monkeypatch.setattr(Session, "close_gap", close_gap)
    solve(open_instance, scheduler=scheduler, iterations=4, objective=["makespan"])
    assert asked == []
    solve(open_instance, scheduler=scheduler, time_limit=1.5, objective=["makespan"])
    assert set(asked) == {0}


def test_the_first_island_dives(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Annealing finds nothing here, so that the schedule is a dive's."""

    def run(session: Session, *_: object, **__: object) -> str:
        session.take(one_after_another(session.instance))
        return "time limit"

    monkeypatch.setattr(Session, "run", run)
    monkeypatch.setattr("rarmodel.packing.packer.NUMBERS", NUMBERS._replace(most_gap=1.0))
    instance = generate("paper", seed=7, jobs=60, servers=8)
    result = solve(instance, scheduler=scheduler, time_limit=60, objective=["makespan"])
    assert (result.status, result.stopped) == ("optimal", "the makespan meets the lower bound")


@pytest.mark.parametrize("objective", ["makespan", "total-flow"])
def test_an_island_begins_with_what_others_found(open_instance: Instance, objective: str) -> None:
    problem = open_instance.model_copy(update={"objective": objective})
    session = session_of(problem, Limits(threads=1, seed=5))
    session.run(iterations=5)
    known = Attempt(session.schedule("search"), "", LowerBound(7, "of another"))
    island = Island(f"exchange of {objective}", 1, 1)
    try:
        found = islands._round(island, problem, Limits(threads=1), known, 0.0, False)
        kept = islands._sessions[island]
    finally:
        islands._forget(island.search)
    islands._round(island, problem, Limits(threads=1), known, 0.0, False)
    assert islands._sessions == {}  # The search was over before that round ended.
    assert kept.values <= session.values
    assert (found.schedule is None) == (kept.values == session.values)
    assert found.bound is not None
    assert found.bound.slots >= 7


@pytest.mark.parametrize("objective", ["makespan", "total-flow"])
def test_islands_search_differently(open_instance: Instance, objective: str) -> None:
    problem = open_instance.model_copy(update={"objective": objective})
    found = set()
    for first in (0, 0, 1):
        session = session_of(problem, Limits(threads=1), first=first)
        session.run(iterations=10)
        found.add(str(session.schedule("search")))
    assert len(found) == 2


def test_a_schedule_that_breaks_a_constraint_is_refused() -> None:
    problem = load_instance("two-servers")
    session = session_of(problem, Limits(threads=1))
    session.run(iterations=1)
    schedule = session.schedule("search")
    assert schedule is not None
    at_once = [one.model_copy(update={"start": 0}) for one in schedule.assignments]
    faulty = Attempt(schedule.model_copy(update={"assignments": tuple(at_once)}), "")
    with pytest.raises(VerificationError):
        islands._learned(session, Attempt(None, ""), faulty)


def test_lost_workers_are_done_without(
    open_instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(islands, "ROUND_SECONDS", 0.2)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        left: list[float] = []

        def leave(value: float | None, bound: float | None) -> None:
            if not left:
                cluster.scale(1)
                cluster.sync(cluster._correct_state)
            left.append(perf_counter())

        result = solve(
            open_instance,
            scheduler=cluster.scheduler_address,
            iterations=8,
            objective=["makespan"],
            progress=leave,
        )
        assert len(cluster.workers) == 1
    assert result.stopped == "iteration limit"
    assert result.status == "feasible"


def test_a_scheduler_without_workers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(islands, "WORKER_SECONDS", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        pytest.raises(UsageError, match="has no worker; start one: `dask worker inproc://"),
    ):
        solve("two-servers", scheduler=cluster.scheduler_address)


def test_workers_of_another_version_are_refused(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rarmodel.dask_cluster.VERSION", "0.0.1")
    with pytest.raises(UsageError, match=r"rarmodel 0.0.1 is needed on every Dask worker"):
        solve("two-servers", scheduler=scheduler)


def test_what_does_not_run_on_workers_is_refused() -> None:
    nowhere = "tcp://127.0.0.1:9"
    with pytest.raises(
        UsageError, match="method 'fifo-backfill' does not run on a scheduler's workers"
    ):
        solve("two-servers", method="fifo-backfill", scheduler=nowhere)
    with pytest.raises(UsageError, match="a scheduler needs a method that runs on its workers"):
        solve("two-servers", formulation="time-indexed", scheduler=nowhere)
    with pytest.raises(UsageError, match="only installed bounds and neighbourhoods"):
        solve("two-servers", bounds=["area"], scheduler=nowhere)
