"""The search on a Dask cluster: each worker is an island, and all exchange what they have found.

An island's threads have numbers of their own, so the islands together search as the threads of one
large machine do. Threads share the best schedule, as the start of some turns and as what the next
one must beat; most turns start from the thread's own order, or anew. So islands stay different
although each of them takes the best schedule of all after every round.

No island waits for another: each has its next round as soon as its last one has ended. A session
stays on its worker from round to round. If the worker is lost, Dask gives the round to another
worker, which begins a session from the best schedule known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from math import inf
from time import perf_counter
from typing import Any, NamedTuple
from uuid import uuid4

from rarmodel.dask_cluster import connected
from rarmodel.errors import UsageError, one_line
from rarmodel.limits import TIME_LIMIT, Limits
from rarmodel.methods import NOTHING_TO_TRY, Attempt, Method, Turns, prepare_method
from rarmodel.schema import Instance
from rarmodel.verifier import require_feasible

from .wide import AnySession, session_of

ROUND_SECONDS = 2.0
"""Length of a round. The proof's rounds are longer: each takes as long as those before it."""
HOME_SECONDS = 0.2
"""Time for the last results to arrive before the time limit."""
WORKER_SECONDS = 10.0
"""Time for a first worker to join the scheduler."""
GONE = "the Dask scheduler is gone"

_sessions: dict[Island, AnySession] = {}
"""On a worker: the sessions of islands between their rounds. A round takes its session out, since a
lost worker may still be at work in this process."""
_over: deque[str] = deque(maxlen=100)
"""On a worker: the last searches that are over; a round of theirs leaves no session behind."""


class Island(NamedTuple):
    """A part of a search that stays on one worker.

    Attributes
    ----------
    search
        Name of the search, different from that of every other one.
    first, threads
        Number of the first thread, and how many threads there are.
    """

    search: str
    first: int
    threads: int


@contextmanager
def islands_on(
    scheduler: str, method: Method, instance: Instance, limits: Limits
) -> Iterator[Islands]:
    """The workers of a Dask scheduler as islands, at least one of them ready.

    On exit, rounds that no worker has begun are withdrawn; the others continue to their end.

    Parameters
    ----------
    scheduler
        Address of the scheduler.
    method
        The method whose `prepare` each worker calls.
    instance, limits
        Problem and limits of the search.

    Raises
    ------
    UsageError
        If no worker joins the scheduler, or there is no such scheduler; see `connected`.
    """
    with connected(scheduler) as client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError as error:
            raise UsageError(
                f"the Dask scheduler at {scheduler!r} has no worker; start one: "
                f"`dask worker {scheduler}`"
            ) from error
        islands = Islands(client, instance, limits)
        try:
            islands.prepare(method)
            yield islands
        finally:
            islands.leave()


class Islands:
    """The islands of one search.

    Parameters
    ----------
    client
        A client of the scheduler.
    instance, limits
        Problem and limits of the search.
    """

    def __init__(self, client: Any, instance: Instance, limits: Limits) -> None:
        self._client, self._instance, self._limits = client, instance, limits
        self._search, first = uuid4().hex, 0
        self._executors: dict[Island, Any] = {}
        for address, threads in client.nthreads().items():
            island = Island(self._search, first, limits.threads or threads)
            first += island.threads
            self._executors[island] = client.get_executor(
                pure=False, workers=[address], allow_other_workers=True
            )

    def prepare(self, method: Method) -> None:
        """Let each worker compile, and wait for the first one."""
        compiling = [
            executor.submit(prepare_method, method, self._instance)
            for executor in self._executors.values()
        ]
        for done in wait(compiling, return_when=FIRST_COMPLETED).done:
            done.result()

    def leave(self) -> None:
        """Withdraw what no worker has begun, and let the workers forget the search."""
        with suppress(Exception):  # Dask raises this and that if the scheduler is gone.
            for executor in self._executors.values():
                executor.shutdown(wait=False)
            self._client.run(_forget, self._search, on_error="ignore")

    def run(
        self,
        session: AnySession,
        end: float | None,
        proof: float | None,
    ) -> str:
        """Search until there is a reason to stop; return the reason.

        Parameters
        ----------
        session
            Keeps what the islands find; it does not search itself.
        end
            The reading of `time.perf_counter` at which to stop; None for no time limit.
        proof
            The reading from which on the first island looks for a proof; None for no proof.
        """
        from distributed import KilledWorker  # noqa: PLC0415 - optional

        end = inf if end is None else end
        best = Attempt(None, "", session.bound)
        rounds: dict[Future[Attempt], Island] = {}
        due, made, idle = list(self._executors), 0, 0
        while True:
            now = perf_counter()
            try:
                for island in due:
                    if made == 0 or now < end - HOME_SECONDS:
                        rounds[self._begin(island, best, end - now, proof)] = island
            except Exception:  # noqa: BLE001 - Dask raises this and that
                return GONE
            if not rounds:
                return TIME_LIMIT
            # Without a schedule, the first one is worth waiting for.
            late = inf if best.schedule is None else end
            seconds = None if late == inf else max(0.0, late - now)
            done = wait(rounds, seconds, FIRST_COMPLETED).done
            due = [rounds.pop(future) for future in done]
            for future in done:
                if future.cancelled():
                    return GONE
                if isinstance(raised := future.exception(), KilledWorker):
                    return one_line(f"workers died: {raised}")
                before = best
                found = future.result()
                best = _learned(session, best, found)
                made, idle = made + 1, idle + 1 if best == before else 0
                if found.stopped == NOTHING_TO_TRY:
                    return NOTHING_TO_TRY
            session.report()
            progress = session.progress._replace(iterations=made, since_gain=idle)
            if stopped := session.closed() or session.criteria.ask(progress):
                return stopped
            if perf_counter() >= late:
                return TIME_LIMIT
            if self._limits.iterations is not None and made >= self._limits.iterations:
                return "iteration limit"
            if (patience := self._limits.patience) is not None and idle >= patience:
                return f"no improvement in {patience} rounds"

    def _begin(
        self, island: Island, best: Attempt, left: float, proof: float | None
    ) -> Future[Attempt]:
        """Send an island into its next round, with the best that is known."""
        limits = Limits(gap=self._limits.gap, threads=island.threads, seed=self._limits.seed)
        seconds, now, proves = ROUND_SECONDS, perf_counter(), False
        if island.first == 0 and proof is not None and proof <= now:
            seconds, proves = max(seconds, now - proof), True
        seconds = max(0.0, min(seconds, left - HOME_SECONDS))
        begun: Future[Attempt] = self._executors[island].submit(
            _round, island, self._instance, limits, best, seconds, proves
        )
        return begun


def _learned(session: AnySession, best: Attempt, found: Attempt) -> Attempt:
    """The best that is known, once a session has learnt what an island has found."""
    if found.schedule is not None:
        require_feasible(session.instance, found.schedule)
    before = session.values
    session.learn(found)
    schedule = found.schedule if session.values < before else best.schedule
    return Attempt(schedule, "", session.bound, session.aim)


def _round(
    island: Island,
    instance: Instance,
    limits: Limits,
    best: Attempt,
    seconds: float,
    proves: bool,  # noqa: FBT001
) -> Attempt:
    """On a worker: search for some seconds; return a better schedule, if any, and all bounds."""
    deadline = perf_counter() + seconds
    session = _sessions.pop(island, None)
    if session is None:
        session = session_of(instance, limits, Turns(instance, limits), island.first)
    session.learn(best)
    before = session.values
    stopped = session.close_gap(deadline) if proves and session.closable else TIME_LIMIT
    if stopped == TIME_LIMIT:
        stopped = session.run(deadline)
    schedule = session.schedule("search") if session.values < before else None
    _sessions[island] = session
    if island.search in _over:  # In this order, as `_forget` may come between.
        _sessions.pop(island, None)
    return Attempt(schedule, stopped, session.bound, session.aim)


def _forget(search: str) -> None:
    """On a worker: forget the sessions of a search."""
    _over.append(search)
    for island in [island for island in _sessions if island.search == search]:
        _sessions.pop(island, None)
