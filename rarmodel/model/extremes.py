"""The best and the worst case of a job: the range of its iteration time and speed.

The best case is exact: alone in the cluster, in its best placement. It gives each job's least
execution time, on which estimates and lower bounds rest. The worst case is a bound: most servers,
slowest link and most rings on it, and most others on its GPUs, whether or not these occur together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, tee
from math import inf

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Instance, Job

from . import timing
from .caching import once_per_instance
from .gpu_sharing import greatest_loads, shares_gpus
from .interruptions import may_stop
from .link_shares import worst_share
from .lone import Lone, allowed_servers, each_lone_options, lone_options, realised, within_gbps
from .plain_paces import Column, columns
from .ring_rates import Paces, each_paces, paces
from .topology import Topology, topology


@dataclass(frozen=True, slots=True)
class Extremes:
    """Range of one job's iteration time, speed and execution time.

    Attributes
    ----------
    best_seconds, worst_seconds
        Least and greatest time of an iteration in seconds, τ_j.
    best_speed, worst_speed
        Greatest and least speed in iterations per slot, φ_j.
    least_slots
        Least execution time in slots, ρ_j^min.
    most_slots
        Bound on the greatest execution time in slots, ρ_j^max; None if the speed can be 0.
    """

    best_seconds: float
    worst_seconds: float
    best_speed: int
    worst_speed: int
    least_slots: int
    most_slots: int | None


@once_per_instance
def job_extremes(instance: Instance) -> tuple[Extremes, ...]:
    """The range of each job, in job order.

    Raises
    ------
    InputError
        If a job's iteration takes 0 s, or its speed is 0 even in the best case.
    """
    ranges = iteration_ranges(instance)
    _require_speed(instance, ranges, "")
    slot = instance.time.slot_seconds
    known: dict[tuple[float, float, int], Extremes] = {}  # Of a million jobs many are alike.
    extremes = []
    for job, (best, worst) in zip(instance.jobs, ranges, strict=True):
        key = best, worst, job.iterations_left
        if (one := known.get(key)) is None:
            fast, slow = timing.speed(slot, best), timing.speed(slot, worst)
            least = timing.slots_needed(job.iterations_left, fast)
            most = timing.slots_needed(job.iterations_left, slow) if slow else None
            one = known[key] = Extremes(best, worst, fast, slow, least, most)
        extremes.append(one)
    return tuple(extremes)


def require_progress(instance: Instance, source: str = "") -> None:
    """Refuse an instance with a job that cannot progress even alone in its best placement.

    Raises
    ------
    InputError
        With every such job (reading 3), or with every job whose iteration takes 0 s.
    """
    few = instance.model_copy(update={"jobs": _slowest_of_each_kind(instance)})
    slot = instance.time.slot_seconds
    for options in each_lone_options(few, each_paces(few)):
        # One placement in which a job makes progress is enough.
        if not any((one := option.seconds) > 0 and timing.speed(slot, one) for option in options):
            _require_speed(instance, iteration_ranges(instance), source)
            return


def _slowest_of_each_kind(instance: Instance) -> tuple[Job, ...]:
    """Jobs that make progress only if all do.

    A plain job with the greatest gradient, batch and times of those with the same ring on the same
    servers stands for them all, but for those of which an iteration may take no time.
    """
    overhead_ms = instance.contention.overhead_ms_per_server
    found: list[Job] = []
    greatest: dict[tuple[object, ...], tuple[Job, list[float]]] = {}
    for job in instance.jobs:
        batch, forward, backward = job.batch_size, job.forward_ms_per_sample, job.backward_ms
        wide = batch is None or forward is None or job.running is not None
        if wide or backward is None or overhead_ms + backward == 0:
            found.append(job)
            continue
        numbers: list[float] = [job.gradient_mb, batch or 0, forward or 0.0, backward]
        place = job.gpus, job.servers, job.spread, job.slices, job.memory_gb
        _, most = greatest.setdefault(place, (job, numbers))
        for i, number in enumerate(numbers):
            most[i] = max(most[i], number)
    names = "gradient_mb", "batch_size", "forward_ms_per_sample", "backward_ms"
    for job, numbers in greatest.values():
        found.append(job.model_copy(update=dict(zip(names, numbers, strict=True))))
    return tuple(found)


def _require_speed(instance: Instance, ranges: Sequence[tuple[float, float]], source: str) -> None:
    timeless = [
        Problem(f"jobs[{i}]", f"an iteration of job {job.name!r} takes 0 s; it must take more")
        for i, (job, (best, _)) in enumerate(zip(instance.jobs, ranges, strict=True))
        if best <= 0
    ]
    if timeless:
        raise InputError(timeless, source)
    slot = instance.time.slot_seconds
    stuck = [(best, i) for i, (best, _) in enumerate(ranges) if timing.speed(slot, best) == 0]
    stay = [
        instance.jobs[i].running is not None and not may_stop(instance, instance.jobs[i])
        for _, i in stuck
    ]
    problems = [
        _stuck_where_it_runs(instance, i, best)
        for (best, i), stays in zip(stuck, stay, strict=True)
        if stays
    ]
    others = [one for one, stays in zip(stuck, stay, strict=True) if not stays]
    if others:
        names = ", ".join(repr(instance.jobs[i].name) for _, i in others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        jobs = "jobs" if len(others) > 1 else "job"
        message = (
            f"{slot!r}; slot too short for {jobs} {names}{more}: alone in its best placement an "
            f"iteration takes {max(others)[0]:.6g} s, and a slot must hold one"
        )
        problems.insert(0, Problem("time.slot_seconds", message))
    if problems:
        raise InputError(problems, source)


def _stuck_where_it_runs(instance: Instance, i: int, seconds: float) -> Problem:
    job = instance.jobs[i]
    where = "" if job.running is None else job.running.told()
    return Problem(
        f"jobs[{i}].running.gpus",
        f"job {job.name!r} makes no progress where it runs, on {where}: an iteration takes "
        f"{seconds:.6g} s there even without other rings, a slot has {instance.time.slot_seconds:g}"
        " s and must hold one, and jobs are not interrupted",
    )


def best_placements(instance: Instance) -> tuple[dict[int, int], ...]:
    """A placement of each job in which it is fastest if alone: workers by server index."""
    return realised(instance, [min(options, key=_by_time) for options in lone_options(instance)])


def _by_time(option: Lone) -> tuple[float, int, float]:
    return option.seconds, option.servers, option.gbps


@once_per_instance
def iteration_ranges(instance: Instance) -> tuple[tuple[float, float], ...]:
    """Least and greatest iteration time of each job in seconds."""
    tree = topology(instance.cluster)
    slowest_share = _slowest_shares(instance, tree)
    least_within = min(within_gbps(instance.cluster, s) for s in range(len(tree.paths)))
    every = allowed_servers(instance)

    def worst(j: int, size: int, packed: Collection[int]) -> Iterator[tuple[int, float]]:
        """Servers and bandwidth of what may be slowest."""
        job = instance.jobs[j]
        if size in packed:
            yield 1, least_within
        most = min(size, len(every[j]), (job.spread and job.spread.max_servers) or size)
        if most > 1:
            yield most, slowest_share[size]

    if found := columns(instance):
        return _ranges_of_columns(instance, found, worst)
    ranges, loads = [], greatest_loads(instance)
    for j, (own, alone) in enumerate(_each_alone(instance)):
        options = [*alone]
        best = min([pace.seconds(servers, gbps) for pace, servers, gbps, _ in options])
        packed = [pace.size for pace, servers, _, _ in options if servers == 1]
        shapes = [
            (pace.beside(loads[j]), shape)
            for (size, _), pace in own.items()
            for shape in worst(j, size, packed)
        ]
        ranges.append((best, max(pace.seconds(*shape) for pace, shape in shapes)))
    return tuple(ranges)


def _ranges_of_columns(
    instance: Instance,
    found: Sequence[Column],
    worst: Callable[[int, int, Collection[int]], Iterator[tuple[int, float]]],
) -> tuple[tuple[float, float], ...]:
    """The same for jobs in columns."""
    import numpy as np  # noqa: PLC0415 - columns of many jobs only

    ranges = np.zeros((len(instance.jobs), 2))
    first = instance.model_copy(
        update={"jobs": tuple(instance.jobs[column.jobs[0]] for column in found)}
    )
    for (jobs, pace), options in zip(found, lone_options(first), strict=True):
        packed = [pace.size] if any(option.servers == 1 for option in options) else []
        slow = [pace.seconds(*shape) for shape in worst(jobs[0], pace.size, packed)]
        fast = [pace.seconds(option.servers, option.gbps) for option in options]
        ranges[jobs, 0], ranges[jobs, 1] = np.min(fast, axis=0), np.max(slow, axis=0)
    same: dict[tuple[float, float], tuple[float, float]] = {}
    pairs: Iterator[tuple[float, float]] = zip(*ranges.T.tolist(), strict=True)
    return tuple(same.setdefault(pair, pair) for pair in pairs)


def _each_alone(instance: Instance) -> Iterator[tuple[Paces, Iterator[Lone]]]:
    """(jobs) Paces and placements worth having alone, not kept: with many jobs that takes long."""
    kept, used = tee(each_paces(instance))
    return zip(kept, each_lone_options(instance, used), strict=True)


def _slowest_shares(instance: Instance, tree: Topology) -> dict[int, float]:
    """For each ring size, a lower bound on its bandwidth across servers, in Gbit/s.

    No ring has less than the least that network cards leave one.
    """
    total = sum(tree.places) if shares_gpus(instance) else instance.cluster.total_gpus
    # Of a moldable job, the smallest ring that spreads leaves the most room for others.
    rings = sorted(
        min(size for size in job.sizes if size > 1) for job in instance.jobs if job.sizes[-1] > 1
    )
    needed = [0, *accumulate(rings)]
    links = _worst_links(tree)

    @cache
    def slowest(together: int) -> float:
        least = min(
            (worst_share(instance, gbps, min(together, most_rings)) for gbps, most_rings in links),
            default=instance.cluster.intra_server_gbps,
        )
        return min(least, tree.least_gbps)

    shares = {}
    for size in {size for job in instance.jobs for size in job.sizes if size > 1}:
        # As many rings as fit the cluster at once with one of this size among them.
        together = bisect_right(needed, total) - 1
        if together and size > rings[together - 1] and not shares_gpus(instance):
            together = bisect_right(needed, total - size)
        shares[size] = slowest(together)
    return shares


def _worst_links(tree: Topology) -> list[tuple[float, int]]:
    """Rate in Gbit/s and most rings of the links that can give the least share.

    A share never grows with the number of rings and never shrinks with the rate. So a link is left
    out if another link is no faster and takes no fewer rings. Every ring on a link has a worker
    below and one above.
    """
    slowest: dict[int, float] = {}
    for link, most_rings in zip(tree.links, tree.most_rings, strict=True):
        if most_rings:
            slowest[most_rings] = min(link.gbps, slowest.get(most_rings, inf))
    worst: list[tuple[float, int]] = []
    for most_rings in sorted(slowest, reverse=True):
        if not worst or slowest[most_rings] < worst[-1][0]:
            worst.append((slowest[most_rings], most_rings))
    return worst


def slowest_alone(instance: Instance) -> tuple[int | None, ...]:
    """Execution time of each job in slots, alone in its slowest placement; None without progress.

    The slowest placement is within one server, or on the most servers with the slowest link among
    those used: a ring of several workers has one below that link and one above it, and then one on
    each other server. Where servers have several network cards, it is no slower than told here.
    """
    tree = topology(instance.cluster)
    cluster = instance.cluster
    rates = [
        link.gbps
        for link, most_rings in zip(tree.links, tree.most_rings, strict=True)
        if most_rings
    ]
    slowest = min([*rates, tree.least_gbps]) if rates else None
    least_within = min(within_gbps(cluster, s) for s in range(len(tree.paths)))
    slots: list[int | None] = []
    for j, options in enumerate(lone_options(instance)):
        servers = len(allowed_servers(instance)[j])
        times: list[int | None] = []
        for (size, _), pace in paces(instance)[j].items():
            if any(option.servers == 1 and option.pace.size == size for option in options):
                times.append(pace.slots(1, least_within))
            if size > 1 and servers > 1 and slowest is not None:
                times.append(pace.slots(min(size, servers), slowest))
        slots.append(None if None in times else max(time for time in times if time is not None))
    return tuple(slots)


def slowest_with_progress(instance: Instance) -> tuple[int | None, ...]:
    """The same over the placements in which a job makes progress; None if it has none.

    It may be more than any placement takes: each number of servers is taken with each rate.
    """
    cluster, tree = instance.cluster, topology(instance.cluster)
    rates = sorted({link.gbps for link in tree.links}.union(tree.part_rates))
    found = zip(instance.jobs, paces(instance), allowed_servers(instance), strict=True)
    slots: list[int | None] = []
    for job, own, allowed in found:
        within = sorted({within_gbps(cluster, s) for s in allowed})
        fewest, most = 1, len(allowed)
        if job.spread is not None:
            fewest, most = job.spread.min_servers, min(most, job.spread.max_servers or most)
        times = [
            next((time for gbps in some if (time := pace.slots(servers, gbps))), 0)
            for (size, _), pace in own.items()
            for servers in range(fewest, min(size, most) + 1)
            for some in (within if servers == 1 else rates,)
        ]
        slots.append(max(times, default=0) or None)
    return tuple(slots)


@dataclass(frozen=True, slots=True)
class LeastSlots:
    """Least execution time of one job alone in the cluster, by placement.

    Attributes
    ----------
    packed
        In slots, on one server; None if no server is large enough or the job makes no progress.
    spread
        In slots, on several servers; None if impossible or without progress.
    fewest_servers
        The fewest servers, at least 2, of a spread ring; None if it cannot spread.
    """

    packed: int | None
    spread: int | None
    fewest_servers: int | None


@once_per_instance
def least_slots_by_placement(instance: Instance) -> tuple[LeastSlots, ...]:
    """Least execution time of each job on one server and on several, in job order."""
    same: dict[tuple[int | None, ...], LeastSlots] = {}  # Of a million jobs many are alike.
    found = []
    for alone in each_lone_options(instance, each_paces(instance)):
        options = [*alone]
        # Slots on one server and on several, where there are such placements.
        least: list[list[int]] = [[], []]
        for option in options:
            if slots := option.pace.slots(option.servers, option.gbps):
                least[option.servers > 1].append(slots)
        packed, spread = (min(slots, default=None) for slots in least)
        fewest = min((option.servers for option in options if option.servers > 1), default=None)
        key = packed, spread, fewest
        found.append(same.setdefault(key, LeastSlots(*key)))
    return tuple(found)


@once_per_instance
def slots_alone(instance: Instance) -> tuple[int, ...]:
    """(jobs) Slots of a job alone in an empty cluster, in its best size and placement, ρ_j^min.

    All of its iterations count, whatever is done when it runs already.
    """
    if all(job.running is None for job in instance.jobs):
        return tuple(extreme.least_slots for extreme in job_extremes(instance))
    unbegun = tuple(job.model_copy(update={"running": None}) for job in instance.jobs)
    empty = instance.model_copy(update={"jobs": unbegun})
    return tuple(extreme.least_slots for extreme in job_extremes(empty))
