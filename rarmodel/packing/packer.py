"""Shorter schedules by packing jobs anew, once annealing has found a good one.

Two neighbourhoods do that, each for instances of its own. Where servers have few jobs each,
tempering packs sets of jobs. It keeps the spread rings of the best schedule, and if that leads
nowhere, it gives them other times. Where servers have many jobs and sizes divide one another,
exchanges seldom fit, but a dive into the program over buddy blocks starts from nothing, and often
meets the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from rarmodel.bounds import LowerBound
from rarmodel.engine import Engine, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.methods import Neighbourhood, installed
from rarmodel.model import plain_pace, topology
from rarmodel.model.features import BY_DUTY
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance

from .block_program import BlockProgram, Kind
from .dive import Dive
from .layout import layout_of
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


@dataclass(frozen=True)
class PacksAnew(Neighbourhood):
    """A neighbourhood that packs jobs anew until a schedule meets the bound.

    Attributes
    ----------
    run
        Looks for shorter and shorter schedules, for a packer and with what the search knows, until
        the packer is stopped or there is no hope for one.
    """

    runs: ClassVar[str] = "where the gap is small"

    run: Callable[[Packer, Incumbent], None] = field(kw_only=True)


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
    instance, layout
        The instance.
    random
        The random numbers.
    stopped
        Another thread sets it to stop this one.
    """

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance, self.layout = instance, layout_of(instance)
        self.random = np.random.default_rng(seed)
        self._engine = Engine(instance)
        self._some = installed(PacksAnew, instance)
        self.stopped = False

    def run(self, incumbent: Incumbent) -> None:
        """Look for shorter and shorter schedules, while there is hope for one."""
        for one in self._some:
            one.run(self, incumbent)

    def solution(self, packed: Packed) -> Solution | None:
        """The solution of a packing; None if rings that share links hold their GPUs too long."""
        placements = placements_of(packed.workers)
        makespan, completions = self._engine.evaluate(packed.starts, placements)
        if makespan < 0:
            return None
        return Solution(makespan, packed.starts, completions, *placements)


def dive(packer: Packer, incumbent: Incumbent) -> None:
    """Dive for a slot above the bound, then for the bound; for more where that fails often."""
    layout = packer.layout
    gpus, least, failed = layout.server_gpus.tolist(), incumbent.bound.slots, 0
    kinds = [Kind(*one) for one in zip(layout.size.tolist(), layout.packed.tolist(), strict=True)]

    @cache
    def program(target: int) -> BlockProgram:
        return BlockProgram(gpus, kinds, target)

    while not packer.stopped and least < incumbent.makespan:
        above = int(incumbent.makespan > least + 1) + failed // NUMBERS.dives_per_slot
        target = min(least + above, incumbent.makespan - 1)
        if program(target).too_large:
            return

        def over(target: int = target) -> bool:
            return packer.stopped or incumbent.makespan <= target

        packed, surely_none = Dive(program(target), packer.random, over).packing()
        failed = 0 if packed is not None else failed + 1
        if packed is not None:
            incumbent.take(packer.solution(packed))
        if surely_none:
            least, failed = target + 1, 0


def temper_again(packer: Packer, incumbent: Incumbent) -> None:
    """Temper for a slot less than the best, again and again; each time for longer."""
    length, anew, starts = NUMBERS.rounds, False, 0
    while not packer.stopped and incumbent.bound.slots < incumbent.makespan:
        solution = incumbent.solution
        if solution is None or starts == NUMBERS.most_starts:
            return
        target, rounds = incumbent.makespan - 1, iter(range(length))

        def over(target: int = target, rounds: Iterator[int] = rounds) -> bool:
            shorter = incumbent.makespan <= target
            return packer.stopped or shorter or next(rounds, None) is None

        most = most_servers(packer.instance, solution)
        found = temper(packer.layout, solution, target, most, packer.random, over, anew=anew)
        if found is not None:
            incumbent.take(packer.solution(found))
        if incumbent.makespan <= target:
            length, anew, starts = NUMBERS.rounds, False, 0
        elif next(rounds, None) == 0:  # It could not begin.
            anew, starts = True, starts + 1
        else:
            length, anew, starts = 2 * length, True, 0


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


def _gains(instance: Instance) -> bool:
    """Whether an instance gains by packing jobs anew: few jobs, most of which fit a server."""
    return len(instance.jobs) <= NUMBERS.most_jobs and layout_of(instance).mostly_packed


def _for_dives(instance: Instance) -> bool:
    """Whether servers have many jobs each, in sizes that nest."""
    if not _gains(instance):
        return False
    layout = layout_of(instance)
    return layout.nests and layout.jobs_per_server > NUMBERS.most_per_server


def _for_tempering(instance: Instance) -> bool:
    several = len(instance.cluster.servers) > 1
    return several and _gains(instance) and not _for_dives(instance)


DIVES = PacksAnew(
    "dives",
    "rounding of the integer program over nested blocks, for many jobs on each server",
    objectives=frozenset({MAKESPAN.name}),
    handles=BY_DUTY,
    suits=_for_dives,
    run=dive,
)
TEMPERING = PacksAnew(
    "tempering",
    "exchanges of jobs and pieces of rings between sets, one set for each server",
    objectives=frozenset({MAKESPAN.name}),
    handles=BY_DUTY,
    suits=_for_tempering,
    run=temper_again,
)


def packable(instance: Instance) -> bool:
    """Whether a registered neighbourhood packs the jobs of an instance anew."""
    return bool(installed(PacksAnew, instance))
