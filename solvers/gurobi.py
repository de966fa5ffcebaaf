"""Gurobi, through gurobipy, for all models: linear ones, and non-linear ones to global optimality.

The licence in the pip package allows 2,000 variables and 2,000 constraints, and fewer in non-linear
models.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.limits import Limits

from .answer import Answer, Termination, finite
from .options import unknown_option, value_like, wrong_value

if TYPE_CHECKING:
    import pyomo.environ as pyo


OPTIONS = "https://docs.gurobi.com/projects/optimizer/en/current/reference/parameters.html"
"""Where Gurobi lists its parameters."""


class Gurobi:
    """The adapter; see `Solver`."""

    name = "gurobi"
    model_classes = frozenset({"integer", "linear", "nonlinear"})
    install = "pip install 'rarmodel[gurobi]'"

    def version(self) -> str | None:
        """Version of gurobipy; None if it is not installed."""
        try:
            return version("gurobipy")
        except PackageNotFoundError:
            return None

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse parameters that Gurobi does not have; this takes no licence."""
        import gurobipy  # noqa: PLC0415

        known = [name for name in dir(gurobipy.GRB.Param) if not name.startswith("_")]
        for name in options:
            if name.lower() not in map(str.lower, known):
                raise unknown_option("gurobi", name, known, OPTIONS)

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise a model; see `Solver.solve`."""
        if self.version() is None:
            raise UsageError(f"solver 'gurobi' is not installed; install it with: {self.install}")
        import gurobipy  # noqa: PLC0415

        from .lp_file import NonlinearError, check_sense  # noqa: PLC0415

        check_sense(model, self.name)
        started = time.perf_counter()
        others = "highs or cpsat"
        try:
            with gurobipy.Env(params={"OutputFlag": 0}) as environment:
                try:
                    engine, columns = _hand_over(model, environment)
                except NonlinearError:
                    others = "scip"
                    engine, columns = _convert(model)
                with engine:
                    return _solve(engine, columns, limits, started)
        except gurobipy.GurobiError as error:
            reason = str(error).rstrip(".")
            raise UsageError(
                f"solver 'gurobi' cannot solve this model: {reason}; {others} would need no licence"
            ) from error


GUROBI = Gurobi()


Columns = list[tuple[Any, Any]]


def _hand_over(model: pyo.ConcreteModel, environment: Any) -> tuple[Any, Columns]:
    """A Gurobi model of a linear model, and Gurobi's variable for each Pyomo variable."""
    import gurobipy  # noqa: PLC0415

    from .lp_file import lp_file  # noqa: PLC0415

    with lp_file(model, "gurobi") as (path, by_name):
        engine = gurobipy.read(str(path), env=environment)
    columns = [(by_name[c.VarName], c) for c in engine.getVars() if c.VarName in by_name]
    return engine, columns


def _convert(model: pyo.ConcreteModel) -> tuple[Any, Columns]:
    """A Gurobi model of a non-linear model, by Pyomo's conversion of expressions."""
    import gurobipy  # noqa: PLC0415
    from pyomo.contrib.solver.solvers.gurobi.gurobi_direct_minlp import (  # noqa: PLC0415
        GurobiMINLPWriter,
    )

    try:
        # The conversion uses Gurobi's default environment, which begins with a word on its licence.
        with redirect_stdout(StringIO()):
            gurobipy.setParam("OutputFlag", 0)
            engine, by_variable, *_ = GurobiMINLPWriter().write(model)
    except (ValueError, KeyError, NotImplementedError, AttributeError) as error:
        raise UsageError(f"solver 'gurobi' cannot take this model: {error}") from error
    return engine, list(by_variable.items())


def _solve(engine: Any, columns: Columns, limits: Limits, started: float) -> Answer:
    import gurobipy  # noqa: PLC0415

    from .lp_file import take_values  # noqa: PLC0415

    for variable, column in columns:
        if variable.value is not None:
            column.Start = variable.value
    _set_parameters(engine, limits, time.perf_counter() - started)
    _set_own(engine, limits.solver_options)
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
        value=finite(engine.ObjVal) if engine.SolCount > 0 else None,
        nodes=int(engine.NodeCount),
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


def _set_own(engine: Any, options: Mapping[str, Any]) -> None:
    """Set the user's parameters.

    Raises
    ------
    UsageError
        If a parameter cannot have a value.
    """
    import gurobipy  # noqa: PLC0415

    for name, value in options.items():
        present = engine.getParamInfo(name)[2]
        try:
            engine.setParam(name, value_like(present, "gurobi", name, value))
        except gurobipy.GurobiError as error:
            raise wrong_value("gurobi", name, value, f"a value that {OPTIONS} allows") from error


def _watcher(limits: Limits) -> Any:
    """A callback that passes on the log, the incumbent and the bound."""
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
