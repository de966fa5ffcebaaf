"""Replicas first: decide what services run and where, and leave the rest to any method."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

from rarmodel.bounds import (
    ValueBound,
    best_bound,
    impossible,
    require_true,
    value_bounds,
    with_bound,
    with_makespan,
)
from rarmodel.bounds.cheapest_replicas import least_cost_of_services
from rarmodel.errors import UsageError
from rarmodel.formulations.cheapest_mix_numbers import singles_of
from rarmodel.formulations.cheapest_placed import CHEAPEST_PLACED
from rarmodel.limits import Limits
from rarmodel.methods import STARTED, Result, goals_of, skipped, status_of, ties_in
from rarmodel.methods.incumbent_log import IncumbentLog
from rarmodel.model.objectives import COST, exact, objectives_of
from rarmodel.schema import Instance, Replica, Schedule
from rarmodel.verifier import Report, require_feasible, verify

from .mix import NO_ROOM, cheapest_mix, least_price
from .numbering import with_replicas
from .placing import Unit, as_decided, place
from .rest import rest_of


class Decided(NamedTuple):
    """What replicas run where, and what is left for the jobs.

    Attributes
    ----------
    instance
        The problem.
    units, replicas
        GPUs that replicas hold, and the replicas.
    rest
        The problem of the jobs: the replicas' GPUs are reserved.
    """

    instance: Instance
    units: tuple[Unit, ...]
    replicas: tuple[Replica, ...]
    rest: Instance

    def whole(self, schedule: Schedule, report: Report) -> Schedule:
        """A schedule of the whole from one of the rest, and the verifier's report on that."""
        return with_replicas(self.instance, schedule, report, self.units, self.replicas)


def decide_replicas(
    instance: Instance, limits: Limits, lending: Collection[str] = ()
) -> Decided | str:
    """The cheapest mix, where it breaks up the fewest idle servers; or why there is none.

    Where this mix finds no room, as the GPUs that are idle lie on several servers, another one does
    that is the cheapest of those that do.

    Parameters
    ----------
    instance
        The problem.
    limits
        Its time limit, threads and seed count.
    lending
        Names of jobs that run at slot 0, and leave their GPUs to replicas.

    Raises
    ------
    UsageError
        If the model of the mix is too large, or no solver is installed.
    """
    begun = perf_counter()
    around = instance
    if lending:
        jobs = [
            job.model_copy(update={"running": None}) if job.name in lending else job
            for job in instance.jobs
        ]
        around = instance.model_copy(update={"jobs": tuple(jobs)})
    chosen = cheapest_mix(around, limits)
    if isinstance(chosen, str) and chosen != NO_ROOM:
        return chosen
    units = chosen if isinstance(chosen, str) else place(around, chosen.wanted)
    if isinstance(units, str):
        left = limits.since(begun)
        try:
            chosen = cheapest_mix(around, left, CHEAPEST_PLACED, numbers=singles_of)
        except UsageError:  # By single servers the model may be too large.
            return units
        if isinstance(chosen, str):
            return chosen if chosen == NO_ROOM else f"{units}; and by servers: {chosen}"
        units = as_decided(chosen.wanted)
    assert not isinstance(chosen, str)  # noqa: S101 - there are units of it
    names = [server.name for server in instance.cluster.servers]
    on: dict[int, dict[str, tuple[int, ...]]] = {}
    for unit in units:
        for i in unit.replicas:  # How many GPUs, so far; `with_replicas` says which.
            held = on.setdefault(i, {}).get(names[unit.server], ())
            on[i][names[unit.server]] = (*held, len(held))
    replicas = tuple(
        Replica.model_validate(
            {
                "service": one.service.name,
                "variant": one.variant.name,
                "from": one.start,
                "to": one.end,
                "gpus": on[i],
            }
        )
        for i, one in enumerate(chosen.wanted)
    )
    return Decided(instance, tuple(units), replicas, rest_of(instance, units, replicas))


def taken_from(instance: Instance, schedule: Schedule) -> Decided:
    """The replicas of a feasible schedule, as if they had been decided."""
    names = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    sliced = {
        (service.name, one.name)
        for service in instance.services
        for one in service.variants
        if one.slices is not None
    }
    units: list[Unit] = []
    shared: dict[tuple[str, int], Unit] = {}
    for r, one in sorted(enumerate(schedule.services), key=lambda pair: pair[1].start):
        for name, gpus in one.gpus.items():
            for gpu in gpus:
                last = shared.get((name, gpu))
                if last is not None and last.end > one.start:
                    last.end = max(last.end, one.end)
                    last.replicas.append(r)
                    continue
                units.append(Unit(names[name], one.start, one.end, [r]))
                if (one.service, one.variant) in sliced:
                    shared[name, gpu] = units[-1]
    replicas = schedule.services
    return Decided(instance, tuple(units), replicas, rest_of(instance, units, replicas))


def solve_beside(
    instance: Instance,
    limits: Limits,
    solve: Callable[[Instance, Limits, Schedule | None], Result],
    names: dict[str, str],
    start: Schedule | None = None,
) -> Result:
    """Decide the replicas, solve the jobs beside them, and put both together.

    The bounds of the result are of the whole: they do not take the replicas for given.

    Parameters
    ----------
    instance
        The problem, with services.
    limits
        Its time counts for all of it.
    solve
        Solves the rest, from a schedule of it or from none.
    names
        Names of the method, or of the formulation and solver, as of `skipped`.
    start
        A feasible schedule of the whole: its replicas are kept.

    Raises
    ------
    VerificationError
        If the whole fails verification.
    """
    begun = perf_counter()
    if (none := impossible(instance)) is not None:
        return _without(instance, "infeasible", none.stopped, none.reasons, names, begun)
    decided = decide_replicas(instance, limits) if start is None else taken_from(instance, start)
    if isinstance(decided, str):
        return _without(instance, "unknown", decided, (), names, begun)
    jobs_alone = None
    if start is not None:
        jobs_alone = start.model_copy(update={"services": (), "bound": None})
        if not verify(decided.rest, jobs_alone).feasible:
            jobs_alone = None
    progress = limits.progress
    silent = replace(
        limits.since(begun),
        progress=None if progress is None else lambda value, _: progress(value, None),
    )
    found = solve(decided.rest, silent, jobs_alone)
    return _of_whole(decided, found, limits, perf_counter() - begun, start)


def _bounds(instance: Instance, limits: Limits) -> list[ValueBound]:
    """Bounds on the objectives of the whole, with what `cheapest-mix` proves of prices."""
    bounds = list(value_bounds(instance))
    objectives = objectives_of(instance)
    if COST in objectives and (proven := least_price(instance, limits)) is not None:
        i = objectives.index(COST)
        price, by = proven
        of_services = least_cost_of_services(instance, COST)
        if price > of_services:
            value = exact(bounds[i].value - of_services + price)
            bounds[i] = ValueBound(value, f"{bounds[i].name}, {by}")
    return bounds


def _of_whole(
    decided: Decided, found: Result, limits: Limits, seconds: float, start: Schedule | None = None
) -> Result:
    """The result of the whole, from that of the rest; it is no worse than a schedule to start from.

    A schedule in which jobs are on GPUs of replicas is none of the rest.
    """
    instance = decided.instance
    schedule = report = None
    stopped, by = found.stopped, found.schedule_by
    bound, quick = best_bound(instance), _bounds(instance, limits)
    if found.schedule is not None and found.report is not None:
        schedule = decided.whole(found.schedule, found.report)
        report = require_feasible(instance, schedule)
    if start is not None and not found.restricted:
        started = require_feasible(instance, start)
        if report is None or started.worth < report.worth:
            schedule, report, by = start, started, STARTED
    if schedule is not None and report is not None:
        require_true(instance, report, bound, aim=quick[0])
        values = [*(report.objective or {}).values()]
        schedule = with_bound(schedule.timed(instance.time), instance, bound, quick, values)
    elif found.status == "infeasible":
        stopped = f"no schedule beside these replicas, which were decided first: {found.stopped}"
    goals = found.objective
    if not found.restricted:  # What such a formulation minimises is its own.
        goals = goals_of(instance, report, with_makespan(instance, quick, bound))
    status = status_of(goals, found=schedule is not None)
    return replace(
        found,
        instance=instance.name,
        status=found.status if found.status == "skipped" else status,
        schedule=schedule,
        report=report,
        lower_bound=bound.slots,
        bound_name=bound.name,
        seconds=seconds,
        stopped=stopped,
        objective=goals,
        ties=ties_in(instance, report),
        reasons=(),
        log=IncumbentLog(),
        schedule_by=by,
    )


def _without(
    instance: Instance,
    status: str,
    stopped: str,
    reasons: tuple[str, ...],
    names: dict[str, str],
    begun: float,
) -> Result:
    """The result where no replicas were found."""
    found = skipped(instance, stopped, bound=best_bound(instance), **names)
    return replace(
        found,
        status="infeasible" if status == "infeasible" else "unknown",
        reasons=reasons,
        seconds=perf_counter() - begun,
    )
