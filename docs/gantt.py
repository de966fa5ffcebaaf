"""Draw schedules of an instance, GPU by GPU, as an SVG picture.

    python docs/gantt.py lab.json first-fit sjf-bco time-indexed > gantt.svg

Each name after the instance is a method or a formulation, and names its schedule, whatever found
it. The picture carries its schedules, so that tests can compare them with the text around it, and
follows the reader's choice of light or dark. Needs the extra `plot`.

    python docs/gantt.py --follow picture.svg

makes another picture of rarmodel's follow this choice.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import rarmodel
from rarmodel.drawing import image_of
from rarmodel.drawing.style import SHADES
from rarmodel.registry import names
from rarmodel.schema import Instance, Schedule

DESCRIPTION = re.compile(r"<desc>(.*?)</desc>", re.DOTALL)


def drawn(instance: Instance, schedules: Sequence[Schedule]) -> str:
    """The picture of some schedules, which carries their starts and GPUs."""
    picture = image_of(rarmodel.plot(instance, schedules, parts=["gantt"]), "svg").decode()
    carrying = f"<desc>{html.escape(json.dumps(told(schedules)), quote=False)}</desc>"
    return following(
        re.sub(r"(<svg\b[^>]*>)", lambda match: f"{match[1]}\n {carrying}", picture, count=1)
    )


def following(picture: str) -> str:
    """The picture with the colours of a dark page where the reader has chosen dark."""
    light, dark = SHADES["paper"]
    rules = [f'rect[fill="{light}"] {{ fill: {dark} }}', f'[stroke="{light}"] {{ stroke: {dark} }}']
    for name, (light, dark) in SHADES.items():
        if name != "paper":  # Text in a bar stays white.
            rules += [f'[{kind}="{light}"] {{ {kind}: {dark} }}' for kind in ("fill", "stroke")]
    style = f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"
    return re.sub(
        r"(<svg\b[^>]*>)(?:\n <style>.*?</style>)?",
        lambda match: f"{match[1]}\n {style}",
        picture,
        count=1,
    )


def told(schedules: Sequence[Schedule]) -> list[Any]:
    """Starts and GPUs of schedules as plain data, as a picture carries them."""
    return [one.model_dump(mode="json", exclude_unset=True)["assignments"] for one in schedules]


def carried(picture: str) -> list[Any]:
    """Starts and GPUs of the schedules in a picture; none if it carries none."""
    found = DESCRIPTION.search(picture)
    return json.loads(html.unescape(found[1])) if found else []


def schedules_of(instance: Instance, parts: Sequence[str]) -> list[Schedule]:
    """What methods and formulations find, each under its name."""
    kinds = ["formulation" if name in names("formulations") else "method" for name in parts]
    asked = [{kind: name} for kind, name in zip(kinds, parts, strict=True)]
    found = [rarmodel.solve(instance, **options).schedule for options in asked]
    return [
        schedule.model_copy(update={"method": name})
        for schedule, name in zip(found, parts, strict=True)
        if schedule is not None
    ]


if __name__ == "__main__" and sys.argv[1] == "--follow":
    for file in map(Path, sys.argv[2:]):
        file.write_text(following(file.read_text(encoding="utf-8")), encoding="utf-8")
elif __name__ == "__main__":
    problem = rarmodel.load_instance(sys.argv[1])
    sys.stdout.write(drawn(problem, schedules_of(problem, sys.argv[2:])))
