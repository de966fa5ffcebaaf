"""The servers below each switch: those whose rings need no link above it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.model import topology
from rarmodel.schema import Instance

from .offsets import ints, offsets
from .server_bits import BITS, Words, as_words


class ServerGroups(NamedTuple):
    """The groups, those with fewer servers first; the last one has all servers.

    Groups with the same servers are merged.
    """

    words: Words
    """(groups, words) Servers of each group, as bits."""
    first: Ints
    """(groups) The first server of each."""
    end_word: Ints
    """(groups) Where the words of each end: after that of its last server."""
    at: Ints
    """(servers + 1) Offsets into the next two."""
    group: Ints
    """Groups of each server."""
    hops: Ints
    """Number of links from it up to the group's switch."""


def server_groups(instance: Instance) -> ServerGroups:
    """The groups of a cluster."""
    tree = topology(instance.cluster)
    servers = len(tree.paths)
    below: dict[str, list[tuple[int, int]]] = {}
    for server, path in enumerate(tree.paths):
        for hops, link in enumerate(path, 1):
            below.setdefault(tree.links[link].parent, []).append((server, hops))
    distinct: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for group in below.values():
        some = tuple(server for server, _ in group)
        if len(some) > 1 and (some not in distinct or group[0][1] < distinct[some][0][1]):
            distinct[some] = group
    if tuple(range(servers)) not in distinct:
        distinct[tuple(range(servers))] = [(s, len(path)) for s, path in enumerate(tree.paths)]
    groups = sorted(distinct.values(), key=len)
    members = np.zeros((len(groups), servers), np.bool_)
    of_server: list[list[tuple[int, int]]] = [[] for _ in range(servers)]
    for number, group in enumerate(groups):
        for server, hops in group:
            members[number, server] = True
            of_server[server].append((number, hops))
    return ServerGroups(
        words=as_words(members),
        first=ints(min(server for server, _ in group) for group in groups),
        end_word=ints(max(server for server, _ in group) // BITS + 1 for group in groups),
        at=offsets(map(len, of_server)),
        group=ints(number for each in of_server for number, _ in each),
        hops=ints(hops for each in of_server for _, hops in each),
    )
