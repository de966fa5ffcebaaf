"""The placements of each job as data: workers on servers, links used, and speed by contention."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import NamedTuple

from rarmodel.model import Pace, timing
from rarmodel.model.interruptions import may_stop
from rarmodel.model.lone import allowed_servers, groups_of, within_gbps
from rarmodel.schema import Job, Server, Spread

from .gpu_placements import Gpus, label_of_gpus, sets_of_gpus, shares
from .scope import Scope, once_per_scope
from .sharing_forms import capped_speed


@dataclass(frozen=True)
class Placement:
    """One way to place one job, or several that are alike.

    Attributes
    ----------
    workers
        By server: workers y_js, if above 0; of several placements the least.
    links
        Links that the ring uses.
    pace
        What an iteration is made of.
    weights
        What the ring counts on each of its links, by sensitivity of those to which it counts.
    alone
        φ_j if no other ring is on its links.
    least_slots
        Execution time alone, in slots.
    more
        By server: most workers beyond these, where several placements are alike.
    left
        The number of workers beyond these, all together.
    gpus
        By server: the GPUs of its workers, where jobs share GPUs; else empty.
    """

    workers: Mapping[str, int]
    links: tuple[str, ...]
    pace: Pace
    weights: Mapping[int, int]
    alone: int
    least_slots: int
    more: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    gpus: Gpus = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The number of workers."""
        return sum(self.workers.values()) + self.left

    def contains(self, workers: Mapping[str, int]) -> bool:
        """Whether such workers are one of its placements."""
        servers = workers.keys() | self.workers.keys()
        beyond = {s: workers.get(s, 0) - self.workers.get(s, 0) for s in servers}
        return sum(beyond.values()) == self.left and all(
            0 <= count <= self.more.get(s, 0) for s, count in beyond.items()
        )


MAX_PLACEMENTS = 20_000
"""Most placements of a job that are worth a list: each has a variable in every slot."""


OWN = "own"
"""Label of the GPUs that a running job holds from slot 0 on, where jobs may be interrupted; other
labels have a colon."""


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
            used = [len(way) for way in islice(spreads(scope, j), MAX_PLACEMENTS + 1)]
            counted[j] = Ways(len(used), max(used, default=0))
            continue
        servers, ways = most, everywhere
        if job.servers is not None or job.times is not None or job.memory_gb:
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
    return [server for part in parts_of(scope, job) for server in part]


def parts_of(scope: Scope, job: Job) -> list[list[Server]]:
    """The servers that a job may use, in input order, by the part of the network it stays in."""
    servers = list(scope.servers.values())
    allowed = allowed_servers(scope.instance)[scope.index[job.name]]
    groups = groups_of(scope.tree, job.spread, allowed)
    return [[servers[s] for s in sorted(group)] for group in groups]


@once_per_scope
def placements(scope: Scope) -> dict[str, dict[str, Placement]]:
    """By job: the placements that meet the horizon alone, by labels such as `s0:2 s1:1`.

    If jobs may be interrupted, also those in which a job makes progress but does not complete. A
    running job then has the GPUs that it holds under the label `OWN`, and others beside them where
    the instance allows that. Where jobs share GPUs, labels name these: `s0:0,1 s1:0`.
    """
    # Without rules, jobs that ask for the same have one list.
    shared: dict[object, list[tuple[dict[str, int], tuple[str, ...]]]] = {}
    options: dict[str, dict[str, Placement]] = {}
    for name, job in scope.jobs.items():
        options[name] = {}
        if scope.interrupted and job.running is not None:
            for workers in spreads(scope, name):
                if own := rating_of(scope, name, workers, links_used(scope, workers)):
                    options[name][OWN] = own
            if not may_stop(scope.instance, job):
                continue
        places = job.servers, job.spread, job.slices, job.memory_gb
        alike = job.sizes, places, job.times and tuple(job.times)
        common = not scope.allowed and (scope.interrupted or job.running is None)
        ways = shared.get(alike) if common else None
        if ways is None:
            found = spreads(scope, name, anywhere=scope.interrupted)
            ways = [(workers, links_used(scope, workers)) for workers in found]
            if common:
                shared[alike] = ways
        window = scope.windows[name]
        for workers, links in ways:
            placement = rating_of(scope, name, workers, links)
            if placement is None:
                continue
            if scope.interrupted or placement.least_slots <= window.end - window.start:
                for each in by_gpus(scope, name, placement):
                    label = label_of_gpus(each.gpus) if each.gpus else label_of(workers)
                    while label in options[name]:  # Servers may have names that read like labels.
                        label += "'"
                    options[name][label] = each
    return options


def by_gpus(scope: Scope, name: str, placement: Placement) -> Iterator[Placement]:
    """A placement on each set of GPUs, where jobs share GPUs; else the placement alone."""
    if not shares(scope):
        yield placement
        return
    for gpus in sets_of_gpus(scope, name, placement.workers):
        yield replace(placement, gpus=gpus)


def links_used(scope: Scope, workers: Mapping[str, int]) -> tuple[str, ...]:
    """Links that a ring uses, by name."""
    used = scope.tree.links_used({scope.server_index[s]: count for s, count in workers.items()})
    return tuple(scope.tree.links[link].node for link in used)


def label_of(workers: Mapping[str, int]) -> str:
    """Label of a placement: `s0:2 s1:1`."""
    return " ".join(f"{server}:{count}" for server, count in workers.items())


def refused_slots(scope: Scope) -> Iterator[tuple[str, str, int]]:
    """Jobs, labels of their placements, and slots in which a rule does not let them be active."""
    if scope.allowed_at:
        for job, ways in placements(scope).items():
            window = scope.windows[job]
            for label, way in ways.items():
                for t in range(window.start, min(window.end, scope.horizon)):
                    if not scope.allows_at(job, way.workers, t):
                        yield job, label, t


def ways_anywhere(scope: Scope, name: str) -> Ways:
    """The number of placements of a job that may be interrupted, up to one above the most."""
    used = [len(way) for way in islice(spreads(scope, name, anywhere=True), MAX_PLACEMENTS + 1)]
    return Ways(len(used), max(used, default=0))


def spreads(
    scope: Scope, name: str, *, anywhere: bool = False, only: Collection[str] | None = None
) -> Iterator[dict[str, int]]:
    """All ways to put a job's workers on servers that it and the rules allow, size by size.

    A running job is where it is, unless it may be `anywhere`. Others may be `only` on some servers.
    """
    job = scope.jobs[name]
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

    def placed(
        servers: list[Server], room: list[int], s: int, begun: dict[str, int], left: int
    ) -> Iterator[dict[str, int]]:
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
                more = {**begun, servers[here].name: count}
                yield from placed(servers, room, here + 1, more, left - count)

    for size in job.sizes:
        for part in parts_of(scope, job):
            servers = part if only is None else [one for one in part if one.name in only]
            room = [*accumulate((server.gpus for server in reversed(servers)), initial=0)][::-1]
            yield from placed(servers, room, 0, {}, size)


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


def rated(scope: Scope, job: str, workers: Mapping[str, int]) -> Placement | None:
    """A placement, rated; None if the job cannot have it, or makes no progress in it even alone."""
    asked = scope.jobs[job]
    allowed = any(workers.keys() <= {s.name for s in part} for part in parts_of(scope, asked))
    sizes = list(accumulate(workers.values()))
    if not allowed or sizes[-1] not in asked.sizes:
        return None
    if any(count > scope.servers[s].gpus for s, count in workers.items()):
        return None
    begun = [dict(islice(workers.items(), n)) for n in range(1, len(workers) + 1)]
    if not all(_may_go_on(asked.spread, some, sizes[-1] - sum(some.values())) for some in begun):
        return None
    return rating_of(scope, job, workers, links_used(scope, workers))


def alone_gbps(scope: Scope, workers: Mapping[str, int], links: Sequence[str]) -> float:
    """Bandwidth in Gbit/s of a ring that is alone on its links, if it uses any."""
    if links:
        return scope.lone_gbps(workers)
    (server,) = workers
    return within_gbps(scope.instance.cluster, scope.server_index[server])


def rating_of(
    scope: Scope, job: str, workers: Mapping[str, int], links: tuple[str, ...]
) -> Placement | None:
    """Rate a placement; None if the job makes no progress in it even alone."""
    pace, gbps = scope.pace_on(job, workers), alone_gbps(scope, workers, links)
    alone = capped_speed(pace, len(workers), gbps)
    if alone == 0:
        return None
    weights = {
        to: pace.weight(scope.sharing, len(workers), gbps, to) if links else 0
        for to in scope.sensitivities
    }
    slots = timing.slots_needed(pace.iterations, alone)
    return Placement(workers, links, pace, weights, alone, slots)
