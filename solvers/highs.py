"""HiGHS, through highspy, for models that are linear in continuous and integer variables.

Pyomo's own interface to HiGHS accepts no starting solution and does not react to Ctrl-C; highspy
does both.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.highs_library import highspy, silent_highs
from rarmodel.limits import Limits
from rarmodel.solver_faults import settings

from .answer import Answer, Termination, finite
from .options import set_against_a_fault, unknown_option, value_like, wrong_value

if TYPE_CHECKING:
    import pyomo.environ as pyo


OPTIONS = "https://ergo-code.github.io/HiGHS/stable/options/definitions/"
"""Where HiGHS lists its options."""


class Highs:
    """The adapter; see `Solver`."""

    name = "highs"
    model_classes = frozenset({"integer", "linear"})
    install = "pip install highspy"

    def version(self) -> str | None:
        """Version of highspy; None if it is not installed."""
        try:
            return version("highspy")
        except PackageNotFoundError:
            return None

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse options that HiGHS does not have, and values that they cannot have."""
        _own_options(silent_highs(), options)

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise a linear model; see `Solver.solve`."""
        if self.version() is None:
            raise UsageError(f"solver 'highs' is not installed; install it with: {self.install}")
        from .lp_file import check_sense  # noqa: PLC0415

        check_sense(model, self.name)
        started = time.perf_counter()
        highs, variables = _hand_over(model)
        _set_options(highs, limits, time.perf_counter() - started)
        mixed = any(variable is not None and variable.is_continuous() for variable in variables)
        for option, value in _own_options(highs, limits.solver_options).items():
            highs.setOptionValue(option, value)
        for option, value in settings("highspy", continuous=mixed).items():
            highs.setOptionValue(option, value)
        _offer_start(highs, variables)
        interrupted = _run(highs)
        return _answer(highs, variables, time.perf_counter() - started, interrupted=interrupted)


HIGHS = Highs()


def _hand_over(model: pyo.ConcreteModel) -> tuple[Any, list[Any]]:
    """HiGHS with the model, and the Pyomo variable of each column."""
    from .lp_file import lp_file  # noqa: PLC0415

    library = highspy()
    highs = silent_highs()
    with lp_file(model, "highs") as (path, by_name):
        if highs.readModel(str(path)) == library.HighsStatus.kError:
            raise UsageError("solver 'highs' refuses the model; its numbers may be too large")
    return highs, [by_name.get(name) for name in highs.getLp().col_names_]


def _set_options(highs: Any, limits: Limits, elapsed: float) -> None:
    library = highspy()

    options: dict[str, object] = {"mip_rel_gap": limits.gap, "mip_abs_gap": 0.0}
    # A binary that is off by the default 1e-6 is worth whole iterations where speeds are large.
    options |= dict.fromkeys(("mip_feasibility_tolerance", "primal_feasibility_tolerance"), 1e-9)
    options["random_seed"] = limits.seed
    if limits.threads is not None:
        options["threads"] = limits.threads
    if limits.time_limit is not None:
        options["time_limit"] = max(0.0, limits.time_limit - elapsed)
    if (log := limits.log) is not None:
        options |= {"output_flag": True, "log_to_console": False}
        highs.cbLogging += lambda event: log(event.message.rstrip("\n"))
    for name, value in options.items():
        if highs.setOptionValue(name, value) != library.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refused {name} = {value}")
    if limits.progress is not None:
        highs.cbMipInterrupt += _reporter(limits.progress)


def _own_options(highs: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The user's options, with values as HiGHS has them.

    Raises
    ------
    UsageError
        If there is no such option, or no such value.
    """
    library = highspy()
    found = dict[str, Any]()
    faults = {**settings("highspy", continuous=True), **settings("highspy", continuous=False)}
    for name, value in options.items():
        status, _ = highs.getOptionType(name)
        if status != library.HighsStatus.kOk:
            known = [one for one in dir(highs.getOptions()) if not one.startswith("_")]
            raise unknown_option("highs", name, known, OPTIONS)
        if name in faults:
            raise set_against_a_fault("highs", name)
        before = highs.getOptionValue(name)[1]
        found[name] = value_like(before, "highs", name, value)
        if highs.setOptionValue(name, found[name]) != library.HighsStatus.kOk:
            raise wrong_value("highs", name, value, f"a value that {OPTIONS} allows")
        highs.setOptionValue(name, before)
    return found


def _reporter(progress: Callable[[float | None, float | None], None]) -> Callable[[Any], None]:
    """Reports incumbent and bound when they change; HiGHS reports both very often."""
    last = None

    def report(event: Any) -> None:
        nonlocal last
        known = event.data_out.mip_primal_bound, event.data_out.mip_dual_bound
        if known != last:
            last = known
            progress(*map(finite, known))

    return report


def _offer_start(highs: Any, variables: list[Any]) -> None:
    import numpy as np  # noqa: PLC0415

    known = [(i, v.value) for i, v in enumerate(variables) if v is not None and v.value is not None]
    if known:
        indices, values = zip(*known, strict=True)
        highs.setSolution(len(known), np.array(indices, np.int32), np.array(values, np.float64))


def _run(highs: Any) -> bool:
    """Solve in a separate thread, so that Ctrl-C works; return whether it was pressed."""
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
            highs.setOptionValue("time_limit", 0.0)  # Presolving looks at the clock only.


def _answer(highs: Any, variables: list[Any], seconds: float, *, interrupted: bool) -> Answer:
    from .lp_file import take_values  # noqa: PLC0415

    library = highspy()
    status, info = highs.getModelStatus(), highs.getInfo()
    terminations: dict[Any, Termination] = {
        library.HighsModelStatus.kOptimal: "finished",
        library.HighsModelStatus.kInfeasible: "infeasible",
        library.HighsModelStatus.kTimeLimit: "time-limit",
        library.HighsModelStatus.kInterrupt: "interrupted",
    }
    termination = terminations.get(status, "error")
    has_solution = info.primal_solution_status == library.SolutionStatus.kSolutionStatusFeasible
    if has_solution:
        values = zip(variables, highs.getSolution().col_value, strict=True)
        take_values((v, value) for v, value in values if v is not None)
    nodes = None
    if any(v is not None and not v.is_continuous() for v in variables):
        bound, nodes = info.mip_dual_bound, max(0, int(info.mip_node_count))
    else:
        bound = info.objective_function_value if termination == "finished" else -math.inf
    return Answer(
        termination=(
            "interrupted" if interrupted and termination in {"error", "time-limit"} else termination
        ),
        has_solution=has_solution,
        bound=None if termination == "infeasible" else finite(bound),
        seconds=seconds,
        message=highs.modelStatusToString(status),
        value=finite(info.objective_function_value) if has_solution else None,
        nodes=nodes,
    )
