"""Sources of instances, schedules and data: memory, files, standard input, the bundle."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rarmodel import registry
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import (
    STANDARD_INPUT,
    YAML,
    may_exist,
    read_data,
    read_instance,
    read_schedule,
)
from rarmodel.instances import EXAMPLES, names
from rarmodel.model import check_instance
from rarmodel.model.objectives import objective as find_objective
from rarmodel.schema import Instance, Schedule

Source = Instance | str | os.PathLike[str]
Data = Mapping[str, Any] | str | os.PathLike[str]
ScheduleSource = Schedule | str | os.PathLike[str]
Schedules = ScheduleSource | Iterable[ScheduleSource]


def load_instance(source: Source) -> Instance:
    """Load an instance from a file, from standard input (`-`), or from the bundle, by name.

    Raises
    ------
    InputError
        With every problem of the input.
    """
    if isinstance(source, Instance):
        check_instance(source, source.name)
        return source
    if source != STANDARD_INPUT and isinstance(source, str) and not may_exist(source):
        if source in names():
            from rarmodel.workloads.bundled import bundled_instance  # noqa: PLC0415 - few need it

            return bundled_instance(source)
        hint = _meant(source)
        if not source.endswith((".json", *YAML)):
            examples = ", ".join(names(EXAMPLES))
            message = f"neither a file nor a bundled instance; bundled are {examples}"
            others = "and those of `rarmodel instances --family`"
            raise InputError([Problem("", f"{message}, {others}{hint}")], source)
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
    names = [objective] if isinstance(objective, str) else list(objective)
    if not names:
        raise UsageError("objective: name at least one")
    for i, name in enumerate(names):
        find_objective(name)
        if name in names[:i]:
            raise UsageError(f"objective {name!r} is named twice")
    return instance.model_copy(update={"objective": names[0] if len(names) == 1 else tuple(names)})


def entries_of(data: Data | None) -> Mapping[str, Any]:
    """The named entries of the given data."""
    if data is None or isinstance(data, Mapping):
        return data or {}
    return read_data(data)


def load_schedule(source: ScheduleSource) -> Schedule:
    """Load a schedule from a file or from standard input (`-`), or return it unchanged.

    Raises
    ------
    InputError
        With every problem of the input.
    """
    return source if isinstance(source, Schedule) else read_schedule(source)


def load_schedules(sources: Schedules) -> list[Schedule]:
    """Load one or several schedules, each as `load_schedule` does."""
    if isinstance(sources, Schedule | str | os.PathLike):
        sources = [sources]
    return [load_schedule(source) for source in sources]
