"""The content of a drawing of a schedule as plain data: bars, rings on links, GPUs held.

All data come from the instance, the schedule and the verifier's report. Between two changes of the
active set nothing changes, so the size depends on the schedule and not on the horizon.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from rarmodel.model import horizon_of, topology
from rarmodel.model.gpu_sharing import part_held, shares_gpus
from rarmodel.model.timing import restore_slots
from rarmodel.schema import AnyAssignment, Held, Instance, Job, Schedule
from rarmodel.verifier import Report, Run, run_of, simulate

from .reserved import Away, Hold, away_areas, blocks
from .serving import HeldByReplica, held_by_replicas
from .slice_lanes import Lane, Stay, slice_lanes
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
    lane
        Which slices of the GPU, if the job takes some and not all of it; then it is one GPU.
    """

    run: int
    server: int
    first: int
    gpus: int
    lane: Lane | None = None


@dataclass(frozen=True)
class Drawn:
    """One segment of an assignment, as far as it can be drawn; most assignments have one.

    Attributes
    ----------
    job
        Name of the job.
    size
        GPUs of its ring: G_j, or for a moldable job as many as it holds. None if the instance has
        no such job, or the job cannot have as many.
    start
        Start slot; of the first segment, a_j.
    end
        When it gives its GPUs back, in slots: the completion time T_j, or where the job is
        interrupted. None if the job never completes, or the segment cannot be carried out.
    servers
        Indices of the existing servers that it uses.
    carried_out
        Whether the verifier simulated it; otherwise it holds no GPU and uses no link.
    faulty
        Whether the job breaks a constraint.
    rings
        The greatest p_j: the most rings, its own included, on a link that it uses. (6)
    restored
        Slot in which the job's progress begins. Up to then the job is restored.
    segment
        Number of segments of the job before this one.
    """

    job: str
    size: int | None
    start: int
    end: int | None
    servers: tuple[int, ...]
    carried_out: bool
    faulty: bool
    rings: int
    restored: int
    segment: int = 0

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
        Segments of the schedule's assignments, in its order.
    bars
        Blocks of existing GPUs that the jobs hold.
    links
        Rings on every link of the cluster.
    held
        Parts of GPUs held on every server. In a schedule that breaks (2) this can exceed the
        server's GPUs.
    away
        Blocks of GPUs that are shown as reserved.
    replicas
        Blocks of GPUs that replicas of services hold.
    parts
        Parts that a GPU has: 1 where jobs share none.
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
    replicas: tuple[HeldByReplica, ...] = ()
    parts: int = 1

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

    @cached_property
    def whole(self) -> tuple[Drawn, ...]:
        """The assignments, in the schedule's order: the last segment, from the job's start on."""
        found: list[Drawn] = []
        for run in self.runs:
            if not run.segment:
                found.append(run)
                continue
            begun = found[-1]
            servers = {*begun.servers, *run.servers}
            found[-1] = replace(
                run,
                start=begun.start,
                servers=tuple(sorted(servers)),
                rings=max(begun.rings, run.rings),
                restored=begun.restored,
            )
        return tuple(found)

    def rows_of(self, server: int, first: int, gpus: int, *, large: bool) -> tuple[float, float]:
        """The upper and lower edge of adjacent GPUs of a server in a chart.

        Rows are GPUs, or servers if `large`.
        """
        unit = self.instance.cluster.servers[server].gpus if large else 1
        top = (server if large else self.offsets[server]) + first / unit
        return top, top + gpus / unit

    def edges_of(self, bar: Bar, *, large: bool) -> tuple[float, float]:
        """The upper and lower edge of a bar in a chart; parameters as `rows_of`."""
        top, bottom = self.rows_of(bar.server, bar.first, bar.gpus, large=large)
        if bar.lane is None:
            return top, bottom
        slice_height = (bottom - top) / bar.lane.of
        top += bar.lane.first * slice_height
        return top, top + bar.lane.slices * slice_height

    @cached_property
    def most_rings(self) -> int:
        """The most rings that ever share a link."""
        return max((link.rings.greatest for link in self.links), default=0)

    def goes_on(self, run: int) -> bool:
        """Whether another segment of the job comes after one of `runs`."""
        return run + 1 < len(self.runs) and self.runs[run + 1].segment > 0

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
        """Parts of GPUs held in the whole cluster."""
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
        slots = self.instance.cluster.total_gpus * self.parts * self.report.makespan
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
    segments = [(a.job, i, one) for a in schedule.assignments for i, one in enumerate(a.segments)]
    known = [_runs(instance, indices, jobs, a) for a in schedule.assignments]
    carried_out = [run for each in known for run in each]
    ends = _ends(instance, schedule, report, known)
    tree, parts = topology(cluster), cluster.parts if shares_gpus(instance) else 1
    links_of = [tree.links_used(run.workers) if run else () for run in carried_out]
    on_link: dict[int, list[tuple[int, int]]] = defaultdict(list)
    on_server: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for run, end, links in zip(carried_out, ends, links_of, strict=True):
        if run is None:
            continue
        up = run.start + run.restore
        for changes, begin, amount in (
            *((on_link[link], up, 1) for link in links if end is None or end > up),
            *(
                (
                    on_server[server],
                    run.start,
                    count * _held(instance, run.job, server, parts),
                )
                for server, count in run.workers.items()
            ),
        ):
            changes.append((begin, amount))
            if end is not None:
                changes.append((end, -amount))
    rings = [steps_of(on_link[link]) for link in range(len(tree.links))]
    runs = []
    bars = []
    stays, of_stays = list[Stay](), list[int]()
    holds: dict[int, list[Hold]] = defaultdict(list)
    for i, (name, number, segment) in enumerate(segments):
        there = {indices[name]: gpus for name, gpus in segment.gpus.items() if name in indices}
        drawable = {
            server: sorted({gpu for gpu in gpus if 0 <= gpu < cluster.servers[server].gpus})
            for server, gpus in sorted(there.items())
        }
        run, until = carried_out[i], ends[i]
        up = segment.start + (run.restore if run else 0)
        up = up if until is None else min(up, until)
        runs.append(
            Drawn(
                job=name,
                size=_size(jobs.get(name), segment),
                start=segment.start,
                end=until,
                servers=tuple(server for server, gpus in drawable.items() if gpus),
                carried_out=run is not None,
                faulty=name in faulty,
                rings=max((_greatest(rings[link], up, until) for link in links_of[i]), default=0),
                restored=up,
                segment=number,
            )
        )
        for server, gpus in drawable.items():
            job = jobs.get(name)
            leaves = segment.start if run is None else inf if until is None else until
            stays.append(Stay(job, server, gpus, segment.start, leaves))
            of_stays.append(i)
        for server, gpus in drawable.items() if run else ():
            holds[server].append(Hold(segment.start, inf if until is None else until, gpus))
    lanes = slice_lanes(instance, stays)
    for k, (i, stay) in enumerate(zip(of_stays, stays, strict=True)):
        if stay.job is None or stay.job.slices is None:
            bars += [Bar(i, stay.server, *block) for block in blocks(stay.gpus)]
        else:
            bars += [
                Bar(i, stay.server, gpu, 1, lane) for gpu in stay.gpus for lane in lanes[k, gpu]
            ]
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
        replicas=held_by_replicas(instance, schedule),
        parts=parts,
    )


def _held(instance: Instance, job: Job, server: int, parts: int) -> int:
    """Parts of a GPU that a worker holds."""
    return parts if job.slices is None else int(part_held(instance, job, server) * parts)


def _size(job: Job | None, held: Held) -> int | None:
    """GPUs of a segment's ring."""
    if job is None:
        return None
    holds = sum(map(len, held.gpus.values()))
    return holds if holds in job.sizes else job.sizes[0] if len(job.sizes) == 1 else None


def _runs(
    instance: Instance,
    indices: Mapping[str, int],
    jobs: Mapping[str, Job],
    assignment: AnyAssignment,
) -> list[Run | None]:
    """What is carried out of each segment; None from the first one on that cannot be."""
    job, restore = jobs.get(assignment.job), restore_slots(instance)
    found: list[Run | None] = []
    for segment in assignment.segments:
        workers = None
        if job is not None and not (found and found[-1] is None):
            workers = _workers(instance, indices, job, segment)
        if job is None or workers is None:
            found.append(None)
        else:
            before = len(found) - 1 if found else None
            found.append(run_of(instance, job, segment, workers, restore, before))
    return found


def _workers(
    instance: Instance, indices: Mapping[str, int], job: Job, held: Held
) -> dict[int, int] | None:
    """Workers on each server by index, y_js; None if the segment cannot be carried out."""
    if held.start < 0 or not indices.keys() >= held.gpus.keys():
        return None
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
    known: Sequence[Sequence[Run | None]],
) -> list[int | None]:
    """When each segment gives its GPUs back; None if it never does, or cannot be carried out."""
    times = Counter(assignment.job for assignment in schedule.assignments)
    found: list[int | None] = []
    if max(times.values(), default=1) == 1:
        for assignment, runs in zip(schedule.assignments, known, strict=True):
            completed = report.completion.get(assignment.job)
            for run in runs:
                ends = (completed, run.end) if run else ()
                end = min((end for end in ends if end is not None), default=None)
                found.append(end if run is None or end is None else max(run.start, end))
        return found
    # A report gives none to a job that is assigned several times.
    carried_out: list[Run] = []
    for runs in known:
        first = len(carried_out)
        for run in runs:
            if run is not None:
                before = None if run.follows is None else first + run.follows
                carried_out.append(run._replace(follows=before))
    ends_of = iter(simulate(instance, carried_out).ends)
    return [None if run is None else next(ends_of) for runs in known for run in runs]


def _greatest(steps: Steps, start: int, end: int | None) -> int:
    """Greatest value from one slot until before another."""
    first = bisect_right(steps.slots, start) - 1
    last = len(steps.slots) if end is None else bisect_left(steps.slots, end)
    return max(steps.values[max(first, 0) : last], default=0)
