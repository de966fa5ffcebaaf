"""Proofs that no schedule is as short as a target.

What decides this, cheap things first:

- `rarmodel.bounds.configurations`: for all jobs, and with each job in each class of its placements.
- `depth_first`: rarmodel's own exhaustive search, with prices of that bound.
- `timetable`: constraint programming with every start and placement.
- `refutation`: branching on the classes of jobs, with all of these.
"""

from .refutation import Outcome, Refutation
from .verdict import Plan

__all__ = ["Outcome", "Plan", "Refutation"]
