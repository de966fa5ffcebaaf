"""Pictures and pages of schedules: what there is to draw as plain data, and what draws it."""

from .drawing import Bar, Drawing, Drawn, LinkRings, draw
from .page import report_page
from .steps import Steps

__all__ = ["Bar", "Drawing", "Drawn", "LinkRings", "Steps", "draw", "report_page"]
