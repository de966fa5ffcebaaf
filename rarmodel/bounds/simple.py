"""Bounds from the jobs' sizes and least execution times, in a few passes over the jobs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Literal

from rarmodel.model import job_extremes
from rarmodel.model.features import PREEMPTION
from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import EachJob, GpuPrices

from .arguments import of_area, of_interval, of_jobs_alone
from .bound import ALWAYS, FIXED_SIZES, ON_MAKESPAN, Bound, Certify
from .least_demands import all_gpus, filled, works


def longest_job(instance: Instance) -> int:
    """The latest of earliest starts plus least execution times: every job must run."""
    return max(work.head + work.slots for work in works(instance))


def area(instance: Instance) -> int:
    """GPU slots needed over GPUs: job j holds a ring of w GPUs for at least its least time then.

    From each earliest start on, jobs that can start then or later need that for themselves. Where
    GPUs are shared, a job needs of each GPU the least part that its slices are of one.
    """
    return filled(all_gpus(instance))


def wide_jobs(instance: Instance) -> int:
    """Jobs that are too wide to run side by side run one after another.

    Of the jobs with more than half the cluster's GPUs, one runs at a time; `greatest_area` extends
    this to narrower jobs. A schedule of length θ has `N·θ` GPU slots. This also holds for changed
    sizes, if jobs that fit the cluster together still fit with these sizes.
    """
    total = instance.cluster.total_gpus
    work: Counter[int] = Counter()
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        work[job.size] += extreme.least_slots
    return -(-greatest_area(work, total) // total)


def long_jobs(instance: Instance) -> int:
    """Jobs that are too long to follow each other on a GPU need GPUs of their own.

    A schedule of length θ has at most one job longer than θ/2 on each GPU; `greatest_area` extends
    this to shorter jobs. The bound is one more than the greatest θ that needs more GPUs than the
    cluster has.
    """
    total = instance.cluster.total_gpus
    gpus: Counter[int] = Counter()
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        gpus[extreme.least_slots] += job.size
    known = max(longest_job(instance), area(instance))
    step = 1
    while step > 0:
        length = known + step - 1
        if greatest_area(gpus, length) > total * length:
            known += step
            step *= 2
        else:
            step //= 2
    return known


def greatest_area(weights: Mapping[int, int], capacity: int) -> int:
    """Greatest area of items, if sizes may be rounded to what they block.

    For any `ε ≤ capacity/2`, count a size above `capacity − ε` as the whole capacity, one below ε
    as 0, and any other as it is. Items that fit the capacity together still fit: an item that
    counts as the whole capacity leaves room only for items that count as 0. (A dual feasible
    function: S. Fekete, J. Schepers, "New classes of fast lower bounds for bin packing problems",
    Mathematical Programming 91, 2001.)

    Parameters
    ----------
    weights
        Weight of the items of each size, at most `capacity`; an item's area is size times weight.
    capacity
        The size that the items share.
    """
    return max((area for area, _ in _areas(weights, capacity)), default=0)


def _areas(weights: Mapping[int, int], capacity: int) -> Iterator[tuple[int, int]]:
    """The same area for each threshold ε that may be the best, with that threshold."""
    sizes = sorted(weights)
    weight = [0, *accumulate(weights[size] for size in sizes)]
    area = [0, *accumulate(size * weights[size] for size in sizes)]
    # Of whole sizes, half of an odd capacity counts as the next number does.
    half = -(-capacity // 2)
    for threshold in [*(size for size in sizes if 2 * size <= capacity), half]:
        low, high = bisect_left(sizes, threshold), bisect_right(sizes, capacity - threshold)
        yield area[high] - area[low] + capacity * (weight[-1] - weight[high]), threshold


def _of_rounded(what: Literal["gpus", "slots"]) -> Certify:
    """Jobs that block more than they are, by GPUs or by slots; or what their areas prove."""

    def certify(
        instance: Instance, objective: Objective, value: Value
    ) -> EachJob | GpuPrices | None:
        if (plain := of_area(instance, objective, value)) is not None:
            return plain
        below = int(value) - 1
        whole = instance.cluster.total_gpus if what == "gpus" else below
        each = zip(instance.jobs, job_extremes(instance), strict=True)
        jobs = [(job.size, extreme.least_slots) for job, extreme in each]
        jobs = jobs if what == "gpus" else [(slots, gpus) for gpus, slots in jobs]
        weights: Counter[int] = Counter()
        for number, weight in jobs:
            weights[number] += weight
        _, threshold = max(_areas(weights, whole))
        least = {}
        for j, (number, weight) in enumerate(jobs):
            blocked = whole if number > whole - threshold else number
            least[j] = 0 if number < threshold else weight * blocked
        room = instance.cluster.total_gpus * below
        return of_interval(instance, below, 0, below, least, room, rounded=(what, threshold))

    return certify


LONGEST_JOB = Bound(
    "longest job",
    "every job must run, and is fastest alone in its best placement",
    lambda instance, _: longest_job(instance),
    objectives=ON_MAKESPAN,
    handles=ALWAYS,
    of_limit=True,
    rank=0,
    certify=of_jobs_alone,
)
AREA = Bound(
    "area",
    "the jobs need this many slots even if they fill every GPU in every slot",
    lambda instance, _: area(instance),
    objectives=ON_MAKESPAN,
    handles=ALWAYS,
    of_limit=True,
    rank=1,
    certify=of_area,
)
WIDE_JOBS = Bound(
    "wide jobs",
    "jobs that are too wide to run side by side run one after another",
    lambda instance, _: wide_jobs(instance),
    objectives=ON_MAKESPAN,
    handles=FIXED_SIZES | {PREEMPTION.name},  # It looks at each slot by itself.
    rank=2,
    certify=_of_rounded("gpus"),
)
LONG_JOBS = Bound(
    "long jobs",
    "jobs that are too long to follow each other on a GPU need GPUs of their own",
    lambda instance, _: long_jobs(instance),
    objectives=ON_MAKESPAN,
    handles=FIXED_SIZES,
    of_limit=True,
    rank=3,
    certify=_of_rounded("slots"),
)
