"""The placements that restricted models choose from: those of known schedules, and compact ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from rarmodel.formulations import Scope
from rarmodel.formulations.placements import label_of, parts_of, rated
from rarmodel.formulations.values import keeps_rules
from rarmodel.schema import Schedule, Server

Workers = Mapping[str, int]


class PlacementPool:
    """By job: placements that its rules allow, with how long they are expected to take.

    Parameters
    ----------
    scope
        The instance and its rules on placements.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._alone: dict[str, dict[str, int]] = {j: {} for j in scope.jobs}
        self._workers: dict[str, dict[str, Workers]] = {j: {} for j in scope.jobs}
        self._seen: dict[tuple[str, str], int] = {}
        self._slowdown = 1.0
        for j in scope.jobs:
            for workers in _compact(scope, j):
                self.add(j, workers)

    def add(self, job: str, workers: Workers) -> bool:
        """Add a placement; return whether the job can have it."""
        index = self._scope.server_index
        ordered = dict(sorted(workers.items(), key=lambda one: index[one[0]]))
        label = label_of(ordered)
        if label in self._workers[job]:
            return True
        if not keeps_rules(self._scope, job, ordered):
            return False
        placement = rated(self._scope, job, ordered)
        if placement is None:
            return False
        self._workers[job][label] = ordered
        self._alone[job][label] = placement.least_slots
        return True

    def add_schedule(self, schedule: Schedule) -> bool:
        """Add the placements of a schedule; return whether all jobs can have theirs."""
        found = [
            self.add(one.job, {s: len(gpus) for s, gpus in one.segments[0].gpus.items() if gpus})
            for one in schedule.assignments
        ]
        return all(found)

    def learn(self, slots: Mapping[str, tuple[Workers, int]]) -> None:
        """Keep how long jobs took in a simulated schedule: by job its placement and its slots."""
        alone = took = 0
        for job, (workers, taken) in slots.items():
            label = label_of(workers)
            self._seen[job, label] = taken
            if len(workers) > 1 and label in self._alone[job]:
                alone, took = alone + self._alone[job][label], took + taken
        if alone:
            self._slowdown = took / alone

    def expected(self, job: str, workers: Workers) -> int:
        """The expected execution time: the last simulated one, or that of rings on average."""
        label = label_of(workers)
        seen = self._seen.get((job, label))
        if seen is not None:
            return seen
        alone = self._alone[job][label]
        return round(alone * self._slowdown) if len(workers) > 1 else alone

    def draw(self, job: str, number: int, random: Random) -> list[Workers]:
        """Some placements of a job: shorter ones more often."""
        known = self._workers[job]
        ranked = sorted(known, key=lambda label: self.expected(job, known[label]))
        if len(ranked) > number:
            kept = ranked[: (number + 1) // 2]
            kept += random.sample(ranked[len(kept) :], number - len(kept))
            ranked = kept
        return [known[label] for label in ranked]

    def sizes(self) -> dict[str, int]:
        """By job: the number of its placements."""
        return {job: len(known) for job, known in self._workers.items()}


def _compact(scope: Scope, name: str) -> Iterator[dict[str, int]]:
    """Placements on few servers: whole on each server, or on neighbours from each server on.

    In each part of the network that the job may stay in, servers are in input order, where those of
    a rack are neighbours. A ring that needs several servers fills them, greatest first or in order.
    """
    job = scope.jobs[name]
    for size in job.sizes:
        for part in parts_of(scope, job):
            for s, server in enumerate(part):
                if server.gpus >= size:
                    yield {server.name: size}
                    continue
                rotated = [*part[s:], *part[:s]]
                yield from _filled(rotated, size)
                others = sorted(rotated[1:], key=lambda one: -one.gpus)
                yield from _filled([server, *others], size)


def _filled(servers: list[Server], size: int) -> Iterator[dict[str, int]]:
    left, workers = size, dict[str, int]()
    for server in servers:
        if count := min(left, server.gpus):
            workers[server.name] = count
            left -= count
    if left == 0:
        yield workers
