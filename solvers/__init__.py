"""Solver adapters: each takes a Pyomo model and returns the same kind of answer."""

if __name__ != "rarmodel.solvers":
    raise ImportError(
        f"this folder is imported as rarmodel.solvers, not as {__name__}; "
        "install the project (pip install -e .) and import rarmodel.solvers"
    )

from .answer import Answer, Solver, Termination, first_answer

__all__ = ["Answer", "Solver", "Termination", "first_answer"]
