"""Jobs and servers that can be exchanged without another effect, and one order of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Schedule

from .formulation import Scope
from .values import placed_of

MAX_WEIGHT = 10_000
"""Greatest weight: solvers' tolerances must stay small beside the weight of a single worker."""


@dataclass(frozen=True)
class ServerOrder:
    """One order of equal servers.

    Attributes
    ----------
    groups
        Equal servers: as many GPUs, equal links to the same node, and no other difference.
    weights
        By job: the weight of one of its workers. Within a group, servers are ordered by the weight
        of their workers, greatest first.
    """

    groups: tuple[tuple[str, ...], ...]
    weights: dict[str, int]


def equal_jobs(scope: Scope) -> list[list[str]]:
    """Groups of at least two jobs that differ only in name, in input order.

    The same jobs wait for them, and they count alike in every objective.
    """
    groups = defaultdict(list)
    followers: dict[str, list[str]] = {}
    for name, job in scope.jobs.items():
        for before in job.after:
            followers.setdefault(before, []).append(name)
    terms = [one.terms(scope.instance) for one in objectives_of(scope.instance)]
    for j, (name, job) in enumerate(scope.jobs.items()):
        counts = tuple(of_jobs[j] for of_jobs in terms if of_jobs)
        follow = tuple(followers.get(name, ()))
        but_for_name = job.model_copy(update={"name": "-"}).model_dump_json()
        groups[but_for_name, follow, counts].append(name)
    return [group for group in groups.values() if len(group) > 1]


def server_order(scope: Scope) -> ServerOrder:
    """Groups of at least two equal servers, and weights of the jobs that take the most GPU slots.

    The weights are powers of a base, so that the order is the lexicographic one of the jobs'
    workers, the job of the greatest weight first.
    """
    groups = defaultdict(list)
    for name in scope.servers:
        groups[_traits(scope, name)].append(name)
    equal = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    weights: dict[str, int] = {}
    if all(job.running is not None for job in scope.jobs.values()):
        return ServerOrder((), weights)  # They stay where they are.
    if equal:
        base = 1 + max(scope.servers[group[0]].gpus for group in equal)
        longest = sorted(
            (j for j, job in scope.jobs.items() if job.running is None),
            key=lambda j: scope.jobs[j].sizes[-1] * scope.least_slots[j],
            reverse=True,
        )
        count = 1
        while count < len(longest) and base**count <= MAX_WEIGHT:
            count += 1
        weights = {j: base ** (count - 1 - i) for i, j in enumerate(longest[:count])}
    return ServerOrder(equal, weights)


def _traits(scope: Scope, name: str) -> Hashable:
    """All that tells a server from others."""
    instance, server, link = scope.instance, scope.servers[name], scope.links[name]
    listed = tuple(j for j, job in scope.jobs.items() if job.servers and name in job.servers)
    # Running jobs stay where they are.
    fixed = tuple(j for j, job in scope.jobs.items() if job.running and name in job.running.gpus)
    reserved = Counter(
        (one.gpus, one.start, one.end)
        for one in instance.cluster.reservations
        if one.server == name
    )
    prices = tuple(
        one.prices(instance)[scope.server_index[name]]
        for one in objectives_of(instance)
        if one.prices is not None
    )
    return (
        *(link.gbps, link.parent, server.model_copy(update={"name": "-"})),
        *(listed, fixed, frozenset(reserved.items()), prices),
    )


def canonical(scope: Scope, schedule: Schedule) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Starts, and workers by server, of each job of a schedule.

    Unless the scope asks for every schedule, equal jobs and equal servers are exchanged into order.
    This only exchanges the completions of equal jobs.
    """
    starts, workers = placed_of(schedule)
    if scope.every_schedule:
        return starts, workers
    for group in equal_jobs(scope):
        by_start = sorted(group, key=lambda j: starts[j])
        moved = [(starts[j], workers[j]) for j in by_start]
        for j, (start, placed) in zip(group, moved, strict=True):
            starts[j], workers[j] = start, placed
    order = server_order(scope)
    renamed = {server: server for server in scope.servers}
    for servers in order.groups:
        weight = {
            s: sum(w * workers[j].get(s, 0) for j, w in order.weights.items()) for s in servers
        }
        heaviest = sorted(servers, key=lambda s: -weight[s])
        renamed |= dict(zip(heaviest, servers, strict=True))
    renumbered = {
        j: {renamed[s]: count for s, count in placed.items()} for j, placed in workers.items()
    }
    return starts, renumbered
