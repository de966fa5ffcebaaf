"""The schedule to start from: what users give, and what methods and formulations need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

from .sources import Starting, Starts, is_model, load_schedule

if TYPE_CHECKING:
    from rarmodel.exact import Start
    from rarmodel.formulations import Formulation


def starts_of(instances: Sequence[Instance], given: Starts | None) -> list[Starting | None]:
    """What solves of each instance start from: a schedule, or the values of a model.

    Raises
    ------
    UsageError
        If the instances are more or fewer than the starts, or a schedule is not feasible.
    """
    if given is None:
        return [None] * len(instances)
    each = list(given) if isinstance(given, list | tuple) else [given]
    if len(each) != len(instances):
        raise UsageError(
            f"start: {len(each)} for {len(instances)} instances; give one for each, in their order"
        )
    found: list[Starting | None] = []
    for instance, start in zip(instances, each, strict=True):
        if start is None or has_values(start):
            found.append(start)
            continue
        try:
            found.append(feasible(instance, start))
        except UsageError as error:
            raise UsageError(f"{instance.name}: {error}") from error
    return found


def feasible(instance: Instance, start: Starting | None) -> Schedule | None:
    """The schedule to start from, from a method.

    Raises
    ------
    UsageError
        If it breaks a constraint of the instance, or is no schedule.
    """
    if start is None:
        return None
    if has_values(start):
        raise UsageError(
            "start: the values of a model need the formulation of this model; name it, or give a "
            "schedule"
        )
    schedule = load_schedule(start)
    report = verify(instance, schedule)
    if not report.feasible:
        messages = [violation.message for violation in report.violations]
        more = f"; and {len(messages) - 3} more" if len(messages) > 3 else ""
        raise UsageError(f"start: the schedule is not feasible: {'; '.join(messages[:3])}{more}")
    return schedule


def has_values(start: Starting) -> bool:
    """Whether a start has the values of a model."""
    if isinstance(start, Mapping):
        return "assignments" not in start
    return is_model(start) or is_model(getattr(start, "model", None))


def start_of_model(
    instance: Instance, formulation: Formulation, start: Starting | None, data: Mapping[str, Any]
) -> Start | None:
    """The schedule to start from, from a formulation, and values of its model."""
    from rarmodel.exact import Start, start_of_values  # noqa: PLC0415 - loads Numba

    if start is None:
        return None
    if has_values(start):
        values = start if is_model(start) else getattr(start, "model", start)
        return start_of_values(instance, formulation, values, data)
    schedule = feasible(instance, start)
    return None if schedule is None else Start(schedule)
