"""Gurobi, through gurobipy, for models that are linear in continuous and integer variables.

The licence inside the pip package allows 2,000 variables and 2,000 constraints.
"""

from __future__ import annotations

import time
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.limits import Limits

from .answer import Answer, Termination, finite

if TYPE_CHECKING:
    import pyomo.environ as pyo


class Gurobi:
    """The adapter; see `Solver`."""

    name = "gurobi"
    model_classes = frozenset({"integer", "linear"})

    def version(self) -> str | None:
        """Version of gurobipy; None if it is not installed."""
        try:
            return version("gurobipy")
        except PackageNotFoundError:
            return None

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise a linear model; see `Solver.solve`."""
        if self.version() is None:
            raise UsageError(
                "solver 'gurobi' is not installed; install it with: pip install 'rarmodel[gurobi]'"
            )
        import gurobipy  # noqa: PLC0415

        started = time.perf_counter()
        try:
            with gurobipy.Env(params={"OutputFlag": 0}) as environment:
                return _solve(model, limits, environment, started)
        except gurobipy.GurobiError as error:
            raise UsageError(
                f"solver 'gurobi' cannot solve this model: {error}; solver 'highs' needs no licence"
            ) from error


GUROBI = Gurobi()


def _solve(model: pyo.ConcreteModel, limits: Limits, environment: Any, started: float) -> Answer:
    import gurobipy  # noqa: PLC0415

    from .lp_file import lp_file, take_values  # noqa: PLC0415

    with lp_file(model, "gurobi") as (path, by_name):
        engine = gurobipy.read(str(path), env=environment)
    with engine:
        columns: list[tuple[Any, Any]] = [
            (by_name[column.VarName], column)
            for column in engine.getVars()
            if column.VarName in by_name
        ]
        for variable, column in columns:
            if variable.value is not None:
                column.Start = variable.value
        _set_parameters(engine, limits, time.perf_counter() - started)
        engine.optimize(_watcher(limits))
        statuses: dict[int, Termination] = {
            gurobipy.GRB.OPTIMAL: "finished",
            gurobipy.GRB.INFEASIBLE: "infeasible",
            gurobipy.GRB.TIME_LIMIT: "time-limit",
            gurobipy.GRB.INTERRUPTED: "interrupted",
        }
        termination = statuses.get(engine.Status, "error")
        if engine.SolCount > 0:
            take_values((variable, column.X) for variable, column in columns)
        return Answer(
            termination=termination,
            has_solution=engine.SolCount > 0,
            bound=None if termination == "infeasible" else finite(engine.ObjBound),
            seconds=time.perf_counter() - started,
            message=f"Gurobi status {engine.Status}",
        )


def _set_parameters(engine: Any, limits: Limits, elapsed: float) -> None:
    engine.Params.MIPGap = limits.gap
    engine.Params.MIPGapAbs = 0.0
    # A binary that is off by the default 1e-5 is worth whole iterations where speeds are large.
    engine.Params.IntFeasTol = engine.Params.FeasibilityTol = 1e-9
    engine.Params.Seed = limits.seed
    if limits.threads is not None:
        engine.Params.Threads = limits.threads
    if limits.time_limit is not None:
        engine.Params.TimeLimit = max(0.0, limits.time_limit - elapsed)
    if limits.log is not None:
        engine.Params.LogToConsole = 0
        engine.Params.OutputFlag = 1


def _watcher(limits: Limits) -> Any:
    """A callback that passes on the log, and incumbent and bound as they change."""
    import gurobipy  # noqa: PLC0415

    code = gurobipy.GRB.Callback
    last = None

    def watch(engine: Any, where: int) -> None:
        nonlocal last
        if where == code.MESSAGE and limits.log is not None:
            limits.log(engine.cbGet(code.MSG_STRING).rstrip("\n"))
        elif where == code.MIP and limits.progress is not None:
            known = engine.cbGet(code.MIP_OBJBST), engine.cbGet(code.MIP_OBJBND)
            if known != last:
                last = known
                limits.progress(*map(finite, known))

    return watch
