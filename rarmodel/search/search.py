"""Method `search`: an improvement search on all threads that ends with a proof or a gap."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from rarmodel import registry
from rarmodel.bounds import LowerBound
from rarmodel.bounds.configurations import prepare as prepare_configurations
from rarmodel.bounds.cutting_stock import prepare as prepare_cutting_stock
from rarmodel.bounds.server_configurations import server_configuration_bound
from rarmodel.defaults import SEARCH_SECONDS
from rarmodel.engine import NEVER, Engine, arrays_of, placements_of
from rarmodel.engine.random_numbers import below_plain
from rarmodel.errors import InputError
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits
from rarmodel.lists.order_search import OrderSearch
from rarmodel.methods import NOTHING_TO_TRY, Attempt, Method, Turns, prepare_method
from rarmodel.model import best_placements, horizon_of, least_slots_by_placement, unhandled
from rarmodel.model.features import ALL, BY_DUTY
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.interruptions import interrupts
from rarmodel.model.objectives import TOTAL_COMPLETION, ties_of
from rarmodel.model.part import part_of
from rarmodel.packing import layout_of
from rarmodel.packing.buddy_annealing import anneal_blocks
from rarmodel.packing.buddy_blocks import new_blocks, pack_blocks
from rarmodel.packing.server_annealing import anneal_servers
from rarmodel.packing.server_orders import rings_alone, settle
from rarmodel.packing.set_tempering import temper
from rarmodel.proof.enumeration import enumeration_of
from rarmodel.proof.sum_search import MOST_SUM, sum_search
from rarmodel.schema import Instance

from .alone import on_gpus_alone
from .islands import Islands, islands_on
from .session import Session
from .ties import Ties, budget_after, seconds_before
from .wide import AnySession, session_of

DEFAULT_SECONDS = SEARCH_SECONDS
"""Time limit if you give neither a time, a number of iterations nor a patience."""
FINISH_SECONDS_PER_JOB = 25e-6
"""Approximate time for numbering the GPUs and verifying. With many jobs, the search ends this much
before the time limit, but it always gets a share of the limit.
"""
TIES_SECONDS_PER_JOB = 100e-6
"""Approximate time in which ties gain anything at all: the search for them verifies twice."""
LEAST_SHARE = 0.25
WITH_SEGMENTS = "rarmodel.online.interrupting_search:INTERRUPTING_SEARCH"
"""The search for instances with preemption. It plays orders as arriving jobs are played, on a floor
above, so it is found as other packages' parts are."""
PART = 40
"""Jobs for which the search compiles."""
PROOF_FROM, PROOF_SECONDS = 0.2, 3.0
"""The proof, or packing anew, begins after this share of the time limit, or so many seconds if that
is less."""


@dataclass(frozen=True)
class Search(registry.Part):
    """The improvement search as a method; see `rarmodel.search`."""

    kind = "methods"

    name: str = "search"
    counts_iterations: bool = True
    takes_scheduler: bool = True
    reports_objective: bool = True
    description: str = "improves a schedule until its time is up, and proves a lower bound"
    handles: frozenset[str] = ALL

    def prepare(self, instance: Instance) -> None:
        """Compile what the search needs, so that this does not count as its time."""
        if _with_segments(instance):
            prepare_method(registry.find("methods", WITH_SEGMENTS), instance)
        part = part_of(instance.model_copy(update={"preemption": None}), PART)
        with suppress(InputError):  # Of the part only: then the whole compiles.
            if unhandled(part, BY_DUTY, "") is None:
                self._prepare_plain(part)
                return
            if alone := on_gpus_alone(part):
                self.prepare(alone)
            OrderSearch(part, Limits(threads=1), self.name).run(None, iterations=1)
            if sums := sum_search(part):
                sums.search(MOST_SUM, 1, lambda: False)
            if enumeration := enumeration_of(part, arrays_of(part)):
                enumeration.step(NEVER, 0)

    def _prepare_plain(self, part: Instance) -> None:
        """The same for the plain problem, where there is more."""
        prepare_cutting_stock()
        prepare_configurations()
        fitting = [
            job
            for job, slots in zip(part.jobs, least_slots_by_placement(part), strict=True)
            if slots.packed
        ]
        small = part.model_copy(update={"jobs": tuple(fitting[:1]) or part.jobs[:1]})
        session = Session(small, Limits(threads=1))
        server_configuration_bound(small, 0)
        session.bound = LowerBound(0, "")  # The true one would end the search at once.
        session.run(iterations=1)
        starts, placements = np.zeros(len(small.jobs), np.int64), best_placements(small)
        Engine(small).evaluate(starts, placements_of(placements))
        generator = np.zeros(1, np.uint64)
        stop = np.zeros(1, np.int64)
        below_plain(generator, 1)
        if fitting and session.solution is not None:
            layout = layout_of(small)
            alone, packing = rings_alone(layout, session.solution)
            blocks = new_blocks(layout, packing, generator)
            anneal_blocks(layout, blocks, 1, 1, 1.0, 1.0, generator, stop)
            pack_blocks(layout, blocks, packing)
            anneal_servers(layout, packing, 1, 1, 1.0, 1.0, generator, stop)
            settle(layout, packing, 1)
            # One job meets its own time at once.
            target, random = int(layout.packed[0]), np.random.default_rng(0)
            temper(layout, alone, target, np.zeros(1, np.int64), random, lambda: False)
        # What ties need beside that: list schedules, as of a wider instance.
        names = (*small.objectives, TOTAL_COMPLETION.name)
        listed = small.model_copy(update={"objective": names})
        OrderSearch(listed, Limits(threads=1), self.name).run(None, iterations=1)

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Best schedule found, the best bound proven, and why the search stopped."""
        if _with_segments(instance):
            with_segments: Method = registry.find("methods", WITH_SEGMENTS)
            return with_segments(instance, limits)
        if limits.scheduler is None:
            return self._searched(instance, limits, None)
        with islands_on(limits.scheduler, self, instance, limits) as islands:
            return self._searched(instance, limits, islands)

    def _searched(self, instance: Instance, limits: Limits, islands: Islands | None) -> Attempt:
        """The same, here or on islands."""
        begun, seconds = perf_counter(), _seconds(limits)
        if seconds is not None:
            finish = FINISH_SECONDS_PER_JOB * len(instance.jobs)
            seconds = max(LEAST_SHARE * seconds, seconds - finish)
        turns = Turns(instance, limits)
        session = session_of(instance, limits, turns)
        session.take(limits.start)
        try:
            end = _first_end(instance, begun, seconds)
            stopped = _run(session, limits, begun, end, islands)
            stopped += turns.told()
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        schedule = session.schedule(self.name)
        if schedule is None and session.bound.slots <= horizon_of(instance):
            stopped = f"no schedule found within the horizon ({stopped})"
        first = Attempt(schedule, stopped, session.bound, session.aim)
        if session.criteria.reason:
            return first
        return self._further(instance, limits, begun, seconds, first)

    def _further(
        self,
        instance: Instance,
        limits: Limits,
        begun: float,
        seconds: float | None,
        first: Attempt,
    ) -> Attempt:
        """Go on to ties, with what an attempt at the objectives has found."""
        if first.schedule is None or first.stopped == INTERRUPTED or not ties_of(instance):
            return first
        deadline = None if seconds is None else begun + seconds
        least = TIES_SECONDS_PER_JOB * len(instance.jobs)
        if deadline is not None and deadline - perf_counter() < least:
            return first
        ties = Ties(instance, first.schedule, limits)
        try:
            ties.run(budget_after(limits, begun, deadline))
        except KeyboardInterrupt:
            return first._replace(schedule=ties.schedule, stopped=INTERRUPTED)
        return first._replace(schedule=ties.schedule)


def _run(
    session: AnySession,
    limits: Limits,
    begun: float,
    end: float | None,
    islands: Islands | None,
) -> str:
    """Search, prove, and search on; return why that stopped."""
    proof = None
    if end is not None and limits.iterations is None and limits.patience is None:
        proof = begun + seconds_before_proof(end - begun)
    if islands is not None:
        return islands.run(session, end, proof)
    if end is None or proof is None or not session.closable:
        return session.run(end, limits.iterations, limits.patience)
    stopped = session.run(proof)
    if stopped in {TIME_LIMIT, NOTHING_TO_TRY}:
        stopped = session.close_gap(end)
    return session.run(end) if stopped == TIME_LIMIT else stopped


def seconds_before_proof(seconds: float) -> float:
    """Seconds of search before the proof, if both have so many seconds."""
    return min(PROOF_SECONDS, PROOF_FROM * seconds)


def _with_segments(instance: Instance) -> bool:
    """Whether jobs are interrupted; where they share GPUs, each runs in one piece."""
    return interrupts(instance) and not shares_gpus(instance)


def _seconds(limits: Limits) -> float | None:
    """The time limit; the default one if nothing else limits the search."""
    others = limits.iterations is not None or limits.patience is not None or limits.stop
    if limits.time_limit is None and not others:
        return DEFAULT_SECONDS
    return limits.time_limit


def _first_end(instance: Instance, begun: float, seconds: float | None) -> float | None:
    """When the search for the objectives ends, as a reading of `perf_counter`; None for never."""
    if seconds is None:
        return None
    return begun + seconds_before(instance, seconds)


SEARCH = Search()
