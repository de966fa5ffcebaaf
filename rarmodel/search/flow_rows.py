"""An integer program from rows and columns that are known by name, as the solver wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rarmodel.highs_library import highspy

Rows = Mapping[Any, tuple[float, float]]
"""The least and the most that the columns of each row may add up to."""
UNLIMITED = float("inf")


def integer_program(rows: Rows, columns: Iterable[tuple[Mapping[Any, int], float]]) -> Any:
    """The program without costs.

    Parameters
    ----------
    rows
        The rows.
    columns
        What a unit of each column adds to the rows, and its most units. Rows that are not among
        `rows` have no limits.
    """
    library = highspy()
    row_of = {row: index for index, row in enumerate(rows)}
    first, indices, numbers, most = [0], list[int](), list[float](), list[float]()
    for entries, units in columns:
        for row, number in entries.items():
            if row in row_of:
                indices.append(row_of[row])
                numbers.append(float(number))
        first.append(len(indices))
        most.append(units)
    program = library.HighsLp()
    program.num_col_, program.num_row_ = len(most), len(rows)
    program.col_cost_, program.col_lower_ = np.zeros((2, len(most)))
    program.col_upper_ = np.array(most)
    program.row_lower_, program.row_upper_ = np.array(list(rows.values())).T
    program.a_matrix_.format_ = library.MatrixFormat.kColwise
    program.a_matrix_.start_ = np.array(first, np.int32)
    program.a_matrix_.index_ = np.array(indices, np.int32)
    program.a_matrix_.value_ = np.array(numbers)
    program.integrality_ = [library.HighsVarType.kInteger] * len(most)
    return program
