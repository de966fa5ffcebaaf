"""Submission times as releases: when slot 0 begins, and the slot of each submission."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import NamedTuple

from .table_cells import Moment
from .window import Window
from .zones import date_of

FURTHEST = 10**12
"""Most slots between slot 0 and a submission: more is a mistake, and leaves no room for jobs."""


class Calendar(NamedTuple):
    """Slots of an import.

    Attributes
    ----------
    zero
        When slot 0 begins, in the seconds of the trace.
    slot_seconds
        Length of a slot in seconds.
    origin
        The same moment as a date; None if the trace has none.
    """

    zero: float
    slot_seconds: float
    origin: datetime | None

    def release(self, submitted: Moment | None) -> int:
        """The first slot that begins no earlier than the submission; 0 if it is unknown."""
        if submitted is None:
            return 0
        return math.ceil(round((submitted.seconds - self.zero) / self.slot_seconds, 6))

    def too_far(self, submitted: Moment | None) -> bool:
        """Whether a submission is so far from slot 0 that it is a mistake."""
        return abs(self.release(submitted)) > FURTHEST

    def told(self) -> str:
        """When slot 0 begins, in words."""
        if self.origin is not None:
            return f"slot 0 begins at {self.origin.isoformat()}"
        return f"slot 0 begins at {self.zero:.10g} s of the trace"


def calendar(
    submissions: Sequence[Moment | None],
    window: Window | None,
    slot_seconds: float,
    zone: tzinfo | None,
) -> Calendar:
    """The calendar of these jobs: slot 0 begins with the window, or else with the first submission.

    Parameters
    ----------
    submissions
        When the jobs were submitted.
    window
        The window in seconds of the trace.
    slot_seconds
        Length of a slot in seconds.
    zone
        The zone of the dates; None if they have none or several.
    """
    known = [moment for moment in submissions if moment is not None]
    if not known:
        return Calendar(0.0, slot_seconds, None)
    zero = min(moment.seconds for moment in known)
    if window is not None and window.first > -math.inf:
        zero = window.first
    origin = None
    if known[0].is_date:
        with suppress(OverflowError):  # Before the year 1 or after 9999.
            origin = date_of(known[0]._replace(seconds=zero), zone)
    return Calendar(zero, slot_seconds, origin)
