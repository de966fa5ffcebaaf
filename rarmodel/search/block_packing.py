"""Shorter packings, where the jobs of an instance fit buddy blocks and the gap is small.

With two or three jobs on each GPU, an exchange of jobs seldom fits, so annealing over buddy blocks
ends a slot or two above the bound. Dives into the program over buddy blocks start from nothing, and
often meet the bound. They look for a makespan one slot above the bound, and then for the bound.
Every thread dives on its own, but for one that goes on with the search. Once a single slot is
missing, annealing seldom finds it, so this thread dives, too.

Where servers have few jobs each, all threads turn to tempering then. It packs jobs in ways that
have no form on buddy blocks.

Where narrow jobs are few, the program has bundles of them at first. Once it is known to have no
packing, single narrow jobs follow.

Where some jobs spread at no cost, threads also dive into a program of joined blocks, once a single
slot is missing. Such a dive takes much longer than others, but finds packings that have no form on
buddy blocks. Where buddy blocks have little hope, threads do nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Protocol

import numpy as np

from rarmodel.engine import Engine, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.limits import TIME_LIMIT, Limits, processors
from rarmodel.model import least_slots_by_placement, plain_pace, topology

from .block_columns import Ring
from .block_dive import BlockDive
from .block_program import BlockProgram, Packed
from .block_sizes import Kind, kinds_of, nested_sizes
from .bundles import Bundles, bundles_of
from .joined_dive import JoinedDive
from .joined_packing import JoinedPacking, joined_packing_of
from .layout import Layout, layout_of
from .server_tempering import temper
from .solution import Solution
from .worker import packed_bound

if TYPE_CHECKING:
    from rarmodel.schema import Instance

    from .session import Session

MOST_JOBS, MOST_GAP = 500, 0.02
"""With more jobs, or a greater relative gap, annealing gains more in the same time."""
MOST_RINGS = 2
"""Most jobs that fit no server. Of two, one starts at slot 0 and the other one ends at the target,
so they seldom share a link. One more may spread, if the others would leave no room for it."""
MOST_ODD = 8
"""Most jobs of other sizes than those that divide one another: each one doubles the columns."""
DIVES_BETWEEN = 40
"""Dives on buddy blocks before each one on joined blocks, unless buddy blocks have little hope."""
MOST_PER_SERVER = 6
"""With more jobs per server, dives gain more than tempering, even once a single slot is missing."""
PAUSE = 0.2
"""Seconds between reports."""


class Programs(Protocol):
    """The program by target, with bundles, if there are some, or without."""

    def __call__(self, target: int, *, bundled: bool) -> BlockProgram:
        """A program; the same one each time."""


def packable(instance: Instance, bound: int) -> bool:
    """Whether dives may pack an instance by a lower bound.

    Almost all jobs must have one server each, and most sizes must divide one another.
    """
    if len(instance.jobs) > MOST_JOBS:
        return False
    layout = layout_of(instance)
    sizes = layout.size[layout.packed > 0]
    nested = nested_sizes(layout.server_gpus.tolist(), sizes.tolist())
    few_odd = np.sum(~np.isin(sizes, nested)) <= MOST_ODD
    few_rings = len(instance.jobs) - len(sizes) <= MOST_RINGS
    alone = not layout.spreads_faster.any() and _may_spread(instance, layout, bound) is not None
    return bool(nested and few_odd and few_rings and alone)


def worth_packing(session: Session) -> bool:
    """Whether the gap of a search for a packable instance is so small that dives gain most."""
    return session.makespan - session.bound.slots <= MOST_GAP * session.makespan


def _may_spread(instance: Instance, layout: Layout, bound: int) -> list[int] | None:
    """The jobs that may spread, so that the others have room by a bound.

    They are those that fit no server, and if need be one that does: the one that takes the fewest
    GPU slots more. None if one is not enough.
    """
    found = np.flatnonzero(layout.packed == 0).tolist()
    if packed_bound(layout) <= bound:
        return found

    def enough(job: int) -> bool:
        others = np.where(np.arange(len(layout.packed)) == job, 0, layout.packed)
        return packed_bound(layout._replace(packed=others)) <= bound

    more = {
        job: size * (slots.spread - slots.packed)
        for job, (size, slots) in enumerate(
            zip(layout.size.tolist(), least_slots_by_placement(instance), strict=True)
        )
        if slots.packed and slots.spread and enough(job)
    }
    return [*found, min(more, key=more.__getitem__)] if more else None


def pack(session: Session, limits: Limits, deadline: float, attempt: int = 0) -> str:
    """Look for shorter schedules of a search; return why that ended, or a time limit.

    The dives also end if no packing of their form is shorter, or if the program is too large.

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
    programs, unbundled = programs_of(session.instance, session.bound.slots), set[int]()
    joined = joined_packing_of(session.instance)
    divers = [_Diver(session, programs, joined, unbundled, seed, deadline) for seed in seeds]
    first = max(1, threads - 1)
    with ThreadPoolExecutor(threads) as pool:
        try:
            with session.searching_on():
                tasks = [pool.submit(diver.run) for diver in divers[:first]]
                stopped = _wait(session, tasks, deadline, missing=1)
            if not stopped:
                tasks += [pool.submit(diver.run) for diver in divers[first:]]
                stopped = _wait(session, tasks, deadline, missing=0)
        finally:
            for diver in divers:
                diver.stopped = True
        for task in tasks:
            task.result()
    session.report()
    return stopped or session.over(deadline) or TIME_LIMIT


def _wait(session: Session, tasks: Sequence[Future[None]], deadline: float, missing: int) -> str:
    """Wait until at most so many slots are missing or a diver ends; return a reason to stop."""
    while session.makespan - session.bound.slots > missing:
        if stopped := session.over(deadline):
            return stopped
        if wait(tasks, PAUSE, FIRST_COMPLETED).done:
            break
        session.report()
    return ""


class _Diver:
    """The dives of one thread.

    Parameters
    ----------
    session
        The search.
    programs
        The program by target, with bundles or not.
    joined
        Programs of joined blocks, and packings of theirs; None if the instance has none.
    unbundled
        The targets for which the program with bundles has no packing. All divers add to them.
    seed
        Seed of the random numbers.
    deadline
        The reading of `time.perf_counter` at which to stop.

    Attributes
    ----------
    stopped
        Another thread sets it to stop this one.
    """

    def __init__(
        self,
        session: Session,
        programs: Programs,
        joined: JoinedPacking | None,
        unbundled: set[int],
        seed: int,
        deadline: float,
    ) -> None:
        self._session, self._programs, self._unbundled = session, programs, unbundled
        self._joined, self._deadline = joined, deadline
        self._dives = self._joined_dives = 0
        self._random = np.random.default_rng(seed)
        self._joined_random = np.random.default_rng((seed, 1))
        self._tempering_random = np.random.default_rng((seed, 2))
        self._layout = layout_of(session.instance)
        servers = len(self._layout.server_gpus)
        self._tempers = servers > 1 and len(self._layout.size) <= MOST_PER_SERVER * servers
        self._engine = Engine(session.instance)
        self.stopped = False

    def run(self) -> None:
        """Look for shorter and shorter schedules, while there is hope for one."""
        session = self._session
        least = session.bound.slots
        while not self.stopped and least < session.makespan:
            target = least + int(session.makespan > least + 1)
            single = target == session.makespan - 1
            if (target == least and self._temper(target)) or (single and self._dive_joined(target)):
                continue
            self._dives += 1
            program = self._programs(target, bundled=target not in self._unbundled)
            if program.too_large:
                return
            packed, surely_none = self._packed(program, target)
            if packed is not None:
                session.take(self._solution(packed))
            if surely_none and program.bundled:
                self._unbundled.add(target)
            elif surely_none:
                least = target + 1

    def _packed(self, program: BlockProgram, target: int) -> tuple[Packed | None, bool]:
        """A packing by the target, if a dive finds one, and whether there is surely none."""

        def over() -> bool:
            found = self._session.makespan <= target
            refuted = program.bundled and target in self._unbundled
            return found or refuted or self.stopped

        return BlockDive(program, self._random, over).packing()

    def _temper(self, target: int) -> bool:
        """Temper the jobs of the session's solution; return whether that ended with the target."""
        session, solution = self._session, self._session.solution
        if solution is None or not self._tempers:
            return False

        def over() -> bool:
            return session.makespan <= target or self.stopped

        most = most_servers(session.instance, solution)
        found = temper(self._layout, solution, target, most, self._tempering_random, over)
        if found is not None:
            session.take(self._solution(found))
        return over()

    def _dive_joined(self, target: int) -> bool:
        """Dive into a program of joined blocks, if it is time for that; return whether it is."""
        if not self._joined:
            return False
        program, tight = self._joined.by(target)
        if program.too_large or not (tight or self._dives >= DIVES_BETWEEN):
            return False

        def over() -> bool:
            return self._session.makespan <= target or self.stopped

        self._dives, self._joined_dives = 0, self._joined_dives + 1
        number = self._joined_dives
        dive = JoinedDive(program, self._joined_random, over, number, self._deadline)
        for packed in dive.packings():
            for again in self._joined.dealt(packed, target, self._joined_random, over):
                self._session.take(self._solution(again))
        return True

    def _solution(self, packed: Packed) -> Solution | None:
        """The solution of a packing; None if rings that share links hold their GPUs too long."""
        placements = placements_of(packed.workers)
        makespan, completions = self._engine.evaluate(packed.starts, placements)
        if makespan < 0:
            return None
        return Solution(makespan, packed.starts, completions, *placements)


def programs_of(instance: Instance, bound: int) -> Programs:
    """The programs of an instance with a lower bound; each is made once.

    Jobs that fit no server may spread, and one more if the bound needs it. A program that bundles
    would make too large has none.
    """
    layout = layout_of(instance)
    spread = _may_spread(instance, layout, bound) or []
    gpus, kinds = layout.server_gpus.tolist(), kinds_of(layout)
    rings, making = _rings(instance, kinds, spread), Lock()
    # Bundles take some seconds, and those by a target contain those by an earlier one.
    latest, known = 0, None

    def bundles_by(target: int) -> Bundles | None:
        nonlocal latest, known
        if target > latest:
            latest, known = target, bundles_of(gpus, kinds, target)
        return known and known.by(target)

    @cache
    def program(target: int, *, bundled: bool) -> BlockProgram:
        bundles = bundles_by(target) if bundled else None
        made = BlockProgram(gpus, kinds, target, rings, bundles)
        return program(target, bundled=False) if made.bundled and made.too_large else made

    def program_of(target: int, *, bundled: bool) -> BlockProgram:
        # Threads ask for the same program at the same time, and `cache` would let each make it.
        with making:
            return program(target, bundled=bundled)

    return program_of


def _rings(instance: Instance, kinds: Sequence[Kind], spread: Sequence[int]) -> list[Ring]:
    """The jobs that may spread, with the slots that they need on the slowest links."""
    return [
        Ring(job, kinds[job], _slots_by_servers(instance, job), last=place % 2 == 1)
        for place, job in enumerate(spread)
    ]


def _slots_by_servers(instance: Instance, job: int) -> tuple[int, ...]:
    """Slots of a job over two servers, three servers and so on, on the slowest links."""
    links, servers = topology(instance.cluster).links, len(instance.cluster.servers)
    gbps = min((link.gbps for link in links), default=0.0)
    pace, most = plain_pace(instance, job), min(instance.jobs[job].size, servers)
    return tuple(pace.slots(many, gbps) or 0 for many in range(2, most + 1))


def most_servers(instance: Instance, solution: Solution) -> Ints:
    """(jobs) Most servers over which a spread ring may spread and end no later; 0 if not known."""
    found = np.zeros(len(solution.used), np.int64)
    lasting = solution.completions - solution.starts
    for job in np.flatnonzero(solution.used > 1).tolist():
        slots = _slots_by_servers(instance, job)
        found[job] = max((i for i, s in enumerate(slots, 2) if 0 < s <= lasting[job]), default=0)
    return found
