"""A packing that keeps to a target, found by a dive into the program over buddy blocks.

The dive goes from the widest blocks to the narrowest. For one size after another, it rounds the
flow of the linear program up, a little at random, and solves the program again, until the flow of
that size is whole. The objective leaves as many blocks idle as possible, so that the sizes still to
come have room. An integer program packs the blocks of the last sizes. Where the program has no
solution any more, the dive ends. Costs a little at random lead the next one elsewhere, and it takes
less time than to mend this one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.highs_library import highspy, silent_highs

from .block_program import BlockProgram, refuted
from .solution import Packed


class Numbers(NamedTuple):
    """How a dive rounds, and where it ends."""

    most_cost: float = 0.001
    """Most that a unit of flow costs at random, where an idle block is worth 1."""
    nearly: float = 0.8
    """A part of a unit of flow is rounded up if it is as much, or the greatest of all."""
    noise: float = 0.1
    """Up to this is added to each part at random before."""
    last_jobs: int = 40
    """Most jobs of the integer program, unless those of the last size are more."""
    last_seconds: float = 3.0
    """Its most seconds; with one second, dives find as many packings."""


NUMBERS = Numbers()
WHOLE = 1e-6
"""Less of a unit of flow counts as none."""


class Dive:
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
        self._lower, self._upper = np.zeros((2, program.size))
        self._highs = silent_highs()
        self._highs.setOptionValue("threads", 1)

    def packing(self) -> tuple[Packed | None, bool]:
        """A packing by the target, if the dive finds one, and whether there is surely none."""
        if self._last(0):
            return self._last_packed(None)
        units = self._first()
        if units is None:
            return None, refuted(self._highs)
        for index, level in enumerate(self._levels):
            if self._last(index):
                break
            units = self._rounded(units, level.columns)
            if units is None:
                return None, False
        return self._last_packed((self._lower, self._upper))[0], False

    def _last(self, level: int) -> bool:
        """Whether an integer program packs the jobs from a level on."""
        return level >= len(self._levels) - 1 or self._levels[level].jobs <= NUMBERS.last_jobs

    def _last_packed(self, units: tuple[Floats, Floats] | None) -> tuple[Packed | None, bool]:
        """A packing with so many units of flow, if there is one, and whether there is none."""
        seed = int(self._random.integers(2**31 - 1))
        return self._program.solve(NUMBERS.last_seconds, seed, self._stop, units)

    def _first(self) -> Floats | None:
        """(columns) The flow of the linear program; None if there is none."""
        highs, model = self._highs, self._program.relaxed()
        model.col_cost_ = model.col_cost_ + NUMBERS.most_cost * self._random.random(
            len(self._columns)
        )
        self._lower, self._upper = np.array(model.col_lower_), np.array(model.col_upper_)
        highs.passModel(model)
        # The simplex method takes up to ten times as long, but it can start from a basis.
        highs.setOptionValue("solver", "ipm")
        units = self._solved()
        highs.setOptionValue("solver", "simplex")
        return units

    def _rounded(self, units: Floats | None, columns: Ints) -> Floats | None:
        """A flow that is whole in these columns, too; None if rounding leaves none."""
        while units is not None and not self._stop():
            whole = np.floor(units[columns] + WHOLE)
            part = units[columns] - whole
            if part.max() <= WHOLE:
                self._lower[columns] = self._upper[columns] = whole
                return units
            noisy = np.where(
                part > WHOLE, part + NUMBERS.noise * self._random.random(len(part)), 0.0
            )
            up = noisy >= min(NUMBERS.nearly, noisy.max())
            self._lower[columns[up]] = whole[up] + 1
            units = self._solved()
        return None

    def _solved(self) -> Floats | None:
        """(columns) The flow of least cost within the bounds; None if there is none."""
        highs = self._highs
        highs.changeColsBounds(len(self._columns), self._columns, self._lower, self._upper)
        highs.run()
        if highs.getModelStatus() != highspy().HighsModelStatus.kOptimal:
            return None
        return np.array(highs.getSolution().col_value)
