"""A schedule at a glance: the GPUs held over time, as a line in an inline SVG."""

from __future__ import annotations

from .drawing import Drawing
from .grids import busy_parts

WIDTH, HEIGHT = 200, 24
"""Width and height of the SVG, in its own units."""
BINS = 100


def sparkline(drawing: Drawing, end: int) -> str:
    """The outline of the share of the GPUs that jobs hold, as the path of an SVG element.

    Parameters
    ----------
    drawing
        The schedule.
    end
        The slot at the right edge.
    """
    slots, parts = busy_parts(drawing, end, BINS)
    points = [f"M0 {HEIGHT}"]
    for slot, part in zip(slots, parts, strict=True):
        across, up = min(slot / end, 1.0) * WIDTH, HEIGHT - min(part, 1.0) * HEIGHT
        points.append(f"H{across:.4g}V{up:.3g}")
    points.append(f"H{WIDTH}V{HEIGHT}Z")
    return "".join(points)
