"""The charts of schedules together: one below the other for a picture, linked for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import altair as alt

from rarmodel import registry
from rarmodel.counting import counted
from rarmodel.errors import UsageError

from .colours import UNKNOWN
from .finding import finding_of
from .gantt import GANTT, gantt, gantt_height, has_single_jobs
from .heat import LINKS, links, links_height
from .lines import LINES, completed, utilisation
from .parts import PARTS
from .resource_use import drawn_resources, resource_use
from .shown import Shown
from .style import finished
from .view import new_window, zooms_rows
from .words import shortened

PLACES = ("above", "below")
"""Names of the parameters with the schedules that the reader chooses."""


def schedules_chart(shown: Shown, parts: Sequence[str] | None = None) -> alt.VConcatChart:
    """Charts of schedules below each other, part by part, on one axis of time.

    If bounds are known, the finding is above the charts. A schedule that breaks constraints and
    lasts longer than the valid ones has its own axis.

    Parameters
    ----------
    shown
        The schedules.
    parts
        Parts to draw of each schedule: `gantt`, a row for each GPU and a bar for each job (or, if
        they are too many, the share of each server's GPUs that is held); `contention`, the rings
        on each link; `utilisation`, the share of all GPUs that is held; `resources`, how much of
        each resource is used, beside its capacity. By default all; contention only if some ring
        crosses a link, and resources only if jobs use some. A schedule without such a ring has no
        chart of its links beside those of others.

    Raises
    ------
    UsageError
        If there is no part, or a part does not exist or has nothing to show.
    """
    resources = drawn_resources(shown.instance)
    if parts is None:
        there = any(drawing.most_rings for drawing in shown.drawings)
        without = {"contention": not there, "resources": not resources}
        parts = [part for part in PARTS if not without.get(part)]
    if not parts:
        raise UsageError("a plot needs at least one part of its schedules")
    if unknown := [part for part in parts if part not in PARTS]:
        hint = registry.meant(unknown[0], PARTS)
        raise UsageError(f"no part {unknown[0]!r} of plots; choose from {', '.join(PARTS)}{hint}")
    if "resources" in parts and not resources:
        raise UsageError("no jobs of the instance use resources, so a plot has no such part")
    charts: list[Any] = []
    every = range(len(shown.drawings))
    highest = {1: 620, 2: 400}.get(len(every), 290)
    for part in parts:
        drawn = _with_rings(shown, every) or every if part == "contention" else every
        last = drawn[-1]
        for i in drawn:
            own = i in shown.alone
            slots = own or i == last or i + 1 in shown.alone
            if part == "gantt":
                height = gantt_height(shown, highest)
                chart: Any = gantt(shown, i, height=height, legend=i == last, slots=slots)
            elif part == "contention":
                height = links_height(shown, 0.6 * highest)
                chart = links(shown, i, height=height, legend=i == last, slots=slots)
            elif part == "resources":
                charts += [
                    resource_use(
                        *(shown, [i], limit),
                        end=shown.ends[i],
                        title=shown.titles(f"use of {limit.name} over time")[i],
                        slots=slots,
                        legend=False,
                    )
                    for limit in resources
                ]
                continue
            else:
                end, title = shown.ends[i], shown.titles("GPUs held")[i]
                chart = utilisation(shown, [i], end=end, title=title, slots=slots, legend=False)
            charts.append(chart)
    return look(alt.vconcat(*charts, spacing=14).properties(title=heading(shown)), shown)


def linked_charts(shown: Shown, chosen: Sequence[int]) -> alt.VConcatChart:
    """Charts of schedules for a page: two schedules above each other, moved and zoomed together.

    Of more than two schedules, the reader chooses which two are in view. If a schedule breaks
    constraints and lasts longer than the valid ones, the two are moved and zoomed apart.

    Parameters
    ----------
    shown
        The schedules.
    chosen
        The schedules that are in view at first, by index: one or two.
    """
    every, apart = range(len(shown.drawings)), bool(shown.alone)
    window = new_window()
    windows = (window, new_window("slots_below") if apart else window)
    choice = len(every) > 2
    names: Sequence[int | str] = PLACES if choice else chosen
    places = list(zip(names, windows[: len(chosen)], strict=True))
    strong = " || ".join(f"datum.line == {which}" for which, _ in places) if choice else None
    height = gantt_height(shown, 400 if len(places) > 1 else 640)
    selections: dict[str, list[alt.Parameter]] = {LINES: [window.slots]}
    # Of schedules that the reader chooses, any may come to have rings on links.
    crossed = _with_rings(shown, every if choice else chosen)
    mapped = list(range(len(places))) if choice and crossed else []
    mapped = mapped or [k for k, (which, _) in enumerate(places) if which in crossed]
    gantts, maps = [], []
    for k, (which, linked) in enumerate(places):
        last = k + 1 == len(places)
        options: dict[str, Any] = {"legend": last, "slots": last or apart, "linked": linked}
        gantts.append(gantt(shown, which, height=height, name=f"{GANTT}{k}", **options))
        rows = [linked.gpus] if zooms_rows(shown, height) else []
        selections[f"{GANTT}{k}"] = [linked.slots, linked.pointed, *rows]
        if k in mapped:
            last = k == mapped[-1]
            options |= {"legend": last, "slots": last or apart}
            high = links_height(shown, 320)
            maps.append(links(shown, which, height=high, name=f"{LINKS}{k}", **options))
            selections[f"{LINKS}{k}"] = [linked.slots]
    charts = [
        *gantts,
        utilisation(shown, every, strong=strong, legend=len(every) > 1),
        *(
            resource_use(
                *(shown, every, limit),
                title=f"Use of {limit.name} over time; dashed: capacity",
                strong=strong,
                legend=len(every) > 1,
            )
            for limit in drawn_resources(shown.instance)
        ),
        completed(shown, strong=strong),
        *maps,
    ]
    choices = [
        alt.param(
            name=name,
            value=value,
            bind=alt.binding_select(
                options=list(every), labels=shown.labels, name=name.capitalize()
            ),
        )
        for name, value in zip(PLACES, chosen, strict=False)
    ]
    params = [*(choices if choice else []), *([window.find] if has_single_jobs(shown) else [])]
    return look(alt.vconcat(*charts, spacing=16), shown, params, selections)


def _with_rings(shown: Shown, schedules: Sequence[int]) -> list[int]:
    """Those of some schedules in which a ring crosses a link."""
    return [i for i in schedules if shown.drawings[i].most_rings]


def look(
    chart: Any,
    shown: Shown,
    params: Sequence[alt.Parameter] = (),
    selections: Mapping[str, Sequence[alt.Parameter]] | None = None,
) -> Any:
    """A chart of schedules with the colours of their jobs; parameters as of `finished`."""
    # Each chart has its own legend, below it.
    apart = dict.fromkeys(
        ("color", "fill", "stroke", "strokeDash", "shape", "opacity"), "independent"
    )
    chart = chart.resolve_scale(**apart)
    classes = [one.colour for one in shown.colours.classes]
    return finished(chart, params, selections, range={"ordinal": [*classes, UNKNOWN]})


def headed(chart: Any, sentence: str) -> Any:
    """A chart of schedules with a sentence above its finding; as it is without one."""
    if not sentence:
        return chart
    found = chart.title
    below = [*found.text, *found.subtitle] if isinstance(found, alt.Title) else []
    title = alt.Title(wrap(sentence, 95), subtitle=below, fontSize=17, offset=14, subtitlePadding=6)
    chart = chart.copy(deep=False)
    chart.title = title
    return chart


def heading(shown: Shown) -> alt.Title | str:
    """The finding above a plot; nothing where no bounds are known."""
    if shown.aims is None:
        return ""
    instance, found = shown.instance, finding_of(shown.drawings, shown.aims)
    size = f"{counted(len(instance.jobs), 'job')}, {counted(instance.cluster.total_gpus, 'GPU')}"
    over = f"{shortened(instance.name, 100)}: {size}"
    return alt.Title(
        wrap(found.lead, 95),
        subtitle=[*wrap(found.detail, 150), over],
        fontSize=17,
        offset=14,
        subtitlePadding=6,
    )
