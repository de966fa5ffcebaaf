"""Ties: what `search` does once the objectives are proven, or their time is over (section 18).

A makespan alone leaves jobs waiting for nothing, and rings scattered. So `search` goes on to what
decides between equal schedules: total completion, first over packings, for the paper's problem,
then over list schedules; and total links, first by moving single rings, then over list schedules.
Nothing of what counts more is given up: of two schedules the better one by the verifier's exact
values is the answer.
"""

from __future__ import annotations

from math import ceil, inf
from time import perf_counter
from typing import NamedTuple

from rarmodel import registry
from rarmodel.bounds import objective_bound
from rarmodel.limits import PROVEN, Limits
from rarmodel.lists.capped import CappedSearch
from rarmodel.methods.fewer_links import move_to_fewer_links
from rarmodel.model.features import plain
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.interruptions import in_one_piece
from rarmodel.model.objectives import (
    TOTAL_COMPLETION,
    TOTAL_LINKS,
    Objective,
    ties_of,
)
from rarmodel.packing.repacking import Repacking
from rarmodel.packing.solution import solution_of_schedule
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import Report, require_feasible

from .neighbourhoods import SERVERS

SHARE = 0.2
"""Greatest share of the time limit, and share of the iterations, for ties."""
LEAST_SECONDS, SECONDS_PER_JOB = 2.0, 0.1
"""Where the objectives take less time than this, ties may take so much. Little is gained after so
many seconds for each job, so the objectives have the rest."""
FIRST_SHARE = 0.8
"""Share of that for each tie but the last."""
REPACKING_SHARE = 0.7
"""Share of the time of total completion for packings."""
MOST_JOBS = 2_000
"""With more jobs, list schedules of the paper's problem take too long to search with."""
IDLE_STEPS = 60
"""Steps over list schedules without a better one that are enough, unless you say how many."""


class Budget(NamedTuple):
    """How long to search; None for no limit.

    Attributes
    ----------
    deadline
        The reading of `time.perf_counter` at which to stop.
    iterations, patience
        Steps in all, and without a better schedule.
    """

    deadline: float | None = None
    iterations: int | None = None
    patience: int | None = None

    def part(self, share: float) -> Budget:
        """A part of the time, or of the iterations."""
        now = perf_counter()
        end = None if self.deadline is None else now + share * max(0.0, self.deadline - now)
        steps = None if self.iterations is None else ceil(share * self.iterations)
        return Budget(end, steps, self.patience)

    def without(self, part: Budget) -> Budget:
        """What is left after a part, which has used its iterations."""
        if self.iterations is None or part.iterations is None:
            return self
        return self._replace(iterations=self.iterations - part.iterations)

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.deadline is not None and perf_counter() >= self.deadline


def seconds_before(instance: Instance, seconds: float) -> float:
    """How much of a time limit the objectives have, if ties may come after them."""
    if not ties_of(instance):
        return seconds
    enough = max(LEAST_SECONDS, SECONDS_PER_JOB * len(instance.jobs))
    return seconds - min(SHARE * seconds, enough)


def budget_after(limits: Limits, begun: float, deadline: float | None) -> Budget:
    """What is left for ties, after the objectives.

    As long as they took, or a fifth of all the time if that is longer, and two seconds in any case,
    but not past the deadline; a quarter of their iterations, which is a fifth of all.

    Parameters
    ----------
    limits
        The limits of the search.
    begun, deadline
        Readings of `time.perf_counter`; the deadline is that of all, None for no time limit.
    """
    now = perf_counter()
    end = None
    if deadline is not None:
        seconds = max(LEAST_SECONDS, SHARE * (deadline - begun), now - begun)
        end = min(deadline, now + seconds)
    steps = limits.iterations
    return Budget(
        end, None if steps is None else ceil(steps * SHARE / (1 - SHARE)), limits.patience
    )


class Ties:
    """A search for what decides between schedules that are equal in the objectives.

    Parameters
    ----------
    instance
        The problem, with ties.
    schedule
        A feasible schedule of it.
    limits
        Of these it respects `threads` and `seed`.

    Attributes
    ----------
    schedule
        The best schedule known. It is kept up to date, also if Ctrl-C ends the search.
    """

    def __init__(self, instance: Instance, schedule: Schedule, limits: Limits) -> None:
        self.schedule = schedule
        self._instance, self._limits = instance, limits
        self._report = require_feasible(instance, schedule)

    def run(self, budget: Budget) -> None:
        """Search within a budget.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C; the best schedule is kept.
        """
        ties = ties_of(self._instance)
        for place, tie in enumerate(ties):
            own = budget if place == len(ties) - 1 else budget.part(FIRST_SHARE)
            budget = budget.without(own)
            self._lower(tie, self._capped(place), own)

    def _capped(self, place: int) -> Instance:
        """The instance with the list of its objectives, and of ties up to a place."""
        names = [tie.name for tie in ties_of(self._instance)[: place + 1]]
        return self._instance.model_copy(update={"objective": (*self._instance.objectives, *names)})

    def _lower(self, tie: Objective, capped: Instance, budget: Budget) -> None:
        """Search for less of a tie, which is the last objective of the capped instance."""
        # Of the instance itself: bounds on what it asks for may take seconds.
        bound = objective_bound(self._instance, tie)
        least = -inf if bound is None else float(bound.value)

        def proven() -> bool:
            return float((self._report.ties or {})[tie.name]) <= least

        if proven():
            return
        listed = True
        if plain(self._instance):
            listed = len(self._instance.jobs) <= MOST_JOBS
            if tie is TOTAL_COMPLETION:
                own = budget.part(REPACKING_SHARE) if listed else budget
                budget = budget.without(own)
                self._repack(own, least)
        if tie is TOTAL_LINKS and not shares_gpus(self._instance):
            self._keep(
                *move_to_fewer_links(
                    self._instance, self.schedule, self._report, lambda: budget.over
                )
            )
        if listed and not proven():
            self._list(capped, budget, least)

    def _take(self, schedule: Schedule | None) -> None:
        """Keep a schedule if it is better, what counts more first."""
        if schedule is not None and schedule is not self.schedule:
            self._keep(schedule, require_feasible(self._instance, schedule))

    def _keep(self, schedule: Schedule, report: Report) -> None:
        if report.worth < self._report.worth:
            self.schedule, self._report = schedule, report

    def _repack(self, budget: Budget, least: float) -> None:
        """Search over packings, by exchanges between servers."""
        if SERVERS not in registry.parts("neighbourhoods"):
            return
        solution = solution_of_schedule(self._instance, self.schedule)
        packings = Repacking(self._instance, solution, self._limits)
        try:
            packings.run(*budget, least)
        finally:
            if packings.solution is not solution:
                self._take(packings.solution.schedule(self._instance, self.schedule.method))

    def _list(self, capped: Instance, budget: Budget, least: float) -> None:
        """Search over list schedules."""
        lists = CappedSearch(in_one_piece(capped), self.schedule, self._limits)
        patience = IDLE_STEPS if budget.patience is None else budget.patience
        enough = least * (1 + 1e-12)
        try:
            if budget.iterations != 0:
                lists.run(
                    budget.deadline,
                    budget.iterations,
                    patience,
                    lambda: PROVEN if lists.best.values[-1] <= enough else "",
                )
        finally:
            self._take(lists.best.schedule)
