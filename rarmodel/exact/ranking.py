"""How good a schedule is for restricted models: by how much it violates what was added, its values.

Every schedule is verified, and judged by the additions on constants in the slots up to its last
completion. How long its jobs took is kept: plans expect these times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

import pyomo.environ as pyo

from rarmodel.engine import Engine
from rarmodel.errors import VerificationError
from rarmodel.formulations import Plan, Scope
from rarmodel.formulations.restricted import rules_of, slot_rules_of
from rarmodel.limits import Limits
from rarmodel.model import horizon_of
from rarmodel.schema import Schedule
from rarmodel.solvers import first_answer
from rarmodel.verifier import Report

from .admission import fixed_model, judge_values
from .freed_jobs import Times
from .known import Known
from .numbered_schedules import schedule_of
from .placement_pool import PlacementPool
from .settling import settle
from .slot_rules import SlotRules
from .violation import added_constraints, excess, relax, violation

SOLVE_SECONDS = 2.0
"""Seconds that a solver has for a restricted model, and for the values of added variables."""

BROKEN = 1e-6
"""Least excess of a constraint that is broken; less is noise."""


@dataclass(frozen=True)
class Incumbent:
    """A verified schedule, and what it is worth.

    Attributes
    ----------
    schedule, report, times
        The schedule.
    violated
        By how much it violates what was added; 0 if it is admissible.
    value
        The value of the formulation's own objective.
    rank
        What it is compared by: violation, values, and the sum of completions.
    broken
        The constraint that it breaks, or None.
    """

    schedule: Schedule
    report: Report
    times: Times
    violated: float
    value: float
    rank: tuple[Any, ...]
    broken: str | None = None


class Conflict(NamedTuple):
    """Constraints that a schedule breaks, of the same jobs.

    Attributes
    ----------
    jobs
        The jobs that the index names. If it names none: those that run in its slots.
    slots
        The slots that the indices name, ascending.
    """

    jobs: tuple[str, ...]
    slots: tuple[int, ...]


class Ranking:
    """What schedules of a solve are worth.

    Parameters
    ----------
    known
        The request, and what is known so far.

    Attributes
    ----------
    known
        The same.
    random
        The random numbers of the solve.
    most
        Slots of the instance.
    whole
        Whether schedules are judged in all of them.
    pool
        The placements that jobs may have, with how long they are expected to take.
    slot_rules
        When they may start in these.
    """

    def __init__(self, known: Known) -> None:
        self.known, self.most, self.whole = known, horizon_of(known.instance), False
        self.random = Random(known.limits.seed)  # noqa: S311 - no secrets
        self._engine = Engine(known.instance)
        self._rules = rules_of(known.formulation)
        self._slot_rules = slot_rules_of(known.formulation)
        self.pool = PlacementPool(self.scope(self.most))
        self.slot_rules = SlotRules(self.scope(self.most))

    def scope(self, horizon: int) -> Scope:
        """The scope of a restricted model: with the rules on placements, and at slots."""
        scope = self.known.scope(horizon)
        return replace(
            scope,
            allowed=(*scope.allowed, *self._rules),
            allowed_at=(*scope.allowed_at, *self._slot_rules),
        )

    def limits(self, seconds: float) -> Limits:
        """Limits of a solver for a restricted model, with a seed of its own."""
        return replace(
            self.known.limits,
            time_limit=seconds,
            gap=0.0,
            log=None,
            progress=None,
            stop=(),
            seed=self.random.randrange(2**31),
        )

    def settled(
        self, starts: list[int], workers: Mapping[str, Mapping[str, int]]
    ) -> Incumbent | None:
        """The schedule of a plan, ranked; None if it is none."""
        instance = self.known.instance
        index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
        placed = tuple(
            {index[s]: count for s, count in workers[job.name].items()} for job in instance.jobs
        )
        settled = settle(self._engine, starts, placed)
        if settled is None or max(settled.completions) > self.most:
            return None
        try:
            schedule = schedule_of(
                instance, Plan(settled.starts, placed), self.known.formulation.name
            )
            return self.ranked(schedule)
        except VerificationError:
            return None

    def ranked(self, schedule: Schedule) -> Incumbent | None:
        """A schedule with its rank; None if its additions cannot be judged here."""
        known, formulation = self.known, self.known.formulation
        report = known.checked(schedule)
        times = _times_of(schedule, report)
        self.pool.learn({j: (w, times.ends[j] - times.starts[j]) for j, w in times.workers.items()})
        model = fixed_model(formulation, self._judged(times), schedule)
        if model is None:
            return None
        verdict = judge_values(model, known.solvers, known.brief(SOLVE_SECONDS))
        violated = 0.0
        if verdict.broken is not None:
            violated = max(BROKEN, self._violation(model))
        values = known.values_of(report, verdict.value)[: known.stage + 1]
        total = sum(times.ends.values())
        rank = (violated, *values, total) if not violated else (violated, times.latest, total)
        return Incumbent(schedule, report, times, violated, verdict.value, rank, verdict.broken)

    def conflicts(self, found: Incumbent) -> list[Conflict]:
        """What a schedule breaks, by the indices of constraints: names of jobs, and slots."""
        model = fixed_model(self.known.formulation, self._judged(found.times), found.schedule)
        if model is None:
            return []
        times, by_jobs = found.times, dict[tuple[str, ...], set[int]]()
        for one in added_constraints(model):
            if excess(one) <= BROKEN:
                continue
            index = one.index()
            parts = index if isinstance(index, tuple) else (index,)
            slots = [part for part in parts if isinstance(part, int)]
            jobs = tuple(part for part in parts if part in times.starts) or tuple(
                j for j in times.starts if any(times.starts[j] <= t < times.ends[j] for t in slots)
            )
            if jobs:
                by_jobs.setdefault(jobs, set()).update(slots)
        return [Conflict(jobs, tuple(sorted(slots))) for jobs, slots in by_jobs.items()]

    def _judged(self, times: Times) -> Scope:
        """The scope in which a schedule is judged."""
        return self.known.scope(self.most if self.whole else times.latest)

    def _violation(self, model: Any) -> float:
        """By how much a schedule violates the additions, with the best values of new variables."""
        constant = violation(model)
        if all(one.fixed for one in model.component_data_objects(pyo.Var)):
            return constant
        relax(model)
        answer = first_answer(self.known.solvers, model, self.limits(SOLVE_SECONDS))
        if not answer.has_solution:
            return constant + 1.0
        return constant + float(sum(pyo.value(one) for one in model.slack.values()))


def _times_of(schedule: Schedule, report: Report) -> Times:
    """When and where jobs run."""
    by_job = {one.job: one for one in schedule.assignments}
    return Times(
        {j: one.start for j, one in by_job.items()},
        {j: end or 0 for j, end in report.completion.items()},
        {
            j: {s: len(gpus) for s, gpus in one.segments[0].gpus.items() if gpus}
            for j, one in by_job.items()
        },
    )
