"""The Python API: solve, verify, compare, and all else that the command line does."""

from rarmodel.defaults import AUTO, DEFAULT_METHOD

from .catalogue import (
    describe,
    list_bounds,
    list_families,
    list_formulations,
    list_instances,
    list_methods,
    list_neighbourhoods,
    list_objectives,
    list_placements,
    list_policies,
    list_reports,
    list_solvers,
)
from .comparison import Comparison, Comparisons, compare
from .inputs import calibrate, compare_models, generate, import_trace
from .plotting import plot, report, report_simulations
from .simulating import simulate
from .solving import formulate, solve, solvers_for
from .sources import load_instance
from .verification import audit, verify

__all__ = [
    "AUTO",
    "DEFAULT_METHOD",
    "Comparison",
    "Comparisons",
    "audit",
    "calibrate",
    "compare",
    "compare_models",
    "describe",
    "formulate",
    "generate",
    "import_trace",
    "list_bounds",
    "list_families",
    "list_formulations",
    "list_instances",
    "list_methods",
    "list_neighbourhoods",
    "list_objectives",
    "list_placements",
    "list_policies",
    "list_reports",
    "list_solvers",
    "load_instance",
    "plot",
    "report",
    "report_simulations",
    "simulate",
    "solve",
    "solvers_for",
    "verify",
]
