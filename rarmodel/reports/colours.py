"""Colours by job: a strong shade for rings that cross the network, a light one for the others.

Dark text is readable on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

STRONG = (
    "#5b8fd1",
    "#f08e39",
    "#5fad56",
    "#e06464",
    "#a67fc4",
    "#3fb0aa",
    "#d4a72c",
    "#b58463",
    "#d978ae",
    "#8b95a1",
)
DASHES = ("solid", "dashed", "dotted", "dotdash")
"""Of lines: one for each round through the colours."""
FAULT = "#c00000"
FOUND = "#e07a00"
INK = "#1a1a1a"
BOUND = "#0a6b2d"

WARM = ("#ffffff", "#ffeda0", "#feb24c", "#f03b20", "#8b0022")
"""For rings on links: none is white."""
COOL = ("#ffffff", "#c6dbef", "#6baed6", "#2171b5", "#08306b")
"""For the part of GPUs held: none is white."""


def job_colour(job: int, *, spread: bool) -> str:
    """Colour of a job by its index in the instance."""
    strong = STRONG[job % len(STRONG)]
    return strong if spread else _mixed("#ffffff", strong, 0.42)


class Line(NamedTuple):
    """How a line is drawn, for a chart and its legend."""

    name: str
    colour: str
    dash: str


def lines_of(names: Sequence[str]) -> list[Line]:
    """Lines that are told apart by colour, and by dashes if there are more than colours."""
    return [
        Line(name, STRONG[i % len(STRONG)], DASHES[i // len(STRONG) % len(DASHES)])
        for i, name in enumerate(names)
    ]


def ramp(colours: tuple[str, ...], steps: int) -> list[str]:
    """Colours from the first to the last through those between, evenly."""
    found = []
    for step in range(steps):
        at = step / max(1, steps - 1) * (len(colours) - 1)
        i = min(int(at), len(colours) - 2)
        found.append(_mixed(colours[i], colours[i + 1], at - i))
    return found


def _mixed(one: str, other: str, part: float) -> str:
    """A colour between two: `part` of the way from one to the other."""
    pairs = zip(_channels(one), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
