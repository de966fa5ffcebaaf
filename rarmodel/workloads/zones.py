"""Time zones: the one that the user states, and the one in which a trace's dates are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from rarmodel.errors import UsageError

from .table_cells import Moment

_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")


def parse_zone(text: str) -> tzinfo:
    """A zone from an offset such as `+08:00`, or from a name such as `Asia/Shanghai`.

    Raises
    ------
    UsageError
        If there is no such zone.
    """
    if text in {"UTC", "Z"}:
        return UTC
    found = _OFFSET.fullmatch(text)
    if found and int(found[2]) < 24 and int(found[3]) < 60:
        offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
        return timezone(-offset if found[1] == "-" else offset)
    try:
        # Names of folders of the data base and paths outside of it raise OSError or ValueError.
        return ZoneInfo(text)
    except (KeyError, OSError, ValueError):
        message = "an offset such as +08:00 or a name such as Asia/Shanghai is expected"
        raise UsageError(f"time zone {text!r}: {message}") from None


def zone_of(moments: Iterable[Moment], stated: tzinfo | None) -> tzinfo | None:
    """The zone of a trace: the stated one, or that of all its dates.

    None if its dates have no zone or several.
    """
    offsets = {moment.offset for moment in moments if moment.is_date}
    if stated is not None and offsets and None not in offsets:
        return stated
    (only,) = offsets if len(offsets) == 1 else (None,)
    return None if only is None else timezone(timedelta(seconds=only))


def date_of(moment: Moment, zone: tzinfo | None) -> datetime:
    """A moment as a date: in a zone, or else in its own; without a zone if it has none itself.

    Raises
    ------
    OverflowError
        If it is before the year 1 or after 9999.
    """
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    if zone is not None and moment.offset is not None:
        return (zero + timedelta(seconds=moment.seconds)).astimezone(zone)
    offset = timedelta(seconds=moment.offset or 0)
    date = zero.replace(tzinfo=None) + timedelta(seconds=moment.seconds + (moment.offset or 0))
    return date if moment.offset is None else date.replace(tzinfo=timezone(offset))
