"""Bounds from the jobs' sizes and least execution times, in a few passes over the jobs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

from rarmodel.model import job_extremes, lone_options
from rarmodel.schema import Instance

from .bound import LowerBound


def longest_job(instance: Instance) -> LowerBound:
    """The latest of releases plus least execution times: every job must run."""
    extremes = zip(instance.jobs, job_extremes(instance), strict=True)
    ends = (max(0, job.release) + extreme.least_slots for job, extreme in extremes)
    return LowerBound(max(ends), "longest job")


def area(instance: Instance) -> LowerBound:
    """GPU slots needed over GPUs: job j holds a ring of w GPUs for at least its least time then.

    From each release on, jobs that are released then or later need that for themselves.
    """
    total = instance.cluster.total_gpus
    latest_first = sorted(
        zip((max(0, job.release) for job in instance.jobs), least_areas(instance), strict=True),
        reverse=True,
    )
    needed = bound = 0
    for release, least in latest_first:
        needed += least
        bound = max(bound, release - (-needed // total))
    return LowerBound(bound, "area")


def least_areas(instance: Instance) -> list[int]:
    """(jobs) The fewest GPU slots that a job can hold, over all of its ring sizes."""
    return [
        min(
            option.pace.size * slots
            for option in options
            if (slots := option.pace.slots(option.servers, option.gbps))
        )
        for options in lone_options(instance)
    ]


def wide_jobs(instance: Instance) -> LowerBound:
    """Jobs that are too wide to run side by side run one after another.

    Of the jobs with more than half the cluster's GPUs, one runs at a time; `greatest_area` extends
    this to narrower jobs. A schedule of length θ has `N·θ` GPU slots. This also holds for changed
    sizes, if jobs that fit the cluster together still fit with these sizes.
    """
    total = instance.cluster.total_gpus
    work: Counter[int] = Counter()
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        work[job.size] += extreme.least_slots
    return LowerBound(-(-greatest_area(work, total) // total), "wide jobs")


def long_jobs(instance: Instance) -> LowerBound:
    """Jobs that are too long to follow each other on a GPU need GPUs of their own.

    A schedule of length θ has at most one job longer than θ/2 on each GPU; `greatest_area` extends
    this to shorter jobs. The bound is one more than the greatest θ that needs more GPUs than the
    cluster has.
    """
    total = instance.cluster.total_gpus
    gpus: Counter[int] = Counter()
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        gpus[extreme.least_slots] += job.size
    known = max(longest_job(instance).slots, area(instance).slots)
    step = 1
    while step > 0:
        length = known + step - 1
        if greatest_area(gpus, length) > total * length:
            known += step
            step *= 2
        else:
            step //= 2
    return LowerBound(known, "long jobs")


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
    sizes = sorted(weights)
    weight = [0, *accumulate(weights[size] for size in sizes)]
    area = [0, *accumulate(size * weights[size] for size in sizes)]
    greatest = 0
    # Of whole sizes, half of an odd capacity counts as the next number does.
    half = -(-capacity // 2)
    for threshold in [*(size for size in sizes if 2 * size <= capacity), half]:
        low, high = bisect_left(sizes, threshold), bisect_right(sizes, capacity - threshold)
        counted = area[high] - area[low] + capacity * (weight[-1] - weight[high])
        greatest = max(greatest, counted)
    return greatest
