"""Notice numbers of a trace that its units can hardly mean: milliseconds, percent, wrong columns.

A finding is no error: a trace may be as odd as its numbers. It says what is odd and what to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median

from rarmodel.duration import duration

from .named_columns import TIMES
from .trace_format import Format
from .trace_reader import Trace

_LONG = 7 * 86400.0
"""Seconds that few jobs take: half of all took minutes to hours in every trace we know."""
_WORK = 1000.0
"""GPU hours that few jobs take."""
_SHORT = 60.0
"""Seconds that some job of every trace took longer than."""
_PERCENT = 25
"""A share of a GPU in percent is mostly a multiple of this, and a number of GPUs is not."""
_SPAN = 5 * 365.25 * 86400
"""Seconds from the first submission to the last that no trace of GPUs has."""
_UNIX_MS = 1e11
"""Times from here on are no Unix time in seconds before the year 5000, but one in milliseconds."""

_UNITS = (
    (re.compile(r"(?:^|[^a-z])(?:ms|msecs?|millis|milliseconds?)\W*$"), "ms", "milliseconds"),
    (re.compile(r"(?:^|[^a-z])(?:min|mins|minutes?)\W*$"), "min", "minutes"),
    (re.compile(r"(?:^|[^a-z])(?:h|hrs?|hours?)\W*$"), "h", "hours"),
    (re.compile(r"(?:^|[^a-z])days?\W*$"), "d", "days"),
)
_NO_COUNT = re.compile(r"(?:^|[^a-z])(?:pct|percent|percentage|milli|share|fraction)(?:$|[^a-z])")
"""Names of columns whose numbers are no whole GPUs."""


def findings(trace: Trace) -> tuple[str, ...]:
    """What is odd about the numbers of a trace, a line each."""
    return (*_of_names(trace.format), *_of_numbers(trace))


def _of_names(form: Format) -> Iterator[str]:
    """Columns that the user names, and whose names say another unit than that they are read in."""
    for field, (column, unit) in form.places.items():
        lower = column.lower()
        if field == "gpus" and _NO_COUNT.search(lower):
            yield f"column {column!r} is read as a number of GPUs, and its name says a part of them"
        for pattern, short, word in _UNITS:
            if field in TIMES and unit == 1.0 and pattern.search(lower):
                cure = f"--column {field}={column}:{short} reads {word}"
                yield f"column {column!r} is read in seconds, and its name says {word}; {cure}"


def _of_numbers(trace: Trace) -> Iterator[str]:
    """Durations, numbers of GPUs and times of submission that are odd in most rows."""
    ran = [job for _, job in trace.jobs if job.gpus and job.seconds and not job.unusable]
    if len(ran) > 1:
        seconds = [job.seconds or 0.0 for job in ran]
        middle, longest = median(seconds), max(seconds)
        hours = [job.gpu_hours for job in ran]
        if middle > _LONG or median(hours) > _WORK:
            each = f"{duration(middle)} and {median(hours):.1f} GPU hours"
            told = f"half of {len(ran)} jobs took {each} or more, {sum(hours):.1f} in all"
            yield f"{told}; is the unit of the durations right?{_cure(trace, 'duration', 'ms')}"
        if longest < _SHORT:
            told = f"none of {len(ran)} jobs ran longer than {duration(longest)}"
            yield f"{told}; is the unit of the durations right?{_cure(trace, 'duration', 'h')}"
        percent = sum((job.gpus or 0) % _PERCENT == 0 for job in ran)
        if percent > len(ran) / 2:
            told = f"{percent} of {len(ran)} jobs have a multiple of {_PERCENT} GPUs"
            yield f"{told}; are these GPUs, or percent of one?"
    submissions = [moment.seconds for moment in trace.submissions]
    span = max(submissions, default=0.0) - min(submissions, default=0.0)
    if span > _SPAN or max(submissions, default=0.0) >= _UNIX_MS:
        told = f"{duration(span)} from the first submission to the last"
        told = f"submissions up to {max(submissions):.10g} s, {told}"
        yield f"{told}; is the unit of their times right?{_cure(trace, 'submit', 'ms')}"


def _cure(trace: Trace, field: str, short: str) -> str:
    """How to read a time in another unit."""
    word = next(word for _, unit, word in _UNITS if unit == short)
    places = trace.format.places
    if not places:
        return f" With --column for each field, {field}=COLUMN:{short} reads {word}"
    if field not in places:
        field = "end"
    return f" --column {field}={places[field][0]}:{short} reads {word}" if field in places else ""
