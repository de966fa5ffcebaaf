"""Make the changes of an alternative, and check the instance that comes of them."""

from __future__ import annotations

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.model import check_instance
from rarmodel.schema import Instance
from rarmodel.sound_records import sound_instance

from .grammar import Alternative, place_of


def changed(instance: Instance, alternative: Alternative) -> Instance:
    """The instance with the changes of an alternative; all else stays as it is.

    Raises
    ------
    InputError
        With every change that cannot be made; or with every problem of the instance that comes of
        them.
    """
    problems, now = list[Problem](), instance
    place = place_of(alternative.label)
    for change in alternative.changes:
        if (apply := change.apply) is None:
            continue
        try:
            now = apply(now)
        except UsageError as error:
            which = f": {change.told}" if len(alternative.changes) > 1 else ""
            problems.append(Problem(f"{place}{which}", str(error)))
    if not problems and now is not instance:
        try:
            now = sound_instance(now)
            check_instance(now)
        except InputError as error:
            problems = [Problem(f"{place}: {one.place}", one.message) for one in error.problems]
    if problems:
        raise InputError(problems, instance.name)
    return now


def stopped_jobs(before: Instance, after: Instance) -> list[str]:
    """Names of jobs that ran at slot 0, and wait after the changes."""
    return [
        one.name
        for one, other in zip(before.jobs, after.jobs, strict=True)
        if one.running is not None and other.running is None
    ]
