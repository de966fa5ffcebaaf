"""What a solve minimises: each objective with the value of the schedule and a proven bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from rarmodel.bounds import ValueBound, objective_bound, relative_gap
from rarmodel.model.objectives import Objective, Value, in_digits, objectives_of, ties_of
from rarmodel.schema import Instance, SlotTime
from rarmodel.verifier import Report


@dataclass(frozen=True)
class Goal:
    """What rarmodel minimises: an objective of the instance, or of the formulation.

    Attributes
    ----------
    name
        Name of the objective; in words where the formulation has its own.
    value
        Value of the schedule: exact where it is an objective of the instance. None without a
        schedule.
    bound
        A proven lower bound on the value; None if unknown. After the first objective it holds for
        schedules whose more important values are no worse than these.
    proved_by
        What has proven the bound: a bound's name, a solver with its version, or `proof`.
    objective
        The objective of the instance; None where the formulation has its own.
    """

    name: str
    value: Value | float | None
    bound: Value | float | None
    objective: Objective | None = field(default=None, compare=False, repr=False)
    proved_by: str | None = field(default=None, compare=False)

    def told(self, time: SlotTime) -> str:
        """Value and bound in words."""
        value, bound = in_digits(self.value), in_digits(self.bound)
        if self.objective is not None and self.value is not None:
            value = self.objective.told(self.value, time)
        return f"{value} (at least {bound})"

    @property
    def gap(self) -> float | None:
        """The relative gap; None if value or bound is unknown."""
        if self.value is None or self.bound is None:
            return None
        return relative_gap(self.value, self.bound)


def goals_of(
    instance: Instance, report: Report | None, bounds: Sequence[ValueBound | None]
) -> tuple[Goal, ...]:
    """The objectives of an instance, with their values in a report, and bounds where there are."""
    asked = objectives_of(instance)
    values = {} if report is None or report.objective is None else report.objective
    return _goals(asked, values, [*bounds, *[None] * (len(asked) - len(bounds))])


def ties_in(instance: Instance, report: Report | None) -> tuple[Goal, ...]:
    """The goals that decide between schedules equal in the objectives; see `objectives.ties_of`.

    The bounds hold for every schedule, also for those that are worse in what is asked for.
    """
    ties = ties_of(instance)
    values = {} if report is None or report.ties is None else report.ties
    return _goals(ties, values, [objective_bound(instance, one) for one in ties])


def _goals(
    objectives: Sequence[Objective],
    values: Mapping[str, Value],
    bounds: Sequence[ValueBound | None],
) -> tuple[Goal, ...]:
    return tuple(
        Goal(one.name, values.get(one.name), at and at.value, one, at and at.name)
        for one, at in zip(objectives, bounds, strict=True)
    )


def proven_aim(goal: Goal, name: str) -> ValueBound | None:
    """The bound of a goal under the name of what has proven it; None if it is not exact."""
    bound = goal.bound
    return ValueBound(bound, name) if isinstance(bound, int | Fraction) else None


def gap_of(goals: Sequence[Goal]) -> float | None:
    """The relative gap of the first objective that is not proven; 0 if all are, None if unknown."""
    gaps = (goal.gap for goal in goals)
    return next((gap for gap in gaps if gap is None or gap > 0), 0.0 if goals else None)
