"""A run as data: its task, the hash that names it, and its outcome."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rarmodel import __version__, registry
from rarmodel.errors import UsageError, one_line
from rarmodel.schema import Instance
from rarmodel.schema.job import without_nulls

DIGITS = 20
"""Number of hexadecimal digits in a run's name."""

LINE, DETAILS = 500, 4000
"""Most characters of an error, and of the end of a failed process's output."""

Failure = Literal["exception", "memory", "time", "died", "worker"]
"""How a run failed: an exception, out of memory or time, or a process or worker that died."""


def canonical(value: object) -> str:
    """JSON text that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_instance(instance: Instance) -> str:
    """The canonical JSON of an instance; fields without a value are left out."""
    return canonical(without_nulls(instance.model_dump(mode="json")))


def digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Task:
    """The content of a run: runs with equal fields would do the same.

    Attributes
    ----------
    instance
        Hash of the instance.
    method, formulation, solver
        Names; either a method, or a formulation with a solver.
    parameters
        Parameters of the method.
    options
        Options of `solve`, or of `simulate`.
    data
        Data that the formulation needs beside the instance.
    seed
        Seed of all random numbers.
    rarmodel, solver_version
        Versions.
    policy
        Name of the online policy to simulate, instead of a method or formulation.
    start
        The fields of the schedule from which to start.
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
    policy: str | None = None
    start: Mapping[str, Any] | None = None

    @property
    def run(self) -> str:
        """Name of the run: a hash of all its fields."""
        return digest(self.to_json())[:DIGITS]

    def to_json(self) -> str:
        """The canonical JSON of the task."""
        fields = vars(self)  # Not `asdict`, whose copies take most of planning's time.
        # Runs of before there were policies and starts keep their names.
        later = {name for name in ("policy", "start") if getattr(self, name) is None}
        if later:
            fields = {name: value for name, value in fields.items() if name not in later}
        return canonical(fields)


@dataclass(frozen=True)
class Work:
    """The work for a pool: a task, its instance, and the limits of its process.

    Attributes
    ----------
    run
        Name of the run.
    task
        The task of the run.
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
        """Parse the work from JSON text."""
        fields = json.loads(text)
        return cls(**{**fields, "task": Task(**fields["task"])})


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run.

    Attributes
    ----------
    failure
        How the run failed; None if it did not.
    error
        Why it failed, in one line; empty if it did not.
    details
        The end of the process's output, if the run failed.
    result
        `Result.summary()`; empty if it failed.
    schedule
        The schedule as JSON; None if there is none. In a ledger it is None, as it has its own file.
    versions
        Versions of the software, as far as known.
    process_seconds
        Time of the whole process.
    peak_memory_mb
        Peak memory of the run's processes in MB; None if unknown.
    host
        Name of the machine.
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
        """Parse the outcome from JSON text."""
        return cls(**json.loads(text))


def failed(failure: Failure, error: str, details: str = "") -> Outcome:
    """The outcome of a failed run: the reason in one line, and a limited part of the output."""
    line = one_line(error[: LINE + 1])
    return Outcome(
        failure=failure,
        error=line if len(line) <= LINE else f"{line[:LINE]} …",
        details=details[-DETAILS:],
    )


def with_parameters(method: Any, parameters: Mapping[str, Any]) -> Any:
    """The method that its `vary` returns for these parameters.

    Raises
    ------
    UsageError
        If the method takes no parameters or no such parameter, or a value is out of its range.
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
    with registry.calling("methods", method):
        try:
            varied = vary(**parameters)
        except UsageError:
            raise
        except (TypeError, ValueError) as error:  # of a method of somebody's own
            raise UsageError(f"method {method.name!r}: {canonical(parameters)}: {error}") from error
    return registry.find("methods", varied)
