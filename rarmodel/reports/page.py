"""A report on schedules of one instance, as one HTML page that needs nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel.bounds import all_bounds
from rarmodel.errors import UsageError
from rarmodel.model import job_extremes
from rarmodel.schema import Instance, Schedule

from .charts import MAX_BARS, charts_of, completion_chart
from .colours import COOL, WARM, lines_of
from .comparison import draw_all, ends_of, least_makespan, rows_of
from .drawing import Drawing, Drawn
from .embed import embedded
from .grids import is_large, ring_scale

if TYPE_CHECKING:
    from bokeh.model import Model

TEMPLATES = Path(__file__).parent / "templates"
MAX_VIOLATIONS = 100
MAX_JOBS = 300
EXTRA = "pip install 'rarmodel[report]'"


class JobRow(NamedTuple):
    """A job in a table."""

    run: Drawn
    slots: int | None
    stretch: float | None


def report_page(instance: Instance, schedules: Sequence[Schedule]) -> str:
    """Compare schedules in one page: bounds, verdicts, and charts of each.

    Schedules that break constraints are shown as such, and drawn as far as they can be.

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
    bounds = all_bounds(instance)
    best = max(bounds, key=lambda bound: bound.slots)
    rows = rows_of(drawings, best)
    ends = ends_of(drawings)
    shared = min(ends) if any(drawing.report.feasible for drawing in drawings) else max(ends)
    with_bars = sum(len(drawing.bars) for drawing in drawings) <= MAX_BARS
    groups: dict[str, dict[str, Model]] = {
        "overview": {"overview-completion": completion_chart(drawings, shared)}
    }
    for i, (drawing, end) in enumerate(zip(drawings, ends, strict=True)):
        charts = charts_of(drawing, end, best.slots, with_bars=with_bars)
        groups[f"schedule-{i}"] = {f"schedule-{i}-{name}": c for name, c in charts.items()}
    pages = [
        {
            "row": row,
            "other": made_for if (made_for := drawing.schedule.instance) != instance.name else "",
            "violations": drawing.report.violations[:MAX_VIOLATIONS],
            "large": is_large(drawing),
            "bars": with_bars or not is_large(drawing),
            "scale": ring_scale(drawing),
            "runs": len(drawing.runs),
            "jobs": most_stretched(drawing),
        }
        for drawing, row in zip(drawings, rows, strict=True)
    ]
    return rendered(
        "report.html",
        groups,
        instance=instance,
        rows=rows,
        longest=max((row.makespan or 0 for row in rows), default=0),
        bounds=bounds,
        best=best,
        least=least_makespan(drawings),
        pages=pages,
        warm=", ".join(WARM),
        cool=", ".join(COOL),
        lines=lines_of([drawing.label for drawing in drawings]),
    )


def most_stretched(drawing: Drawing) -> list[JobRow]:
    """All jobs in the schedule's order, or of many those that contention and spread cost most."""
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


def require_report_extra() -> None:
    """Make sure that what pages need is installed.

    Raises
    ------
    UsageError
        If it is not.
    """
    try:
        import bokeh  # noqa: F401, PLC0415
        import jinja2  # noqa: F401, PLC0415
    except ImportError as error:
        message = f"reports need {error.name}, which is not installed; install it with: {EXTRA}"
        raise UsageError(message) from error


def rendered(template: str, groups: Mapping[str, Mapping[str, Model]], **values: Any) -> str:
    """A page from its template, with charts, scripts and styles inside.

    Parameters
    ----------
    template
        Name of the template.
    groups
        Charts that are drawn together, by the id of the element that they are drawn in.
    **values
        What the template shows.
    """
    from bokeh.resources import Resources  # noqa: PLC0415
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        whole=_whole,
        counted=_counted,
        decimal=_decimal,
        mean=_mean,
        significant=_significant,
        percent=_percent,
    )
    scripts = Resources(mode="inline", components=["bokeh"]).js_raw
    return environment.get_template(template).render(
        version=version("rarmodel"),
        css=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        js=(TEMPLATES / "page.js").read_text(encoding="utf-8"),
        bokeh="\n".join(scripts),
        groups={group: _script_data(embedded(c)) for group, c in groups.items()},
        **values,
    )


def _script_data(data: object) -> str:
    """JSON that no name in it can make end its element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _decimal(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _mean(value: float | None) -> str:
    """A mean of whole numbers."""
    return _whole(value) if value is None or value == round(value) else _decimal(value, 1)


def _significant(value: float | None) -> str:
    """Two digits that say something, or all before the point."""
    if not value:
        return _whole(value)
    return _decimal(value, max(0, 1 - math.floor(math.log10(abs(value)))))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
