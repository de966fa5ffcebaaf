"""The library: bundled instances with the best values and bounds known, as a documented file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, JsonValue, StringConstraints, model_validator

from rarmodel.errors import InputError, Problem
from rarmodel.model.objectives import Value, exact
from rarmodel.schema.base import Count, Name, NonNegativeInteger, Record, Version, repeated_names
from rarmodel.schema.problems import show
from rarmodel.schema.schedule import ExactValue

from .catalogue import contents


def _day(value: object) -> object:
    try:
        return date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise InputError(
            [Problem("", f"{show(value)}; a day such as 2026-11-22 is expected")]
        ) from None


Day = Annotated[date, Field(strict=True), BeforeValidator(_day)]
"""A day, written as 2026-11-22."""

FileName = Annotated[str, StringConstraints(strict=True, pattern=r"^\w[\w.+-]*$")]
"""A name without characters that lead a file elsewhere."""

Placed = tuple[NonNegativeInteger, Annotated[dict[Name, Count], Field(min_length=1)]]
"""The start of a job, and its number of GPUs on each server."""


class Recorded(Record):
    """A value or a bound, and where it is from."""

    value: ExactValue
    """The value: a whole number, or a fraction such as `17/3`."""

    by: Name
    """The method that found the schedule, or the name of the bound or the solver that proved it."""

    rarmodel: Name
    """Version of rarmodel that took it into the library, after its checks."""

    date: Day
    """Day on which it was taken."""

    note: Name | None = None
    """A remark, such as a proof by hand."""

    @property
    def exact(self) -> Value:
        """The value as a number to compare."""
        return exact(Fraction(self.value))


class Known(Record):
    """The best schedule and the best bounds known for one objective of an instance."""

    objective: Name
    """Name of the objective."""

    best: Recorded
    """The value of the schedule."""

    bound: Recorded
    """No schedule has less, as rarmodel has proven. The schedule is optimal if both are equal."""

    claimed: Recorded | None = None
    """No schedule has less, as somebody says whose proof rarmodel does not know."""

    schedule: tuple[Placed, ...]
    """Start and GPUs of each job, in the order of the instance's jobs."""

    @property
    def optimal(self) -> bool:
        """Whether the value is proven optimal."""
        return self.bound.exact == self.best.exact

    @model_validator(mode="after")
    def _bounds_are_below_the_value(self) -> Self:
        bounds = {"bound": self.bound, "claimed": self.claimed}
        problems = [
            Problem(
                f"{name}.value", f"{one.value}; it must be at most best.value, {self.best.value}"
            )
            for name, one in bounds.items()
            if one is not None and one.exact > self.best.exact
        ]
        if problems:
            raise InputError(problems)
        return self


class Listed(Record):
    """An instance of the library."""

    name: FileName
    """Unique name of the instance, also of its file."""

    seed: NonNegativeInteger | None = None
    """Seed with which `rarmodel generate` makes it; none where it has a file."""

    sha256: Annotated[str, StringConstraints(strict=True, pattern="^[0-9a-f]{64}$")]
    """Digest of the instance: `rarmodel.model.instance_digest`."""

    known: tuple[Known, ...] = ()
    """Best values and bounds, one entry for each objective."""

    @model_validator(mode="after")
    def _one_entry_for_each_objective(self) -> Self:
        _refuse_repeated("known", "objective", (known.objective for known in self.known))
        return self


class Generated(Record):
    """How `rarmodel generate` makes the instances of a family."""

    family: Name
    """Name of the family of `rarmodel generate`."""

    parameters: dict[Name, JsonValue] = Field(default_factory=dict)
    """Its settings where they are not the family's own."""


class Family(Record):
    """Instances of one kind."""

    name: Name
    """Unique name of the family."""

    description: Name
    """A sentence about its instances."""

    generate: Generated | None = None
    """How to make its instances; none where each has a file."""

    instances: Annotated[tuple[Listed, ...], Field(min_length=1)]
    """The instances."""

    @model_validator(mode="after")
    def _seeds_where_generated(self) -> Self:
        problems = [
            Problem(f"instances[{i}].seed", "missing; instances of a generated family need it")
            if self.generate
            else Problem(f"instances[{i}].seed", "it must not be here: the family has no generate")
            for i, one in enumerate(self.instances)
            if (one.seed is None) == (self.generate is not None)
        ]
        if problems:
            raise InputError(problems)
        return self


class Library(Record):
    """Instances with the best values and bounds known."""

    schema_version: Version
    """Version of the file format."""

    families: Annotated[tuple[Family, ...], Field(min_length=1)]
    """The families, in the order of their listing."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        _refuse_repeated("families", "name", (family.name for family in self.families))
        names = [(place, listed.name) for place, _, listed in entries(self)]
        repeated = repeated_names(name for _, name in names)
        if repeated:
            message = "names another instance too; give each its own"
            raise InputError(
                Problem(f"{names[i][0]}.name", f"{name!r} {message}") for i, name in repeated
            )
        return self


@cache
def bundled_library() -> Library:
    """The library that comes with the package."""
    return Library.model_validate(contents())


def entries(library: Library) -> Iterator[tuple[str, Family, Listed]]:
    """Each instance of a library, with its place in the file and its family."""
    for f, family in enumerate(library.families):
        for i, listed in enumerate(family.instances):
            yield f"families[{f}].instances[{i}]", family, listed


def changed(library: Library, change: Callable[[Listed], Listed]) -> Library:
    """The library after a change of each instance."""
    families = [
        family.model_copy(update={"instances": tuple(map(change, family.instances))})
        for family in library.families
    ]
    return library.model_copy(update={"families": tuple(families)})


def _refuse_repeated(place: str, field: str, names: Iterable[str]) -> None:
    problems = [
        Problem(f"{place}[{i}].{field}", f"{name!r} is there already; keep one")
        for i, name in repeated_names(names)
    ]
    if problems:
        raise InputError(problems)
