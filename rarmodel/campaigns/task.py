"""A run as data: what it is, the hash that names it, and what its process is told and answers."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rarmodel import __version__
from rarmodel.errors import UsageError, one_line
from rarmodel.schema import Instance

DIGITS = 20
"""Hexadecimal digits of a run's name."""

LINE, DETAILS = 500, 4000
"""Characters kept of an error, and of the end of what a process wrote before it failed."""

Failure = Literal["exception", "memory", "time", "died", "worker"]
"""How a run can fail: an exception, out of memory or of time, a process or a worker that died."""


def canonical(value: object) -> str:
    """JSON text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_instance(instance: Instance) -> str:
    """The one text of an instance; fields without a value are left out."""
    return canonical(instance.model_dump(mode="json", exclude_none=True))


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """What a run is: two runs of equal fields would do the same.

    Attributes
    ----------
    instance
        Hash of the instance.
    method, formulation, solver
        Names; `formulation` and `solver` go together, without a method.
    parameters
        Parameters of the method.
    options
        Options of `solve`.
    data
        What the formulation needs beside the instance.
    seed
        Seed of everything that draws at random.
    rarmodel, solver_version
        Versions.
    """

    instance: str
    method: str | None
    formulation: str | None
    solver: str | None
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]
    data: Mapping[str, Any] | None
    seed: int
    solver_version: str | None = None
    rarmodel: str = __version__

    @property
    def run(self) -> str:
        """Name of the run: a hash of all that it is."""
        return digest(self.to_json())[:DIGITS]

    def to_json(self) -> str:
        """The one JSON text of the task."""
        return canonical(vars(self))  # Not `asdict`, whose copies take most of planning's time.


@dataclass(frozen=True)
class Work:
    """What a pool is given: a task, the text of its instance, and the limits of its process.

    Attributes
    ----------
    run
        Name of the run.
    task
        What it is.
    instance
        The instance as JSON.
    seconds, memory_mb
        Limits of the process; None for none.
    """

    run: str
    task: Task
    instance: str
    seconds: float | None = None
    memory_mb: float | None = None

    def to_json(self) -> str:
        """The work as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Work:
        """The work that a JSON text stands for."""
        fields = json.loads(text)
        return cls(**{**fields, "task": Task(**fields["task"])})


@dataclass(frozen=True)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    failure
        How it failed; None if it did not.
    error
        Why, in a line; empty if it did not.
    details
        The end of what its process wrote, if it failed.
    result
        `Result.summary()`; empty if it failed.
    schedule
        The schedule as JSON; None if there is none, and in a ledger, as it is a file of its own.
    versions
        Versions of what it ran on, as far as known.
    process_seconds
        Time that its process took.
    peak_memory_mb
        Most memory of a process of the run in MB; None if it is not known.
    host
        Where it ran.
    """

    failure: Failure | None = None
    error: str = ""
    details: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    schedule: str | None = None
    versions: Mapping[str, str | None] = field(default_factory=dict)
    process_seconds: float | None = None
    peak_memory_mb: float | None = None
    host: str | None = None

    def to_json(self) -> str:
        """The outcome as JSON text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """The outcome that a JSON text stands for."""
        return cls(**json.loads(text))


def failed(failure: Failure, error: str, details: str = "") -> Outcome:
    """What became of a run that failed: why in one line, and neither that nor the rest long."""
    line = one_line(error[: LINE + 1])
    return Outcome(
        failure=failure,
        error=line if len(line) <= LINE else f"{line[:LINE]} …",
        details=details[-DETAILS:],
    )


def with_parameters(method: Any, parameters: Mapping[str, Any]) -> Any:
    """A method with other parameters: what its `vary` makes of them.

    Raises
    ------
    UsageError
        If it takes none, or none of such a name, or a value is out of its range.
    """
    if not parameters:
        return method
    vary = getattr(method, "vary", None)
    if vary is None:
        raise UsageError(f"method {method.name!r} takes no parameters")
    try:
        inspect.signature(vary).bind(**parameters)
    except TypeError as error:
        known = ", ".join(inspect.signature(vary).parameters)
        raise UsageError(f"method {method.name!r}: {error}; choose from {known}") from error
    try:
        return vary(**parameters)
    except UsageError:
        raise
    except (TypeError, ValueError) as error:  # of a method of somebody's own
        raise UsageError(f"method {method.name!r}: {canonical(parameters)}: {error}") from error
