"""The page that compares schedules of arriving jobs: flow times, queue, contention, fairness."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from rarmodel.errors import UsageError
from rarmodel.schema import Instance, Schedule

from .colours import DASHES, STRONG, Line
from .finding import Finding
from .frames import Chart, framed, tips_of
from .played import Class, Played, over_time, played, pooled
from .rendering import rendered, require_report_extra
from .steps import Floats
from .words import percent

Label = tuple[str, str]
"""What a line is called, and the part of that which its colour stands for."""


class Group(NamedTuple):
    """Schedules that are compared with each other: each line has one on each instance."""

    name: str
    lines: Mapping[Label, Iterable[tuple[Instance, Schedule]]]


class Row(NamedTuple):
    """A line in the table; slots are over the jobs of all its schedules."""

    label: str
    schedules: int
    mean: float
    median: float
    p95: float
    p99: float
    longest: float
    queueing: float
    held: float
    shared: float
    stretch: float
    ratio: float | None


class Section(NamedTuple):
    """The content of the page for one group."""

    name: str
    short: str
    """The name for a tab: of settings, their values."""
    finding: Finding
    seconds: float
    jobs: int
    several: bool
    lines: Sequence[Line]
    rows: Sequence[Row]
    charts: Sequence[tuple[str, str, str]]
    """Name, heading, and what is said below it."""
    by_class: Sequence[tuple[str, Sequence[tuple[str, int, Sequence[float | None]]]]]
    """Kinds of classes; of each class its name, jobs, and the mean flow time of each line."""


CHARTS = {
    "flow": (
        "Flow times",
        (
            "Share of the jobs that are complete so many slots after their release, on a "
            "logarithmic axis: the further left, the shorter."
        ),
    ),
    "queue": ("Queue over time", "Jobs that have arrived and hold no GPU."),
    "held": ("GPUs held", "Share of all GPUs that jobs hold."),
    "slowed": ("Contention", "Jobs whose ring shares a link with another ring."),
    "stretch": (
        "Fairness",
        (
            "Share of the jobs whose flow time is at most so many times what they take alone in "
            "the cluster, on a logarithmic axis: a long tail is unfair."
        ),
    ),
}


def simulations_page(title: str, groups: Sequence[Group]) -> str:
    """Compare schedules of arriving jobs in one HTML page that opens offline.

    Parameters
    ----------
    title
        What the page is about.
    groups
        At least one; each has a tab. Of several schedules of a line, jobs are pooled, and lines
        over time are means.

    Raises
    ------
    UsageError
        If there is no schedule, some job of a schedule never completes, or Jinja2 or Bokeh is not
        installed.
    """
    require_report_extra()
    if not any(group.lines for group in groups):
        raise UsageError("there is no schedule to compare; run some simulations")
    charts, sections = {}, []
    for i, group in enumerate(groups):
        section, drawn = _section(group)
        sections.append(section)
        charts[f"group-{i}"] = {f"group-{i}-{key}": one for key, one in drawn.items()}
    return rendered("simulations.html", charts, {}, title=title, sections=sections)


def _section(group: Group) -> tuple[Section, dict[str, Chart]]:
    found: dict[Label, list[Played]] = {}
    seconds, jobs = 1.0, 0
    for label, schedules in group.lines.items():
        found[label] = []
        for instance, schedule in schedules:
            found[label].append(played(instance, schedule))
            seconds = instance.time.slot_seconds
        jobs = max(jobs, sum(len(one.flow) for one in found[label]))
    rows = [_row(name, some) for (name, _), some in found.items()]
    lines = _styles(list(found))
    several = any(len(some) > 1 for some in found.values())
    section = Section(
        name=group.name,
        short=re.sub(r"[^\s,]+=", "", group.name),
        finding=_finding(rows),
        seconds=seconds,
        jobs=jobs,
        several=several,
        lines=lines,
        rows=rows,
        charts=[(key, heading, told) for key, (heading, told) in CHARTS.items()],
        by_class=_by_class(list(found.values())),
    )
    return section, _charts(lines, list(found.values()), seconds)


def _row(label: str, some: Sequence[Played]) -> Row:
    flow = np.concatenate([one.flow for one in some])
    bounds = [one.bound for one in some]
    bound = sum(float(one) for one in bounds if one is not None)
    area = sum(one.gpus * one.end for one in some)
    return Row(
        label=label,
        schedules=len(some),
        mean=float(flow.mean()),
        median=float(np.median(flow)),
        p95=float(np.percentile(flow, 95)),
        p99=float(np.percentile(flow, 99)),
        longest=float(flow.max()),
        queueing=float(np.concatenate([one.queueing for one in some]).mean()),
        held=sum(one.held.integral(one.end) for one in some) / area,
        shared=float(np.mean([one.shared for one in some])),
        stretch=max(float(one.stretch.max()) for one in some),
        ratio=sum(float(one.weighted) for one in some) / bound
        if bound > 0 and None not in bounds
        else None,
    )


def _finding(rows: Sequence[Row]) -> Finding:
    """Whose jobs take least from their release, and how far others and the bound are."""
    ranked = sorted(rows, key=lambda row: row.mean)
    best, worst = ranked[0], ranked[-1]
    parts = []
    if worst.mean > best.mean:
        above = percent(worst.mean / best.mean - 1)
        parts.append(f"The mean flow time of {worst.label} is {above} above that.")
    if best.ratio is not None:
        most = percent(1 - 1 / best.ratio, up=True) if best.ratio > 1 else "0%"
        parts.append(f"No schedule saves more than {most} of it: that is proven.")
    return Finding(f"{best.label} has the least mean flow time.", " ".join(parts))


def _styles(labels: Sequence[Label]) -> list[Line]:
    """A colour for each base, and dashes for its variants."""
    bases = list(dict.fromkeys(base for _, base in labels))
    used = dict.fromkeys(bases, 0)
    found = []
    for name, base in labels:
        colour = STRONG[bases.index(base) % len(STRONG)]
        found.append(Line(name, colour, DASHES[used[base] % len(DASHES)]))
        used[base] += 1
    return found


def _by_class(
    found: Sequence[Sequence[Played]],
) -> list[tuple[str, list[tuple[str, int, list[float | None]]]]]:
    """Mean flow times by size and by tenant, where there are several."""
    classes = list(dict.fromkeys(chain.from_iterable(one.classes for o in found for one in o)))
    tables = []
    for kind in ("size", "tenant"):
        own = [one for one in classes if one.kind == kind]
        if len(own) > 1:
            rows = []
            for one in own:
                flows = [_of_class(some, one) for some in found]
                means = [float(flow.mean()) if len(flow) else None for flow in flows]
                rows.append((one.name, max(map(len, flows)), means))
            tables.append((kind, rows))
    return tables


def _of_class(some: Sequence[Played], one: Class) -> Floats:
    return np.concatenate([p.flow[p.classes.get(one, [])] for p in some])


def _charts(
    lines: Sequence[Line], found: Sequence[Sequence[Played]], seconds: float
) -> dict[str, Chart]:
    """Charts by name; those over time share their axis."""
    from bokeh.models import Range1d  # noqa: PLC0415 - an extra

    from .charts import time_axis  # noqa: PLC0415

    end = max(one.end for some in found for one in some)
    time = time_axis(end)
    charts = {}
    for key, what in (
        ("queue", lambda one: one.waiting),
        ("held", lambda one: one.held),
        ("slowed", lambda one: one.slowed),
    ):
        curves = [over_time(some, what, end) for some in found]
        if key == "held":
            shares = [max(one.gpus for one in some) for some in found]
            curves = [(at, y / gpus) for (at, y), gpus in zip(curves, shares, strict=True)]
        top = max([1.0, *(float(values.max()) for _, values in curves)])
        axis = {"kind": "percent"} if key == "held" else {"kind": "number"}
        chart = framed(
            {"kind": "slots", "seconds": seconds}, axis, 170, x_range=time, y_range=(0, top * 1.03)
        )
        unit = ("GPUs held", "@y{0.0%}") if key == "held" else ("jobs", "@y{0,0.0}")
        _draw(chart, lines, curves, [("from slot", "@x{0,0}"), unit])
        charts[key] = chart
    measures: tuple[tuple[str, Callable[[Played], Floats]], ...] = (
        ("flow", lambda one: np.maximum(one.flow, 1.0)),
        ("stretch", lambda one: one.stretch),
    )
    for key, measure in measures:
        curves = [_shares(pooled(some, measure)) for some in found]
        low = min(float(x[0]) for x, _ in curves)
        high = max(float(x[-1]) for x, _ in curves)
        chart = framed(
            {"kind": "log"},
            {"kind": "percent"},
            220,
            x_range=Range1d(low / 1.05, max(high, low * 1.1) * 1.05),
            y_range=(0, 1.03),
            x_axis_type="log",
        )
        within = ("within slots", "@x{0,0}") if key == "flow" else ("at most", "@x{0,0.00} times")
        _draw(chart, lines, curves, [within, ("jobs", "@y{0.0%}")])
        charts[key] = chart
    return charts


def _shares(values: Floats) -> tuple[Floats, Floats]:
    """Values in order, and the share of all that are no greater."""
    return values, np.arange(1, len(values) + 1) / len(values)


def _draw(
    chart: Chart,
    lines: Sequence[Line],
    curves: Sequence[tuple[Floats, Floats]],
    tips: Sequence[tuple[str, str]],
) -> None:
    from bokeh.models import HoverTool  # noqa: PLC0415 - an extra

    drawn: list[Any] = [
        chart.figure.step(
            "x",
            "y",
            source={"x": x, "y": y, "name": [line.name] * len(x)},
            mode="after",
            line_width=1.8,
            line_color=line.colour,
            line_dash=line.dash,
        )
        for line, (x, y) in zip(lines, curves, strict=True)
    ]
    tooltips = tips_of([("schedule", "@name"), *tips])
    chart.figure.add_tools(HoverTool(renderers=drawn, tooltips=tooltips, line_policy="prev"))
