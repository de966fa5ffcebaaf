"""Which methods can be asked for schedules of an instance, whatever its objective."""

from __future__ import annotations

from rarmodel.model import handled, unhandled
from rarmodel.model.features import OBJECTIVES
from rarmodel.schema import Instance


def taken_by(part: object, instance: Instance) -> Instance | None:
    """The instance as a method takes it: with the makespan as objective if it knows no other.

    Its schedules are schedules of the instance all the same. None if it does not take the rest.
    None also where there are services: methods know them as reservations only.
    """
    if instance.services:
        return None
    known = handled(part)
    if unhandled(instance, known, "") is None:
        return instance
    if unhandled(instance, known | {OBJECTIVES.name}, "") is None:
        return instance.model_copy(update={"objective": "makespan"})
    return None
