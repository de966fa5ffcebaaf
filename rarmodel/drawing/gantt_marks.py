"""Marks on Gantt charts: parts of bars, releases, due slots, deadlines, makespan and its bound."""

from __future__ import annotations

from typing import Any

import altair as alt

from rarmodel.counting import counted
from rarmodel.model.objectives import MAKESPAN

from .colours import PAPER
from .moments import (
    DEADLINE,
    DUE,
    NAMES,
    RELEASE,
    late_parts,
    moments_of,
    ran_before,
    restored_parts,
    shown_in,
    ticks_of,
)
from .style import rows, shade
from .view import View
from .words import shortened

LATE, RESTORED, RAN = "past the due slot", "restored, without progress", "runs at slot 0 already"
COLOURS = {LATE: "#10161d", RESTORED: "#ffffff", RAN: "#a3507f"}
OPACITIES = {LATE: 0.45, RESTORED: 0.6, RAN: 1.0}
SHAPES = {RELEASE: "triangle-right", DUE: "diamond", DEADLINE: "M-0.2,-1H0.2V1H-0.2Z"}


def parts_of_bars(view: View) -> list[alt.Chart]:
    """Parts of bars past due slots, restored parts, and the edge of jobs that ran before slot 0."""
    shown = view.shown
    names = ("schedule", "slot", "until", "top", "bottom", "part", "opacity")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for i, (drawing, end) in enumerate(zip(shown.drawings, shown.ends, strict=True)):
        parts = [
            *((LATE, one.bar, one.start, one.end) for one in late_parts(drawing, end)),
            *((RESTORED, one.bar, one.start, one.end) for one in restored_parts(drawing)),
            *(
                (RAN, k, 0, end / 150)
                for k, bar in enumerate(drawing.bars)
                if ran_before(drawing, drawing.runs[bar.run])
            ),
        ]
        for part, k, begin, until in parts:
            bar = drawing.bars[k]
            top, bottom = drawing.edges_of(bar, large=shown.large)
            row = (i, begin, until, top, bottom, part, OPACITIES[part])
            for name, value in zip(names, row, strict=True):
                found[name].append(value)
    there = [part for part in COLOURS if part in found["part"]]
    if not there:
        return []
    drawn = rows(found).transform_filter(view.chosen)
    scale = alt.Scale(domain=there, range=[COLOURS[part] for part in there])
    legend = alt.Legend(symbolStrokeColor="#8a929b") if view.legend else None
    return [
        drawn.mark_rect(clip=True).encode(
            **view.sides,
            color=alt.Color("part:N", title=None, scale=scale, legend=legend),
            opacity=alt.Opacity("opacity:Q", scale=None),
        )
    ]


def jobs_moments(view: View) -> list[alt.Chart]:
    """Releases, due slots and deadlines: beside the jobs, or of many jobs on the edges."""
    shown = view.shown
    there = shown_in(shown.drawings, large=shown.large)
    if not there.kinds:
        return []
    labels = {kind: NAMES[kind] for kind in there.kinds}
    if not there.beside:
        labels = {
            kind: f"{name}, on the {'upper' if kind == RELEASE else 'lower'} edge"
            for kind, name in labels.items()
        }
    names = ("schedule", "slot", "row", "moment", "start")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for i, (drawing, end) in enumerate(zip(shown.drawings, shown.ends, strict=True)):
        marks: list[tuple[Any, ...]] = []
        if there.beside:
            first = {bar.run: bar for bar in reversed(drawing.bars)}
            for one in moments_of(drawing):
                if one.run in first and one.kind in labels:
                    bar = first[one.run]
                    top, bottom = drawing.edges_of(bar, large=False)
                    row = bottom - 0.22 * min(1, bottom - top)
                    waits = one.kind == RELEASE and one.slot < drawing.runs[one.run].start
                    start = drawing.runs[one.run].start if waits else None
                    marks.append((i, one.slot, row, labels[one.kind], start))
        else:
            for kind, label in labels.items():
                row = 0.012 * view.rows if kind == RELEASE else 0.988 * view.rows
                marks += ((i, slot, row, label, None) for slot in ticks_of(drawing, kind, end))
        for mark in marks:
            for name, value in zip(names, mark, strict=True):
                found[name].append(value)
    drawn = rows(found).transform_filter(view.chosen)
    shapes = alt.Scale(domain=list(labels.values()), range=[SHAPES[kind] for kind in labels])
    style: dict[str, Any] = {"color": shade("moment"), "clip": True}
    size = 70 if there.beside else 22
    waiting = drawn.transform_filter("datum.start !== null").mark_rule(**style, strokeWidth=1.2)
    return [
        waiting.encode(x=view.time("slot"), x2="start:Q", y=view.y("row")),
        drawn.mark_point(
            **style, filled=True, stroke=PAPER, strokeWidth=0.6, size=size, opacity=1
        ).encode(
            x=view.time("slot"),
            y=view.y("row"),
            shape=alt.Shape(
                "moment:N",
                title=None,
                scale=shapes,
                legend=alt.Legend(symbolFillColor=shade("moment")) if view.legend else None,
            ),
            tooltip=[alt.Tooltip("moment:N", title="asked for"), alt.Tooltip("slot:Q")],
        ),
    ]


def length_lines(view: View) -> list[alt.Chart]:
    """The makespan, and the bound on it, where it is an objective."""
    shown = view.shown
    found: dict[str, list[Any]] = {"schedule": [], "slot": [], "line": []}
    told = ""
    if shown.marks_length:
        for i, drawing in enumerate(shown.drawings):
            if drawing.report.makespan is not None:
                for column, value in zip(
                    found.values(), (i, drawing.report.makespan, MAKESPAN.name), strict=True
                ):
                    column.append(value)
    if (length := shown.length) is not None:
        which = f", {length.condition}" if length.condition else ""
        slots = counted(int(length.bound.value), "slot")
        told = f"lower bound{which}, {slots} ({shortened(length.bound.name, 40)})"
        for i, claim in enumerate(length.claims):
            found["schedule"].append(i)
            found["slot"].append(int(claim.bound.value))
            found["line"].append(told)
    there = [line for line in (MAKESPAN.name, told) if line in found["line"]]
    if not there:
        return []
    dashes = {MAKESPAN.name: [1, 0], told: [5, 3]}
    return [
        rows(found)
        .transform_filter(view.chosen)
        .mark_rule(strokeWidth=1.6, clip=True)
        .encode(
            x=view.time("slot"),
            stroke=alt.when(f"datum.line == '{MAKESPAN.name}'")
            .then(alt.value(shade("ink")))
            .otherwise(alt.value(shade("bound"))),
            strokeDash=alt.StrokeDash(
                "line:N",
                title=None,
                scale=alt.Scale(domain=there, range=[dashes[line] for line in there]),
                legend=alt.Legend(symbolType="stroke", symbolStrokeColor=shade("quiet"))
                if view.legend
                else None,
            ),
            tooltip=[alt.Tooltip("line:N", title=" "), alt.Tooltip("slot:Q", format=",d")],
        )
    ]
