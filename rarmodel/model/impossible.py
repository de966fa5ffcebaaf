"""Jobs that complete in no schedule, whatever the others do, and what keeps them from it.

This is the one place that tells so before anything is solved. What is said here holds in every
schedule: each job is looked at as if it were alone with those that run at slot 0 and that it waits
for, and more jobs never make one faster. Two jobs of which each can complete, but not both, are
not found here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rarmodel.counting import counted, nouns
from rarmodel.errors import listed
from rarmodel.schema import Instance, Job
from rarmodel.schema.references import has_room

from .caching import once_per_instance
from .extremes import job_extremes
from .horizon import at_last, horizon_of, running_ends, unbegun
from .interruptions import interrupts, may_stop
from .left import Left, left_of
from .lone import Lone, allowed_servers, each_lone_options, groups_of, lone_options
from .ring_rates import each_paces
from .topology import topology
from .usage_limits import limits_of_jobs, sizes_within, usage_limits
from .windows import in_order, waited_for, windows

MOST_LOOKS = 100_000
"""Servers that are looked at, over all jobs and spans; beyond, a job is taken to fit."""
MOST_SPANS = 60
"""Spans of slots that are told apart; beyond, spans are joined, with the most that is left."""
FEW = 3
"""Most reservations that a line names."""


@once_per_instance
def never_complete(instance: Instance) -> tuple[str, ...]:
    """Jobs that never complete, whatever the horizon and their deadlines, a line each.

    Each line names what keeps the job out: a cap, reservations, the jobs that run beside it, or a
    job that it waits for.
    """
    stuck = [j for j, end in running_ends(instance).items() if end is None]
    suspects = without_place_at_last(instance)
    if not suspects and not stuck:
        return ()
    never = {j: _stuck(instance, j, stuck) for j in stuck}
    caps, heads = Caps(instance), [max(0, job.release) for job in instance.jobs]
    least = [extreme.least_slots for extreme in job_extremes(instance)]
    before = waited_for(instance)
    for j in in_order(before):
        if waits := [k for k in before[j] if k in never]:
            job, other = instance.jobs[j].name, instance.jobs[waits[0]].name
            never[j] = f"job {job!r} can never run: it waits for {other!r}, which never completes"
            continue
        heads[j] = max([heads[j], *(heads[k] + least[k] for k in before[j])])
        if j in suspects and caps.soonest(j, heads[j]) is None:
            never[j] = _kept_out(instance, j, heads[j])
    return tuple(never[j] for j in sorted(never))


def without_place_at_last(instance: Instance) -> frozenset[int]:
    """Jobs, by index, that make no progress alone when nothing changes any more.

    All others complete in some schedule, as far as it depends on caps.
    """
    rest = at_last(unbegun(instance) if interrupts(instance) else instance)
    if rest is None:
        return frozenset()
    return frozenset(
        j
        for j, (job, options) in enumerate(zip(rest.jobs, lone_options(rest), strict=True))
        if (instance.jobs[j].running is None or may_stop(instance, instance.jobs[j]))
        and not any(one.pace.slots(one.servers, one.gbps) for one in options)
    )


@once_per_instance
def too_short(instance: Instance) -> tuple[str, ...]:
    """Jobs that cannot complete in time even alone, a line each, so that there is no schedule."""
    if lines := never_complete(instance):
        return lines
    extremes = job_extremes(instance)
    slots = windows(instance, horizon_of(instance))
    lines = tuple(
        f"job {job.name!r} can start at slot {window.start} at the earliest, takes "
        f"{counted(extreme.least_slots, 'slot')} at least, and must complete by slot {window.end}"
        for job, extreme, window in zip(instance.jobs, extremes, slots, strict=True)
        if window.start + extreme.least_slots > window.end
    )
    return lines or tuple(_too_late(instance))


def _too_late(instance: Instance) -> Iterator[str]:
    """Jobs that reservations, quotas and running jobs make too late, a line each."""
    timed = instance.time.horizon is not None or any(
        job.deadline is not None for job in instance.jobs
    )
    caps = Caps(instance)
    if not timed or caps.free:
        return
    horizon = horizon_of(instance)
    before = waited_for(instance)
    ends, late = [0] * len(instance.jobs), set[int]()
    for j in in_order(before):
        job = instance.jobs[j]
        end = caps.soonest(j, max([0, job.release, *(ends[k] for k in before[j])]))
        ends[j] = horizon + 1 if end is None else end
        latest = horizon if job.deadline is None else min(horizon, job.deadline)
        if ends[j] <= latest and late.isdisjoint(before[j]):
            continue
        if late.isdisjoint(before[j]):  # Others are late because of it.
            by = "in no slot" if end is None else f"by slot {end} at the earliest"
            yield (
                f"job {job.name!r} can complete {by}, beside what is reserved, caps and jobs that "
                f"run at slot 0, and must complete by slot {latest}"
            )
        late.add(j)


class _Span(NamedTuple):
    """Slots between two changes of what is left.

    Attributes
    ----------
    start, end
        The slots; no end for the last one.
    away
        By server, GPUs that are reserved or held by jobs that run since before slot 0. Those that
        such jobs share count as left: a job may find its slices there.
    room
        By limit that is in force, what others than these jobs may use.
    """

    start: int
    end: int | None
    away: Mapping[str, int]
    room: Mapping[int, int]

    def beside(self, other: _Span) -> _Span:
        """What holds in both spans."""
        return self._replace(
            end=other.end,
            away=Counter(self.away) | Counter(other.away),
            room={
                i: min(some[i] for some in (self.room, other.room) if i in some)
                for i in self.room.keys() | other.room.keys()
            },
        )

    def either(self, other: _Span) -> _Span:
        """What holds in one of two spans at least, so that more fits than does."""
        return self._replace(
            end=other.end,
            away=Counter(self.away) & Counter(other.away),
            room={
                i: max(self.room[i], other.room[i]) for i in self.room.keys() & other.room.keys()
            },
        )


class Caps:
    """When a job completes at the earliest beside reservations, limits and running jobs.

    Parameters
    ----------
    instance
        The problem.
    reserved, capped, held
        Whether reservations, limits of what jobs use, and running jobs count.
    """

    def __init__(
        self, instance: Instance, *, reserved: bool = True, capped: bool = True, held: bool = True
    ) -> None:
        self._instance = instance
        self._spans = _joined(list(_spans(instance, reserved=reserved, capped=capped, held=held)))
        self._both: dict[tuple[int, int], tuple[_Span, Left]] = {}
        self._looks = max(1, MOST_LOOKS // len(instance.cluster.servers))
        self._known: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        self._roomy: dict[object, bool] = {}

    @property
    def free(self) -> bool:
        """Whether all of the cluster is left at all times, and there is no limit."""
        return len(self._spans) == 1 and not self._spans[0].away and not self._spans[0].room

    def soonest(self, j: int, start: int) -> int | None:
        """The slot before which a job that starts no earlier than a slot does not complete.

        None if it never does.
        """
        instance = self._instance
        if may_stop(instance, instance.jobs[j]):
            return self._in_parts(j, start)
        if instance.jobs[j].running is not None:
            return running_ends(instance)[j]
        return self._at_once(j, start)

    def has_room(self, j: int) -> bool:
        """Whether some ring of the job has room at some time."""
        return any(self._has_room(j, i, i) for i in range(len(self._spans)))

    def _at_once(self, j: int, start: int) -> int | None:
        """The same of a job that is not interrupted: it stays in a place that is there for long."""
        best: int | None = None
        for i, span in enumerate(self._spans):
            if span.end is not None and span.end <= start:
                continue
            begin = max(start, span.start)
            if best is not None and begin >= best:
                break
            for k in range(i, len(self._spans)):
                slots = min((least for least, _ in self._ways(j, i, k)), default=None)
                if slots is None:
                    break
                end = self._spans[k].end
                if end is None or begin + slots <= end:
                    best = begin + slots if best is None else min(best, begin + slots)
                    break
        return best

    def _in_parts(self, j: int, start: int) -> int | None:
        """The same of a job that may be interrupted: in each span it goes as fast as it can."""
        instance, job = self._instance, self._instance.jobs[j]
        left = job.iterations_left
        where_it_runs = 0
        if job.running is not None:
            option = _options(instance, job)[0]
            where_it_runs = option.pace.speed(option.servers, option.gbps)
        for i, span in enumerate(self._spans):
            if span.end is not None and span.end <= start:
                continue
            begin = max(start, span.start)
            speed = max([where_it_runs, *(speed for _, speed in self._ways(j, i, i))])
            slots = -(-left // speed) if speed else None
            if slots is not None and (span.end is None or begin + slots <= span.end):
                return begin + slots
            if span.end is not None:
                left -= speed * (span.end - begin)
        return None

    def _ways(self, j: int, i: int, k: int) -> list[tuple[int, int]]:
        """Slots and speed of the ways to run alone in what is left from one span to another."""
        if (j, i, k) not in self._known:
            self._known[j, i, k] = self._looked_up(j, i, k)
        return self._known[j, i, k]

    def _looked_up(self, j: int, i: int, k: int) -> list[tuple[int, int]]:
        if not self._has_room(j, i, k):
            return []
        if self._looks <= 0:
            extreme = job_extremes(self._instance)[j]
            return [(extreme.least_slots, extreme.best_speed)]
        self._looks -= 1
        span, left = self._between(i, k)
        job, sizes = self._instance.jobs[j], sizes_within(self._instance, j, span.room)
        # It may run elsewhere than where it runs already.
        update = {"running": None, "iterations": job.iterations_left}
        rest = self._instance.model_copy(update={"cluster": left.cluster, "preemption": None})
        return [
            (slots, one.pace.speed(one.servers, one.gbps))
            for one in _options(rest, left.job(job.model_copy(update=update), sizes))
            if (slots := one.pace.slots(one.servers, one.gbps))
        ]

    def _has_room(self, j: int, i: int, k: int) -> bool:
        """Whether some ring of a job has room from one span to another, whatever its speed."""
        job = self._instance.jobs[j]
        kinds = None if job.times is None else frozenset(job.times)
        sizes = sizes_within(self._instance, j, self._between(i, k)[0].room)
        part = job.slices, job.memory_gb
        key = sizes, job.servers, kinds, job.spread, part, i, k
        if key not in self._roomy:
            left = self._between(i, k)[1].gpus
            cluster = self._instance.cluster
            allowed = _allowed(self._instance, job)
            gpus = [
                [count for s in group if (count := left[cluster.servers[s].name])]
                for group in groups_of(topology(cluster), job.spread, allowed)
            ]
            self._roomy[key] = any(
                group and has_room(job, size, group) for size in sizes for group in gpus
            )
        return self._roomy[key]

    def _between(self, i: int, k: int) -> tuple[_Span, Left]:
        """What is left in all slots from one span to another."""
        if (i, k) not in self._both:
            span = self._spans[i] if i == k else self._between(i, k - 1)[0].beside(self._spans[k])
            self._both[i, k] = span, left_of(self._instance.cluster, span.away)
        return self._both[i, k]


def _options(instance: Instance, job: Job) -> list[Lone]:
    """The placements worth having of one job alone."""
    alone = instance.model_copy(update={"jobs": (job,)})
    return list(next(each_lone_options(alone, each_paces(alone))))


def _spans(instance: Instance, *, reserved: bool, capped: bool, held: bool) -> Iterator[_Span]:
    """The slots between changes of what is left, in order."""
    away: list[tuple[int, int | None, str, int]] = []
    if reserved:
        away += [
            (one.start, one.end, one.server, one.gpus) for one in instance.cluster.reservations
        ]
    own: list[tuple[int, int, int]] = []
    shared: list[tuple[int, str, int]] = []
    sizes = {server.name: server.gpus for server in instance.cluster.servers}
    if held:
        for j, end in running_ends(instance).items():
            running = instance.jobs[j].running
            if running is not None and end is not None:
                if instance.jobs[j].slices is None:
                    away += [(0, end, name, len(gpus)) for name, gpus in running.gpus.items()]
                else:  # Others may join it, also where all else is reserved.
                    shared += [
                        (end, name, gpu) for name, gpus in running.gpus.items() for gpu in gpus
                    ]
                uses = limits_of_jobs(instance)[j].items()
                own += [(end, i, use.at(running.size)) for i, use in uses]
    limits = usage_limits(instance) if capped else ()
    moments = {0, *(start for start, *_ in away), *(end for _, end, *_ in away if end is not None)}
    moments.update(end for end, *_ in shared)
    moments.update(slot for limit in limits for slot in limit.starts)
    starts = sorted(moments)
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        there = Counter[str]()
        for begin, end, server, gpus in away:
            if begin <= start and (end is None or start < end):
                there[server] += gpus
        open_gpus = {(server, gpu) for end, server, gpu in shared if start < end}
        for server, number in Counter(server for server, _ in open_gpus).items():
            there[server] = min(there[server], sizes[server] - number)
        taken = Counter[int]()
        for end, i, amount in own:
            if start < end:
                taken[i] += amount
        room = {
            i: max(0, capacity - taken[i])
            for i, limit in enumerate(limits)
            if (capacity := limit.capacity(start)) is not None
        }
        yield _Span(start, following, there, room)


def _joined(spans: list[_Span]) -> list[_Span]:
    """Spans of which there are not too many: neighbours are joined, and more seems to be left."""
    while len(spans) > MOST_SPANS:
        last = spans[len(spans) // 2 * 2 :]
        pairs = zip(spans[::2], spans[1::2], strict=False)
        spans = [*(one.either(other) for one, other in pairs), *last]
    return spans


def _stuck(instance: Instance, j: int, stuck: Sequence[int]) -> str:
    """Why a job that runs at slot 0 never completes."""
    job = instance.jobs[j]
    others = [instance.jobs[k].name for k in stuck if k != j]
    beside = f" beside the running {nouns(len(others), 'job')} {listed(others)}" if others else ""
    return (
        f"job {job.name!r} never completes: it runs on {job.running.told() if job.running else ''}"
        f", where it makes no progress{beside}, and jobs are not interrupted"
    )


def _kept_out(instance: Instance, j: int, head: int) -> str:
    """What keeps a job out that never completes."""
    job = instance.jobs[j]
    sizes = " or ".join(map(str, job.sizes)) + " GPU" + "s" * (job.sizes[-1] > 1)
    ring = f"its ring of {sizes}" + (f" on {job.spread.told()}" if job.spread else "")
    ring = f"{ring} on its own servers" if job.servers is not None else ring
    cap, reserved = _limits(instance, j), _reserved(instance, job)
    limited = Caps(instance, reserved=False, held=False)
    away = Caps(instance, capped=False, held=False)
    if cap and limited.soonest(j, head) is None:
        if not limited.has_room(j):
            return f"job {job.name!r} can never run: {ring} is beyond {cap}"
        limits = [usage_limits(instance)[i] for i in limits_of_jobs(instance)[j]]
        enough = " for long enough" if any(len(one.starts) > 1 for one in limits) else ""
        return f"job {job.name!r} can never run: it makes no progress{enough} in rings within {cap}"
    if away.soonest(j, head) is None:
        lacks, beside = not away.has_room(j), reserved
    else:
        both = Caps(instance, held=False)
        causes = [cap, reserved]
        if both.soonest(j, head) is not None:
            both = Caps(instance)
            causes.append("the jobs that run at slot 0")
        lacks, beside = not both.has_room(j), " and ".join(filter(None, causes))
    why = "finds no room" if lacks else "never has a place with progress for long enough"
    return f"job {job.name!r} can never run: {ring} {why} beside {beside}"


def _limits(instance: Instance, j: int) -> str:
    """The limits of what a job uses; those alone that none of its rings keeps, if there are any."""
    job, found, beyond = instance.jobs[j], [], []
    for i, use in limits_of_jobs(instance)[j].items():
        limit = usage_limits(instance)[i]
        found.append(limit.words)
        least = min(map(use.at, job.sizes))
        if limit.most is not None and least > limit.most:
            uses = "" if limit.of_tenant else f", as it uses {limit.told(least)} at least"
            beyond.append(limit.words + uses)
    return " and ".join(beyond or found)


def _reserved(instance: Instance, job: Job) -> str:
    """The reservations of servers that a job may use, those without an end first."""
    servers = {instance.cluster.servers[s].name for s in _allowed(instance, job)}
    found = [(i, r) for i, r in enumerate(instance.cluster.reservations) if r.server in servers]
    found.sort(key=lambda one: (one[1].end is not None, one[0]))
    told = [
        f"cluster.reservations[{i}] ({one.gpus} GPU{'s' * (one.gpus > 1)} of {one.server!r} from "
        f"slot {one.start} {'on' if one.end is None else f'to {one.end}'})"
        for i, one in found[:FEW]
    ]
    more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
    return ", ".join(told) + more


def _allowed(instance: Instance, job: Job) -> frozenset[int]:
    return allowed_servers(instance.model_copy(update={"jobs": (job,)}))[0]
