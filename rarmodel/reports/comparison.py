"""Schedules of one instance side by side, and the bound that is proven for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rarmodel.bounds import LowerBound, known_bound, relative_gap
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

from .drawing import Drawing, draw


@dataclass(frozen=True)
class Row:
    """One schedule in the comparison table.

    Attributes
    ----------
    label
        Label of the schedule.
    feasible
        The verifier's verdict.
    violations
        Number of violations.
    makespan, mean_completion
        In slots; None if some job has no completion time.
    gap
        Relative gap to the best bound; None if the schedule breaks a constraint.
    ratio
        Makespan divided by the least makespan of a feasible schedule; None if infeasible.
    utilisation
        Share of the cluster's GPU slots up to the makespan that jobs hold.
    spread
        Number of jobs on several servers.
    rings
        The most rings that ever share a link.
    """

    label: str
    feasible: bool
    violations: int
    makespan: int | None
    mean_completion: float | None
    gap: float | None
    ratio: float | None
    utilisation: float | None
    spread: int
    rings: int


def draw_all(instance: Instance, schedules: Sequence[Schedule]) -> tuple[Drawing, ...]:
    """Verify schedules, and make their drawings; labels are distinct."""
    labels = distinct([schedule.method for schedule in schedules])
    return tuple(
        draw(instance, schedule, verify(instance, schedule), label)
        for schedule, label in zip(schedules, labels, strict=True)
    )


def shown_bound(drawings: Sequence[Drawing]) -> LowerBound:
    """The bound for all gaps in a page or plot: the best known."""
    schedules = [drawing.schedule for drawing in drawings]
    return known_bound(drawings[0].instance, schedules, least_makespan(drawings))


def rows_of(drawings: Sequence[Drawing], bound: LowerBound) -> tuple[Row, ...]:
    """One row per schedule, in the given order."""
    least = least_makespan(drawings)
    rows = []
    for drawing in drawings:
        report = drawing.report
        makespan = report.makespan if report.feasible else None
        rows.append(
            Row(
                label=drawing.label,
                feasible=report.feasible,
                violations=len(report.violations),
                makespan=report.makespan,
                mean_completion=report.mean_completion,
                gap=relative_gap(makespan, bound.slots) if makespan else None,
                ratio=makespan / least if makespan and least else None,
                utilisation=drawing.utilisation,
                spread=sum(run.spread and run.carried_out for run in drawing.runs),
                rings=max((link.rings.greatest for link in drawing.links), default=0),
            )
        )
    return tuple(rows)


def least_makespan(drawings: Sequence[Drawing]) -> int | None:
    """The least makespan of a feasible schedule in slots; None if there is none."""
    found = [drawing.report.makespan for drawing in drawings if drawing.report.feasible]
    return min((makespan for makespan in found if makespan is not None), default=None)


def ends_of(drawings: Sequence[Drawing]) -> list[int]:
    """End of each schedule's time axis, in slots.

    All valid schedules have the same end. A schedule that breaks constraints may last far longer;
    it then has its own axis, so that the others stay readable.
    """
    shared = max((drawing.end for drawing in drawings if drawing.report.feasible), default=1)
    return [max(shared, drawing.end) for drawing in drawings]


def distinct(labels: Sequence[str]) -> list[str]:
    """Labels with numbers after repeated ones: `search`, `search (2)`."""
    found: list[str] = []
    for label in labels:
        name, times = label, 1
        while name in found:
            times += 1
            name = f"{label} ({times})"
        found.append(name)
    return found
