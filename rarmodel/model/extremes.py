"""The best and the worst that can happen to a job: the range of its iteration time and speed.

The best is exact: alone in the cluster, in its best placement. It gives each job's least
execution time, on which estimates and lower bounds rest. The worst is a bound: most servers,
slowest link and most rings on it, whether or not they come together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
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
    ranges = iteration_ranges(instance)
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
    _require_speed(instance, iteration_ranges(instance), source)


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


def best_placements(instance: Instance) -> tuple[dict[int, int], ...]:
    """A placement of each job in which it is fastest if alone: workers by server index."""
    tree = topology(instance.cluster)
    spreads = _best_spreads(tree, {job.gpus for job in instance.jobs})
    largest = instance.cluster.largest_server
    realise = cache(partial(_realise, tree))
    return tuple(
        realise(job.gpus, *min(_lone_options(instance, job, largest, spreads[job.gpus]))[1:])
        for job in instance.jobs
    )


def _realise(tree: Topology, size: int, servers: int, gbps: float) -> dict[int, int]:
    """Workers of a ring on so many servers, and if they are several, over links of that rate."""
    import networkx as nx  # noqa: PLC0415 - takes a while to load, and few need it

    fast = nx.Graph(tree.tree.to_undirected())
    fast.remove_edges_from(
        [(link.node, link.parent) for link in tree.links if servers > 1 and link.gbps < gbps]
    )
    index = {server.name: i for i, server in enumerate(tree.cluster.servers)}
    for nodes in nx.connected_components(fast):
        largest = sorted(
            (-tree.cluster.servers[index[node]].gpus, index[node])
            for node in nodes
            if node in index
        )[:servers]
        if len(largest) == servers and -sum(capacity for capacity, _ in largest) >= size:
            workers = {server: 1 for _, server in largest}
            left = size - servers
            for capacity, server in largest:
                more = min(left, -capacity - 1)
                workers[server] += more
                left -= more
            return workers
    raise AssertionError("every lone option has a placement")


def iteration_ranges(instance: Instance) -> list[tuple[float, float]]:
    """Least and greatest iteration time of each job in seconds."""
    tree = topology(instance.cluster)
    spreads = _best_spreads(tree, {job.gpus for job in instance.jobs})
    largest = instance.cluster.largest_server
    slowest_share = _slowest_shares(instance, tree)
    ranges = []
    for job in instance.jobs:
        options = _lone_options(instance, job, largest, spreads[job.gpus])
        worst = [seconds for seconds, servers, _ in options if servers == 1]
        if job.gpus > 1 and len(instance.cluster.servers) > 1:
            servers = min(job.gpus, len(instance.cluster.servers))
            worst.append(_seconds(instance, job, servers, slowest_share[job.gpus]))
        ranges.append((min(options)[0], max(worst)))
    return ranges


def _seconds(instance: Instance, job: Job, servers: int, gbps: float) -> float:
    cluster, contention = instance.cluster, instance.contention
    return timing.iteration_seconds(
        timing.exchange_bits(job.gradient_mb, job.gpus),
        gbps,
        timing.reduction_seconds(job.gradient_mb, job.gpus, cluster.reduction_gbps),
        timing.overhead_seconds(contention.overhead_ms_per_server, servers),
        timing.compute_seconds(job),
    )


def _lone_options(
    instance: Instance, job: Job, largest: int, spreads: list[tuple[int, float]]
) -> list[tuple[float, int, float]]:
    """Placements worth having alone: iteration time in seconds, servers used, and bandwidth."""
    options = []
    if job.gpus <= largest:
        gbps = instance.cluster.intra_server_gbps
        options.append((_seconds(instance, job, 1, gbps), 1, gbps))
    for servers, gbps in spreads:
        options.append((_seconds(instance, job, servers, gbps), servers, gbps))
    return options


def _best_spreads(tree: Topology, sizes: set[int]) -> dict[int, list[tuple[int, float]]]:
    """For each ring size, how few servers (at least 2) a lone ring needs at which bandwidth.

    A ring whose slowest link has rate b lies within one component of the network without the
    links slower than b; so components are merged link by link, fastest links first.
    """
    component = {node: node for link in tree.links for node in (link.node, link.parent)}
    capacities: dict[str, Counter[int]] = {node: Counter() for node in component}
    for server in tree.cluster.servers:
        capacities[server.name][server.gpus] += 1

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


@dataclass(frozen=True)
class LeastSlots:
    """Least execution time of one job by how it is placed, alone in the cluster.

    Attributes
    ----------
    packed
        In slots, on one server; None if no server has as many GPUs, or it makes no progress there.
    spread
        In slots, on several servers; None if that is impossible, or makes no progress.
    fewest_servers
        The fewest servers, at least 2, that a spread ring uses; None if it cannot spread.
    """

    packed: int | None
    spread: int | None
    fewest_servers: int | None


def least_slots_by_placement(instance: Instance) -> tuple[LeastSlots, ...]:
    """Least execution time of each job on one server and on several, in job order."""
    tree = topology(instance.cluster)
    spreads = _best_spreads(tree, {job.gpus for job in instance.jobs})
    largest = instance.cluster.largest_server
    slot = instance.time.slot_seconds

    def slots(job: Job, seconds: Iterable[float]) -> int | None:
        speed = max((timing.speed(slot, value) for value in seconds), default=0)
        return timing.slots_needed(job.iterations, speed) if speed else None

    found = []
    for job in instance.jobs:
        options = _lone_options(instance, job, largest, spreads[job.gpus])
        found.append(
            LeastSlots(
                packed=slots(job, (seconds for seconds, servers, _ in options if servers == 1)),
                spread=slots(job, (seconds for seconds, servers, _ in options if servers > 1)),
                fewest_servers=min((n for _, n, _ in options if n > 1), default=None),
            )
        )
    return tuple(found)
