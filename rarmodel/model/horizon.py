"""How many slots are enough, where an instance does not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from rarmodel.schema import Instance, Job

from . import timing
from .caching import once_per_instance
from .extremes import job_extremes, slowest_with_progress
from .gpu_sharing import loads_beside, shares_gpus
from .interruptions import interrupts, left_if_moved, may_stop
from .left import left_of
from .link_shares import bandwidths
from .lone import lone_options, within_gbps
from .objectives import objectives_of
from .ring_rates import pace
from .services import last_demand
from .topology import topology
from .usage_limits import limits_of_jobs, sizes_within, usage_limits


@once_per_instance
def horizon_of(instance: Instance) -> int:
    """The horizon of an instance in slots, T.

    Where the instance has none: once the `last_event` is over, one job after another, each alone in
    its best placement. Some optimal schedule of every objective ends by then. Order the jobs by
    completion: the longest suffix that is later than that row can be replaced by it, and every job
    gains.

    The row takes place after all that changes: what is reserved for ever, quotas, and resources
    leave fewer placements. A job that has none then completes before, in every schedule. Where
    placements count in an objective, each job keeps the one that it had: alone it is no slower
    there. So the row has room for the slowest in which it makes progress, as it has where what a
    job uses of a limit depends on the server.

    Jobs that run at slot 0 cannot be moved into the row. Let R be when they complete if nothing
    else runs. Once the jobs of the prefix are over, R more slots are enough for them. So the row of
    the suffix starts R slots later, each job has R more slots before it counts as late, and R more
    follow the last.

    Jobs that may be interrupted can be moved into the row, if they have a placement then. One that
    runs at slot 0 is restored first, with what its last checkpoint keeps; in its place in the row
    it has one segment, as the others. Where placements count, it keeps those that it had in the
    segments of which something was kept, with a restoration before each: in each of the other slots
    it does an iteration at least.

    Where jobs that run at slot 0 share GPUs, and GPUs are reserved for ever, a job may have no
    other place than beside them. Then each slot after the last event in which no job makes
    progress, and none is restored, can be left out: all that comes later may begin earlier. So
    there are no more such slots than iterations to do.
    """
    if instance.time.horizon is not None:
        return instance.time.horizon
    if _joins_for_ever(instance):
        return last_event(instance) + _every_iteration(instance)
    if interrupts(instance):
        return last_event(instance) + _interrupted_row(instance)
    waiting = [j for j, job in enumerate(instance.jobs) if job.running is None]
    row = _row(instance)
    running = _latest(running_ends(instance))
    return last_event(instance) + sum(row[j] for j in waiting) + (len(waiting) + 1) * running


def _joins_for_ever(instance: Instance) -> bool:
    """Whether a GPU that is reserved for ever may be held for as long as a job there runs on."""
    shared = any(job.running is not None and job.slices is not None for job in instance.jobs)
    return shared and any(one.end is None for one in instance.cluster.reservations)


def _every_iteration(instance: Instance) -> int:
    """Slots that are enough if some job does an iteration, or is restored for one, in each."""
    each = 1 + timing.restore_slots(instance)
    return each * sum(left_if_moved(instance, job) for job in instance.jobs)


def _interrupted_row(instance: Instance) -> int:
    """Slots of the row where jobs may be interrupted."""
    row = _row(unbegun(instance, left_if_moved))
    running = {j: job for j, job in enumerate(instance.jobs) if job.running is not None}
    moved = [j for j, job in running.items() if row[j] and may_stop(instance, job)]
    stays = frozenset(running) - set(moved)
    slots = sum(row[j] for j in range(len(row)) if j not in stays)
    slots += len(moved) * timing.restore_slots(instance)
    return slots + (len(instance.jobs) + 1) * _latest(_ends_beside(instance, stays))


def unbegun(
    instance: Instance,
    left: Callable[[Instance, Job], int] = lambda _, job: job.iterations_left,
) -> Instance:
    """The instance with no job running at slot 0, but with the iterations that are left.

    Parameters
    ----------
    instance
        The problem.
    left
        Gives the iterations that a job then has to do.
    """
    if all(job.running is None for job in instance.jobs):
        return instance
    jobs = (
        job.model_copy(update={"running": None, "iterations": left(instance, job)})
        for job in instance.jobs
    )
    return instance.model_copy(update={"jobs": tuple(jobs)})


def last_event(instance: Instance) -> int:
    """The last slot at which something begins or ends that the instance names; 0 at least.

    That is a release, due slot, deadline, reservation, entry of demand, or window of a resource.
    """
    moments = [0, last_demand(instance)]
    for job in instance.jobs:
        moments += [job.release, job.due or 0, job.deadline or 0]
    for one in instance.cluster.reservations:
        moments += [one.start, one.end or 0]
    for resource in instance.resources:
        for window in resource.windows:
            moments += [window.start, window.end or 0]
    return max(moments)


def _row(instance: Instance) -> list[int]:
    """(jobs) Slots of a job alone when nothing changes any more; 0 if it cannot run then."""
    rest = at_last(instance)
    uneven = any(use.by_server for uses in limits_of_jobs(instance) for use in uses.values())
    if uneven or any(not one.of_completions for one in objectives_of(instance)):
        return _longest_row(rest or instance)
    if rest is None:
        return [extreme.least_slots for extreme in job_extremes(instance)]
    return [
        min(
            (slots for one in options if (slots := one.pace.slots(one.servers, one.gbps))),
            default=0,
        )
        for options in lone_options(rest)
    ]


def _longest_row(instance: Instance) -> list[int]:
    """(jobs) The same, if each may be in any placement in which it makes progress."""
    slowest = slowest_with_progress(instance)
    if not interrupts(instance):
        return [slots or 0 for slots in slowest]
    each = 1 + timing.restore_slots(instance)
    every = zip(instance.jobs, lone_options(instance), slowest, strict=True)
    return [
        (job.iterations_left * each if may_stop(instance, job) else slots or 0)
        if any(one.pace.slots(one.servers, one.gbps) for one in options)
        else 0
        for job, options, slots in every
    ]


@once_per_instance
def at_last(instance: Instance) -> Instance | None:
    """The instance without what is reserved for ever, and without ring sizes beyond limits.

    These are the caps of tenants, and the capacities that resources have at last.

    None if that is the instance itself.
    """
    away: Counter[str] = Counter()
    for one in instance.cluster.reservations:
        if one.end is None:
            away[one.server] += one.gpus
    limits = enumerate(one.capacities[-1] for one in usage_limits(instance))
    most = {i: capacity for i, capacity in limits if capacity is not None}
    if not away and not most:
        return None
    left = left_of(instance.cluster, away)
    jobs = tuple(
        job if job.running else left.job(job, sizes_within(instance, j, most))
        for j, job in enumerate(instance.jobs)
    )
    return instance.model_copy(update={"cluster": left.cluster, "jobs": jobs})


def _latest(ends: Mapping[int, int | None]) -> int:
    """When all of some jobs that stay where they run complete; 0 if some never do.

    They never complete in any schedule then.
    """
    return 0 if None in ends.values() else max((end for end in ends.values() if end), default=0)


@once_per_instance
def running_ends(instance: Instance) -> dict[int, int | None]:
    """When each job that runs at slot 0 and must stay completes if no others run; None if never.

    More jobs never make one faster. So these are the earliest completions of jobs that cannot be
    interrupted.
    """
    stays = (j for j, job in enumerate(instance.jobs) if not may_stop(instance, job))
    return _ends_beside(instance, frozenset(stays))


def _ends_beside(instance: Instance, some: Collection[int]) -> dict[int, int | None]:
    """When each of some jobs that run at slot 0 completes if all stay and no others run."""
    cluster, tree = instance.cluster, topology(instance.cluster)
    index = {server.name: s for s, server in enumerate(cluster.servers)}
    held = {
        j: {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
        for j, job in enumerate(instance.jobs)
        if job.running is not None and j in some
    }
    left = {j: instance.jobs[j].iterations_left for j in held}
    on_gpus = {
        j: [(index[name], gpu) for name, some in gpus.items() for gpu in some]
        for j in held
        if (gpus := instance.jobs[j].running.gpus)  # type: ignore[union-attr]
    }
    gbps = [link.gbps for link in tree.links]
    paces, rings = {}, {}
    for j, workers in held.items():
        types = [cluster.servers[s].gpu_type for s in workers]
        paces[j] = pace(instance, j, sum(workers.values()), types)
        if links := tree.links_used(workers):
            rings[j] = paces[j].on_links(links, len(workers), tree.cards_gbps(workers))
    slot = 0
    ends = dict[int, int | None].fromkeys(held)
    while left:
        linked = [j for j in left if j in rings]
        shares = bandwidths(instance.contention, gbps, [rings[j] for j in linked])
        rates = dict(zip(linked, shares, strict=True))
        loads = dict.fromkeys(left, 0)
        if shares_gpus(instance):
            loads = loads_beside(instance, {j: on_gpus[j] for j in left})
        speeds = {
            j: paces[j]
            .beside(loads[j])
            .speed(
                len(held[j]), rates[j] if j in rates else within_gbps(cluster, next(iter(held[j])))
            )
            for j in left
        }
        steps = [timing.slots_needed(left[j], speed) for j, speed in speeds.items() if speed > 0]
        if not steps:
            break
        slot += min(steps)
        after = {j: left[j] - min(steps) * speed for j, speed in speeds.items()}
        left = {j: iterations for j, iterations in after.items() if iterations > 0}
        ends |= {j: slot for j in after if j not in left}
    return ends
