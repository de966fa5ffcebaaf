"""The schema of a campaign file: methods, instances, seeds and limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from rarmodel.defaults import DEFAULT_PLACEMENT
from rarmodel.errors import InputError, Problem
from rarmodel.schema.base import Count, Name, Positive, Record
from rarmodel.schema.instance import Objectives
from rarmodel.schema.problems import show

MAX_SEED = 2**31 - 1
MAX_SEEDS = 1_000_000


def _named(field: str) -> BeforeValidator:
    """Turn a text alone into an object with that one field."""
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) else [value]


def _seeds(value: object) -> object:
    """Parse a list, or a range `A..B` that includes both ends."""
    if isinstance(value, list | tuple):
        return value
    ends = re.fullmatch(r"(\d{1,10})\.\.(\d{1,10})", value) if isinstance(value, str) else None
    if ends is None or int(ends[1]) > int(ends[2]):
        expected = "a list such as [1, 2] or a range such as 0..19 is expected"
        raise InputError([Problem("", f"{show(value)}; {expected}")])
    if int(ends[2]) > MAX_SEED:  # Before a list of them is made.
        raise InputError([Problem("", f"{show(value)}; seeds go up to {MAX_SEED}")])
    seeds = range(int(ends[1]), int(ends[2]) + 1)
    if len(seeds) > MAX_SEEDS:
        message = f"{show(value)}; {MAX_SEEDS:,} seeds at most are possible"
        raise InputError([Problem("", message)])
    return seeds


def _finite(value: Any) -> Any:
    """Return the value if JSON can represent all of it."""
    numbers = [value]
    while numbers:
        number = numbers.pop()
        if isinstance(number, float) and not math.isfinite(number):
            raise InputError([Problem("", f"{number}; a finite number is expected")])
        if isinstance(number, list):
            numbers.extend(number)
        elif isinstance(number, dict):
            numbers.extend(number.values())
    return value


Value = Annotated[JsonValue, AfterValidator(_finite)]
"""A JSON value."""

Seed = Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)]
"""A seed."""

Seeds = Annotated[tuple[Seed, ...], BeforeValidator(_seeds), Field(min_length=1)]
"""Seeds: a list, or a range such as `0..19`."""

Parameters = dict[Name, Value]
"""Values by name."""

Alternatives = dict[Name, Annotated[tuple[Value, ...], Field(min_length=1)]]
"""Lists of values by name."""


SolverOptions = dict[
    Name,
    StrictBool | StrictInt | Annotated[float, Field(strict=True, allow_inf_nan=False)] | StrictStr,
]
"""Options of a solver by its own names."""

Asked = str | tuple[str, ...] | None
"""Name of the objective of a run, or several names; None for its instance's own objective."""


class Varied(Record):
    """An entry with parameters: fixed ones, and varied ones with a list of values each."""

    parameters: Annotated[Parameters, Field(default_factory=dict)]
    """Values of parameters."""

    vary: Annotated[Alternatives, Field(default_factory=dict)]
    """Lists of values for parameters; several parameters give all combinations."""

    @model_validator(mode="after")
    def _no_parameter_is_both(self) -> Self:
        if both := sorted(self.parameters.keys() & self.vary.keys()):
            raise InputError(
                [
                    Problem(f"vary.{name}", "it is among the parameters too; keep one")
                    for name in both
                ]
            )
        return self


class Source(Varied):
    """A source of instances: exactly one of three fields, and parameters for it."""

    instance: Name | None = None
    """A file, or the name of a bundled instance; a text alone stands for this field."""

    generate: Name | None = None
    """A family of random instances; its seed is the run's unless `parameters` has one."""

    import_: Annotated[Name | None, Field(alias="import")] = None
    """A trace."""

    start: Name | None = None
    """A JSON file with a feasible schedule of `instance`, from which each solve starts."""

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        given = [self.instance, self.generate, self.import_]
        if sum(kind is not None for kind in given) != 1:
            message = "exactly one of 'instance', 'generate' and 'import' is expected"
            raise InputError([Problem("", message)])
        if self.instance is not None and (self.parameters or self.vary):
            raise InputError([Problem("", "a file has no parameters; remove them")])
        if self.instance is None and self.start is not None:
            raise InputError([Problem("start", "a schedule is of one instance; name its file")])
        return self


Switches = Annotated[
    tuple[Annotated[bool, Field(strict=True)], ...] | None,
    BeforeValidator(_listed),
    Field(min_length=1),
]
"""An option that is on or off, or both in turn."""


class Options(Record):
    """Options of `solve`; each is a value, or a list of values to vary."""

    time_limit: Annotated[
        tuple[Positive, ...] | None, BeforeValidator(_listed), Field(min_length=1)
    ] = None
    """Seconds after which a solve stops with its best schedule so far."""

    gap: Annotated[
        tuple[Annotated[float, Field(strict=True, ge=0, lt=1)], ...] | None,
        BeforeValidator(_listed),
        Field(min_length=1),
    ] = None
    """Relative gap at which to stop."""

    threads: Annotated[tuple[Count, ...] | None, BeforeValidator(_listed), Field(min_length=1)] = (
        None
    )
    """Threads of a run; 1 by default."""

    iterations: Annotated[
        tuple[Count, ...] | None, BeforeValidator(_listed), Field(min_length=1)
    ] = None
    """Iterations after which to stop, for methods that count them."""

    patience: Annotated[tuple[Count, ...] | None, BeforeValidator(_listed), Field(min_length=1)] = (
        None
    )
    """Iterations without a better schedule or bound after which to stop, for the same methods."""

    model_only: Switches = None
    """Whether solvers of formulations must do with the model alone; false by default. Methods run
    as usual."""

    solver_options: Annotated[
        tuple[SolverOptions, ...] | None, BeforeValidator(_listed), Field(min_length=1)
    ] = None
    """Options of the solver by its own names, for a formulation with one solver."""

    def given(self) -> Mapping[str, tuple[Any, ...]]:
        """The options that are given, by name."""
        return self.model_dump(exclude_none=True)


class MethodEntry(Varied):
    """A method to run."""

    method: Name
    """Name of the method, or `package.module:Name`; a text alone stands for this field."""

    options: Options = Options()
    """Options that override the campaign's."""


class FormulationEntry(Record):
    """A formulation to solve."""

    formulation: Name
    """Name of the formulation, or `package.module:Name`; a text alone stands for this field."""

    solvers: Annotated[tuple[Name, ...] | None, Field(min_length=1)] = None
    """Solvers, each of which solves the formulation; by default the preferred one."""

    data: Name | None = None
    """A JSON file with data that the formulation needs beside the instance."""

    options: Options = Options()
    """Options that override the campaign's."""


class PolicyEntry(Record):
    """An online policy to simulate."""

    policy: Name
    """Name of the policy, or `package.module:Name`; a text alone stands for this field."""

    placements: Annotated[tuple[Name, ...] | None, Field(min_length=1)] = None
    """Placements, each of which places the policy's jobs; by default those of the campaign."""

    round_slots: Annotated[
        tuple[Count, ...] | None, BeforeValidator(_listed), Field(min_length=1)
    ] = None
    """Slots after which the policy is asked again, or a list to vary; by default as it wants."""


class ProcessLimits(Record):
    """Limits of a run's process; at a limit it is ended."""

    seconds: Positive | None = None
    """Time from the start of the process, compilation and verification included."""

    memory_mb: Positive | None = None
    """Memory of a process in MB (10^6 bytes), where the system can limit it."""


class Campaign(Record):
    """Runs of all methods, formulations and policies on all instances with all seeds.

    Raises
    ------
    pydantic.ValidationError
        If a field is missing, unknown, of the wrong type or out of range, or there is nothing to
        run.
    """

    name: Name
    """Name of the campaign; every row of the table repeats it."""

    description: str | None = None
    """Description of the campaign, for readers."""

    instances: Annotated[tuple[Annotated[Source, _named("instance")], ...], Field(min_length=1)]
    """Instances, and families of instances."""

    methods: tuple[Annotated[MethodEntry, _named("method")], ...] = ()
    """Methods."""

    formulations: tuple[Annotated[FormulationEntry, _named("formulation")], ...] = ()
    """Formulations."""

    policies: tuple[Annotated[PolicyEntry, _named("policy")], ...] = ()
    """Online policies, which are simulated."""

    placements: Annotated[tuple[Name, ...], Field(min_length=1)] = (DEFAULT_PLACEMENT,)
    """Placements of the policies."""

    options: Options = Options()
    """Options of all methods and formulations."""

    objective: Objectives | None = None
    """What every run minimises, instead of its instance's own objective."""

    objectives: Annotated[tuple[Objectives, ...], Field(min_length=1)] | None = None
    """Several such objectives, each for runs of its own."""

    seeds: Seeds = (0,)
    """Seeds of random families, methods, solvers and simulations."""

    limits: ProcessLimits = ProcessLimits()
    """Limits of each run's process."""

    @model_validator(mode="after")
    def _something_to_run(self) -> Self:
        if not (self.methods or self.formulations or self.policies):
            raise InputError([Problem("", "no methods, formulations or policies; name some")])
        return self

    @model_validator(mode="after")
    def _objectives_are_fixed_or_varied(self) -> Self:
        if self.objective is not None and self.objectives is not None:
            raise InputError([Problem("objective", "'objectives' is given too; keep one")])
        repeated = [
            Problem(f"objectives[{i}]", f"{show(one)} is in the list already")
            for i, one in enumerate(self.objectives or ())
            if one in (self.objectives or ())[:i]
        ]
        if repeated:
            raise InputError(repeated)
        return self

    def asked(self) -> tuple[Asked, ...]:
        """The objectives of the runs; None stands for each instance's own."""
        return self.objectives or (self.objective,)
