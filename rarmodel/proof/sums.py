"""What a search for small sums works on: the terms of the jobs, and the path to a node."""

from __future__ import annotations

from typing import NamedTuple

from rarmodel.engine.arrays import Ints

from .ring_worths import Worths


class Sums(NamedTuple):
    """What completions cost, and what is known of the states on the path to the current node."""

    horizon: int
    """All jobs complete by this slot."""
    shape: int
    """Shape of the terms."""
    weight: Ints
    """(jobs) Weight of the term; 0 if the job does not count."""
    offset: Ints
    """(jobs) Offset of the term."""
    worths: Worths
    """Worths of jobs and of slots."""
    end: Ints
    """(jobs + 1, jobs) When started jobs complete if no more start."""
    since: Ints
    """(jobs + 1, options) The slot since which an option is idle, and its job is released."""
    head: Ints
    """(jobs) Scratch: when a waiting job starts at the earliest."""
    soonest: Ints
    """(jobs) Scratch: when it completes at the earliest."""
    order: Ints
    """(jobs) Scratch: running jobs by completion."""
    idle: Ints
    """(servers, GPUs + 1) Scratch: when so many GPUs are idle at the earliest."""
    counted: Ints
    """(jobs) Scratch: 1 for jobs of a sum."""
    rest: Ints
    """(jobs) Scratch: worth of them that is not done yet."""
    busy: Ints
    """(jobs) Scratch: worth that is done, times twice the time in the middle of its slot."""
