"""A set of indices with constant-time insert, remove and random choice."""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled


@partial(compiled, inner=True)
def noted(late: Ints, late_at: Ints, count: int, one: int, past: float) -> int:
    """Record whether an index belongs to the set; return the new size of the set.

    Parameters
    ----------
    late
        The members of the set, in any order.
    late_at
        Place of each index in `late`, −1 if it is not a member.
    count
        Size of the set before.
    one, past
        The index, and by how much it misses the target now; it is a member if this is above 0.
    """
    place = late_at[one]
    if past > 0 and place < 0:
        late_at[one] = count
        late[count] = one
        return count + 1
    if past <= 0 and place >= 0:
        last = late[count - 1]
        late[place] = last
        late_at[last] = place
        late_at[one] = -1
        return count - 1
    return count
