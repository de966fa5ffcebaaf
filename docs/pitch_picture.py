"""Draw the picture that README.md and the landing page open with: `docs/images/paper-160.svg`.

    python docs/pitch_picture.py

shows how many GPUs are in use over time in schedules of `paper-160`, one panel each. The picture
carries its schedules, so that a test can compare them with the text. It follows the reader's
choice of light or dark.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gantt import told

import rarmodel
from rarmodel.schema import Schedule
from rarmodel.verifier import Report

PICTURE = Path(__file__).parent / "images" / "paper-160.svg"
ROWS = {
    "fifo-backfill": "First come, first served",
    "sjf-bco": "SJF-BCO (MobiHoc 2022)",
    "search": "rarmodel search",
}
LEFT, WIDTH, HEIGHT, PITCH, TOP = 20, 760, 64, 106, 34
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #24292f; }
  .small { font-size: 12px; fill: #57606a; }
  .bold { font-weight: 600; }
  .all { fill: #eaeef2; }
  .used { fill: #8c959f; }
  .ours { fill: #1a7f37; }
  .bound { stroke: #1a7f37; stroke-width: 1.5; stroke-dasharray: 4 3; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small { fill: #9da7b3; }
    .all { fill: #262c36; }
    .used { fill: #768390; }
    .ours { fill: #3fb950; }
    .bound { stroke: #3fb950; }
  }
"""


def use(schedule: Schedule, report: Report) -> Iterator[tuple[float, int]]:
    """Times at which the number of GPUs in use changes, and the number from then on."""
    changes: Counter[float] = Counter()
    for one in schedule.assignments:
        workers = sum(len(gpus) for gpus in one.gpus.values())
        changes[float(one.start)] += workers
        changes[float(report.completion[one.job])] -= workers
    busy = 0
    for time in sorted(changes):
        busy += changes[time]
        yield time, busy


def drawn() -> str:
    """The picture."""
    instance = rarmodel.load_instance("paper-160")
    gpus = sum(int(server.gpus) for server in instance.cluster.servers)
    results = {name: rarmodel.solve(instance, method=name) for name in ROWS}
    bound = max(result.lower_bound or 0 for result in results.values())
    longest = max(result.makespan or 0 for result in results.values())
    scale = WIDTH / longest
    minutes = float(instance.time.slot_seconds) / 60
    parts = []
    for row, (name, title) in enumerate(ROWS.items()):
        result, top = results[name], TOP + row * PITCH
        schedule, report, makespan = result.schedule, result.report, result.makespan
        if schedule is None or report is None or makespan is None:
            raise ValueError(f"{name} has no schedule")
        course = f"M{LEFT},{top + HEIGHT}"
        for time, busy in use(schedule, report):
            course += f"H{LEFT + time * scale:.1f}V{top + HEIGHT - busy / gpus * HEIGHT:.1f}"
        kind = "ours" if name == "search" else "used"
        note = ", proven optimal" if result.status == "optimal" else ""
        parts += [
            f'<text class="bold" x="{LEFT}" y="{top - 10}">{title}: {makespan} slots{note}</text>',
            f'<rect class="all" x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<path class="{kind}" d="{course}Z"/>',
            f'<text class="small" x="{LEFT + WIDTH}" y="{top - 10}" text-anchor="end">',
            f"{makespan * minutes:.1f} minutes</text>",
        ]
    foot = TOP + (len(ROWS) - 1) * PITCH + HEIGHT
    line = LEFT + bound * scale
    parts += [
        f'<line class="bound" x1="{line:.1f}" y1="{TOP}" x2="{line:.1f}" y2="{foot + 6}"/>',
        f'<text class="small" x="{line:.1f}" y="{foot + 20}" text-anchor="middle">',
        f"no schedule can be shorter: {bound} slots</text>",
        f'<text class="small" x="{LEFT}" y="{foot + 20}">GPUs in use, of {gpus}, over time</text>',
    ]
    schedules = [result.schedule for result in results.values() if result.schedule is not None]
    carried = html.escape(json.dumps(told(schedules)), quote=False)
    size = f"{LEFT * 2 + WIDTH} {foot + 32}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
        'aria-label="GPUs in use over time in three schedules of paper-160">\n'
        f"<desc>{carried}</desc>\n<style>{STYLE}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
