"""Solve an instance by a method, or by a formulation and a solver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rarmodel import registry
from rarmodel.bounds import (
    best_bound,
    impossible,
    require_true,
    value_bounds,
    why_infeasible,
    with_aim,
    with_bound,
    with_makespan,
    within,
)
from rarmodel.defaults import DEFAULT_METHOD
from rarmodel.errors import UsageError
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.methods import (
    STARTED,
    Method,
    Neighbourhood,
    Recorder,
    Result,
    attempt,
    goals_of,
    move_to_fewer_links,
    prepare_method,
    status_of,
    ties_in,
)
from rarmodel.methods.stopping import Criterion, short_forms
from rarmodel.model import handled, horizon_of, never_complete, unhandled
from rarmodel.model.features import SERVICES
from rarmodel.model.objectives import MAKESPAN
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import require_feasible

from .arguments import asked
from .formulation_choices import check_entries, require_named_solver, solvers_for
from .sources import (
    Data,
    Source,
    Starting,
    entries_of,
    load_instance,
    with_horizon,
    with_objective,
)
from .starting import feasible, has_values, start_of_model

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from rarmodel.bounds import Bound
    from rarmodel.exact import FormulatedModel
    from rarmodel.formulations import Formulation, Scope
    from rarmodel.solvers import Solver


@asked
def solve(
    instance: Source,
    *,
    method: str | Method | None = None,
    formulation: str | Formulation | None = None,
    solver: str | Solver | None = None,
    objective: str | Sequence[str] | None = None,
    horizon: int | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    iterations: int | None = None,
    patience: int | None = None,
    stop: Criterion | Iterable[Criterion] = (),
    scheduler: str | None = None,
    seed: int = 0,
    data: Data | None = None,
    start: Starting | None = None,
    solver_options: Mapping[str, Any] | None = None,
    bounds: Iterable[str | Bound] = (),
    neighbourhoods: Iterable[str | Neighbourhood] = (),
    model_only: bool = False,
    keep_model: bool = False,
    log: Callable[[str], None] | None = None,
    progress: Callable[[float | None, float | None], None] | None = None,
) -> Result:
    """Solve one instance by a method, or by a formulation and a solver.

    Parameters
    ----------
    instance
        An instance, a file, a dict with its fields, or the name of a bundled instance.
    method
        A name, `package.module:Name`, or an object. The default is `search`, for at most 10
        seconds.
    formulation
        A formulation, given in the same way; it excludes `method`.
    solver
        The formulation's solver, given in the same way. The default `auto` picks the installed
        solver that proves most for the formulation's class of models.
    objective
        Name of the objective to minimise, or several names, the most important first. The default
        is the instance's own objective.
    horizon
        Number of slots in which all jobs must complete, instead of the instance's. Status, bounds
        and gap are then of the schedules that do.
    data
        Data that the formulation needs beside the instance, such as weights or deadlines: named
        entries, or a JSON file with them. An entry that the formulation does not read is an error.
    start
        A feasible schedule to start from, or a file with one. `search` starts from it, solvers get
        it as a starting solution, and no answer is worse. With a formulation also the values of
        its model: a Pyomo model whose variables have values, or the values by the names of
        variables (`{"placed[bert,ada:2]": 1}`), or by component and index.
    solver_options
        Options of the solver by its own names, which rarmodel hands over; they need a `solver`.
    bounds, neighbourhoods
        Bounds, and neighbourhoods of `search`, beside those that are installed; given as methods
        are.
    keep_model
        Whether the result has the formulation's last model with its values:
        `Result.formulated`, as `formulate` returns it. There is none if no model was built.
    model_only
        Whether the formulation's solver must do with the formulation's model alone: rarmodel adds
        no search, no proof, no bound of its own and no starting solution beside `start`. So
        results of several formulations or solvers can be compared.
    stop
        A stopping criterion or several, any of which stops `search`: functions of a
        `rarmodel.methods.stopping.Progress` that return the reason, in words, or True. With a
        formulation they stop the search around its models.
    time_limit, gap, threads, iterations, patience, scheduler, seed, log, progress
        See `Limits`.

    Returns
    -------
    Result
        Status, the best schedule, which is verified, and its lower bound.

    Raises
    ------
    InputError
        If the instance is malformed.
    UsageError
        If a name is unknown, options exclude each other, or the start is no feasible schedule.
    VerificationError
        If the method or formulation makes a schedule that breaks a constraint, or a schedule
        shows that a bound is false.
    """
    if method is not None and formulation is not None:
        raise UsageError("a method and a formulation exclude each other; choose one")
    if solver is not None and formulation is None:
        raise UsageError("a solver needs a formulation, for instance time-indexed")
    time_limit, gap, iterations, patience, own = short_forms(
        time_limit, gap, iterations, patience, stop
    )
    if (iterations is not None or patience is not None) and formulation is not None:
        raise UsageError(
            "iterations and patience need a method that counts iterations, for instance search"
        )
    if data is not None and formulation is None:
        raise UsageError("data needs a formulation; name the one that reads it")
    bounds, neighbourhoods = tuple(bounds), tuple(neighbourhoods)
    if model_only and formulation is None:
        raise UsageError("model_only needs a formulation, for instance time-indexed")
    if keep_model and formulation is None:
        raise UsageError("keep_model needs a formulation, for instance time-indexed")
    require_named_solver(solver_options, [] if solver is None else [solver])
    if model_only and (bounds or neighbourhoods):
        raise UsageError("model_only leaves bounds and neighbourhoods out; leave yours out, too")
    if model_only and own:
        raise UsageError("model_only leaves the search out, which stop is for; leave stop out, too")
    if scheduler is not None and formulation is not None:
        raise UsageError("a scheduler needs a method that runs on its workers, for instance search")
    if scheduler is not None and (bounds or neighbourhoods):
        raise UsageError(
            "a scheduler's workers know only installed bounds and neighbourhoods; "
            "leave yours out, or install them there"
        )
    limits = Limits(
        time_limit,
        gap,
        threads,
        seed,
        log,
        progress,
        iterations,
        patience,
        scheduler,
        own,
        solver_options or {},
    )
    problem = with_horizon(with_objective(load_instance(instance), objective), horizon)
    with registry.added("bounds", bounds), registry.added("neighbourhoods", neighbourhoods):
        return _solve(
            problem,
            method,
            formulation,
            solver,
            limits,
            data,
            start,
            model_only=model_only,
            keep_model=keep_model,
        )


def _solve(
    problem: Instance,
    method: str | Method | None,
    formulation: str | Formulation | None,
    solver: str | Solver | None,
    limits: Limits,
    data: Data | None,
    start: Starting | None,
    *,
    model_only: bool,
    keep_model: bool,
) -> Result:
    if formulation is None:
        found = registry.find("methods", method or DEFAULT_METHOD)
        counted = limits.iterations is not None or limits.patience is not None or limits.stop
        if counted and not getattr(found, "counts_iterations", False):
            raise UsageError(
                f"method {found.name!r} does not count iterations; "
                f"leave {'stop' if limits.stop else 'iterations and patience'} out"
            )
        if limits.scheduler is not None and not getattr(found, "takes_scheduler", False):
            raise UsageError(
                f"method {found.name!r} does not run on a scheduler's workers; "
                "leave the scheduler out"
            )
        return solve_by_method(problem, found, limits, feasible(problem, start))
    stated = registry.find("formulations", formulation)
    entries = entries_of(data)
    check_entries([problem], [stated], entries)
    solvers = solvers_for(stated, solver)
    return solve_by_formulation(
        problem,
        stated,
        solvers,
        limits,
        entries,
        start,
        model_only=model_only,
        keep_model=keep_model,
    )


def solve_by_formulation(
    instance: Instance,
    formulation: Formulation,
    solvers: Sequence[Solver],
    limits: Limits,
    data: Mapping[str, Any],
    start: Starting | None = None,
    *,
    strict: bool = True,
    model_only: bool = False,
    keep_model: bool = False,
) -> Result:
    """Solve by a formulation; unless strict, a formulation that does not fit gives no error."""
    solve_all = _solve_with_services if instance.services else _solve_formulation
    return solve_all(
        *(instance, formulation, solvers, limits, data, start),
        strict=strict,
        model_only=model_only,
        keep_model=keep_model,
    )


def _solve_formulation(
    instance: Instance,
    formulation: Formulation,
    solvers: Sequence[Solver],
    limits: Limits,
    data: Mapping[str, Any],
    start: Starting | None,
    *,
    strict: bool,
    model_only: bool,
    keep_model: bool,
) -> Result:
    """Solve by a formulation that decides all that there is in one model."""
    from rarmodel.exact import FormulatedModel, solve_formulation  # noqa: PLC0415 - loads Numba

    def keep(model: pyo.ConcreteModel, scope: Scope) -> FormulatedModel:
        return FormulatedModel(formulation, scope, model)

    return solve_formulation(
        instance,
        formulation,
        solvers,
        limits,
        data,
        strict=strict,
        model_only=model_only,
        keep=keep if keep_model else None,
        start=start_of_model(instance, formulation, start, data),
    )


def _solve_with_services(
    instance: Instance,
    formulation: Formulation,
    solvers: Sequence[Solver],
    limits: Limits,
    data: Mapping[str, Any],
    start: Starting | None,
    **choices: bool,
) -> Result:
    """Decide replicas first, and solve the jobs beside them; then both together, if one model can.

    What is found first is the starting solution of the model of both, and gets half of the time.
    """
    from rarmodel.formulations.replicas_beside_jobs import why_apart  # noqa: PLC0415 - loads Pyomo
    from rarmodel.serving import solve_beside, solve_together  # noqa: PLC0415

    if SERVICES.name in getattr(formulation, "meant_for", ()):
        raise UsageError(
            f"formulation {formulation.name!r} has no jobs; name another one for them, as every "
            "solve decides the replicas of services by it first"
        )
    if why := unhandled(instance, handled(formulation), f"formulation {formulation.name!r}"):
        raise UsageError(why)
    apart = why_apart(instance, formulation)

    def both(limits: Limits, known: Starting | None) -> Result:
        return _solve_formulation(instance, formulation, solvers, limits, data, known, **choices)

    if choices["model_only"]:
        if apart is None:
            return both(limits, start)
        raise UsageError(
            "model_only leaves all to the formulation's model, and replicas of services "
            f"(services) are decided before it, as {apart}; leave model_only out"
        )
    if apart is None and start is not None and has_values(start):
        return both(limits, start)
    given = start if start is not None and has_values(start) else None

    def solve_rest(rest: Instance, limits: Limits, schedule: Schedule | None) -> Result:
        known = given if schedule is None else schedule
        return solve_by_formulation(rest, formulation, solvers, limits, data, known, **choices)

    schedule = None if given is not None else feasible(instance, start)
    names = {"formulation": formulation.name, "solver": solvers[0].name}

    def first(limits: Limits) -> Result:
        return solve_beside(instance, limits, solve_rest, names, schedule)

    if apart is None:
        return solve_together(instance, limits, first, both, started=schedule is not None)
    found = first(limits)
    if SERVICES.name not in formulation.handles:
        return found
    return replace(found, stopped=f"{found.stopped}; replicas were decided first, as {apart}")


def solve_by_method(
    instance: Instance, method: Method, limits: Limits, start: Schedule | None = None
) -> Result:
    """Solve by a method: verify its schedule, and take the greater of its bound and ours.

    No answer is worse than the schedule from which it starts.
    """
    if why := unhandled(instance, handled(method), f"method {method.name!r}"):
        raise UsageError(why)
    if instance.services:
        from rarmodel.serving import solve_beside  # noqa: PLC0415 - loads Pyomo

        def solve_rest(rest: Instance, limits: Limits, schedule: Schedule | None) -> Result:
            return solve_by_method(rest, method, limits, schedule)

        return solve_beside(instance, limits, solve_rest, {"method": method.name}, start)

    if not never_complete(instance):  # That is said at once, and nothing need be compiled.
        prepare_method(method, instance)
    begun = perf_counter()
    horizon, by_makespan = horizon_of(instance), instance.objectives[0] == MAKESPAN.name
    recorder = Recorder(
        begun,
        limits.progress,
        horizon if by_makespan else None,
        listens=by_makespan or getattr(method, "reports_objective", False),
    )
    limits = replace(limits, progress=recorder, start=start)
    with within(limits, begun):
        bound = best_bound(instance)
        quick = value_bounds(instance)
    known = goals_of(instance, None, with_makespan(instance, quick, bound))
    recorder.note(None, known[0].bound)
    schedule, aim, by = None, None, method.name
    stopped, reasons = impossible(instance, bound) or ("", ())
    if not reasons:
        try:
            # Bounds took time of the limit, too.
            schedule, stopped, proven, aim = attempt(method, instance, limits.since(begun))
            bound = max(bound, proven or bound, key=lambda one: one.slots)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
    report = require_feasible(instance, schedule) if schedule else None
    if start is not None:
        started = require_feasible(instance, start)
        if report is None or started.worth <= report.worth:
            schedule, report, by = start, started, STARTED
    if schedule is not None and report is not None:
        if stopped != INTERRUPTED:
            try:
                schedule, report = move_to_fewer_links(
                    instance, schedule, report, _over(limits.since(begun))
                )
            except KeyboardInterrupt:
                stopped = INTERRUPTED
        require_true(instance, report, bound, aim=aim)
    least = with_aim(with_makespan(instance, quick, bound), aim)
    goals = goals_of(instance, report, least)
    if not reasons and bound.slots > horizon:  # Proven by the method itself.
        reasons = why_infeasible(instance, bound)
    seconds = perf_counter() - begun
    return Result(
        instance=instance.name,
        time=instance.time,
        method=method.name,
        formulation=None,
        solver=None,
        solver_version=None,
        status=status_of(goals, found=schedule is not None, infeasible=bool(reasons)),
        schedule=with_bound(schedule.timed(instance.time), instance, bound, [aim])
        if schedule
        else None,
        report=report,
        lower_bound=bound.slots,
        bound_name=bound.name,
        seconds=seconds,
        stopped=stopped,
        schedule_by=by if schedule else None,
        objective=goals,
        ties=ties_in(instance, report),
        reasons=reasons,
        log=recorder.finished(goals[0].value, goals[0].bound, seconds),
    )


def _over(limits: Limits) -> Callable[[], bool]:
    """Whether the time that limits leave from now on is over, to be asked again and again."""
    if limits.time_limit is None:
        return lambda: False
    end = perf_counter() + limits.time_limit
    return lambda: perf_counter() >= end
