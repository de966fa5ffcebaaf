"""Shorter schedules by packing jobs anew, once annealing has found a good one.

Where servers have few jobs each, tempering packs sets of jobs. It keeps the spread rings of the
best schedule, and if that leads nowhere, it gives them other times. Where servers have many jobs
and sizes divide one another, exchanges seldom fit, but a dive into the program over buddy blocks
starts from nothing, and often meets the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np

from rarmodel.bounds import LowerBound
from rarmodel.engine import Engine, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.model import plain_pace, topology
from rarmodel.schema import Instance

from .block_program import BlockProgram, Kind
from .dive import Dive
from .layout import Layout, layout_of
from .set_tempering import temper
from .solution import Packed, Solution


class Numbers(NamedTuple):
    """When to pack anew, and how."""

    most_jobs: int = 500
    """With more jobs, annealing gains more in the same time."""
    most_gap: float = 0.02
    """So it does if the relative gap is greater."""
    most_per_server: int = 6
    """With more jobs per server, dives gain more than tempering."""
    rounds: int = 240
    """Turns of tempering's copies before it begins anew; doubled each time."""
    most_starts: int = 20
    """So many times in a row rings may leave no room to begin."""
    dives_per_slot: int = 3
    """Dives that find nothing before the next ones may end a slot later."""


NUMBERS = Numbers()


class Incumbent(Protocol):
    """The best that a search knows."""

    @property
    def solution(self) -> Solution | None:
        """The shortest known solution."""

    @property
    def makespan(self) -> int:
        """Its makespan in slots."""

    @property
    def bound(self) -> LowerBound:
        """A lower bound on the makespan."""

    def take(self, found: Solution | None) -> bool:
        """Keep a solution if it is shorter; return whether it is."""


def dives(layout: Layout) -> bool:
    """Whether an instance is for dives: many jobs on each server, in sizes that nest."""
    return layout.nests and layout.jobs_per_server > NUMBERS.most_per_server


def packable(instance: Instance) -> bool:
    """Whether an instance gains by packing jobs anew: few jobs, most of which fit a server."""
    if len(instance.jobs) > NUMBERS.most_jobs:
        return False
    layout = layout_of(instance)
    return layout.mostly_packed and (dives(layout) or len(layout.server_gpus) > 1)


class Packer:
    """The packings of one thread.

    Parameters
    ----------
    instance
        A packable instance.
    seed
        Seed of the random numbers.

    Attributes
    ----------
    stopped
        Another thread sets it to stop this one.
    """

    def __init__(self, instance: Instance, seed: int) -> None:
        self._instance, self._layout = instance, layout_of(instance)
        self._random = np.random.default_rng(seed)
        self._engine = Engine(instance)
        self.stopped = False

    def run(self, incumbent: Incumbent) -> None:
        """Look for shorter and shorter schedules, while there is hope for one."""
        if dives(self._layout):
            self._dive(incumbent)
        else:
            self._temper(incumbent)

    def _dive(self, incumbent: Incumbent) -> None:
        """Dive for a slot above the bound, then for the bound; for more where that fails often."""
        layout = self._layout
        gpus, least, failed = layout.server_gpus.tolist(), incumbent.bound.slots, 0
        kinds = [
            Kind(*one) for one in zip(layout.size.tolist(), layout.packed.tolist(), strict=True)
        ]

        @cache
        def program(target: int) -> BlockProgram:
            return BlockProgram(gpus, kinds, target)

        while not self.stopped and least < incumbent.makespan:
            above = int(incumbent.makespan > least + 1) + failed // NUMBERS.dives_per_slot
            target = min(least + above, incumbent.makespan - 1)
            if program(target).too_large:
                return

            def over(target: int = target) -> bool:
                return self.stopped or incumbent.makespan <= target

            packed, surely_none = Dive(program(target), self._random, over).packing()
            failed = 0 if packed is not None else failed + 1
            if packed is not None:
                incumbent.take(self._solution(packed))
            if surely_none:
                least, failed = target + 1, 0

    def _temper(self, incumbent: Incumbent) -> None:
        """Temper for a slot less than the best, again and again; each time for longer."""
        length, anew, starts = NUMBERS.rounds, False, 0
        while not self.stopped and incumbent.bound.slots < incumbent.makespan:
            solution = incumbent.solution
            if solution is None or starts == NUMBERS.most_starts:
                return
            target, rounds = incumbent.makespan - 1, iter(range(length))

            def over(target: int = target, rounds: Iterator[int] = rounds) -> bool:
                shorter = incumbent.makespan <= target
                return self.stopped or shorter or next(rounds, None) is None

            most = most_servers(self._instance, solution)
            found = temper(self._layout, solution, target, most, self._random, over, anew=anew)
            if found is not None:
                incumbent.take(self._solution(found))
            if incumbent.makespan <= target:
                length, anew, starts = NUMBERS.rounds, False, 0
            elif next(rounds, None) == 0:  # It could not begin.
                anew, starts = True, starts + 1
            else:
                length, anew, starts = 2 * length, True, 0

    def _solution(self, packed: Packed) -> Solution | None:
        """The solution of a packing; None if rings that share links hold their GPUs too long."""
        placements = placements_of(packed.workers)
        makespan, completions = self._engine.evaluate(packed.starts, placements)
        if makespan < 0:
            return None
        return Solution(makespan, packed.starts, completions, *placements)


def most_servers(instance: Instance, solution: Solution) -> Ints:
    """(jobs) Most servers over which a spread ring may spread and end no later; 0 if not known."""
    links, servers = topology(instance.cluster).links, len(instance.cluster.servers)
    gbps = min((link.gbps for link in links), default=0.0)
    found = np.zeros(len(solution.used), np.int64)
    lasting = solution.completions - solution.starts
    for job in np.flatnonzero(solution.used > 1).tolist():
        pace, most = plain_pace(instance, job), min(instance.jobs[job].size, servers)
        slots = {many: pace.slots(many, gbps) or 0 for many in range(2, most + 1)}
        found[job] = max((many for many, s in slots.items() if 0 < s <= lasting[job]), default=0)
    return found
