"""Schedules with segments carried out slot by slot, from what sections 1, 11 and 18 say.

Shares nothing with verifier and engine but the plain functions of (8) and of the floor.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.link_shares import bandwidths
from rarmodel.model.sharing_rule import RingOnLinks, pressure_of, sensitivity_of
from rarmodel.schema import Cluster, Held, Instance, Job, Schedule

Workers = Mapping[str, int]
"""Workers on each server by its name, at least one."""


class Course(NamedTuple):
    """A schedule carried out: by slot, what jobs hold, and the speeds of the rings that are up.

    Also the iterations that jobs lose, by job; those that lose none are left out.
    """

    completion: dict[str, int]
    held: list[dict[str, Held]]
    speed: list[dict[str, int]]
    lost: dict[str, int]


def carried_out(instance: Instance, schedule: Schedule, last: int) -> Course:
    """Carry a schedule out up to a slot; every job has one assignment that makes sense."""
    restore = restore_slots(instance)
    jobs = {job.name: job for job in instance.jobs}
    done = {job.name: job.iterations - job.iterations_left for job in instance.jobs}
    course = Course({}, [], [], {})
    for slot in range(last):
        held: dict[str, Held] = {}
        rings = {}
        for one in schedule.assignments:
            for number, segment in enumerate(one.segments):
                if one.job in course.completion:
                    continue
                if segment.end == slot or (
                    slot == number == 0 and begins_elsewhere(jobs[one.job], segment)
                ):
                    before = done[one.job]
                    done[one.job] = kept(jobs[one.job], before)
                    if lost := before - done[one.job]:
                        course.lost[one.job] = course.lost.get(one.job, 0) + lost
                now = segment.start <= slot and (segment.end is None or slot < segment.end)
                if now and one.job not in course.completion:
                    held[one.job] = segment
                    running = jobs[one.job].running
                    begins = number == 0 and (
                        running is None or (segment.start == 0 and same(segment.gpus, running.gpus))
                    )
                    if begins or slot >= segment.start + restore:
                        rings[one.job] = {s: len(g) for s, g in segment.gpus.items() if g}
        speed = speeds(instance, rings)
        for name, iterations in speed.items():
            done[name] += iterations
            if done[name] >= jobs[name].iterations:
                course.completion[name] = slot + 1
        course.held.append(held)
        course.speed.append(speed)
    return course


def begins_elsewhere(job: Job, first: Held) -> bool:
    """Whether a job does not go on at slot 0 where it runs then."""
    if job.running is None:
        return False
    return first.start != 0 or not same(first.gpus, job.running.gpus)


def kept(job: Job, done: int) -> int:
    """Iterations that a job keeps of those that it has done, where a segment ends."""
    every = job.checkpoint_iterations
    return 0 if every is None else done - done % every


def restore_slots(instance: Instance) -> int:
    """Slots that a restoration takes."""
    assert instance.preemption is not None
    return ceil(instance.preemption.restore_seconds / instance.time.slot_seconds - 1e-12)


def same(one: Mapping[str, tuple[int, ...]], other: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether they are the same GPUs."""
    return {(s, g) for s in one for g in one[s]} == {(s, g) for s in other for g in other[s]}


def speeds(instance: Instance, rings: Mapping[str, Workers]) -> dict[str, int]:
    """Speeds φ_j of rings that are active at once, by job, (6) to (8)."""
    links = links_of(instance.cluster)
    jobs = {job.name: job for job in instance.jobs}
    cluster, contention = instance.cluster, instance.contention
    servers = {server.name: server for server in cluster.servers}
    used = {
        name: [
            i
            for i, (below, _) in enumerate(links)
            if 0 < sum(count for s, count in on.items() if s in below) < sum(on.values())
        ]
        for name, on in rings.items()
    }
    terms = {name: terms_of(instance, jobs[name], on) for name, on in rings.items()}
    linked = [
        RingOnLinks(
            *(tuple(used[name]), bits, reduction + overhead, compute, latency, contention.overlap),
            least_of_cards(cluster, rings[name]),
            *(pressure_of(jobs[name]), sensitivity_of(jobs[name])),
        )
        for name, (bits, latency, reduction, overhead, compute) in terms.items()
        if used[name]
    ]
    shares = iter(bandwidths(contention, [gbps for _, gbps in links], linked))
    found = {}
    for name, on in rings.items():
        own = servers[next(iter(on))].intra_server_gbps
        within = cluster.intra_server_gbps if own is None else own
        bits, others = terms[name][0], terms[name][1:]
        gbps = next(shares) if used[name] else within
        seconds = timing.iteration_seconds(bits, gbps, *others, contention.overlap)
        found[name] = timing.speed(instance.time.slot_seconds, seconds)
    return found


def least_of_cards(cluster: Cluster, on: Workers) -> float:
    """The most in Gbit/s that network cards let a ring on several servers have (section 20)."""
    cards = {server.name: server.network_cards for server in cluster.servers}
    rates = dict.fromkeys(cards, getattr(cluster.network, "gbps", 0.0))
    rates |= {link.node: link.gbps for link in getattr(cluster.network, "links", ())}
    return min(
        rates[s] * count / cards[s] if count < cards[s] else rates[s] for s, count in on.items()
    )


def terms_of(instance: Instance, job: Job, on: Workers) -> tuple[float, float, float, float, float]:
    """Bits, and seconds of latency, reduction, overhead and passes, of a ring, (8)."""
    size, cluster = sum(on.values()), instance.cluster
    types = [server.gpu_type for server in cluster.servers if server.name in on]
    return (
        timing.exchange_bits(job.gradient_mb, size),
        timing.latency_seconds(instance.contention.latency_ms, size),
        timing.reduction_seconds(job.gradient_mb, size, cluster.reduction_gbps),
        timing.overhead_seconds(instance.contention.overhead_ms_per_server, len(on)),
        max(timing.compute_seconds(job, size, kind) for kind in types),
    )


def links_of(cluster: Cluster) -> list[tuple[set[str], float]]:
    """The servers below each link, and its rate."""
    if cluster.network.kind == "star":
        return [({server.name}, cluster.network.gbps) for server in cluster.servers]
    above = {link.node: link.parent for link in cluster.network.links}
    below: dict[str, set[str]] = {link.node: set() for link in cluster.network.links}
    for server in cluster.servers:
        node = server.name
        while node in above:
            below[node].add(server.name)
            node = above[node]
    return [(below[link.node], link.gbps) for link in cluster.network.links]
