"""The choice of a solver for `auto`: the installed solver that proves most on a class of models."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

from rarmodel import registry
from rarmodel.defaults import AUTO
from rarmodel.errors import UsageError
from rarmodel.limits import Limits

from .answer import Solver, guarded
from .options import require_options

if TYPE_CHECKING:
    from rarmodel.formulations import Formulation

PREFERENCE = {
    "integer": ("cpsat", "highs", "scip", "gurobi"),
    "linear": ("highs", "scip", "gurobi"),
    "nonlinear": ("scip", "gurobi"),
    "intervals": ("cpsat",),
}
"""By class of models: solvers in the order of `tests/benchmarks/exact_beside_search.py`;
docs/notes/performance.md has the table. Gurobi comes last: its free licence is for small models.
"""

SMALL = 10_000
"""Up to this many terms HiGHS proves as much as CP-SAT, and starts faster: CP-SAT is a process of
its own, whose start takes longer than such a model.
"""


def preferred(
    solvers: Iterable[Solver], model_class: str, terms: float = inf, *, tight: bool = False
) -> list[Solver]:
    """Sort solvers by preference.

    Parameters
    ----------
    solvers
        Solvers of this class of models.
    model_class
        The class of models; see `rarmodel.formulations.ModelClass`.
    terms
        Approximate number of terms of the model.
    tight
        Whether its LP relaxation is tight: see `rarmodel.formulations.Formulation`. HiGHS closes
        more of such models than CP-SAT, whatever their size.
    """
    order = list(PREFERENCE.get(model_class, ()))
    if (tight or terms <= SMALL) and "highs" in order:
        order.sort(key=lambda name: name != "highs")
    places = {name: place for place, name in enumerate(order)}
    return sorted(solvers, key=lambda one: (places.get(one.name, len(order)), one.name))


def fitting_solvers(model_class: str) -> list[Solver]:
    """Installed solvers of a class of models, the preferred one first."""
    found = [registry.find("solvers", name) for name in registry.names("solvers")]
    fitting = [one for one in found if model_class in one.model_classes and guarded(one).version()]
    return preferred(fitting, model_class)


def require_solvers(model_class: str, wanted_by: str) -> list[Solver]:
    """Installed solvers of a class of models, at least one, the preferred one first.

    Parameters
    ----------
    model_class
        The class of models.
    wanted_by
        Name of the formulation.

    Raises
    ------
    UsageError
        If no such solver is installed.
    """
    fitting = fitting_solvers(model_class)
    if not fitting:
        raise UsageError(
            f"no installed solver solves {model_class} models such as {wanted_by!r}; "
            "`rarmodel list solvers` lists those there are"
        )
    return fitting


def solvers_for(formulation: Formulation, asked: str | Solver | None) -> list[Solver]:
    """The requested solver; for `auto`, all that fit, the preferred one first.

    Raises
    ------
    UsageError
        If there is none.
    """
    if asked is not None and asked != AUTO:
        return [registry.find("solvers", asked)]
    return require_solvers(formulation.model_class, formulation.name)


def require_fitting(solvers: Iterable[Solver], formulation: Formulation, limits: Limits) -> None:
    """Refuse solvers that cannot solve a formulation, and options that they do not have.

    Raises
    ------
    UsageError
        If a solver is not installed, is for other classes of models, or lacks an option.
    """
    for solver in solvers:
        if formulation.model_class not in solver.model_classes:
            raise UsageError(
                f"solver {solver.name!r} solves {' and '.join(sorted(solver.model_classes))} "
                f"models; {formulation.name!r} is {formulation.model_class}"
            )
        if guarded(solver).version() is None:
            raise UsageError(f"solver {solver.name!r} is not installed")
        require_options(solver, limits.solver_options)
