"""Pools of schedules to choose from: the heuristics', those of files, all of a tiny instance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, product
from math import prod
from typing import NamedTuple

import numpy as np

from rarmodel.engine import Engine, placements_of
from rarmodel.errors import InputError, Problem
from rarmodel.files import read_schedule
from rarmodel.heuristics import estimate
from rarmodel.heuristics.bisection import schedules_of
from rarmodel.heuristics.policies import HEURISTICS
from rarmodel.model import best_placements
from rarmodel.schema import Schedule
from rarmodel.verifier import verify

from .formulation import Scope
from .placements import number_of_placements, placements

MOST_TRIES = 2_000
"""List schedules made by one policy at most: its limits are thinned out evenly beyond that."""

MOST_CASES = 1_000_000
"""Combinations of starts and placements up to which all schedules are enumerated."""


class Pooled(NamedTuple):
    """A feasible schedule up to the numbering of GPUs.

    Attributes
    ----------
    starts, completions
        (jobs) In slots, in job order.
    workers
        (jobs) Workers on each server, by server index.
    """

    starts: tuple[int, ...]
    completions: tuple[int, ...]
    workers: tuple[Mapping[int, int], ...]

    @property
    def makespan(self) -> int:
        """The latest completion."""
        return max(self.completions)


def is_complete(scope: Scope) -> bool:
    """Whether the pool holds all schedules, so that nothing better lies outside."""
    return bool(scope.read("pool", "heuristics") == "all")


def cases(scope: Scope) -> int:
    """Combinations of starts and placements that a pool of all schedules comes from."""
    ways = number_of_placements(scope)
    return prod(
        ways[job.gpus] * max(0, scope.horizon - scope.least_slots[name] + 1)
        for name, job in scope.jobs.items()
    )


def pool(scope: Scope) -> list[Pooled]:
    """The pool that the scope's data asks for, without schedules beyond the horizon.

    `schedules` in the data is a list of schedule files. `pool` is `all`: every schedule, of those
    with equal starts and completions one. Otherwise it is what the heuristics make over all limits
    θ_u and all κ, and one job after another.

    Raises
    ------
    InputError
        If a schedule file is malformed, or its schedule is not feasible.
    """
    if files := scope.read("schedules", ()):
        found: Iterable[Pooled] = _of_files(scope, files)
    elif is_complete(scope):
        found = _all(scope)
    else:
        found = _of_heuristics(scope)
    distinct: dict[tuple[object, ...], Pooled] = {}
    for entry in found:
        if entry.makespan <= scope.horizon:
            placed = tuple(tuple(sorted(workers.items())) for workers in entry.workers)
            distinct.setdefault((entry.starts, placed), entry)
    return list(distinct.values())


def _pooled(scope: Scope, engine: Engine, schedule: Schedule) -> Pooled:
    index = {name: s for s, name in enumerate(scope.servers)}
    by_job = {a.job: a for a in schedule.assignments}
    starts = tuple(by_job[j].start for j in scope.jobs)
    workers = tuple(
        {index[s]: len(gpus) for s, gpus in by_job[j].gpus.items() if gpus} for j in scope.jobs
    )
    evaluation = engine.evaluate(np.array(starts, np.int64), placements_of(workers))
    return Pooled(starts, tuple(evaluation.completion.tolist()), workers)


def _of_files(scope: Scope, files: Iterable[str]) -> Iterator[Pooled]:
    engine = Engine(scope.instance)
    for file in files:
        schedule = read_schedule(file)
        report = verify(scope.instance, schedule)
        if not report.feasible:
            problems = [Problem("", violation.message) for violation in report.violations]
            raise InputError(problems, str(file))
        yield _pooled(scope, engine, schedule)


def _of_heuristics(scope: Scope) -> Iterator[Pooled]:
    engine = Engine(scope.instance)
    # One job after another, each alone in its best placement: where links are slow this may be all.
    ends = [0, *accumulate(scope.least_slots.values())]
    yield Pooled(tuple(ends[:-1]), tuple(ends[1:]), best_placements(scope.instance))
    longest = int(sum(estimate(scope.instance).work)) + 1
    for policy in HEURISTICS:
        top = min(longest, scope.instance.time.horizon) if policy.bisect else 1
        tries = len(policy.parameters(scope.instance, 0))
        stride = max(1, -(-top * tries // MOST_TRIES))
        limits = range(top, 0, -stride) if policy.bisect else [scope.instance.time.horizon]
        for schedule in schedules_of(scope.instance, policy, limits, most_slots=scope.horizon):
            yield _pooled(scope, engine, schedule)


def _all(scope: Scope) -> Iterator[Pooled]:
    """All schedules within the horizon: every start and every placement, tried on the engine."""
    engine = Engine(scope.instance)
    index = {name: s for s, name in enumerate(scope.servers)}
    options = [
        [
            ({index[s]: n for s, n in way.workers.items()}, start)
            for way in ways.values()
            for start in range(scope.horizon - way.least_slots + 1)
        ]
        for ways in placements(scope).values()
    ]
    seen = set()
    for chosen in product(*options):
        workers = tuple(way for way, _ in chosen)
        starts = tuple(start for _, start in chosen)
        evaluation = engine.evaluate(
            np.array(starts, np.int64), placements_of(workers), limit=scope.horizon
        )
        if evaluation.makespan < 0:
            continue
        completions = tuple(evaluation.completion.tolist())
        if (starts, completions) not in seen:
            seen.add((starts, completions))
            yield Pooled(starts, completions, workers)
