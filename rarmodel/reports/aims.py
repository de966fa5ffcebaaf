"""What the instance asks to minimise, beside what schedules reach of it and what is proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.bounds import ValueBound, known_aims, known_bound, relative_gap
from rarmodel.duration import duration
from rarmodel.model.objectives import MAKESPAN, Objective, Value, objectives_of

from .drawing import Drawing
from .words import counted


class Aim(NamedTuple):
    """An objective of the instance, and its values.

    Attributes
    ----------
    objective
        What is minimised.
    values
        The value of each schedule; None if the schedule breaks a constraint.
    bound
        The best known bound.
    """

    objective: Objective
    values: tuple[Value | None, ...]
    bound: ValueBound

    @property
    def name(self) -> str:
        """Name of the objective."""
        return self.objective.name

    @property
    def known(self) -> list[Value]:
        """Values of the schedules that break no constraint."""
        return [value for value in self.values if value is not None]

    @property
    def least(self) -> Value | None:
        """The least of the values; None if there is none."""
        return min(self.known, default=None)

    def gap(self, schedule: int) -> float | None:
        """Relative gap of a schedule, by index, to the bound."""
        value = self.values[schedule]
        return None if value is None else relative_gap(value, self.bound.value)

    def ratio(self, schedule: int) -> float | None:
        """Value of a schedule, by index, divided by the least; None where the least is not above 0.

        Where the least is 0, schedules with the least have 1.
        """
        value, least = self.values[schedule], self.least
        if value is None or least is None:
            return None
        if least <= 0:
            return 1.0 if value == least else None
        return float(value / least)


def aims_of(
    drawings: Sequence[Drawing], bounds: Sequence[ValueBound] | None = None
) -> tuple[Aim, ...]:
    """The objectives of the instance, the most important first.

    Parameters
    ----------
    drawings
        Schedules of one instance, at least one.
    bounds
        A bound on each objective; by default `shown_bounds`.
    """
    bounds = shown_bounds(drawings) if bounds is None else bounds
    return tuple(
        Aim(one, tuple(_value(drawing, one) for drawing in drawings), bound)
        for one, bound in zip(objectives_of(drawings[0].instance), bounds, strict=True)
    )


def shown_bounds(drawings: Sequence[Drawing]) -> tuple[ValueBound, ...]:
    """The bounds for all gaps in a page or plot: the best known, one for each objective."""
    instance = drawings[0].instance
    lengths = [one.report.makespan for one in drawings if one.report.feasible]
    least = min((slots for slots in lengths if slots is not None), default=None)
    schedules = [drawing.schedule for drawing in drawings]
    longest = known_bound(instance, schedules, least)
    values = [_value(drawing, objectives_of(instance)[0]) for drawing in drawings]
    aims = known_aims(
        instance, schedules, min((value for value in values if value is not None), default=None)
    )
    return tuple(
        ValueBound(longest.slots, longest.name) if one is MAKESPAN else bound
        for one, bound in zip(objectives_of(instance), aims, strict=True)
    )


def on_length(aims: Sequence[Aim]) -> Aim | None:
    """The makespan, if it is among the objectives: charts mark it and its bound."""
    return next((aim for aim in aims if aim.objective is MAKESPAN), None)


def asks_for_length(drawing: Drawing) -> bool:
    """Whether the makespan is among the objectives of the instance."""
    return MAKESPAN.name in drawing.instance.objectives


def values_told(drawing: Drawing) -> str:
    """Values of all objectives in words: of the makespan alone `20 slots, 20 s`."""
    instance, report = drawing.instance, drawing.report
    if report.objective is None:
        return ""
    asked = [(one, report.objective[one.name]) for one in objectives_of(instance)]
    if asked[0][0] is MAKESPAN and len(asked) == 1 and report.makespan is not None:
        length = duration(instance.time.seconds(report.makespan))
        return f"{counted(report.makespan, 'slot')}, {length}"
    return "; ".join(f"{one.name} {one.told(value, instance.time)}" for one, value in asked)


def ranked(aims: Sequence[Aim]) -> list[int]:
    """The schedules that break no constraint, by index: the best first, equal ones in order."""
    valid = [i for i, value in enumerate(aims[0].values) if value is not None]
    return sorted(valid, key=lambda i: [aim.values[i] or 0 for aim in aims])


def _value(drawing: Drawing, objective: Objective) -> Value | None:
    values = drawing.report.objective if drawing.report.feasible else None
    return None if values is None else values[objective.name]
