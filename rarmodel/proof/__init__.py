"""All exhaustive search: proofs that no schedule is as short as a target, or has as small a sum.

What decides about a length, cheap things first:

- `rarmodel.bounds.configurations`: for all jobs, and with each job in each class of its placements.
- `depth_first`: rarmodel's own exhaustive search, with prices of that bound.
- `timetable`: constraint programming with every start and placement.
- `refutation`: branching on the classes of jobs, with all of these.

`sum_search` decides about sums of terms, by the same steps in time. Of tiny instances,
`enumeration` tries every schedule for any target between bound and makespan, for `search`, and
`all_schedules` lists them all.
"""

from .refutation import Outcome, Refutation
from .verdict import Plan

__all__ = ["Outcome", "Plan", "Refutation"]
