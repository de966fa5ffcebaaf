"""The types of bounds: what proves them, and what is proven; the gap between value and bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from rarmodel import registry
from rarmodel.model import unhandled
from rarmodel.model.features import (
    BY_DUTY,
    CAPS,
    OBJECTIVES,
    PLACES,
    PREEMPTION,
    RING_SIZES,
    SHARING,
    WINDOWS,
)
from rarmodel.model.objectives import MAKESPAN, Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Argument

ON_MAKESPAN = frozenset({MAKESPAN.name})
UNINTERRUPTED = WINDOWS | CAPS | PLACES | BY_DUTY
"""Features with which jobs are not interrupted.

By whatever rings on a link count, none is faster than alone. A bound that sees contention asks
`best_share`, which no ring exceeds beside so many others."""
ALWAYS = UNINTERRUPTED | SHARING | {PREEMPTION.name}
"""Features with which jobs may also be interrupted, moved and resized, and may share GPUs.

To lose work makes no job faster, so a bound that holds without it holds with it. Nor do others on
its GPUs: a bound that takes a job as alone, and counts of each GPU the part that it holds, holds
where GPUs are shared."""
FIXED_SIZES = UNINTERRUPTED - {RING_SIZES.name}
"""Features with which jobs are not interrupted, and have one ring size each."""

Prove = Callable[[Instance, Objective], Value | None]
"""The least value that a schedule can have; None for what the bound says nothing about."""

Tighten = Callable[[Instance, Objective, Value, Value | None, Callable[[], bool]], Value | None]
"""A value above the greatest that was proven before, or None.

It also gets the value of a schedule, which no bound exceeds, or None; and a function to be called
again and again, which says whether it is time to stop with what is proven so far."""

Certify = Callable[[Instance, Objective, Value], Argument | None]
"""The argument that no schedule is below a value, for `rarmodel.checker`; None if it has none."""


@dataclass(frozen=True)
class Bound(registry.Part):
    """A lower bound on values of objectives.

    Attributes
    ----------
    name
        What it is called.
    description
        Why no schedule is better, in a line.
    prove
        Proves it in milliseconds, or in a second where an instance is worth it; None if it takes
        longer.
    tighten
        Proves more than is known, in seconds.
    objectives
        Names of the objectives that it is for; None if `prove` says so.
    handles
        Names of the features with which it holds; see `rarmodel.model.features`.
    of_limit
        Whether it also holds for the limit θ_u on the work of each GPU.
    rank
        Of equal bounds, results name the one of least rank.
    cost
        How long it takes on instances of some hundred jobs, in words.
    certify
        Gives what proves a value, as numbers that another program can check; None if it cannot.
    """

    kind = "bounds"

    name: str
    description: str = ""
    prove: Prove | None = None
    tighten: Tighten | None = None
    objectives: frozenset[str] | None = None
    handles: frozenset[str] = frozenset()
    of_limit: bool = False
    rank: int = 100
    cost: str = "milliseconds"
    certify: Certify | None = None

    def supports(self, instance: Instance, objective: Objective) -> bool:
        """Whether it holds for an instance, and may say something about an objective."""
        named = self.objectives is None or objective.name in self.objectives
        return named and unhandled(instance, self.handles | {OBJECTIVES.name}, "") is None


def in_slots(
    prove: Callable[[Instance, int, int | None, Callable[[], bool]], int | None],
) -> Tighten:
    """A bound on the makespan in whole slots, as `Bound.tighten`."""
    return partial(_tightened_in_slots, prove)


def _tightened_in_slots(
    prove: Callable[[Instance, int, int | None, Callable[[], bool]], int | None],
    instance: Instance,
    _: Objective,
    known: Value,
    upper: Value | None,
    stop: Callable[[], bool],
) -> Value | None:
    return prove(instance, int(known), None if upper is None else int(upper), stop)


ENUMERATION = "enumeration"
"""Name of the bound after all shorter schedules were tried and none exists."""
PROOF = "proof"
"""The same after `rarmodel.proof` refuted all shorter schedules."""
CHECKED_PROOF = "checked proof"
"""The same after another engine gave the same answers where an engine was asked."""


class LowerBound(NamedTuple):
    """A lower bound on the makespan of every schedule.

    Attributes
    ----------
    slots
        The bound in slots.
    name
        Name of the bound.
    """

    slots: int
    name: str


class ValueBound(NamedTuple):
    """A lower bound on the value of an objective in every schedule.

    Attributes
    ----------
    value
        The bound.
    name
        Name of the bound.
    """

    value: Value
    name: str


def relative_gap(value: float | Fraction, bound: float | Fraction) -> float:
    """The largest part of a value that a better schedule could save: `(value − bound) / |value|`.

    The gap is 0 if value and bound are equal, also at 0, or if the bound exceeds the value by float
    noise.
    """
    if value <= bound:
        return 0.0
    return float(value - bound) / max(abs(float(value)), 1e-9)
