"""The method: `search` for a share of the time, and then proofs of higher and higher bounds."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

from rarmodel.bounds import LowerBound, relative_gap
from rarmodel.defaults import SEARCH_SECONDS
from rarmodel.heuristics import Attempt
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits, processors
from rarmodel.model import horizon_of
from rarmodel.schema import Instance
from rarmodel.search import SEARCH, Session

from .refutation import Outcome, Refutation

SEARCH_SHARE = 0.15
"""Share of the time for `search` alone, at first."""
NAME = "proof"
"""Name of the method, and of the bounds that it proves."""


@dataclass(frozen=True)
class Proof:
    """The proof method; see `rarmodel.proof`."""

    name: str = NAME
    counts_iterations: bool = False
    description: str = "searches, and then proves that nothing is shorter"

    def prepare(self, instance: Instance) -> None:
        """Compile what it needs, so that this does not count as its time."""
        SEARCH.prepare(instance)

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Best schedule found, the best bound proven, and why the proof stopped."""
        begun = perf_counter()
        seconds = SEARCH_SECONDS if limits.time_limit is None else limits.time_limit
        session = Session(instance, limits)
        try:
            stopped = session.run(begun + SEARCH_SHARE * seconds)
            if stopped == TIME_LIMIT:
                stopped = raise_bound(session, limits, begun + seconds)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        return Attempt(session.schedule(self.name), stopped, session.bound)


def raise_bound(session: Session, limits: Limits, deadline: float) -> str:
    """Raise the bound of a search, slot by slot, until a schedule meets it; return why it ended."""
    refutation = Refutation(session.instance, limits.threads or processors())
    if not refutation.fits:
        return session.run(deadline)
    while session.bound.slots <= horizon_of(session.instance):
        if session.makespan <= session.bound.slots:
            return "the makespan meets the lower bound"
        if relative_gap(session.makespan, session.bound.slots) <= limits.gap:
            return "the makespan is within the gap of the lower bound"
        outcome = refutation.decide(session.bound.slots, deadline)
        if outcome is Outcome.OPEN:
            return TIME_LIMIT
        if outcome is Outcome.FOUND:
            session.take(refutation.solution)
        else:
            session.raise_bound(LowerBound(session.bound.slots + 1, NAME))
        if limits.progress:
            known = None if session.solution is None else session.makespan
            limits.progress(known, session.bound.slots)
    return "the lower bound exceeds the horizon"


PROOF = Proof()
