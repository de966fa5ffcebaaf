"""Read a library and schedules, and write instances and schedules to a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from rarmodel import registry
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import read_record, read_schedule, to_json, unusable, write_text
from rarmodel.instances import Library, bundled_library, entries
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import ProvenBound, Schedule
from rarmodel.workloads.bundled import listed_instance

from .library_schedules import expanded

PathLike = str | os.PathLike[str]


def read_library(source: PathLike | None = None) -> Library:
    """Read a library from a file, or take the bundled one.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    return bundled_library() if source is None else read_record(Library, source)


def read_schedules(sources: Iterable[PathLike]) -> dict[str, Schedule]:
    """Read schedules from files, and from folders all files that end in `.json`.

    Raises
    ------
    InputError
        With every problem of every file, and every folder without such a file.
    """
    problems = []
    found = {}
    for source in map(Path, sources):
        paths = sorted(source.glob("*.json")) if source.is_dir() else [source]
        if not paths:
            message = "no *.json in this folder; the schedules of a campaign are in schedules/"
            problems.append(Problem(str(source), message))
        for path in paths:
            try:
                found[str(path)] = read_schedule(path)
            except InputError as error:
                problems += [Problem("", line) for line in error.lines()]
    if problems:
        raise InputError(problems)
    return found


def write_instances(
    library: Library, folder: PathLike, family: str | None = None, *, schedules: bool = False
) -> int:
    """Write instances as files, `NAME.json`, for other solvers.

    Parameters
    ----------
    library
        The library.
    folder
        Where to write; made if it does not exist.
    family
        Write only the instances of this family; by default all.
    schedules
        Also write the best makespan's schedule of each, with its bound, as `NAME.schedule.json`.

    Returns
    -------
    int
        The number of instances.

    Raises
    ------
    UsageError
        If there is no such family.
    InputError
        If a file cannot be written.
    """
    names = [one.name for one in library.families]
    if family is not None and family not in names:
        hint = registry.meant(family, names)
        raise UsageError(f"no family {family!r}; choose one of {', '.join(names)}{hint}")
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise unusable(error, str(folder), "cannot be made") from error
    chosen = [one for one in entries(library) if family in {None, one[1].name}]
    for _, of, listed in chosen:
        instance = listed_instance(of, listed)
        write_text(target / f"{listed.name}.json", to_json(instance))
        for known in listed.known if schedules else ():
            if known.objective == MAKESPAN.name:
                slots = int(known.bound.exact)
                bound = ProvenBound(slots=slots, name=known.bound.by, instance_sha256=listed.sha256)
                schedule = expanded(instance, known).model_copy(update={"bound": bound})
                write_text(target / f"{listed.name}.schedule.json", to_json(schedule))
    return len(chosen)
