"""The LP relaxation of a model, with duals: what a formulation proves before any branching."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rarmodel.errors import UsageError
from rarmodel.formulations.aims import aim_of
from rarmodel.formulations.guarded import guarded
from rarmodel.highs_library import highspy, silent_highs
from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value
from rarmodel.solver_faults import settings
from rarmodel.solvers.lp_file import lp_file
from rarmodel.tabular import frame, html_lines, number

from .formulated import FormulatedModel

if TYPE_CHECKING:
    import pandas as pd

CONSTANT = "ONE_VAR_CONSTANT"
"""The column that stands for the constant of an objective in an LP file of Pyomo's."""

LpStatus = Literal["solved", "infeasible", "time limit", "unsolved"]


@dataclass(frozen=True)
class Relaxation:
    """The optimum of a model without integrality.

    Attributes
    ----------
    instance, formulation, horizon
        Names of the instance and the formulation, and the model's number of slots.
    status
        `solved`, `infeasible`, `time limit`, or `unsolved` for anything else.
    value
        Optimum of the model's objective without integrality; None unless solved. Most models count
        in the units of the instance's objective; where values rise in other steps, the model counts
        the steps, and `bound` has the unit of the objective.
    bound
        What the optimum proves: the least value that the objective can have, rounded up to the next
        value that there is. None if it proves nothing.
    holds_for
        The schedules for which the bound holds, or why there is none, in words.
    values, reduced_costs
        By variable: value, and reduced cost.
    duals
        By constraint: its dual value, the change of the optimum for one more on the right-hand
        side. A constraint with two sides has the sum of both.
    seconds
        Time to write and solve the LP.
    """

    instance: str
    formulation: str
    horizon: int
    status: LpStatus
    value: float | None
    bound: Value | float | None
    holds_for: str
    values: Mapping[str, float] = field(repr=False)
    reduced_costs: Mapping[str, float] = field(repr=False)
    duals: Mapping[str, float] = field(repr=False)
    seconds: float

    def to_frame(self) -> pd.DataFrame:
        """The duals as a pandas data frame: constraint, family, dual; those that are 0 left out.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(
            {"constraint": name, "family": name.partition("[")[0], "dual": dual}
            for name, dual in self.duals.items()
            if dual
        )

    def _repr_html_(self) -> str:
        shown = {
            "status": self.status,
            "value": number(self.value, ".6g"),
            "bound": number(None if self.bound is None else float(self.bound), ".6g"),
            "holds for": self.holds_for,
        }
        return html_lines(f"LP relaxation of {self.formulation}", shown)


SIMPLEX_COLUMNS = 2_000
"""Columns up to which the simplex method solves an LP; it needs minutes for what the interior point
method, with crossover to a vertex, solves in seconds."""


def relaxation_of(formulated: FormulatedModel, time_limit: float | None = None) -> Relaxation:
    """Solve a model as it stands without integrality, by HiGHS; the model stays as it is.

    Raises
    ------
    UsageError
        If the model is not linear.
    """
    model, scope, name = formulated.model, formulated.scope, formulated.formulation.name
    if formulated.formulation.model_class == "nonlinear":
        raise UsageError(f"formulation {name!r} is nonlinear; its relaxation is no LP")
    begun = time.perf_counter()
    highs = silent_highs()
    with lp_file(model, "highs") as (path, by_name):
        highs.readModel(str(path))
    for option, value in {**settings("highspy", continuous=True), "solve_relaxation": True}.items():
        highs.setOptionValue(option, value)
    if highs.getNumCol() > SIMPLEX_COLUMNS:
        highs.setOptionValue("solver", "ipm")
    if time_limit is not None:
        highs.setOptionValue("time_limit", max(0.0, time_limit - (time.perf_counter() - begun)))
    highs.run()
    library = highspy().HighsModelStatus
    statuses: dict[Any, LpStatus] = {
        library.kOptimal: "solved",
        library.kInfeasible: "infeasible",
        library.kTimeLimit: "time limit",
    }
    status = statuses.get(highs.getModelStatus(), "unsolved")
    solved = status == "solved"
    optimum = highs.getInfo().objective_function_value if solved else None
    proven = _proven(formulated, status, optimum)
    columns = _Columns({}, {}, {})
    if solved:
        columns = _columns(highs, by_name)
    return Relaxation(
        instance=scope.instance.name,
        formulation=name,
        horizon=scope.horizon,
        status=status,
        value=optimum,
        bound=proven.bound,
        holds_for=proven.holds_for,
        values=columns.values,
        reduced_costs=columns.reduced_costs,
        duals=columns.duals,
        seconds=time.perf_counter() - begun,
    )


class _Columns(NamedTuple):
    values: dict[str, float]
    reduced_costs: dict[str, float]
    duals: dict[str, float]


def _columns(highs: Any, by_name: Mapping[str, Any]) -> _Columns:
    """The solution by the names of Pyomo's variables and constraints."""
    lp, solution = highs.getLp(), highs.getSolution()
    values, costs = dict[str, float](), dict[str, float]()
    for name, value, cost in zip(lp.col_names_, solution.col_value, solution.col_dual, strict=True):
        if name in by_name and by_name[name].name != CONSTANT:
            values[by_name[name].name], costs[by_name[name].name] = value, cost
    duals = dict[str, float]()
    for name, dual in zip(lp.row_names_, solution.row_dual, strict=True):
        # The upper side of a constraint with two sides has no entry of its own.
        constraint = by_name.get(name) or by_name[name.replace("r_u_", "r_l_", 1)]
        duals[constraint.name] = duals.get(constraint.name, 0.0) + dual + 0.0
    return _Columns(values, costs, duals)


class _Proven(NamedTuple):
    bound: Value | float | None
    holds_for: str


def _proven(formulated: FormulatedModel, status: LpStatus, optimum: float | None) -> _Proven:
    """What the optimum proves, and for which schedules."""
    formulation, scope = guarded(formulated.formulation), formulated.scope
    if formulated.has_another_objective:
        return _Proven(optimum, "the model as it stands, whose objective you have changed")
    if status in {"time limit", "unsolved"}:
        return _Proven(None, "none: the LP is not solved")
    if not formulation.proves(scope):
        return _Proven(None, "none: the model chooses from a pool; better ones may be outside")
    makespan = scope.instance.objectives[scope.stage] == "makespan" and scope.stage == 0
    own = formulation.objective != "makespan"
    whole = scope.horizon >= horizon_of(scope.instance)
    if not whole and (own or not makespan):
        return _Proven(None, f"none: schedules longer than {scope.horizon:,} slots may be better")
    whom = "every schedule of the instance"
    if formulation.restricts:
        whom = f"every schedule that satisfies {formulation.name}"
    if status == "infeasible":
        if whole:
            return _Proven(None, f"none: there is no schedule within {scope.horizon:,} slots")
        return _Proven(scope.horizon + 1, whom)
    if optimum is None or own:
        return _Proven(optimum, whom)
    bound = aim_of(scope, scope.stage).at_least(optimum)
    return _Proven(bound if whole else min(bound, scope.horizon + 1), whom)
