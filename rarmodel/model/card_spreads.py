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
from itertools import accumulate, islice, pairwise
from math import inf
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
    gpus = [server.gpus for server in tree.servers]
    least = max(2, spread.min_servers) if spread else 2
    equal = spread is not None and spread.equal
    found: dict[int, list[tuple[int, float]]] = {size: [] for size in sizes}
    for gbps in rates:
        for room in tree.joined(gbps):
            alike = _alike(tree, [s for s in room if s in allowed], gpus, gbps)
            for size in sizes:
                before = found[size][-1] if found[size] else (size + 1, inf)
                most = min((spread and spread.max_servers) or size, before[0] - 1)
                fewest = _fewest(alike, size, least, most, equal=equal)
                if fewest is None:
                    continue
                if before[1] == gbps:
                    found[size].pop()  # Other servers give the same bandwidth with fewer.
                found[size].append((len(fewest), gbps))
    return found


def ring_on_cards(
    tree: Topology,
    among: Sequence[int],
    gpus: Sequence[int],
    size: int,
    gbps: float,
    fewest: int,
    most: int,
    *,
    equal: bool,
) -> dict[int, int] | None:
    """Workers of a ring on the fewest servers that give it a bandwidth; None if there are none.

    Parameters
    ----------
    tree
        The network.
    among
        Servers that links join which leave the ring that bandwidth.
    gpus
        (servers) GPUs that it may use.
    size, gbps
        Its workers, and its bandwidth in Gbit/s.
    fewest, most
        How many servers, at least 2.
    equal
        Whether it has as many workers on each.
    """
    return _fewest(_alike(tree, among, gpus, gbps), size, fewest, most, equal=equal)


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


def _alike(
    tree: Topology, servers: Sequence[int], gpus: Sequence[int], gbps: float
) -> list[_Alike]:
    """Servers whose links and cards give a bandwidth, by the workers that this takes."""
    found: dict[int, list[int]] = {}
    for s in servers:
        least = _least_workers(tree, s, gbps)
        if least is not None and least <= gpus[s]:
            found.setdefault(least, []).append(s)
    alike = []
    for least, some in sorted(found.items()):
        largest = sorted(some, key=lambda s: (-gpus[s], s))
        room = accumulate((int(gpus[s]) for s in largest), initial=0)
        alike.append(_Alike(least, largest, [*room]))
    return alike


def _least_workers(tree: Topology, server: int, gbps: float) -> int | None:
    """The fewest workers that reach a bandwidth on a server's link; None if none do."""
    link, cards = tree.links[tree.paths[server][0]].gbps, tree.servers[server].network_cards
    if link < gbps:
        return None
    return 1 + bisect_left(
        range(1, cards), gbps, key=lambda workers: cards_gbps(link, workers, cards)
    )


def _fewest(
    alike: Sequence[_Alike], size: int, fewest: int, most: int, *, equal: bool
) -> dict[int, int] | None:
    """Workers of a ring on as few of some servers as take it, in a range; None if none do."""
    most = min(size, most, sum(len(one.servers) for one in alike))
    if equal:
        return next(_equal(alike, size, fewest, most), None)
    for number, some in sorted(_sums(alike, size, fewest, most).items()):
        taken = next((one.taken for one in some if one.room >= size), None)
        if number >= fewest and taken is not None:
            return _workers(alike, taken, size)
    return None


def _workers(alike: Sequence[_Alike], taken: Sequence[int], size: int) -> dict[int, int] | None:
    """A ring on the first servers of each kind, the largest filled first."""
    least: dict[int, int] = {}
    gpus: dict[int, int] = {}
    for one, number in zip(alike, taken, strict=True):
        rooms = (after - before for before, after in pairwise(one.room))
        for s, room in islice(zip(one.servers, rooms, strict=True), number):
            least[s], gpus[s] = one.least, room
    largest = sorted(gpus, key=lambda s: (-gpus[s], s))
    return filled({s: gpus[s] for s in largest}, least, size)


def _equal(alike: Sequence[_Alike], size: int, fewest: int, most: int) -> Iterator[dict[int, int]]:
    """Rings with as many workers on each server, on few servers first."""
    for number in range(fewest, most + 1):
        each, rest = divmod(size, number)
        if rest == 0:
            fit = [
                s
                for one in alike
                if one.least <= each
                for s, (before, after) in zip(one.servers, pairwise(one.room), strict=True)
                if after - before >= each
            ]
            if len(fit) >= number:
                yield dict.fromkeys(fit[:number], each)


def _sums(
    alike: Sequence[_Alike], size: int, fewest: int, most: int
) -> Mapping[int, Sequence[_Some]]:
    """By number of servers: what they need and hold, if no others are better in both.

    Only the fewest servers that take the ring are right: at least `fewest`, and up to `most`.

    Parameters
    ----------
    alike
        The servers.
    size
        Workers of the ring: none needs more, and more room counts as so much.
    fewest, most
        How many servers.
    """
    sums: dict[int, list[_Some]] = {0: [_Some(0, 0, ())]}
    for one in alike:
        # Of the fewest, none can be left out: the others of its kind have too little room.
        enough = max(fewest, bisect_left(one.room, size))
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
