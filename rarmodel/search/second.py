"""The second aim: what `search` does once the objectives are proven, or their time is over.

A makespan alone leaves jobs waiting for nothing. So `search` goes on to total completion: first
over packings, for the paper's problem, then over list schedules. Nothing of the objectives is given
up: of two schedules the better one by the verifier's exact values is the answer, and the objectives
count before the second aim.
"""

from __future__ import annotations

from math import ceil, inf
from time import perf_counter
from typing import NamedTuple

from rarmodel.bounds import objective_bound
from rarmodel.limits import PROVEN, Limits
from rarmodel.lists.second import SecondSearch, with_second_aim
from rarmodel.model.features import plain
from rarmodel.model.objectives import Value, objectives_of, second_aim
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import require_feasible

from .repacking import Repacking
from .solution import solution_of_schedule

SHARE = 0.2
"""Greatest share of the time limit, and share of the iterations, for the second aim."""
LEAST_SECONDS, SECONDS_PER_JOB = 2.0, 0.1
"""Where the objectives take less time than this, the second aim may take so much. Little is gained
after so many seconds for each job, so the objectives have the rest."""
REPACKING_SHARE = 0.7
"""Share of that for packings."""
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


def wanted(instance: Instance, limits: Limits) -> bool:
    """Whether there is a second aim to turn to."""
    return limits.second_aim and second_aim(instance) is not None


def seconds_before(instance: Instance, limits: Limits, seconds: float) -> float:
    """How much of a time limit the objectives have, if the second aim may come after them."""
    if not wanted(instance, limits):
        return seconds
    enough = max(LEAST_SECONDS, SECONDS_PER_JOB * len(instance.jobs))
    return seconds - min(SHARE * seconds, enough)


def budget_after(limits: Limits, begun: float, deadline: float | None) -> Budget:
    """What is left for the second aim, after the objectives.

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


class SecondAim:
    """A search for the second aim, from a schedule on.

    Parameters
    ----------
    instance
        The problem.
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
        self._plain, self._limits = instance, limits
        self._instance = with_second_aim(instance)
        self._values = self._of(schedule)
        # Of the instance itself: bounds on what it asks for may take seconds.
        bound = objective_bound(instance, objectives_of(self._instance)[-1])
        self._least = -inf if bound is None else float(bound.value)

    def _of(self, schedule: Schedule) -> tuple[Value, ...]:
        """What a schedule is worth, by the verifier."""
        return tuple((require_feasible(self._instance, schedule).objective or {}).values())

    def _take(self, schedule: Schedule | None) -> None:
        """Keep a schedule if it is better, the objectives first."""
        if schedule is None or schedule is self.schedule:
            return
        values = self._of(schedule)
        if values < self._values:
            self.schedule, self._values = schedule, values

    def run(self, budget: Budget) -> None:
        """Search within a budget.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C; the best schedule is kept.
        """
        paper = plain(self._plain)
        if self._proven:
            return
        if paper:
            listed = len(self._plain.jobs) <= MOST_JOBS
            self._repack(budget.part(REPACKING_SHARE) if listed else budget)
            if not listed or self._proven:
                return
            if budget.iterations is not None:
                done = ceil(REPACKING_SHARE * budget.iterations)
                budget = budget._replace(iterations=budget.iterations - done)
        self._list(budget)

    @property
    def _proven(self) -> bool:
        """Whether nothing can be better."""
        return self._values[-1] <= self._least

    def _repack(self, budget: Budget) -> None:
        """Search over packings."""
        solution = solution_of_schedule(self._plain, self.schedule)
        packings = Repacking(self._plain, solution, self._limits)
        try:
            packings.run(*budget, self._least)
        finally:
            if packings.solution is not solution:
                self._take(packings.solution.schedule(self._plain, self.schedule.method))

    def _list(self, budget: Budget) -> None:
        """Search over list schedules."""
        lists = SecondSearch(self._instance, self.schedule, self._limits)
        patience = IDLE_STEPS if budget.patience is None else budget.patience
        least = self._least * (1 + 1e-12)
        try:
            if budget.iterations != 0:
                lists.run(
                    budget.deadline,
                    budget.iterations,
                    patience,
                    lambda: PROVEN if lists.best.values[-1] <= least else "",
                )
        finally:
            self._take(lists.best.schedule)
