"""Schedules without a model: those of all methods and of `search`."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import perf_counter

from rarmodel.formulations import Plan
from rarmodel.formulations.heuristic_pool import heuristic_schedules
from rarmodel.limits import INTERRUPTED
from rarmodel.methods import attempt, constructive_methods
from rarmodel.model import horizon_of, job_extremes
from rarmodel.search import SEARCH, Session, one_after_another, seconds_before_proof

from .known import SEARCH_SHARE, Known
from .numbered_schedules import schedule_of
from .taken import taken_by

HEURISTICS_SHARE = 0.05
"""Share of the time limit after which no further heuristic starts."""

PROOF_SHARE, PROOF_SECONDS = 0.6, 60.0
"""Share of the time left for the proof of `search` before the models; seconds without a limit."""

FIRST_PATIENCE = 10
"""Iterations of `search` without improvement after which the model is next."""


def first_schedules(known: Known) -> None:
    """Collect the schedules of all methods, and of `search` within its share of the time.

    A formulation that restricts has its own objective or constraints, so it judges the schedules of
    all methods with all their parameters.
    """
    instance, limits = known.instance, known.limits
    for method in constructive_methods():
        taken = taken_by(method, instance)
        if taken is None:
            continue
        left = None
        if limits.time_limit is not None:
            spent = perf_counter() - known.begun
            left = max(0.0, HEURISTICS_SHARE * limits.time_limit - spent)
            if left == 0 and (known.has_schedules or known.offered):
                break
        # They tell makespans, whatever the objective; `Known` tells what their schedules are worth.
        untold = replace(limits, time_limit=left, progress=None)
        made = attempt(method, taken, untold)
        if made.schedule is not None:
            known.collect(made.schedule)
        if made.stopped == INTERRUPTED:
            raise KeyboardInterrupt
    share = inf if limits.time_limit is None else known.begun + SEARCH_SHARE * limits.time_limit
    plain = known.session.instance if isinstance(known.session, Session) else None
    if plain is not None:
        alone = sum(extreme.least_slots for extreme in job_extremes(instance))
        best = horizon_of(instance) if known.makespan is None else known.makespan - 1
        if alone <= best:
            known.collect_at_last(one_after_another(plain).schedule(plain, "one-after-another"))
    if not known.closed:
        search_until(known, share, FIRST_PATIENCE)
    if plain is not None and known.formulation.restricts:
        for starts, gpus in heuristic_schedules(plain, horizon_of(plain)):
            if perf_counter() > share and (known.has_schedules or known.offered):
                break
            workers = tuple({s: len(held) for s, held in job.items()} for job in gpus)
            known.collect(schedule_of(instance, Plan(starts, workers, gpus), "heuristic"))


def search_until(known: Known, deadline: float, patience: int | None = None) -> None:
    """Continue `search`, and take its schedules and its bound."""
    if known.session is None:
        return
    begun = perf_counter()
    try:
        known.stopped = known.session.run(None if deadline == inf else deadline, patience=patience)
    finally:
        known.searched += perf_counter() - begun
        _harvest(known)


def close_gap_before_models(known: Known, *, models: bool = True) -> None:
    """Let the proof of `search`, or its packers, try where that is about what is asked for.

    If there are models, they begin at once where the gap is too great for packers.
    """
    if known.session is None or not known.searches or known.closed or not known.session.closable:
        return
    left = known.seconds_left
    deadline = perf_counter() + (PROOF_SECONDS if left is None else PROOF_SHARE * left)
    try:
        if known.schedule is None:
            search_until(known, perf_counter() + seconds_before_proof(deadline - perf_counter()))
        if (known.session.ready or not models) and not known.closed:
            known.session.close_gap(deadline)
    finally:
        _harvest(known)


def _harvest(known: Known) -> None:
    """Take the results of `search`, also if it was interrupted."""
    session = known.session
    if session is None:
        return
    known.raise_bound(session.bound)
    if session.aim is not None:
        known.bounds[0], known.provers[0] = session.aim
    known.note()
    if known.formulation.restricts and isinstance(session, Session):
        # With other aims a longer schedule may be the better one.
        for solution in list(session.improvements):
            if not any(solution is other for other in known.seen):
                known.seen.append(solution)
                if solution.makespan <= horizon_of(known.instance):
                    known.collect(solution.schedule(known.instance, SEARCH.name))
    elif not (known.searches and known.values) or session.values < known.values:
        schedule = session.schedule(SEARCH.name)
        if schedule is not None:
            known.collect(schedule)
