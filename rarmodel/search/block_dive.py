"""A packing that keeps to a target, found by a dive into the program over buddy blocks.

The dive goes from the widest blocks to the narrowest. For one size after another, it rounds the
flow of the linear program up, a little at random, and solves the program again, until the flow of
that size is whole. Where the program has no solution any more, the dive rounds the size anew, and
then goes back by a size. An integer program packs the blocks of the last size.

The program has no objective of its own. Each dive has random costs, and so leads elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.highs_library import highspy, silent_highs

from .block_program import BlockProgram, Packed, refuted

TRIES = 2
"""Times that a size is rounded before the dive goes back to the size before it."""
NEARLY, NOISE = 0.8, 0.1
"""A part of a unit of flow is rounded up if it is as much as the first, or the greatest of all,
after up to the second is added at random."""
LAST_SECONDS = 8.0
"""Most seconds of the integer program; it seldom takes more than one."""
WHOLE = 1e-6
"""Less of a unit of flow counts as none."""


class _Flow(NamedTuple):
    """A solution of the linear program, and where it stands."""

    lower: Floats
    """(columns) Least units."""
    upper: Floats
    """(columns) Most units."""
    units: Floats
    """(columns) The solution."""
    basis: Any
    """The solver's basis of it."""


class BlockDive:
    """A dive into one program.

    Parameters
    ----------
    program
        The program to dive into.
    random
        Random numbers.
    stop
        Asked again and again; if it returns True, the dive ends.
    """

    def __init__(
        self, program: BlockProgram, random: np.random.Generator, stop: Callable[[], bool]
    ) -> None:
        self._program, self._random, self._stop = program, random, stop
        sizes = program.column_sizes
        self._levels = [np.flatnonzero(sizes == size) for size in np.unique(sizes)[::-1]]
        self._columns = np.arange(len(sizes), dtype=np.int32)
        self._highs = silent_highs()
        self._highs.setOptionValue("threads", 1)

    def packing(self) -> tuple[Packed | None, bool]:
        """A packing by the target, if the dive finds one, and whether there is surely none."""
        highs = self._highs
        model = self._program.relaxed()
        model.col_cost_ = self._random.random(len(self._columns))
        highs.passModel(model)
        # The simplex method takes up to ten times as long, but it can start from a basis.
        highs.setOptionValue("solver", "ipm")
        top = self._solved(np.array(model.col_lower_), np.array(model.col_upper_))
        highs.setOptionValue("solver", "simplex")
        if top is None:
            return None, refuted(highs)
        return self._below(top, 0), False

    def _below(self, flow: _Flow, level: int) -> Packed | None:
        """A packing with a flow that is whole down to a level; None if the dive finds none."""
        if level == len(self._levels) - 1:
            seed, units = int(self._random.integers(2**31 - 1)), (flow.lower, flow.upper)
            return self._program.solve(LAST_SECONDS, seed, self._stop, units)[0]
        for _ in range(TRIES):
            rounded = self._rounded(flow, self._levels[level])
            packed = None if rounded is None else self._below(rounded, level + 1)
            if packed is not None or self._stop():
                return packed
        return None

    def _rounded(self, flow: _Flow, columns: Ints) -> _Flow | None:
        """A flow that is whole in these columns, too; None if rounding leaves none."""
        lower, upper = flow.lower.copy(), flow.upper.copy()
        self._highs.setBasis(flow.basis)
        rounded: _Flow | None = flow
        while rounded is not None and not self._stop():
            units = rounded.units[columns]
            part = units - np.floor(units + WHOLE)
            if part.max() <= WHOLE:
                lower[columns] = upper[columns] = np.rint(units)
                return self._solved(lower, upper)
            noisy = np.where(part > WHOLE, part + NOISE * self._random.random(len(part)), 0.0)
            up = noisy >= min(NEARLY, noisy.max())
            lower[columns[up]] = np.floor(units[up] + WHOLE) + 1
            rounded = self._solved(lower, upper)
        return None

    def _solved(self, lower: Floats, upper: Floats) -> _Flow | None:
        """The flow of least cost within bounds; None if there is none."""
        highs = self._highs
        highs.changeColsBounds(len(self._columns), self._columns, lower, upper)
        highs.run()
        if highs.getModelStatus() != highspy().HighsModelStatus.kOptimal:
            return None
        return _Flow(lower, upper, np.array(highs.getSolution().col_value), highs.getBasis())
