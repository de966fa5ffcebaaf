"""Methods, and those that are installed: built in, or from other packages."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rarmodel import registry
from rarmodel.bounds import LowerBound, ValueBound
from rarmodel.engine.compilation import told
from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.schema import Instance, Schedule


class Attempt(NamedTuple):
    """The outcome of a method.

    Attributes
    ----------
    schedule
        The best schedule found; None if none was found.
    stopped
        Why the method stopped, in words.
    bound
        A lower bound on every makespan that the method has proven; None if it proves none.
    aim
        The same on the value of the first objective.
    """

    schedule: Schedule | None
    stopped: str
    bound: LowerBound | None = None
    aim: ValueBound | None = None


class Method(Protocol):
    """A method: a placement policy, or any callable with a name that makes schedules.

    If it also has a method `prepare(instance)`, rarmodel calls that before it measures time. If its
    `counts_iterations` is true, it respects `Limits.iterations` and `Limits.patience`.
    """

    @property
    def name(self) -> str:
        """Its name for `--method`."""

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Look for a schedule within the limits."""


def prepare_method(method: Method, instance: Instance) -> None:
    """Let a method compile, and log this."""
    if own := getattr(method, "prepare", None):
        with told():
            own(instance)


def attempt(method: Method, instance: Instance, limits: Limits) -> Attempt:
    """Call a method.

    Raises
    ------
    UsageError
        If it returns anything but an `Attempt`.
    """
    made: object = method(instance, limits)
    if not (isinstance(made, tuple) and 2 <= len(made) <= len(Attempt._fields)):
        raise UsageError(f"method {method.name!r} returned {made!r}, and not an Attempt")
    return Attempt(*made)


def constructive_methods() -> list[Method]:
    """All installed methods that make a schedule in one go, by name.

    Methods that count iterations are not among them: they improve a schedule for as long as they
    are given.
    """
    installed = (registry.find("policies", name) for name in registry.names("policies"))
    return [method for method in installed if not getattr(method, "counts_iterations", False)]
