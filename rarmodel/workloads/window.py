"""Windows of submission time: dates, or hours and days from the start of the trace."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import NamedTuple

from rarmodel.errors import UsageError

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


_DATES = (
    datetime.min.replace(tzinfo=UTC).timestamp(),
    datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp(),
)
"""The first and the last possible date, in seconds from the epoch."""


class Window(NamedTuple):
    """A window: from its first moment until before its last.

    Attributes
    ----------
    first, last
        Seconds from the epoch, or from the earliest submission.
    is_date
        Whether the ends are dates.
    """

    first: float
    last: float
    is_date: bool


def parse_window(text: str) -> Window:
    """Parse a window `A..B`; either end may be left open.

    Raises
    ------
    UsageError
        If the text is not a window.
    """
    first, dots, last = text.partition("..")
    ends = [_end(part.strip()) for part in (first, last)]
    kinds = {end[1] for end in ends if end is not None}
    if not dots or not kinds or "" in kinds:
        raise UsageError(
            f"window {text!r}: two dates such as 2017-10-03..2017-10-10, or times from the "
            "start of the trace such as 0h..24h are expected"
        )
    if len(kinds) > 1:
        raise UsageError(f"window {text!r}: a date and a time from the start; give two of a kind")
    low = ends[0][0] if ends[0] else -math.inf
    high = ends[1][0] if ends[1] else math.inf
    if low >= high:
        raise UsageError(f"window {text!r}: it ends before it begins")
    return Window(low, high, kinds == {"date"})


def _end(text: str) -> tuple[float, str] | None:
    """One end in seconds, and its kind (empty if invalid); None if the end is open."""
    if not text:
        return None
    if found := re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text):
        return float(found[1]) * _UNITS[found[2]], "time"
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        return 0.0, ""
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp(), "date"


def extent(first: float, last: float, *, is_date: bool) -> str:
    """The extent of a trace in the form of a window: two dates, or hours from its start."""
    if not is_date:
        return f"0h to {(last - first) / _UNITS['h']:.1f}h"
    ends = (datetime.fromtimestamp(min(max(t, _DATES[0]), _DATES[1]), UTC) for t in (first, last))
    return " to ".join(f"{end:%Y-%m-%dT%H:%M}" for end in ends)
