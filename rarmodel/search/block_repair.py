"""Packings that almost keep to a target, repaired exactly on some servers at a time.

Annealing over buddy blocks ends with packings of a little excess, and is stuck there: with two or
three jobs on each GPU, an exchange of jobs seldom fits. An integer program starts from such a
packing: first for all servers, then for some of them, at least one with excess, while the others
stay as they are. After some programs without less excess, annealing starts anew.
"""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.random_numbers import Generator
from rarmodel.limits import TIME_LIMIT, Limits, processors

from .block_program import BlockProgram, Packed
from .buddy_annealing import anneal_blocks
from .buddy_blocks import BuddyBlocks, nests, new_blocks
from .layout import Layout, layout_of
from .packing import rings_alone
from .solution import Solution, one_after_another
from .worker import BLOCK_MOVES, BLOCK_STEPS, NESTED

if TYPE_CHECKING:
    from rarmodel.schema import Instance

    from .session import Session

MOST_JOBS, MOST_GAP = 500, 0.02
"""With more jobs, or a greater relative gap, annealing gains more in the same time."""
FIRST_JOBS, FEWEST_JOBS = 40, 10
"""Jobs of the first program for some servers, and the fewest jobs that one is reduced to."""
WHOLE_SECONDS, PART_SECONDS = 10.0, 1.5
"""Most seconds of a program for all servers, and for some."""
QUICK_SECONDS, LARGER, SMALLER = 0.5, 1.1, 0.85
"""After a program that took less, the next one has more jobs by the first factor; after one that
was not solved, fewer by the second.
"""
ROOM = 0.07
"""Slots that a job may end past the target, as a share of the target."""
TRIES = 6
"""Times that annealing starts anew; the packing of least excess is repaired."""
PATIENCE = 10
"""Programs without less excess before annealing starts anew."""
PAUSE = 0.2
"""Seconds between reports."""


def repairable(instance: Instance) -> bool:
    """Whether the packings of an instance can be repaired."""
    return len(instance.jobs) <= MOST_JOBS and nests(layout_of(instance))


def repair(session: Session, limits: Limits, deadline: float, attempt: int = 0) -> str:
    """Look for shorter schedules of a search; return why that ended, or a time limit.

    The repair also ends if no packing of its form is shorter, or if programs are of no help.

    Parameters
    ----------
    session
        A search for a repairable instance.
    limits
        `threads` and `seed` count.
    deadline
        The reading of `time.perf_counter` at which to stop.
    attempt
        Number of earlier repairs of the session. Each attempt looks elsewhere.
    """
    if session.makespan - session.bound.slots > MOST_GAP * session.makespan:
        return TIME_LIMIT
    threads, lock = limits.threads or processors(), Lock()
    seeds = [limits.seed * 1_000_003 + attempt * threads + thread for thread in range(threads)]
    layout = layout_of(session.instance)
    crew = [_Repair(session, layout, seed, deadline, lock) for seed in seeds]
    with ThreadPoolExecutor(threads) as pool:
        tasks = [pool.submit(one.run) for one in crew]
        try:
            while not (stopped := session.over(deadline)):
                if wait(tasks, PAUSE, FIRST_COMPLETED).done:
                    break
                session.report()
        finally:
            for one in crew:
                one.stop[0] = 1
        for task in tasks:
            task.result()
    session.report()
    return stopped or session.over(deadline) or TIME_LIMIT


class _Repair:
    """The repair on one thread: it anneals, mends what is left, and begins anew.

    Parameters
    ----------
    session, layout
        The search, and its instance.
    seed
        Seed of the random numbers.
    deadline
        The reading of `time.perf_counter` at which another thread will stop this one.
    lock
        Held while the search takes a solution.

    Attributes
    ----------
    stop
        (1) Another thread sets it to 1 to stop this one.
    """

    def __init__(
        self, session: Session, layout: Layout, seed: int, deadline: float, lock: Lock
    ) -> None:
        self._session, self._layout, self._lock = session, layout, lock
        self._deadline = deadline
        self._generator: Generator = np.array([seed], np.uint64)
        self._random = np.random.default_rng(seed)
        self._target = 0
        self._empty = rings_alone(layout, one_after_another(session.instance))[1]
        self.stop = np.zeros(1, np.int64)

    def run(self) -> None:
        """Look for shorter and shorter schedules, while there is hope for one."""
        while not self.stop[0] and self._session.makespan > self._session.bound.slots:
            self._target = self._session.makespan - 1
            packed = self._annealed()
            for _ in range(TRIES - 1):
                if self._obsolete() or not self._excess(packed).any():
                    break
                packed = min(packed, self._annealed(), key=lambda one: self._excess(one).sum())
            packed, hopeless = self._mended(packed)
            with self._lock:
                self._session.take(_solution(self._layout, packed))
            if hopeless:
                break

    def _obsolete(self) -> bool:
        """Whether a schedule as short as the target is of no further use."""
        return bool(self.stop[0]) or self._session.makespan <= self._target

    def _annealed(self) -> Packed:
        """A packing after annealing over blocks that are dealt anew."""
        layout = self._layout
        blocks = new_blocks(layout, self._empty, self._generator)
        temperature, cooling = NESTED.heat(layout, BLOCK_MOVES * BLOCK_STEPS)
        heat = cooling, self._generator, self.stop
        for _ in range(BLOCK_STEPS):
            if anneal_blocks(layout, blocks, self._target, BLOCK_MOVES, temperature, *heat):
                break
            temperature *= cooling**BLOCK_MOVES
            if self._obsolete():
                break
        return _packing_in(layout, blocks)

    def _mended(self, packed: Packed) -> tuple[Packed, bool]:
        """A packing after programs, and whether there is no hope for one without excess."""
        if perf_counter() + WHOLE_SECONDS < self._deadline and self._excess(packed).any():
            every = np.arange(len(self._layout.server_gpus))
            packed, proven = self._packed_anew(packed, every, WHOLE_SECONDS)
            if proven and self._excess(packed).any():
                return packed, True
        budget, idle, solved = float(FIRST_JOBS), 0, 0
        while idle < PATIENCE and not self._obsolete():
            excess = self._excess(packed)
            if not excess.any():
                return packed, False
            servers, begun = self._chosen(packed, excess, budget), perf_counter()
            packed, proven = self._packed_anew(packed, servers, PART_SECONDS)
            if not proven:
                budget = max(FEWEST_JOBS, SMALLER * budget)
            elif perf_counter() - begun < QUICK_SECONDS:
                budget = min(LARGER * budget, len(packed.server))
            solved += proven
            idle = 0 if self._excess(packed).sum() < excess.sum() else idle + 1
        return packed, idle == PATIENCE and solved == 0

    def _excess(self, packed: Packed) -> Ints:
        """(servers) GPU slots past the target."""
        layout = self._layout
        past = layout.size * np.maximum(0, packed.start + layout.packed - self._target)
        return np.bincount(packed.server, past, len(layout.server_gpus)).astype(np.int64)

    def _chosen(self, packed: Packed, excess: Ints, budget: float) -> Ints:
        """A server with excess, and random others with so many jobs in all."""
        jobs = np.bincount(packed.server, minlength=len(excess))
        one = self._random.choice(np.flatnonzero(excess))
        order = self._random.permutation(len(excess))
        order = np.concatenate(([one], order[order != one]))
        return order[: int(np.searchsorted(np.cumsum(jobs[order]), budget)) + 1]

    def _packed_anew(self, packed: Packed, servers: Ints, seconds: float) -> tuple[Packed, bool]:
        """The packing with some servers packed anew, and whether there is no better way there."""
        layout = self._layout
        jobs = np.flatnonzero(np.isin(packed.server, servers))
        kinds = list(zip(layout.size[jobs].tolist(), layout.packed[jobs].tolist(), strict=True))
        gpus = layout.server_gpus[servers].tolist()
        program = BlockProgram(gpus, kinds, self._target, round(ROOM * self._target))
        if program.too_large:
            return packed, False
        place = np.zeros(len(layout.server_gpus), np.int64)
        place[servers] = np.arange(len(servers))
        known = Packed(place[packed.server[jobs]], packed.start[jobs])
        seed = int(self._random.integers(2**31 - 1))
        seconds = min(seconds, max(0.0, self._deadline - perf_counter()))
        found, proven = program.solve(known, seconds, seed, self._obsolete)
        if found is None:
            return packed, proven
        better = Packed(packed.server.copy(), packed.start.copy())
        better.server[jobs], better.start[jobs] = servers[found.server], found.start
        worse = self._excess(better).sum() > self._excess(packed).sum()
        return packed if worse else better, proven


def _packing_in(layout: Layout, blocks: BuddyBlocks) -> Packed:
    """The packing of the best blocks, each before its parts."""
    home = blocks.home[1]
    start, end = np.zeros(len(home), np.int64), np.zeros(len(blocks.load), np.int64)
    for job in np.lexsort((-layout.packed, -blocks.level[home])).tolist():
        first = blocks.lane[home[job]]
        start[job] = end[first]
        end[first : first + blocks.width[blocks.level[home[job]]]] += layout.packed[job]
    return Packed(blocks.server[home], start)


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
