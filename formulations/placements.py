"""The placements of each job as data: workers on servers, links used, and speed by contention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

from rarmodel.model import Pace, timing
from rarmodel.model.lone import allowed_servers, within_gbps
from rarmodel.model.sharing_rule import COUNT, sharing_rule
from rarmodel.schema import Job, Server, Spread

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
    pace
        What an iteration is made of.
    speeds
        By link used: φ_j in iterations per slot with 0, 1, 2, … rings on the link, the ring itself
        included. The speed of the ring is the least over its links: B_j is the least share
        (reading 4), and τ_j falls with B_j. By duty there are none: see `loads`.
    duty
        What the ring counts on its links by duty, in `UNITS`.
    alone
        φ_j if no other ring is on its links.
    least_slots
        Execution time alone, in slots.
    """

    workers: Mapping[str, int]
    links: tuple[str, ...]
    pace: Pace
    speeds: Mapping[str, tuple[int, ...]]
    duty: int
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

    If rules or a `spread` exclude placements, the others are counted, up to one more than
    `MAX_PLACEMENTS`.
    """
    counted: dict[str, Ways] = {}
    most = len(scope.servers)
    everywhere = ways_by_size(scope)
    for j, job in scope.jobs.items():
        if scope.allowed or job.spread is not None or job.running is not None:
            used = [len(way) for way in islice(_spreads(scope, j), MAX_PLACEMENTS + 1)]
            counted[j] = Ways(len(used), max(used, default=0))
            continue
        servers, ways = most, everywhere
        if job.servers is not None or job.times is not None:
            few = _servers_of(scope, job)
            servers, by_size = len(few), _ways(few, job.sizes[-1])
            ways = {size: by_size[size] for size in job.sizes}
        counted[j] = Ways(sum(ways[size] for size in job.sizes), min(job.sizes[-1], servers))
    return counted


def ways_by_size(scope: Scope) -> dict[int, int]:
    """By ring size: the number of ways to put its workers on the servers."""
    sizes = {size for job in scope.instance.jobs for size in job.sizes}
    ways = _ways(list(scope.servers.values()), max(sizes))
    return {size: ways[size] for size in sizes}


def _ways(servers: Sequence[Server], largest: int) -> list[int]:
    """For each number of workers up to the largest: the number of ways to put them on servers."""
    ways = [1] + [0] * largest
    for server in servers:
        # Ways with one more server: a window over those without it.
        window, with_it = 0, []
        for workers in range(largest + 1):
            window += ways[workers]
            if workers > server.gpus:
                window -= ways[workers - server.gpus - 1]
            with_it.append(window)
        ways = with_it
    return ways


def _servers_of(scope: Scope, job: Job) -> list[Server]:
    """The servers that a job may use, in input order."""
    servers = list(scope.servers.values())
    return [servers[s] for s in sorted(allowed_servers(scope.instance)[scope.index[job.name]])]


def most_rings(scope: Scope) -> dict[str, int]:
    """By link that rings can use: most rings on it at once, each with workers below and above."""
    wide = sum(job.sizes[-1] > 1 for job in scope.instance.jobs)
    most = zip(scope.links, scope.tree.most_rings, strict=True)
    return {link: min(rings, wide) for link, rings in most if min(rings, wide) > 0}


def placements(scope: Scope, *, interrupted: bool = False) -> dict[str, dict[str, Placement]]:
    """By job: the placements that meet the horizon alone, by labels such as `s0:2 s1:1`.

    If jobs may be interrupted, also those in which a job makes progress but does not complete; and
    of a running job not only those GPUs that it holds.
    """
    index = scope.server_index
    rates = _Rates(scope, most_rings(scope))
    # Without rules, jobs that ask for the same have one list.
    shared: dict[object, list[tuple[dict[str, int], tuple[str, ...]]]] = {}
    options: dict[str, dict[str, Placement]] = {}
    for name, job in scope.jobs.items():
        alike = job.sizes, job.servers, job.spread, job.times and tuple(job.times)
        common = not scope.allowed and (interrupted or job.running is None)
        ways = shared.get(alike) if common else None
        if ways is None:
            ways = []
            for workers in _spreads(scope, name, anywhere=interrupted):
                used = scope.tree.links_used({index[s]: count for s, count in workers.items()})
                ways.append((workers, tuple(scope.tree.links[l].node for l in used)))
            if common:
                shared[alike] = ways
        options[name] = {}
        window = scope.windows[name]
        for workers, links in ways:
            placement = _placement(scope, name, workers, links, rates)
            if placement is None:
                continue
            if interrupted or placement.least_slots <= window.end - window.start:
                label = label_of(workers)
                while label in options[name]:  # Servers may have names that read like labels.
                    label += "'"
                options[name][label] = placement
    return options


def label_of(workers: Mapping[str, int]) -> str:
    """Label of a placement: `s0:2 s1:1`."""
    return " ".join(f"{server}:{count}" for server, count in workers.items())


def own_placement(scope: Scope, name: str) -> Placement | None:
    """Where a running job is; None if it makes no progress there, or a rule forbids it."""
    workers = next(_spreads(scope, name), None)
    if workers is None:
        return None
    used = scope.tree.links_used({scope.server_index[s]: count for s, count in workers.items()})
    links = tuple(scope.tree.links[link].node for link in used)
    return _placement(scope, name, workers, links, _Rates(scope, most_rings(scope)))


def ways_anywhere(scope: Scope, name: str) -> Ways:
    """The number of placements of a job that may be interrupted, up to one above the most."""
    used = [len(way) for way in islice(_spreads(scope, name, anywhere=True), MAX_PLACEMENTS + 1)]
    return Ways(len(used), max(used, default=0))


def _spreads(scope: Scope, name: str, *, anywhere: bool = False) -> Iterator[dict[str, int]]:
    """All ways to put a job's workers on servers that it and the rules allow, size by size.

    A running job is where it is, unless it may be `anywhere`.
    """
    job = scope.jobs[name]
    servers = _servers_of(scope, job)
    if job.running is not None and not anywhere:
        held = {s: len(gpus) for s, gpus in job.running.gpus.items()}
        # A rule is asked about each step, in input order, as for the others.
        steps = [server for server in scope.servers if server in held]
        left, begun = job.running.size, dict[str, int]()
        for server in steps:
            begun = {**begun, server: held[server]}
            left -= held[server]
            if not scope.allows(name, begun, left):
                return
        yield begun
        return
    room = [*accumulate((server.gpus for server in reversed(servers)), initial=0)][::-1]

    def placed(s: int, begun: dict[str, int], left: int) -> Iterator[dict[str, int]]:
        if begun and not (_may_go_on(job.spread, begun, left) and scope.allows(name, begun, left)):
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

    for size in job.sizes:
        yield from placed(0, {}, size)


def _may_go_on(spread: Spread | None, begun: Mapping[str, int], left: int) -> bool:
    """Whether a placement that is begun so can become one that a job's spread allows."""
    if spread is None:
        return True
    if spread.max_servers is not None and len(begun) + (left > 0) > spread.max_servers:
        return False
    if len(begun) + left < spread.min_servers:
        return False
    if not spread.equal:
        return True
    first, *others = begun.values()
    return all(count == first for count in others) and left % first == 0


class _Rates:
    """Speeds by pace, number of servers and bandwidth, each computed once."""

    def __init__(self, scope: Scope, rings: Mapping[str, int]) -> None:
        self.scope = scope
        self.rings = rings
        self.known: dict[tuple[Pace, int, str], tuple[int, ...]] = {}

    def on_link(self, pace: Pace, servers: int, link: str) -> tuple[int, ...]:
        key = pace, servers, link
        if key not in self.known:
            gbps = self.scope.links[link].gbps
            contention = self.scope.instance.contention
            self.known[key] = tuple(
                _speed(pace, servers, COUNT.share(contention, gbps, p - 1))
                for p in range(self.rings[link] + 1)
            )
        return self.known[key]


def _speed(pace: Pace, servers: int, gbps: float) -> int:
    # A slot cannot do more than all iterations; without the cap coefficients are wild.
    return min(pace.speed(servers, gbps), pace.iterations)


def _placement(
    scope: Scope, job: str, workers: Mapping[str, int], links: tuple[str, ...], rates: _Rates
) -> Placement | None:
    """Rate a placement; None if the job makes no progress in it even alone."""
    pace = scope.pace_on(job, workers)
    rule = sharing_rule(scope.instance.contention)
    if links:
        gbps = min(scope.links[link].gbps for link in links)
    else:
        (server,) = workers
        gbps = within_gbps(scope.instance.cluster, scope.server_index[server])
    alone = _speed(pace, len(workers), gbps)
    if alone == 0:
        return None
    speeds = {link: rates.on_link(pace, len(workers), link) for link in links if rule.equal_weights}
    duty = pace.weight(rule, len(workers), gbps) if links else 0
    slots = timing.slots_needed(pace.iterations, alone)
    return Placement(workers, links, pace, speeds, duty, alone, slots)
