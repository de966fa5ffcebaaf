"""Offline schedules with segments: orders that are played, and changed as long as they get better.

An order says who interrupts whom: wherever a job has to wait, those after it in the order give way.
To play it is to make the list schedule of the order with interruptions, by the simulation of
arriving jobs with all durations known. So reservations, caps, dependencies, restorations, work that
is lost, and jobs that are never interrupted are kept as they are online.

It begins with the best schedule without interruptions, which is a schedule here too, and with
dispatching rules that interrupt: least remaining time first is optimal for total flow on one
machine (L. Schrage, Operations Research 16, 1968). The order of completions of the best schedule is
then changed job by job, as simulated annealing accepts it. A job may also be patient: it interrupts
nobody, as an interruption costs a restoration and perhaps work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel import registry
from rarmodel.bounds import least_values, relative_gap
from rarmodel.defaults import SEARCH_SECONDS
from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.errors import InputError, UsageError
from rarmodel.limits import INTERRUPTED, PROVEN, TIME_LIMIT, Limits
from rarmodel.methods import Attempt
from rarmodel.methods.stopping import Criteria, Progress, first_reason, run_criteria
from rarmodel.model import horizon_of
from rarmodel.model.objectives import Value, objectives_of
from rarmodel.schema import Instance, Schedule
from rarmodel.search import SEARCH
from rarmodel.verifier import verify

from .arriving_jobs import jobs_of
from .placement import CONSOLIDATE, CONTENTION_AWARE, Placement
from .play import Played, play
from .policies.priorities import EDF, SRSF, SRTF
from .policy import Decide, Decision, Policy, ranked
from .state import DURATIONS, State
from .verified_play import objective_values, prepare_play, schedule_of, unsuitable

Values = tuple[Value, ...]
Truths = npt.NDArray[np.bool_]


class Numbers(NamedTuple):
    """How the search goes."""

    plain_share: float = 0.4
    """Share of the time for a schedule without interruptions."""
    patient: float = 0.2
    """Share of the changes that make a job patient, or no longer so."""
    near: float = 0.1
    """Mean distance of a move in the order, as a share of the jobs."""
    hot: float = 3e-3
    cold: float = 1e-4
    """First and last temperature, as a part of the first objective."""
    half_life: int = 150
    """Changes after which the temperature is half as far from the last one."""


NUMBERS = Numbers()


def _weighted(state: State) -> Decision:
    """Least remaining time for the weight first."""
    return Decision(ranked(state.remaining / state.weight))


def _weighted_service(state: State) -> Decision:
    """Least remaining GPU slots for the weight first."""
    return Decision(ranked(state.remaining * state.gpus / state.weight))


def _least_slack(state: State) -> Decision:
    """Least time to spare until the due slot first."""
    return Decision(ranked(state.due - state.remaining))


STARTS: tuple[Decide, ...] = (
    *(SRTF.decide, SRSF.decide, _weighted, _weighted_service, EDF.decide, _least_slack),
)
"""Rules whose schedules the search begins with."""


@dataclass(frozen=True)
class Order:
    """Who goes before whom.

    Attributes
    ----------
    rank
        (jobs) Place of each job in the order, by number of arrival.
    patient
        (jobs) Whether it interrupts nobody.
    placement
        Where jobs are put.
    """

    rank: Ints
    patient: Truths
    placement: Placement

    def decide(self, state: State) -> Decision:
        """The order at a decision: patient jobs that wait come after those that run."""
        number = state.number
        waits = self.patient[number] & ~state.running
        return Decision(ranked(waits.astype(np.int64), self.rank[number]))

    def changed(self, random: np.random.Generator) -> Order:
        """The same order but for one job: it moves, or is patient from now on, or no longer."""
        jobs = len(self.rank)
        job = int(random.integers(jobs))
        if jobs == 1 or random.random() < NUMBERS.patient:
            patient = self.patient.copy()
            patient[job] = not patient[job]
            return replace(self, patient=patient)
        distance = 1 + int(random.exponential(NUMBERS.near * jobs))
        way = distance if random.random() < 0.5 else -distance
        order = np.argsort(self.rank, kind="stable")
        before = int(self.rank[job])
        after = min(jobs - 1, max(0, before + way))
        order = np.insert(np.delete(order, before), after, job)
        rank = np.empty(jobs, np.int64)
        rank[order] = np.arange(jobs)
        return replace(self, rank=rank)


class _Best(NamedTuple):
    """A schedule and its values, the most important first."""

    values: Values
    schedule: Schedule


class _Orders:
    """A search for one instance."""

    def __init__(self, instance: Instance, limits: Limits, begun: float) -> None:
        self._instance, self._limits, self._begun = instance, limits, begun
        self._jobs = jobs_of(instance)
        self._objectives = objectives_of(instance)
        self._horizon = horizon_of(instance)
        self._random = np.random.default_rng(limits.seed)
        self._least = [float(value) for value in least_values(instance)]
        self._criteria = Criteria(limits.stop)
        self.best: _Best | None = None

    def take(self, schedule: Schedule | None) -> None:
        """Keep a feasible schedule if it is better."""
        if schedule is None:
            return
        report = verify(self._instance, schedule)
        if not report.feasible or report.objective is None:
            return
        values = tuple(report.objective[one.name] for one in self._objectives)
        if self.best is None or values < self.best.values:
            self.best = _Best(values, schedule)
            self._tell()

    def run(self, deadline: float | None) -> str:
        """Play orders until there is a reason to stop; which."""
        counted = run_criteria(self._limits.iterations, self._limits.patience)
        idle, known = 0, self.best
        for made, _ in enumerate(self._played(), 1):
            idle = 0 if self.best is not known else idle + 1
            known = self.best
            values = () if known is None else tuple(map(float, known.values))
            progress = Progress(perf_counter() - self._begun, made, idle, values, self._least[0])
            if stopped := self._closed() or first_reason(counted, progress):
                return stopped
            if stopped := self._criteria.ask(progress):
                return stopped
            if deadline is not None and perf_counter() >= deadline:
                return TIME_LIMIT
        return "no order makes a schedule"

    def _played(self) -> Iterator[None]:
        """Play one order after another, for ever if some are schedules."""
        current: tuple[Values, Order] | None = None
        for placement in (CONSOLIDATE, CONTENTION_AWARE):
            for decide in STARTS:
                found = self._tried(decide, placement)
                if found is not None:
                    values, played = found
                    if current is None or values < current[0]:
                        current = values, self._order_of(played, placement)
                yield
        if current is None:
            return
        value, order = current
        step = 0
        while True:
            changed = order.changed(self._random)
            found = self._tried(changed.decide, changed.placement)
            step += 1
            if found is not None and self._accepts(value, found[0], step):
                value, order = found[0], changed
            yield

    def _order_of(self, played: Played, placement: Placement) -> Order:
        """Jobs by their completions: who completes first need not wait for the others."""
        jobs = len(played.completion)
        rank = np.empty(jobs, np.int64)
        rank[np.argsort(played.completion, kind="stable")] = np.arange(jobs)
        return Order(rank, np.zeros(jobs, np.bool_), placement)

    def _tried(self, decide: Decide, placement: Placement) -> tuple[Values, Played] | None:
        """Play a rule; its values, and what came of it. None if it is no schedule."""
        instance = self._instance
        policy = Policy("search", decide, knows=DURATIONS, interrupts=True)
        played = play(instance, policy, placement, seed=self._limits.seed, jobs=self._jobs)
        if played.interrupted:
            raise KeyboardInterrupt
        if (played.completion == NEVER).any():
            return None
        late = played.completion > np.minimum(self._jobs.deadline, self._horizon)
        if late.any():
            return None
        values = objective_values(instance, played, self._objectives)
        if self.best is None or values < self.best.values:
            self.take(schedule_of(instance, played.jobs, played.stays, "search"))
        return values, played

    def _accepts(self, before: Values, after: Values, step: int) -> bool:
        """Whether a change is kept: if it is no worse, or not much worse for now."""
        if after <= before:
            return True
        worse = float(after[0] - before[0])
        if worse == 0:
            return False
        cooled = 0.5 ** (step / NUMBERS.half_life)
        part = NUMBERS.cold + (NUMBERS.hot - NUMBERS.cold) * cooled
        scale = part * max(1.0, abs(float(before[0])))
        return bool(self._random.random() < math.exp(-min(700.0, worse / scale)))

    def _closed(self) -> str:
        """Why no better schedule is needed; empty if one is."""
        if self.best is None:
            return ""
        pairs = zip(self.best.values, self._least, strict=True)
        gap = max(relative_gap(Fraction(value), least) for value, least in pairs)
        if gap <= 0:
            return PROVEN
        return "the value is within the gap of the lower bound" if gap <= self._limits.gap else ""

    def _tell(self) -> None:
        if self._limits.progress and self.best is not None:
            self._limits.progress(float(self.best.values[0]), self._least[0])


@dataclass(frozen=True)
class InterruptingSearch(registry.Part):
    """The search for instances with preemption, as a method; `search` hands them over."""

    kind = "methods"

    name: str = "search"
    counts_iterations: bool = True

    def prepare(self, instance: Instance) -> None:
        """Compile what plays need, so that this does not count as time of the search."""
        prepare_play()

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """The best schedule found, and why the search stopped."""
        if limits.scheduler is not None:
            raise UsageError(
                "method 'search' does not run on a scheduler's workers where jobs may be "
                "interrupted; leave the scheduler out"
            )
        begun = perf_counter()
        others = limits.iterations is not None or limits.patience is not None or limits.stop
        seconds = limits.time_limit
        if seconds is None and not others:
            seconds = SEARCH_SECONDS
        orders = _Orders(instance, limits, begun)
        try:
            orders.take(limits.start)
            share = None if seconds is None else NUMBERS.plain_share * seconds
            orders.take(_uninterrupted(instance, limits, share))
            if unsuitable(instance, SRTF) is not None:
                stopped = "no order is played, as simulate does not handle the instance"
            else:
                stopped = orders.run(None if seconds is None else begun + seconds)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        return Attempt(orders.best.schedule if orders.best else None, stopped)


def _uninterrupted(instance: Instance, limits: Limits, seconds: float | None) -> Schedule | None:
    """The best schedule without interruptions that is found in some seconds; None if none is."""
    plain = instance.model_copy(update={"preemption": None})
    counted = limits.iterations if seconds is None else None
    patience = limits.patience if seconds is None else None
    if seconds is None and counted is None and patience is None:
        counted = 1
    some = replace(
        limits,
        time_limit=seconds,
        iterations=counted,
        patience=patience,
        progress=None,
        stop=(),
        start=None,
        scheduler=None,
    )
    try:
        made = SEARCH(plain, some)
    except InputError:  # A job makes no progress where it runs, and must move.
        return None
    if made.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return made.schedule


INTERRUPTING_SEARCH = InterruptingSearch()
