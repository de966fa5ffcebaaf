"""The linear program of bounds by column generation: the fewest slots, or the least multiple.

Something is needed, in rows. Columns give it: some take a unit of a supply, such as a slot or a GPU
for a whole schedule; others take from one row and give to another. The program asks for the least
multiple of all supplies that is enough. Its solution guides the search for further columns. It
proves nothing: bounds round its prices to whole numbers, and prove something for these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.highs_library import highspy, silent_highs

Floats = npt.NDArray[np.float64]


class Solution(NamedTuple):
    """Solution of the linear program.

    Attributes
    ----------
    multiple
        The least multiple of the supplies.
    prices
        (rows) Price of a unit in each, at least 0.
    supply_prices
        (supplies) Price of a unit of each; all supplies together are worth 1.
    columns
        (columns) Units of each, in the order in which they were added.
    """

    multiple: float
    prices: Floats
    supply_prices: Floats
    columns: Floats


class ColumnProgram:
    """A linear program that gets its columns one by one.

    Parameters
    ----------
    needs
        (rows) What is needed at least.
    supplies
        (supplies) Units of each.
    """

    def __init__(self, needs: Sequence[float], supplies: Sequence[float]) -> None:
        library = highspy()
        self._rows, self._columns = len(needs), 0
        self._optimal = library.HighsModelStatus.kOptimal
        self._highs = silent_highs()
        self._highs.setOptionValue("threads", 1)
        self._highs.addVar(0.0, inf)
        self._highs.changeColCost(0, 1.0)
        nothing = np.array([], np.int32), np.array([], np.float64)
        for need in needs:
            self._highs.addRow(float(need), inf, 0, *nothing)
        multiple = np.array([0], np.int32)
        for units in supplies:
            self._highs.addRow(-inf, 0.0, 1, multiple, np.array([-float(units)]))

    def add(self, content: Mapping[int, float], supply: int | None = None) -> int:
        """Add a column: what it gives to rows, or takes from them, for a unit of a supply.

        Return its number.
        """
        rows, numbers = list(content), [float(number) for number in content.values()]
        if supply is not None:
            rows.append(self._rows + supply)
            numbers.append(1.0)
        self._highs.addCol(0.0, 0.0, inf, len(rows), np.array(rows, np.int32), np.array(numbers))
        self._columns += 1
        return self._columns - 1

    def solve(self) -> Solution | None:
        """The optimum; None if the solver finds none."""
        self._highs.run()
        if self._highs.getModelStatus() != self._optimal:
            return None
        found = self._highs.getSolution()
        duals = np.array(found.row_dual)
        return Solution(
            multiple=self._highs.getObjectiveValue(),
            prices=np.maximum(0.0, duals[: self._rows]),
            supply_prices=-duals[self._rows :],
            columns=np.array(found.col_value)[1:],
        )
