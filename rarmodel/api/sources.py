"""Sources of instances, schedules and data: memory, files, standard input, the bundle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rarmodel import registry
from rarmodel.argument_checks import checked, expected, optional, require, shown, whole
from rarmodel.argument_checks import names as names_given
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import (
    STANDARD_INPUT,
    YAML,
    hides,
    may_exist,
    parse_instance,
    parse_schedule,
    read_data,
    read_instance,
    read_schedule,
)
from rarmodel.instances import names
from rarmodel.model import check_instance
from rarmodel.model.objectives import objective as find_objective
from rarmodel.schema import Instance, Schedule
from rarmodel.schema.base import MAX_INTEGER
from rarmodel.sound_records import sound_instance, sound_schedule

Source = Instance | Mapping[str, Any] | str | os.PathLike[str]
Data = Mapping[str, Any] | str | os.PathLike[str]
Starting = Schedule | Mapping[str, Any] | str | os.PathLike[str] | Any
"""A schedule, its source, a Pyomo model with values, or the values by names."""
Starts = Starting | Sequence[Starting | None]
"""One start, or one for each of several instances."""
ScheduleSource = Schedule | Mapping[str, Any] | str | os.PathLike[str]
Schedules = ScheduleSource | Iterable[ScheduleSource]

IS_INSTANCE = expected(
    "an instance, a dict, a file's name or the name of a bundled instance", Instance, Mapping
)
IS_HORIZON = optional(whole(1, MAX_INTEGER))
IS_DATA = optional(expected("a dict or a file's name", Mapping))


def is_schedule(value: object) -> str | None:
    """What keeps a value from being a schedule or the source of one."""
    if isinstance(getattr(value, "schedule", None), Schedule):
        return "a schedule is expected; give its `.schedule`"
    return expected("a schedule, a dict or a file's name", Schedule, Mapping)(value)


def is_start(value: object) -> str | None:
    """What keeps a value from being a schedule, its source, or the values of a model."""
    if is_model(value) or is_model(getattr(value, "model", None)):
        return None
    why = is_schedule(value)
    return why and why.replace("a dict or", "the values of a model, a Pyomo model or")


def are_starts(value: object) -> str | None:
    """The same of one start, or a list with one for each instance."""
    if not isinstance(value, list | tuple):
        return is_start(value)
    for i, one in enumerate(value):
        if one is not None and (why := is_start(one)):
            return f"its item {i} is {shown(one)}; {why}"
    return None


def is_model(value: object) -> bool:
    """Whether a value is a Pyomo model, without loading Pyomo."""
    return hasattr(value, "component_data_objects")


def are_instances(value: object) -> str | None:
    """What keeps a value from being an instance or several; each one is checked as it is loaded."""
    single = isinstance(value, bytes) or not isinstance(value, Iterable) or hasattr(value, "read")
    return IS_INSTANCE(value) if single else None


def are_schedules(value: object) -> str | None:
    """The same of schedules."""
    single = isinstance(value, bytes) or not isinstance(value, Iterable) or hasattr(value, "read")
    return is_schedule(value) if single else None


@checked({"source": IS_INSTANCE})
def load_instance(source: Source) -> Instance:
    """Load an instance from a file, from standard input (`-`), or from the bundle, by name.

    A dict has the fields of the file format; its numbers may be NumPy's. An instance is checked,
    too: `model_copy(update=…)` makes a copy that nobody has checked.

    Raises
    ------
    InputError
        With every problem of the input.
    UsageError
        If the source is something else.
    """
    if isinstance(source, Instance):
        sound = sound_instance(source)
        check_instance(sound, sound.name)
        return sound
    if isinstance(source, Mapping):
        return parse_instance(source)
    if source != STANDARD_INPUT and isinstance(source, str) and not hides(source):
        if source in names():
            from rarmodel.workloads.bundled import bundled_instance  # noqa: PLC0415 - few need it

            return bundled_instance(source)
        hint = "" if may_exist(source) else _meant(source)
        if not may_exist(source) and not source.endswith((".json", *YAML)):
            message = "neither a file nor a bundled instance; `rarmodel instances` lists these"
            raise InputError([Problem("", f"{message}{hint}")], source)
        if hint:
            raise InputError(
                [Problem("", f"cannot be read: no such file or directory{hint}")], source
            )
    return read_instance(source)


def _meant(source: str) -> str:
    """The file beside it, or the bundled instance, that was meant by a name, in words."""
    try:
        beside = [path for path in Path(source).parent.iterdir() if path.is_file()]
    except OSError:
        beside = []
    files = {path.name: path for path in beside if path.name.endswith((".json", *YAML))}
    name = Path(source).name
    return registry.meant(name, files) or registry.meant(
        name.removesuffix(".json"), [*names(), *files]
    )


def with_objective(instance: Instance, objective: str | Sequence[str] | None) -> Instance:
    """The instance with another objective, or several, the most important first.

    Raises
    ------
    UsageError
        If there is no objective of a name, or a name comes twice.
    """
    if objective is None:
        return instance
    require({"objective": objective}, {"objective": names_given})
    names = [objective] if isinstance(objective, str) else list(objective)
    if not names:
        raise UsageError("objective: name at least one")
    for i, name in enumerate(names):
        find_objective(name)
        if name in names[:i]:
            raise UsageError(f"objective {name!r} is named twice")
    asked = objective if isinstance(objective, str) else tuple(names)
    return instance.model_copy(update={"objective": asked})


def with_horizon(instance: Instance, horizon: int | None) -> Instance:
    """The instance with another number of slots in which all jobs must complete.

    Raises
    ------
    UsageError
        If the number is no number of slots.
    """
    if horizon is None:
        return instance
    require({"horizon": horizon}, {"horizon": IS_HORIZON})
    time = instance.time.model_copy(update={"horizon": horizon})
    return instance.model_copy(update={"time": time})


def entries_of(data: Data | None) -> Mapping[str, Any]:
    """The named entries of the given data."""
    if data is None or isinstance(data, Mapping):
        return data or {}
    require({"data": data}, {"data": IS_DATA})
    return read_data(data)


@checked({"source": is_schedule})
def load_schedule(source: ScheduleSource) -> Schedule:
    """Load a schedule from a file, from standard input (`-`) or from a dict, or check it.

    Raises
    ------
    InputError
        With every problem of the input.
    UsageError
        If the source is something else.
    """
    if isinstance(source, Schedule):
        return sound_schedule(source)
    return parse_schedule(source) if isinstance(source, Mapping) else read_schedule(source)


def load_schedules(sources: Schedules) -> list[Schedule]:
    """Load one or several schedules, each as `load_schedule` does."""
    require({"schedules": sources}, {"schedules": are_schedules})
    if isinstance(sources, Schedule | Mapping | str | os.PathLike):
        sources = [sources]
    return [load_schedule(source) for source in sources]
