"""Solve, verify and compare: the main job in a few lines, and all that the command line does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from . import registry
from .bounds import best_bound, why_infeasible
from .errors import InputError, Problem, UsageError
from .files import STANDARD_INPUT, parse_instance, read_data, read_instance, read_schedule
from .instances import catalogue, text_of
from .limits import INTERRUPTED, Limits
from .model import check_speeds
from .results import Result, status_of
from .schema import Instance, Schedule
from .verifier import Report, require_feasible
from .verifier import verify as _verify

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from .auditor import Audit
    from .calibration import Calibration, Measurement
    from .exact.formulate import ModelSize
    from .formulations import Formulation
    from .heuristics import Attempt
    from .solvers import Solver
    from .workloads import Imported

DEFAULT_METHOD = "sjf-bco"
DEFAULT_SOLVER = "highs"
COMPARE_SECONDS = 60.0
AUDIT_SECONDS = 60.0

Source = Instance | str | os.PathLike[str]
Data = Mapping[str, Any] | str | os.PathLike[str]


class Method(Protocol):
    """What makes schedules: a placement policy, or any callable with a name.

    If it has a method `prepare(instance)` as well, that is called before the clock starts. If it
    has `counts_iterations`, and that is true, it stops after `Limits.iterations` of them.
    """

    @property
    def name(self) -> str:
        """What `--method` calls it."""

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Look for a schedule within the limits."""


def load_instance(source: Source) -> Instance:
    """An instance from a file, from standard input (`-`), or from those bundled, by name.

    Raises
    ------
    InputError
        With every problem of the input.
    """
    if isinstance(source, Instance):
        check_speeds(source, source.name)
        return source
    if source != STANDARD_INPUT and isinstance(source, str) and not _exists(source):
        text = text_of(source)
        if text is not None:
            return parse_instance(text, source)
        if not source.endswith(".json"):
            names = ", ".join(entry.name for entry in catalogue())
            message = f"neither a file nor a bundled instance; bundled are {names}"
            raise InputError([Problem("", message)], source)
    return read_instance(source)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return True  # No such path can be: reading it says why.


def solve(
    instance: Source,
    *,
    method: str | Method | None = None,
    formulation: str | Formulation | None = None,
    solver: str | Solver | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    iterations: int | None = None,
    seed: int = 0,
    data: Data | None = None,
    log: Callable[[str], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
) -> Result:
    """Solve one instance by a method, or by a formulation and a solver.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    method
        A name, `package.module:Name`, or an object; `sjf-bco` if nothing is asked for.
    formulation
        The same for a formulation; it excludes `method`.
    solver
        The formulation's solver, the same way; by default `highs`, or another installed one if
        that cannot solve the formulation's class of models.
    data
        What the formulation needs beside the instance, such as weights or deadlines: named
        entries, or a JSON file that holds them.
    time_limit, gap, threads, iterations, seed, log, progress
        See `Limits`.

    Returns
    -------
    Result
        Status, the best schedule, verified, and what is proven.

    Raises
    ------
    InputError
        If the instance is malformed.
    UsageError
        If a name is unknown, or options exclude each other.
    VerificationError
        If the method or formulation makes a schedule that breaks a constraint.
    """
    if method is not None and formulation is not None:
        raise UsageError("a method and a formulation exclude each other; choose one")
    if solver is not None and formulation is None:
        raise UsageError("a solver goes with a formulation, for instance time-indexed")
    if iterations is not None and formulation is not None:
        raise UsageError("iterations go with a method that counts them, for instance search")
    if data is not None and formulation is None:
        raise UsageError("data goes with a formulation that needs it")
    limits = Limits(time_limit, gap, threads, seed, log, progress, iterations)
    problem = load_instance(instance)
    if formulation is None:
        found = registry.find("policies", method or DEFAULT_METHOD)
        if iterations is not None and not getattr(found, "counts_iterations", False):
            raise UsageError(f"method {found.name!r} does not count iterations; leave them out")
        return _solve_by_method(problem, found, limits)
    stated = registry.find("formulations", formulation)
    engine = default_solver(stated) if solver is None else registry.find("solvers", solver)
    return _solve_by_formulation(problem, stated, engine, limits, _entries(data))


def _solve_by_formulation(
    instance: Instance,
    formulation: Formulation,
    solver: Solver,
    limits: Limits,
    data: Mapping[str, Any],
    *,
    strict: bool = True,
) -> Result:
    from .exact import solve_formulation  # noqa: PLC0415 - loads Numba, which takes a while

    return solve_formulation(instance, formulation, solver, limits, data, strict=strict)


def _entries(data: Data | None) -> Mapping[str, Any]:
    """The entries of what was given as data."""
    if data is None or isinstance(data, Mapping):
        return data or {}
    return read_data(data)


def _fitting_solvers(formulation: Formulation) -> list[Solver]:
    """Installed solvers that solve the formulation's class of models, the default one first."""
    found = [registry.find("solvers", name) for name in registry.names("solvers")]
    fitting = [s for s in found if formulation.model_class in s.model_classes and s.version()]
    return sorted(fitting, key=lambda solver: (solver.name != DEFAULT_SOLVER, solver.name))


def default_solver(formulation: Formulation) -> Solver:
    """Find the default solver, or another installed one if that cannot take the formulation."""
    fitting = _fitting_solvers(formulation)
    if not fitting:
        raise UsageError(
            f"no installed solver solves {formulation.model_class} models such as "
            f"{formulation.name!r}; `rarmodel solvers` lists those there are"
        )
    # Of those that solve non-linear models, scip needs no licence.
    return next((s for s in fitting if s.name in {DEFAULT_SOLVER, "scip"}), fitting[0])


def _solve_by_method(instance: Instance, method: Method, limits: Limits) -> Result:
    if prepare := getattr(method, "prepare", None):
        prepare(instance)
    begun = perf_counter()
    bound = best_bound(instance)
    horizon = instance.time.horizon
    schedule, stopped = None, "the lower bound exceeds the horizon"
    if bound.slots <= horizon:
        try:
            attempt: object = method(instance, limits)
            if not (isinstance(attempt, tuple) and len(attempt) in {2, 3}):
                message = f"method {method.name!r} returned {attempt!r}, and not an Attempt"
                raise UsageError(message)
            schedule, stopped, *proven = attempt
            bound = max([bound, *filter(None, proven)], key=lambda one: one.slots)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
    report = require_feasible(instance, schedule) if schedule else None
    return Result(
        instance=instance.name,
        method=method.name,
        formulation=None,
        solver=None,
        solver_version=None,
        status=status_of(report.makespan if report else None, bound.slots, horizon),
        schedule=schedule,
        report=report,
        lower_bound=bound.slots,
        bound_name=bound.name,
        seconds=perf_counter() - begun,
        stopped=stopped,
        reasons=why_infeasible(instance, bound) if bound.slots > horizon else (),
    )


def verify(instance: Source, schedule: Schedule | str | os.PathLike[str]) -> Report:
    """Check a schedule, from a file or in memory, against an instance.

    Raises
    ------
    InputError
        If one of the two is malformed; a schedule that is merely wrong gives violations.
    """
    problem = load_instance(instance)
    claimed = schedule if isinstance(schedule, Schedule) else read_schedule(schedule)
    return _verify(problem, claimed)


def audit(
    instance: Source,
    schedule: Schedule | str | os.PathLike[str] | None = None,
    *,
    solver: str | Solver | None = None,
    time_limit: float | None = AUDIT_SECONDS,
    threads: int | None = None,
    seed: int = 0,
    log: Callable[[str], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
) -> Audit:
    """Check the paper's Lemmas 2, 3, 4 and Theorem 5 on one schedule, with both sides' numbers.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedule
        What to audit, from a file or in memory; by default SJF-BCO's schedule.
    solver
        Looks for the least limit θ*_u and the optimum T*; by default as for `solve`.
    time_limit
        Seconds for both; None for no limit. SJF-BCO itself runs to its end.
    threads, seed, log, progress
        See `Limits`.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If a name is unknown.
    NoScheduleError
        If none is given and SJF-BCO finds none within the horizon.
    VerificationError
        If the schedule breaks a constraint.
    """
    limits = Limits(time_limit, 0.0, threads, seed, log, progress)
    problem = load_instance(instance)
    claimed = schedule
    if claimed is not None and not isinstance(claimed, Schedule):
        claimed = read_schedule(claimed)
    from .auditor import audit as _audit  # noqa: PLC0415 - loads Numba and Pyomo
    from .formulations.time_indexed import TIME_INDEXED  # noqa: PLC0415

    engine = default_solver(TIME_INDEXED) if solver is None else registry.find("solvers", solver)
    if TIME_INDEXED.model_class not in engine.model_classes:
        raise UsageError(f"solver {engine.name!r} does not solve {TIME_INDEXED.model_class} models")
    return _audit(problem, engine, limits, claimed)


@dataclass(frozen=True)
class Comparison:
    """Results of several methods and formulations on one instance.

    Attributes
    ----------
    instance
        Name of the instance.
    results
        One for each method and each formulation, in the order asked for.
    """

    instance: str
    results: Sequence[Result]

    @property
    def best_bound(self) -> int | None:
        """The greatest lower bound in slots that is proven for every schedule."""
        bounds = [r.lower_bound for r in self.results if not r.restricted]
        return max((bound for bound in bounds if bound is not None), default=None)

    @property
    def best_makespan(self) -> int | None:
        """The least makespan in slots."""
        return min((r.makespan for r in self.results if r.makespan is not None), default=None)

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain data for each result, ready for a table or a data frame.

        Beside each result's own fields: `best_bound`, `gap` to it, and `ratio` to the least
        makespan. A makespan that another's bound proves optimal has status `optimal`. Bounds of
        formulations that ask for more than the instance does count for themselves only; with
        another objective than the makespan, status and gap are about that.
        """
        rows = []
        for result in self.results:
            row = result.summary()
            makespan = result.makespan
            known = [b for b in (self.best_bound, result.lower_bound) if b is not None]
            row["best_bound"] = max(known, default=None)
            row["ratio"] = None
            if makespan is not None and self.best_makespan is not None:
                row["ratio"] = makespan / self.best_makespan
            if result.goal is None:
                row["gap"] = None
                if makespan is not None and row["best_bound"] is not None:
                    row["gap"] = (makespan - row["best_bound"]) / makespan
                    if makespan <= row["best_bound"]:
                        row["status"] = "optimal"
            rows.append(row)
        return rows


def compare(
    instances: Source | Iterable[Source],
    *,
    methods: Sequence[str | Method] | None = None,
    formulations: Sequence[str | Formulation] | None = None,
    solvers: Sequence[str | Solver] | None = None,
    time_limit: float = COMPARE_SECONDS,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    data: Data | None = None,
    log: Callable[[str], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
    each: Callable[[str, str], None] | None = None,
) -> list[Comparison]:
    """Compare methods and formulations on instances, side by side.

    After Ctrl-C, what there is so far.

    Parameters
    ----------
    instances
        One or several instances, files, or names of bundled ones.
    methods, formulations
        What to compare; if neither is given, everything installed that asks for no more than the
        instance does, each formulation on each installed solver that solves its class of models.
    solvers
        Solvers of the formulations: each formulation is solved by those that solve its class of
        models. By default `highs`, or another installed one where that cannot.
    time_limit
        Seconds for each solve.
    data
        What the formulations need beside the instance; see `solve`.
    gap, threads, seed, log, progress
        For each solve; see `Limits`.
    each
        Told instance and method before each solve.

    Raises
    ------
    InputError
        If an instance is malformed.
    UsageError
        If a name is unknown.
    VerificationError
        If a method or formulation makes a schedule that breaks a constraint.
    """
    everything = methods is None and formulations is None
    if everything:
        methods = registry.names("policies")
        formulations = registry.names("formulations")
    if not formulations and (solvers or data is not None):
        raise UsageError("a solver and data go with a formulation, for instance time-indexed")
    limits = Limits(time_limit, gap, threads, seed, log, progress)
    if isinstance(instances, Instance | str | os.PathLike):
        instances = [instances]
    problems = [load_instance(source) for source in instances]
    entries = _entries(data)
    solves: list[tuple[str, Callable[[Instance], Result]]] = []
    for asked in methods or ():
        method = registry.find("policies", asked)
        solves.append((method.name, partial(_solve_by_method, method=method, limits=limits)))
    engines = [registry.find("solvers", solver) for solver in solvers or ()]
    for wanted in formulations or ():
        formulation = registry.find("formulations", wanted)
        if everything and formulation.restricts:
            continue  # Its schedules answer another question.
        if engines:
            fitting = [e for e in engines if formulation.model_class in e.model_classes]
        elif everything:
            fitting = _fitting_solvers(formulation)
        else:
            fitting = [default_solver(formulation)]
        if not fitting and not everything:
            names = ", ".join(engine.name for engine in engines)
            raise UsageError(
                f"formulation {formulation.name!r} is {formulation.model_class}, which {names} "
                "cannot solve"
            )
        for engine in fitting:
            parts: dict[str, Any] = {
                "formulation": formulation,
                "solver": engine,
                "limits": limits,
            }
            label = f"{formulation.name} on {engine.name}"
            # What nobody asked for by name may turn out to be none for this instance.
            attempt = partial(_solve_by_formulation, **parts, data=entries, strict=not everything)
            solves.append((label, attempt))
    comparisons: list[Comparison] = []
    for problem in problems:
        results: list[Result] = []
        comparisons.append(Comparison(problem.name, results))
        for name, run in solves:
            if each:
                each(problem.name, name)
            results.append(run(problem))
            if results[-1].stopped == INTERRUPTED:
                return comparisons
    return comparisons


def formulate(
    instance: Source,
    formulation: str | Formulation,
    *,
    output: str | os.PathLike[str] | None = None,
    horizon: int | None = None,
    data: Data | None = None,
) -> tuple[pyo.ConcreteModel, ModelSize]:
    """State an instance as a Pyomo model, and write it to a file if asked to.

    Parameters
    ----------
    instance, formulation, data
        As for `solve`.
    output
        A file that ends in `.lp`, `.mps` or `.nl`.
    horizon
        Slots that the model has; by default as many as `solve` would give it at most.

    Returns
    -------
    tuple
        The model and its size.

    Raises
    ------
    InputError
        If the instance is malformed, or the file cannot be written.
    UsageError
        If a name is unknown, or the model is too large to build or none for the file's format.
    """
    from .exact import MAX_TERMS  # noqa: PLC0415 - loads Numba and Pyomo
    from .exact.formulate import model_size, scope_for, write_model  # noqa: PLC0415

    if horizon is not None and horizon < 1:
        raise UsageError(f"horizon {horizon}: it must be at least 1 slot")
    problem = load_instance(instance)
    stated = registry.find("formulations", formulation)
    scope = scope_for(problem, stated, horizon, _entries(data))
    if (terms := stated.size(scope)) > MAX_TERMS:
        raise UsageError(f"the model, with about {terms:,} terms, is too large to build")
    model = stated.build(scope)
    if output is not None:
        write_model(model, output)
    return model, model_size(model, scope.horizon)


def generate(
    family: str = "paper", *, name: str | None = None, contention: bool = True, **knobs: Any
) -> Instance:
    """Draw a random instance of a family; the same arguments give the same instance.

    Parameters
    ----------
    family
        `paper` (the paper's experiments), `contention` (large gradients on slow links) or `small`
        (within reach of the exact formulations).
    name
        Name of the instance; by default family, jobs and seed.
    contention
        Without it gradients and overhead are 0, so that only GPUs are scarce.
    **knobs
        `seed`, `jobs`, `servers`, `sizes` and whatever else `workloads.Settings` has.

    Raises
    ------
    UsageError
        If there is no such family or setting, or a value is out of its range.
    """
    from .workloads import families  # noqa: PLC0415 - few need it
    from .workloads.generate import generate as draw  # noqa: PLC0415

    settings = families.settings_of(family, knobs, contention=contention)
    named = families.name_of(settings) if name is None else name
    return draw(settings, named, families.description_of(settings))


def import_trace(
    source: str | os.PathLike[str],
    *,
    servers: int | None = None,
    gpus_per_server: int | None = None,
    cluster: str | os.PathLike[str] | None = None,
    slurm_conf: str | os.PathLike[str] | None = None,
    slurm_topology: str | os.PathLike[str] | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | bool = True,
    **choices: Any,
) -> Imported:
    """Make an instance of a trace: Philly, Muri, Gavel, Tiresias, Helios, Acme, sacct, any CSV.

    Parameters
    ----------
    source
        The trace, plain or gzipped; `-` for standard input.
    servers, gpus_per_server, cluster, slurm_conf, slurm_topology, rates
        The cluster; see `workloads.platform_of`.
    contention
        What differs in `alpha`, `concurrency` and `overhead_ms_per_server`; False for gradients
        and overhead of 0.
    **choices
        `window`, `group`, `max_jobs`, `columns` and whatever else `workloads.Choices` has.

    Returns
    -------
    Imported
        The instance, and an account of what became of each row.

    Raises
    ------
    InputError
        If a file or a row is unusable, or no row becomes a job.
    UsageError
        If an option is unknown or out of its range, or options exclude each other.
    """
    from . import workloads  # noqa: PLC0415 - few need it

    known = {field.name for field in fields(workloads.Choices)} - {"contention"}
    if unknown := sorted(choices.keys() - known):
        raise UsageError(f"no option {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    platform = workloads.platform_of(
        servers=servers,
        gpus_per_server=gpus_per_server,
        cluster=_path(cluster),
        slurm_conf=_path(slurm_conf),
        slurm_topology=_path(slurm_topology),
        rates=rates,
        contention=None if isinstance(contention, bool) else contention,
    )
    try:
        chosen = workloads.Choices(**choices, contention=contention is not False)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in choices.items())
        raise UsageError(f"{given}: a value of the wrong type") from error
    return workloads.import_trace(os.fspath(source), *platform, chosen)


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.fspath(path)


def calibrate(
    table: str | os.PathLike[str] | Iterable[Measurement | Mapping[str, Any]] | None = None,
    *,
    nccl_tests: Iterable[str | os.PathLike[str]] = (),
    instance: Source | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
    message_mb: tuple[float, float] | None = None,
) -> Calibration:
    """Fit ξ1, α and ξ2 to measured times, and rates to the output of nccl-tests.

    Parameters
    ----------
    table
        A CSV file of measurements, `-` for standard input, or rows with the fields of
        `calibration.Measurement`.
    nccl_tests
        Files with what `all_reduce_perf` printed: those of a ring on one server measure
        `intra_server_gbps`, the others `network_gbps`.
    instance
        Where rates come from that are neither given nor measured, and the values of constants
        that the measurements leave open.
    rates
        Rates that are known: `network_gbps`, `intra_server_gbps`, `reduction_gbps`.
    contention
        Constants that are not to be fitted but have this value: `concurrency`, `alpha`,
        `overhead_ms_per_server`.
    message_mb
        Least and greatest size in MB of all-reduces that count; by default 16 MB and more.

    Returns
    -------
    Calibration
        Constants with their uncertainty, and what was measured beside what the model gives.

    Raises
    ------
    InputError
        If a file is malformed, a rate is missing, or the measurements determine nothing.
    UsageError
        If an option is unknown or out of its range, or options exclude each other.
    """
    from . import calibration  # noqa: PLC0415 - few need it

    known = {field.name for field in fields(calibration.Rates)}
    if unknown := sorted(set(rates or {}) - known):
        raise UsageError(f"no rate {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    span = calibration.DEFAULT_SPAN if message_mb is None else message_mb
    if not 0 <= span[0] <= span[1]:
        raise UsageError(f"messages of {span[0]:g} to {span[1]:g} MB: least and greatest expected")
    measurements = None
    if isinstance(table, str | os.PathLike):
        measurements = calibration.read_measurements(os.fspath(table))
    elif table is not None:
        measurements = calibration.made_measurements(table)
    return calibration.calibrate(
        measurements,
        [calibration.read_run(os.fspath(source)) for source in nccl_tests],
        rates=calibration.Rates(**(rates or {})),
        instance=None if instance is None else load_instance(instance),
        given=contention,
        span=span,
    )


def bundled() -> list[dict[str, Any]]:
    """One row of plain data for each bundled instance: sizes, optimum, description."""
    rows = []
    for entry in catalogue():
        instance = load_instance(entry.name)
        rows.append(
            {
                "name": entry.name,
                "jobs": len(instance.jobs),
                "servers": len(instance.cluster.servers),
                "gpus": instance.cluster.total_gpus,
                "network": instance.cluster.network.kind,
                "horizon": instance.time.horizon,
                "optimum": entry.optimum,
                "best_known": entry.best_known,
                "source": entry.source,
                "description": instance.description,
            }
        )
    return rows


def engines() -> list[dict[str, Any]]:
    """One row of plain data for each solver: version if installed, models it solves, how to get it.

    Asks nothing of the solvers themselves, and takes no licence.
    """
    rows = []
    for name in registry.names("solvers"):
        solver = registry.find("solvers", name)
        rows.append(
            {
                "name": solver.name,
                "version": solver.version(),
                "model_classes": sorted(solver.model_classes),
                "install": getattr(solver, "install", None),
            }
        )
    return rows


Schedules = Schedule | str | os.PathLike[str] | Iterable[Schedule | str | os.PathLike[str]]


def plot(
    instance: Source,
    schedules: Schedules,
    *,
    form: str = "png",
    parts: Sequence[str] | None = None,
) -> bytes:
    """Draw schedules of an instance: GPU by GPU, rings on links, and GPUs held, over time.

    Schedules that break constraints are drawn as far as they can be, and marked.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedules
        One or several, from files or in memory.
    form
        `png` or `svg`; or `html` for a page that reacts to the pointer, the same as `report`.
    parts
        What a picture shows of each schedule: `gantt`, `contention`, `utilisation`; all by default.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If there is no such form or part, or what draws it is not installed.
    """
    if form == "html":
        if parts is not None:
            raise UsageError("a page shows everything; parts go with png and svg")
        return report(instance, schedules).encode()
    if form not in {"png", "svg"}:
        raise UsageError(f"no form {form!r} of pictures; there are png, svg, html")
    from .reports import draw_all, picture  # noqa: PLC0415 - few need it

    problem = load_instance(instance)
    drawings = draw_all(problem, _schedules(schedules))
    return picture(drawings, best_bound(problem).slots, form=form, parts=parts)


def report(instance: Source, schedules: Schedules) -> str:
    """Compare schedules of an instance in one HTML page, which needs nothing else to be shown.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    schedules
        One or several, from files or in memory. Those that break constraints are shown as such.

    Raises
    ------
    InputError
        If instance or schedule is malformed.
    UsageError
        If Jinja2 or Bokeh is not installed.
    """
    from .reports import report_page  # noqa: PLC0415 - few need it

    return report_page(load_instance(instance), _schedules(schedules))


def _schedules(given: Schedules) -> list[Schedule]:
    if isinstance(given, Schedule | str | os.PathLike):
        given = [given]
    return [one if isinstance(one, Schedule) else read_schedule(one) for one in given]
