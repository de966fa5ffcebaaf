"""The page that compares schedules of arriving jobs: flow times, queue, contention, fairness."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from rarmodel.duration import duration
from rarmodel.errors import UsageError
from rarmodel.schema import Instance, Schedule, SlotTime

from .colours import DASHES, STRONG, Line
from .extra import require_extra
from .finding import Finding
from .lines import LINES, share_y, step_lines
from .played import Class, Played, over_time, played, pooled
from .rendering import rendered
from .steps import Floats, Steps
from .style import finished, time_x
from .view import new_window
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
    by_class: Sequence[tuple[str, Sequence[tuple[str, int, Sequence[float | None]]]]]
    """Kinds of classes; of each class its name, jobs, and the mean flow time of each line."""


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
        If there is no schedule, some job of a schedule never completes, or Altair or vl-convert
        is not installed.
    """
    require_extra()
    if not any(group.lines for group in groups):
        raise UsageError("there is no schedule to compare; run some simulations")
    charts: dict[str, Any] = {}
    sections = []
    for i, group in enumerate(groups):
        section, drawn = _section(group)
        sections.append(section)
        charts |= {f"group-{i}-{key}": one for key, one in drawn.items()}
    return rendered("simulations.html", charts, title=title, sections=sections)


def _section(group: Group) -> tuple[Section, dict[str, Any]]:
    found: dict[Label, list[Played]] = {}
    time, jobs = SlotTime(slot_seconds=1.0), 0
    for label, schedules in group.lines.items():
        found[label] = []
        for instance, schedule in schedules:
            found[label].append(played(instance, schedule))
            time = SlotTime(slot_seconds=instance.time.slot_seconds)
        jobs = max(jobs, sum(len(one.flow) for one in found[label]))
    rows = [_row(name, some) for (name, _), some in found.items()]
    lines = _styles(list(found))
    several = any(len(some) > 1 for some in found.values())
    section = Section(
        name=group.name,
        short=re.sub(r"[^\s,]+=", "", group.name),
        finding=_finding(rows, time.slot_seconds),
        seconds=time.slot_seconds,
        jobs=jobs,
        several=several,
        lines=lines,
        rows=rows,
        by_class=_by_class(list(found.values())),
    )
    return section, _charts(lines, list(found.values()), time)


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


def _finding(rows: Sequence[Row], seconds: float) -> Finding:
    """Whose jobs take least from their release, and how far others and the bound are.

    Slots are told as durations, of so many seconds each.
    """
    ranked = sorted(rows, key=lambda row: row.mean)
    best, worst = ranked[0], ranked[-1]
    parts = []
    if worst.mean > best.mean:
        longer = duration((worst.mean - best.mean) * seconds)
        waits = [duration(one.queueing * seconds) for one in (worst, best)]
        wait = f", and they wait {waits[0]} instead of {waits[1]}" if waits[0] != waits[1] else ""
        above = percent(worst.mean / best.mean - 1)
        parts.append(f"With {worst.label} jobs take {longer} longer ({above}){wait}.")
    if best.ratio is not None:
        most = percent(1 - 1 / best.ratio, up=True)
        saves = f"saves more than {most} of that" if best.ratio > 1 else "is better"
        parts.append(f"It is proven that no schedule {saves}.")
    mean = duration(best.mean * seconds)
    lead = f"{best.label} is best: the mean job completes {mean} after its release."
    return Finding(lead, " ".join(parts))


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
    """Mean flow times by size, by tenant and by priority, where there are several."""
    classes = list(dict.fromkeys(chain.from_iterable(one.classes for o in found for one in o)))
    tables = []
    for kind in ("size", "tenant", "priority"):
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
    lines: Sequence[Line], found: Sequence[Sequence[Played]], time: SlotTime
) -> dict[str, Any]:
    """Charts by name: those over time on one axis, and distributions."""
    end = max(one.end for some in found for one in some)
    several = any(len(some) > 1 for some in found)
    means = ": means over the instances" if several else ""
    over: list[Any] = []
    from_slot = alt.Tooltip("slot:Q", title="from slot", format=",d")
    measures: tuple[tuple[str, str, Callable[[Played], Steps]], ...] = (
        ("Queue over time", "jobs without GPUs", lambda one: one.waiting),
        ("GPUs held", "of all GPUs", lambda one: one.held),
        ("Contention", "jobs that share a link", lambda one: one.slowed),
    )
    for title, axis, what in measures:
        curves = [over_time(some, what, end) for some in found]
        if title == "GPUs held":
            shares = [max(one.gpus for one in some) for some in found]
            curves = [(at, y / gpus) for (at, y), gpus in zip(curves, shares, strict=True)]
            y = share_y(axis, max(float(values.max()) for _, values in curves))
            tip = alt.Tooltip("value:Q", title="GPUs held", format=".1%")
        else:
            y = alt.Y(
                "value:Q", title=axis, scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=4)
            )
            tip = alt.Tooltip("value:Q", title="jobs", format=",.1f")
        x = time_x("slot", end, time)
        over.append(
            step_lines(
                *(lines, curves, x, y, [from_slot, tip]),
                height=150,
                title=f"{title}{means}",
                legend=title == "Contention",
            )
        )
    slots = new_window().slots
    flows = [pooled(some, lambda one: np.maximum(one.flow, 1.0)) for some in found]
    stretches = [pooled(some, lambda one: one.stretch) for some in found]
    since = f"slots of {duration(time.slot_seconds)} from release to completion"
    against = "flow time, divided by what the job takes alone in the cluster"
    return {
        "flow": finished(_apart([_distribution(lines, flows, since, "slots")])),
        "time": finished(_apart(over), selections={LINES: [slots]}),
        "stretch": finished(_apart([_distribution(lines, stretches, against, "at most")])),
    }


def _apart(charts: Sequence[Any]) -> Any:
    return alt.vconcat(*charts).resolve_scale(color="independent", strokeDash="independent")


def _distribution(
    lines: Sequence[Line], values: Sequence[Floats], axis: str, tip: str
) -> alt.LayerChart:
    """The share of all jobs whose value is no greater, over values on a logarithmic axis."""
    low = min(float(one[0]) for one in values)
    high = max(low * 1.1, *(float(one[-1]) for one in values))
    scale = alt.Scale(type="log", domain=[low / 1.05, high * 1.05], nice=False)
    x = alt.X("slot:Q", title=f"{axis} (logarithmic)", scale=scale, axis=alt.Axis(format=",~f"))
    curves = [(one, np.arange(1, len(one) + 1) / len(one)) for one in values]
    tips = [
        alt.Tooltip("slot:Q", title=tip, format=",.4~r"),
        alt.Tooltip("value:Q", title="jobs", format=".1%"),
    ]
    return step_lines(lines, curves, x, share_y("of the jobs"), tips, height=200, title="")
