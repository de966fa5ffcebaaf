"""Method `search`: an improvement search on all threads that ends with a proof or a gap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rarmodel.bounds import LowerBound, best_bound, relative_gap
from rarmodel.bounds.lanes import lanes
from rarmodel.bounds.lanes import prepare as prepare_lanes
from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.engine.arrays import Ints
from rarmodel.heuristics import Attempt
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits, processors
from rarmodel.model import job_extremes, least_slots_by_placement
from rarmodel.schema import Instance

from .decode import decode
from .draw import drawn
from .layout import layout_of, new_work
from .nest import new_nest, unnest
from .packing import rings_alone, settle
from .plan import Plan, decoded, one_after_another
from .renest import renest
from .repack import repack
from .starts import first_orders
from .worker import Worker

DEFAULT_SECONDS = 60.0
"""Time limit if neither a time nor a number of iterations is given."""
MOST_START_WORK = 2_000_000
"""Jobs scheduled to find the orders to start from, about; at least three orders are tried."""
PATIENCE, PATIENCE_PER_JOB = 30, 20
"""Iterations without a better schedule or bound after which the search ends: few jobs are soon
searched through, and with many the time limit comes first."""
BOUND_AFTER = 3
"""Iterations before the lane bound, which need not prove more than what is possible."""
BOUND_SHARE = 0.2
"""Part of the time limit that the lane bound may take, about."""


@dataclass
class _Known:
    """What the search holds."""

    limits: Limits
    deadline: float
    bound: LowerBound
    plan: Plan | None = None

    @property
    def makespan(self) -> int:
        return NEVER if self.plan is None else self.plan.makespan

    def take(self, plan: Plan | None) -> None:
        """Keep a plan if it is shorter."""
        if plan is not None and plan.makespan < self.makespan:
            self.plan = plan

    def report(self) -> None:
        if self.limits.progress:
            self.limits.progress(None if self.plan is None else self.makespan, self.bound.slots)

    def over(self) -> str:
        """Why to stop; nothing if there is no reason."""
        if self.plan is not None and self.makespan <= self.bound.slots:
            return "the makespan meets the lower bound"
        if self.plan is not None and (
            relative_gap(self.makespan, self.bound.slots) <= self.limits.gap
        ):
            return "the makespan is within the gap of the lower bound"
        if perf_counter() >= self.deadline:
            return TIME_LIMIT
        return ""


@dataclass(frozen=True)
class Search:
    """The improvement search as a method; see `rarmodel.search`."""

    name: str = "search"
    counts_iterations: bool = True

    def prepare(self, instance: Instance) -> None:
        """Compile what the search needs, so that this does not count as its time."""
        prepare_lanes()
        fitting = [
            job
            for job, slots in zip(instance.jobs, least_slots_by_placement(instance), strict=True)
            if slots.packed
        ]
        small = instance.model_copy(update={"jobs": tuple(fitting[:1]) or instance.jobs[:1]})
        known = _Known(Limits(iterations=1, threads=1), np.inf, LowerBound(0, ""))
        self._run(small, known)
        draws = np.zeros(1, np.uint64)
        drawn(draws, 1)
        if fitting and known.plan is not None:
            layout = layout_of(small)
            _, packing = rings_alone(layout, known.plan)
            nest = new_nest(layout, packing, draws)
            renest(layout, nest, 1, 1, 1.0, 1.0, draws)
            unnest(layout, nest, packing)
            repack(layout, packing, 1, 1, 1.0, 1.0, draws)
            settle(layout, packing, 1)

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Best schedule found, the best bound proven, and why the search stopped."""
        seconds = limits.time_limit
        if seconds is None and limits.iterations is None:
            seconds = DEFAULT_SECONDS
        deadline = np.inf if seconds is None else perf_counter() + seconds
        known = _Known(limits, deadline, best_bound(instance))
        try:
            stopped = self._run(instance, known)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        alone = sum(extreme.least_slots for extreme in job_extremes(instance))
        if alone <= instance.time.horizon < known.makespan:
            known.take(one_after_another(instance))
        if known.plan is None or known.makespan > instance.time.horizon:
            return Attempt(None, f"no schedule found within the horizon ({stopped})", known.bound)
        return Attempt(known.plan.schedule(instance, self.name), stopped, known.bound)

    def _run(self, instance: Instance, known: _Known) -> str:
        """Search until there is a reason to stop, which is returned."""
        limits = known.limits
        arrays, layout = arrays_of(instance), layout_of(instance)
        state, work = new_state(arrays), new_work(arrays, layout)
        least = np.array([extreme.least_slots for extreme in job_extremes(instance)], np.int64)
        none_late = np.zeros(len(least), np.int64)
        tried: list[tuple[int, int, Ints, Ints]] = []
        for order, mode in first_orders(layout, least):
            makespan = decode(arrays, state, layout, work, order, mode, none_late, NEVER)
            if makespan >= 0 and makespan < known.makespan:
                known.take(decoded(layout, work, state))
            tried.append((makespan if makespan >= 0 else NEVER, len(tried), order, mode))
            known.report()
            if stopped := known.over():
                return stopped
            if len(tried) >= max(3, MOST_START_WORK // len(least)):
                break
        tried.sort(key=lambda entry: entry[:2])
        threads = limits.threads or processors()
        workers = []
        for index in range(threads):
            _, _, order, mode = tried[index % len(tried)]
            draws = np.array([limits.seed * 1_000_003 + index], np.uint64)
            workers.append(Worker(arrays, layout, index, order, mode, draws))
        with ThreadPoolExecutor(threads) as pool:
            iteration, gained = 0, 0
            patience = PATIENCE + PATIENCE_PER_JOB * len(least)
            while iteration != limits.iterations:
                before = known.makespan, known.bound
                steps = [pool.submit(w.step, known.plan, known.bound.slots) for w in workers]
                for step in steps:
                    known.take(step.result())
                iteration += 1
                known.report()
                if stopped := known.over():
                    return stopped
                if iteration == BOUND_AFTER:
                    self._raise_bound(instance, known)
                if (known.makespan, known.bound) != before:
                    gained = iteration
                elif iteration - gained >= patience:
                    return f"nothing better in {patience} iterations"
        return "iteration limit"

    def _raise_bound(self, instance: Instance, known: _Known) -> None:
        """Prove more, now that it is known what is possible."""
        begun = perf_counter()
        seconds = BOUND_SHARE * (known.deadline - begun)

        def stop() -> bool:
            return perf_counter() - begun > seconds

        upper = None if known.plan is None else known.makespan
        better = lanes(instance, known.bound, upper, stop)
        if better is not None:
            known.bound = better


SEARCH = Search()
