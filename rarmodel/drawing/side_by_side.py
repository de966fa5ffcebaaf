"""Schedules of one instance side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import FlowTimes, Lateness, verify

from .drawing import Drawing, draw
from .objective_values import Aim


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
    values, gaps
        Value of each objective, and its relative gap to the best bound; None if the schedule breaks
        a constraint.
    ratio
        Value of the most important objective, divided by the least of a feasible schedule; None if
        infeasible, or where the least is 0.
    flow
        Flow times; None if some job has no completion time.
    late
        How due slots are kept; None if no job has one.
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
    values: tuple[Value | None, ...]
    gaps: tuple[float | None, ...]
    ratio: float | None
    flow: FlowTimes | None
    late: Lateness | None
    utilisation: float | None
    spread: int
    rings: int

    @property
    def gap(self) -> float | None:
        """The relative gap of the first objective that is not proven; 0 if all are."""
        return next((gap for gap in self.gaps if gap is None or gap > 0), 0.0)


def draw_all(instance: Instance, schedules: Sequence[Schedule]) -> tuple[Drawing, ...]:
    """Verify schedules, and make their drawings; labels are distinct."""
    labels = labels_of(schedules)
    return tuple(
        draw(instance, schedule, verify(instance, schedule), label)
        for schedule, label in zip(schedules, labels, strict=True)
    )


def rows_of(drawings: Sequence[Drawing], aims: Sequence[Aim]) -> tuple[Row, ...]:
    """One row per schedule, in the given order."""
    rows = []
    for i, drawing in enumerate(drawings):
        report = drawing.report
        rows.append(
            Row(
                label=drawing.label,
                feasible=report.feasible,
                violations=len(report.violations),
                makespan=report.makespan,
                mean_completion=report.mean_completion,
                values=tuple(aim.values[i] for aim in aims),
                gaps=tuple(aim.gap(i) for aim in aims),
                ratio=aims[0].ratio(i),
                flow=report.flow_times,
                late=report.lateness,
                utilisation=drawing.utilisation,
                spread=sum(run.spread and run.carried_out for run in drawing.whole),
                rings=drawing.most_rings,
            )
        )
    return tuple(rows)


def ends_of(drawings: Sequence[Drawing]) -> list[int]:
    """End of each schedule's time axis, in slots.

    All valid schedules have the same end. A schedule that breaks constraints may last far longer;
    it then has its own axis, so that the others stay readable.
    """
    shared = max((drawing.end for drawing in drawings if drawing.report.feasible), default=1)
    return [max(shared, drawing.end) for drawing in drawings]


def labels_of(schedules: Sequence[Schedule]) -> list[str]:
    """Distinct names: the method; its placement too where one policy has several placements."""
    placements: dict[str, set[str | None]] = {}
    for one in schedules:
        placements.setdefault(one.method, set()).add(one.placement)
    return distinct(
        [
            f"{one.method}, {one.placement}"
            if one.placement is not None and len(placements[one.method]) > 1
            else one.method
            for one in schedules
        ]
    )


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
