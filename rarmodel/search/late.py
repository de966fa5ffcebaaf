"""Which of some servers or lanes miss a target, kept so that one of them is drawn at once."""

from __future__ import annotations

from functools import partial

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled


@partial(compiled, inner=True)
def noted(late: Ints, late_at: Ints, count: int, one: int, past: float) -> int:
    """Note whether one of them misses the target; how many do then.

    Parameters
    ----------
    late
        Those that do, in any order.
    late_at
        Place of each in `late`, −1 if it does not miss the target.
    count
        How many did.
    one, past
        Which one, and by how much it misses the target now, if by more than 0.
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
