"""Jobs and servers that can be exchanged without another effect, and one order of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from operator import itemgetter
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Assignment, Schedule

from .component import Component
from .scope import Scope

MAX_WEIGHT = 10_000
"""Greatest weight: solvers' tolerances must stay small beside the weight of a single worker."""


@dataclass(frozen=True)
class ServerOrder:
    """One order of equal servers, and of equal racks.

    Attributes
    ----------
    groups
        Equal blocks. A block is a server, or all servers below a node, in an order such that equal
        servers of equal blocks have equal places. Equal servers have as many GPUs, equal links, and
        no other difference; equal blocks hang on equal links of one node. Blocks that contain
        others come first.
    weights
        By job: the weight of one of its workers. Within a group, blocks are ordered by the weight
        of their workers, greatest first.
    """

    groups: tuple[tuple[tuple[str, ...], ...], ...]
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
    """Groups of at least two equal blocks, and weights of the jobs that take the most GPU slots.

    The weights are powers of a base, so that the order is the lexicographic one of the jobs'
    workers, the job of the greatest weight first.
    """
    weights: dict[str, int] = {}
    if scope.instance.services:
        return ServerOrder((), weights)  # Replicas are exchanged with their servers, too.
    if all(job.running is not None for job in scope.jobs.values()):
        return ServerOrder((), weights)  # They stay where they are.
    equal = _equal_blocks(scope)
    if equal:
        base = 1 + max(sum(scope.servers[s].gpus for s in group[0]) for group in equal)
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


def _equal_blocks(scope: Scope) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """The groups of `ServerOrder`, by the kind of each node: its link, and the kinds below it."""
    import networkx as nx  # noqa: PLC0415 - takes a while to load

    network = scope.tree.tree
    kinds: dict[Hashable, int] = {}
    blocks: dict[str, tuple[int, tuple[str, ...]]] = {}
    groups = []
    weights = [
        dict(zip(scope.links, one.link_weights_of(scope.instance), strict=True))
        for one in objectives_of(scope.instance)
        if one.link_weights is not None
    ]
    for node in nx.topological_sort(network):  # Children come before their parents.
        parts = sorted((blocks[child] for child in network.predecessors(node)), key=itemgetter(0))
        below = tuple(kind for kind, _ in parts)
        traits = below if parts else _traits(scope, node)
        link = scope.links.get(node)
        own = link and (link.gbps, link.level, *(by_link[node] for by_link in weights))
        kind = kinds.setdefault((own, traits), len(kinds))
        blocks[node] = kind, tuple(chain((node,) * (not parts), *(part for _, part in parts)))
        alike = (tuple(part for _, part in some) for _, some in groupby(parts, itemgetter(0)))
        groups += [group for group in alike if len(group) > 1]
    return tuple(reversed(groups))


def _traits(scope: Scope, name: str) -> Hashable:
    """All that tells a server from others on equal links of one node."""
    instance, server = scope.instance, scope.servers[name]
    listed = tuple(j for j, job in scope.jobs.items() if job.servers and name in job.servers)
    # Running jobs stay where they are.
    fixed = tuple(
        (j, len(job.running.gpus[name]))
        for j, job in scope.jobs.items()
        if job.running and name in job.running.gpus
    )
    reserved = Counter(
        (one.gpus, one.start, one.end)
        for one in instance.cluster.reservations
        if one.server == name
    )
    prices = tuple(
        one.prices_of(instance)[scope.server_index[name]]
        for one in objectives_of(instance)
        if one.prices is not None
    )
    return (
        *(server.model_copy(update={"name": "-"}), listed, fixed),
        *(frozenset(reserved.items()), prices),
    )


def in_order(scope: Scope, schedule: Schedule) -> Schedule:
    """The schedule, with equal jobs and equal servers exchanged into order.

    This only exchanges the completions of equal jobs. If the scope asks for every schedule, there
    is no order.
    """
    if scope.every_schedule:
        return schedule
    held = {one.job: (one.start, one.gpus) for one in schedule.assignments}
    for group in equal_jobs(scope):
        by_start = sorted((held[j] for j in group), key=itemgetter(0))
        held.update(zip(group, by_start, strict=True))
    order = server_order(scope)
    for blocks in order.groups:
        weight = {
            block: sum(
                w * len(held[j][1].get(s, ())) for j, w in order.weights.items() for s in block
            )
            for block in blocks
        }
        heaviest = sorted(blocks, key=lambda block: -weight[block])
        renamed = dict(zip(chain(*heaviest), chain(*blocks), strict=True))
        held = {
            j: (start, {renamed.get(s, s): indices for s, indices in gpus.items()})
            for j, (start, gpus) in held.items()
        }
    exchanged = (Assignment(job=j, start=start, gpus=gpus) for j, (start, gpus) in held.items())
    return schedule.model_copy(update={"assignments": tuple(exchanged)})


def symmetry(m: Any, scope: Scope) -> None:
    """Equal jobs start in input order; equal servers are ordered by the longest jobs' workers.

    ```
    started_jt ≥ started_j't                              j before j', equal
    Σ_js W_j·workers_js ≥ Σ_js' W_j·workers_js'           s in B, s' in B', B before B', equal
    ```

    where B is a server, or all servers below a node, such as a rack; with weights W_j that make
    this the lexicographic order of a few jobs' workers. A model may leave servers to the starts;
    then they have no order.
    """
    pairs = [pair for group in equal_jobs(scope) for pair in pairwise(group)]
    m.equal_jobs_in_order = pyo.Constraint(
        pairs,
        range(scope.horizon),
        rule=lambda m, j, later, t: m.started[j, t] >= m.started[later, t],
    )
    order = server_order(scope)
    neighbours = {
        (block[0], later[0]): (block, later)
        for group in (order.groups if m.component("workers") is not None else ())
        for block, later in pairwise(group)
    }
    m.equal_servers_in_order = pyo.Constraint(
        list(neighbours),
        rule=lambda m, *pair: (
            sum(
                weight * (m.workers[j, s] - m.workers[j, later])
                for j, weight in order.weights.items()
                for s, later in zip(*neighbours[pair], strict=True)
            )
            >= 0
        ),
    )


def _may_leave_out(scope: Scope) -> bool:
    return not scope.every_schedule


SYMMETRY = Component("symmetry", symmetry, needs=("started", "workers"), when=_may_leave_out)
"""Leaves out schedules that differ from one that is left by an exchange of equals alone."""
