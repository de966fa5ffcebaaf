"""Jobs packed on servers by a target: an integer program over buddy blocks.

Sizes of jobs divide one another, and blocks have these sizes. A job takes a block of its own size
from some slots left before the target to fewer. A block without a further job is divided into
blocks of the next smaller size. Blocks of one size with as many slots left are alike, so the
program only counts them: it is a flow.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.highs_library import highspy, silent_highs

from .solution import Packed

MOST_COLUMNS = 40_000
"""Most variables; the paper's instances of 160 jobs have about 15,000."""
UNLIMITED = float("inf")


class Kind(NamedTuple):
    """Jobs that are alike on one server."""

    size: int
    """GPUs."""
    slots: int
    """Execution time."""


class Block(NamedTuple):
    """Blocks that are alike."""

    size: int
    """GPUs."""
    left: int
    """Slots left before the target."""


class Column(NamedTuple):
    """What a block may do next: run a job, be divided, or stay idle."""

    block: Block
    """The block."""
    kind: Kind | None = None
    """The job that it runs."""
    leaves: Block | None = None
    """The blocks that this leaves; None if it stays idle."""
    many: int = 1
    """Number of these."""


class Level(NamedTuple):
    """Columns about blocks of one size."""

    columns: Ints
    """Indices of the columns."""
    jobs: int
    """Number of jobs of this size and of smaller ones."""


class BlockProgram:
    """The program for some servers and jobs.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    kinds
        (jobs) Kind of each. Sizes divide one another, and each job fits some server.
    target
        Slot by which all jobs must end.
    """

    def __init__(self, gpus: Sequence[int], kinds: Sequence[Kind], target: int) -> None:
        self._kinds, self._target = kinds, target
        self._sizes = sorted({kind.size for kind in kinds}, reverse=True)
        self._blocks = [_parts(many, self._sizes) for many in gpus]
        self._supply = Counter(Block(size, target) for sizes in self._blocks for size in sizes)
        self._jobs = Counter(kinds)
        found: dict[Column, None] = {}
        for column in _columns(self._sizes, self._supply, self._jobs, target):
            found[column] = None
            if len(found) > MOST_COLUMNS:
                break
        self._columns = list(found)

    @property
    def too_large(self) -> bool:
        """Whether the program would have too many variables; then it cannot be solved."""
        return len(self._columns) > MOST_COLUMNS

    @property
    def size(self) -> int:
        """Number of columns."""
        return len(self._columns)

    @property
    def levels(self) -> list[Level]:
        """Columns in the order in which a dive rounds them: the widest blocks first."""
        sizes = np.array([column.block.size for column in self._columns])
        levels = [
            Level(np.flatnonzero(sizes == size), sum(kind.size <= size for kind in self._kinds))
            for size in self._sizes
        ]
        return [level for level in levels if len(level.columns)]

    def relaxed(self) -> Any:
        """The linear program, for the solver: parts of units count, too.

        Its solutions leave as many blocks idle as possible.
        """
        program = self._program()
        program.integrality_ = []
        program.col_cost_ = -np.array([float(not column.leaves) for column in self._columns])
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
        """The program as the solver wants it.

        A row for each kind says that all its jobs run, and a row for each block that no more of
        them are used than there are.
        """
        library = highspy()
        used = dict.fromkeys(column.block for column in self._columns)
        row_of_kind = {kind: row for row, kind in enumerate(self._jobs)}
        row_of_block = {block: row for row, block in enumerate(used, len(self._jobs))}
        first, indices, entries = [0], list[int](), list[float]()
        for column in self._columns:
            indices.append(row_of_block[column.block])
            entries.append(-1.0)
            if column.kind is not None:
                indices.append(row_of_kind[column.kind])
                entries.append(1.0)
            if column.leaves in row_of_block:
                indices.append(row_of_block[column.leaves])
                entries.append(float(column.many))
            first.append(len(indices))
        jobs = [float(many) for many in self._jobs.values()]
        program, size = library.HighsLp(), len(self._columns)
        program.num_col_, program.num_row_ = size, len(jobs) + len(used)
        program.col_cost_, program.col_lower_ = np.zeros((2, size))
        program.col_upper_ = np.array(
            [self._jobs[one.kind] if one.kind else UNLIMITED for one in self._columns], np.float64
        )
        program.row_lower_ = np.array([*jobs, *(-float(self._supply[block]) for block in used)])
        program.row_upper_ = np.array([*jobs, *[UNLIMITED] * len(used)])
        program.a_matrix_.format_ = library.MatrixFormat.kColwise
        program.a_matrix_.start_ = np.array(first, np.int32)
        program.a_matrix_.index_ = np.array(indices, np.int32)
        program.a_matrix_.value_ = np.array(entries)
        program.integrality_ = [library.HighsVarType.kInteger] * size
        return program

    def _packed(self, flow: list[int]) -> Packed:
        """The packing of a flow."""
        unplaced: dict[Kind, list[int]] = defaultdict(list)
        for job, kind in enumerate(self._kinds):
            unplaced[kind].append(job)
        leaving: dict[Block, list[Column]] = defaultdict(list)
        for column, units in zip(self._columns, flow, strict=True):
            leaving[column.block] += [column] * units
        starts = np.zeros(len(self._kinds), np.int64)
        workers: list[dict[int, int]] = [{} for _ in self._kinds]
        # Blocks that are still to do something, with their servers.
        waiting = [
            (server, Block(size, self._target))
            for server, sizes in enumerate(self._blocks)
            for size in sizes
        ]
        while waiting:
            server, block = waiting.pop()
            if not leaving[block]:
                continue
            following = leaving[block].pop()
            if following.kind is not None:
                job = unplaced[following.kind].pop()
                starts[job] = self._target - block.left
                workers[job][server] = block.size
            if following.leaves is not None:
                waiting += [(server, following.leaves)] * following.many
        return Packed(starts, workers)


def _parts(gpus: int, sizes: Sequence[int]) -> list[int]:
    """Sizes of the fewest blocks of some GPUs; sizes descend, and each divides the one before."""
    found = []
    for size in sizes:
        found += [size] * (gpus // size)
        gpus %= size
    return found


def _columns(
    sizes: Sequence[int], supply: Counter[Block], jobs: Counter[Kind], target: int
) -> Iterator[Column]:
    """All columns.

    Longer jobs of a size run first: other orders of the jobs on a block are no other packings.
    """
    shortest = min((kind.slots for kind in jobs), default=target)
    divided: set[int] = set()
    for index, size in enumerate(sizes):
        lefts = divided | {block.left for block in supply if block.size == size}
        for kind in sorted((kind for kind in jobs if kind.size == size), reverse=True):
            here = sorted(lefts)
            for _ in range(jobs[kind]):
                here = [left for left in here if left >= kind.slots]
                for left in here:
                    yield Column(Block(size, left), kind, Block(size, left - kind.slots))
                here = [left - kind.slots for left in here]
                lefts.update(here)
        if index + 1 == len(sizes):
            # The linear program has as many idle blocks as it can.
            yield Column(Block(size, target))
            return
        smaller = sizes[index + 1]
        divided = {left for left in lefts if left >= shortest}
        for left in sorted(divided):
            yield Column(Block(size, left), None, Block(smaller, left), size // smaller)


def refuted(highs: Any) -> bool:
    """Whether the solver says that its program has no solution.

    If no job is short enough for the target, the program has no columns, and counts as empty.
    """
    statuses = highspy().HighsModelStatus
    return highs.getModelStatus() in (statuses.kInfeasible, statuses.kModelEmpty)
