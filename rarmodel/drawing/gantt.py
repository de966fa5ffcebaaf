"""The Gantt chart: who runs where, and when.

Rows are GPUs, server by server, and each job is a bar on the GPUs that it holds. In a large
cluster rows are servers, coloured by the share of their GPUs that is held; single jobs come into
view when the reader zooms in.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from rarmodel.counting import counted
from rarmodel.errors import one_line
from rarmodel.model import job_extremes
from rarmodel.model.gpu_sharing import shares_gpus

from .colours import AWAY, COOL, FAULT, NETWORK, PAPER, SERVING, ink_on
from .gantt_marks import jobs_moments, length_lines, parts_of_bars
from .grids import utilisation_grid
from .heat import heat_map
from .moments import asked_for
from .row_labels import kinds_of, levels, racks_of, row_labels, rows_title
from .shown import Shown
from .style import clock, counted_expression, duration_expression, one_of, rows, shade
from .view import View, Window

GANTT = "gantt"
"""Beginning of the names of the units that selections are of."""
MAX_BARS = 100_000
"""Most bars of a large cluster; if there are more, single jobs are left out."""
IN_VIEW = 800
"""Single jobs of a large cluster come into view where the window holds about as many."""
OPACITIES = (1, 0.92, 0.84)
"""Of jobs of equal size, so that neighbours are distinct."""
AWAY_WORDS, REPLICA_WORDS = "GPUs reserved", "replicas of services"
SPREAD, BROKEN = "ring over several servers", "job that breaks a constraint"
LETTER = 6.4
"""Width of a letter in a bar, in pixels."""
TITLED = 100
"""Least height of a chart with a long title beside it, in pixels."""
Layers = list[alt.Chart]


def gantt_height(shown: Shown, highest: float) -> int:
    """Height of the frame in pixels: rows of limited height, and a limited total.

    GPUs of which jobs take slices have rows of twice the height.
    """
    cluster = shown.instance.cluster
    count = len(cluster.servers) if shown.large else cluster.total_gpus
    count *= 1 + shares_gpus(shown.instance)
    return round(min(max(count * 2, min(count * 26, 300), 72), highest))


def gantt(
    shown: Shown,
    which: int | str,
    *,
    height: int,
    legend: bool = True,
    slots: bool = True,
    linked: Window | None = None,
    name: str = GANTT,
) -> alt.LayerChart:
    """The Gantt chart of one schedule.

    Parameters
    ----------
    shown
        The schedules.
    which
        The index of the schedule, or the name of a parameter with it, which the reader chooses.
    height
        Height of the frame in pixels.
    legend
        Whether the chart has a legend.
    slots
        Whether the axis of time has labels.
    linked
        The selections that charts have in common; None for a picture.
    name
        Name of the unit that selections are of.
    """
    cluster = shown.instance.cluster
    count = len(cluster.servers) if shown.large else cluster.total_gpus
    view = View(shown, which, height, count, linked, legend=legend, slots=slots)
    layers: Layers = [view.frame(name)]
    if shown.large:
        layers.append(_held(view))
    if has_single_jobs(shown) and (linked is not None or not shown.large):
        bars = rows(_bars(shown), names=[server.name for server in cluster.servers])
        drawn = bars = bars.transform_filter(view.chosen)
        if shown.large:
            drawn = drawn.transform_filter(f"{_few(view)} && {view.in_window}")
        layers += [*_reserved(view), *_jobs(view, drawn), *parts_of_bars(view)]
        layers += [*_names(view, drawn), *_marked(view, bars)]
    else:
        layers += _reserved(view)
    layers += [*jobs_moments(view), *length_lines(view)]
    names = [server.name for server in cluster.servers]
    edges = range(len(names) + 1) if shown.large else [*shown.drawings[0].offsets, count]
    found = levels(names, edges, racks_of(cluster), kinds=kinds_of(cluster))
    of_rows = "servers" if shown.large else "GPUs by server" if height >= TITLED else "GPUs"
    labels = row_labels(found, height, view.y("row"), view.span, view.row_in_window)
    layers += [*labels, rows_title(of_rows, found, height)]
    title = alt.expr(one_of(shown.titles(), which)) if isinstance(which, str) else None
    return alt.layer(
        *layers, height=height, title=alt.Title(title or shown.titles()[int(which)])
    ).resolve_scale(color="independent")


def has_single_jobs(shown: Shown) -> bool:
    """Whether single jobs are drawn: always, unless a large cluster has too many."""
    return not shown.large or sum(len(drawing.bars) for drawing in shown.drawings) <= MAX_BARS


def _bars(shown: Shown) -> dict[str, list[Any]]:
    """A row for each block of GPUs that a job holds, of all schedules."""
    colours = shown.colours
    least = [extreme.least_slots for extreme in job_extremes(shown.instance)]
    names = (
        *("schedule", "job", "slot", "until", "end", "top", "bottom", "server", "first", "held"),
        *(
            "size",
            "servers",
            "rings",
            "least",
            "kind",
            "shade",
            "edge",
            "asked",
            "tenant",
            "slices",
        ),
    )
    found: dict[str, list[Any]] = {name: [] for name in names}
    for i, (drawing, end) in enumerate(zip(shown.drawings, shown.ends, strict=True)):
        asked = [asked_for(drawing, run) for run in drawing.runs]
        for bar in drawing.bars:
            run = drawing.runs[bar.run]
            number = drawing.numbers[run.job]
            known = number < len(least)
            top, bottom = drawing.edges_of(bar, large=shown.large)
            lane = bar.lane
            row = (
                *(i, run.job, run.start, drawing.shown_until(run, end)),
                run.end if run.end is not None or run.carried_out else "",
                *(top, bottom, bar.server, bar.first, bar.gpus),
                *(run.size or 0, len(run.servers), run.rings, least[number] if known else None),
                colours.class_of(number, run.size),
                colours.shades[number] if known else 0,
                2 if run.faulty else int(run.spread),
                asked[bar.run],
                (shown.instance.jobs[number].tenant or "") if known else "",
                f", {lane.slices} of {counted(lane.of, 'slice')}" if lane else "",
            )
            for name, value in zip(names, row, strict=True):
                found[name].append(value)
    if not any(found["asked"]):
        del found["asked"]
    if not any(found["tenant"]):
        del found["tenant"]
    if not any(found["slices"]):
        del found["slices"]
    return found


def _held(view: View) -> alt.Chart:
    """The share of each server's GPUs that is held."""
    grids = []
    for drawing, end in zip(view.shown.drawings, view.shown.ends, strict=True):
        grid = utilisation_grid(drawing, end)
        grids.append(grid._replace(values=np.rint(100 * grid.values)))
    colour = alt.Color(
        "value:Q",
        title="share of the server's GPUs held, %",
        scale=alt.Scale(domain=[0, 100], range=list(COOL)),
        legend=alt.Legend(gradientLength=160) if view.legend else None,
    )
    chart = heat_map(view, grids, colour, "server", ("GPUs held", "format(datum.value, 'd') + '%'"))
    if view.linked is not None and has_single_jobs(view.shown):
        return chart.transform_filter(f"!{_few(view)}")
    return chart


def _few(view: View) -> str:
    """Expression: whether the window is so small that single jobs can be seen."""
    bars = max(len(drawing.bars) for drawing in view.shown.drawings)
    part = f"({view.until} - {view.begin}) * {view.span} / ({view.end} * {view.rows})"
    return f"({part} * {bars} <= {IN_VIEW})"


def _jobs(view: View, drawn: alt.Chart) -> Layers:
    """Bars: rings on several servers have a warm edge, jobs that break a constraint a red one."""
    shown, colours = view.shown, view.shown.colours
    classes = [one.name for one in colours.classes]
    unknown = colours.unknown
    runs = [(drawing.numbers[run.job], run) for drawing in shown.drawings for run in drawing.runs]
    if any(colours.class_of(number, run.size) is None for number, run in runs):
        classes.append(unknown)
    edges = [
        *([SPREAD] if any(run.spread and not run.faulty for _, run in runs) else []),
        *([BROKEN] if any(run.faulty for _, run in runs) else []),
    ]
    row = view.height / view.rows / (shown.instance.cluster.total_gpus / view.rows)
    legend = {} if view.legend else {"legend": None}
    calculated = {
        "job_class": f"datum.kind === null ? '{unknown}' : {one_of(classes, 'datum.kind')}",
        "edges": one_of(["", SPREAD, BROKEN], "datum.edge"),
        "opacity": f"datum.edge == 2 ? 0.6 : [{', '.join(map(str, OPACITIES))}][datum.shade]",
        **_told(shown),
    }
    tips = [
        *(("job", "told"), ("ring", "ring"), ("here", "here"), ("slots", "slots")),
        *(("time", "time"), ("contention", "shared")),
    ]
    if any(job.tenant for job in shown.instance.jobs):
        tips.insert(1, ("tenant", "tenant"))
    if any(asked_for(drawing, run) for drawing in shown.drawings for run in drawing.runs):
        tips.append(("asked for", "asked"))
    bars = (
        drawn.transform_calculate(**calculated)
        .mark_rect(clip=True)
        .encode(
            **view.sides,
            fill=alt.Fill(
                "job_class:O", title="Jobs of", scale=alt.Scale(domain=classes), **legend
            ),
            fillOpacity=alt.FillOpacity("opacity:Q", scale=None),
            stroke=_edge(edges, legend=view.legend),
            strokeWidth=alt.when("datum.edge == 2")
            .then(alt.value(2))
            .when("datum.edge == 1")
            .then(alt.value(min(max(row * 0.4, 0.7), 1.6)))
            .otherwise(alt.value(0.2 if row < 3 else 0.5)),
            tooltip=[alt.Tooltip(f"{field}:N", title=title) for title, field in tips],
        )
    )
    return [bars]


def _edge(edges: list[str], *, legend: bool) -> Any:
    """The colours of edges, of which the legend names those that occur."""
    plain = alt.value("#10161d66")
    if not edges:
        return alt.StrokeValue("#10161d66")
    colours = {SPREAD: NETWORK, BROKEN: FAULT}
    scale = alt.Scale(domain=edges, range=[colours[edge] for edge in edges])
    named = alt.Stroke(
        "edges:N",
        title=None,
        scale=scale,
        legend=alt.Legend(symbolFillColor="transparent") if legend else None,
    )
    return alt.when("datum.edge > 0").then(named).otherwise(plain)


def _told(shown: Shown) -> dict[str, str]:
    """Expressions of what is told of a job beside the pointer."""
    time = shown.time
    gpus = "(datum.held == 1 ? 'GPU ' + datum.first : 'GPUs ' + datum.first + ' to ' + "
    ring = f"datum.size ? {counted_expression('datum.size', 'GPU')} : 'unknown size'"
    slices = " + datum.slices" if shares_gpus(shown.instance) else ""
    start, end = "format(datum.slot, ',d')", "format(datum.end, ',d')"
    takes = "datum.end - datum.slot"
    alone = "(datum.least === null ? '' : '; alone at least ' + format(datum.least, ',d'))"
    begins = clock(time, "datum.slot")
    lasts = duration_expression(f"(({takes}) * {time.slot_seconds!r})")
    return {
        "told": "datum.job + (datum.edge == 2 ? ' (breaks a constraint)' : '')",
        "ring": f"({ring}) + ' on ' + {counted_expression('datum.servers', 'server')}",
        "here": f"datum.names[datum.server] + ', ' + {gpus}(datum.first + datum.held - 1)){slices}",
        "slots": (
            f"datum.end === null ? 'from ' + {start} + ', never complete' : "
            f"datum.end === '' ? 'from ' + {start} + '; cannot be carried out' : "
            f"{start} + ' to ' + {end} + ' (' + format({takes}, ',d') + {alone} + ')'"
        ),
        "time": (
            f"datum.end === null || datum.end === '' ? 'from ' + {begins} : "
            f"{begins} + ' to ' + {clock(time, 'datum.end')} + ' (' + {lasts} + ')'"
        ),
        "shared": (
            "datum.rings == 0 ? 'uses no link' : "
            f"'at most ' + {counted_expression('datum.rings', 'ring')} + ' on a link it uses'"
        ),
    }


def _names(view: View, drawn: alt.Chart) -> Layers:
    """Names of jobs in the bars that have room for them."""
    colours = view.shown.colours
    white = [i for i, one in enumerate(colours.classes) if ink_on(one.colour) == PAPER]
    dark = f"indexof({white}, datum.kind) >= 0" if white else "false"
    return [_texts(view, drawn, "job", f"{dark} ? '#ffffff' : '#10161d'")]


def _texts(view: View, drawn: alt.Chart, field: str, colour: str | alt.ExprRef) -> alt.Chart:
    """Names in rectangles that have room for them; a long name may lose its end."""
    end = f"min(datum.until, {view.until})"
    begin = f"max(datum.slot, {view.begin})"
    ink = alt.ExprRef(colour) if isinstance(colour, str) else colour
    return (
        drawn.transform_calculate(
            room=f"({end} - {begin}) * {view.across} / ({view.until} - {view.begin})",
            middle=f"({end} + {begin}) / 2",
            high=f"(datum.bottom - datum.top) * {view.height} / {view.span}",
            row="(datum.top + datum.bottom) / 2",
        )
        .transform_filter(
            f"datum.high >= 11 && datum.room >= 14 && "
            f"datum.room >= min(length(datum.{field}) * {LETTER}, 56) + 6"
        )
        .mark_text(
            clip=True, fontSize=11, limit=alt.ExprRef("datum.room - 4"), color=ink, ellipsis="…"
        )
        .encode(x=view.time("middle"), y=view.y("row"), text=f"{field}:N")
    )


def _marked(view: View, drawn: alt.Chart) -> Layers:
    """The blocks of the job at the pointer, and of the job that the reader looks for."""
    if view.linked is None:
        return []
    style: dict[str, Any] = {"clip": True, "filled": True, "fillOpacity": 0.25, "strokeWidth": 2.5}
    pointed = (
        drawn.transform_filter(view.linked.pointed)
        .mark_rect(**style, fill=shade("ink"), stroke=shade("ink"))
        .encode(**view.sides)
    )
    found = (
        drawn.transform_filter("find != '' && datum.job == find")
        .mark_rect(**style, fill=shade("found"), stroke=shade("found"))
        .encode(**view.sides)
    )
    told = {**_told(view.shown), "hit": "datum.job == find ? 1 : 0"}
    parts = "datum.best.told + '; ' + datum.best.ring + '; ' + datum.best.slots + '; ' + "
    said = (
        drawn.transform_filter("find != ''")
        .transform_calculate(**told)
        .transform_aggregate(best="argmax(hit)")
        .transform_calculate(
            said=(
                f"find == '' ? '' : datum.best.hit ? {parts} datum.best.shared"
                " + (datum.best.asked ? '; ' + datum.best.asked : '')"
                " : 'There is no job ' + find + ' here.'"
            )
        )
        .mark_text(align="right", baseline="bottom", clip=False, color=shade("found"), fontSize=11)
        .encode(x=alt.value(alt.ExprRef(view.across)), y=alt.value(-6), text="said:N")
    )
    return [pointed, found, said]


def _reserved(view: View) -> Layers:
    """The GPUs that are reserved, with the reason, and those that replicas of services hold."""
    shown = view.shown
    cluster = shown.instance.cluster
    names = ("schedule", "slot", "until", "top", "bottom", "reason", "reserved", "slots", "what")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for i, (drawing, end) in enumerate(zip(shown.drawings, shown.ends, strict=True)):
        for area in drawing.away:
            one, server = cluster.reservations[area.reservation], cluster.servers[area.server]
            top, bottom = drawing.rows_of(area.server, area.first, area.gpus, large=shown.large)
            until = max(2 * end, area.start) if area.end is None else area.end
            what = f"{counted(one.gpus, 'GPU')} of {server.name}"
            row = (
                *(i, area.start, until, top, bottom, one_line(one.reason or "reserved")),
                f"{what}: {one.reason}" if one.reason else what,
                *(_span(one.start, one.end), AWAY_WORDS),
            )
            for name, value in zip(names, row, strict=True):
                found[name].append(value)
        for held in drawing.replicas:
            top, bottom = drawing.rows_of(held.server, held.first, held.gpus, large=shown.large)
            name = one_line(f"{held.service}: {held.variant}")
            what = f"{counted(held.gpus, 'GPU')} of {cluster.servers[held.server].name}: {name}"
            row = (
                *(i, held.start, held.end, top, bottom, name, what),
                *(_span(held.start, held.end), REPLICA_WORDS),
            )
            for column, value in zip(names, row, strict=True):
                found[column].append(value)
    if not found["slot"]:
        return []
    drawn = rows(found).transform_filter(view.chosen)
    colours = {AWAY_WORDS: AWAY, REPLICA_WORDS: SERVING}
    domain = [words for words in colours if words in found["what"]]
    areas = drawn.mark_rect(clip=True, opacity=0.3, stroke=AWAY, strokeDash=[2, 2]).encode(
        **view.sides,
        color=alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(domain=domain, range=[colours[words] for words in domain]),
            legend=alt.Legend() if view.legend else None,
        ),
        tooltip=["reserved:N", "slots:N"],
    )
    return [areas, _texts(view, drawn, "reason", shade("quiet"))]


def _span(start: int, end: int | None) -> str:
    if end is None:
        return f"from {start:,}"
    return f"{start:,} to {end - 1:,}" if end - start > 1 else f"{start:,}"
