"""Unavoidable contention: rings that fit no server must share the servers' links."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, fsum

from rarmodel.model import best_share, least_slots_by_placement, paces_of, topology
from rarmodel.model.features import GPU_TYPES, PREEMPTION
from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import SharedLinks

from .arguments import in_file
from .bound import FIXED_SIZES, ON_MAKESPAN, Bound


def shared_links(instance: Instance) -> int | None:
    """Rings wider than every server keep links busy, for longer if they share them.

    Such a ring uses the links of all its servers, at least k. In a slot in which p rings share a
    link, let each ring take 1/p of it. With at most `φ(p)` iterations per slot, a ring of F
    iterations takes at least `F / max_p p·φ(p)` of each link it uses, however contention changes.
    All rings together take at most one slot of each link in each slot.

    Returns
    -------
    int or None
        None if every job fits a server.
    """
    taken = _taken(instance)
    if not taken:
        return None
    slots = fsum(float(slots) for slots in taken.values()) / len(instance.cluster.servers)
    return ceil(slots * (1 - 1e-12))


def _taken(instance: Instance) -> dict[int, Fraction]:
    """Slots of links that each ring wider than every server takes at least."""
    cluster = instance.cluster
    largest = cluster.largest_server
    wide = [
        (j, paces_of(instance, job)[job.size, None], least.fewest_servers)
        for j, (job, least) in enumerate(
            zip(instance.jobs, least_slots_by_placement(instance), strict=True)
        )
        if job.size > largest and least.fewest_servers is not None
    ]
    if not wide:
        return {}
    tree = topology(cluster)
    fastest = max(tree.links[path[0]].gbps for path in tree.paths)
    rings = min(len(wide), largest)  # Each has a worker below the link.
    shares = {
        to: [best_share(instance, fastest, p, to) for p in range(1, rings + 1)]
        for to in {pace.sensitivity for _, pace, _ in wide}
    }
    taken = {}
    for j, pace, servers in wide:
        beside = enumerate(shares[pace.sensitivity], 1)
        most = max(p * pace.speed(servers, gbps) for p, gbps in beside)
        taken[j] = Fraction(servers * pace.iterations, most)
    return taken


def _certify(instance: Instance, _: Objective, value: Value) -> SharedLinks | None:
    """The rings and what they take; None if they take no more than there is below the value."""
    taken, length = _taken(instance), int(value) - 1
    if sum(taken.values()) <= length * len(instance.cluster.servers):
        return None
    named = {instance.jobs[j].name: in_file(slots) for j, slots in taken.items()}
    return SharedLinks(kind="shared-links", length=length, taken=named)


SHARED_LINKS = Bound(
    "shared links",
    "rings wider than every server need a certain time on links that they must share",
    lambda instance, _: shared_links(instance),
    objectives=ON_MAKESPAN,
    # A job has the same pace on all of its servers. Slots are looked at one by one.
    handles=FIXED_SIZES - {GPU_TYPES.name} | {PREEMPTION.name},
    rank=4,
    certify=_certify,
)
