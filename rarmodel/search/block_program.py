"""Jobs packed on servers by a target: an integer program over buddy blocks.

Where sizes divide one another, each job gets a block of its own size (see `buddy_blocks`). Here a
block runs first its own jobs, the longest first, and then those of its parts. Blocks of one size
with as many slots left before the target are alike, so the program only counts them: it is a flow.
A job takes a block from some slots left to fewer, and a block without a further job is divided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.highs_library import highspy, silent_highs

MOST_ARCS = 40_000
"""Most variables; the paper's instances of 160 jobs have about 15,000."""


class Packed(NamedTuple):
    """A packing: (jobs) server, and start slot."""

    server: Ints
    start: Ints


class BlockProgram:
    """The program for some servers and jobs.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    jobs
        Size and slots of each job. Of two sizes, the smaller one divides the greater one.
    target
        Slot by which all jobs must end.
    """

    def __init__(self, gpus: Sequence[int], jobs: Sequence[tuple[int, int]], target: int) -> None:
        self._jobs, self._target = jobs, target
        self._count = Counter(jobs)
        self._sizes = sorted({size for size, _ in jobs}, reverse=True)
        self._blocks = [_top_blocks(room_there, self._sizes) for room_there in gpus]
        supply = Counter(size for sizes in self._blocks for size in sizes)
        self._supply = {(size, target): number for size, number in supply.items()}
        self._columns = self._arcs()

    @property
    def too_large(self) -> bool:
        """Whether the program would have too many variables; then it cannot be solved."""
        return len(self._columns) > MOST_ARCS

    def _arcs(self) -> dict[tuple[int, int, int], int]:
        """Columns by size of a block, slots left before, and slots of a job, 0 for a division."""
        columns: dict[tuple[int, int, int], int] = {}
        reached: dict[int, set[int]] = defaultdict(set)
        for size, left in self._supply:
            reached[size].add(left)
        shortest = min(slots for _, slots in self._jobs)
        for size, part in zip(self._sizes, [*self._sizes[1:], 0], strict=True):
            own = reached[size]
            # Other orders of the jobs on a block are no other packings.
            for slots in sorted((slots for s, slots in self._count if s == size), reverse=True):
                here = own
                for _ in range(self._count[size, slots]):
                    arcs = {
                        left: (size, left, slots)
                        for left in here
                        if left >= slots and (size, left, slots) not in columns
                    }
                    for arc in arcs.values():
                        columns[arc] = len(columns)
                    here = {left - slots for left in arcs}
                    own |= here
                if len(columns) > MOST_ARCS:
                    return columns
            if part:
                for left in own:
                    if left >= shortest:
                        columns[size, left, 0] = len(columns)
                        reached[part].add(left)
        return columns

    @property
    def column_sizes(self) -> Ints:
        """(columns) Size of the block that each unit of flow is on."""
        return np.array([size for size, _, _ in self._columns])

    def relaxed(self) -> Any:
        """The linear program, for the solver: parts of units count, too."""
        program = self._program(highspy())
        program.integrality_ = []
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
        program = self._program(library)
        if units is not None:
            program.col_lower_, program.col_upper_ = units
        highs.passModel(program)
        highs.cbMipInterrupt.subscribe(lambda event: event.interrupt(stop()))
        highs.run()
        if highs.getInfo().primal_solution_status != library.SolutionStatus.kSolutionStatusFeasible:
            return None, refuted(highs)
        return self._packed(np.rint(highs.getSolution().col_value).astype(int).tolist()), False

    def _program(self, library: Any) -> Any:
        """The program as the solver wants it."""
        tails = dict.fromkeys((size, left) for size, left, _ in self._columns)
        row_of = {node: row for row, node in enumerate(tails)}
        needs = {job: len(row_of) + row for row, job in enumerate(self._count)}
        parts = dict(zip(self._sizes, self._sizes[1:], strict=False))
        first, rows, numbers, most = [0], [], [], []
        for size, left, slots in self._columns:
            rows.append(row_of[size, left])
            numbers.append(-1.0)
            if slots:
                head, many = (size, left - slots), 1.0
                rows.append(needs[size, slots])
                numbers.append(1.0)
                most.append(float(self._count[size, slots]))
            else:
                head, many = (parts[size], left), float(size // parts[size])
                most.append(library.kHighsInf)
            if head in row_of:
                rows.append(row_of[head])
                numbers.append(many)
            first.append(len(rows))
        program = library.HighsLp()
        program.num_col_, program.num_row_ = len(most), len(row_of) + len(needs)
        program.col_cost_, program.col_lower_ = np.zeros((2, len(most)))
        program.col_upper_ = np.array(most)
        program.row_lower_ = np.array(
            [-float(self._supply.get(node, 0)) for node in row_of]
            + [float(number) for number in self._count.values()]
        )
        program.row_upper_ = np.array(
            [library.kHighsInf] * len(row_of) + [float(n) for n in self._count.values()]
        )
        program.a_matrix_.format_ = library.MatrixFormat.kColwise
        program.a_matrix_.start_ = np.array(first, np.int32)
        program.a_matrix_.index_ = np.array(rows, np.int32)
        program.a_matrix_.value_ = np.array(numbers)
        program.integrality_ = [library.HighsVarType.kInteger] * len(most)
        return program

    def _packed(self, flow: list[int]) -> Packed:
        """The packing of a flow."""
        jobs: dict[tuple[int, int], list[int]] = defaultdict(list)
        for index, job in enumerate(self._jobs):
            jobs[job].append(index)
        leaving: dict[tuple[int, int], list[int]] = defaultdict(list)
        for (size, left, slots), units in zip(self._columns, flow, strict=True):
            leaving[size, left] += [slots] * units
        packed = Packed(*np.zeros((2, len(self._jobs)), np.int64))
        parts = dict(zip(self._sizes, self._sizes[1:], strict=False))

        def fill(server: int, size: int, left: int) -> None:
            while leaving[size, left]:
                slots = leaving[size, left].pop()
                if not slots:
                    for _ in range(size // parts[size]):
                        fill(server, parts[size], left)
                    return
                job = jobs[size, slots].pop()
                packed.server[job], packed.start[job] = server, self._target - left
                left -= slots

        for server, sizes in enumerate(self._blocks):
            for size in sizes:
                fill(server, size, self._target)
        return packed


def refuted(highs: Any) -> bool:
    """Whether the solver says that its program has no solution.

    If no job is short enough for the target, the program has no columns, and counts as empty.
    """
    statuses = highspy().HighsModelStatus
    return highs.getModelStatus() in (statuses.kInfeasible, statuses.kModelEmpty)


def _top_blocks(gpus: int, sizes: Sequence[int]) -> list[int]:
    """Sizes of the greatest blocks of a server."""
    blocks = []
    for size in sizes:
        blocks += [size] * (gpus // size)
        gpus %= size
    return blocks
