"""A search that can stop and continue: its results, and the state of its threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from math import inf
from threading import Event, Lock
from time import perf_counter
from typing import Any

import numpy as np

from rarmodel.bounds import LowerBound, best_bound, raised_slowly, relative_gap, slow_bounds
from rarmodel.engine import NEVER
from rarmodel.engine.arrays import Ints
from rarmodel.limits import TIME_LIMIT, Limits, processors
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.order_moves import EVENLY
from rarmodel.lists.partial_schedule import STOPPED
from rarmodel.methods import NOTHING_TO_TRY, Attempt, Turns, installed
from rarmodel.methods.stopping import Criteria, Progress, first_reason, run_criteria
from rarmodel.model import horizon_of, job_extremes
from rarmodel.model.objectives import MAKESPAN
from rarmodel.packing import Layout, Solution, layout_of, one_after_another, packable
from rarmodel.packing.solution import solution_of_plan, solution_of_schedule
from rarmodel.proof.enumeration import Enumeration, enumeration_of
from rarmodel.schema import Instance, Schedule

from .packing_threads import pack, worth_packing
from .proving import provable, prove
from .sharing_odds import sharing_odds
from .starts import decoded, first_orders, without_contention
from .thread import OnThreads, Thread
from .worker import Worker

MOST_START_WORK = 2_000_000
"""Approximate number of jobs to schedule for the first orders; at least three orders are tried."""
FIRST_SECONDS_PER_JOB = 5e-5
"""Seconds per job that the first order may take past the deadline: about those of a schedule."""
BOUND_AFTER = 3
"""Iterations before the bounds that take seconds, which need not exceed the best makespan."""
BOUND_SHARE = 0.2
"""Approximate share of the time left for these bounds."""
SECONDS_BETWEEN = 1.0
"""Seconds of search before it is asked anew whether it is time to close the gap."""
MOST_IMPROVEMENTS = 20
"""Most solutions to keep among those that were once the best."""


class Session:
    """A search for one instance, which continues each time that it is run.

    Parameters
    ----------
    instance
        The problem.
    limits
        The session uses `gap`, `threads`, `seed`, `progress` and `stop`.
    turns
        The neighbourhoods of users that join; by default none.
    first
        Number of the first thread. Threads of different numbers search differently.

    Attributes
    ----------
    instance
        The problem.
    solution
        The shortest known solution, even if it exceeds the horizon; None if there is none.
    bound
        The best known lower bound.
    improvements
        At most 20 of the solutions that were once the best, the shortest last.
    aim
        None: a session proves bounds on the makespan alone.
    criteria
        The stopping criteria of the user.
    """

    aim: None = None

    def __init__(
        self,
        instance: Instance,
        limits: Limits | None = None,
        turns: Turns | None = None,
        first: int = 0,
    ) -> None:
        self.instance = instance
        self._first = first
        self.solution: Solution | None = None
        self.bound: LowerBound = best_bound(instance)
        self.improvements: list[Solution] = []
        self._limits = limits or Limits()
        self._turns = turns
        self._neighbourhoods = installed(OnThreads, instance)
        self.criteria, self._begun = Criteria(self._limits.stop), perf_counter()
        self._stop = np.zeros(1, np.int64)
        self._taking = Lock()
        self._lists: ListSchedules | None = None
        self._layout: Layout | None = None
        self._orders: list[tuple[Ints, Ints]] = []
        self._enumeration: Enumeration | None = None
        self._tried: list[tuple[int, int]] = []
        self._started = False
        self._workers: list[Worker] = []
        self._odds, self._learned = np.full(len(instance.jobs), EVENLY), False
        self._iterations = self._since_gain = self._attempts = 0
        self._slow_bounds = slow_bounds(instance, MAKESPAN)

    @property
    def values(self) -> tuple[float, ...]:
        """The value of the best solution, to compare."""
        return (self.makespan,)

    @property
    def makespan(self) -> int:
        """Makespan of the shortest solution in slots; `NEVER` if there is none."""
        return NEVER if self.solution is None else self.solution.makespan

    def take(self, found: Solution | Schedule | None) -> bool:
        """Keep a solution or a feasible schedule if it is shorter; return whether it is."""
        if isinstance(found, Schedule):
            found = solution_of_schedule(self.instance, found)
        with self._taking:
            if found is None or found.makespan >= self.makespan:
                return False
            self.solution = found
            self.improvements.append(found)
            if len(self.improvements) > MOST_IMPROVEMENTS:
                # Every other one, so that those kept tell of the whole way.
                del self.improvements[-2::-2]
            return True

    def raise_bound(self, bound: LowerBound | None) -> bool:
        """Keep a lower bound if it is greater; return whether it is."""
        if bound is None or bound.slots <= self.bound.slots:
            return False
        self.bound = bound
        return True

    def learn(self, made: Attempt) -> None:
        """Keep what another session has found, as far as it is better."""
        self.take(made.schedule)
        self.raise_bound(made.bound)

    def schedule(self, method: str) -> Schedule | None:
        """The shortest known schedule; None if none meets the horizon.

        Parameters
        ----------
        method
            Name of the method in the schedule.
        """
        if self.solution is None:
            self.take(without_contention(self.instance))
        alone = sum(extreme.least_slots for extreme in job_extremes(self.instance))
        if alone <= horizon_of(self.instance) < self.makespan:
            self.take(one_after_another(self.instance))
        if self.solution is None or self.makespan > horizon_of(self.instance):
            return None
        return self.solution.schedule(self.instance, method)

    def run(
        self,
        deadline: float | None = None,
        iterations: int | None = None,
        patience: int | None = None,
    ) -> str:
        """Search until there is a reason to stop; return the reason.

        The search continues where the last run stopped. Without a deadline, the result depends only
        on the seed, the number of threads and the total number of iterations.

        Parameters
        ----------
        deadline
            The reading of `time.perf_counter` at which to stop, once there is a first solution;
            None for no time limit.
        iterations
            Most iterations; None for no limit.
        patience
            Stop after this many iterations without a better schedule or bound; None for never.

        Raises
        ------
        KeyboardInterrupt
            At Ctrl-C. The session keeps its results, and can be run again.
        """
        deadline = inf if deadline is None else deadline
        self._stop[0] = 0
        made = idle = 0
        counted = run_criteria(iterations, patience)
        tried_slow_bounds = False
        with ThreadPoolExecutor(self._limits.threads or processors()) as pool:
            while not self._started:
                tried = self.solution is not None or len(self._tried) > 0
                if stopped := self._ended(deadline if tried else inf):
                    return stopped
                more = 0.0 if tried else FIRST_SECONDS_PER_JOB * len(self.instance.jobs)
                if not self._begin(pool, deadline + more):
                    return TIME_LIMIT
            while True:
                if stopped := self._ended(deadline):
                    return stopped
                progress = self.progress
                this_run = progress._replace(iterations=made, since_gain=idle)
                if stopped := self.criteria.ask(progress) or first_reason(counted, this_run):
                    return stopped
                if self._idle and self._iterations >= BOUND_AFTER:
                    return NOTHING_TO_TRY
                before = self.makespan, self.bound
                self._iterate(pool, deadline)
                if self._turns:
                    self._take_turn(self._turns, deadline)
                if self._iterations >= BOUND_AFTER and not tried_slow_bounds:
                    tried_slow_bounds = True
                    self._prove_more(deadline)
                    if self._layout is not None:
                        self._learn_odds(self._layout, deadline)
                made += 1
                gained = (self.makespan, self.bound) != before
                idle = 0 if gained else idle + 1
                self._since_gain = 0 if gained else self._since_gain + 1

    @property
    def progress(self) -> Progress:
        """How far the session is, in all of its runs."""
        values = () if self.solution is None else (float(self.makespan),)
        return Progress(
            perf_counter() - self._begun,
            self._iterations,
            self._since_gain,
            values,
            self.bound.slots,
        )

    @property
    def _idle(self) -> bool:
        """Whether nothing is left to try: no neighbourhood, and no enumeration."""
        enumerates = self._enumeration is not None and not self._enumeration.over
        return not (self._workers or self._turns or enumerates)

    @property
    def closable(self) -> bool:
        """Whether the gap may be closed: by a proof, or by packing jobs anew."""
        return provable(self.instance) or packable(self.instance)

    @property
    def ready(self) -> bool:
        """Whether it is time to close the gap: while it is great, packing anew gains less."""
        return provable(self.instance) or worth_packing(self)

    def close_gap(self, deadline: float) -> str:
        """Raise the bound until it is met, or pack jobs until they meet it.

        Search on before that until it is time for it. Return why all this ended, or a time limit.
        """
        while not self.ready:
            stopped = self.run(min(deadline, perf_counter() + SECONDS_BETWEEN))
            if stopped != TIME_LIMIT or perf_counter() >= deadline:
                return stopped
        if provable(self.instance):
            return prove(self, self._limits, deadline)
        # Packing aims at the bound, so a higher one saves much of its time.
        self._prove_more(deadline)
        if stopped := self.over(deadline):
            return stopped
        self._attempts += 1
        return pack(self, self._limits, deadline, self._attempts - 1)

    @contextmanager
    def searching_on(self) -> Iterator[None]:
        """Let one thread search until the block ends, if there are several."""
        self._stop[0] = 0
        ended = Event()

        def search() -> None:
            while not self.closed() and not ended.is_set():
                self.take(self._workers[0].step(self.solution, self.bound.slots))

        with ThreadPoolExecutor(1) as pool:
            several = (self._limits.threads or processors()) > 1
            searching = pool.submit(search) if several and self._workers else None
            try:
                yield
            finally:
                ended.set()
                self._stop[0] = 1
        if searching is not None:
            searching.result()

    def over(self, deadline: float) -> str:
        """The reason to stop, also by the criteria of the user; empty if there is none."""
        return self.closed() or self.criteria.poll(lambda: self.progress) or _late(deadline)

    def _ended(self, deadline: float) -> str:
        """The reason to stop between iterations, where the user's criteria are asked apart."""
        return self.closed() or _late(deadline)

    def closed(self) -> str:
        """Why no shorter schedule is needed; empty if one is."""
        if self.bound.slots > horizon_of(self.instance):
            return "the lower bound exceeds the horizon"
        if self.solution is not None and self.makespan <= self.bound.slots:
            return "the makespan meets the lower bound"
        if self.solution is not None and (
            relative_gap(self.makespan, self.bound.slots) <= self._limits.gap
        ):
            return "the makespan is within the gap of the lower bound"
        return ""

    def report(self) -> None:
        """Tell makespan and bound."""
        if self._limits.progress:
            makespan = None if self.solution is None else self.makespan
            self._limits.progress(makespan, self.bound.slots)

    def _begin(self, pool: ThreadPoolExecutor, deadline: float) -> bool:
        """Try one more start order; after the last, continue with the best ones.

        Return whether there was time for it.
        """
        if self._lists is None or self._layout is None:
            self._lists = ListSchedules(self.instance, stop=self._stop)
            self._layout = layout_of(self.instance)
            self._orders = list(first_orders(self._layout, self._lists.arrays.options))
        lists, tried = self._lists, self._tried
        most = max(3, MOST_START_WORK // len(self.instance.jobs))
        if len(tried) < min(most, len(self._orders)):
            trial = pool.submit(lists.makespan, *self._orders[len(tried)])
            self._wait([trial], deadline)
            makespan = trial.result()
            if makespan == STOPPED:
                return False
            if makespan >= 0:
                self.take(decoded(lists))
            tried.append((makespan if makespan >= 0 else NEVER, len(tried)))
            self.report()
            return True
        starts = [self._orders[place] for _, place in sorted(tried)]
        for thread in range(self._limits.threads or processors()):
            index = self._first + thread
            generator = np.array([self._limits.seed * 1_000_003 + index], np.uint64)
            own = Thread(
                self.instance,
                lists.arrays,
                self._layout,
                index,
                starts,
                self._odds,
                generator,
                self._stop,
                self._neighbourhoods,
            )
            if self._neighbourhoods:
                self._workers.append(Worker(own, self._neighbourhoods))
        self._started = True
        self._enumeration = enumeration_of(self.instance, lists.arrays.engine)
        return True

    def _iterate(self, pool: ThreadPoolExecutor, deadline: float) -> None:
        """Let each worker search for a moment, and let the enumeration prove."""
        steps = [pool.submit(w.step, self.solution, self.bound.slots) for w in self._workers]
        proof = None
        if self._enumeration is not None and not self._enumeration.over:
            proof = pool.submit(self._enumeration.step, self.makespan, self.bound.slots)
        try:
            self._wait([*steps, *([] if proof is None else [proof])], deadline)
        finally:
            for step in steps:
                self.take(step.result())
            if proof is not None:
                plan, bound = proof.result()
                if plan is not None:
                    self.take(solution_of_plan(self.instance, plan))
                self.raise_bound(bound)
            self._iterations += 1
        self.report()

    def _take_turn(self, turns: Turns, deadline: float) -> None:
        """Let a neighbourhood of a user change the best schedule."""

        def incumbent() -> Schedule | None:
            if self.solution is None or self.makespan > horizon_of(self.instance):
                return None
            return self.solution.schedule(self.instance, "search")

        if better := turns.take(incumbent, deadline):
            self.take(better.schedule)

    def _wait(self, futures: Sequence[Future[Any]], deadline: float) -> None:
        """Wait until the deadline or Ctrl-C; then stop the workers that still run."""
        try:
            wait(futures, None if deadline == inf else max(0.0, deadline - perf_counter()))
        finally:
            self._stop[0] = not all(future.done() for future in futures)

    def _learn_odds(self, layout: Layout, deadline: float) -> None:
        """Tell the workers which rings are to share links."""
        if self._learned or self._ended(deadline):
            return
        end = perf_counter() + BOUND_SHARE * (deadline - perf_counter())
        self._odds[:] = sharing_odds(self.instance, layout, lambda: perf_counter() >= end)
        self._learned = True

    def _prove_more(self, deadline: float) -> None:
        """Prove more, now that a good makespan is known; the rest has the next run."""
        upper = None if self.solution is None else self.makespan
        seconds = BOUND_SHARE * (deadline - perf_counter())
        self.raise_bound(
            raised_slowly(self.instance, self.bound, self._slow_bounds, upper, seconds)
        )


def _late(deadline: float) -> str:
    return TIME_LIMIT if perf_counter() >= deadline else ""
