"""A schedule without contention: simple to make, and a proof that deadlines can be kept.

Its rings share no link, so each is as fast as alone, and its completion follows without
simulation. Good schedules are shorter. Files stay the same when methods get better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rarmodel.model import lone_options, pace, topology
from rarmodel.model.lone import Lone, allowed_servers, realised, within_gbps
from rarmodel.model.usage_limits import limits_of_jobs, usage_limits
from rarmodel.schema import Instance


class Run(NamedTuple):
    """When and where a job runs: half-open slots, and workers by server index."""

    start: int
    end: int
    workers: Mapping[int, int]


class _Ring(NamedTuple):
    """A ring, and how long it runs alone."""

    slots: int
    workers: Mapping[int, int]


def contention_free(instance: Instance) -> tuple[Run, ...]:
    """(jobs) A schedule that keeps everything but deadlines, in which no two rings share a link.

    Jobs start in their order, each as soon as the one before has started, it may start, and a
    server has room for it; or several servers that no other ring's links lead to, if the job fits
    no server. Jobs wait only for jobs before them, and running jobs share no link.

    Raises
    ------
    AssertionError
        If a job can never start, as what it needs is reserved for ever, or above a quota or
        capacity.
    """
    return tuple(_Clock(instance).runs())


class _Clock:
    """The state of the schedule at one slot, as it is made."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.tree = topology(instance.cluster)
        self.caps = [  # At any time: what is drawn does not change.
            min((most for most in limit.capacities if most is not None), default=0)
            for limit in usage_limits(instance)
        ]
        self.spread_rings = self._spread_rings()
        self.slot = 0
        self.active: list[tuple[Run, int]] = []
        names = {server.name: s for s, server in enumerate(instance.cluster.servers)}
        self.away = [
            (one.start, one.end, names[one.server], one.gpus)
            for one in instance.cluster.reservations
        ]

    def runs(self) -> list[Run]:
        """The whole schedule."""
        jobs = self.instance.jobs
        index = {job.name: j for j, job in enumerate(jobs)}
        runs: dict[int, Run] = {}
        for j, job in enumerate(jobs):
            if job.running is not None:
                runs[j] = self._start(j, self._running(j))
        for j, job in enumerate(jobs):
            if job.running is not None:
                continue
            earliest = max([job.release, *(runs[index[name]].end for name in job.after)])
            self.slot = max(self.slot, earliest)
            while (ring := self._fitting(j)) is None:
                self._advance(j)
            runs[j] = self._start(j, ring)
        return [runs[j] for j in range(len(jobs))]

    def _start(self, j: int, ring: _Ring) -> Run:
        run = Run(self.slot, self.slot + ring.slots, ring.workers)
        self.active.append((run, j))
        return run

    def _advance(self, j: int) -> None:
        """To the next completion, or begin or end of a reservation."""
        moments = [run.end for run, _ in self.active]
        moments += [moment for start, end, _, _ in self.away for moment in (start, end or 0)]
        later = [moment for moment in moments if moment > self.slot]
        if not later:
            raise AssertionError(f"job {self.instance.jobs[j].name!r} can never start")
        self.slot = min(later)

    def _fitting(self, j: int) -> _Ring | None:
        """A ring of the job that can start now and go on to its end."""
        self.active = [(run, k) for run, k in self.active if run.end > self.slot]
        uses = limits_of_jobs(self.instance)
        room = {
            i: self.caps[i]
            - sum(
                uses[k][i].at(sum(run.workers.values())) for run, k in self.active if i in uses[k]
            )
            for i in uses[j]
        }
        free = [server.gpus for server in self.instance.cluster.servers]
        for run, _ in self.active:
            for s, count in run.workers.items():
                free[s] -= count
        used = {link for run, _ in self.active for link in self.tree.links_used(run.workers)}
        for ring in self._rings(j, free):
            size = sum(ring.workers.values())
            if (
                all(use.at(size) <= room[i] for i, use in uses[j].items())
                and self._stays_free(ring, free)
                and used.isdisjoint(self.tree.links_used(ring.workers))
            ):
                return ring
        return None

    def _stays_free(self, ring: _Ring, free: list[int]) -> bool:
        """Whether its servers have room for it until its end, as nothing more starts there."""
        end = self.slot + ring.slots
        for s, count in ring.workers.items():
            ours = [one for one in self.away if one[2] == s and one[0] < end]
            moments = {self.slot, *(start for start, _, _, _ in ours if start > self.slot)}
            for moment in moments:
                away = sum(
                    gpus
                    for start, until, _, gpus in ours
                    if start <= moment and (until is None or moment < until)
                )
                if count + away > free[s]:
                    return False
        return True

    def _rings(self, j: int, free: list[int]) -> Iterator[_Ring]:
        """Rings of a job, on one server first, those of least GPU·slots first."""
        servers = self.instance.cluster.servers
        spread = self.instance.jobs[j].spread
        within = []
        for size in (
            self.instance.jobs[j].sizes if spread is None or spread.min_servers == 1 else ()
        ):
            for s in sorted(allowed_servers(self.instance)[j]):
                if free[s] >= size:
                    own = pace(self.instance, j, size, [servers[s].gpu_type])
                    slots = own.slots(1, within_gbps(self.instance.cluster, s))
                    if slots is not None:
                        within.append((slots * size, s, _Ring(slots, {s: size})))
        yield from (ring for _, _, ring in sorted(within, key=lambda one: one[:2]))
        if (ring := self.spread_rings[j]) is not None:
            yield ring

    def _spread_rings(self) -> list[_Ring | None]:
        """(jobs) The best ring on several servers; None if the job fits a server, or cannot."""
        chosen: list[Lone | None] = []
        for job, options in zip(self.instance.jobs, lone_options(self.instance), strict=True):
            usable = [one for one in options if one.pace.slots(one.servers, one.gbps)]
            several = [one for one in usable if one.servers > 1]
            packable = len(several) < len(usable)
            best = min(several, key=_area, default=None)
            chosen.append(None if packable or job.running is not None else best)
        return [
            None if option is None else self._ring(j, workers)
            for j, (option, workers) in enumerate(
                zip(chosen, realised(self.instance, chosen), strict=True)
            )
        ]

    def _ring(self, j: int, workers: Mapping[int, int]) -> _Ring:
        """A ring alone on several servers."""
        servers = self.instance.cluster.servers
        own = pace(self.instance, j, sum(workers.values()), [servers[s].gpu_type for s in workers])
        slots = own.slots(len(workers), self.tree.lone_gbps(workers))
        if slots is None:
            raise AssertionError("a ring alone makes progress where its best placement is")
        return _Ring(slots, workers)

    def _running(self, j: int) -> _Ring:
        option = lone_options(self.instance)[j][0]
        slots = option.pace.slots(option.servers, option.gbps)
        if slots is None:
            raise AssertionError("a running job makes progress")
        names = {server.name: s for s, server in enumerate(self.instance.cluster.servers)}
        running = self.instance.jobs[j].running
        held = {} if running is None else running.gpus
        return _Ring(slots, {names[name]: len(gpus) for name, gpus in held.items()})


def _area(option: Lone) -> int:
    return option.pace.size * (option.pace.slots(option.servers, option.gbps) or 0)
