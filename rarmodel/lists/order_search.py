"""The search over list schedules: annealing in rounds, on all threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from math import inf
from threading import Lock
from time import perf_counter
from typing import ClassVar, NamedTuple

import numpy as np

from rarmodel.bounds import least_values
from rarmodel.engine.arrays import Ints
from rarmodel.limits import TIME_LIMIT, Limits, processors
from rarmodel.methods import NOTHING_TO_TRY, Neighbourhood, Turns, installed
from rarmodel.methods.stopping import Progress, first_reason, run_criteria
from rarmodel.model import horizon_of
from rarmodel.model.features import UNINTERRUPTED
from rarmodel.schema import Instance, Schedule

from .bound_plans import planned
from .dispatching_rules import (
    Rule,
    earliest_due_first,
    first_come_first_served,
    shortest_first,
    weighted_shortest_first,
)
from .instance_arrays import instance_arrays
from .list_schedules import ListSchedules
from .objective_arrays import objective_arrays
from .order_annealing import OrderAnnealing
from .order_moves import BEST, NOTHING
from .order_moves import NUMBERS as MOVE_NUMBERS


class Numbers(NamedTuple):
    """How rounds go."""

    work: int = 20_000
    """Jobs placed in one step, about: some tenth of a second."""
    fewest_moves: int = 20
    """Fewest moves of a step."""
    first_round: int = 20
    most_round: int = 320
    """Steps of the first round of each thread, and the most; each is twice as long as the last."""
    hot: float = 3e-4
    cold: float = 1e-5
    """First and last temperature of a round, as a part of the first objective."""
    aim: float = 0.5
    """Where, between the bound and the best known value, terms of a greatest one begin to count."""


NUMBERS = Numbers()
LONGEST_FIRST = Rule(
    "longest-first",
    "jobs of greatest execution time first",
    lambda instance, job: -shortest_first.key(instance, job),
)
STARTS = (
    *(first_come_first_served, weighted_shortest_first, shortest_first),
    *(earliest_due_first, LONGEST_FIRST),
)


@dataclass
class Found:
    """The best that is known.

    Attributes
    ----------
    values
        Values of the objectives, the most important first.
    schedule
        The schedule; None if there is none.
    """

    values: tuple[float, ...]
    schedule: Schedule | None = None


@dataclass(frozen=True)
class OnLists(Neighbourhood):
    """A neighbourhood of list schedules, which takes its steps on each thread of an `OrderSearch`.

    Attributes
    ----------
    step
        Changes the schedules of one thread for a moment; returns whether its best became better.
    """

    runs: ClassVar[str] = "in each thread"

    step: Callable[[OrderSearch, int], bool] = field(kw_only=True)


class OrderSearch:
    """A search for one instance that goes on where it was each time it is run.

    Parameters
    ----------
    instance
        The problem.
    limits
        Of these it respects `threads` and `seed`.
    method
        Name of the method in schedules.
    turns
        The neighbourhoods of users that join; by default none.
    first
        Number of the first thread. Threads of different numbers search differently.

    Attributes
    ----------
    best
        The best that is known.
    iterations, since_gain
        Steps of all threads so far, and since the last one that found a better schedule.
    """

    def __init__(
        self,
        instance: Instance,
        limits: Limits,
        method: str,
        turns: Turns | None = None,
        first: int = 0,
    ) -> None:
        self.instance = instance
        self._turns, self._first = turns, first
        arrays, objectives = instance_arrays(instance), objective_arrays(instance)
        self.method = method
        self._stop = np.zeros(1, np.int64)
        self._threads = limits.threads or processors()
        self._annealing = [
            OrderAnnealing(
                ListSchedules(instance, arrays, self._stop),
                objectives,
                MOVE_NUMBERS,
                np.array([limits.seed * 1_000_003 + first + i], np.uint64),
            )
            for i in range(self._threads)
        ]
        self._ordering, self._orders = Lock(), dict[Rule, Ints]()
        self._guided = False
        self._least = 0.0
        self._planned: tuple[Ints, Ints] | None = None
        self._moves = max(NUMBERS.fewest_moves, NUMBERS.work // len(instance.jobs))
        self._some = installed(OnLists, instance)
        self.iterations = self.since_gain = 0
        self._round = [0] * self._threads
        self._left = [0] * self._threads
        self._length = [NUMBERS.first_round] * self._threads
        self.best = Found((NOTHING,) * len(objectives.greatest))

    def run(
        self,
        deadline: float | None,
        iterations: int | None = None,
        patience: int | None = None,
        over: Callable[[], str] = str,
    ) -> str:
        """Search until there is a reason to stop, and say which.

        Parameters
        ----------
        deadline
            The reading of `time.perf_counter` at which to stop; None for no time limit.
        iterations, patience
            Steps of all threads, in all, and without a better schedule; None for no limit.
        over
            Asked after each step for a reason to stop; empty if there is none.
        """
        end = inf if deadline is None else deadline
        self._stop[0] = 0
        made = idle = 0
        counted = run_criteria(iterations, patience)
        if not self._guided:
            self._guide()
            self._guided = True
        # More threads than processors take turns, so that the first ones begin as soon as if alone.
        with ThreadPoolExecutor(min(self._threads, processors())) as pool:
            while True:
                if stopped := over():
                    return stopped
                if perf_counter() >= end and made > 0:
                    return TIME_LIMIT
                if stopped := first_reason(counted, Progress(0.0, made, idle)):
                    return stopped
                if not (self._some or self._turns) and min(self._round) >= 2 * len(STARTS):
                    return NOTHING_TO_TRY
                steps = [pool.submit(self._step, i) for i in range(self._threads)]
                try:
                    wait(steps, None if end == inf else max(0.0, end - perf_counter()))
                    if made == 0 and self.best.schedule is None:
                        self._wait_for_first(steps)
                finally:
                    known = made > 0 or self.best.schedule is not None
                    self._stop[0] = int(known or self._any_made(steps))
                    wait(steps)
                improved = [i for i, step in enumerate(steps) if step.result()]
                improved.sort(key=self._value)  # Only the best of them is made.
                before = self.best.values
                for i in improved:
                    self._take(i)
                self._stop[0] = 0
                if self._turns:
                    self._take_turn(self._turns, end)
                made += 1
                self.iterations += 1
                same = self.best.values == before
                idle = idle + 1 if same else 0
                self.since_gain = self.since_gain + 1 if same else 0

    def _wait_for_first(self, steps: Sequence[Future[bool]]) -> None:
        """Wait until a thread has a schedule, or all have finished: without one, nothing is known.

        The others need not finish, as they may be many more than processors.
        """
        running = {step for step in steps if not step.done()}
        while running and not self._any_made(steps):
            running = wait(running, return_when=FIRST_COMPLETED).not_done

    @staticmethod
    def _any_made(steps: Sequence[Future[bool]]) -> bool:
        """Whether a thread has finished its step, and has made a schedule."""
        return any(step.done() and step.exception() is None and step.result() for step in steps)

    def _value(self, i: int) -> tuple[float, ...]:
        """Values of a thread's best schedule."""
        return tuple(self._annealing[i].encodings.value[BEST].tolist())

    def _guide(self) -> None:
        """Find out what the first objective is worth at least, and the plan behind that."""
        self._least = float(least_values(self.instance)[0])
        self._planned = planned(self.instance, self._annealing[0].lists.arrays.options)
        for annealing in self._annealing:
            annealing.aim_at(self._least)

    def _take_turn(self, turns: Turns, deadline: float) -> None:
        """Let a neighbourhood of a user change the best schedule."""
        better = turns.take(lambda: self.best.schedule, deadline)
        if better is not None and better.report.objective is not None:
            found = tuple(map(float, better.report.objective.values()))
            if found < self.best.values:
                method = {"method": self.method}
                self.best = Found(found, better.schedule.model_copy(update=method))

    def _step(self, i: int) -> bool:
        """Let a neighbourhood change the schedules of one thread; whether its best became better.

        Without one, the orders of rules are all that there is.
        """
        if self._stop[0]:
            return False
        if self._some:
            return self._some[self.iterations % len(self._some)].step(self, i)
        return self._start(i)

    def _start(self, i: int) -> bool:
        """Make the schedule of the next start on one thread."""
        self._begin(i)
        self._round[i] += 1  # Without the round that would begin with the best.
        return self._annealing[i].step(1)

    def anneal_for_a_moment(self, i: int) -> bool:
        """Anneal on one thread, in rounds; whether its best became better."""
        if self._left[i] == 0:
            self._begin(i)
        self._left[i] -= 1
        return self._annealing[i].step(self._moves)

    def _begin(self, i: int) -> None:
        """Begin a round: with the plan, later with the best known or the order of a rule."""
        annealing, turn = self._annealing[i], self._round[i]
        encodings = annealing.encodings
        if turn % 2 == 0 or encodings.energy[BEST] == NOTHING:
            rule = STARTS[(turn // 2 * self._threads + self._first + i) % len(STARTS)]
            order = self._order(rule)
            option: Ints | int = 0
            if self._planned is not None:
                option = self._planned[1]
                order = self._planned[0] if turn == 0 else order
            annealing.begin(order, option)
        else:
            annealing.begin_from(BEST)
            above = encodings.value[BEST, 0] - self._least
            annealing.aim_at(self._least + NUMBERS.aim * above)
        if turn > 0:
            self._length[i] = min(NUMBERS.most_round, 2 * self._length[i])
        self._left[i] = self._length[i]
        annealing.heat(NUMBERS.hot, NUMBERS.cold, self._moves * self._length[i])
        self._round[i] += 1

    def _order(self, rule: Rule) -> Ints:
        """The order of a rule, found once for all threads."""
        with self._ordering:
            if rule not in self._orders:
                self._orders[rule] = np.array(rule.order(self.instance), np.int64)
            return self._orders[rule]

    def _take(self, i: int) -> None:
        """Make a thread's best schedule the best of all if it is better, and within the horizon."""
        annealing, found = self._annealing[i], self._value(i)
        if found >= self.best.values or not annealing.decode(BEST):
            return
        lists = annealing.lists
        if int(lists.partial.state.rings["finish"].max()) <= horizon_of(self.instance):
            self.best = Found(found, lists.schedule(self.method))


LIST_SCHEDULES = OnLists(
    "list-schedules",
    "order, size, servers and delay of jobs, in list schedules",
    handles=UNINTERRUPTED,
    step=OrderSearch.anneal_for_a_moment,
)
