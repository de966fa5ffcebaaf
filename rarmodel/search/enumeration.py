"""Try all schedules of a tiny instance, for a higher lower bound or a shorter schedule.

The first target is the lower bound itself. If no schedule ends by a target, the bound rises to one
slot more, and the next target is longer. If a schedule ends by it, it is the new best. See
`branch`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np

from rarmodel.bounds import ENUMERATION, LowerBound
from rarmodel.engine import Arrays, Engine, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.model import Topology, horizon_of, plain_pace, spreads, timing, topology
from rarmodel.schema import Instance

from .branch import FOUND, NONE, USED, Options, Tree, branch, new_tree, plant
from .solution import Solution

MOST_JOBS, MOST_SERVERS, MOST_OPTIONS = 40, 40, 5_000
"""Limits: instances with more jobs, servers or placements of all jobs are not tried."""
NODES = 50_000
"""Nodes in one step: less than 0.1 s."""
MOST_NODES = 20_000_000
"""Most nodes in all."""
TARGET_NODES = 500_000
"""Most nodes for a target above the bound; after that, the bound itself is the target."""
MOST = 2**62
"""Upper limit of whole numbers in compiled code."""


class Enumeration:
    """The enumeration of all schedules of an instance, step by step.

    Parameters
    ----------
    instance, arrays, options
        The problem.

    """

    def __init__(self, instance: Instance, arrays: Arrays, options: Options) -> None:
        self._instance, self._arrays, self._options = instance, arrays, options
        self._left = MOST_NODES
        self._longest = MOST // (instance.cluster.total_gpus * len(instance.jobs))
        self._tree: Tree | None = None
        self._target = 0
        self._stride = 1

    @property
    def over(self) -> bool:
        """Whether the enumeration has finished."""
        return self._left <= 0

    def step(self, makespan: int, bound: int) -> tuple[Solution | None, LowerBound | None]:
        """Continue for a moment; return a shorter solution and a higher bound, if any.

        Parameters
        ----------
        makespan
            Makespan of the shortest known solution, in slots.
        bound
            The known lower bound.
        """
        solution, proven, left = None, bound, NODES
        top = min(makespan - 1, horizon_of(self._instance), self._longest)
        while left > 0 and proven <= top and not self.over:
            tree = self._aim(proven, top)
            used = tree.counters[USED]
            answer = branch(self._arrays, self._options, tree, self._target, left)
            used = tree.counters[USED] - used
            left -= used
            self._left -= used
            if answer == FOUND:
                solution = self._solution(tree)
                top, self._stride = solution.makespan - 1, 1
            elif answer == NONE:
                proven = self._target + 1
                self._stride *= 2
            elif tree.counters[USED] >= TARGET_NODES and self._target > proven:
                self._target, self._stride = 0, 1
        return solution, LowerBound(proven, ENUMERATION) if proven > bound else None

    def _aim(self, proven: int, top: int) -> Tree:
        """The tree of a target between makespan and bound."""
        if self._tree is None or not proven <= self._target <= top:
            self._target = min(proven + self._stride - 1, top)
            self._tree = self._tree or new_tree(self._arrays, self._options)
            plant(self._arrays, self._options, self._tree)
        return self._tree

    def _solution(self, tree: Tree) -> Solution:
        """The solution that was found."""
        options = self._options
        back = np.argsort(options.job)
        rings = options.workers[tree.choice][back]
        placements = placements_of(
            {int(server): int(ring[server]) for server in np.flatnonzero(ring)} for ring in rings
        )
        starts = tree.start[back]
        found = Engine(self._instance).evaluate(starts, placements)
        return Solution(found.makespan, starts, found.completion, *placements)


def enumeration_of(instance: Instance, arrays: Arrays) -> Enumeration | None:
    """The enumeration of an instance; None if it is too large."""
    options = options_of(instance, arrays)
    return None if options is None else Enumeration(instance, arrays, options)


def options_of(instance: Instance, arrays: Arrays) -> Options | None:
    """The jobs and their placements, promising ones first; None if there are too many."""
    if len(instance.jobs) > MOST_JOBS or len(instance.cluster.servers) > MOST_SERVERS:
        return None
    gpus = [server.gpus for server in instance.cluster.servers]
    ways = {
        size: list(islice(spreads(gpus, size), MOST_OPTIONS + 1))
        for size in {job.size for job in instance.jobs}
    }
    if sum(len(ways[job.size]) for job in instance.jobs) > MOST_OPTIONS:
        return None
    tree = topology(instance.cluster)
    rated = [
        _rated(instance, tree, arrays, j, ways[job.size]) for j, job in enumerate(instance.jobs)
    ]
    order = sorted(range(len(rated)), key=lambda j: (-instance.jobs[j].size * rated[j][0].slots, j))
    flat = [way for j in order for way in rated[j]]
    if max(job.iterations for job in instance.jobs) * max(map(len, rated)) >= MOST:
        return None
    workers = np.zeros((len(flat), len(gpus)), np.int64)
    for row, way in zip(workers, flat, strict=True):
        row[list(way.workers)] = list(way.workers.values())
    links = {link.node: link for link in tree.links}
    return Options(
        job=np.array(order, np.int64),
        size=np.array([instance.jobs[j].size for j in order], np.int64),
        first=_offsets(len(rated[j]) for j in order),
        workers=workers,
        link_at=_offsets(len(way.links) for way in flat),
        link=np.array([link for way in flat for link in way.links], np.int64),
        alone=np.array([way.alone for way in flat], np.int64),
        slots=np.array([way.slots for way in flat], np.int64),
        least=np.array([rated[j][0].slots for j in order], np.int64),
        twin=_alike([arrays.modes[j].tobytes() for j in order]),
        gpus=np.array(gpus, np.int64),
        peer=_alike(
            [
                (server.gpus, links[server.name].parent, links[server.name].gbps)
                for server in instance.cluster.servers
            ]
        ),
    )


class _Way(NamedTuple):
    """A placement of a job."""

    slots: int
    """Execution time alone."""
    alone: int
    """Iterations per slot alone."""
    workers: Mapping[int, int]
    links: tuple[int, ...]


def _rated(
    instance: Instance, tree: Topology, arrays: Arrays, j: int, ways: Sequence[Mapping[int, int]]
) -> list[_Way]:
    """The placements of a job in which it makes progress, fast ones first."""
    pace = plain_pace(instance, j)
    rated = []
    for workers in ways:
        links = tree.links_used(workers)
        # One ring on a link.
        shares = [float(arrays.share[arrays.row_at[link] + 1]) for link in links]
        gbps = min(shares, default=instance.cluster.intra_server_gbps)
        if alone := pace.speed(len(workers), gbps):
            slots = timing.slots_needed(pace.iterations, alone)
            rated.append(_Way(slots, alone, workers, links))
    return sorted(rated, key=lambda way: (way.slots, len(way.workers)))


def _offsets(lengths: Iterable[int]) -> Ints:
    return np.array([0, *accumulate(lengths)], np.int64)


def _alike(things: Sequence[Hashable]) -> Ints:
    """For each place, the last place before it with an equal entry; −1 if there is none."""
    last: dict[Hashable, int] = {}
    before = []
    for place, thing in enumerate(things):
        before.append(last.get(thing, -1))
        last[thing] = place
    return np.array(before, np.int64)
