"""The placements worth having when a job is alone in the cluster.

Alone, a ring is the faster the fewer servers it uses and the greater its bandwidth. So for each
ring size, and each set of GPU types that is no slower than some type, these are few: one server,
and the fewest servers for each bandwidth. Where servers have several network cards, the bandwidth
also depends on the workers of each: see `card_spreads`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count, groupby
from typing import NamedTuple

from rarmodel.schema import Cluster, Instance, Job, Spread
from rarmodel.schema.gpu_parts import PartOfGpu, holds

from .caching import once_per_instance
from .card_spreads import best_on_cards, filled, ring_on_cards
from .interruptions import may_stop
from .ring_rates import Pace, Paces, each_paces, pace
from .topology import Topology, topology


class Lone(NamedTuple):
    """A way to place a job that is alone.

    Attributes
    ----------
    pace
        What an iteration is made of, in its size and on the slowest type that it may meet.
    servers
        Number of servers.
    gbps
        Bandwidth in Gbit/s.
    allowed
        The servers among which they are, by index.
    """

    pace: Pace
    servers: int
    gbps: float
    allowed: frozenset[int]

    @property
    def seconds(self) -> float:
        """Time of an iteration in seconds."""
        return self.pace.seconds(self.servers, self.gbps)


def within_gbps(cluster: Cluster, server: int) -> float:
    """Bandwidth of a ring within a server, by index, in Gbit/s: b^i."""
    own = cluster.servers[server].intra_server_gbps
    return cluster.intra_server_gbps if own is None else own


@once_per_instance
def allowed_servers(instance: Instance) -> tuple[frozenset[int], ...]:
    """(jobs) The servers that a job may use, by index, with slices and memory for its workers."""
    cluster, tree = instance.cluster, topology(instance.cluster)
    servers = cluster.servers
    alike: dict[tuple[int, float | None], list[int]] = {}  # By slices and memory of their GPUs.
    for s, server in enumerate(servers):
        alike.setdefault((cluster.slices_of(server), cluster.memory_gb_of(server)), []).append(s)

    @cache  # Few jobs differ here, and servers may be many.
    def allowed(
        names: tuple[str, ...] | None,
        types: frozenset[str] | None,
        level: str | None,
        roomy: tuple[tuple[int, float | None], ...],
    ) -> frozenset[int]:
        listed = None if names is None else set(names)
        below = frozenset[int]().union(*tree.below_each(level)) if level else range(len(servers))
        with_room = frozenset(s for kind in roomy for s in alike[kind])
        return frozenset(
            s
            for s in below
            if s in with_room
            and (listed is None or servers[s].name in listed)
            and (types is None or servers[s].gpu_type in types)
        )

    def roomy(part: PartOfGpu) -> tuple[tuple[int, float | None], ...]:
        return tuple(kind for kind, some in alike.items() if holds(cluster, servers[some[0]], part))

    return tuple(
        allowed(
            job.servers,
            None if job.times is None else frozenset(job.times),
            job.spread and job.spread.within,
            roomy(PartOfGpu(job.slices, job.memory_gb)),
        )
        for job in instance.jobs
    )


def groups_of(
    tree: Topology, spread: Spread | None, allowed: frozenset[int]
) -> list[frozenset[int]]:
    """Those of some servers within which a ring must stay: all, or those below each node."""
    if spread is None or spread.within is None:
        return [allowed]
    below = (allowed & servers for servers in tree.below_each(spread.within))
    return [servers for servers in below if servers]


@once_per_instance
def lone_options(instance: Instance) -> tuple[tuple[Lone, ...], ...]:
    """(jobs) The placements worth having alone; of a running job the one that it has first.

    A running job has no others, unless it may be interrupted.
    """
    same: dict[tuple[Lone, ...], tuple[Lone, ...]] = {}  # Of a million jobs many are alike.
    found = map(tuple, each_lone_options(instance, each_paces(instance)))
    return tuple(same.setdefault(options, options) for options in found)


def each_lone_options(instance: Instance, own: Iterable[Paces]) -> Iterator[Iterator[Lone]]:
    """The same job by job, for those who do not keep them; `own` are the jobs' paces."""
    tree, cluster = topology(instance.cluster), instance.cluster
    index = {server.name: s for s, server in enumerate(cluster.servers)}
    sizes = {size for job in instance.jobs for size in job.sizes}

    @cache
    def spreads(
        allowed: frozenset[int], spread: Spread | None
    ) -> dict[int, list[tuple[int, float]]]:
        if spread is None or spread.within is None:
            return _best_spreads(tree, sizes, allowed, spread)
        parts = [
            _best_spreads(tree.part(servers, spread.within), sizes, servers, spread)
            for servers in groups_of(tree, spread, allowed)
            if len(servers) > 1
        ]
        return {size: _best_of([part[size] for part in parts]) for size in sizes}

    @cache
    def of_types(servers: frozenset[int], types: frozenset[str | None]) -> frozenset[int]:
        return frozenset(s for s in servers if cluster.servers[s].gpu_type in types)

    @cache
    def rates_of(servers: frozenset[int]) -> list[tuple[int, float]]:
        """The greatest rate within a server of at least so many GPUs: few kinds, largest first."""
        kinds = {(cluster.servers[s].gpus, within_gbps(cluster, s)) for s in servers}
        best: list[tuple[int, float]] = []
        for gpus, gbps in sorted(kinds, reverse=True):
            if not best or gbps > best[-1][1]:
                best.append((gpus, gbps))
        return best

    @cache  # Few jobs differ here.
    def shapes(
        servers: frozenset[int], size: int, spread: Spread | None
    ) -> list[tuple[int, float, frozenset[int]]]:
        roomy = (gbps for gpus, gbps in rates_of(servers) if gpus >= size)
        within = max(roomy, default=None)
        found = [(many, gbps, servers) for many, gbps in spreads(servers, spread)[size]]
        if within is not None and (spread is None or spread.min_servers == 1):
            found.insert(0, (1, within, servers))
        return found

    def running(j: int, held: Mapping[int, int]) -> Lone:
        gbps = tree.lone_gbps(held)
        if len(held) == 1:
            gbps = within_gbps(cluster, next(iter(held)))
        types = [cluster.servers[s].gpu_type for s in held]
        return Lone(pace(instance, j, sum(held.values()), types), len(held), gbps, frozenset(held))

    def options(j: int, job: Job, own: Paces, allowed: frozenset[int]) -> Iterator[Lone]:
        if job.running is not None:
            yield running(j, {index[name]: len(gpus) for name, gpus in job.running.gpus.items()})
            if not may_stop(instance, job):
                return
        for (size, kind), one in own.items():
            among = allowed
            if kind is not None:
                no_slower = frozenset(
                    k for (w, k), other in own.items() if w == size and other.compute <= one.compute
                )
                among = of_types(allowed, no_slower)
            for shape in shapes(among, size, job.spread):
                yield Lone(one, *shape)

    yield from map(options, count(), instance.jobs, own, allowed_servers(instance))


def realised(instance: Instance, options: Sequence[Lone | None]) -> tuple[dict[int, int], ...]:
    """(jobs) Workers by server index of one of the `lone_options` of each job; none for None."""
    tree = topology(instance.cluster)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    gpus = [server.gpus for server in tree.servers]
    joined = cache(tree.joined)  # Few bandwidths differ, and servers may be many.

    @cache  # Few jobs differ here, too.
    def workers(
        size: int, servers: int, gbps: float, allowed: frozenset[int], spread: Spread | None
    ) -> dict[int, int]:
        if servers == 1:
            return {_largest_server(instance.cluster, size, gbps, allowed): size}
        equal = spread is not None and spread.equal
        rooms = (
            [s for s in room if s in group]
            for group in groups_of(tree, spread, allowed)
            for room in joined(gbps)
        )
        found = (
            ring_on_cards(tree, room, gpus, size, gbps, servers, servers, equal=equal)
            if tree.has_cards
            else _spread(tree, room, size, servers, equal=equal)
            for room in rooms
        )
        return next(ring for ring in found if ring is not None)

    def placed(job: Job, option: Lone | None) -> dict[int, int]:
        if option is None:
            return {}
        if job.running is not None:
            held = {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
            # A ring of this size on all of these servers is as fast as the one that it has.
            whole = option.servers == len(held) and option.allowed == held.keys()
            whole = whole and (not tree.has_cards or tree.lone_gbps(held) >= option.gbps)
            if whole or not may_stop(instance, job):
                return held
        own, servers, gbps, allowed = option
        return workers(own.size, servers, gbps, allowed, job.spread)

    return tuple(map(placed, instance.jobs, options))


def _largest_server(cluster: Cluster, size: int, gbps: float, allowed: frozenset[int]) -> int:
    """The largest server that gives the bandwidth: others may be what a smaller job needs."""
    best = [
        s
        for s in sorted(allowed)
        if cluster.servers[s].gpus >= size and within_gbps(cluster, s) == gbps
    ]
    return max(best, key=lambda s: cluster.servers[s].gpus)


def _spread(
    tree: Topology, room: Sequence[int], size: int, servers: int, *, equal: bool
) -> dict[int, int] | None:
    """Workers on the largest of some servers; None if they have no room."""
    largest = {s: tree.servers[s].gpus for s in room[:servers]}
    if len(largest) < servers:
        return None
    if equal:
        fits = size % servers == 0 and min(largest.values()) >= size // servers
        return dict.fromkeys(largest, size // servers) if fits else None
    return filled(largest, dict.fromkeys(largest, 1), size)


def _best_spreads(
    tree: Topology, sizes: Collection[int], allowed: frozenset[int], spread: Spread | None
) -> dict[int, list[tuple[int, float]]]:
    """For each ring size, how few servers (at least 2) a lone ring needs at which bandwidth.

    A ring whose slowest link has rate b lies within one component of the network without the
    links slower than b; so components are merged link by link, fastest links first.
    """
    if any(tree.servers[s].network_cards > 1 for s in allowed):
        return best_on_cards(tree, sizes, allowed, spread)
    usable = [tree.servers[s] for s in sorted(allowed)]
    everywhere = _largest_first(Counter(server.gpus for server in usable))
    fewest_of_all = {size: _fewest_servers(everywhere, size, spread) for size in sizes}
    rates = {link.gbps for link in tree.links}
    if len(rates) == 1:
        rate = rates.pop()
        return {size: [(n, rate)] if n is not None else [] for size, n in fewest_of_all.items()}
    component = {node: node for link in tree.links for node in (link.node, link.parent)}
    capacities: dict[str, Counter[int]] = {node: Counter() for node in component}
    for server in usable:
        capacities[server.name][server.gpus] += 1

    def root(node: str) -> str:
        while component[node] != node:
            component[node] = component[component[node]]
            node = component[node]
        return node

    found: dict[int, list[tuple[int, float]]] = {size: [] for size in sizes}
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
            needed = [n for kind in kinds if (n := _fewest_servers(kind, size, spread)) is not None]
            if needed and (not found[size] or min(needed) < found[size][-1][0]):
                found[size].append((min(needed), gbps))
                if min(needed) == fewest_of_all[size]:
                    closed.add(size)  # Slower links save no more servers.
        if closed:
            open_sizes = [size for size in open_sizes if size not in closed]
    return found


def _best_of(parts: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Of servers and bandwidths of a ring in several places, those that none is better than."""
    best: list[tuple[int, float]] = []
    for servers, gbps in sorted(
        {one for part in parts for one in part}, key=lambda o: (-o[1], o[0])
    ):
        if not best or servers < best[-1][0]:
            best.append((servers, gbps))
    return best


def _largest_first(capacities: Counter[int]) -> tuple[tuple[int, int], ...]:
    """GPUs of a server, and the number of such servers."""
    return tuple(sorted(capacities.items(), reverse=True))


def _fewest_servers(
    capacities: Sequence[tuple[int, int]], size: int, spread: Spread | None
) -> int | None:
    """The fewest servers, at least 2, that a ring of `size` spreads over; None if it cannot."""
    there = sum(number for _, number in capacities)
    least = max(2, spread.min_servers) if spread else 2
    most = min(size, there, (spread and spread.max_servers) or size)
    if least > most:
        return None
    if spread is not None and spread.equal:
        return next(
            (
                n
                for n in range(least, most + 1)
                if size % n == 0
                and sum(number for gpus, number in capacities if gpus >= size // n) >= n
            ),
            None,
        )
    left, servers = size, 0
    for capacity, number in capacities:
        used = min(number, -(-left // capacity))
        servers += used
        left -= used * capacity
        if left <= 0:
            return max(least, servers) if servers <= most else None
    return None
