"""A set of indices with constant-time insert, remove and random choice."""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled


@partial(compiled, inner=True)
def updated(members: Ints, place: Ints, count: int, index: int, past: float) -> int:
    """Insert or remove an index; return the new size of the set.

    Parameters
    ----------
    members
        The set's indices, in any order, in the first `count` places.
    place
        Place of each index in `members`, −1 if it is not in the set.
    count
        Size of the set.
    index, past
        The index; it is inserted if `past` is above 0, and removed otherwise.
    """
    at = place[index]
    if past > 0 and at < 0:
        place[index] = count
        members[count] = index
        return count + 1
    if past <= 0 and at >= 0:
        last = members[count - 1]
        members[at] = last
        place[last] = at
        place[index] = -1
        return count - 1
    return count
