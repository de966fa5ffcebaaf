"""Reservations: GPUs of a server that are away between two slots, two moments, or every day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from math import ceil, floor
from typing import NamedTuple

from rarmodel import registry
from rarmodel.argument_checks import shown
from rarmodel.errors import UsageError, listed
from rarmodel.model import horizon_of
from rarmodel.schema import Instance
from rarmodel.schema.cluster import Reservation, Server

from .amounts import whole_of
from .network import with_cluster

ALL = "all"
"""The word for all GPUs of a server, and for all servers."""
MOST = 100_000
"""Most reservations that a change may add: more come of a horizon that nobody has thought of."""
FORM = "s0:8@0..600, s0:all@2026-03-02T08:00..2026-03-02T20:00 or s0:8@08:00..20:00 (every day)"


class _Span(NamedTuple):
    start: int
    end: int | None


def reserve(instance: Instance, _: str, text: str) -> Instance:
    """The instance with one more reservation, such as `s0:8@0..600`.

    The server and the GPUs may be `all`. Two clock times are of each day up to the horizon. A slot
    that is reserved in part is reserved.

    Raises
    ------
    UsageError
        If the text is malformed, names no server, or names moments of an instance without origin.
    """
    whose, at, span = text.partition("@")
    name, colon, gpus = whose.rpartition(":")
    begin, dots, end = span.partition("..")
    if not (at and colon and dots and name and begin):
        raise UsageError(f"{shown(text)}; {FORM} is expected")
    servers = _servers(instance, name)
    number = None if gpus == ALL else whole_of(gpus)
    spans = list(_spans(instance, begin, end))
    if not spans:
        raise UsageError(f"{shown(span)} is before slot 0")
    if len(spans) * len(servers) > MOST:
        raise UsageError(
            f"{len(spans) * len(servers):,} reservations up to the horizon, slot "
            f"{horizon_of(instance):,}; give the instance a smaller time.horizon"
        )
    new = [
        Reservation.model_validate(
            {
                "server": server.name,
                "gpus": server.gpus if number is None else number,
                "from": one.start,
                "to": one.end,
            }
        )
        for server in servers
        for one in spans
    ]
    return with_cluster(instance, reservations=(*instance.cluster.reservations, *new))


def _servers(instance: Instance, name: str) -> list[Server]:
    servers = instance.cluster.servers
    if name == ALL:
        return list(servers)
    if found := [server for server in servers if server.name == name]:
        return found
    names = [server.name for server in servers]
    meant = registry.meant(name, names)
    raise UsageError(f"no server {shown(name)}; there are {listed(names)}{meant}")


def _spans(instance: Instance, begin: str, end: str) -> Iterator[_Span]:
    """From and to, in slots; of each day, if they are times of day."""
    if begin.isdecimal():
        start = whole_of(begin, 0)
        until = whole_of(end, start + 1) if end else None
        yield _Span(start, until)
        return
    if (first := _time(begin)) is not None:
        last = _time(end)
        if last is None:
            raise UsageError(f"{shown(end)}; a time of day such as 20:00 is expected")
        yield from _daily(instance, first, last)
        return
    since, until_moment = _moment(instance, begin), _moment(instance, end) if end else None
    if until_moment is not None and until_moment <= since:
        raise UsageError(f"{shown(end)}; it must be after {begin}")
    yield from _clipped(instance, since, until_moment)


def _daily(instance: Instance, first: time, last: time) -> Iterator[_Span]:
    """The same hours of each day, over midnight if the last is no later than the first."""
    origin = _origin(instance)
    day, over = origin.date() - timedelta(days=1), timedelta(days=last <= first)
    horizon = horizon_of(instance)
    for _ in range(MOST + 2):
        with suppress(OverflowError):
            spans = list(_clipped(instance, _at(day, first, origin), _at(day + over, last, origin)))
            if spans and spans[0].start >= horizon:
                return
            yield from spans
            day += timedelta(days=1)


def _at(day: date, hour: time, origin: datetime) -> datetime:
    return datetime.combine(day, hour, origin.tzinfo)


def _clipped(instance: Instance, begin: datetime, end: datetime | None) -> Iterator[_Span]:
    """The slots between two moments, from slot 0 on; nothing if they are before it."""
    origin, length = _origin(instance), instance.time.slot_seconds
    start = max(0, floor((begin - origin).total_seconds() / length))
    until = None if end is None else ceil((end - origin).total_seconds() / length)
    if until is None or until > start:
        yield _Span(start, until)


def _origin(instance: Instance) -> datetime:
    if instance.time.origin is None:
        raise UsageError(
            "clock times need time.origin, which says when slot 0 begins; give slots, as in 0..600"
        )
    return instance.time.origin


def _time(text: str) -> time | None:
    """A time of day; None if the text is none."""
    with suppress(ValueError):
        if ":" in text and "-" not in text and "T" not in text:
            return time.fromisoformat(text)
    return None


def _moment(instance: Instance, text: str) -> datetime:
    """A date and time; without an offset from UTC, it has that of slot 0."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"{shown(text)}; {FORM} is expected") from None
    zone = _origin(instance).tzinfo
    if moment.tzinfo is None:
        return moment.replace(tzinfo=zone)
    if zone is None:
        raise UsageError(f"{shown(text)}; time.origin has no offset from UTC, so leave it out here")
    return moment
