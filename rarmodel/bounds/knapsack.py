"""The best filling of one GPU's time, by exact dynamic programming."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rarmodel.engine.compilation import compiled

Ints = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@compiled
def fill(
    sizes: Ints, values: Ints, pieces: Ints, length: int, best: Ints, chosen: Bits, taken: Ints
) -> int:
    """The greatest total value of items that together fit a length.

    Parameters
    ----------
    sizes, values
        (items) Length and value of each item; items with value 0 are left out.
    pieces
        (pieces, 2) Item and multiplicity. Multiplicities are powers of 2, so that any number up to
        an item's limit is a sum of some of its pieces.
    length
        The length to fill.
    best, chosen
        Scratch memory: `length + 1` numbers, and as many truth values for each piece.
    taken
        (items) Receives how often each item is taken.

    Returns
    -------
    int
        The value.
    """
    best[: length + 1] = 0
    for i in range(len(pieces)):
        item, times = pieces[i]
        size, value = times * sizes[item], times * values[item]
        chosen[i, : length + 1] = False
        if value > 0:
            for room in range(length, size - 1, -1):
                if best[room - size] + value > best[room]:
                    best[room] = best[room - size] + value
                    chosen[i, room] = True
    taken[:] = 0
    room = length
    for i in range(len(pieces) - 1, -1, -1):
        item, times = pieces[i]
        if chosen[i, room]:
            taken[item] += times
            room -= times * sizes[item]
    return int(best[length])


def powers(most: int) -> list[int]:
    """Numbers whose sums give every number up to `most` and no greater one."""
    parts, part = [], 1
    while part <= most:
        parts.append(part)
        most -= part
        part *= 2
    return [*parts, most] if most else parts
