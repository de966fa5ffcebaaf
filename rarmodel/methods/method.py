"""Methods, and those that are installed: built in, or from other packages."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple, Protocol

from rarmodel import registry
from rarmodel.bounds import LowerBound, ValueBound
from rarmodel.culprits import shown
from rarmodel.errors import PartError
from rarmodel.limits import Limits
from rarmodel.schema import Instance, Schedule

from .sound_answers import returned_schedule


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
    `counts_iterations` is true, it respects `Limits.iterations` and `Limits.patience`; if its
    `takes_scheduler` is true, `Limits.scheduler`. It may tell `Limits.progress` the makespan; if
    its `reports_objective` is true, it tells the value of the first objective instead. Makespans
    are dropped where they are not the first objective.
    """

    @property
    def name(self) -> str:
        """Its name for `--method`."""

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Look for a schedule within the limits."""


def prepare_method(method: Method, instance: Instance) -> None:
    """Let a method compile, and log this."""
    if own := getattr(method, "prepare", None):
        from rarmodel.engine.compilation import told  # noqa: PLC0415 - loads Numba

        with told(), registry.calling("methods", method):
            own(instance)


def attempt(method: Method, instance: Instance, limits: Limits) -> Attempt:
    """Call a method.

    Raises
    ------
    PartError
        If it fails, or returns anything but an `Attempt`.
    """
    with registry.calling("methods", method):
        made: object = method(instance, limits)
    if not (isinstance(made, tuple) and 2 <= len(made) <= len(Attempt._fields)):
        raise PartError(f"method {method.name!r} returned {shown(made)}, and not an Attempt")
    found = Attempt(*made)
    # Classes of rarmodel's own make sound schedules, and looking at 100,000 jobs takes a while.
    theirs = type(method).__module__.partition(".")[0] != "rarmodel"
    if found.schedule is not None and (theirs or not isinstance(found.schedule, Schedule)):
        sound = returned_schedule(found.schedule, f"method {method.name!r}")
        found = found._replace(schedule=sound)
    for value, expected, fits in (
        (found.stopped, "why it stopped, in words", isinstance(found.stopped, str)),
        (found.bound, "a LowerBound in whole slots", _is_bound(found.bound, LowerBound, int)),
        (found.aim, "a ValueBound", _is_bound(found.aim, ValueBound, int | Fraction)),
    ):
        if not fits:
            raise registry.nonsense("methods", method, value, expected)
    return found


def _is_bound(bound: Any, kind: type, numbers: Any) -> bool:
    if bound is None:
        return True
    return isinstance(bound, kind) and isinstance(bound[0], numbers) and isinstance(bound[1], str)  # type: ignore[index]


def constructive_methods() -> list[Method]:
    """All installed methods that make a schedule in one go, by name.

    Methods that count iterations are not among them: they improve a schedule for as long as they
    are given.
    """
    installed = (registry.find("methods", name) for name in registry.names("methods"))
    return [method for method in installed if not getattr(method, "counts_iterations", False)]
