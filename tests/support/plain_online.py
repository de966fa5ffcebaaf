"""Online priority rules as simply as possible: slot by slot, with plain loops over plain jobs.

It shares nothing with the simulator but the model's plain functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from math import ceil
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.extremes import job_extremes
from rarmodel.model.link_shares import bandwidths
from rarmodel.model.sharing_rule import RingOnLinks, pressure_of, sensitivity_of
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

Workers = dict[int, int]
Key = Callable[["Seen"], float]

MOST_SLOTS = 20_000


class Seen(NamedTuple):
    """A job as a rule sees it: slots alone for what is left, GPUs, due slot, GPU slots so far."""

    remaining: int
    gpus: int
    due: float
    attained: int


class Rule(NamedTuple):
    """Least key first; whether running jobs stop, and whether one that waits blocks the others."""

    key: Key
    interrupts: bool = False
    blocks: bool = False


RULES: Mapping[str, Rule] = {
    "fifo": Rule(lambda _: 0, blocks=True),
    "fifo-backfill": Rule(lambda _: 0),
    "sjf": Rule(lambda job: job.remaining),
    "srtf": Rule(lambda job: job.remaining, interrupts=True),
    "srsf": Rule(lambda job: job.remaining * job.gpus, interrupts=True),
    "edf": Rule(lambda job: job.due, interrupts=True),
}


class Segment(NamedTuple):
    """A job held workers on servers in slots start to end − 1."""

    job: int
    start: int
    end: int
    workers: Workers


def played(instance: Instance, rule: Rule) -> tuple[list[int | None], list[Segment]]:
    """Completion time of each job, None if it has none, and all segments."""
    jobs, servers = instance.jobs, instance.cluster.servers
    tree, slot_seconds = topology(instance.cluster), instance.time.slot_seconds
    best = [extreme.best_speed for extreme in job_extremes(instance)]
    left = [job.iterations for job in jobs]
    place: dict[int, Workers] = {}
    stopped: dict[int, Workers] = {}  # In this slot, and where.
    stays = {j for j, job in enumerate(jobs) if not job.preemptible}  # Once they hold GPUs.
    since: dict[int, int] = {}
    up: dict[int, int] = {}
    attained = [0] * len(jobs)
    completion: list[int | None] = [None] * len(jobs)
    segments: list[Segment] = []
    ran: set[int] = set()
    may_stop = rule.interrupts and instance.preemption is not None
    restore = 0
    if instance.preemption is not None:
        restore = ceil(instance.preemption.restore_seconds / slot_seconds - 1e-12)

    def idle() -> list[int]:
        return [
            server.gpus - sum(workers.get(s, 0) for workers in place.values())
            for s, server in enumerate(servers)
        ]

    def rates(some: Mapping[int, Workers]) -> tuple[dict[int, float], dict[int, int]]:
        """Of rings that exchange gradients at once: Gbit/s, and iterations per slot."""
        links = {j: tree.links_used(workers) for j, workers in some.items()}
        overhead_ms = instance.contention.overhead_ms_per_server
        terms = {
            j: (
                timing.exchange_bits(jobs[j].gradient_mb, jobs[j].size),
                timing.latency_seconds(instance.contention.latency_ms, jobs[j].size),
                timing.reduction_seconds(
                    jobs[j].gradient_mb, jobs[j].size, instance.cluster.reduction_gbps
                ),
                timing.overhead_seconds(overhead_ms, len(workers)),
                timing.compute_seconds(jobs[j], jobs[j].size),
            )
            for j, workers in some.items()
        }
        overlap = instance.contention.overlap
        rings = [
            RingOnLinks(
                *(links[j], bits, reduction + overhead, compute, latency, overlap),
                tree.cards_gbps(some[j]),
                *(pressure_of(jobs[j]), sensitivity_of(jobs[j])),
            )
            for j, (bits, latency, reduction, overhead, compute) in terms.items()
            if links[j]
        ]
        shares = iter(bandwidths(instance.contention, [link.gbps for link in tree.links], rings))
        gbps, speeds = {}, {}
        for j, (bits, *_) in terms.items():
            gbps[j] = next(shares) if links[j] else instance.cluster.intra_server_gbps
            seconds = timing.iteration_seconds(bits, gbps[j], *terms[j][1:], overlap)
            speeds[j] = timing.speed(slot_seconds, seconds)
        return gbps, speeds

    def progresses(j: int, workers: Workers) -> bool:
        """Whether a job does an iteration in a slot beside all who hold GPUs, restored or not."""
        return rates({**place, j: workers})[1][j] > 0

    def found(j: int) -> Workers | None:
        """Where a job is put: where it was a moment ago, or consolidated, or where it progresses.

        Sets of servers are tried, those first over which one more ring has most bandwidth. A set
        is left out if more servers with it have as much.
        """
        there, size = idle(), jobs[j].size
        if sum(there) < size:
            return None
        first = consolidated(there, size)
        if j in stopped and all(there[s] >= count for s, count in stopped[j].items()):
            first = stopped[j]
        if progresses(j, first):
            return first
        sets = [
            some for n in range(2, len(there) + 1) for some in combinations(range(len(there)), n)
        ]
        over = {some: rates({**place, j: dict.fromkeys(some, 1)})[0][j] for some in sets}
        whole = [
            some
            for some in sets
            if not any(set(some) < set(more) and over[more] >= over[some] for more in sets)
        ]
        best: Workers | None = None
        ones = [(s,) for s in range(len(there)) if there[s] >= size]
        ones.sort(key=lambda one: there[one[0]])
        for some in [*ones, *sorted(whole, key=lambda some: (-over[some], some))]:
            inside = [count if s in some else 0 for s, count in enumerate(there)]
            if sum(inside) < size or min(size, sum(map(bool, inside))) < min(len(some), 2):
                continue
            workers = consolidated(inside, size, alone=len(some) == 1)
            fewer = best is None or len(workers) < len(best)
            if fewer and progresses(j, workers):
                best = workers
        return best

    def begin(j: int) -> bool:
        """Put a job somewhere; whether there is a place for it."""
        workers = found(j)
        if workers is None:
            return False
        place[j] = workers
        return True

    def stop(j: int) -> None:
        stopped[j] = place.pop(j)

    def room_for(j: int, later: list[int]) -> None:
        """Stop those after a job, the last first, until it has a place; if in vain, nobody."""
        gone = list[int]()
        for other in [other for other in reversed(later) if other in place]:
            stop(other)
            gone.append(other)
            if begin(j):
                return
        for other in gone:
            place[other] = stopped.pop(other)

    def urgency(j: int) -> tuple[float, int, int]:
        job = jobs[j]
        due = float("inf") if job.due is None else job.due
        seen = Seen(ceil(left[j] / best[j]), job.size, due, attained[j])
        return rule.key(seen), max(0, job.release), j

    slot = 0
    while None in completion:
        event = slot == 0
        for j in [j for j in place if left[j] == 0]:
            completion[j] = slot
            segments.append(Segment(j, since[j], slot, place.pop(j)))
            event = True
        event |= any(max(0, job.release) == slot for job in jobs)
        if event:
            there = [
                j
                for j, job in enumerate(jobs)
                if max(0, job.release) <= slot and completion[j] is None
            ]
            order = sorted(there, key=urgency)
            total = sum(server.gpus for server in servers)
            before = dict(place)
            stopped.clear()
            if may_stop:
                held = []
                firm = [j for j in order if j in stays and j in place]
                order = [*firm, *(j for j in order if j not in firm)]
                for j in order:
                    if jobs[j].size <= total:
                        held.append(j)
                        total -= jobs[j].size
                for j in [j for j in place if j not in held]:
                    stop(j)
                for j in reversed(order):
                    if j in place and j not in firm and not progresses(j, place[j]):
                        stop(j)
                for at, j in enumerate(order):
                    if j in held and j not in place and not begin(j):
                        room_for(j, order[at + 1 :])
            for j in order:
                if j not in place and not begin(j) and rule.blocks:
                    break
            for j in [j for j in before if place.get(j) != before[j]]:
                segments.append(Segment(j, since[j], slot, before[j]))
                done, every = jobs[j].iterations - left[j], jobs[j].checkpoint_iterations
                left[j] += done if every is None else done % every
            for j in [j for j in place if place[j] != before.get(j)]:
                since[j] = slot
                up[j] = slot + (restore if j in ran else 0)
                ran.add(j)
        speeds = rates({j: workers for j, workers in place.items() if up[j] <= slot})[1]
        for j, workers in place.items():
            attained[j] += sum(workers.values())
        for j, speed in speeds.items():
            left[j] = max(0, left[j] - speed)
        coming = any(max(0, job.release) > slot for job in jobs) or any(up[j] > slot for j in place)
        if not any(speeds.values()) and not coming and all(left[j] for j in place):
            break
        slot += 1
        assert slot < MOST_SLOTS
    return completion, segments


def consolidated(idle: list[int], size: int, *, alone: bool = True) -> Workers:
    """The tightest server with room; else the most idle ones, and the tightest for the rest.

    Unless one server may do `alone`, the first leaves a worker at least to another one.
    """
    workers: Workers = {}
    while size:
        there = [s for s in range(len(idle)) if s not in workers and idle[s] > 0]
        roomy = [s for s in there if idle[s] >= size]
        if roomy and (alone or workers):
            workers[min(roomy, key=lambda s: (idle[s], s))] = size
            return workers
        s = max(there, key=lambda s: (idle[s], -s))
        workers[s] = min(idle[s], size if alone or workers else size - 1)
        size -= workers[s]
    return workers
