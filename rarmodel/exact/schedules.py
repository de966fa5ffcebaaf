"""Schedules without a model: those of all methods and of `search`."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import perf_counter

from rarmodel.formulations import Plan
from rarmodel.formulations.heuristic_pool import heuristic_schedules
from rarmodel.heuristics import attempt, constructive_methods
from rarmodel.limits import INTERRUPTED
from rarmodel.model import horizon_of, job_extremes
from rarmodel.proof.sum_search import sum_search
from rarmodel.search import SEARCH, Session, one_after_another, prove, prove_sum

from .known import SEARCH_SHARE, Known
from .plans import schedule_of
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
            if left == 0 and known.schedule is not None:
                break
        made = attempt(method, taken, replace(limits, time_limit=left))
        if made.schedule is not None:
            known.collect(made.schedule)
        if made.stopped == INTERRUPTED:
            raise KeyboardInterrupt
    share = inf if limits.time_limit is None else known.begun + SEARCH_SHARE * limits.time_limit
    if known.session is None:
        if not known.closed:
            search_until(known, share, FIRST_PATIENCE)
        return
    plain = known.session.instance
    alone = sum(extreme.least_slots for extreme in job_extremes(instance))
    best = horizon_of(instance) if known.makespan is None else known.makespan - 1
    if alone <= best:
        known.collect(one_after_another(plain).schedule(plain, "one-after-another"))
    if not known.closed:
        search_until(known, share, FIRST_PATIENCE)
    if known.formulation.restricts:
        for starts, gpus in heuristic_schedules(plain, horizon_of(plain)):
            if perf_counter() > share and known.schedule is not None:
                break
            workers = tuple({s: len(held) for s, held in job.items()} for job in gpus)
            known.collect(schedule_of(instance, Plan(starts, workers, gpus), "heuristic"))


def search_until(known: Known, deadline: float, patience: int | None = None) -> None:
    """Continue `search`, and take its schedules and its bound."""
    search = known.session or known.wide
    if search is None:
        return
    begun = perf_counter()
    try:
        known.stopped = search.run(None if deadline == inf else deadline, patience=patience)
    finally:
        known.searched += perf_counter() - begun
        _harvest(known)


def prove_before_models(known: Known) -> None:
    """Let the proof of `search` try, where it is about what is asked for."""
    if not known.searches or known.closed:
        return
    left = known.seconds_left
    deadline = perf_counter() + (PROOF_SECONDS if left is None else PROOF_SHARE * left)
    try:
        if known.session is not None:
            prove(known.session, known.limits, deadline)
        elif known.wide is not None and (sums := sum_search(known.instance)):
            aim = prove_sum(known.wide, sums, deadline)
            if aim is not None:
                known.bounds[0], known.prover = aim
    finally:
        _harvest(known)


def _harvest(known: Known) -> None:
    """Take the results of `search`, also if it was interrupted."""
    session, wide = known.session, known.wide
    if session is not None:
        _harvest_session(known, session)
    elif wide is not None and wide.best.schedule is not None:
        known.collect(wide.best.schedule)


def _harvest_session(known: Known, session: Session) -> None:
    """The same of the search for short schedules."""
    known.raise_bound(session.bound)
    if known.formulation.restricts:
        # With other aims a longer schedule may be the better one.
        for solution in list(session.improvements):
            if not any(solution is other for other in known.seen):
                known.seen.append(solution)
                if solution.makespan <= horizon_of(known.instance):
                    known.collect(solution.schedule(known.instance, SEARCH.name))
    elif known.makespan is None or session.makespan < known.makespan:
        schedule = session.schedule(SEARCH.name)
        if schedule is not None:
            known.collect(schedule)
