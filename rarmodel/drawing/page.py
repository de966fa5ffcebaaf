"""The report on schedules of one instance, as one HTML page that opens offline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from rarmodel.bounds import ValueBound, all_bounds, objective_bounds, relative_gap
from rarmodel.errors import UsageError
from rarmodel.model import job_extremes
from rarmodel.model.objectives import MAKESPAN, MAX_STRETCH, SLOTS, Value
from rarmodel.schema import AnyAssignment, Instance, Schedule
from rarmodel.schema.tenants import tenant_paths

from .colours import SIZE
from .drawing import Drawing, Drawn
from .extra import require_extra
from .figures import linked_charts, look
from .finding import finding_of
from .gantt import has_single_jobs
from .lines import flow_times
from .moments import waits
from .objective_values import Aim, ranked
from .rendering import rendered
from .reserved import blocks
from .row_labels import LETTERS
from .shown import Shown
from .side_by_side import draw_all, rows_of

MAX_VIOLATIONS = 100
MAX_JOBS = 300
MAX_SERVERS = 8
"""Most servers of a job that the table lists."""


class JobRow(NamedTuple):
    """A job in a table: slots it takes, beside its least; since its release; and its GPUs."""

    run: Drawn
    slots: int | None
    slowdown: float | None
    release: int | None
    flow: int | None
    stretch: float | None
    late: int | None
    where: str
    tenant: str
    priority: int | None


class BoundRow(NamedTuple):
    """A bound in a table, with the gap of the best valid schedule to it.

    The condition says in words for which schedules it holds; it is empty if it holds for all.
    """

    aim: Aim
    bound: ValueBound
    gap: float | None
    condition: str


def report_page(
    instance: Instance,
    schedules: Sequence[Schedule],
    charts: Mapping[str, Any] | None = None,
    *,
    colour: str = SIZE,
) -> str:
    """Compare schedules in one page: finding, bounds, verdicts, and charts of each.

    Schedules that break constraints are marked, and drawn as far as possible.

    Parameters
    ----------
    instance
        The problem.
    schedules
        At least one; each is verified.
    charts
        Further charts of Altair, each by its heading, for the end of the page.
    colour
        What the colour of a job says: its `size`, or its `tenant`.

    Raises
    ------
    UsageError
        If there is no schedule, or Altair or vl-convert is not installed.
    """
    require_extra()
    if not schedules:
        raise UsageError("a report needs at least one schedule")
    shown = Shown.of(draw_all(instance, schedules), colour=colour)
    drawings, aims = shown.drawings, shown.aims or ()
    rows = rows_of(drawings, aims)
    own = charts or {}
    first = chosen(aims)
    drawn: dict[str, Any] = {"charts": linked_charts(shown, first)}
    if waits(instance):
        drawn["flow"] = look(alt.vconcat(flow_times(shown)), shown)
    drawn |= {f"own-{i}": chart for i, chart in enumerate(own.values())}
    pages = [
        {
            "row": row,
            "reached": _values(drawing),
            "other": made_for if (made_for := drawing.schedule.instance) != instance.name else "",
            "violations": drawing.report.violations[:MAX_VIOLATIONS],
            "runs": len(drawing.whole),
            "jobs": slowest(drawing),
        }
        for drawing, row in zip(drawings, rows, strict=True)
    ]
    names = [_short(server.name) for server in instance.cluster.servers]
    links = [_short(link.link) for link in drawings[0].links]
    return rendered(
        "report.html",
        drawn,
        [*names, *links],
        instance=instance,
        seconds=instance.time.slot_seconds,
        slot_time=instance.time,
        finding=finding_of(drawings, aims),
        aims=aims,
        length=shown.length,
        by_length=aims[0].objective is MAKESPAN and len(aims) == 1,
        slots=SLOTS,
        bounds=[row for aim in aims for row in bound_rows(instance, aim)],
        waits=waits(instance),
        due=any(job.due is not None for job in instance.jobs),
        tenants=any(job.tenant is not None for job in instance.jobs),
        priorities=any(job.priority for job in instance.jobs),
        pages=pages,
        refused=any(not row.feasible for row in rows),
        large=shown.large,
        single=has_single_jobs(shown),
        own=list(own),
        choice=len(pages) > 2,
        alone=[drawings[i].label for i in shown.alone],
    )


def chosen(aims: Sequence[Aim]) -> tuple[int, ...]:
    """The schedules that a page shows at first: the only one, or the best above the worst.

    These are valid schedules, the first of those with equal values. If too few are valid, the first
    of the others take their place.
    """
    valid, found = ranked(aims), []
    if valid:
        found.append(valid[0])
    if valid[1:]:
        worst = [aim.values[valid[-1]] for aim in aims]
        found.append(next(i for i in valid[1:] if [aim.values[i] for aim in aims] == worst))
    schedules = range(len(aims[0].values))
    return tuple([*found, *(i for i in schedules if i not in found)][:2])


def bound_rows(instance: Instance, aim: Aim) -> list[BoundRow]:
    """The quick bounds on an objective, and the best known one."""
    if aim.objective is MAKESPAN:
        found = [ValueBound(bound.slots, bound.name) for bound in all_bounds(instance)]
    else:
        found = list(objective_bounds(instance, aim.objective))
    found += [] if aim.bound in found else [aim.bound]
    rows = []
    for bound in found:
        only = aim.condition if bound == aim.bound else ""
        value = aim.values[aim.best] if only else aim.least
        gap = None if value is None else relative_gap(value, bound.value)
        rows.append(BoundRow(aim, bound, gap, only))
    return rows


def _values(drawing: Drawing) -> list[Value | None]:
    """Values of the objectives, of invalid schedules too."""
    values = drawing.report.objective or {}
    return [values.get(name) for name in drawing.instance.objectives]


def _short(name: str) -> str:
    """About what stands beside a row."""
    return name[: LETTERS + 8]


def _where(assignment: AnyAssignment) -> str:
    """The GPUs that a job holds, server by server, one segment after another."""
    told = []
    for segment in assignment.segments:
        found = []
        for server, gpus in segment.gpus.items():
            parts = [
                f"{first}" if count == 1 else f"{first}–{first + count - 1}"
                for first, count in blocks(sorted(gpus))
            ]
            found.append(f"{server}: {', '.join(parts)}")
        more = len(found) - MAX_SERVERS
        told.append("; ".join(found[:MAX_SERVERS]) + (f"; {more} more" if more > 0 else ""))
    return ", then ".join(dict.fromkeys(told))


def slowest(drawing: Drawing) -> list[JobRow]:
    """All jobs in the schedule's order; of many, those that contention and spread delay most."""
    least = [extreme.least_slots for extreme in job_extremes(drawing.instance)]
    stretches = MAX_STRETCH.terms(drawing.instance)
    report, paths = drawing.report, tenant_paths(drawing.instance.tenants)
    rows = []
    for run, assignment in zip(drawing.whole, drawing.schedule.assignments, strict=True):
        slots = None if run.end is None else run.end - run.start
        number = drawing.numbers[run.job]
        known = number < len(least)
        slowdown = slots / least[number] if slots is not None and known else None
        stretch = stretches[number] if known else None
        rows.append(
            JobRow(
                run=run,
                slots=slots,
                slowdown=slowdown,
                release=drawing.instance.jobs[number].release if known else None,
                flow=report.flow.get(run.job),
                stretch=None if run.end is None or stretch is None else float(stretch.at(run.end)),
                late=report.tardiness.get(run.job),
                where=_where(assignment),
                tenant=paths.get(drawing.instance.jobs[number].tenant or "", "") if known else "",
                priority=drawing.instance.jobs[number].priority if known else None,
            )
        )
    if len(rows) <= MAX_JOBS:
        return rows
    return sorted(rows, key=lambda row: -(row.slowdown or 0))[:MAX_JOBS]
