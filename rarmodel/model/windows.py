"""When jobs can be active: releases, deadlines, and the jobs that they wait for (section 9)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.schema import Instance

from .extremes import job_extremes
from .objectives import Value, objectives_of


class Window(NamedTuple):
    """Slots in which a job can be active.

    Attributes
    ----------
    start
        The earliest start.
    end
        The latest completion.
    """

    start: int
    end: int


def windows(
    instance: Instance,
    horizon: int,
    at_most: Sequence[Value] = (),
    known: Sequence[Window] | None = None,
) -> tuple[Window, ...]:
    """(jobs) When each job can be active in a schedule that ends by a slot.

    A job starts after its release and after the jobs that it waits for, which take at least their
    least execution times; likewise it completes by its deadline, in time for those that wait for
    it. Where a window is shorter than the job, no schedule ends by that slot.

    Parameters
    ----------
    instance, horizon
        The problem, and the slot.
    at_most
        Values that the instance's objectives may take at most, the most important first: a job
        that ends too late takes one of them further, however early the others end.
    known
        (jobs) Windows that all such schedules are known to keep, for other reasons.
    """
    least = [extreme.least_slots for extreme in job_extremes(instance)]
    start = [max(0, job.release) for job in instance.jobs]
    end = [horizon if job.deadline is None else min(horizon, job.deadline) for job in instance.jobs]
    if known is not None:
        start = [max(at, window.start) for at, window in zip(start, known, strict=True)]
        end = [min(at, window.end) for at, window in zip(end, known, strict=True)]
    before = waited_for(instance)
    order = in_order(before)
    for j in order:
        start[j] = max([start[j], *(start[k] + least[k] for k in before[j])])
    soonest = [at + slots for at, slots in zip(start, least, strict=True)]
    for one, value in zip(objectives_of(instance), at_most, strict=False):
        terms = one.terms(instance)
        least_values = [term.at(soonest[j]) for j, term in enumerate(terms) if term is not None]
        spare = 0 if one.greatest else value - sum(least_values)
        for j, term in enumerate(terms):
            if term is not None:
                most = value if one.greatest else term.at(soonest[j]) + spare
                ends = range(soonest[j], max(end[j], soonest[j]) + 1)
                end[j] = min(end[j], soonest[j] - 1 + bisect_right(ends, most, key=term.at))
    for j in reversed(order):
        for k in before[j]:
            end[k] = min(end[k], end[j] - least[j])
    return tuple(map(Window, start, end))


def waited_for(instance: Instance) -> list[list[int]]:
    """(jobs) The jobs that each waits for, by index."""
    index = {job.name: j for j, job in enumerate(instance.jobs)}
    return [[index[name] for name in job.after] for job in instance.jobs]


def in_order(before: list[list[int]]) -> list[int]:
    """Jobs such that each comes after those that it waits for."""
    after: list[list[int]] = [[] for _ in before]
    missing = [len(names) for names in before]
    for j, names in enumerate(before):
        for k in names:
            after[k].append(j)
    ready = [j for j, number in enumerate(missing) if number == 0]
    for k in ready:  # Grows as it goes.
        for j in after[k]:
            missing[j] -= 1
            if missing[j] == 0:
                ready.append(j)
    return ready
