"""Windows of submission time: dates, or hours and days from the start of the trace."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

from rarmodel.errors import UsageError

from .table_cells import Moment
from .zones import date_of, zone_of

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Window(NamedTuple):
    """A window: from its first moment until before its last, in seconds of the trace."""

    first: float
    last: float


class Asked(NamedTuple):
    """A window as the user asks for it.

    Attributes
    ----------
    text
        The user's text.
    first, last
        Dates, or seconds from the earliest submission; None for an open end.
    """

    text: str
    first: datetime | float | None
    last: datetime | float | None

    @property
    def dates(self) -> list[datetime]:
        """The ends that are dates."""
        return [end for end in (self.first, self.last) if isinstance(end, datetime)]


def parse_window(text: str) -> Asked:
    """Parse a window `A..B`; either end may be left open.

    Raises
    ------
    UsageError
        If the text is not a window.
    """
    first, dots, last = text.partition("..")
    try:
        asked = Asked(text, _end(first.strip()), _end(last.strip()))
    except ValueError:
        asked = Asked(text, None, None)
    ends = [end for end in (asked.first, asked.last) if end is not None]
    if not dots or not ends:
        raise UsageError(
            f"window {text!r}: two dates such as 2017-10-03..2017-10-10, or times from the "
            "start of the trace such as 0h..24h are expected"
        )
    if 0 < len(asked.dates) < len(ends):
        raise UsageError(f"window {text!r}: a date and a time from the start; give two of a kind")
    if len({date.tzinfo is None for date in asked.dates}) > 1:
        raise UsageError(f"window {text!r}: one end has a time zone; give a zone to both or none")
    seconds = [_plain(end) for end in ends]
    if len(ends) > 1 and seconds[0] >= seconds[1]:
        raise UsageError(f"window {text!r}: it ends before it begins")
    return asked


def absolute(asked: Asked, submissions: Sequence[Moment], stated: tzinfo | None) -> Window:
    """The window in seconds of the trace; dates without a zone are in the zone of the trace.

    Parameters
    ----------
    asked
        The window.
    submissions
        When the jobs of the trace were submitted; if they have zones, all have one.
    stated
        The zone that the user states.

    Raises
    ------
    UsageError
        If the window has dates and the trace has none, only one of both has a zone, or the trace
        has several.
    """
    ends = (asked.first, asked.last)
    if not asked.dates:
        start = min((moment.seconds for moment in submissions), default=0.0)
        low, high = (None if end is None else start + _plain(end) for end in ends)
    else:
        if not any(moment.is_date for moment in submissions):
            raise UsageError("the trace has no dates; give a window such as 0h..24h")
        zone = _zone(asked, submissions, stated)
        low, high = (_in_zone(end, zone) for end in ends)
    return Window(-math.inf if low is None else low, math.inf if high is None else high)


def extent(first: Moment, last: Moment, zone: tzinfo | None) -> str:
    """The extent of a trace in the form of a window: two dates, or hours from its start.

    Dates are in this zone, or else in their own; without a zone if they have none.
    """
    if not first.is_date:
        return f"0h to {(last.seconds - first.seconds) / _UNITS['h']:.1f}h"
    return f"{_minutes(first, zone)} to {_minutes(last, zone)}"


def _end(text: str) -> datetime | float | None:
    if not text:
        return None
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text):
        return float(found[1]) * _UNITS[found[2]]
    return datetime.fromisoformat(text)


def _plain(end: datetime | float) -> float:
    """Seconds of an end; a date without a zone is taken as it stands."""
    if not isinstance(end, datetime):
        return end
    return (end if end.tzinfo else end.replace(tzinfo=UTC)).timestamp()


def _in_zone(end: datetime | float | None, zone: tzinfo | None) -> float | None:
    """Seconds of an end; a date without a zone is in this one."""
    if isinstance(end, datetime) and end.tzinfo is None and zone is not None:
        end = end.replace(tzinfo=zone)
    return None if end is None else _plain(end)


def _zone(asked: Asked, submissions: Sequence[Moment], stated: tzinfo | None) -> tzinfo | None:
    """The zone of the ends that have none; None if the trace has none either."""
    own = asked.dates[0].tzinfo is not None
    zoned = submissions[0].zoned
    if own and not zoned:
        message = "the trace's dates have no time zone; leave out that of the window, or give both"
        raise UsageError(f"window {asked.text!r}: {message}, with --time-zone for the trace")
    zone = zone_of(submissions, stated)
    if zoned and not own and zone is None:
        offsets = sorted({moment.offset for moment in submissions if moment.offset is not None})
        names = [str(timezone(timedelta(seconds=offset))) for offset in offsets]
        message = f"the trace has dates in {len(names)} time zones ({', '.join(names[:8])})"
        cure = "give the window's ends with one, such as 2017-10-03T00:00+01:00, or --time-zone"
        raise UsageError(f"window {asked.text!r}: {message}; {cure}")
    return zone


def _minutes(moment: Moment, zone: tzinfo | None) -> str:
    try:
        return date_of(moment, zone).isoformat(timespec="minutes")
    except OverflowError:  # Before the year 1 or after 9999.
        return f"{moment.seconds:.10g} s from 1970"
