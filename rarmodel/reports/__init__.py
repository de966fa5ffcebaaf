"""Plots and HTML pages of schedules: the content as plain data, and the code that draws it."""

from rarmodel.model.features import ALL

from .aims import shown_bounds
from .campaign import campaign_page
from .comparison import draw_all
from .drawing import Bar, Drawing, Drawn, LinkRings, draw
from .page import report_page
from .pictures import picture
from .reserved import Away
from .simulations import Group, simulations_page
from .steps import Steps

HANDLES = ALL
"""The features of instances whose schedules can be drawn."""

__all__ = [
    "HANDLES",
    "Away",
    "Bar",
    "Drawing",
    "Drawn",
    "Group",
    "LinkRings",
    "Steps",
    "campaign_page",
    "draw",
    "draw_all",
    "picture",
    "report_page",
    "shown_bounds",
    "simulations_page",
]
