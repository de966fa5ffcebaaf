"""Method `proof`: `search`, and then a proof that nothing is shorter.

The target is the lower bound. Either no schedule is that short, and the bound rises by a slot; or a
schedule is found, and it is optimal. What decides this, cheap things first:

- `classes`: the configuration bound, for all jobs and with each job in one class of placements. A
  class in which a job cannot be is left out.
- `timetable`: once the classes are few, constraint programming with every start and placement.
- `refutation`: branching on the classes of a job where that takes too long.
"""

from .method import PROOF

__all__ = ["PROOF"]
