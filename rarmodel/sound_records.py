"""Check records in memory: `model_copy` and `model_construct` of pydantic check nothing.

What was read from a file is sound, and is remembered as such. So a record is checked at most once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TypeVar
from weakref import ref

from pydantic import TypeAdapter, ValidationError

from .argument_checks import plain
from .errors import InputError, Problem
from .schema import Instance, Schedule
from .schema.base import Record
from .schema.instance import Objectives
from .schema.problems import place_of, problems_of

_R = TypeVar("_R", bound=Record)
_OBJECTIVES: TypeAdapter[Objectives] = TypeAdapter(Objectives)

_checked: dict[int, ref[Record]] = {}
"""Records that were found sound, by `id`: they never change."""


def sound_instance(instance: Instance) -> Instance:
    """The instance, with all its fields checked: `model_copy` and `model_construct` check nothing.

    Raises
    ------
    InputError
        With every problem.
    """
    return sound(instance)


def sound_schedule(schedule: Schedule) -> Schedule:
    """The same of a schedule."""
    return sound(schedule)


def sound(record: _R) -> _R:
    """The same of any record."""
    if (known := _checked.get(id(record))) is not None and known() is record:
        return record
    try:
        data = plain(record)
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        problem = Problem("", f"not made of numbers, texts and lists: {error}")
        raise InputError([problem], _title(record)) from error
    kept = {}
    if isinstance(record, Instance):  # One in memory may have an objective by its path.
        with suppress(ValidationError):
            kept = {"objective": _OBJECTIVES.validate_python(data.get("objective", "makespan"))}
    try:
        found = type(record).model_validate(data | dict.fromkeys(kept, "makespan"))
    except ValidationError as error:
        raise InputError(problems_of(error), _title(record)) from error
    if "objective" in data:
        found = found.model_copy(update=kept)
    if _same(record, found):
        return remembered(record)
    if strays := list(_strays(record)):
        raise InputError(strays, _title(record))
    return remembered(found)


def remembered(record: _R) -> _R:
    """The record, known to be sound for as long as it lives."""
    key = id(record)

    def forget(gone: ref[Record]) -> None:
        if _checked.get(key) is gone:  # The number may be another record's by now.
            del _checked[key]

    _checked[key] = ref(record, forget)
    return record


def _strays(record: Record, place: tuple[int | str, ...] = ()) -> Iterator[Problem]:
    """Fields that `model_copy` has added, and that no such record has."""
    for name, value in vars(record).items():
        at = (*place, name)
        if name not in type(record).model_fields:
            yield Problem(place_of(at), "unknown field; remove it or correct its name")
        elif isinstance(value, Record):
            yield from _strays(value, at)
        elif isinstance(value, tuple) and value and isinstance(value[0], Record):
            for i, one in enumerate(value):
                if isinstance(one, Record):
                    yield from _strays(one, (*at, i))


def _title(record: Record) -> str:
    return str(getattr(record, "name", ""))


def _same(one: object, other: object) -> bool:
    """Whether two values are equal and of the same types, also inside."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Record):
        return _same(vars(one), vars(other))
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(
            key in other and _same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other
