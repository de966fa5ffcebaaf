"""The content of a drawing of a schedule as plain data: bars, rings on links, GPUs held.

All data come from the instance, the schedule and the verifier's report. Between two changes of the
active set nothing changes, so the size depends on the schedule and not on the horizon.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from rarmodel.model import horizon_of, topology
from rarmodel.schema import Assignment, Instance, Job, Schedule
from rarmodel.verifier import Report, Run, simulate

from .reserved import Away, Hold, away_areas, blocks
from .steps import Steps, steps_of


@dataclass(frozen=True)
class Bar:
    """A block of adjacent GPUs of one server that a job holds.

    Attributes
    ----------
    run
        Index of the job's run in `Drawing.runs`.
    server
        Index of the server.
    first
        Lowest index of the GPUs on the server.
    gpus
        Number of GPUs.
    """

    run: int
    server: int
    first: int
    gpus: int


@dataclass(frozen=True)
class Drawn:
    """One assignment of a schedule, as far as it can be drawn.

    Attributes
    ----------
    job
        Name of the job.
    size
        GPUs of its ring: G_j, or for a moldable job as many as it holds. None if the instance has
        no such job, or the job cannot have as many.
    start
        Start slot, a_j.
    end
        Completion time T_j in slots; None if the job never completes or cannot be carried out.
    servers
        Indices of the existing servers that it uses.
    carried_out
        Whether the verifier simulated it; otherwise it holds no GPU and uses no link.
    faulty
        Whether the job breaks a constraint.
    rings
        The greatest p_j: the most rings, its own included, on a link that it uses. (6)
    """

    job: str
    size: int | None
    start: int
    end: int | None
    servers: tuple[int, ...]
    carried_out: bool
    faulty: bool
    rings: int

    @property
    def spread(self) -> bool:
        """Whether its ring crosses the network."""
        return len(self.servers) > 1


@dataclass(frozen=True)
class LinkRings:
    """The number of rings on a link, over time.

    Attributes
    ----------
    link
        Name of the link's lower end.
    gbps
        Rate of the link in Gbit/s.
    rings
        Active rings on the link, p_ℓ.
    """

    link: str
    gbps: float
    rings: Steps


@dataclass(frozen=True)
class Drawing:
    """One schedule, ready to be drawn.

    Attributes
    ----------
    label
        Label of the schedule.
    instance
        The problem.
    schedule
        The schedule.
    report
        The verifier's report on it.
    runs
        Assignments of the schedule, in its order.
    bars
        Blocks of existing GPUs that the jobs hold.
    links
        Rings on every link of the cluster.
    held
        GPUs held on every server. In a schedule that breaks (2) this can exceed the server's GPUs.
    away
        Blocks of GPUs that are shown as reserved.
    """

    label: str
    instance: Instance
    schedule: Schedule
    report: Report
    runs: tuple[Drawn, ...]
    bars: tuple[Bar, ...]
    links: tuple[LinkRings, ...]
    held: tuple[Steps, ...]
    away: tuple[Away, ...] = ()

    @cached_property
    def end(self) -> int:
        """The slot where the plot ends: after the last completion and start.

        The start of an assignment that cannot be carried out counts only up to the horizon.
        """
        horizon = horizon_of(self.instance)
        ends = [
            run.end or (run.start + 1 if run.carried_out else min(run.start + 1, horizon))
            for run in self.runs
        ]
        return max([1, *ends])

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The row of each server's first GPU, if all GPUs are numbered server by server."""
        rows = [0]
        for server in self.instance.cluster.servers:
            rows.append(rows[-1] + server.gpus)
        return tuple(rows[:-1])

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Index of each job in the instance; unknown jobs come after these."""
        known = {job.name: i for i, job in enumerate(self.instance.jobs)}
        for run in self.runs:
            known.setdefault(run.job, len(known))
        return known

    def job_of(self, run: Drawn) -> Job | None:
        """The job of an assignment; None if the instance has none of this name."""
        number = self.numbers[run.job]
        return self.instance.jobs[number] if number < len(self.instance.jobs) else None

    @cached_property
    def reserved_in_all(self) -> Steps:
        """GPUs of the whole cluster that reservations take away."""
        reservations = self.instance.cluster.reservations
        begins = [(one.start, one.gpus) for one in reservations]
        return steps_of(
            [*begins, *((one.end, -one.gpus) for one in reservations if one.end is not None)]
        )

    @cached_property
    def held_in_all(self) -> Steps:
        """GPUs held in the whole cluster."""
        return steps_of(
            (slot, after - before)
            for steps in self.held
            for slot, before, after in zip(
                steps.slots, (0, *steps.values), steps.values, strict=False
            )
        )

    @cached_property
    def utilisation(self) -> float | None:
        """Share of the cluster's GPU slots up to the makespan that jobs hold."""
        if not self.report.makespan:
            return None
        slots = self.instance.cluster.total_gpus * self.report.makespan
        return self.held_in_all.integral(self.report.makespan) / slots

    def shown_until(self, run: Drawn, end: int) -> float:
        """The end of a job's bars in a plot of `end` slots.

        The bars of a job that never completes continue to the end. A job that cannot be carried out
        has no end: a stub shows its start.
        """
        if run.end is not None:
            return run.end
        return max(end, run.start + 1) if run.carried_out else run.start + max(1.0, end / 40)


def draw(instance: Instance, schedule: Schedule, report: Report, label: str = "") -> Drawing:
    """Make the drawing of a schedule.

    Parameters
    ----------
    instance
        The problem.
    schedule
        A schedule, which may break constraints.
    report
        The verifier's report on it.
    label
        Label of the schedule; by default its method.
    """
    cluster = instance.cluster
    indices = {server.name: i for i, server in enumerate(cluster.servers)}
    jobs = {job.name: job for job in instance.jobs}
    faulty = {violation.job for violation in report.violations}
    workers = [_workers(instance, indices, jobs, a) for a in schedule.assignments]
    ends = _ends(instance, schedule, report, workers)
    tree = topology(cluster)
    links_of = [tree.links_used(held) if held else () for held in workers]
    on_link: dict[int, list[tuple[int, int]]] = defaultdict(list)
    on_server: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for assignment, held, end, links in zip(
        schedule.assignments, workers, ends, links_of, strict=True
    ):
        for changes, amount in (
            *((on_link[link], 1) for link in links),
            *((on_server[server], count) for server, count in (held or {}).items()),
        ):
            changes.append((assignment.start, amount))
            if end is not None:
                changes.append((end, -amount))
    rings = [steps_of(on_link[link]) for link in range(len(tree.links))]
    runs = []
    bars = []
    holds: dict[int, list[Hold]] = defaultdict(list)
    for i, assignment in enumerate(schedule.assignments):
        there = {indices[name]: gpus for name, gpus in assignment.gpus.items() if name in indices}
        drawable = {
            server: sorted({gpu for gpu in gpus if 0 <= gpu < cluster.servers[server].gpus})
            for server, gpus in sorted(there.items())
        }
        runs.append(
            Drawn(
                job=assignment.job,
                size=_size(jobs.get(assignment.job), assignment),
                start=assignment.start,
                end=ends[i],
                servers=tuple(server for server, gpus in drawable.items() if gpus),
                carried_out=workers[i] is not None,
                faulty=assignment.job in faulty,
                rings=max(
                    (_greatest(rings[link], assignment.start, ends[i]) for link in links_of[i]),
                    default=0,
                ),
            )
        )
        bars += [
            Bar(i, server, first, count)
            for server, gpus in drawable.items()
            for first, count in blocks(gpus)
        ]
        until = ends[i]
        for server, gpus in drawable.items() if workers[i] is not None else ():
            holds[server].append(Hold(assignment.start, inf if until is None else until, gpus))
    return Drawing(
        label=label or schedule.method,
        instance=instance,
        schedule=schedule,
        report=report,
        runs=tuple(runs),
        bars=tuple(bars),
        links=tuple(
            LinkRings(link.node, link.gbps, steps)
            for link, steps in zip(tree.links, rings, strict=True)
        ),
        held=tuple(steps_of(on_server[server]) for server in range(len(cluster.servers))),
        away=away_areas(instance, holds),
    )


def _size(job: Job | None, held: Assignment) -> int | None:
    """GPUs of an assignment's ring."""
    if job is None:
        return None
    holds = sum(map(len, held.gpus.values()))
    return holds if holds in job.sizes else job.sizes[0] if len(job.sizes) == 1 else None


def _workers(
    instance: Instance, indices: Mapping[str, int], jobs: Mapping[str, Job], held: Assignment
) -> dict[int, int] | None:
    """Workers on each server by index, y_js; None if the assignment cannot be carried out."""
    if held.start < 0 or held.job not in jobs or not indices.keys() >= held.gpus.keys():
        return None
    job = jobs[held.job]
    workers = {indices[name]: len(gpus) for name, gpus in held.gpus.items() if gpus}
    types = {instance.cluster.servers[server].gpu_type for server in workers}
    if job.times is not None and not types <= job.times.keys():
        return None
    sound = sum(workers.values()) in job.sizes and all(
        len(set(gpus)) == len(gpus)
        and all(0 <= gpu < instance.cluster.servers[indices[name]].gpus for gpu in gpus)
        for name, gpus in held.gpus.items()
    )
    return workers if sound else None


def _ends(
    instance: Instance,
    schedule: Schedule,
    report: Report,
    workers: Sequence[Mapping[int, int] | None],
) -> list[int | None]:
    """Completion time of each assignment, None if it has none."""
    times = Counter(assignment.job for assignment in schedule.assignments)
    if max(times.values(), default=1) == 1:
        return [report.completion.get(assignment.job) for assignment in schedule.assignments]
    # A report gives none to a job that is assigned several times.
    jobs = {job.name: job for job in instance.jobs}
    runs = [
        Run(jobs[assignment.job], assignment.start, held)
        for assignment, held in zip(schedule.assignments, workers, strict=True)
        if held is not None
    ]
    ends = iter(simulate(instance, runs).completion)
    return [None if held is None else next(ends) for held in workers]


def _greatest(steps: Steps, start: int, end: int | None) -> int:
    """Greatest value from one slot until before another."""
    first = bisect_right(steps.slots, start) - 1
    last = len(steps.slots) if end is None else bisect_left(steps.slots, end)
    return max(steps.values[max(first, 0) : last], default=0)
