"""Lone rings over servers with several network cards: how few servers give which bandwidth.

A ring with y workers on a server of n cards reaches `min(1, y/n)` of its link (section 20). So for
a bandwidth b, a ring needs links that have it, and some workers at least on each of its servers:
the fewest, m, whose cards reach b. With O GPUs there, servers take a ring of w workers if

    Σ m ≤ w ≤ Σ O

over them. Some of the servers with one m are best taken by their GPUs, the largest first. Which
numbers of each m are best is looked for among all, so the fewest servers are exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from rarmodel.schema import Spread

from .contention import cards_gbps
from .topology import Topology


class _Alike(NamedTuple):
    """Servers on which a ring needs the same number of workers, the largest first."""

    least: int
    servers: list[int]
    room: list[int]
    """GPUs of the first 0, 1, 2, … of them."""


class _Some(NamedTuple):
    """The first servers of each `_Alike`, as many as taken of each."""

    least: int
    room: int
    taken: tuple[int, ...]


def best_on_cards(
    tree: Topology, sizes: Collection[int], allowed: frozenset[int], spread: Spread | None
) -> dict[int, list[tuple[int, float]]]:
    """For each ring size, how few servers (at least 2) a lone ring needs at which bandwidth.

    Greater bandwidths come first, and each smaller one needs fewer servers.
    """
    rates = sorted({link.gbps for link in tree.links}.union(tree.part_rates), reverse=True)
    found: dict[int, list[tuple[int, float]]] = {size: [] for size in sizes}
    for gbps in rates:
        for room in tree.joined(gbps):
            alike = _alike(tree, [s for s in room if s in allowed], gbps)
            for size in sizes:
                before = found[size][-1] if found[size] else (size + 1, gbps)
                fewest = _fewest(alike, size, spread, before[0])
                if fewest is None:
                    continue
                if found[size] and before[1] == gbps:
                    found[size].pop()  # Other servers give the same bandwidth with fewer.
                found[size].append((fewest, gbps))
    return found


def ring_on_cards(
    tree: Topology,
    room: Sequence[int],
    allowed: frozenset[int],
    size: int,
    servers: int,
    gbps: float,
    *,
    equal: bool,
) -> dict[int, int] | None:
    """Workers of a lone ring on so many servers at a bandwidth; None if there are none such.

    Parameters
    ----------
    tree
        The network.
    room
        Servers that links of that bandwidth join.
    allowed
        The servers that it may use.
    size, servers, gbps
        Its workers, the number of its servers, and its bandwidth in Gbit/s.
    equal
        Whether it has as many workers on each.
    """
    alike = _alike(tree, [s for s in room if s in allowed], gbps)
    if equal:
        each = size // servers
        fit = [s for one in alike if one.least <= each for s in one.servers]
        fit = [s for s in fit if tree.servers[s].gpus >= each][:servers]
        return dict.fromkeys(fit, each) if size % servers == 0 and len(fit) == servers else None
    found = _sums(alike, size, servers).get(servers, ())
    taken = next((one.taken for one in found if one.room >= size), None)
    if taken is None:
        return None
    workers = {s: one.least for one, n in zip(alike, taken, strict=True) for s in one.servers[:n]}
    largest = sorted(workers, key=lambda s: (-tree.servers[s].gpus, s))
    return filled({s: tree.servers[s].gpus for s in largest}, workers, size)


def filled(gpus: Mapping[int, int], least: Mapping[int, int], size: int) -> dict[int, int] | None:
    """Workers on servers with so many GPUs, at least some on each; None if there is no room.

    The first ones are filled first.
    """
    left = size - sum(least.values())
    workers = dict(least)
    for server, capacity in gpus.items():
        more = min(left, capacity - least[server])
        workers[server] += more
        left -= more
    return workers if left == 0 else None


def _alike(tree: Topology, servers: Sequence[int], gbps: float) -> list[_Alike]:
    """Servers whose links and cards give a bandwidth, by the workers that this takes."""
    found: dict[int, list[int]] = {}
    for s in servers:
        least = _least_workers(tree, s, gbps)
        if least is not None and least <= tree.servers[s].gpus:
            found.setdefault(least, []).append(s)
    alike = []
    for least, some in sorted(found.items()):
        largest = sorted(some, key=lambda s: (-tree.servers[s].gpus, s))
        gpus = (tree.servers[s].gpus for s in largest)
        alike.append(_Alike(least, largest, [*accumulate(gpus, initial=0)]))
    return alike


def _least_workers(tree: Topology, server: int, gbps: float) -> int | None:
    """The fewest workers that reach a bandwidth on a server's link; None if none do."""
    link, cards = tree.links[tree.paths[server][0]].gbps, tree.servers[server].network_cards
    if link < gbps:
        return None
    return 1 + bisect_left(
        range(1, cards), gbps, key=lambda workers: cards_gbps(link, workers, cards)
    )


def _fewest(alike: Sequence[_Alike], size: int, spread: Spread | None, below: int) -> int | None:
    """The fewest servers, at least 2, that take a ring; None if they are not below a number."""
    there = sum(len(one.servers) for one in alike)
    least = max(2, spread.min_servers) if spread else 2
    most = min(size, there, (spread and spread.max_servers) or size, below - 1)
    if spread is not None and spread.equal:
        return next(_equal(alike, size, least, most), None)
    for number, some in sorted(_sums(alike, size, most, least).items()):
        if number >= least and any(one.room >= size for one in some):
            return number
    return None


def _equal(alike: Sequence[_Alike], size: int, least: int, most: int) -> Iterator[int]:
    """Numbers of servers that take a ring with as many workers on each."""
    for number in range(least, most + 1):
        each, rest = divmod(size, number)
        if rest == 0:
            fit = 0
            for one in alike:
                if one.least <= each:
                    gpus = (after - before for before, after in pairwise(one.room))
                    fit += sum(own >= each for own in gpus)
            if fit >= number:
                yield number


def _sums(
    alike: Sequence[_Alike], size: int, most: int, least: int | None = None
) -> Mapping[int, Sequence[_Some]]:
    """By number of servers, up to most: what they need and hold, if no others are better in both.

    Parameters
    ----------
    alike
        The servers.
    size
        Workers of the ring: none needs more, and more room counts as so much.
    most
        Most servers.
    least
        If given, only the fewest servers that take the ring are asked for, at least so many.
    """
    sums: dict[int, list[_Some]] = {0: [_Some(0, 0, ())]}
    for one in alike:
        # Of fewest servers, none can be left out: the others of its kind have too little room.
        enough = most if least is None else max(least, bisect_left(one.room, size))
        grown: dict[int, list[_Some]] = {}
        for number, some in sums.items():
            for more in range(min(len(one.servers), most - number, enough) + 1):
                grown.setdefault(number + more, []).extend(
                    _Some(
                        before.least + more * one.least,
                        min(size, before.room + one.room[more]),
                        (*before.taken, more),
                    )
                    for before in some
                    if before.least + more * one.least <= size
                )
        sums = {number: _best(some) for number, some in grown.items()}
    return sums


def _best(some: Sequence[_Some]) -> list[_Some]:
    """Those of which no other needs less and holds as much."""
    best: list[_Some] = []
    for one in sorted(some, key=lambda one: (one.least, -one.room)):
        if not best or one.room > best[-1].room:
            best.append(one)
    return best
