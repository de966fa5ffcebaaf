"""Compute the quantities in the paper's claims for one schedule: SJF-BCO's or a given one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from time import perf_counter
from typing import Any, NamedTuple

from rarmodel.bounds import LowerBound, best_bound, require_true
from rarmodel.errors import NoScheduleError
from rarmodel.exact import prepare, solve_formulation
from rarmodel.formulations.every_schedule import every_schedule
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import run_policy, sjf_bco
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.methods import attempt, constructive_methods
from rarmodel.model import horizon_of, job_extremes
from rarmodel.schema import Instance, Job, Schedule
from rarmodel.solvers import Solver
from rarmodel.verifier import Report, require_feasible

from .claims import Claim, Quantities, Range, claims_on, exactly, plain
from .least_limit import LeastLimit, least_limit

MOST_JOBS = 8
"""Most jobs for enumeration; more jobs have too many schedules."""

MOST_PLACEMENTS = 1_000
"""Most placements for enumeration, of a job of each size."""

MOST_SCHEDULES = 200_000
"""Most schedules for enumeration."""

MOST_EVALUATIONS = 1_000_000
"""Most simulations of partial schedules for enumeration: about two seconds."""


HEURISTIC_SHARE = 0.05
"""Share of the time left that each heuristic may use to find attained execution times."""

SHARE = 0.25
"""Share of the time left that θ*_u may use; the rest is for T*."""


@dataclass(frozen=True)
class Audit:
    """The paper's claims on one schedule, and the quantities in them.

    Attributes
    ----------
    instance
        Name of the instance.
    schedule, report
        The schedule, and the verifier's report on it.
    quantities
        The quantities in the claims.
    claims
        Every claim, with the numbers of both sides.
    bound_name
        Name of the lower bound on the optimum T*.
    stopped
        Why the search for T* ended, in words.
    least_limit_stopped
        Why the search for θ*_u ended, in words.
    seconds
        Computing time.
    """

    instance: str
    schedule: Schedule
    report: Report
    quantities: Quantities
    claims: tuple[Claim, ...]
    bound_name: str
    stopped: str
    least_limit_stopped: str
    seconds: float

    def summary(self) -> dict[str, Any]:
        """The audit as plain data, without the schedule: the output of `audit --json`."""
        q = self.quantities
        return {
            "instance": self.instance,
            "method": self.schedule.method,
            "verified": self.report.feasible,
            "makespan": q.makespan,
            **self.report.time.by_clock(q.makespan),
            "limit": q.limit,
            "limit_returned": q.returned,
            "estimated_load": q.estimated_load,
            "real_load": q.real_load,
            "largest_job": q.largest_job,
            "upper": q.upper,
            "lower": plain(q.lower),
            "spread": plain(q.spread),
            "factor": plain(q.factor.low),
            **_both("attained_spread", q.attained_spread),
            **_both("least_limit", q.least_limit),
            **_both("optimum", q.optimum),
            "bound_name": self.bound_name,
            "stopped": self.stopped,
            "least_limit_stopped": self.least_limit_stopped,
            "seconds": self.seconds,
            "claims": [claim.summary() for claim in self.claims],
        }


def _both(name: str, between: Range) -> dict[str, float | None]:
    return {
        name: plain(between.low) if between.known else None,
        f"{name}_low": plain(between.low),
        f"{name}_high": plain(between.high),
    }


class _Optimum(NamedTuple):
    """T*, the name of its lower bound, and why the solve ended."""

    slots: Range
    bound_name: str
    stopped: str


def audit(
    instance: Instance,
    solvers: list[Solver],
    limits: Limits,
    schedule: Schedule | None = None,
) -> Audit:
    """Check Lemmas 2, 3, 4 and Theorem 5 on a schedule.

    Parameters
    ----------
    instance
        The problem.
    solvers
        Solvers of integer models for θ*_u and T*, the preferred one first.
    limits
        The time limit is for θ*_u and T*. Algorithm 1 always runs to its end; otherwise it would
        return another limit.
    schedule
        Schedule to audit; by default that of SJF-BCO.

    Raises
    ------
    NoScheduleError
        If SJF-BCO finds no schedule within the horizon.
    VerificationError
        If the schedule breaks a constraint, or shows that a bound is false.
    """
    prepare(instance)
    begun = perf_counter()
    returned = None
    if schedule is None:
        schedule, returned = _sjf_bco(instance)
    report = require_feasible(instance, schedule)
    require_true(instance, report)
    real = _real_slots(report, schedule)
    makespan = max(slots for slots in report.completion.values() if slots is not None)
    load = _busiest(schedule, {job.name: least for job, least in _least(instance)})
    attained = _attained_spread(instance, real, limits, begun)
    shared = least_limit(instance, solvers, _part(limits, begun, SHARE))
    best = _optimum(instance, makespan, shared, solvers, limits, begun)
    quantities = Quantities(
        makespan=makespan,
        limit=load if returned is None else returned,
        returned=returned is not None,
        estimated_load=load,
        real_load=_busiest(schedule, real),
        largest_job=max(job.size for job in instance.jobs),
        upper=1,
        lower=_least_ratio(instance),
        spread=_spread(instance),
        attained_spread=attained,
        least_limit=shared.slots,
        optimum=best.slots,
    )
    return Audit(
        instance=instance.name,
        schedule=schedule,
        report=report,
        quantities=quantities,
        claims=claims_on(quantities),
        bound_name=best.bound_name,
        stopped=best.stopped,
        least_limit_stopped=shared.stopped,
        seconds=perf_counter() - begun,
    )


def _sjf_bco(instance: Instance) -> tuple[Schedule, int]:
    """The schedule of SJF-BCO, and the limit that Algorithm 1 returned."""
    horizon = horizon_of(instance)
    bound = best_bound(instance)
    nothing = f"{instance.name}: nothing to audit: "
    if bound.slots > horizon:
        raise NoScheduleError(
            f"{nothing}no schedule is shorter than {bound.slots} slots ({bound.name}), and the "
            f"horizon is {horizon}"
        )
    found = run_policy(instance, sjf_bco)
    if found is None:
        raise NoScheduleError(
            f"{nothing}sjf-bco finds no schedule within the horizon of {horizon} slots; give "
            "a schedule of your own"
        )
    if found.interrupted:
        raise KeyboardInterrupt  # Algorithm 1 has not returned a limit yet.
    return found.schedule, found.limit


def _least(instance: Instance) -> Iterator[tuple[Job, int]]:
    """Jobs with their least execution times in slots: ρ_j^min, which are the estimates ρ̂_j."""
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        yield job, extreme.least_slots


def _real_slots(report: Report, schedule: Schedule) -> dict[str, int]:
    """Execution time ρ_j of each job in slots, by name, from the verifier."""
    return {a.job: (report.completion[a.job] or 0) - a.start for a in schedule.assignments}


def _busiest(schedule: Schedule, slots: Mapping[str, int]) -> int:
    """The greatest sum over the jobs on one GPU."""
    busy: Counter[tuple[str, int]] = Counter()
    for assignment in schedule.assignments:
        for server, gpus in assignment.gpus.items():
            for gpu in gpus:
                busy[server, gpu] += slots[assignment.job]
    return max(busy.values())


def _ratios(instance: Instance) -> list[Fraction] | None:
    """Bounds on `ρ_j^max/ρ_j^min`; None if the speed of some job can fall to 0."""
    ratios = []
    for extreme in job_extremes(instance):
        if extreme.most_slots is None:
            return None
        ratios.append(Fraction(extreme.most_slots, extreme.least_slots))
    return ratios


def _spread(instance: Instance) -> Fraction | None:
    """φ = `max_j ρ_j^max/ρ_j^min`; None for infinity."""
    ratios = _ratios(instance)
    return None if ratios is None else max(ratios)


def _least_ratio(instance: Instance) -> Fraction:
    """l: the least possible `ρ̂_j/ρ_j`. With ρ̂_j = ρ_j^min it is `1/φ`."""
    ratios = _ratios(instance)
    return Fraction(0) if ratios is None else min(1 / ratio for ratio in ratios)


def _attained_spread(
    instance: Instance, real: Mapping[str, int], limits: Limits, begun: float
) -> Range:
    """φ from attained execution times: over all schedules if these are few.

    Otherwise at least the value from this schedule and those of the heuristics, as far as there is
    time for them.
    """
    greatest = greatest_slots(instance)
    if greatest is not None:
        return exactly(_greatest_ratio(instance, greatest))
    seen = _greatest_ratio(instance, real)
    for method in constructive_methods():
        part = _part(limits, begun, HEURISTIC_SHARE)
        if part.time_limit == 0:
            break  # Each method makes at least one schedule, which takes a while if jobs are many.
        made = attempt(method, instance, part)
        if made.stopped == INTERRUPTED:
            break
        if made.schedule is not None:
            report = require_feasible(instance, made.schedule)
            seen = max(seen, _greatest_ratio(instance, _real_slots(report, made.schedule)))
    return Range(seen, _spread(instance))


def _greatest_ratio(instance: Instance, slots: Mapping[str, int]) -> Fraction:
    return max(Fraction(slots[job.name], least) for job, least in _least(instance))


def _part(limits: Limits, begun: float, share: float) -> Limits:
    """Limits with a share of the time left."""
    left = limits.since(begun)
    return left if left.time_limit is None else replace(left, time_limit=share * left.time_limit)


def _optimum(
    instance: Instance,
    makespan: int,
    shared: LeastLimit,
    solvers: list[Solver],
    limits: Limits,
    begun: float,
) -> _Optimum:
    """T*: by bounds if the makespan meets them, otherwise by `time-indexed` in the time left."""
    simple = best_bound(instance)
    low, name, high = simple.slots, simple.name, makespan
    least = shared.slots.low
    if least is not None and least > low:
        low, name = LowerBound(int(least), "least limit")
    if low >= high:
        return _Optimum(exactly(high), name, "the makespan meets the lower bound")
    if shared.stopped == INTERRUPTED:
        return _Optimum(Range(low, high), name, INTERRUPTED)
    rest = _part(limits, begun, 1.0)
    result = solve_formulation(instance, TIME_INDEXED, solvers, rest, strict=False)
    if result.makespan is not None:
        high = min(high, result.makespan)
    if result.lower_bound is not None and result.lower_bound > low:
        low, name = result.lower_bound, result.bound_name or solvers[0].name
    return _Optimum(Range(min(low, high), high), name, result.stopped)


def greatest_slots(instance: Instance) -> dict[str, int] | None:
    """Greatest execution time of each job in slots, by name, over all feasible schedules.

    `job_extremes` gives bounds: most servers, slowest link and most rings, whether or not these
    occur together. The paper's ρ_j^max is the greatest execution time that can really occur.
    None if there are too many schedules to enumerate, or none.
    """
    if len(instance.jobs) > MOST_JOBS:
        return None
    every = every_schedule(
        instance,
        horizon_of(instance),
        most_placements=MOST_PLACEMENTS,
        most_schedules=MOST_SCHEDULES,
        most_evaluations=MOST_EVALUATIONS,
    )
    if every is None or len(every[1].starts) == 0:
        return None
    _, found = every
    greatest = (found.completions - found.starts).max(axis=0)
    names = (job.name for job in instance.jobs)
    return dict(zip(names, greatest.tolist(), strict=True))
