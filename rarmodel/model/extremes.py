"""The best and the worst case of a job: the range of its iteration time and speed.

The best case is exact: alone in the cluster, in its best placement. It gives each job's least
execution time, on which estimates and lower bounds rest. The worst case is a bound: most servers,
slowest link and most rings on it, whether or not these occur together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, groupby
from math import inf

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Instance, Job

from . import timing
from .caching import once_per_instance
from .contention import ring_share
from .topology import Topology, topology


@dataclass(frozen=True, slots=True)
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


@once_per_instance
def job_extremes(instance: Instance) -> tuple[Extremes, ...]:
    """The range of each job, in job order.

    Raises
    ------
    InputError
        If a job's iteration takes 0 s, or its speed is 0 even in the best case.
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
        With every such job (reading 3), or with every job whose iteration takes 0 s.
    """
    _require_speed(instance, iteration_ranges(instance), source)


def _require_speed(instance: Instance, ranges: Sequence[tuple[float, float]], source: str) -> None:
    timeless = [
        Problem(f"jobs[{i}]", f"an iteration of job {job.name!r} takes 0 s; it must take more")
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
    """For each job, a placement in which it is fastest alone: workers by server index."""
    tree = topology(instance.cluster)
    lone = _lone_options(instance, tree, {job.gpus for job in instance.jobs})

    @cache
    def components(least_gbps: float) -> list[list[tuple[int, int]]]:
        return _components(tree, least_gbps)

    @cache
    def realise(size: int, servers: int, gbps: float) -> dict[int, int]:
        # A ring within one server crosses no link, so that none is too slow for it.
        return _realise(components(gbps if servers > 1 else 0.0), size, servers)

    placements = []
    for job in instance.jobs:
        options = lone[job.gpus]
        _, best = min(zip(_seconds(instance, job, options), options, strict=True))
        placements.append(realise(job.gpus, *best))
    return tuple(placements)


def _components(tree: Topology, least_gbps: float) -> list[list[tuple[int, int]]]:
    """Servers joined by links of at least this rate, as `(−GPUs, index)`, largest server first."""
    servers = [(-server.gpus, i) for i, server in enumerate(tree.cluster.servers)]
    if all(link.gbps >= least_gbps for link in tree.links):
        return [sorted(servers)]
    import networkx as nx  # noqa: PLC0415 - takes a while to load, and few need it

    fast = nx.Graph(tree.tree.to_undirected())
    fast.remove_edges_from(
        [(link.node, link.parent) for link in tree.links if link.gbps < least_gbps]
    )
    by_name = {tree.cluster.servers[i].name: (gpus, i) for gpus, i in servers}
    return [
        sorted(by_name[node] for node in nodes if node in by_name)
        for nodes in nx.connected_components(fast)
    ]


def _realise(
    components: Sequence[Sequence[tuple[int, int]]], size: int, servers: int
) -> dict[int, int]:
    """Workers of a ring on this many servers of one component."""
    for component in components:
        largest = component[:servers]
        if len(largest) == servers and -sum(capacity for capacity, _ in largest) >= size:
            workers = {server: 1 for _, server in largest}
            left = size - servers
            for capacity, server in largest:
                more = min(left, -capacity - 1)
                workers[server] += more
                left -= more
            return workers
    raise AssertionError("every lone option has a placement")


@once_per_instance
def iteration_ranges(instance: Instance) -> tuple[tuple[float, float], ...]:
    """Least and greatest iteration time of each job in seconds."""
    tree = topology(instance.cluster)
    sizes = {job.gpus for job in instance.jobs}
    lone = _lone_options(instance, tree, sizes)
    slowest_share = _slowest_shares(instance, tree)
    most_servers = len(instance.cluster.servers)
    worst = {size: [option for option in lone[size] if option[0] == 1] for size in sizes}
    for size in sizes:
        if size > 1 and most_servers > 1:
            worst[size].append((min(size, most_servers), slowest_share[size]))
    ranges = []
    for job in instance.jobs:
        seconds = _seconds(instance, job, lone[job.gpus] + worst[job.gpus])
        best = len(lone[job.gpus])
        ranges.append((min(seconds[:best]), max(seconds[best:])))
    return tuple(ranges)


def _seconds(instance: Instance, job: Job, options: list[tuple[int, float]]) -> list[float]:
    """Iteration time of a job in seconds, for each number of servers and bandwidth."""
    bits = timing.exchange_bits(job.gradient_mb, job.gpus)
    reduction = timing.reduction_seconds(job.gradient_mb, job.gpus, instance.cluster.reduction_gbps)
    compute = timing.compute_seconds(job)
    overhead_ms = instance.contention.overhead_ms_per_server
    return [
        timing.iteration_seconds(
            bits, gbps, reduction, timing.overhead_seconds(overhead_ms, servers), compute
        )
        for servers, gbps in options
    ]


def _lone_options(
    instance: Instance, tree: Topology, sizes: set[int]
) -> dict[int, list[tuple[int, float]]]:
    """For each ring size, servers used and bandwidth of the best placements of a lone ring."""
    cluster = instance.cluster
    within = {
        size: [(1, cluster.intra_server_gbps)] for size in sizes if size <= cluster.largest_server
    }
    spreads = _best_spreads(tree, sizes)
    return {size: within.get(size, []) + spreads[size] for size in sizes}


def _best_spreads(tree: Topology, sizes: set[int]) -> dict[int, list[tuple[int, float]]]:
    """For each ring size, the fewest servers (at least 2) of a lone ring at each bandwidth.

    If the slowest link of a ring has rate b, the ring lies within one component of the network
    without the links slower than b. So the function merges components link by link, fastest first.
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
    everywhere = _largest_first(Counter(server.gpus for server in tree.cluster.servers))
    fewest_of_all = {size: _fewest_servers(everywhere, size) for size in sizes}
    open_sizes = sorted(size for size, fewest in fewest_of_all.items() if fewest is not None)
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
        kinds = {_largest_first(capacities[node]) for node in grown if node in capacities}
        room = max((sum(gpus * number for gpus, number in kind) for kind in kinds), default=0)
        closed = set()
        for size in open_sizes[: bisect_right(open_sizes, room)]:
            needed = [n for kind in kinds if (n := _fewest_servers(kind, size)) is not None]
            found = spreads[size]
            if needed and (not found or min(needed) < found[-1][0]):
                found.append((min(needed), gbps))
                if min(needed) == fewest_of_all[size]:
                    closed.add(size)  # Slower links save no more servers.
        if closed:
            open_sizes = [size for size in open_sizes if size not in closed]
    return spreads


def _largest_first(capacities: Counter[int]) -> tuple[tuple[int, int], ...]:
    """GPUs of a server, and the number of such servers."""
    return tuple(sorted(capacities.items(), reverse=True))


def _fewest_servers(capacities: Sequence[tuple[int, int]], size: int) -> int | None:
    """The fewest servers, at least 2, over which a ring of `size` spreads; None if it cannot."""
    if size < 2 or sum(number for _, number in capacities) < 2:
        return None
    left, servers = size, 0
    for capacity, number in capacities:
        used = min(number, -(-left // capacity))
        servers += used
        left -= used * capacity
        if left <= 0:
            return max(2, servers)
    return None


def _slowest_shares(instance: Instance, tree: Topology) -> dict[int, float]:
    """For each ring size, a lower bound on its bandwidth across servers, in Gbit/s."""
    total = instance.cluster.total_gpus
    rings = sorted(job.gpus for job in instance.jobs if job.gpus > 1)
    needed = [0, *accumulate(rings)]
    links = _worst_links(tree)

    @cache
    def slowest(together: int) -> float:
        return min(
            (
                ring_share(instance.contention, gbps, min(together, most_rings))
                for gbps, most_rings in links
            ),
            default=instance.cluster.intra_server_gbps,
        )

    shares = {}
    for size in set(rings):
        # As many rings as fit the cluster at once with one of this size among them.
        together = bisect_right(needed, total) - 1
        if together and size > rings[together - 1]:
            together = bisect_right(needed, total - size)
        shares[size] = slowest(together)
    return shares


def _worst_links(tree: Topology) -> list[tuple[float, int]]:
    """Rate in Gbit/s and most rings of the links that can give the least share.

    A share never grows with the number of rings and never shrinks with the rate. So a link is left
    out if another link is no faster and takes no fewer rings. Every ring on a link has a worker
    below and one above.
    """
    slowest: dict[int, float] = {}
    for link, most_rings in zip(tree.links, tree.most_rings, strict=True):
        if most_rings:
            slowest[most_rings] = min(link.gbps, slowest.get(most_rings, inf))
    worst: list[tuple[float, int]] = []
    for most_rings in sorted(slowest, reverse=True):
        if not worst or slowest[most_rings] < worst[-1][0]:
            worst.append((slowest[most_rings], most_rings))
    return worst


def slowest_alone(instance: Instance) -> tuple[int | None, ...]:
    """Execution time of each job in slots, alone in its slowest placement; None without progress.

    The slowest placement is within one server, or on the most servers with the slowest link among
    those used: a ring of several workers has one below that link and one above it, and then one on
    each other server.
    """
    tree = topology(instance.cluster)
    cluster = instance.cluster
    rates = [
        ring_share(instance.contention, link.gbps, 1)
        for link, most_rings in zip(tree.links, tree.most_rings, strict=True)
        if most_rings
    ]
    slowest, largest = min(rates, default=None), cluster.largest_server
    slots = []
    for job in instance.jobs:
        options = [(1, cluster.intra_server_gbps)] if job.gpus <= largest else []
        if job.gpus > 1 and slowest is not None:
            options.append((min(job.gpus, len(cluster.servers)), slowest))
        speed = timing.speed(instance.time.slot_seconds, max(_seconds(instance, job, options)))
        slots.append(timing.slots_needed(job.iterations, speed) if speed else None)
    return tuple(slots)


@dataclass(frozen=True)
class LeastSlots:
    """Least execution time of one job alone in the cluster, by placement.

    Attributes
    ----------
    packed
        In slots, on one server; None if no server is large enough or the job makes no progress.
    spread
        In slots, on several servers; None if impossible or without progress.
    fewest_servers
        The fewest servers, at least 2, of a spread ring; None if it cannot spread.
    """

    packed: int | None
    spread: int | None
    fewest_servers: int | None


@once_per_instance
def least_slots_by_placement(instance: Instance) -> tuple[LeastSlots, ...]:
    """Least execution time of each job on one server and on several, in job order."""
    lone = _lone_options(instance, topology(instance.cluster), {job.gpus for job in instance.jobs})
    slot = instance.time.slot_seconds
    found = []
    for job in instance.jobs:
        # Slots on one server and on several, where there are such placements.
        least: list[list[int]] = [[], []]
        seconds = _seconds(instance, job, lone[job.gpus])
        for (servers, _), each in zip(lone[job.gpus], seconds, strict=True):
            if speed := timing.speed(slot, each):
                least[servers > 1].append(timing.slots_needed(job.iterations, speed))
        packed, spread = (min(slots, default=None) for slots in least)
        fewest = min((servers for servers, _ in lone[job.gpus] if servers > 1), default=None)
        found.append(LeastSlots(packed, spread, fewest))
    return tuple(found)
