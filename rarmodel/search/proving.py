"""The proof at the end of a search: the bound rises slot by slot, until a schedule meets it."""

from __future__ import annotations

from time import perf_counter

from rarmodel.bounds import CHECKED_PROOF, PROOF, LowerBound
from rarmodel.bounds.configurations import Configurations
from rarmodel.limits import TIME_LIMIT, Limits, processors
from rarmodel.model import horizon_of
from rarmodel.proof import Outcome, Refutation
from rarmodel.schema import Instance

from .session import Session
from .solution import solution_of_plan

MOST_JOBS = 40
MOST_GAP = 0.2
"""With more jobs, or a greater relative gap, there is no proof within minutes."""
FEWEST_SLOTS = 3
"""A gap of so many slots is never too great."""
CHECK_SECONDS = 3.0
"""Checking a proof may always take so long."""


def provable(instance: Instance) -> bool:
    """Whether an instance is small enough for a proof."""
    return len(instance.jobs) <= MOST_JOBS and Configurations(instance).fits


def prove(session: Session, limits: Limits, deadline: float) -> str:
    """Raise the bound of a search until it is met; return why the proof ended, or a time limit.

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
    refutation = Refutation(session.instance, limits.threads or processors())
    refuted = False
    begun = perf_counter()
    while not (stopped := session.over(deadline)):
        target = session.bound.slots
        if target > horizon_of(session.instance):
            break
        outcome = refutation.decide(target, deadline)
        if outcome is Outcome.OPEN:
            return TIME_LIMIT
        if outcome is Outcome.REFUTED:
            refuted = True
            session.raise_bound(LowerBound(target + 1, PROOF))
        elif refutation.plan is not None:
            session.take(solution_of_plan(session.instance, refutation.plan))
        session.report()
    # The last refutation is the one that counts. Checking may take as long as all of the proof.
    now = perf_counter()
    until = min(deadline, now + max(CHECK_SECONDS, now - begun))
    if refuted and stopped != TIME_LIMIT and refutation.confirm(until):
        session.bound = LowerBound(session.bound.slots, CHECKED_PROOF)
    return stopped
