"""Ragged tables as flat arrays."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import numpy as np

from rarmodel.engine.arrays import Ints


def ints(values: Iterable[int]) -> Ints:
    """Numbers as an array."""
    return np.fromiter(values, np.int64)


def offsets(lengths: Iterable[int]) -> Ints:
    """Where each row of a ragged table begins in its flat array, and where the last one ends."""
    return np.array([0, *accumulate(lengths)], np.int64)
