"""Jobs packed on servers by a target: an integer program over buddy blocks.

Blocks of one size with as many slots left before the target are alike, so the program only counts
them: it is a flow. `block_columns` says what a block may do.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.highs_library import highspy, silent_highs

from .block_columns import Column, Problem, Ring, columns_of
from .block_sizes import Kind, nested_sizes, parts
from .bundles import Bundles, Item
from .flow_rows import UNLIMITED, integer_program

_BUNDLE = "bundle"
"""The row of bundles."""
MOST_COLUMNS = 40_000
"""Most variables; the paper's instances of 160 jobs have about 15,000."""


class Packed(NamedTuple):
    """A packing: start slots, and workers by server."""

    starts: Ints
    """(jobs) Start slots."""
    workers: list[dict[int, int]]
    """(jobs) Workers by server."""


class Level(NamedTuple):
    """Columns about blocks of one size, or about rings."""

    size: int
    """GPUs of a block; 0 for rings."""
    columns: Ints
    """Indices of the columns."""
    jobs: int
    """Number of jobs of this level and the later ones."""


class BlockProgram:
    """The program for some servers and jobs.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    kinds
        (jobs) Kind of each.
    target
        Slot by which all jobs must end.
    rings
        The jobs that may spread. All of those that fit no server are among them.
    bundles
        Ways to pack the narrow jobs, if only these ways count.
    """

    def __init__(
        self,
        gpus: Sequence[int],
        kinds: Sequence[Kind],
        target: int,
        rings: Sequence[Ring] = (),
        bundles: Bundles | None = None,
    ) -> None:
        self._kinds = kinds
        least, choices = bundles or (0, ())
        wide = [kind for kind in kinds if kind.size >= least]
        nested = nested_sizes(gpus, [kind.size for kind in wide if kind.slots])
        self._blocks = [parts(many, nested) for many in gpus]
        blocks = Counter(size for sizes in self._blocks for size in sizes)
        self._problem = Problem(nested, blocks, Counter(wide), rings, target, choices)
        self._columns = columns_of(self._problem, MOST_COLUMNS)

    @property
    def too_large(self) -> bool:
        """Whether the program would have too many variables; then it cannot be solved."""
        return len(self._columns) > MOST_COLUMNS

    @property
    def bundled(self) -> bool:
        """Whether it packs narrow jobs in bundles only."""
        return bool(self._problem.bundles)

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self._columns)

    @property
    def levels(self) -> list[Level]:
        """Columns in the order in which a dive rounds them: rings first, then the widest blocks."""
        sizes = np.array([column.size for column in self._columns])
        levels = [Level(0, np.flatnonzero(sizes == 0), len(self._kinds))]
        for size in self._problem.nested:
            left = sum(kind.size <= size for kind in self._kinds)
            levels.append(Level(size, np.flatnonzero(sizes == size), left))
        return [level for level in levels if len(level.columns)]

    def relaxed(self) -> Any:
        """The linear program, for the solver: parts of units count, too.

        Its solutions leave as many blocks idle as possible.
        """
        program = self._program()
        program.integrality_ = []
        program.col_cost_ = -np.array([float(column.idle) for column in self._columns])
        return program

    def solve(
        self,
        seconds: float,
        seed: int,
        stop: Callable[[], bool],
        units: tuple[Floats, Floats] | None = None,
    ) -> tuple[Packed | None, bool]:
        """A packing by the target, if the solver finds one, and whether there is surely none.

        Parameters
        ----------
        seconds
            Most seconds.
        seed
            Seed of the solver's random numbers.
        stop
            Asked again and again; if it returns True, the solver stops.
        units
            Least and most units of flow in each column, if the flow is known in part.
        """
        library = highspy()
        highs = silent_highs()
        for option, value in (("threads", 1), ("time_limit", seconds), ("random_seed", seed)):
            highs.setOptionValue(option, value)
        program = self._program()
        if units is not None:
            program.col_lower_, program.col_upper_ = units
        highs.passModel(program)
        highs.cbMipInterrupt.subscribe(lambda event: event.interrupt(stop()))
        highs.run()
        if highs.getInfo().primal_solution_status != library.SolutionStatus.kSolutionStatusFeasible:
            return None, refuted(highs)
        return self._packed(np.rint(highs.getSolution().col_value).astype(int).tolist()), False

    def _program(self) -> Any:
        """The program as the solver wants it."""
        problem, columns = self._problem, self._columns
        pieces = dict.fromkeys(piece for column in columns for piece in column.cut)
        # Each row has the least and the most that its columns may add up to.
        rows: dict[object, tuple[float, float]] = {
            _block(size, left): (-float(self._supply(size, left)), UNLIMITED)
            for column in columns
            for size, left in _taken(column)
        }
        rows |= {kind: (float(many), float(many)) for kind, many in problem.jobs.items()}
        rows |= dict.fromkeys(pieces, (0.0, 0.0)) | dict.fromkeys(problem.rings, (0.0, 1.0))
        if problem.bundles:
            rows[_BUNDLE] = (1.0, 1.0)
        return integer_program(rows, ((_entries(column), self._most(column)) for column in columns))

    def _supply(self, size: int, left: int) -> int:
        """Number of such blocks that there are at slot 0."""
        return self._problem.blocks[size] if left == self._problem.target else 0

    def _most(self, column: Column) -> float:
        """Most units of flow in a column."""
        if column.cut or column.bundle:
            return 1.0
        jobs = Counter(column.jobs)
        least = (self._problem.jobs[kind] // many for kind, many in jobs.items())
        return float(min(least, default=UNLIMITED))

    def _packed(self, flow: list[int]) -> Packed:
        """The packing of a flow."""
        target = self._problem.target
        unplaced: dict[Kind, list[int]] = defaultdict(list)
        for job, kind in enumerate(self._kinds):
            unplaced[kind].append(job)
        leaving: dict[tuple[int, int], list[Column | Item]] = defaultdict(list)
        for column, units in zip(self._columns, flow, strict=True):
            if units and column.cut:
                ring = column.cut[0].ring
                unplaced[ring.kind].remove(ring.job)
            elif units and column.bundle:
                for item in column.bundle.items:
                    leaving[column.size, item.slots].append(item)
            else:
                leaving[column.size, column.left] += [column] * units
        starts = np.zeros(len(self._kinds), np.int64)
        workers: list[dict[int, int]] = [{} for _ in self._kinds]

        def run(job: int, server: int, size: int, start: int) -> None:
            starts[job] = start
            workers[job][server] = workers[job].get(server, 0) + size

        def place(item: Item, server: int, start: int) -> None:
            if item.kind:
                run(unplaced[item.kind].pop(), server, item.kind.size, start)
            for lane in item.lanes:
                at = start
                for inner in lane:
                    place(inner, server, at)
                    at += inner.slots

        # Blocks that are still to run something: server, size, slots left, and end.
        waiting = [
            (server, size, target, target)
            for server, sizes in enumerate(self._blocks)
            for size in sizes
        ]
        while waiting:
            server, size, left, end = waiting.pop()
            if not leaving[size, left]:
                continue
            following = leaving[size, left].pop()
            start = end - left
            if isinstance(following, Item):
                place(following, server, start)
                continue
            for kind in following.jobs:
                run(unplaced[kind].pop(), server, kind.size, start)
                start += kind.slots
            for piece in following.pieces:
                at = end - piece.slots if piece.ring.last else start
                run(piece.ring.job, server, piece.size, at)
            for head in following.heads:
                block = server, head.size, head.left, end - head.earlier
                waiting += [block] * head.many
        return Packed(starts, workers)


def _block(size: int, left: int) -> object:
    """The row of blocks that are alike."""
    return "block", size, left


def _taken(column: Column) -> list[tuple[int, int]]:
    """Size of each block that a unit of flow takes, and the slots left on it."""
    if column.bundle:
        return [(column.size, item.slots) for item in column.bundle.items]
    return [(column.size, column.left)] if column.size else []


def _entries(column: Column) -> Counter[object]:
    """What a unit of flow adds to each row."""
    entries = Counter[object](column.jobs)
    for size, left in _taken(column):
        entries[_block(size, left)] -= 1
    for head in column.heads:
        entries[_block(head.size, head.left)] += head.many
    for piece in column.pieces:
        entries[piece] += 1
    if column.bundle:
        entries[_BUNDLE] += 1
    for piece in column.cut:
        entries[piece] -= 1
    for ring in {piece.ring for piece in column.cut}:
        entries[ring] += 1
        entries[ring.kind] += 1
    return entries


def refuted(highs: Any) -> bool:
    """Whether the solver says that its program has no solution.

    If no job is short enough for the target, the program has no columns, and counts as empty.
    """
    statuses = highspy().HighsModelStatus
    return highs.getModelStatus() in (statuses.kInfeasible, statuses.kModelEmpty)
