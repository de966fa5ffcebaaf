"""Slots of an instance for moments and lengths of time that Slurm tells."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from .slurm_jobs import SlurmJob


class SlotTimes(NamedTuple):
    """Slots for moments and lengths of time.

    Attributes
    ----------
    origin, now
        When slot 0 begins, and the moment of the reading.
    slot_seconds
        Length of a slot in seconds.
    default_seconds
        Duration of a job about which nothing is known.
    """

    origin: datetime
    now: datetime
    slot_seconds: float
    default_seconds: float

    def slots(self, seconds: float) -> int:
        """Slots that have so many seconds."""
        return math.ceil(round(seconds / self.slot_seconds, 6))

    def at(self, moment: datetime) -> int:
        """The first slot that begins no earlier."""
        return self.slots((moment - self.origin).total_seconds())

    def since_origin(self, moment: datetime) -> float:
        """Slots from the first one to a moment, not rounded."""
        return (moment - self.origin) / timedelta(seconds=self.slot_seconds)

    def release(self, job: SlurmJob) -> int:
        """When it was submitted; or when it may start, if its user or Slurm says that it waits."""
        eligible = job.moment("EligibleTime")
        if job.state == "PENDING" and eligible is not None and eligible > self.now:
            return self.at(eligible)
        submitted = job.moment("SubmitTime")
        return 0 if submitted is None else self.at(submitted)

    def held_until(self, job: SlurmJob | None) -> int:
        """The slot by which a job outside of the instance ends; None is one that nobody sees."""
        end = None if job is None else job.moment("EndTime")
        if end is None:
            end = self.now + timedelta(seconds=self.default_seconds)
        return max(self.at(end), self.at(self.now) + 1, 1)
