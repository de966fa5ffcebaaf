"""HiGHS, through highspy, for models that are linear in continuous and integer variables.

The model goes to HiGHS as an LP file written by Pyomo. Pyomo's own HiGHS interface builds it row by
row, offers no starting solution, and cannot be interrupted; this way takes less time, and all of
HiGHS's options, callbacks and results are at hand.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.limits import Limits

from .answer import Answer, Termination

if TYPE_CHECKING:
    import pyomo.environ as pyo

INTEGRALITY = 1e-5
"""How far from a whole number HiGHS may leave an integer variable."""


class Highs:
    """The adapter; see `Solver`."""

    name = "highs"

    def version(self) -> str | None:
        """Version of highspy; None if it is not installed."""
        try:
            return version("highspy")
        except PackageNotFoundError:
            return None

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise a linear model; see `Solver.solve`."""
        if self.version() is None:
            raise UsageError(
                "solver 'highs' is not installed; install it with: pip install highspy"
            )
        started = time.perf_counter()
        highs, variables = _hand_over(model)
        _set_options(highs, limits, time.perf_counter() - started)
        _offer_start(highs, variables)
        interrupted = _run(highs)
        return _answer(highs, variables, interrupted, time.perf_counter() - started)


HIGHS = Highs()


def _hand_over(model: pyo.ConcreteModel) -> tuple[Any, list[Any]]:
    """HiGHS with the model, and the Pyomo variable of each of its columns."""
    import highspy  # noqa: PLC0415
    from pyomo.repn.plugins.lp_writer import LPWriter  # noqa: PLC0415

    highs = highspy.Highs()
    highs.silent()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        with path.open("w", newline="") as file:
            try:
                written = LPWriter().write(
                    model, file, allow_quadratic_objective=False, allow_quadratic_constraint=False
                )
            except ValueError as error:
                raise UsageError(
                    f"solver 'highs' solves linear models; this one is not: {error}"
                ) from error
        if highs.readModel(str(path)) == highspy.HighsStatus.kError:
            raise RuntimeError("HiGHS refused the model that Pyomo wrote")
    by_symbol = written.symbol_map.bySymbol
    return highs, [by_symbol.get(name) for name in highs.getLp().col_names_]


def _set_options(highs: Any, limits: Limits, elapsed: float) -> None:
    options: dict[str, object] = {"mip_rel_gap": limits.gap, "mip_abs_gap": 0.0}
    options["random_seed"] = limits.seed
    if limits.threads is not None:
        options["threads"] = limits.threads
    if limits.time_limit is not None:
        options["time_limit"] = max(0.0, limits.time_limit - elapsed)
    if limits.log is not None:
        options |= {"output_flag": True, "log_to_console": False}
        highs.cbLogging += lambda event: limits.log(event.message.rstrip("\n"))
    for name, value in options.items():
        highs.setOptionValue(name, value)
    if limits.progress is not None:
        highs.cbMipInterrupt += _reporter(limits.progress)


def _reporter(progress: Callable[[float | None, float | None], None]) -> Callable[[Any], None]:
    """Reports incumbent and bound when they change; HiGHS offers both very often."""
    last = None

    def report(event: Any) -> None:
        nonlocal last
        known = event.data_out.mip_primal_bound, event.data_out.mip_dual_bound
        if known != last:
            last = known
            progress(*map(_finite, known))

    return report


def _offer_start(highs: Any, variables: list[Any]) -> None:
    import numpy as np  # noqa: PLC0415

    known = [(i, v.value) for i, v in enumerate(variables) if v is not None and v.value is not None]
    if known:
        indices, values = zip(*known, strict=True)
        highs.setSolution(len(known), np.array(indices, np.int32), np.array(values, np.float64))


def _run(highs: Any) -> bool:
    """Solve in a thread of its own, so that Ctrl-C is heard; whether it was pressed."""
    highs.HandleUserInterrupt = True
    interrupted = False
    highs.startSolve()
    while True:
        try:
            if highs.wait(0.1)[0]:
                return interrupted
        except KeyboardInterrupt:
            interrupted = True
            highs.cancelSolve()


def _answer(highs: Any, variables: list[Any], interrupted: bool, seconds: float) -> Answer:  # noqa: FBT001
    import highspy  # noqa: PLC0415

    status, info = highs.getModelStatus(), highs.getInfo()
    terminations: dict[Any, Termination] = {
        highspy.HighsModelStatus.kOptimal: "finished",
        highspy.HighsModelStatus.kInfeasible: "infeasible",
        highspy.HighsModelStatus.kTimeLimit: "time-limit",
        highspy.HighsModelStatus.kInterrupt: "interrupted",
    }
    termination = terminations.get(status, "error")
    has_solution = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    if has_solution:
        for variable, value in zip(variables, highs.getSolution().col_value, strict=True):
            if variable is None:
                continue
            whole = round(value)
            if not variable.is_continuous() and abs(value - whole) <= INTEGRALITY:
                variable.set_value(whole, skip_validation=True)
            else:
                variable.set_value(value, skip_validation=True)
    is_mip = any(v is not None and not v.is_continuous() for v in variables)
    bound = info.mip_dual_bound if is_mip else info.objective_function_value
    return Answer(
        termination="interrupted" if interrupted and termination == "error" else termination,
        has_solution=has_solution,
        bound=None if termination == "infeasible" else _finite(bound),
        seconds=seconds,
        message=highs.modelStatusToString(status),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) and abs(value) < 1e30 else None
