"""The placements of each job as data: workers on servers, links used, and speed by contention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

from rarmodel.model import timing
from rarmodel.model.contention import ring_share
from rarmodel.schema import Job

from .formulation import Scope


@dataclass(frozen=True)
class Placement:
    """One way to place one job.

    Attributes
    ----------
    workers
        By server: workers y_js, if above 0.
    links
        Links that the ring uses.
    speeds
        By link used: φ_j in iterations per slot with 0, 1, 2, … rings on the link, the ring itself
        included. The speed of the ring is the least over its links: B_j is the least share
        (reading 4), and τ_j falls with B_j.
    alone
        φ_j if no other ring is on its links.
    least_slots
        Execution time alone, in slots.
    """

    workers: Mapping[str, int]
    links: tuple[str, ...]
    speeds: Mapping[str, tuple[int, ...]]
    alone: int
    least_slots: int


MAX_PLACEMENTS = 20_000
"""Most placements of a job that are worth a list: each has a variable in every slot."""


class Ways(NamedTuple):
    """The number of placements of a job, and the most servers that one of them uses."""

    number: int
    most_servers: int


def number_of_placements(scope: Scope) -> dict[str, Ways]:
    """By job: the number of ways to put its workers on the servers.

    If rules exclude placements, the others are counted, up to one more than `MAX_PLACEMENTS`.
    """
    if scope.allowed:
        counted = {}
        for j in scope.jobs:
            servers = [len(way) for way in islice(_spreads(scope, j), MAX_PLACEMENTS + 1)]
            counted[j] = Ways(len(servers), max(servers, default=0))
        return counted
    ways = ways_by_size(scope)
    most = len(scope.servers)
    return {j: Ways(ways[job.size], min(job.size, most)) for j, job in scope.jobs.items()}


def ways_by_size(scope: Scope) -> dict[int, int]:
    """By ring size: the number of ways to put its workers on the servers."""
    sizes = {job.size for job in scope.instance.jobs}
    largest = max(sizes)
    ways = [1] + [0] * largest
    for server in scope.servers.values():
        # Ways with one more server: a window over those without it.
        window, with_it = 0, []
        for workers in range(largest + 1):
            window += ways[workers]
            if workers > server.gpus:
                window -= ways[workers - server.gpus - 1]
            with_it.append(window)
        ways = with_it
    return {size: ways[size] for size in sizes}


def most_rings(scope: Scope) -> dict[str, int]:
    """By link that rings can use: most rings on it at once, each with workers below and above."""
    wide = sum(job.size > 1 for job in scope.instance.jobs)
    most = zip(scope.links, scope.tree.most_rings, strict=True)
    return {link: min(rings, wide) for link, rings in most if min(rings, wide) > 0}


def placements(scope: Scope) -> dict[str, dict[str, Placement]]:
    """By job: the placements that meet the horizon alone, by labels such as `s0:2 s1:1`."""
    index = {name: s for s, name in enumerate(scope.servers)}
    rates = _Rates(scope, most_rings(scope))
    # Without rules, jobs of one size have one list.
    shared: dict[int, list[tuple[dict[str, int], tuple[str, ...]]]] = {}
    options: dict[str, dict[str, Placement]] = {}
    for name, job in scope.jobs.items():
        ways = shared.get(job.size)
        if ways is None:
            ways = []
            for workers in _spreads(scope, name):
                used = scope.tree.links_used({index[s]: count for s, count in workers.items()})
                ways.append((workers, tuple(scope.tree.links[l].node for l in used)))
            if not scope.allowed:
                shared[job.size] = ways
        options[name] = {}
        for workers, links in ways:
            placement = _placement(job, workers, links, rates)
            if placement is not None and placement.least_slots <= scope.horizon:
                label = label_of(workers)
                while label in options[name]:  # Servers may have names that read like labels.
                    label += "'"
                options[name][label] = placement
    return options


def label_of(workers: Mapping[str, int]) -> str:
    """Label of a placement: `s0:2 s1:1`."""
    return " ".join(f"{server}:{count}" for server, count in workers.items())


def _spreads(scope: Scope, job: str) -> Iterator[dict[str, int]]:
    """All ways to put a job's workers on the servers that its rules allow."""
    servers = list(scope.servers.values())
    room = [*accumulate((server.gpus for server in reversed(servers)), initial=0)][::-1]

    def placed(s: int, begun: dict[str, int], left: int) -> Iterator[dict[str, int]]:
        if begun and not scope.allows(job, begun, left):
            return
        if left == 0:
            yield begun
            return
        # A server after another without workers changes nothing that a rule could refuse.
        for here in range(s, len(servers)):
            if room[here] < left:
                return
            for count in range(min(left, servers[here].gpus), 0, -1):
                yield from placed(here + 1, {**begun, servers[here].name: count}, left - count)

    yield from placed(0, {}, scope.jobs[job].size)


class _Rates:
    """Speeds by job, number of servers and link, each computed once."""

    def __init__(self, scope: Scope, rings: Mapping[str, int]) -> None:
        self.scope = scope
        self.rings = rings
        self.known: dict[tuple[str, int, str], tuple[int, ...]] = {}

    def within_one_server(self, job: Job) -> int:
        return self._speed(job, 1, self.scope.instance.cluster.intra_server_gbps)

    def on_link(self, job: Job, servers: int, link: str) -> tuple[int, ...]:
        key = job.name, servers, link
        if key not in self.known:
            gbps = self.scope.links[link].gbps
            contention = self.scope.instance.contention
            self.known[key] = tuple(
                self._speed(job, servers, ring_share(contention, gbps, p))
                for p in range(self.rings[link] + 1)
            )
        return self.known[key]

    def _speed(self, job: Job, servers: int, gbps: float) -> int:
        pace = self.scope.pace(job.name)
        # A slot cannot do more than all iterations; without the cap coefficients are wild.
        return min(pace.speed(servers, gbps), pace.iterations)


def _placement(
    job: Job, workers: Mapping[str, int], links: tuple[str, ...], rates: _Rates
) -> Placement | None:
    """Rate a placement; None if the job makes no progress in it even alone."""
    speeds = {link: rates.on_link(job, len(workers), link) for link in links}
    alone = min((speed[1] for speed in speeds.values()), default=0)
    if len(workers) == 1:
        alone = rates.within_one_server(job)
    if alone == 0:
        return None
    return Placement(workers, links, speeds, alone, timing.slots_needed(job.iterations, alone))
