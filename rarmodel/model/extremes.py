"""The best and the worst that can happen to a job: the range of its iteration time and speed.

The best is exact: alone in the cluster, in its best placement. It gives each job's least
execution time, on which estimates and lower bounds rest. The worst is a bound: most servers,
slowest link and most rings on it, whether or not they come together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Instance, Job

from . import timing
from .contention import ring_share
from .topology import Topology, topology


@dataclass(frozen=True)
class Extremes:
    """Range of one job's iteration time, speed and execution time.

    Attributes
    ----------
    best_seconds, worst_seconds
        Least and greatest time of an iteration in seconds, τ_j.
    best_speed, worst_speed
        Greatest and least speed in iterations per slot, φ_j.
    least_slots
        Least execution time in slots, ρ_j^min.
    most_slots
        Bound on the greatest execution time in slots, ρ_j^max; None if the speed can be 0.
    """

    best_seconds: float
    worst_seconds: float
    best_speed: int
    worst_speed: int
    least_slots: int
    most_slots: int | None


def job_extremes(instance: Instance) -> tuple[Extremes, ...]:
    """Range of what can happen to each job, in job order.

    Raises
    ------
    InputError
        If a job's iteration takes no time, or its speed is 0 even at its best.
    """
    ranges = _iteration_ranges(instance)
    _require_speed(instance, ranges, "")
    slot = instance.time.slot_seconds
    extremes = []
    for job, (best, worst) in zip(instance.jobs, ranges, strict=True):
        fast, slow = timing.speed(slot, best), timing.speed(slot, worst)
        least = timing.slots_needed(job.iterations, fast)
        most = timing.slots_needed(job.iterations, slow) if slow else None
        extremes.append(Extremes(best, worst, fast, slow, least, most))
    return tuple(extremes)


def check_speeds(instance: Instance, source: str = "") -> None:
    """Refuse an instance with a job that cannot progress even alone in its best placement.

    Raises
    ------
    InputError
        With every such job (reading 3), or with every job whose iteration takes no time.
    """
    _require_speed(instance, _iteration_ranges(instance), source)


def _require_speed(instance: Instance, ranges: list[tuple[float, float]], source: str) -> None:
    timeless = [
        Problem(f"jobs[{i}]", f"an iteration of job {job.name!r} takes no time; it must take some")
        for i, (job, (best, _)) in enumerate(zip(instance.jobs, ranges, strict=True))
        if best <= 0
    ]
    if timeless:
        raise InputError(timeless, source)
    slot = instance.time.slot_seconds
    stuck = [
        (best, job.name)
        for job, (best, _) in zip(instance.jobs, ranges, strict=True)
        if timing.speed(slot, best) == 0
    ]
    if stuck:
        names = ", ".join(repr(name) for _, name in stuck[:5])
        more = f" and {len(stuck) - 5} more" if len(stuck) > 5 else ""
        jobs = "jobs" if len(stuck) > 1 else "job"
        message = (
            f"{slot!r}; slot too short for {jobs} {names}{more}: alone in its best placement an "
            f"iteration takes {max(stuck)[0]:.6g} s, and a slot must hold one"
        )
        raise InputError([Problem("time.slot_seconds", message)], source)


def _iteration_ranges(instance: Instance) -> list[tuple[float, float]]:
    """Least and greatest iteration time of each job in seconds."""
    tree = topology(instance.cluster)
    spreads = _best_spreads(tree, {job.gpus for job in instance.jobs})
    largest = max(server.gpus for server in instance.cluster.servers)
    most_servers = len(instance.cluster.servers)
    slowest_share = _slowest_shares(instance, tree)

    def seconds(job: Job, servers: int, gbps: float) -> float:
        return timing.iteration_seconds(
            timing.exchange_bits(job.gradient_mb, job.gpus),
            gbps,
            timing.reduction_seconds(job.gradient_mb, job.gpus, instance.cluster.reduction_gbps),
            timing.overhead_seconds(instance.contention.overhead_ms_per_server, servers),
            timing.compute_seconds(job),
        )

    ranges = []
    for job in instance.jobs:
        best, worst = [], []
        if job.gpus <= largest:
            together = seconds(job, 1, instance.cluster.intra_server_gbps)
            best.append(together)
            worst.append(together)
        best.extend(seconds(job, servers, gbps) for servers, gbps in spreads[job.gpus])
        if job.gpus > 1 and most_servers > 1:
            worst.append(seconds(job, min(job.gpus, most_servers), slowest_share[job.gpus]))
        ranges.append((min(best), max(worst)))
    return ranges


def _best_spreads(tree: Topology, sizes: set[int]) -> dict[int, list[tuple[int, float]]]:
    """For each ring size, how few servers (at least 2) a lone ring needs at which bandwidth.

    A ring whose slowest link has rate b lies within one component of the network without the
    links slower than b; so components are merged link by link, fastest links first.
    """
    component = {node: node for node in tree.tree.nodes}
    capacities: dict[str, Counter[int]] = {node: Counter() for node in component}
    for server in tree.cluster.servers:
        capacities.setdefault(server.name, Counter())[server.gpus] += 1
        component.setdefault(server.name, server.name)

    def root(node: str) -> str:
        while component[node] != node:
            component[node] = component[component[node]]
            node = component[node]
        return node

    spreads: dict[int, list[tuple[int, float]]] = {size: [] for size in sizes}
    fastest_first = sorted(tree.links, key=lambda link: -link.gbps)
    for gbps, links in groupby(fastest_first, key=lambda link: link.gbps):
        grown = set()
        for link in links:
            lower, upper = root(link.node), root(link.parent)
            if capacities[lower].total() > capacities[upper].total():
                lower, upper = upper, lower
            component[lower] = upper
            capacities[upper].update(capacities.pop(lower))
            grown.add(upper)
        for size in sizes:
            fewest = min(
                (
                    needed
                    for node in grown
                    if node in capacities
                    for needed in _fewest_servers(capacities[node], size)
                ),
                default=None,
            )
            found = spreads[size]
            if fewest is not None and (not found or fewest < found[-1][0]):
                found.append((fewest, gbps))
    return spreads


def _fewest_servers(capacities: Counter[int], size: int) -> Iterator[int]:
    """The fewest servers, at least 2, that a ring of `size` spreads over; nothing if it cannot."""
    if size < 2 or capacities.total() < 2:
        return
    left, servers = size, 0
    for capacity in sorted(capacities, reverse=True):
        used = min(capacities[capacity], -(-left // capacity))
        servers += used
        left -= used * capacity
        if left <= 0:
            yield max(2, servers)
            return


def _slowest_shares(instance: Instance, tree: Topology) -> dict[int, float]:
    """For each ring size, a bound on the least bandwidth it can get across servers, in Gbit/s."""
    total = instance.cluster.total_gpus
    rings = sorted(job.gpus for job in instance.jobs if job.gpus > 1)
    needed = [0, *accumulate(rings)]
    shares = {}
    for size in set(rings):
        # As many rings as fit the cluster at once with one of this size among them.
        together = bisect_right(needed, total) - 1
        if together and size > rings[together - 1]:
            together = bisect_right(needed, total - size)
        shares[size] = min(
            (
                ring_share(instance.contention, link.gbps, min(together, below, total - below))
                for link, below in zip(tree.links, tree.gpus_below, strict=True)
                if 0 < below < total
            ),
            default=instance.cluster.intra_server_gbps,
        )
    return shares
