"""A set of indices below a fixed number, from which one is drawn at random in constant time."""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled


@partial(compiled, inner=True)
def updated(members: Ints, place: Ints, count: int, index: int, past: float) -> int:
    """Put an index into the set, or take it out; how many the set then has.

    Parameters
    ----------
    members
        The set's indices, in any order, in the first `count` places.
    place
        Place of each index in `members`, −1 if it is not in the set.
    count
        How many the set has.
    index, past
        Which index; the set is to have it if `past` is above 0.
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
