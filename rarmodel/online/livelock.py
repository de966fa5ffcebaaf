"""Why nothing more happens though jobs are not complete: each job, and what it waits for."""

from __future__ import annotations

from collections.abc import Iterator

from rarmodel.engine.arrays import NEVER
from rarmodel.errors import listed
from rarmodel.model.interruptions import interrupts
from rarmodel.model.sharing_rule import RingOnLinks
from rarmodel.model.usage_limits import usage_limits
from rarmodel.schema.job import Running

from .carry_out import Foreman
from .cluster_at_work import WorkingCluster
from .idle_capacity import Ring
from .placement import Placement, fewest_servers
from .policy import Policy

FEW = 8
"""Most jobs that are explained."""


def causes(
    foreman: Foreman, policy: Policy, placement: Placement, round_slots: int | None
) -> tuple[str, ...]:
    """A line for each job that is not complete, those that hold GPUs first.

    Parameters
    ----------
    foreman
        Who carried out the last decision.
    policy, placement, round_slots
        Who decided, who placed, and slots of a round.
    """
    cluster = foreman.cluster
    found = [*_holders(cluster, policy, round_slots), *_waiting(foreman, policy, placement)]
    more = [f"and {len(found) - FEW} jobs more"] if len(found) > FEW else []
    return (*found[:FEW], *more)


def _name(cluster: WorkingCluster, k: int) -> str:
    return cluster.instance.jobs[int(cluster.jobs.index[k])].name


def _holders(cluster: WorkingCluster, policy: Policy, round_slots: int | None) -> Iterator[str]:
    """Why jobs that hold GPUs do not complete."""
    stays = f"policy {policy.name!r} does not interrupt jobs"
    for k, stay in sorted(cluster.stays.items()):
        job, where = _name(cluster, k), _told(cluster, stay.ring)
        may = bool(cluster.jobs.may_stop[k])
        if cluster.speed_in(k, stay.ring) == 0:
            linked = cluster.linked.get(k)
            others = [] if linked is None else _beside(cluster, k, linked)
            beside = ", also alone" if _alone(cluster, k, stay.ring) == 0 else ""
            if not beside and others:
                beside = f" beside the rings of {listed(others)}"
            tail = "" if policy.interrupts else f", and {stays}"
            if not may:
                some = interrupts(cluster.instance)
                tail = ", and it is not preemptible" if some else ", and jobs stay where they are"
            yield f"job {job!r} makes no progress on {where}{beside}{tail}"
        elif stay.up > cluster.now and round_slots is not None and round_slots <= cluster.restore:
            yield (
                f"job {job!r} is restored on {where} again and again: that takes {cluster.restore} "
                f"slots, and a round has {round_slots}; rounds of {2 * cluster.restore} slots or "
                "more leave time to work"
            )
        elif cluster.lost_work[k]:
            yield f"job {job!r} is interrupted on {where} before it reaches a checkpoint"
        else:
            yield f"job {job!r} is interrupted on {where} before it does an iteration"


def _alone(cluster: WorkingCluster, k: int, ring: Ring) -> int:
    """Iterations per slot of a job in a ring if there were no others."""
    others, cluster.linked = cluster.linked, {}
    try:
        return cluster.speed_in(k, ring)
    finally:
        cluster.linked = others


def _beside(cluster: WorkingCluster, k: int, linked: RingOnLinks) -> list[str]:
    links = set(linked.links)
    there = (o for o, ring in sorted(cluster.linked.items()) if not links.isdisjoint(ring.links))
    return [_name(cluster, other) for other in there if other != k]


def _told(cluster: WorkingCluster, ring: Ring) -> str:
    servers = cluster.instance.cluster.servers
    held = {servers[s].name: tuple(range(count)) for s, count in ring.items()}
    return Running.model_construct(gpus=held, iterations_done=0).told()


def _waiting(foreman: Foreman, policy: Policy, placement: Placement) -> Iterator[str]:
    """Why jobs that hold no GPUs do not start."""
    cluster = foreman.cluster
    jobs = cluster.instance.jobs
    number = {jobs[j].name: k for k, j in enumerate(cluster.jobs.index.tolist())}
    done = cluster.completion < NEVER
    order = foreman.order.tolist()
    first: str | None = None  # The first in the order that does not start.
    waiting = [k for k in order if not done[k] and not cluster.holds[k]]
    rest = [k for k in range(len(done)) if not done[k] and not cluster.holds[k]]
    for k in dict.fromkeys([*waiting, *rest]):
        job = jobs[int(cluster.jobs.index[k])]
        if missing := [name for name in job.after if not done[number[name]]]:
            yield f"job {job.name!r} waits for {listed(missing)}, which is not complete"
        elif k not in waiting or foreman.wanted(k) == 0:
            yield f"policy {policy.name!r} gives job {job.name!r} no GPUs"
        elif first is not None and foreman.blocks:
            yield f"job {job.name!r} waits behind {first!r}, as policy {policy.name!r} wants it"
        else:
            first = first or job.name
            yield f"job {job.name!r} {_lacks(foreman, k, placement)}"


def _lacks(foreman: Foreman, k: int, placement: Placement) -> str:
    """Why a job that is to start does not."""
    cluster, asked = foreman.cluster, foreman.asks(k)
    kind = foreman.type_of(k)
    gpus = f"{asked.size} GPU{'s' * (asked.size > 1)}" + (f" of type {kind!r}" if kind else "")
    for i, amount in cluster.jobs.uses.amounts(k, asked.size).items():
        limit, left = usage_limits(cluster.instance)[i], max(0, int(cluster.room.left[i]))
        if amount > left and limit.of_tenant:
            return f"waits for {gpus}, and the cap of tenant {limit.name!r} leaves {left}"
        if amount > left:
            wanted = f"{limit.told(amount)} of resource {limit.name!r}"
            return f"waits for {gpus} and {wanted}, of which less is left"
    if fewest_servers(asked, cluster.room.capacity) is None:
        return f"waits for {gpus}, for which the servers that it may use have no room"
    ring = fewest_servers(asked, cluster.room.idle)
    if ring is None:
        there = [
            _name(cluster, other)
            for other, stay in sorted(cluster.stays.items())
            if any(asked.allowed[-1][s] for s in stay.ring)
        ]
        return f"waits for {gpus} of servers on which jobs {listed(there)} hold GPUs"
    if fewest_servers(asked, cluster.room_for(k)[0]) is None:
        return f"waits for {gpus} that are not reserved later: it is not preemptible"
    if foreman.with_progress(k, ring, asked) is None:
        return f"waits for {gpus}: wherever GPUs are idle, it makes no progress"
    return f"waits for {gpus}, which are idle: placement {placement.name!r} gives it no place"
