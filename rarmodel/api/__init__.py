"""Solve, verify and compare: the main job in a few lines, and all that the command line does."""

from .checking import audit, verify
from .comparison import Comparison, compare
from .inputs import calibrate, generate, import_trace
from .listing import bundled, engines
from .showing import plot, report
from .solving import DEFAULT_METHOD, Method, default_solver, formulate, solve
from .sources import load_instance

__all__ = [
    "DEFAULT_METHOD",
    "Comparison",
    "Method",
    "audit",
    "bundled",
    "calibrate",
    "compare",
    "default_solver",
    "engines",
    "formulate",
    "generate",
    "import_trace",
    "load_instance",
    "plot",
    "report",
    "solve",
    "verify",
]
