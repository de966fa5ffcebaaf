"""The report on schedules of one instance, as one HTML page that opens offline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.bounds import all_bounds
from rarmodel.errors import UsageError
from rarmodel.model import job_extremes
from rarmodel.schema import Instance, Schedule

from .charts import MAX_BARS, charts_of, overview_charts
from .colours import COOL, WARM, colouring
from .comparison import Row, draw_all, ends_of, least_makespan, rows_of, shown_bound
from .drawing import Drawing, Drawn
from .finding import finding_of
from .frames import Chart
from .grids import is_large, ring_scale
from .overview import HEIGHT, WIDTH, sparkline
from .rendering import rendered, require_report_extra
from .rows import Level, levels, racks_of

MAX_VIOLATIONS = 100
MAX_JOBS = 300


class JobRow(NamedTuple):
    """A job in a table."""

    run: Drawn
    slots: int | None
    stretch: float | None


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
    best, bounds = shown_bound(drawings), all_bounds(instance)
    rows = rows_of(drawings, best)
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
            best.slots,
            large=large,
            scale=scale,
            highest=highest,
            with_bars=with_bars,
        )
        groups[f"schedule-{i}"] = {f"schedule-{i}-{name}": c for name, c in charts.items()}
    pages = [
        {
            "row": row,
            "other": made_for if (made_for := drawing.schedule.instance) != instance.name else "",
            "violations": drawing.report.violations[:MAX_VIOLATIONS],
            "runs": len(drawing.runs),
            "jobs": most_stretched(drawing),
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
        finding=finding_of(drawings, best),
        chosen=chosen(rows),
        bounds=bounds if best in bounds else (*bounds, best),
        best=best,
        least=least_makespan(drawings),
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


def chosen(rows: Sequence[Row]) -> tuple[int, ...]:
    """The schedules that a page shows at first: the only one, or the best above the worst.

    These are valid schedules, the first of those with equal makespan. If too few are valid, the
    first of the others take their place.
    """
    valid = {i: row.makespan for i, row in enumerate(rows) if row.feasible and row.makespan}
    found = []
    if valid:
        found.append(min(valid, key=valid.__getitem__))
        del valid[found[0]]
    if valid:
        found.append(max(valid, key=valid.__getitem__))
    return tuple([*found, *(i for i in range(len(rows)) if i not in found)][:2])


def row_labels(drawing: Drawing, *, large: bool) -> dict[str, Sequence[Level]]:
    """Labels of the rows of all charts: of servers by their GPUs or alike, and of links."""
    cluster = drawing.instance.cluster
    names = [server.name for server in cluster.servers]
    links = [link.link for link in drawing.links]
    edges = range(len(names) + 1) if large else [*drawing.offsets, cluster.total_gpus]
    return {
        "servers" if large else "gpus": levels(names, edges, racks_of(cluster)),
        "links": levels(links, range(len(links) + 1)),
    }


def most_stretched(drawing: Drawing) -> list[JobRow]:
    """All jobs in the schedule's order; of many, those that contention and spread delay most."""
    least = [extreme.least_slots for extreme in job_extremes(drawing.instance)]
    rows = []
    for run in drawing.runs:
        slots = None if run.end is None else run.end - run.start
        number = drawing.numbers[run.job]
        alone = least[number] if number < len(least) else None
        rows.append(JobRow(run, slots, slots / alone if slots is not None and alone else None))
    if len(rows) <= MAX_JOBS:
        return rows
    return sorted(rows, key=lambda row: -(row.stretch or 0))[:MAX_JOBS]
