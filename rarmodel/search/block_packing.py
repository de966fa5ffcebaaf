"""Shorter packings, where the rings of an instance fit buddy blocks and the gap is small.

With two or three jobs on each GPU, an exchange of jobs seldom fits, so annealing over buddy blocks
ends a slot or two above the bound. Dives into the program over buddy blocks start from nothing, and
often meet the bound. Every thread dives on its own: by turns for the least makespan that there may
be, and for one slot less than the incumbent's.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from rarmodel.limits import TIME_LIMIT, Limits, processors

from .block_dive import BlockDive
from .block_program import BlockProgram, Packed
from .buddy_blocks import nests
from .layout import Layout, layout_of
from .solution import Solution

if TYPE_CHECKING:
    from rarmodel.schema import Instance

    from .session import Session

MOST_JOBS, MOST_GAP = 500, 0.02
"""With more jobs, or a greater relative gap, annealing gains more in the same time."""
DIVE_SECONDS = 30.0
"""Most seconds of a dive; those that succeed seldom take half as long."""
PAUSE = 0.2
"""Seconds between reports."""


def packable(instance: Instance) -> bool:
    """Whether dives can pack an instance."""
    return len(instance.jobs) <= MOST_JOBS and nests(layout_of(instance))


def pack(session: Session, limits: Limits, deadline: float, attempt: int = 0) -> str:
    """Look for shorter schedules of a search; return why that ended, or a time limit.

    The dives also end if no packing of their form is shorter, or if the program is too large.

    Parameters
    ----------
    session
        A search for a packable instance.
    limits
        `threads` and `seed` count.
    deadline
        The reading of `time.perf_counter` at which to stop.
    attempt
        Number of earlier attempts of the session. Each one looks elsewhere.
    """
    if session.makespan - session.bound.slots > MOST_GAP * session.makespan:
        return TIME_LIMIT
    threads = limits.threads or processors()
    seeds = [limits.seed * 1_000_003 + attempt * threads + thread for thread in range(threads)]
    layout = layout_of(session.instance)
    divers = [_Diver(session, layout, seed, first) for first, seed in enumerate(seeds)]
    with ThreadPoolExecutor(threads) as pool:
        tasks = [pool.submit(diver.run) for diver in divers]
        try:
            while not (stopped := session.over(deadline)):
                if wait(tasks, PAUSE, FIRST_COMPLETED).done:
                    break
                session.report()
        finally:
            for diver in divers:
                diver.stopped = True
        for task in tasks:
            task.result()
    session.report()
    return stopped or session.over(deadline) or TIME_LIMIT


class _Diver:
    """The dives of one thread.

    Parameters
    ----------
    session, layout
        The search, and its instance.
    seed
        Seed of the random numbers.
    first
        Number of the first dive: those of even numbers look for the least makespan.

    Attributes
    ----------
    stopped
        Another thread sets it to stop this one.
    """

    def __init__(self, session: Session, layout: Layout, seed: int, first: int) -> None:
        self._session, self._layout, self._first = session, layout, first
        self._random = np.random.default_rng(seed)
        self.stopped = False

    def run(self) -> None:
        """Look for shorter and shorter schedules, while there is hope for one."""
        layout, session = self._layout, self._session
        gpus = layout.server_gpus.tolist()
        jobs = list(zip(layout.size.tolist(), layout.packed.tolist(), strict=True))
        least = session.bound.slots
        for dive in count(self._first):
            if self.stopped or session.makespan <= least:
                return
            target = session.makespan - 1 if dive % 2 else least
            program = BlockProgram(gpus, jobs, target)
            if program.too_large:
                if target == least:
                    return
                continue
            packed, surely_none = self._dive(program, target)
            if packed is not None:
                session.take(_solution(layout, packed))
            if surely_none:
                least = target + 1

    def _dive(self, program: BlockProgram, target: int) -> tuple[Packed | None, bool]:
        """A packing by the target, if a dive finds one, and whether there is surely none."""
        latest = perf_counter() + DIVE_SECONDS

        def over() -> bool:
            found = self._session.makespan <= target
            return found or self.stopped or perf_counter() >= latest

        return BlockDive(program, self._random, over).packing()


def _solution(layout: Layout, packed: Packed) -> Solution:
    """The solution of jobs on one server each."""
    completions = packed.start + layout.packed
    return Solution(
        makespan=int(completions.max()),
        starts=packed.start,
        completions=completions,
        at=np.arange(len(completions) + 1),
        server=packed.server,
        workers=layout.size.copy(),
    )
