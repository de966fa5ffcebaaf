"""Orders and schedules as users' parts return them: refused in one line unless they make sense."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import isnan
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from rarmodel.culprits import shown
from rarmodel.errors import InputError, PartError, listed
from rarmodel.schema import Instance, Schedule
from rarmodel.sound_records import sound_schedule

if TYPE_CHECKING:
    from rarmodel.engine.arrays import Ints


def order_of(
    order: object, jobs: int, name: Callable[[int], str], what: str, *, whole: bool = True
) -> Ints:
    """An order of jobs as an array, if it names jobs by whole numbers from 0 on, each once.

    Parameters
    ----------
    order
        What a part returned.
    jobs
        Number of jobs.
    name
        Gives the name of a job by its number.
    what
        Whose order it is, for messages: `the order of method 'x'`.
    whole
        Whether it must name every job.

    Raises
    ------
    PartError
        With the first number that is none, or that is missing.
    """
    numbers = whole_numbers(order, what)
    outside = numbers[(numbers < 0) | (numbers >= jobs)]
    if len(outside):
        raise PartError(f"{what} has {outside[0]}; jobs are numbered 0 to {jobs - 1}")
    counts = np.bincount(numbers, minlength=jobs)
    if twice := np.flatnonzero(counts > 1).tolist():
        raise PartError(f"{what} has {twice[0]}, job {name(twice[0])!r}, more than once")
    if whole and (absent := np.flatnonzero(counts == 0).tolist()):
        raise PartError(f"{what} leaves out {listed([name(j) for j in absent])}")
    return numbers


def whole_numbers(values: object, what: str, count: int | None = None) -> Ints:
    """A row of whole numbers as an array, if they are such; perhaps of a certain length.

    Raises
    ------
    PartError
        With the first value that is none.
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "i":
        found = values.astype(np.int64, copy=False)  # There may be many, and often.
    else:
        found = np.array(_each_whole(values, what), np.int64)
    if count is not None and len(found) != count:
        raise PartError(f"{what} has {len(found)} numbers; {count} are expected, one for each job")
    return found


def _each_whole(values: Any, what: str) -> list[int]:
    try:
        given = list(values)
    except TypeError:
        raise PartError(f"{what} is {shown(values)}; whole numbers are expected") from None
    for value in given:
        if not is_whole(value):
            raise PartError(f"{what} has {shown(value)}; whole numbers are expected")
    return [int(value) for value in given]


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, also as a float: 2.0 is one, True is none."""
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, Integral):
        return -(2**63) <= int(value) < 2**63
    return isinstance(value, Real) and float(value).is_integer() and abs(float(value)) < 2**53


def is_number(value: Any) -> bool:
    """Whether a value is a number by which jobs can be sorted."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Real) and not isnan(value)


def returned_schedule(schedule: object, what: str) -> Schedule:
    """A schedule that a part returned, if it is one: slots and GPUs are whole numbers.

    Whether constraints are kept is the verifier's question.

    Raises
    ------
    PartError
        With the first fault.
    """
    if not isinstance(schedule, Schedule):
        raise PartError(f"{what} returned {shown(schedule)}, and no Schedule")
    try:
        return sound_schedule(schedule)
    except InputError as error:
        raise PartError(f"{what} returned a schedule with faults: {error.lines()[0]}") from error


def require_each_job(instance: Instance, schedule: Schedule, what: str) -> None:
    """Refuse a schedule in which a job is missing, is there twice, or is unknown.

    Raises
    ------
    PartError
        With the jobs.
    """
    counts = Counter(assignment.job for assignment in schedule.assignments)
    names = {job.name for job in instance.jobs}
    for some, fault in (
        ([name for name, count in counts.items() if count > 1], "has more than one assignment of"),
        ([name for name in names if name not in counts], "leaves out"),
        ([name for name in counts if name not in names], "has jobs that the instance lacks:"),
    ):
        if some:
            raise PartError(f"{what} returned a schedule that {fault} {listed(sorted(some))}")
