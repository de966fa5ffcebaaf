"""Threads that pack the jobs of a search anew, until a schedule meets the bound."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from rarmodel.limits import TIME_LIMIT, Limits, processors
from rarmodel.packing import Packer, packer

from .open_gap import OpenGap

PAUSE = 0.2
"""Seconds between reports."""


def worth_packing(session: OpenGap) -> bool:
    """Whether the gap of a search for a packable instance is so small that packing gains most."""
    return session.makespan - session.bound.slots <= packer.NUMBERS.most_gap * session.makespan


def pack(session: OpenGap, limits: Limits, deadline: float, attempt: int = 0) -> str:
    """Look for shorter schedules of a search; return why that ended, or a time limit.

    It also ends if no packing of its form is shorter. Every thread packs on its own, but for one
    that goes on with the search. Once a single slot is missing, annealing seldom finds it, so this
    thread packs, too.

    Parameters
    ----------
    session
        A search for a packable instance that is worth packing.
    limits
        `threads` and `seed` count.
    deadline
        The reading of `time.perf_counter` at which to stop.
    attempt
        Number of earlier attempts of the session. Each one looks elsewhere.
    """
    threads = limits.threads or processors()
    seeds = [limits.seed * 1_000_003 + attempt * threads + thread for thread in range(threads)]
    packers = [Packer(session.instance, seed) for seed in seeds]
    first = max(1, threads - 1)
    with ThreadPoolExecutor(threads) as pool:
        try:
            with session.searching_on():
                tasks = [pool.submit(one.run, session) for one in packers[:first]]
                stopped = _wait(session, tasks, deadline, missing=1)
            if not stopped:
                tasks += [pool.submit(one.run, session) for one in packers[first:]]
                stopped = _wait(session, tasks, deadline, missing=0)
        finally:
            for one in packers:
                one.stopped = True
        for task in tasks:
            task.result()
    session.report()
    return stopped or session.over(deadline) or TIME_LIMIT


def _wait(session: OpenGap, tasks: Sequence[Future[None]], deadline: float, missing: int) -> str:
    """Wait until at most so many slots are missing or a packer ends; return a reason to stop."""
    while session.makespan - session.bound.slots > missing:
        if stopped := session.over(deadline):
            return stopped
        if wait(tasks, PAUSE, FIRST_COMPLETED).done:
            break
        session.report()
    return ""
