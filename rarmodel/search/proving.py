"""The proof at the end of a search, until a schedule meets the bound.

On the makespan the bound rises slot by slot. For sums, schedules must become better and better,
until there is no further one.
"""

from __future__ import annotations

from time import perf_counter

from rarmodel.bounds import CHECKED_PROOF, PROOF, LowerBound, ValueBound
from rarmodel.bounds.configurations import Configurations
from rarmodel.limits import TIME_LIMIT, Limits, processors
from rarmodel.lists.order_search import Found, OrderSearch
from rarmodel.model import horizon_of
from rarmodel.model.objectives import objectives_of
from rarmodel.packing.solution import solution_of_plan
from rarmodel.proof import Outcome, Refutation
from rarmodel.proof.sum_search import MOST_SUM, SumSearch
from rarmodel.schema import Instance

from .open_gap import OpenGap

MOST_JOBS = 40
MOST_GAP = 0.2
"""With more jobs, or a greater relative gap, there is no proof within minutes."""
ALL_NODES = 2**62
FEWEST_SLOTS = 3
"""A gap of so many slots is never too great."""
CHECK_SECONDS = 3.0
"""Checking a proof may always take so long."""


def provable(instance: Instance) -> bool:
    """Whether an instance is small enough for a proof."""
    return len(instance.jobs) <= MOST_JOBS and Configurations(instance).fits


def prove(session: OpenGap, limits: Limits, deadline: float) -> str:
    """Raise the bound of a search until it is met; return why the proof ended, or a time limit.

    Of several threads, one searches on: a better schedule may meet the bound sooner than a proof.

    Parameters
    ----------
    session
        A search, with a schedule if there is one.
    limits
        `threads` and `gap` count.
    deadline
        The reading of `time.perf_counter` at which to stop.
    """
    gap = session.makespan - session.bound.slots
    small = gap <= max(FEWEST_SLOTS, MOST_GAP * session.makespan)
    if not small or not provable(session.instance):
        return TIME_LIMIT
    threads = limits.threads or processors()
    refutation = Refutation(session.instance, max(1, threads - 1))
    refuted = False
    begun = perf_counter()

    def over() -> bool:
        session.report()
        return bool(session.over(deadline))

    with session.searching_on():
        while not (stopped := session.over(deadline)):
            target = session.bound.slots
            if target > horizon_of(session.instance):
                break
            outcome = refutation.decide(target, deadline, over)
            if outcome is Outcome.REFUTED:
                refuted = True
                session.raise_bound(LowerBound(target + 1, PROOF))
            elif outcome is Outcome.FOUND and refutation.plan is not None:
                session.take(solution_of_plan(session.instance, refutation.plan))
            elif not (stopped := session.over(deadline)):
                return TIME_LIMIT
            session.report()
    # The last refutation is the one that counts. Checking may take as long as all of the proof.
    now = perf_counter()
    until = min(deadline, now + max(CHECK_SECONDS, now - begun))
    if refuted and stopped != TIME_LIMIT and refutation.confirm(until, threads):
        session.bound = LowerBound(session.bound.slots, CHECKED_PROOF)
    return stopped


def prove_sum(search: OrderSearch, sums: SumSearch, deadline: float) -> ValueBound | None:
    """Look for better schedules until there is none; None if that is not known in time.

    Parameters
    ----------
    search
        A search, which takes the schedules.
    sums
        The depth-first search for the same instance.
    deadline
        The reading of `time.perf_counter` at which to stop.
    """
    instance = search.instance
    while True:
        known = search.best.schedule is not None
        most = round(search.best.values[0]) - 1 if known else MOST_SUM
        verdict = sums.search(most, ALL_NODES, lambda: perf_counter() >= deadline)
        if verdict.plan is not None:
            solution = solution_of_plan(instance, verdict.plan)
            value = objectives_of(instance)[0].value(instance, solution.completions.tolist())
            search.best = Found((float(value),), solution.schedule(instance, search.method))
        elif verdict.impossible and known:
            return ValueBound(most + 1, PROOF)
        else:
            return None
