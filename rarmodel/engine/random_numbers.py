"""Random numbers in compiled code: the same seed gives the same numbers everywhere."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from .compilation import compiled

Generator = npt.NDArray[np.uint64]
"""(1) The generator's state; any number seeds it."""

STEP = np.uint64(0x9E3779B97F4A7C15)
"""How far the state goes from one number to the next."""

_inner = partial(compiled, inner=True)


STEP = np.uint64(0x9E3779B97F4A7C15)


@_inner
def mixed(value: np.uint64) -> np.uint64:
    """SplitMix64: the next state, its bits well mixed (Steele, Lea, Flood 2014)."""
    value = np.uint64(value + STEP)
    value = np.uint64((value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    value = np.uint64((value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return np.uint64(value ^ (value >> np.uint64(31)))


@_inner
def _next(generator: Generator) -> np.uint64:
    value = generator[0]
    generator[0] = np.uint64(value + STEP)
    return mixed(value)


@_inner
def below(generator: Generator, count: int) -> int:
    """A whole number from 0 to `count − 1`, all (nearly) equally likely."""
    return np.int64(_next(generator) % np.uint64(count))  # type: ignore[return-value]


@_inner
def fraction(generator: Generator) -> float:
    """A number in (0, 1)."""
    return (float(_next(generator) >> np.uint64(12)) + 0.5) * 2.0**-52


@compiled
def below_plain(generator: Generator, count: int) -> int:
    """The numbers of `below`, for code that is not compiled."""
    return below(generator, count)
