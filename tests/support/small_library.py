"""A small library of random instances, with schedules of a heuristic."""

from __future__ import annotations

from functools import cache
from typing import Any

import rarmodel
from rarmodel.instances import Family, Generated, Known, Library, Listed, entries
from rarmodel.library import improve
from rarmodel.model import instance_digest
from rarmodel.schema import Instance, Schedule

SEEDS = (5, 2)
FIRST = "small-5"


def instance_of(seed: int) -> Instance:
    return rarmodel.generate("small", seed=seed, name=f"small-{seed}")


def solved(seed: int, method: str = "random", **options: Any) -> Schedule:
    schedule = rarmodel.solve(instance_of(seed), method=method, **options).schedule
    assert schedule is not None
    return schedule


@cache
def searched() -> Schedule:
    """An optimal schedule of the first instance, with what the search has proven of it."""
    return solved(5, "search", iterations=60, threads=1)


def unsolved() -> Library:
    """The library before anything is known."""
    listed = tuple(
        Listed(name=f"small-{seed}", seed=seed, sha256=instance_digest(instance_of(seed)))
        for seed in SEEDS
    )
    family = Family(
        name="small",
        description="Small instances.",
        generate=Generated(family="small"),
        instances=listed,
    )
    return Library(schema_version=1, families=(family,))


@cache
def small_library() -> Library:
    """The library with a schedule at random for each instance."""
    schedules = {f"{seed}.json": solved(seed).model_copy(update={"bound": None}) for seed in SEEDS}
    return improve(unsolved(), schedules).library


def known_of(library: Library, name: str = FIRST) -> Known:
    """What a library knows of the makespan of an instance."""
    (known,) = next(listed.known for _, _, listed in entries(library) if listed.name == name)
    return known
