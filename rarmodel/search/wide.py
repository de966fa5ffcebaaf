"""The session for what `Session` does not handle: wider instances, and other objectives."""

from __future__ import annotations

from functools import cached_property
from math import inf
from time import perf_counter

from rarmodel.bounds import (
    LowerBound,
    ValueBound,
    best_bound,
    raised_slowly,
    relative_gap,
    slow_bounds,
    value_bounds,
    with_aim,
    with_makespan,
)
from rarmodel.engine import NEVER, arrays_of
from rarmodel.limits import PROVEN, TIME_LIMIT, Limits
from rarmodel.lists.order_search import Found, OrderSearch
from rarmodel.methods import Attempt, Turns
from rarmodel.methods.stopping import Criteria, Progress
from rarmodel.model import unhandled
from rarmodel.model.features import BY_DUTY, UNINTERRUPTED
from rarmodel.model.interruptions import in_one_piece
from rarmodel.model.objectives import MAKESPAN
from rarmodel.packing.solution import solution_of_plan
from rarmodel.proof.enumeration import Enumeration, enumeration_of
from rarmodel.proof.sum_search import SumSearch, sum_search
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import require_feasible

from .alone import BEFORE, UNTIL, on_gpus_alone
from .proving import prove_sum
from .session import BOUND_SHARE, Session

SESSION_HANDLES = UNINTERRUPTED
"""Features of the instances that have a session: their jobs are not interrupted."""
FLOAT_NOISE = 1e-12
"""Relative gap of equal values, which may have been added in different orders."""


class WideSession:
    """A search for one instance, with the members of `Session` that every instance needs.

    Parameters
    ----------
    instance, limits, turns, first
        As for `Session`.

    Attributes
    ----------
    instance
        The problem.
    bound
        The best known lower bound on the makespan.
    aim
        A bound on the first objective that the search itself has proven; None if there is none.
    criteria
        The stopping criteria of the user.
    """

    def __init__(
        self, instance: Instance, limits: Limits, turns: Turns | None = None, first: int = 0
    ) -> None:
        self.instance = instance
        self.bound: LowerBound = best_bound(instance)
        self.aim: ValueBound | None = None
        self._limits = limits
        self.criteria, self._begun = Criteria(limits.stop), perf_counter()
        # Jobs may be interrupted, but list schedules run each in one piece.
        self._search = OrderSearch(in_one_piece(instance), limits, "search", turns, first)
        self._alone = on_gpus_alone(instance)
        makespan_first = instance.objectives[0] == MAKESPAN.name
        self._slow_bounds = slow_bounds(instance, MAKESPAN) if makespan_first else []

    @property
    def values(self) -> tuple[float, ...]:
        """Values of the best schedule, the most important first, to compare."""
        return self._search.best.values

    def take(self, found: Schedule | None) -> bool:
        """Keep a feasible schedule if it is better; return whether it is."""
        if found is None:
            return False
        report = require_feasible(self.instance, found)
        values = tuple(float(value) for value in (report.objective or {}).values())
        if values >= self.values:
            return False
        self._search.best = Found(values, found)
        return True

    def raise_bound(self, bound: LowerBound | None) -> bool:
        """Keep a lower bound on the makespan if it is greater; return whether it is."""
        if bound is None or bound.slots <= self.bound.slots:
            return False
        self.bound = bound
        return True

    def learn(self, made: Attempt) -> None:
        """Keep what another session has found, as far as it is better."""
        self.take(made.schedule)
        self.raise_bound(made.bound)
        if made.aim is not None and (self.aim is None or made.aim.value > self.aim.value):
            self.aim = made.aim

    def schedule(self, method: str) -> Schedule | None:
        """The best known schedule; None if there is none."""
        best = self._search.best.schedule
        return None if best is None else best.model_copy(update={"method": method})

    def run(
        self,
        deadline: float | None = None,
        iterations: int | None = None,
        patience: int | None = None,
    ) -> str:
        """Search until there is a reason to stop; return the reason. See `Session.run`."""
        if self._slow_bounds:
            seconds = inf if deadline is None else BOUND_SHARE * (deadline - perf_counter())
            self.bound = raised_slowly(
                self.instance, self.bound, self._slow_bounds, seconds=seconds
            )
            self._slow_bounds = []
        if deadline is not None and iterations is None and patience is None:
            stopped = self._try_alone(deadline)
            if stopped != TIME_LIMIT:
                return stopped
        return self._search.run(deadline, iterations, patience, self._asked)

    def _try_alone(self, deadline: float) -> str:
        """Search for a while, then on GPUs alone, if jobs share some; why that ended."""
        alone, self._alone = self._alone, None
        if alone is None:
            return TIME_LIMIT
        begun = perf_counter()
        seconds = deadline - begun
        stopped = self._search.run(begun + BEFORE * seconds, over=self._asked)
        if stopped != TIME_LIMIT:
            return stopped
        limits = Limits(threads=self._limits.threads, seed=self._limits.seed)
        session = session_of(in_one_piece(alone), limits)
        try:
            session.run(begun + UNTIL * seconds)
        finally:
            self.take(session.schedule("search"))
        return self._asked() or TIME_LIMIT

    @property
    def closable(self) -> bool:
        """Whether the gap may be closed, by a proof."""
        return self._sums is not None or self._enumeration is not None

    @property
    def ready(self) -> bool:
        """Whether it is time for that: it always is."""
        return True

    def close_gap(self, deadline: float) -> str:
        """Look for better schedules until there is none; return why that ended."""
        if self._sums is not None:
            self.learn(Attempt(None, "", aim=prove_sum(self._search, self._sums, deadline)))
        elif self._enumeration is not None:
            self._enumerate(self._enumeration, deadline)
        return self.over(deadline) or TIME_LIMIT

    def _enumerate(self, enumeration: Enumeration, deadline: float) -> None:
        """Try all schedules, for a shorter one or a higher bound, until they meet.

        The search goes on for half of the time, as not every instance is small enough for this.
        """
        while not enumeration.over and not self.over(deadline):
            begun = perf_counter()
            makespan = NEVER if self._search.best.schedule is None else int(self.values[0])
            plan, bound = enumeration.step(makespan, self.bound.slots)
            if plan is not None:
                solution = solution_of_plan(self.instance, plan)
                self.take(solution.schedule(self.instance, self._search.method))
            self.raise_bound(bound)
            now = perf_counter()
            self._search.run(min(deadline, now + (now - begun)), None, None, self._asked)

    def over(self, deadline: float) -> str:
        """The reason to stop, also by the criteria of the user; empty if there is none."""
        late = TIME_LIMIT if perf_counter() >= deadline else ""
        return self.closed() or self.criteria.poll(lambda: self.progress) or late

    def _asked(self) -> str:
        """The same between iterations, without a deadline."""
        return self.closed() or self.criteria.ask(self.progress)

    @property
    def progress(self) -> Progress:
        """How far the session is, in all of its runs."""
        found, seconds = self._search, perf_counter() - self._begun
        values = () if found.best.schedule is None else found.best.values
        return Progress(seconds, found.iterations, found.since_gain, values, self._least[0])

    def report(self) -> None:
        """Tell value and bound of the first objective."""
        if self._limits.progress:
            found = self._search.best
            value = None if found.schedule is None else found.values[0]
            self._limits.progress(value, self._least[0])

    def closed(self) -> str:
        """Tell value and bound; why no better schedule is needed, empty if one is."""
        self.report()
        if self._search.best.schedule is None:
            return ""
        gap = max(map(relative_gap, self.values, self._least))
        if gap <= FLOAT_NOISE:
            return PROVEN
        return "the value is within the gap of the lower bound" if gap <= self._limits.gap else ""

    @cached_property
    def _sums(self) -> SumSearch | None:
        """The depth-first search behind a proof; None if the instance is none for it."""
        return sum_search(self.instance)

    @cached_property
    def _enumeration(self) -> Enumeration | None:
        """The enumeration of all schedules; None if the instance is none for it."""
        return enumeration_of(self.instance, arrays_of(self.instance))

    @property
    def _least(self) -> list[float]:
        """What each objective is worth at least."""
        known = with_makespan(self.instance, self._bounds, self.bound)
        return [float(bound.value) for bound in with_aim(known, self.aim)]

    @cached_property
    def _bounds(self) -> tuple[ValueBound, ...]:
        """The bounds that do not change."""
        return value_bounds(self.instance)


AnySession = Session | WideSession


def session_of(
    instance: Instance, limits: Limits, turns: Turns | None = None, first: int = 0
) -> AnySession:
    """The session that handles an instance; see `Session` for the parameters."""
    paper = unhandled(instance, BY_DUTY, "") is None
    return (Session if paper else WideSession)(instance, limits, turns, first)
