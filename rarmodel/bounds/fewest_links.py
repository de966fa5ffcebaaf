"""The bound on what the links of rings count: each ring uses the links of its best placement.

The links that a ring uses join the servers on which it has workers, and no others. So only the set
of servers matters. From the leaves of the tree upward, the best sets below a node are those with
the least weight of links up to the node, or with the most GPUs, for each number of servers. A set
whose parts lie below two children of a node or more uses just these links. All is exact; where the
sets are too many, a ring is taken to use the least of its servers' own links only.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import accumulate

from rarmodel.model import Pace, lone_options, topology
from rarmodel.model.held_parts import held_parts
from rarmodel.model.interruptions import may_stop
from rarmodel.model.lone import allowed_servers, groups_of
from rarmodel.model.objectives import Objective, Value, exact, heaviest
from rarmodel.model.topology import Topology
from rarmodel.model.usage_limits import least_caps
from rarmodel.schema import Instance, Spread

from .arguments import of_each_job
from .bound import ALWAYS, Bound

MOST_PAIRS = 200_000
"""Pairs of sets that are joined for the rings of one kind, at most."""

Sets = dict[int, list[tuple[Value, int]]]
"""By number of servers: weight of the links up to a node, and GPUs, of the sets worth having."""


def fewest_links(instance: Instance, objective: Objective) -> Value | None:
    """Each ring uses at least the links of the placement in which they count least.

    A job of several segments counts as in one of them at least, and some segment makes progress.
    """
    if objective.link_weights is None:
        return None
    return exact(Fraction(sum(least_links(instance, objective))))


def least_links(instance: Instance, objective: Objective) -> list[Value]:
    """(jobs) What the links of each ring count at least."""
    tree, weights = topology(instance.cluster), objective.link_weights_of(instance)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    caps, parts = least_caps(instance), held_parts(instance)

    @cache  # Few jobs differ here.
    def least(allowed: frozenset[int], spread: Spread | None, size: int, most: int) -> Value | None:
        found = (
            _least_of_ring(tree, weights, group, spread, size, most)
            for group in groups_of(tree, spread, allowed)
        )
        return min((value for value in found if value is not None), default=None)

    found: list[Value] = []
    every = zip(instance.jobs, lone_options(instance), allowed_servers(instance), strict=True)
    for j, (job, options, allowed) in enumerate(every):
        values: list[Value] = []
        if job.running is not None:
            held = {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
            values.append(heaviest(tree, weights, [held]))
            if not may_stop(instance, job):
                found.append(values[0])
                continue
        # Ring sizes and numbers of servers with which it makes progress, at the best rate.
        cap = caps.get(job.tenant or "", job.sizes[-1])
        for size in job.sizes:
            fits = size * parts.least[j] <= cap * parts.of_gpu
            some = [one for one in options if one.pace.size == size and fits]
            if any(one.servers == 1 and one.pace.slots(1, one.gbps) for one in some):
                values.append(0)
                break
            spread = [one for one in some if one.servers > 1]
            most = max((_most_servers(one.pace, one.gbps) for one in spread), default=0)
            if most > 1 and (value := least(allowed, job.spread, size, most)) is not None:
                values.append(value)
        found.append(min(values, default=0))
    return found


def _most_servers(pace: Pace, gbps: float) -> int:
    """The most servers on which a ring makes progress at a bandwidth; 0 if it never does."""
    return bisect_left(range(1, pace.size + 1), 1, key=lambda n: pace.speed(n, gbps) == 0)


def _least_of_ring(
    tree: Topology,
    weights: Sequence[Value],
    servers: frozenset[int],
    spread: Spread | None,
    size: int,
    most: int,
) -> Value | None:
    """The least weight of the links of a ring on several of these servers; None if none takes it.

    Parameters
    ----------
    tree, weights
        The network, and what its links count.
    servers
        The servers that it may use.
    spread
        How it may be spread over them.
    size, most
        Its workers, and on how many servers it may be at most.
    """
    fewest = 2
    if spread is not None:
        fewest, most = max(2, spread.min_servers), min(most, spread.max_servers or most)
    most = min(most, size, len(servers))
    if spread is None or not spread.equal:
        gpus = {s: min(size, tree.servers[s].gpus) for s in servers}
        return _least(tree, weights, gpus, size, fewest, most)
    found = []
    for number in range(fewest, most + 1):
        if size % number == 0:
            each = size // number
            gpus = {s: 1 for s in servers if tree.servers[s].gpus >= each}
            found.append(_least(tree, weights, gpus, number, number, number))
    return min((value for value in found if value is not None), default=None)


def _least(
    tree: Topology,
    weights: Sequence[Value],
    gpus: Mapping[int, int],
    size: int,
    fewest: int,
    most: int,
) -> Value | None:
    """The least weight of links that join servers with so many GPUs in all; None if none have."""
    largest = sorted(gpus.values(), reverse=True)
    while fewest <= most and sum(largest[:fewest]) < size:
        fewest += 1
    if fewest > min(most, len(gpus)):
        return None
    below: dict[str, list[Sets]] = {}
    own: dict[str, list[tuple[Value, int]]] = {}
    for s in gpus:
        if path := tree.paths[s]:
            own.setdefault(tree.links[path[0]].parent, []).append((weights[path[0]], gpus[s]))
    best: Value | None = None
    pairs = MOST_PAIRS
    for node, link in _upward(tree, gpus):
        sets: Sets = {0: [(0, 0)]}
        for part in [*below.pop(node, ()), *_leaves(own.get(node, ()), most)]:
            pairs -= sum(map(len, sets.values())) * sum(map(len, part.values()))
            if pairs < 0:
                cheapest = sorted(weights[tree.paths[s][0]] for s in gpus)
                return sum(cheapest[:fewest], start=0)
            sets = _joined(sets, part, size, most, best)
        for number, some in sets.items():
            enough = [weight for weight, there in some if there >= size and number >= fewest]
            best = min([*enough, *([] if best is None else [best])], default=None)
        if link is not None:
            up = {
                number: [(weight + weights[link], there) for weight, there in some]
                for number, some in sets.items()
                if number
            }
            below.setdefault(tree.links[link].parent, []).append(up)
    return best


def _upward(tree: Topology, servers: Iterable[int]) -> Iterator[tuple[str, int | None]]:
    """Nodes above some servers with their links, each after all that are below it."""
    depth: dict[str, int] = {}
    uplink: dict[str, int | None] = {}
    for s in servers:
        path = tree.paths[s]
        for place, link in enumerate(path):
            node = tree.links[link].parent
            depth[node] = len(path) - place
            uplink[node] = path[place + 1] if place + 1 < len(path) else None
    for node in sorted(depth, key=lambda node: -depth[node]):
        yield node, uplink[node]


def _leaves(servers: Iterable[tuple[Value, int]], most: int) -> Iterator[Sets]:
    """Servers below one node by the weight of their links: of each weight the largest first."""
    by_weight: dict[Value, list[int]] = {}
    for weight, gpus in servers:
        by_weight.setdefault(weight, []).append(gpus)
    for weight, some in by_weight.items():
        sums = accumulate(sorted(some, reverse=True)[:most])
        yield {number: [(number * weight, gpus)] for number, gpus in enumerate(sums, 1)}


def _joined(one: Sets, other: Sets, size: int, most: int, best: Value | None) -> Sets:
    """The sets with a part of each of two, or of the first alone, that may be the best."""
    found: dict[int, list[tuple[Value, int]]] = {}
    nothing: Sets = {0: [(0, 0)]}
    for number, some in (other | nothing).items():
        for before, there in one.items():
            if number + before <= most:
                found.setdefault(number + before, []).extend(
                    (weight + more, min(size, gpus + further))
                    for weight, gpus in some
                    for more, further in there
                    if best is None or weight + more < best
                )
    return {number: _best_of(some) for number, some in found.items()}


def _best_of(some: Iterable[tuple[Value, int]]) -> list[tuple[Value, int]]:
    """Those of some weights and GPUs that no other has less weight and more GPUs than."""
    kept: list[tuple[Value, int]] = []
    for weight, gpus in sorted(some, key=lambda one: (one[0], -one[1])):
        if not kept or gpus > kept[-1][1]:
            kept.append((weight, gpus))
    return kept


FEWEST_LINKS = Bound(
    "fewest links",
    "each ring uses the links of the placement in which they count least",
    fewest_links,
    handles=ALWAYS,
    rank=19,
    certify=lambda instance, objective, _: of_each_job(
        instance, dict(enumerate(least_links(instance, objective)))
    ),
)
