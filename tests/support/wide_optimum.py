"""Optima of wide instances by trying every placement and start, with little cut off.

Shares nothing with engine and formulations. Jobs are decided one after another, those that run at
slot 0 first. What is cut off rests on one fact: more jobs never make others faster. So a partial
schedule in which a job is late, or more is held than there is, stays so whatever is added; and the
values of objectives do not fall.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from wide_instances import has_memory, placements_of_job

from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.model.objectives import Value, objective
from rarmodel.model.topology import topology
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import Run, simulate, verify
from rarmodel.verifier.demands import placement_demands, time_demands
from rarmodel.verifier.holding_caps import caps_kept
from rarmodel.verifier.occupation import holds_of


def optimum(
    instance: Instance, latest: int, known: Schedule | None = None
) -> tuple[Value, ...] | None:
    """The least values of the instance's objectives, in their order; None if it is infeasible.

    Parameters
    ----------
    instance
        The problem.
    latest
        Jobs complete by this slot.
    known
        A schedule. It is verified slot by slot; then only better ones are looked for.
    """
    found = _Search(instance, latest)
    if known is not None:
        found.best = found.verified(known)
    found.decide(0)
    return found.best


def optima(
    instance: Instance, latest: int, known: Sequence[Schedule] = ()
) -> dict[str, Value] | None:
    """The least value of each of the instance's objectives by itself; None if it is infeasible.

    Parameters
    ----------
    instance, latest
        As above.
    known
        Schedules, verified like the one above.
    """
    found = _EachBySelf(instance, latest)
    for schedule in known:
        found.keep(found.verified(schedule))
    found.decide(0)
    if found.best is None:
        return None
    return dict(zip(instance.objectives, found.best, strict=True))


class _Search:
    def __init__(self, instance: Instance, latest: int) -> None:
        self.instance, self.latest = instance, latest
        self.objectives = [objective(name) for name in instance.objectives]
        self.best: tuple[Value, ...] | None = None
        jobs = range(len(instance.jobs))
        self.order = sorted(jobs, key=lambda j: instance.jobs[j].running is None)
        self.options = [self._options(j) for j in jobs]
        self.runs: list[Run] = []
        # What the rest adds at least, completing as early as they can alone.
        self.soonest = [
            max(0, job.release) + min((least for _, least in options), default=0)
            for job, options in zip(instance.jobs, self.options, strict=True)
        ]
        self.least_busy = self._least_busy()
        self.least_linked = self._least_linked()

    def _least_busy(self) -> list[Counter[int]]:
        """(jobs) What each holds at least, as GPU slots by server: alone, where it is cheapest."""
        priced = [one.prices(self.instance) for one in self.objectives if one.prices is not None]
        found = []
        for options in self.options:
            held = [
                Counter({server: count * least for server, count in workers.items()})
                for workers, least in options
            ]
            cheapest = Counter[int]()
            for prices in priced:
                cheapest = min(
                    held,
                    key=lambda busy: sum(prices[s] * slots for s, slots in busy.items()),
                    default=cheapest,
                )
            found.append(cheapest)
        return found

    def _least_linked(self) -> list[list[Mapping[int, int]]]:
        """(jobs) The placement of each that uses the fewest links; none if it has none."""
        tree = topology(self.instance.cluster)
        ways: list[list[Mapping[int, int]]] = [
            [workers for workers, _ in options] for options in self.options
        ]
        return [sorted(some, key=lambda way: len(tree.links_used(way)))[:1] for some in ways]

    def promises(self, values: tuple[Value, ...]) -> bool:
        """Whether schedules with these values at least can be worth something."""
        return self.best is None or values < self.best

    def keep(self, values: tuple[Value, ...]) -> None:
        """Keep what is better."""
        if self.promises(values):
            self.best = values

    def _options(self, j: int) -> list[tuple[dict[int, int], int]]:
        """Placements that the job may have, with its time alone in them."""
        job, cluster = self.instance.jobs[j], self.instance.cluster
        servers = {server.name: s for s, server in enumerate(cluster.servers)}
        found = []
        for workers in placements_of_job(self.instance, j):
            if list(placement_demands(self.instance, servers, job, self._held(j, 0, workers))):
                continue
            if not has_memory(self.instance, job, workers):
                continue
            (end,) = simulate(self.instance, [Run(job, 0, workers)]).completion
            if end is not None:
                found.append((workers, end))
        return found

    def _held(self, j: int, start: int, workers: Mapping[int, int]) -> Assignment:
        """With GPUs that are counted only, but for those of a job that runs already."""
        job, servers = self.instance.jobs[j], self.instance.cluster.servers
        gpus = {servers[s].name: tuple(range(count)) for s, count in workers.items()}
        return Assignment(
            job=job.name, start=start, gpus=dict(job.running.gpus) if job.running else gpus
        )

    def decide(self, place: int) -> None:
        """Try all ways to add the jobs from a place in the order on."""
        if place == len(self.order):
            self._take()
            return
        j = self.order[place]
        job = self.instance.jobs[j]
        starts = [0] if job.running else range(max(0, job.release), self.latest)
        for workers, least in self.options[j]:
            for start in starts:
                if start + least > self.latest:
                    break
                self.runs.append(Run(job, start, workers))
                if self._may_go_on(place + 1):
                    self.decide(place + 1)
                self.runs.pop()

    def _may_go_on(self, place: int) -> bool:
        decided = self.order[:place]
        ends = simulate(self.instance, self.runs).completion
        # Jobs on their way to a standstill may be late all the same, or never end.
        if any(end is None or end > self.latest for end in ends):
            return False
        if list(time_demands(self.runs, ends)) or self._overfull(ends):
            return False
        held = [
            (self._held(j, run.start, run.workers), run)
            for j, run in zip(decided, self.runs, strict=True)
        ]
        if list(caps_kept(self.instance, held, ends, holds_of(held, ends))):
            return False
        return self.promises(self._values(decided, ends))

    def _values(self, decided: Sequence[int], ends: Sequence[int | None]) -> tuple[Value, ...]:
        """The least that the objectives can become."""
        completion = list(self.soonest)
        busy = Counter[int]()
        for j in self.order[len(decided) :]:
            busy.update(self.least_busy[j])
        for j, run, end in zip(decided, self.runs, ends, strict=True):
            completion[j] = end or 0
            for server, count in run.workers.items():
                busy[server] += count * ((end or 0) - run.start)
        servers = range(len(self.instance.cluster.servers))
        rings = list(self.least_linked)
        for j, run in zip(decided, self.runs, strict=True):
            rings[j] = [run.workers]
        return tuple(
            one.value(self.instance, completion, [busy[s] for s in servers], rings)
            for one in self.objectives
        )

    def _overfull(self, ends: Sequence[int | None]) -> bool:
        """Whether some server holds more workers than it has GPUs."""
        changes: dict[int, Counter[int]] = {}
        for run, end in zip(self.runs, ends, strict=True):
            for server, count in run.workers.items():
                steps = changes.setdefault(server, Counter())
                steps[run.start] += count
                steps[end or 0] -= count
        return any(
            max(accumulate(change for _, change in sorted(steps.items())))
            > self.instance.cluster.servers[server].gpus
            for server, steps in changes.items()
        )

    def _take(self) -> None:
        """Keep what is better, after the verifier has looked at it slot by slot."""
        starts, workers, ends = {}, {}, {}
        completion = simulate(self.instance, self.runs).completion
        for j, run, end in zip(self.order, self.runs, completion, strict=True):
            starts[j], workers[j], ends[j] = run.start, run.workers, end or 0
        jobs = range(len(self.instance.jobs))
        schedule = Schedule(
            schema_version=1,
            instance=self.instance.name,
            method="enumeration",
            assignments=assign_gpus(
                self.instance,
                *([of[j] for j in jobs] for of in (starts, ends, workers)),  # type: ignore[arg-type]
            ),
        )
        self.keep(self.verified(schedule))

    def verified(self, schedule: Schedule) -> tuple[Value, ...]:
        """The values of a schedule that the verifier finds feasible, slot by slot."""
        report = verify(self.instance, schedule, slot_by_slot=True)
        assert report.feasible, report.violations
        assert report.objective is not None
        return tuple(report.objective[one.name] for one in self.objectives)


class _EachBySelf(_Search):
    """The best of each objective, as if it were the only one."""

    def promises(self, values: tuple[Value, ...]) -> bool:
        return self.best is None or any(
            value < best for value, best in zip(values, self.best, strict=True)
        )

    def keep(self, values: tuple[Value, ...]) -> None:
        self.best = tuple(map(min, values, self.best or values))
