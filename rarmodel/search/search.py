"""Method `search`: an improvement search on all threads that ends with a proof or a gap."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rarmodel.bounds import LowerBound
from rarmodel.bounds.cutting_stock import prepare as prepare_cutting_stock
from rarmodel.defaults import SEARCH_SECONDS
from rarmodel.engine import Engine, placements_of
from rarmodel.engine.random_numbers import below_plain
from rarmodel.heuristics import Attempt
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.model import best_placements, least_slots_by_placement
from rarmodel.schema import Instance

from .buddy_annealing import anneal_blocks
from .buddy_blocks import new_blocks, pack_blocks
from .layout import layout_of
from .packing import rings_alone, settle
from .server_annealing import anneal_servers
from .session import Session

DEFAULT_SECONDS = SEARCH_SECONDS
"""Time limit if you give neither a time, a number of iterations nor a patience."""
FINISH_SECONDS_PER_JOB = 25e-6
"""Approximate time for numbering the GPUs and verifying. With many jobs, the search ends this much
before the time limit, but it always gets a share of the limit.
"""
LEAST_SHARE = 0.25


@dataclass(frozen=True)
class Search:
    """The improvement search as a method; see `rarmodel.search`."""

    name: str = "search"
    counts_iterations: bool = True
    description: str = "improves a schedule until its time is up, and proves a lower bound"

    def prepare(self, instance: Instance) -> None:
        """Compile the search in advance, so that compilation does not count as its time."""
        prepare_cutting_stock()
        fitting = [
            job
            for job, slots in zip(instance.jobs, least_slots_by_placement(instance), strict=True)
            if slots.packed
        ]
        small = instance.model_copy(update={"jobs": tuple(fitting[:1]) or instance.jobs[:1]})
        session = Session(small, Limits(threads=1))
        session.bound = LowerBound(0, "")  # The true one would end the search at once.
        session.run(iterations=1)
        starts, placements = np.zeros(len(small.jobs), np.int64), best_placements(small)
        Engine(small).evaluate(starts, placements_of(placements))
        generator = np.zeros(1, np.uint64)
        stop = np.zeros(1, np.int64)
        below_plain(generator, 1)
        if fitting and session.solution is not None:
            layout = layout_of(small)
            _, packing = rings_alone(layout, session.solution)
            blocks = new_blocks(layout, packing, generator)
            anneal_blocks(layout, blocks, 1, 1, 1.0, 1.0, generator, stop)
            pack_blocks(layout, blocks, packing)
            anneal_servers(layout, packing, 1, 1, 1.0, 1.0, generator, stop)
            settle(layout, packing, 1)

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Search; return the best schedule, the best bound, and why the search stopped."""
        deadline = None
        seconds = limits.time_limit
        if seconds is None and limits.iterations is None and limits.patience is None:
            seconds = DEFAULT_SECONDS
        if seconds is not None:
            finish = FINISH_SECONDS_PER_JOB * len(instance.jobs)
            deadline = perf_counter() + max(LEAST_SHARE * seconds, seconds - finish)
        session = Session(instance, limits)
        try:
            stopped = session.run(deadline, limits.iterations, limits.patience)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        schedule = session.schedule(self.name)
        if schedule is None and session.bound.slots <= instance.time.horizon:
            stopped = f"no schedule found within the horizon ({stopped})"
        return Attempt(schedule, stopped, session.bound)


SEARCH = Search()
