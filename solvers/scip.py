"""SCIP, through PySCIPOpt, for all models: linear ones, and non-linear ones to global optimality.

SCIP reads linear models from an LP file, as the other solvers do. Pyomo's own interface to SCIP
converts the other models; this adapter solves them itself, for starting solutions, Ctrl-C and the
log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from rarmodel.errors import UsageError
from rarmodel.limits import Limits
from rarmodel.solver_faults import settings

from .answer import Answer, Termination, finite
from .options import set_against_a_fault, unknown_option, value_like, wrong_value

if TYPE_CHECKING:
    import pyomo.environ as pyo


OPTIONS = "https://www.scipopt.org/doc/html/PARAMETERS.php"
"""Where SCIP lists its parameters."""


class Scip:
    """The adapter; see `Solver`."""

    name = "scip"
    model_classes = frozenset({"integer", "linear", "nonlinear"})
    install = "pip install 'rarmodel[scip]'"

    def version(self) -> str | None:
        """Version of PySCIPOpt; None if it is not installed."""
        try:
            return version("pyscipopt")
        except PackageNotFoundError:
            return None

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Refuse parameters that SCIP does not have, and values that they cannot have."""
        from pyscipopt import Model  # noqa: PLC0415

        _set_own(Model(), options)

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        """Minimise a model; see `Solver.solve`."""
        if self.version() is None:
            raise UsageError(f"solver 'scip' is not installed; install it with: {self.install}")
        from .lp_file import check_sense, take_values  # noqa: PLC0415

        check_sense(model, self.name)
        begun = time.perf_counter()
        scip, columns = _hand_over(model)
        _set_parameters(scip, limits, time.perf_counter() - begun)
        _set_own(scip, limits.solver_options)
        _offer_start(scip, columns)
        interrupted = _optimize(scip, limits)
        status = scip.getStatus()
        terminations: dict[str, Termination] = {
            "optimal": "finished",
            "gaplimit": "finished",
            "infeasible": "infeasible",
            "timelimit": "time-limit",
            "userinterrupt": "interrupted",
        }
        termination = terminations.get(status, "error")
        if interrupted and termination == "error":
            termination = "interrupted"
        has_solution = scip.getNSols() > 0
        if has_solution:
            best = scip.getBestSol()
            take_values((variable, scip.getSolVal(best, column)) for variable, column in columns)
        return Answer(
            termination=termination,
            has_solution=has_solution,
            bound=None if termination == "infeasible" else _known(scip, scip.getDualbound()),
            seconds=time.perf_counter() - begun,
            message=f"SCIP status {status}",
            value=finite(scip.getObjVal()) if has_solution else None,
            nodes=int(scip.getNTotalNodes()),
        )


IPOPT_OPTIONS = "nlpi/ipopt/optfile"
"""The parameter that names a file with options of Ipopt, which SCIP's heuristics call."""

SCIP = Scip()


def _hand_over(model: pyo.ConcreteModel) -> tuple[Any, list[tuple[Any, Any]]]:
    """A SCIP model of a linear model, and SCIP's variable for each Pyomo variable."""
    from pyscipopt import Model  # noqa: PLC0415

    from .lp_file import NonlinearError, lp_file  # noqa: PLC0415

    try:
        with lp_file(model, "scip") as (path, by_name):
            scip = Model()
            scip.hideOutput()
            scip.readProblem(str(path))
            columns = [
                (by_name[column.name], column)
                for column in scip.getVars()
                if column.name in by_name
            ]
    except NonlinearError:
        return _convert(model)
    return scip, columns


def _convert(model: pyo.ConcreteModel) -> tuple[Any, list[tuple[Any, Any]]]:
    """A SCIP model of a non-linear model, by Pyomo's conversion of expressions."""
    from pyomo.contrib.solver.solvers.scip.scip_direct import ScipDirect  # noqa: PLC0415

    converter = ScipDirect()
    try:
        # Pyomo offers the conversion only as a part of its own way of solving.
        scip, _, _ = converter._create_solver_model(
            model, converter.config(value={"timer": _NoTimer()}, preserve_implicit=True)
        )
    except (NotImplementedError, ValueError, KeyError) as error:
        raise UsageError(f"solver 'scip' cannot take this model: {error}") from error
    scip.hideOutput()
    columns = list(converter._pyomo_var_to_solver_var_map.items())
    return scip, columns


class _NoTimer:
    """Replaces Pyomo's timer."""

    def start(self, _: str) -> None:
        """Do nothing."""

    def stop(self, _: str) -> None:
        """Do nothing."""


def _set_parameters(scip: Any, limits: Limits, elapsed: float) -> None:
    scip.setParam("limits/gap", limits.gap)
    scip.setParam("limits/absgap", 0.0)
    # A binary that is off by the default 1e-6 is worth whole iterations where speeds are large.
    # Below 1e-7 its LP solver, which goes a thousand times further, complains on stderr.
    scip.setParam("numerics/feastol", 1e-7)
    scip.setParam("randomization/randomseedshift", limits.seed)
    if limits.threads is not None:
        scip.setParam("lp/threads", min(limits.threads, 64))
    if limits.time_limit is not None:
        scip.setParam("limits/time", max(0.0, limits.time_limit - elapsed))
    # Ctrl-C is heard here; SCIP's own handler would replace Python's.
    scip.setParam("misc/catchctrlc", 0)


def _set_own(scip: Any, options: Mapping[str, Any]) -> None:
    """Set the user's parameters.

    Raises
    ------
    UsageError
        If there is no such parameter, or no such value.
    """
    known = scip.getParams() if options else {}
    for name, value in options.items():
        if name not in known:
            raise unknown_option("scip", name, known, OPTIONS)
        if name == IPOPT_OPTIONS:
            raise set_against_a_fault("scip", name)
        fitting = value_like(known[name], "scip", name, value)
        try:
            scip.setParam(name, fitting)
        except ValueError as error:
            expected = f"a value that {OPTIONS} allows"
            raise wrong_value("scip", name, value, expected) from error


def _offer_start(scip: Any, columns: list[tuple[Any, Any]]) -> None:
    known = [(c, v.value) for v, c in columns if v.value is not None]
    if known:
        start = scip.createPartialSol()
        for column, value in known:
            scip.setSolVal(start, column, value)
        scip.addSol(start)


def _optimize(scip: Any, limits: Limits) -> bool:
    """Solve in a separate thread, so that Ctrl-C works; return whether it was pressed."""
    from pyscipopt import SCIP_EVENTTYPE  # noqa: PLC0415

    if limits.progress is not None:
        report = limits.progress

        def changed(model: Any, _: Any) -> None:
            report(_known(model, model.getPrimalbound()), _known(model, model.getDualbound()))

        events = [SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.DUALBOUNDIMPROVED]
        scip.attachEventHandlerCallback(changed, events)
    with TemporaryDirectory() as folder:
        log, ipopt = Path(folder) / "scip.log", Path(folder) / "ipopt.opt"
        lines = [f"{option} {value}\n" for option, value in settings("pyscipopt").items()]
        ipopt.write_text("".join(lines), encoding="utf-8")
        scip.setParam(IPOPT_OPTIONS, str(ipopt))
        if limits.log is not None:
            scip.setLogfile(str(log))
        failures: list[Exception] = []
        ended = threading.Event()  # A join that Ctrl-C interrupts takes the thread for ended.
        interrupted = False
        threading.Thread(target=_run, args=(scip, failures, ended), daemon=True).start()
        while True:
            try:
                if ended.wait(0.1):
                    break
            except KeyboardInterrupt:
                interrupted = True
                scip.interruptSolve()
        if limits.log is not None:
            scip.setLogfile(None)
            for line in log.read_text(encoding="utf-8").splitlines():
                limits.log(line)
    if failures:
        raise UsageError(f"solver 'scip' cannot solve this model: {failures[0]}") from failures[0]
    return interrupted


def _run(scip: Any, failures: list[Exception], ended: threading.Event) -> None:
    try:
        scip.optimizeNogil()
    except Exception as error:  # noqa: BLE001 - PySCIPOpt raises plain ones; none may be lost.
        failures.append(error)
    finally:
        ended.set()


def _known(scip: Any, value: float) -> float | None:
    return finite(value) if abs(value) < scip.infinity() else None
