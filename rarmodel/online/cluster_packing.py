"""Where schedulers of Kubernetes put a job: Kueue's topology-aware scheduling, Volcano's binpack.

Both place pods. A job that asks for equal parts of servers has a pod for each of the most servers
that it may use; of any other job each GPU is a pod. Where the pods would not be as the job asks for
(on equal parts, or on some number of servers), or do not fit though the ring does, the job is
consolidated.

Kueue's rules are those of its design "Topology Aware Scheduling" (KEP-2724, as of version 0.15 and
later, without balanced placement): the levels of the network are its topology, with the servers as
the lowest level. Volcano's are those of its plugins `binpack`, with weight on GPUs only, and
`network-topology-aware` for jobs that must be within a tier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from rarmodel.model.topology import topology
from rarmodel.schema import Cluster

from .placement import Asked, Placement, Site, Truths, fewest_servers

Domain = tuple[str, ...]
"""A part of the network, by the names of the nodes down to it; servers are the lowest ones."""


def _pods(asked: Asked) -> tuple[int, int]:
    """How many pods a job has, and GPUs of each."""
    if asked.equal and asked.size % asked.most == 0:
        return asked.most, asked.size // asked.most
    return asked.size, 1


def _room(asked: Asked, site: Site, gpus: int) -> dict[int, int]:
    """Pods of so many GPUs that each server has room for, where it has any."""
    apart = asked.fewest == asked.most and asked.equal  # One pod on each.
    found = {}
    for server in np.flatnonzero(asked.allowed[-1] & (site.idle >= gpus)).tolist():
        found[server] = 1 if apart else int(site.idle[server]) // gpus
    return found


def _as_asked(
    asked: Asked, site: Site, pods: Mapping[int, int] | None, gpus: int
) -> dict[int, int] | None:
    """Workers of pods on servers, or on the fewest servers where they are not as asked for."""
    ring = {server: count * gpus for server, count in (pods or {}).items() if count}
    return ring if ring and asked.kept_by(ring) else fewest_servers(asked, site.idle)


# Kueue -------------------------------------------------------------------------------------------


def kueue_best_fit(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """Within the lowest part of the network that has room, on the fewest parts of each level.

    As Kueue places pods that prefer to be on one node, or that must be within a level. It looks for
    a part with room for all pods, level by level from the servers up; of several it takes the one
    with the least room. If none has, it takes parts of the highest level, those with most room
    first. Then it goes down: at each level it takes the parts below those chosen, again with most
    room first, and of those that can have all pods that are left the one with the least room. Equal
    ones come by name.
    """
    pods, gpus = _pods(asked)
    room = _room(asked, site, gpus)
    tree = _Tree(site.cluster, room)
    start, required = tree.depth - 1, bool(asked.parts)
    if required:
        start = tree.level_of(asked.parts)
    chosen = tree.parts_with_room(pods, start, required=required)
    placed = None if chosen is None else tree.down(chosen[1], pods, chosen[0])
    return _as_asked(asked, site, placed, gpus)


def kueue_least_free(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """On the server with the least room that has enough; else on servers with the least room first.

    As Kueue places pods without demands on the network, since version 0.15: it leaves the large
    gaps to others. A job that must be within a level is placed by best fit.
    """
    if asked.parts:
        return kueue_best_fit(asked, site)
    pods, gpus = _pods(asked)
    room = _room(asked, site, gpus)
    tree = _Tree(site.cluster, room)
    ascending = sorted(room, key=lambda server: (room[server], tree.paths[server]))
    alone = next((server for server in ascending if room[server] >= pods), None)
    if alone is not None:
        return _as_asked(asked, site, {alone: pods}, gpus)
    placed, left = dict[int, int](), pods
    for server in ascending:
        placed[server] = min(left, room[server])
        left -= placed[server]
        if left == 0:
            return _as_asked(asked, site, placed, gpus)
    return _as_asked(asked, site, None, gpus)


class _Tree:
    """The parts of a network, and how many pods each has room for."""

    def __init__(self, cluster: Cluster, room: Mapping[int, int]) -> None:
        tree = topology(cluster)
        self.paths: list[Domain] = [
            tuple(tree.links[link].node for link in reversed(path)) for path in tree.paths
        ]
        self.depth = max(map(len, self.paths))
        self._server = {path: server for server, path in enumerate(self.paths)}
        self._room: dict[Domain, int] = defaultdict(int)
        for server, pods in room.items():
            path = self.paths[server]
            for depth in range(1, len(path) + 1):
                self._room[path[:depth]] += pods

    def level_of(self, parts: Sequence[Truths]) -> int:
        """The depth of the parts of which one must have the whole ring."""
        inside = [np.flatnonzero(part).tolist() for part in parts]
        depths = []
        for servers in inside:
            paths = [self.paths[server] for server in servers]
            shared = min(map(len, paths))
            while len({path[:shared] for path in paths}) > 1:
                shared -= 1
            depths.append(shared)
        # A part with one server below it may be any node above that server.
        return max(0, min(depths) - 1)

    def _at(self, depth: int) -> list[Domain]:
        """Parts of a level with room; a server that is higher up stands for itself."""
        return [*dict.fromkeys(path[: depth + 1] for path in self.paths if self._room[path[:1]])]

    def _by_room(self, some: Sequence[Domain]) -> list[Domain]:
        """Those that have room, with most room first, and then by name."""
        return sorted((one for one in some if self._room[one]), key=lambda d: (-self._room[d], d))

    def _tightest(self, ordered: Sequence[Domain], pods: int) -> Domain:
        """The first one with the least room that suffices."""
        return min((one for one in ordered if self._room[one] >= pods), key=lambda d: self._room[d])

    def parts_with_room(
        self, pods: int, depth: int, *, required: bool
    ) -> tuple[int, list[Domain]] | None:
        """Parts that have room for some pods together, and their level."""
        while True:
            ordered = self._by_room(self._at(depth))
            if ordered and self._room[ordered[0]] >= pods:
                return depth, [self._tightest(ordered, pods)]
            if required:
                return None
            if depth == 0:
                found = [*self._shares(ordered, pods)]
                return (0, found) if found else None
            depth -= 1

    def _shares(self, ordered: Sequence[Domain], pods: int) -> dict[Domain, int]:
        """How many pods each part gets; empty if they do not all fit."""
        shares: dict[Domain, int] = {}
        for i, one in enumerate(ordered):
            if self._room[one] >= pods:
                shares[self._tightest(ordered[i:], pods)] = pods
                return shares
            shares[one] = self._room[one]
            pods -= self._room[one]
        return {}

    def down(self, parts: Sequence[Domain], pods: int, depth: int) -> dict[int, int]:
        """Pods on servers, from some parts with room for them downwards."""
        shares = self._shares(parts, pods)
        for level in range(depth + 1, self.depth):
            below = [one for one in self._at(level) if any(_is_below(one, part) for part in shares)]
            shares = self._shares(self._by_room(below), pods)
        return {self._server[one]: count for one, count in shares.items()}


def _is_below(one: Domain, part: Domain) -> bool:
    return one[: len(part)] == part


# Volcano -----------------------------------------------------------------------------------------


def volcano_binpack(asked: Asked, site: Site) -> Mapping[int, int] | None:
    """Pod after pod on the server of which the greatest part is in use with it.

    A job that must be within a tier gets the lowest tier with a part that has room for all pods, of
    several such parts the one of which the greatest share is in use with the job. Equal ones come
    in the order of the cluster; Volcano draws one.
    """
    pods, gpus = _pods(asked)
    room = _room(asked, site, gpus)
    if not asked.parts:
        return _as_asked(asked, site, _packed(room, pods, gpus, site), gpus)
    allowed = [{*np.flatnonzero(part).tolist()} for part in asked.parts]
    best: tuple[float, dict[int, int]] | None = None
    for tier in reversed(topology(site.cluster).layers()):
        for part in tier:
            if not any(part <= some for some in allowed):
                continue
            inside = {server: room[server] for server in sorted(part) if server in room}
            placed = _packed(inside, pods, gpus, site)
            total = sum(site.cluster.servers[server].gpus for server in part)
            used = total - sum(max(0, int(site.idle[server])) for server in part)
            score = (used + asked.size) / total
            if placed is not None and (best is None or score > best[0]):
                best = score, placed
        if best is not None:
            break
    return _as_asked(asked, site, None if best is None else best[1], gpus)


def _packed(room: Mapping[int, int], pods: int, gpus: int, site: Site) -> dict[int, int] | None:
    """Pods on servers, each where the greatest part is in use with it; None without room."""
    if sum(room.values()) < pods:
        return None
    servers = np.array([*room], np.int64)
    left = np.array([*room.values()], np.int64)
    there = np.array([site.cluster.servers[server].gpus for server in room], np.int64)
    used = there - site.idle[servers]
    placed = np.zeros_like(left)
    for _ in range(pods):
        score = np.where(left > 0, (used + gpus) / there, -1.0)
        best = int(np.argmax(score))
        placed[best] += 1
        left[best] -= 1
        used[best] += gpus
    return {server: n for server, n in zip(servers.tolist(), placed.tolist(), strict=True) if n}


KUEUE_BEST_FIT = Placement(
    "kueue-best-fit", kueue_best_fit, "as Kueue places pods that prefer to be close together"
)
KUEUE_LEAST_FREE = Placement(
    "kueue-least-free", kueue_least_free, "as Kueue places pods without demands on the network"
)
VOLCANO_BINPACK = Placement(
    "volcano-binpack", volcano_binpack, "as Volcano's binpack: on the fullest servers"
)
