"""The session for what `Session` does not handle: wider instances, and other objectives."""

from __future__ import annotations

from functools import cached_property
from math import inf
from time import perf_counter

from rarmodel.bounds import (
    LowerBound,
    ValueBound,
    best_bound,
    least_values,
    raised_slowly,
    slow_bounds,
    with_aim,
    with_makespan,
)
from rarmodel.dispatch.search import Found, WideSearch
from rarmodel.heuristics import Attempt, Turns
from rarmodel.limits import TIME_LIMIT, Limits
from rarmodel.model.objectives import MAKESPAN, Value, objectives_of
from rarmodel.proof.sum_search import SumSearch, sum_search
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import require_feasible

from .neighbourhoods import ORDERS
from .proving import prove_sum
from .session import BOUND_SHARE, Session


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
    """

    def __init__(
        self, instance: Instance, limits: Limits, turns: Turns | None = None, first: int = 0
    ) -> None:
        self.instance = instance
        self.bound: LowerBound = best_bound(instance)
        self.aim: ValueBound | None = None
        self._limits = limits
        self._search = WideSearch(instance, limits, "search", turns, first)
        makespan_first = instance.objectives[0] == MAKESPAN.name
        self._slow_bounds = slow_bounds(instance, MAKESPAN) if makespan_first else []

    @property
    def values(self) -> tuple[float, ...]:
        """Values of the best schedule, the most important first, to compare."""
        return self._search.best.values

    def learn(self, made: Attempt) -> None:
        """Keep what another session has found, as far as it is better."""
        if made.schedule is not None:
            report = require_feasible(self.instance, made.schedule)
            values = tuple(float(value) for value in (report.objective or {}).values())
            if values < self.values:
                self._search.best = Found(values, made.schedule)
        self.bound = max(self.bound, made.bound or self.bound, key=lambda one: one.slots)
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
        return self._search.run(deadline, iterations, patience, lambda _: self._met())

    @property
    def provable(self) -> bool:
        """Whether the instance is small enough for a proof."""
        return self._sums is not None

    def prove(self, deadline: float) -> str:
        """Look for better schedules until there is none; return why that ended."""
        if self._sums is not None:
            self.learn(Attempt(None, "", aim=prove_sum(self._search, self._sums, deadline)))
        return self.over(deadline) or TIME_LIMIT

    def over(self, deadline: float) -> str:
        """The reason to stop; empty if there is none."""
        if self._met():
            return "the value meets the lower bound"
        return TIME_LIMIT if perf_counter() >= deadline else ""

    def report(self) -> None:
        """Tell value and bound of the first objective."""
        if self._limits.progress:
            found = self._search.best
            value = None if found.schedule is None else found.values[0]
            self._limits.progress(value, self._least[0])

    def _met(self) -> bool:
        """Tell value and bound; whether no schedule can be better."""
        self.report()
        pairs = zip(self.values, self._least, strict=True)
        return all(value <= least * (1 + 1e-12) for value, least in pairs)

    @cached_property
    def _sums(self) -> SumSearch | None:
        """The depth-first search behind a proof; None if the instance is none for it."""
        return sum_search(self.instance)

    @property
    def _least(self) -> list[float]:
        """What each objective is worth at least."""
        known = with_makespan(self.instance, self._bounds, self.bound)
        return [float(value) for value in with_aim(known, self.aim)]

    @cached_property
    def _bounds(self) -> tuple[Value, ...]:
        """The bounds that do not change."""
        return least_values(self.instance)


AnySession = Session | WideSession


def session_of(
    instance: Instance, limits: Limits, turns: Turns | None = None, first: int = 0
) -> AnySession:
    """The session that handles an instance; see `Session` for the parameters."""
    plain = ORDERS.supports(instance, objectives_of(instance))
    return (Session if plain else WideSession)(instance, limits, turns, first)
