"""A packing that keeps to a target, found by a dive into the program over buddy blocks.

The dive goes from the widest blocks to the narrowest, after the rings that spread. For one size
after another, it rounds the flow of the linear program up, a little at random, and solves the
program again, until the flow of that size is whole. Where the program has no solution any more, the
dive takes back the last unit, and forbids it. After some such failures it rounds the size anew, and
then goes back by a size. An integer program packs the blocks of the last sizes.

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
MOST_FORBIDDEN = 3
"""Most units that are forbidden while a size is rounded."""
NEARLY, NOISE = 0.8, 0.1
"""A part of a unit of flow is rounded up if it is as much as the first, or the greatest of all,
after up to the second is added at random."""
LAST_JOBS, LAST_SECONDS = 40, 3.0
"""Most jobs of the integer program, unless those of the last size are more, and its most seconds;
with one second, dives find as many packings."""
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
        self._levels = program.levels
        self._columns = np.arange(program.size, dtype=np.int32)
        self._highs = silent_highs()
        self._highs.setOptionValue("threads", 1)

    def packing(self) -> tuple[Packed | None, bool]:
        """A packing by the target, if the dive finds one, and whether there is surely none."""
        if self._last(0):
            return self._last_packed(None)
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

    def _last(self, level: int) -> bool:
        """Whether an integer program packs the jobs from a level on."""
        return level >= len(self._levels) - 1 or self._levels[level].jobs <= LAST_JOBS

    def _last_packed(self, units: tuple[Floats, Floats] | None) -> tuple[Packed | None, bool]:
        """A packing with so many units of flow, if there is one, and whether there is none."""
        seed = int(self._random.integers(2**31 - 1))
        return self._program.solve(LAST_SECONDS, seed, self._stop, units)

    def _below(self, flow: _Flow, level: int) -> Packed | None:
        """A packing with a flow that is whole above a level; None if the dive finds none."""
        if self._last(level):
            return self._last_packed((flow.lower, flow.upper))[0]
        for _ in range(TRIES):
            rounded = self._rounded(flow, self._levels[level].columns)
            packed = None if rounded is None else self._below(rounded, level + 1)
            if packed is not None or self._stop():
                return packed
        return None

    def _rounded(self, flow: _Flow, columns: Ints) -> _Flow | None:
        """A flow that is whole in these columns, too; None if rounding leaves none."""
        self._highs.setBasis(flow.basis)
        rounded: _Flow | None = flow
        forbidden = 0
        while rounded is not None and not self._stop():
            units = rounded.units[columns]
            whole = np.floor(units + WHOLE)
            part = units - whole
            if part.max() <= WHOLE:
                return self._solved(*_set(rounded, columns, np.rint(units), np.rint(units)))
            noisy = np.where(part > WHOLE, part + NOISE * self._random.random(len(part)), 0.0)
            for least in sorted({min(NEARLY, noisy.max()), noisy.max()}):
                up = noisy >= least
                more = self._solved(*_set(rounded, columns[up], lower=whole[up] + 1))
                if more is not None:
                    break
            else:
                forbidden += 1
                if forbidden > MOST_FORBIDDEN:
                    return None
                more = self._solved(*_set(rounded, columns[up], upper=whole[up]))
            rounded = more
        return None

    def _solved(self, lower: Floats, upper: Floats) -> _Flow | None:
        """The flow of least cost within bounds; None if there is none."""
        highs = self._highs
        highs.changeColsBounds(len(self._columns), self._columns, lower, upper)
        highs.run()
        if highs.getModelStatus() != highspy().HighsModelStatus.kOptimal:
            return None
        return _Flow(lower, upper, np.array(highs.getSolution().col_value), highs.getBasis())


def _set(
    flow: _Flow, columns: Ints, lower: Floats | None = None, upper: Floats | None = None
) -> tuple[Floats, Floats]:
    """The bounds of a flow, with other ones for some columns."""
    bounds = flow.lower.copy(), flow.upper.copy()
    for own, new in zip(bounds, (lower, upper), strict=True):
        if new is not None:
            own[columns] = new
    return bounds
