"""Placements of a job that are alike, as one class; the model decides the workers on each server.

Workers on the same servers make the same ring, however many of them are on each server: its links,
its speeds and its weight are the same. So `time-indexed` has one variable for each set of servers,
and whole numbers for the workers beyond the least on each. A job of 12 GPUs has thousands of
placements on six servers, and less than 64 sets of them.

Where every placement of a job takes the same time whoever else is there, and nobody minds its ring,
even the set does not matter: such a job has one class, anywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice

from rarmodel.model.lone import allowed_servers
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Job, Server, Spread

from .gpu_placements import sets_of_gpus, shares
from .placements import (
    MAX_PLACEMENTS,
    Placement,
    Ways,
    label_of,
    links_used,
    parts_of,
    placements,
    rating_of,
    spreads,
)
from .ring_links import links_count
from .scope import Scope, once_per_scope
from .sharing_forms import rings_are_slowed


@once_per_scope
def placement_classes(scope: Scope) -> dict[str, dict[str, Placement]]:
    """By job: its classes of placements that meet the horizon alone, by label.

    A class of one placement has the label of the placement, `s0:2 s1:1`; others have those like
    `3 on s0 s1` and `3 anywhere`. If jobs may be interrupted, or rules look at slots, each
    placement is a class. So it is where a server has several network cards, as workers then matter,
    and where jobs share GPUs.
    """
    if scope.interrupted or _each_apart(scope):
        return placements(scope)
    options: dict[str, dict[str, Placement]] = {}
    for name in scope.jobs:
        window, options[name] = scope.windows[name], {}
        for found in _classes(scope, name):
            workers = found.one
            rating = rating_of(scope, name, workers, links_used(scope, workers))
            if rating is None or rating.least_slots > window.end - window.start:
                continue
            label = found.label
            while label in options[name]:  # Servers may have names that read like labels.
                label += "'"
            options[name][label] = replace(
                rating,
                workers=found.least,
                links=() if found.anywhere else rating.links,
                more=found.more,
                left=found.left,
            )
    return options


def _each_apart(scope: Scope) -> bool:
    """Whether placements on the same servers may differ."""
    return bool(scope.allowed_at) or scope.tree.has_cards or shares(scope)


def number_of_classes(scope: Scope) -> dict[str, Ways]:
    """By job: the number of its classes, and the most servers of one; up to `MAX_PLACEMENTS` + 1.

    Where rules must be asked about each placement, those count until they are so many.
    """
    known: dict[object, Ways] = {}
    counted: dict[str, Ways] = {}
    for name, job in scope.jobs.items():
        kind: object = name
        if not scope.allowed and job.running is None:
            part = job.slices, job.memory_gb
            kind = job.sizes, job.servers, job.spread, _types(job), part, name in _free(scope)
        if kind not in known:
            known[kind] = _counted(scope, name)
        counted[name] = known[kind]
    return counted


def _counted(scope: Scope, name: str) -> Ways:
    job = scope.jobs[name]
    if _each_apart(scope):
        ways = spreads(scope, name)
        if shares(scope):
            ways = (workers for workers in ways for _ in sets_of_gpus(scope, name, workers))
        used = [len(workers) for workers in islice(ways, MAX_PLACEMENTS + 1)]
        return Ways(len(used), max(used, default=0))
    if name not in _free(scope) and not (scope.allowed or job.running or job.spread):
        parts = [(part, size) for part in parts_of(scope, job) for size in job.sizes]
        number = sum(_number_of_sets(part, size) for part, size in parts)
        return Ways(number, max((min(size, len(part)) for part, size in parts), default=0))
    if scope.allowed:
        listed = [len(workers) for workers in islice(spreads(scope, name), MAX_PLACEMENTS + 1)]
        if len(listed) > MAX_PLACEMENTS:
            return Ways(len(listed), max(listed))
    found = islice(_classes(scope, name), MAX_PLACEMENTS + 1)
    used = [len(one.more if one.anywhere else one.least) for one in found]
    return Ways(len(used), max(used, default=0))


def _number_of_sets(servers: Sequence[Server], size: int) -> int:
    """The number of sets of servers that a ring can use, with a worker on each of them."""
    sets = {(0, 0): 1}  # By servers and room, of which no more than the size counts.
    for server in servers:
        for (used, room), number in list(sets.items()):
            if used < size:
                with_it = used + 1, min(size, room + server.gpus)
                sets[with_it] = sets.get(with_it, 0) + number
    return sum(number for (_, room), number in sets.items() if room == size)


def too_many(scope: Scope) -> str | None:
    """The job that has too many classes, in words; None if there is none."""
    for j, (number, _) in number_of_classes(scope).items():
        if number > MAX_PLACEMENTS:
            what = "ways" if scope.allowed or _each_apart(scope) else "sets of servers"
            return (
                f"job {j!r} can be placed in more than {MAX_PLACEMENTS:,} {what}, too many for the "
                "whole model; extend time-indexed-compact, which has no list of them"
            )
    return None


@once_per_scope
def are_all_anywhere(scope: Scope) -> bool:
    """Whether all jobs may be on any server at any time, and their GPUs follow from their starts.

    When a job starts, as many GPUs are idle as it needs, wherever the others are.
    """
    every = frozenset(range(len(scope.servers)))
    few = objectives_of(scope.instance)[: scope.stage + 1]
    return (
        len(_free(scope)) == len(scope.jobs)
        and not (scope.instance.cluster.reservations or scope.instance.services)
        and all(one.prices is None for one in few)
        and all(allowed == every for allowed in allowed_servers(scope.instance))
    )


def class_of(scope: Scope, name: str, workers: Mapping[str, int]) -> PlacementClass:
    """The class of a placement of a job, without a list of all classes."""
    job = scope.jobs[name]
    if not (scope.interrupted or _each_apart(scope)) and job.running is None:
        if name in _free(scope):
            return _anywhere(scope, job)
        servers = [scope.servers[s] for s in workers]
        for found in _on_these(scope, name, servers, sum(workers.values())):
            if found.left:
                return found
    return PlacementClass(workers)


@dataclass(frozen=True)
class PlacementClass:
    """A set of placements: at least some workers on each server, and some more where there is room.

    Attributes
    ----------
    least
        By server: the least workers that each placement of the class has there.
    more
        By server with room: the most workers beyond these.
    left
        How many workers there are beyond the least of all servers.
    """

    least: Mapping[str, int]
    more: Mapping[str, int] = field(default_factory=dict)
    left: int = 0

    @property
    def anywhere(self) -> bool:
        """Whether its placements may have different servers."""
        return not self.more.keys() <= self.least.keys()

    @property
    def size(self) -> int:
        """The number of workers."""
        return sum(self.least.values()) + self.left

    @property
    def one(self) -> dict[str, int]:
        """One of its placements."""
        workers, left = dict(self.least), self.left
        for server, room in self.more.items():
            if taken := min(room, left):
                workers[server] = workers.get(server, 0) + taken
            left -= taken
        return workers

    @property
    def label(self) -> str:
        """Its label."""
        if self.anywhere:
            return f"{self.size} anywhere"
        if not self.left:
            return label_of(self.least)
        return f"{self.size} on {' '.join(self.least)}"


def _types(job: Job) -> object:
    return job.times and tuple(job.times)


@once_per_scope
def _free(scope: Scope) -> frozenset[str]:
    """The jobs that may be anywhere: all their placements take the same time, and nobody minds."""
    ruled = scope.allowed or _each_apart(scope)
    if scope.every_schedule or ruled or links_count(scope) or rings_are_slowed(scope):
        return frozenset()  # Additions and objectives see servers and links.
    return frozenset(
        j
        for (j, job), extreme in zip(scope.jobs.items(), scope.extremes, strict=True)
        if extreme.least_slots == extreme.most_slots
        and (job.running, job.spread, len(job.sizes)) == (None, None, 1)
    )


def _classes(scope: Scope, name: str) -> Iterator[PlacementClass]:
    """The classes of a job, whatever its time in them."""
    job = scope.jobs[name]
    if job.running is not None:
        yield from map(PlacementClass, spreads(scope, name))
    elif name in _free(scope):
        yield _anywhere(scope, job)
    elif scope.allowed:
        yield from _grouped(scope, job, spreads(scope, name))
    else:
        for size in job.sizes:
            for servers in parts_of(scope, job):
                for some in _sets(servers, size, job.spread):
                    yield from _of_set(some, size, job.spread)


def _on_these(
    scope: Scope, name: str, servers: Sequence[Server], size: int
) -> Iterable[PlacementClass]:
    """The classes of a job and a ring size on all servers of a set."""
    job = scope.jobs[name]
    if not scope.allowed:
        return _of_set(servers, size, job.spread)
    names = frozenset(server.name for server in servers)
    found = spreads(scope, name, only=names)
    return _grouped(
        scope, job, (one for one in found if (len(one), sum(one.values())) == (len(names), size))
    )


def _anywhere(scope: Scope, job: Job) -> PlacementClass:
    """All placements of a job on the servers that it may use."""
    servers = (server for part in parts_of(scope, job) for server in part)
    return PlacementClass(
        {}, {server.name: min(server.gpus, job.size) for server in servers}, job.size
    )


def _sets(servers: Sequence[Server], size: int, spread: Spread | None) -> Iterator[list[Server]]:
    """The sets of servers that a ring can use, with a worker on each of them."""
    fewest, most = (spread.min_servers, spread.max_servers) if spread else (1, None)
    most = min(size, most or size)
    behind = [*accumulate((server.gpus for server in reversed(servers)), initial=0)][::-1]

    def chosen(s: int, some: list[Server], room: int) -> Iterator[list[Server]]:
        if room >= size and len(some) >= fewest:
            yield some
        if len(some) == most:
            return
        for here in range(s, len(servers)):
            if room + behind[here] < size:
                return
            yield from chosen(here + 1, [*some, servers[here]], room + servers[here].gpus)

    return chosen(0, [], 0)


def _of_set(
    servers: Sequence[Server], size: int, spread: Spread | None
) -> Iterator[PlacementClass]:
    """The class of all placements on a set of servers: one placement if each has as many."""
    if spread is not None and spread.equal:
        each, rest = divmod(size, len(servers))
        if rest == 0 and all(each <= server.gpus for server in servers):
            yield PlacementClass({server.name: each for server in servers})
        return
    room = sum(server.gpus for server in servers)
    least = {one.name: max(1, size - (room - one.gpus)) for one in servers}
    left = size - sum(least.values())
    beyond = {one.name: min(left, one.gpus - least[one.name]) for one in servers}
    yield PlacementClass(least, {s: count for s, count in beyond.items() if count}, left)


def _grouped(
    scope: Scope, job: Job, listed: Iterable[Mapping[str, int]]
) -> Iterator[PlacementClass]:
    """Classes of placements that rules allow: those on a set of servers are one if it has all."""
    sets: dict[tuple[tuple[str, ...], int], list[Mapping[str, int]]] = defaultdict(list)
    for workers in listed:
        sets[tuple(workers), sum(workers.values())].append(workers)
    for (names, size), some in sets.items():
        servers = [scope.servers[s] for s in names]
        if len(some) == _ways_on(servers, size):
            yield from _of_set(servers, size, job.spread)
        else:
            yield from map(PlacementClass, some)


def _ways_on(servers: Sequence[Server], size: int) -> int:
    """The number of ways to put workers on servers, at least one on each."""
    ways = [1] + [0] * size
    for server in servers:
        ways = [sum(ways[max(0, workers - server.gpus) : workers]) for workers in range(size + 1)]
    return ways[size]
