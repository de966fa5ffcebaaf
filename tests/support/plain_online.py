"""Online priority rules as simply as possible: slot by slot, with plain loops over plain jobs.

It shares nothing with the simulator but the model's plain functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.duty import RingOnLinks
from rarmodel.model.extremes import job_extremes
from rarmodel.model.sharing import bandwidths
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
            if may_stop:
                held = []
                for j in order:
                    if jobs[j].size <= total:
                        held.append(j)
                        total -= jobs[j].size
                for j in [j for j in place if j not in held]:
                    segments.append(Segment(j, since[j], slot, place.pop(j)))
                starting = [j for j in held if j not in place]
            else:
                total = sum(idle())
                starting = []
                for j in order:
                    if j in place:
                        continue
                    if jobs[j].size <= total:
                        starting.append(j)
                        total -= jobs[j].size
                    elif rule.blocks:
                        break
            for j in starting:
                place[j] = consolidated(idle(), jobs[j].size)
                since[j] = slot
                up[j] = slot + (restore if j in ran else 0)
                ran.add(j)
        active = [j for j in place if up[j] <= slot]
        links = {j: tree.links_used(place[j]) for j in active}
        overhead_ms = instance.contention.overhead_ms_per_server
        terms = {
            j: (
                timing.exchange_bits(jobs[j].gradient_mb, jobs[j].size),
                timing.reduction_seconds(
                    jobs[j].gradient_mb, jobs[j].size, instance.cluster.reduction_gbps
                ),
                timing.overhead_seconds(overhead_ms, len(place[j])),
                timing.compute_seconds(jobs[j], jobs[j].size),
            )
            for j in active
        }
        rings = [
            RingOnLinks(links[j], bits, sum(rest)) for j, (bits, *rest) in terms.items() if links[j]
        ]
        shares = iter(bandwidths(instance.contention, [link.gbps for link in tree.links], rings))
        speeds = {}
        for j in active:
            gbps = next(shares) if links[j] else instance.cluster.intra_server_gbps
            bits, *rest = terms[j]
            seconds = timing.iteration_seconds(bits, gbps, *rest)
            speeds[j] = timing.speed(slot_seconds, seconds)
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


def consolidated(idle: list[int], size: int) -> Workers:
    """The tightest server with room; else the most idle ones, and the tightest for the rest."""
    workers: Workers = {}
    while size:
        there = [s for s in range(len(idle)) if s not in workers and idle[s] > 0]
        roomy = [s for s in there if idle[s] >= size]
        if roomy:
            workers[min(roomy, key=lambda s: (idle[s], s))] = size
            return workers
        s = max(there, key=lambda s: (idle[s], -s))
        workers[s] = idle[s]
        size -= idle[s]
    return workers
