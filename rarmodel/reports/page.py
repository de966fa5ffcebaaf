"""The report on schedules of one instance, as one HTML page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.bounds import ValueBound, all_bounds, objective_bounds, relative_gap
from rarmodel.errors import UsageError
from rarmodel.model import job_extremes
from rarmodel.model.objectives import MAKESPAN, MAX_STRETCH, SLOTS, Value
from rarmodel.schema import Instance, Schedule

from .aims import Aim, aims_of, on_length, ranked, values_told
from .charts import MAX_BARS, charts_of, overview_charts
from .colours import COOL, WARM, colouring
from .comparison import draw_all, ends_of, rows_of
from .drawing import Drawing, Drawn
from .finding import finding_of
from .frames import Chart
from .grids import is_large, ring_scale
from .moments import shown_in, waits
from .overview import HEIGHT, WIDTH, sparkline
from .rendering import rendered, require_report_extra
from .rows import Level, kinds_of, levels, racks_of

MAX_VIOLATIONS = 100
MAX_JOBS = 300


class JobRow(NamedTuple):
    """A job in a table: slots it takes, beside its least; and since its release."""

    run: Drawn
    slots: int | None
    slowdown: float | None
    release: int | None
    flow: int | None
    stretch: float | None
    late: int | None


class BoundRow(NamedTuple):
    """A bound in a table, with the gap of the best valid schedule to it.

    The condition says in words for which schedules it holds; it is empty if it holds for all.
    """

    aim: Aim
    bound: ValueBound
    gap: float | None
    condition: str


def report_page(instance: Instance, schedules: Sequence[Schedule]) -> str:
    """Compare schedules in one page: finding, bounds, verdicts, and charts of each.

    Schedules that break constraints are marked, and drawn as far as possible.

    Parameters
    ----------
    instance
        The problem.
    schedules
        At least one; each is verified.

    Raises
    ------
    UsageError
        If there is no schedule, or Jinja2 or Bokeh is not installed.
    """
    require_report_extra()
    if not schedules:
        raise UsageError("a report needs at least one schedule")
    drawings = draw_all(instance, schedules)
    aims = aims_of(drawings)
    length = on_length(aims)
    rows = rows_of(drawings, aims)
    ends = ends_of(drawings)
    shared = min(ends) if any(drawing.report.feasible for drawing in drawings) else max(ends)
    large, scale = is_large(drawings), ring_scale(drawings)
    highest = 400 if len(drawings) > 1 else 640  # Two must be seen at once.
    with_bars = not large or sum(len(drawing.bars) for drawing in drawings) <= MAX_BARS
    overview = overview_charts(drawings, shared)
    groups = {"overview": {f"overview-{name}": chart for name, chart in overview.items()}}
    for i, (drawing, end) in enumerate(zip(drawings, ends, strict=True)):
        charts: dict[str, Chart] = charts_of(
            drawing,
            end,
            None if length is None else int(length.claims[i].bound.value),
            large=large,
            scale=scale,
            highest=highest,
            with_bars=with_bars,
        )
        groups[f"schedule-{i}"] = {f"schedule-{i}-{name}": c for name, c in charts.items()}
    pages = [
        {
            "row": row,
            "told": values_told(drawing),
            "reached": _values(drawing),
            "other": made_for if (made_for := drawing.schedule.instance) != instance.name else "",
            "violations": drawing.report.violations[:MAX_VIOLATIONS],
            "runs": len(drawing.whole),
            "jobs": slowest(drawing),
            "alone": end != shared,
            "path": sparkline(drawing, shared),
        }
        for drawing, row, end in zip(drawings, rows, ends, strict=True)
    ]
    return rendered(
        "report.html",
        groups,
        row_labels(drawings[0], large=large),
        instance=instance,
        seconds=instance.time.slot_seconds,
        slot_time=instance.time,
        finding=finding_of(drawings, aims),
        chosen=chosen(aims),
        aims=aims,
        length=length,
        by_length=aims[0].objective is MAKESPAN and len(aims) == 1,
        slots=SLOTS,
        bounds=[row for aim in aims for row in bound_rows(instance, aim)],
        waits=waits(instance),
        shown=shown_in(drawings, large=large),
        due=any(job.due is not None for job in instance.jobs),
        pages=pages,
        large=large,
        bars=with_bars,
        faults=any(not row.feasible for row in rows),
        rings=max(row.rings for row in rows),
        scale=scale,
        spark=(WIDTH, HEIGHT),
        warm=", ".join(WARM),
        cool=", ".join(COOL),
        classes=colouring(instance).classes,
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


def row_labels(drawing: Drawing, *, large: bool) -> dict[str, Sequence[Level]]:
    """Labels of the rows of all charts: of servers by their GPUs or alike, and of links."""
    cluster = drawing.instance.cluster
    names = [server.name for server in cluster.servers]
    links = [link.link for link in drawing.links]
    edges = range(len(names) + 1) if large else [*drawing.offsets, cluster.total_gpus]
    return {
        "servers" if large else "gpus": levels(
            names, edges, racks_of(cluster), kinds=kinds_of(cluster)
        ),
        "links": levels(links, range(len(links) + 1)),
    }


def slowest(drawing: Drawing) -> list[JobRow]:
    """All jobs in the schedule's order; of many, those that contention and spread delay most."""
    least = [extreme.least_slots for extreme in job_extremes(drawing.instance)]
    stretches = MAX_STRETCH.terms(drawing.instance)
    report = drawing.report
    rows = []
    for run in drawing.whole:
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
            )
        )
    if len(rows) <= MAX_JOBS:
        return rows
    return sorted(rows, key=lambda row: -(row.slowdown or 0))[:MAX_JOBS]
