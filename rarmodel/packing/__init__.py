"""Jobs packed on servers: annealing over buddy blocks, tempering of sets, and dives.

A job within one server uses no link, so its execution time is fixed. If the spread rings keep
their time, each server is a separate packing problem.
"""

from .layout import Layout, layout_of
from .packer import DIVES, TEMPERING, Packer, packable
from .solution import Solution, one_after_another

__all__ = [
    "DIVES",
    "TEMPERING",
    "Layout",
    "Packer",
    "Solution",
    "layout_of",
    "one_after_another",
    "packable",
]
