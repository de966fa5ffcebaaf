"""Time: slots, their length, and when slot 0 begins (model, sections 3 and 4)."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from rarmodel.duration import duration
from rarmodel.errors import InputError, Problem
from rarmodel.tabular import NONE

from .base import Count, Positive, Record
from .problems import show

EXAMPLE = "2026-03-02T08:00:00+01:00"


def _moment(value: object) -> object:
    if isinstance(value, str):
        with suppress(ValueError):
            return datetime.fromisoformat(value)
    if isinstance(value, datetime):
        return value
    message = f"{show(value)}; a moment in ISO 8601 such as {EXAMPLE} is expected"
    raise InputError([Problem("", message)])


Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    # No "date-time": that format would ask for the distance from UTC.
    WithJsonSchema({"type": "string", "examples": [EXAMPLE]}),
]
"""A date and time of day in ISO 8601, with or without the offset from UTC."""


class SlotTime(Record):
    """Converts slots to seconds and clock times."""

    slot_seconds: Positive
    """Length of a slot in seconds."""

    origin: Moment | None = None
    """When slot 0 begins, in ISO 8601."""

    def seconds(self, slots: float) -> float:
        """Length of this many slots in seconds."""
        return slots * self.slot_seconds

    def moment(self, slot: int) -> datetime | None:
        """The time at which a slot begins; None without an origin, or past the year 9999."""
        if self.origin is None:
            return None
        try:
            return self.origin + timedelta(seconds=self.seconds(slot))
        except OverflowError:
            return None

    def told(self, slots: float | None, *notes: str, form: str = "") -> str:
        """A number of slots with its length: `273 slots (4 h 33 min)`."""
        if slots is None:
            return NONE
        by_clock = "; ".join([duration(self.seconds(slots)), *notes])
        return f"{slots:{form}} slot{'s' * (slots != 1)} ({by_clock})"

    def end(self, makespan: int | None) -> datetime | None:
        """The time at which a schedule with this makespan ends; None if `moment` is None."""
        return None if makespan is None else self.moment(makespan)

    def by_clock(self, makespan: int | None) -> dict[str, Any]:
        """A makespan in seconds and clock time, as plain data."""
        end = self.end(makespan)
        return {
            "slot_seconds": self.slot_seconds,
            "makespan_seconds": None if makespan is None else self.seconds(makespan),
            "end": None if end is None else end.isoformat(),
        }


class Time(SlotTime):
    """The division of time into slots."""

    horizon: Count | None = None
    """Number of slots, T: a schedule whose makespan exceeds it is infeasible. Without it no
    schedule is too long."""
