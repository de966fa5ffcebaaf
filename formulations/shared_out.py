"""Jobs shared out among GPUs by their estimated execution times, as evenly as can be (14)–(16).

The numbers of `busy-time`, and its starting solution: longest jobs first, without a solver.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import floor, isfinite

from rarmodel.errors import UsageError
from rarmodel.heuristics import Estimate, estimate
from rarmodel.heuristics.idle_gpus import TOLERANCE
from rarmodel.schema.problems import show

from .scope import Scope, once_per_scope

Gpu = tuple[str, int]
Served = dict[Gpu, dict[str, int]]
"""By GPU: how often it serves a job, or a job merged with it."""

MAX_WEIGHT = 10_000
"""Greatest weight in the order of GPUs: see `symmetry.MAX_WEIGHT`."""


def estimates_of(scope: Scope) -> Estimate:
    """The estimates in `data["estimates"]` by job; the default is the least execution time.

    Raises
    ------
    UsageError
        If a job does not exist, or an estimate is not a number above 0.
    """
    given = scope.read("estimates", {})
    if not hasattr(given, "items"):
        raise UsageError(f"estimates: {show(given)}; an object with slots by job is expected")
    scope.check_jobs(given, "estimates")
    for name, slots in given.items():
        number = isinstance(slots, int | float) and not isinstance(slots, bool)
        if not (number and isfinite(slots) and slots > 0):
            raise UsageError(f"estimates: {show(slots)} for job {name!r}; slots above 0 expected")
    return estimate(
        scope.instance, [given.get(name, least) for name, least in scope.least_slots.items()]
    )


@dataclass(frozen=True)
class Work:
    """Estimated execution times in whole units.

    Attributes
    ----------
    unit
        Units in a slot: 1, or 1000 if some ρ̂_j/u is not whole.
    of
        By job: ρ̂_j/u in units, rounded down.
    """

    unit: int
    of: dict[str, int]


def work_of(scope: Scope) -> Work:
    """ρ̂_j/u of each job in whole units."""
    slots = estimates_of(scope).work
    unit = 1 if all(abs(w - round(w)) <= TOLERANCE for w in slots) else 1000
    return Work(
        unit, {j: floor(w * unit + TOLERANCE) for j, w in zip(scope.jobs, slots, strict=True)}
    )


@dataclass(frozen=True)
class WorkToShare:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    scope
        The scope of the model.
    work
        ρ̂_j/u.
    equal
        By job that stands for others: all jobs for which it stands, itself included.
    gpus
        All GPUs.
    weights
        By such a job: its weight in the order of GPUs; empty if GPUs are not ordered.
    """

    scope: Scope
    work: Work
    equal: dict[str, list[str]]
    gpus: list[Gpu]
    weights: dict[str, int]


@once_per_scope
def work_to_share(scope: Scope) -> WorkToShare:
    """The numbers of a scope."""
    work = work_of(scope)
    gpus = [(s, i) for s, server in scope.servers.items() for i in range(server.gpus)]
    if scope.every_schedule:
        return WorkToShare(scope, work, {j: [j] for j in scope.jobs}, gpus, {})
    groups: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for j, job in scope.jobs.items():
        groups[job.size, work.of[j]].append(j)
    equal = {group[0]: group for group in groups.values()}
    chosen: list[str] = []
    most = 1
    for j in sorted(equal, key=lambda j: -work.of[j] * len(equal[j]) * scope.jobs[j].size):
        most *= 1 + len(equal[j])
        if most > MAX_WEIGHT:
            break
        chosen.append(j)
    weights, weight = dict[str, int](), 1
    for j in reversed(chosen):  # Each weighs more than all lighter ones together can.
        weights[j] = weight
        weight *= 1 + len(equal[j])
    return WorkToShare(scope, work, equal, gpus, weights)


def shared_out(data: WorkToShare, stop: Callable[[], bool] = lambda: False) -> Served:
    """A starting solution: share the jobs out almost as evenly as possible.

    First the jobs, longest first, go to the least busy GPUs (LPT). Then, under limits between the
    bound on θ_u and the first result, they go to the busiest GPUs that they still fit (MULTIFIT),
    until it is time to stop.
    """
    best = _longest_first(data, None)
    assert best is not None  # noqa: S101 - without a limit jobs always fit
    low, high = least_limit(data), busiest(data, best) - 1
    while low <= high and not stop():
        middle = (low + high) // 2
        found = _longest_first(data, middle)
        if found is None:
            low = middle + 1
        else:
            best, high = found, middle - 1
    return best


def _longest_first(data: WorkToShare, limit: int | None) -> Served | None:
    """Share the jobs out: the longest choose first, and among equals the widest.

    They choose the least busy GPUs; with a limit in slots, the busiest GPUs that they fit. Of
    equally busy ones they choose the first. None if some job does not find enough GPUs.
    """
    served: Served = {g: {} for g in data.gpus}
    gpus = list(data.gpus)
    among: dict[int, list[int]] = {0: list(range(len(gpus)))}  # Heaps of GPUs, by their load.
    loads = [0]
    sizes = {j: data.scope.jobs[j].size for j in data.equal}
    for j in sorted(data.equal, key=lambda j: (-data.work.of[j], -sizes[j])):
        work, size = data.work.of[j], sizes[j]
        most = None if limit is None else limit * data.work.unit - work
        for _ in data.equal[j]:
            chosen = list[tuple[int, int]]()
            while len(chosen) < size:
                place = 0 if most is None else bisect_right(loads, most) - 1
                if place < 0:
                    return None
                load = loads[place]
                take = min(size - len(chosen), len(among[load]))
                chosen += [(load, heappop(among[load])) for _ in range(take)]
                if not among[load]:
                    del among[load], loads[place]
            for load, g in chosen:
                served[gpus[g]][j] = served[gpus[g]].get(j, 0) + 1
                if load + work not in among:
                    among[load + work] = []
                    insort(loads, load + work)
                heappush(among[load + work], g)
    return served


def least_limit(data: WorkToShare) -> int:
    """Slots of the longest job, or the mean of all work over GPUs, whichever is greater."""
    unit, of = data.work.unit, data.work.of
    area = sum(of[j] * job.size for j, job in data.scope.jobs.items())
    return max(-(-max(of.values()) // unit), -(-area // (unit * len(data.gpus))))


def busiest(data: WorkToShare, served: Served) -> int:
    """How long the busiest GPU is busy, in whole slots."""
    units = max(sum(data.work.of[j] * n for j, n in jobs.items()) for jobs in served.values())
    return -(-units // data.work.unit)


def simple_bounds(scope: Scope, stop: Callable[[], bool] = lambda: False) -> tuple[int, int]:
    """A range in slots for the least limit, without a solver.

    The range goes from the longest job, or the mean over GPUs, to the limit of the starting
    solution, which is improved until it is time to stop.
    """
    data = work_to_share(scope)
    return least_limit(data), busiest(data, shared_out(data, stop))
