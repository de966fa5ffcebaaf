"""The cheapest way for a job to do its iterations, where each slot has a price by its state.

A pattern gives each state of one ring size and one number of servers a whole number of slots:
enough for the job's iterations, and at most as many as the schedule is long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine.compilation import compiled

from .knapsack import Ints
from .ring_states import Spreading

MOST_PATTERNS = 20_000
"""With more, whole slots matter little: parts of slots will do."""
IMPOSSIBLE = 2**62
"""Price of a job that no pattern completes."""


class Pattern(NamedTuple):
    """Slots in each state of a spreading.

    Attributes
    ----------
    price
        What it costs, at least: exact for whole slots, rounded down for parts.
    slots
        (states) Slots, as floats: they guide the search for prices, and prove nothing.
    """

    price: int
    slots: tuple[float, ...]


def cheapest_pattern(
    states: Spreading, prices: Ints, iterations: int, length: int
) -> Pattern | None:
    """The cheapest pattern; None if no schedule of this length completes the job so.

    Parameters
    ----------
    states
        The states, fast ones first.
    prices
        (states) Price of a slot in each, at least 0.
    iterations
        Iterations of the job.
    length
        Length of the schedule in slots; times a price it is below 2^62.
    """
    speeds = [state.speed for state in states]
    if -(-iterations // speeds[0]) > length:
        return None
    most = [min(length, -(-iterations // speed)) for speed in speeds]
    patterns = 1
    for slots in most[1:]:
        patterns *= slots + 1
    if patterns > MOST_PATTERNS:
        return _in_parts(speeds, [int(price) for price in prices], iterations, length)
    best = np.zeros(len(speeds), np.int64)
    scratch = np.zeros(len(speeds), np.int64)
    price = _whole(
        np.array(speeds, np.int64),
        prices,
        np.array(most, np.int64),
        iterations,
        length,
        scratch,
        best,
    )
    return Pattern(int(price), tuple(map(float, best)))


@compiled
def _whole(
    speeds: Ints, prices: Ints, most: Ints, iterations: int, length: int, slots: Ints, best: Ints
) -> int:
    """Try all numbers of slots in the slower states; the fastest does the rest."""
    least = IMPOSSIBLE
    slots[:] = 0
    while True:
        left, used, price = iterations, 0, 0
        for i in range(1, len(speeds)):
            left -= speeds[i] * slots[i]
            used += slots[i]
            price += prices[i] * slots[i]
        slots[0] = -(-left // speeds[0]) if left > 0 else 0
        price += prices[0] * slots[0]
        if used + slots[0] <= length and price < least:
            least = price
            for i in range(len(slots)):
                best[i] = slots[i]
        i = 1
        while i < len(speeds) and (slots[i] == most[i] or used > length):
            # More slots in this state would only be too many.
            used -= slots[i]
            slots[i] = 0
            i += 1
        if i >= len(speeds):
            return least
        slots[i] += 1


def _in_parts(speeds: list[int], prices: list[int], iterations: int, length: int) -> Pattern:
    """The same with parts of slots: some cheapest pattern has one state, or two that fill it."""
    found = []
    for i, (speed, price) in enumerate(zip(speeds, prices, strict=True)):
        if speed * length >= iterations:
            found.append(((price * iterations) // speed, i, iterations / speed, i, 0.0))
            continue
        for k in range(i):
            # Slots of the faster state and of the slower one, over the difference of the speeds.
            faster = iterations - speed * length
            slower, apart = speeds[k] * length - iterations, speeds[k] - speed
            if slower >= 0:
                cost = (prices[k] * faster + price * slower) // apart
                found.append((cost, k, faster / apart, i, slower / apart))
    cost, k, first, i, second = min(found)
    slots = [0.0] * len(speeds)
    slots[k] += first
    slots[i] += second
    return Pattern(cost, tuple(slots))
