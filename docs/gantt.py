"""Draw schedules of an instance, GPU by GPU, as an SVG picture.

    python docs/gantt.py lab.json first-fit sjf-bco time-indexed > gantt.svg

Each name after the instance is a method or a formulation.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from html import escape

import rarmodel
from rarmodel.registry import names

COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#d4a72c", "#9c755f")
STYLE = """text { font: 12px sans-serif; fill: #555 } .strong { font-weight: bold; fill: #222 }
.middle { text-anchor: middle } text.job { fill: #fff }
.grid { stroke: #eee } .edge { stroke: #bbb } .end { stroke: #222; stroke-width: 2 }"""
WIDTH, LEFT, RIGHT, ROW, TITLE, AXIS = 760, 70, 90, 18, 26, 26


def _text(x: float, y: float, text: object, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(str(text))}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{style}"/>'


def gantt(instance: rarmodel.Instance, results: Sequence[rarmodel.Result]) -> str:
    """SVG of one panel for each result that has a schedule, all on the same axis of slots."""
    gpus = [(server.name, i) for server in instance.cluster.servers for i in range(server.gpus)]
    colour = {job.name: COLOURS[j % len(COLOURS)] for j, job in enumerate(instance.jobs)}
    last = max((result.makespan or 0 for result in results), default=0)
    scale = (WIDTH - LEFT - RIGHT) / last
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, last) if last / s <= 12)
    parts = []
    y = 0
    for result in results:
        if result.schedule is None or result.report is None:
            continue
        parts.append(_text(0, y + TITLE - 8, result.name, "strong"))
        y += TITLE
        top, end = y, LEFT + scale * (result.makespan or 0)
        for server, gpu in gpus:
            parts.append(_line(0, y, WIDTH, y, "grid" if gpu else "edge"))
            parts.append(_text(0, y + 13, f"{server} {gpu}"))
            for job in result.schedule.assignments:
                if gpu in job.gpus.get(server, ()):
                    x, slots = LEFT + scale * job.start, result.report.completion[job.job] or 0
                    width = scale * (slots - job.start)
                    parts.append(
                        f'<rect x="{x:g}" y="{y + 1}" width="{width:g}" height="{ROW - 2}" rx="3" '
                        f'fill="{colour[job.job]}"/>'
                    )
                    if width >= 8 * len(job.job):
                        parts.append(_text(x + width / 2, y + 13, job.job, "middle job"))
            y += ROW
        parts += [_line(0, y, WIDTH, y, "edge"), _line(end, top, end, y, "end")]
        parts.append(_text(end + 6, top + 13, f"{result.makespan} slots", "strong"))
        ticks = range(0, last + 1, step)
        parts += [_text(LEFT + scale * slot, y + 14, slot, "middle") for slot in ticks]
        y += AXIS
    box = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -6 {WIDTH + 24} {y + 12}">'
    paper = '<rect x="-12" y="-6" width="100%" height="100%" fill="#fff"/>'
    return "\n".join([box, f"<style>{STYLE}</style>", paper, *parts, "</svg>"])


if __name__ == "__main__":
    problem = rarmodel.load_instance(sys.argv[1])
    kinds = ["formulation" if n in names("formulations") else "method" for n in sys.argv[2:]]
    asked = [{kind: name} for kind, name in zip(kinds, sys.argv[2:], strict=True)]
    print(gantt(problem, [rarmodel.solve(problem, **options) for options in asked]))
