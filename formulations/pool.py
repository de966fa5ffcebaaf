"""Pools of schedules, Y in (10)–(16): from heuristics, from files, or all of a tiny instance.

`Scope.data` selects the pool: nothing for the heuristics, `{"schedules": [files]}`, or
`{"pool": "all"}`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from rarmodel.engine import Engine, evaluate, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import read_schedule
from rarmodel.schema import Instance, Schedule
from rarmodel.schema.problems import show
from rarmodel.verifier import verify

from .every_schedule import Options, every_schedule
from .gpu_loads import Held, Stay, least_busy_numbering, loads
from .heuristic_pool import heuristic_schedules
from .scope import Scope

MOST_SCHEDULES = 20_000
"""Most schedules of a pool, after merging those with equal starts and execution times."""

MOST_ENUMERATED = 300_000
"""Most schedules to enumerate for the pool of all schedules."""

MOST_PLACEMENTS = 10_000
"""Most placements of a job of each size for this pool."""

MOST_EVALUATIONS = 5_000_000
"""Most simulations of partial schedules for this pool: about ten seconds."""


@dataclass(frozen=True)
class Entry:
    """A schedule y^k of a pool.

    Attributes
    ----------
    starts
        (jobs) Start slots a_j(y^k).
    completions
        (jobs) Completion times a_j(y^k) + ρ_j(y^k) in slots.
    gpus
        (jobs) GPU indices held, by server index.
    """

    starts: tuple[int, ...]
    completions: tuple[int, ...]
    gpus: tuple[Held, ...]

    @property
    def times(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Starts and completions: all that (10)–(13) use of a schedule."""
        return self.starts, self.completions

    @cached_property
    def makespan(self) -> int:
        """The latest completion in slots."""
        return max(self.completions)

    def is_at(self, gpus: Sequence[Held]) -> bool:
        """Whether each job holds the same GPUs."""
        return all(
            {s: sorted(g) for s, g in mine.items()} == {s: sorted(g) for s, g in theirs.items()}
            for mine, theirs in zip(self.gpus, gpus, strict=True)
        )

    @property
    def workers(self) -> tuple[dict[int, int], ...]:
        """(jobs) Workers by server index."""
        return tuple({s: len(indices) for s, indices in held.items()} for held in self.gpus)


Pool = tuple[Entry, ...]


def holds_all(scope: Scope) -> bool:
    """Whether the requested pool contains every schedule within the scope's horizon."""
    return "schedules" not in scope.data and scope.data.get("pool") == "all"


def unfit(scope: Scope) -> str | None:
    """Why there is no pool: the instance has too many schedules to enumerate."""
    kind = _kind(scope)
    if kind == "all" and _enumerated(scope.instance, scope.horizon) is None:
        return (
            f"the pool of all schedules within {scope.horizon} slots is too large: over "
            f"{MOST_SCHEDULES:,} different ones, {MOST_ENUMERATED:,} placed ones, or "
            f"{MOST_EVALUATIONS:,} partial ones"
        )
    return None


def size_of_pool(scope: Scope) -> int:
    """The greatest possible number of schedules in the pool."""
    kind = _kind(scope)
    if kind == "all":
        found = _enumerated(scope.instance, scope.horizon)
        return found.different if found else MOST_SCHEDULES
    if kind == "schedules":
        return len(_sources(scope))
    return len({entry.times for entry in _from_heuristics(scope.instance, scope.horizon)})


def pool_of(scope: Scope, work: Sequence[float] | None = None) -> Pool:
    """The requested pool, by makespan, with one schedule for all that have equal times.

    Parameters
    ----------
    scope
        The schedules of the pool fit its horizon.
    work
        (jobs) Estimated execution times ρ̂_j/u. If given, of schedules with equal times the one with
        the least busy busiest GPU is kept. Pools from files keep the GPUs of the files; the pool of
        all schedules takes the best GPUs for each schedule.

    Raises
    ------
    InputError
        If a schedule file is malformed, or the schedule fails verification.
    UsageError
        If `data` does not describe a pool.
    """
    kind = _kind(scope)
    if kind == "all":
        entries: Iterable[Entry] = _all(scope, work)
    elif kind == "schedules":
        entries = _from_files(scope)
    else:
        entries = _from_heuristics(scope.instance, scope.horizon)
    kept: dict[object, tuple[float, Entry]] = {}
    for entry in entries:
        busiest = 0.0 if work is None else max(loads(entry.gpus, work).values())
        if entry.times not in kept or busiest < kept[entry.times][0]:
            kept[entry.times] = busiest, entry
    ordered = sorted((entry for _, entry in kept.values()), key=lambda entry: entry.makespan)
    return tuple(ordered[:MOST_SCHEDULES])


def entry_of(scope: Scope, schedule: Schedule) -> Entry:
    """A feasible schedule as an entry of a pool."""
    index = {server: s for s, server in enumerate(scope.servers)}
    by_job = {assignment.job: assignment for assignment in schedule.assignments}
    return Entry(
        starts=tuple(by_job[j].start for j in scope.jobs),
        completions=tuple(evaluate(scope.instance, schedule).completion.tolist()),
        gpus=tuple(
            {index[server]: gpus for server, gpus in by_job[j].gpus.items() if gpus}
            for j in scope.jobs
        ),
    )


def _kind(scope: Scope) -> str:
    kind = scope.data.get("pool", "heuristics")
    if kind not in {"heuristics", "all"}:
        raise UsageError(f"pool: {show(kind)}; 'heuristics' or 'all' is expected")
    if "schedules" not in scope.data:
        return str(kind)
    if "pool" in scope.data:
        raise UsageError("'pool' and 'schedules' exclude each other; choose one")
    return "schedules"


@lru_cache(maxsize=2)
def _from_heuristics(instance: Instance, horizon: int) -> Pool:
    engine = Engine(instance)
    entries = []
    for starts, gpus in heuristic_schedules(instance, horizon):
        workers = [{s: len(indices) for s, indices in held.items()} for held in gpus]
        evaluation = engine.evaluate(np.array(starts, np.int64), placements_of(workers))
        entries.append(Entry(starts, tuple(evaluation.completion.tolist()), gpus))
    return tuple(entries)


def _from_files(scope: Scope) -> Iterable[Entry]:
    for number, source in enumerate(_sources(scope)):
        entry = _verified(scope, source, f"schedules[{number}]")
        if entry.makespan <= scope.horizon:
            yield entry


def _sources(scope: Scope) -> Sequence[Any]:
    """The files, or schedules in memory, of the pool."""
    sources = scope.data["schedules"]
    if isinstance(sources, str | Mapping) or not isinstance(sources, Sequence):
        raise UsageError(f"schedules: {show(sources)}; a list of files is expected")
    for number, source in enumerate(sources):
        if not isinstance(source, str | os.PathLike | Schedule):
            raise UsageError(f"schedules[{number}]: {show(source)}; a file's name is expected")
    return sources


def _verified(scope: Scope, source: Any, place: str) -> Entry:
    """An entry from a file or a schedule in memory, checked by the verifier."""
    name = place if isinstance(source, Schedule) else os.fspath(source)
    schedule = source if isinstance(source, Schedule) else read_schedule(source)
    report = verify(scope.instance, schedule)
    if not report.feasible:
        raise InputError([Problem("", v.message) for v in report.violations], name)
    return entry_of(scope, schedule)


class _All(NamedTuple):
    """All schedules within a horizon, and the placements to which their numbers refer."""

    options: Options
    starts: Ints
    completions: Ints
    choices: Ints
    different: int
    """The number of schedules that differ in some job's start or completion."""


@lru_cache(maxsize=2)
def _enumerated(instance: Instance, horizon: int) -> _All | None:
    """All schedules within a horizon; None if there are too many."""
    every = every_schedule(
        instance,
        horizon,
        most_placements=MOST_PLACEMENTS,
        most_schedules=MOST_ENUMERATED,
        most_evaluations=MOST_EVALUATIONS,
    )
    if every is None:
        return None
    options, found = every
    times = np.concatenate((found.starts, found.completions), axis=1)
    different = len(np.unique(times, axis=0))
    return _All(options, *found, different) if different <= MOST_SCHEDULES else None


def _all(scope: Scope, work: Sequence[float] | None) -> Iterator[Entry]:
    """All schedules within the horizon, GPUs numbered; without work, one for equal times."""
    found = _enumerated(scope.instance, scope.horizon)
    if found is None:
        raise UsageError(str(unfit(scope)))
    rows = np.arange(len(found.starts))
    if work is None:
        times = np.concatenate((found.starts, found.completions), axis=1)
        rows = np.sort(np.unique(times, axis=0, return_index=True)[1])
    for row in rows.tolist():
        starts = tuple(found.starts[row].tolist())
        completions = tuple(found.completions[row].tolist())
        workers = [found.options[j][k] for j, k in enumerate(found.choices[row].tolist())]
        # Without work the numbering is free, and that of equal work is as good as any.
        gpus = _numbered(scope, starts, completions, workers, work or [1.0] * len(workers))
        yield Entry(starts, completions, gpus)


def _numbered(
    scope: Scope,
    starts: Sequence[int],
    completions: Sequence[int],
    workers: Sequence[Mapping[int, int]],
    work: Sequence[float],
) -> tuple[Held, ...]:
    """GPUs of each job, such that the busiest GPU of each server is the least busy."""
    held: list[dict[int, tuple[int, ...]]] = [{} for _ in workers]
    for s, server in enumerate(scope.servers.values()):
        there = [j for j, placed in enumerate(workers) if s in placed]
        stays = tuple(Stay(starts[j], completions[j], workers[j][s], work[j]) for j in there)
        for j, indices in zip(there, least_busy_numbering(server.gpus, stays), strict=True):
            held[j][s] = tuple(sorted(indices))
    return tuple(held)
