"""What the instance asks to minimise, beside what schedules reach of it and what is proven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.bounds import Claim, ValueBound, greatest, known_claims, relative_gap
from rarmodel.counting import counted
from rarmodel.duration import duration
from rarmodel.model.objectives import MAKESPAN, Objective, Value, in_digits, objectives_of

from .drawing import Drawing
from .words import joined


class Aim(NamedTuple):
    """An objective of the instance, and its values.

    Attributes
    ----------
    objective
        What is minimised.
    values
        The value of each schedule; None if the schedule breaks a constraint.
    claims
        What is proven for each schedule: the best known bound that holds for it.
    best
        Index of the best schedule; of the first if none is valid.
    """

    objective: Objective
    values: tuple[Value | None, ...]
    claims: tuple[Claim, ...]
    best: int

    @property
    def bound(self) -> ValueBound:
        """The best known bound that holds for the best schedule."""
        return self.claims[self.best].bound

    @property
    def condition(self) -> str:
        """In words, which schedules the bound is for; empty if it is for all."""
        at_most = self.claims[self.best].at_most
        known = [f"{name} of at most {in_digits(value)}" for name, value in at_most]
        return f"with {joined(known)}" if known else ""

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
        return None if value is None else relative_gap(value, self.claims[schedule].bound.value)

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
        A bound on each objective that holds for all schedules; by default the best known.
    """
    objectives = objectives_of(drawings[0].instance)
    reached = [_values(drawing) for drawing in drawings]
    valid = [i for i, values in enumerate(reached) if values]
    best = min(valid, key=lambda i: [reached[i][one.name] for one in objectives], default=0)
    if bounds is None:
        schedules = [drawing.schedule for drawing in drawings]
        known = known_claims(drawings[0].instance, schedules, [reached[i] for i in valid])
    else:
        pairs = zip(objectives, bounds, strict=True)
        known = tuple((Claim(one.name, bound),) for one, bound in pairs)
    return tuple(
        Aim(
            one,
            tuple(values.get(one.name) for values in reached),
            tuple(greatest(claims, values) for values in reached),
            best,
        )
        for one, claims in zip(objectives, known, strict=True)
    )


def shown_bounds(drawings: Sequence[Drawing]) -> tuple[ValueBound, ...]:
    """The best known bound on each objective that holds for the best of some schedules."""
    return tuple(aim.bound for aim in aims_of(drawings))


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


def _values(drawing: Drawing) -> dict[str, Value]:
    """Values of a valid schedule: the makespan and the objectives; of others none."""
    report = drawing.report
    if not report.feasible or report.objective is None or report.makespan is None:
        return {}
    return {MAKESPAN.name: report.makespan, **report.objective}
