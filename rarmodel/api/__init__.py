"""The Python API: solve, verify, compare, and all else that the command line does."""

from rarmodel.defaults import AUTO, DEFAULT_METHOD

from .checking import audit, verify
from .comparison import Comparison, Comparisons, compare
from .inputs import calibrate, generate, import_trace
from .listing import bundled, describe, engines, methods, programs
from .showing import plot, report
from .solving import Method, formulate, solve, solvers_for
from .sources import load_instance

__all__ = [
    "AUTO",
    "DEFAULT_METHOD",
    "Comparison",
    "Comparisons",
    "Method",
    "audit",
    "bundled",
    "calibrate",
    "compare",
    "describe",
    "engines",
    "formulate",
    "generate",
    "import_trace",
    "load_instance",
    "methods",
    "plot",
    "programs",
    "report",
    "solve",
    "solvers_for",
    "verify",
]
