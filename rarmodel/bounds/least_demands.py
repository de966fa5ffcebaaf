"""What each job needs at least: of time, of GPUs, and to wait.

Areas of GPUs are counted in parts of a GPU, of which workers hold whole numbers: in GPUs where none
is shared. A worker that takes slices holds at least the least part of a GPU that these are on the
servers which its job may use; and all on a GPU together hold one at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from rarmodel.model import Extremes, horizon_of, job_extremes, lone_options, windows
from rarmodel.model.caching import once_per_instance
from rarmodel.model.held_parts import held_parts
from rarmodel.model.interruptions import may_stop
from rarmodel.model.timing import slots_needed
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Shared


class Work(NamedTuple):
    """What a job needs at least.

    Attributes
    ----------
    job
        Its index.
    head
        The slot before which it cannot start.
    area
        Parts of GPUs times slots, at least; of another machine than the cluster, what the job uses
        of it, times slots.
    slots
        Slots from start to completion, at least.
    span
        Slots in which a job could have this area at most: the area by the most that it can hold. As
        many as `slots` where a job always holds as much; 0 is the least.
    """

    job: int
    head: int
    area: int
    slots: int
    span: int


class Machine(NamedTuple):
    """One machine that is no slower than the cluster: it does `speed` units of area in a slot.

    Attributes
    ----------
    speed
        How much jobs can use at once.
    works
        What each job that uses something needs at least, by index.
    of
        What the jobs share on it, as certificates name that; None for all GPUs.
    """

    speed: int
    works: Mapping[int, Work]
    of: Shared | None = None


@once_per_instance
def works(instance: Instance) -> tuple[Work, ...]:
    """(jobs) What each job needs at least."""
    begins = windows(instance, horizon_of(instance))
    held = held_parts(instance).least
    areas = least_areas(instance, lambda j, gpus: gpus * held[j])
    needs = zip(begins, areas, job_extremes(instance), strict=True)
    return tuple(
        Work(j, window.start, area, extreme.least_slots, _span(instance, j, area, extreme))
        for j, (window, area, extreme) in enumerate(needs)
    )


def all_gpus(instance: Instance) -> Machine:
    """The GPUs of the cluster together, of which every job uses some."""
    speed = instance.cluster.total_gpus * held_parts(instance).of_gpu
    return Machine(speed, dict(enumerate(works(instance))))


def filled(machine: Machine) -> int:
    """Slots until a machine has done everything, if it is never idle for what may start.

    From each earliest start on, jobs that can start then or later need their area for themselves.
    """
    needed = slots = 0
    for work in sorted(machine.works.values(), key=lambda work: -work.head):
        needed += work.area
        slots = max(slots, work.head - (-needed // machine.speed))
    return slots


def resizes(instance: Instance, job: int) -> bool:
    """Whether a job may have several ring sizes, one after another."""
    return may_stop(instance, instance.jobs[job]) and len(instance.jobs[job].sizes) > 1


def _span(instance: Instance, job: int, area: int, extreme: Extremes) -> int:
    _, least, most = held_parts(instance)
    moves = least[job] < most[job] and may_stop(instance, instance.jobs[job])
    if moves or resizes(instance, job):
        return area // (instance.jobs[job].sizes[-1] * most[job])
    return extreme.least_slots


def least_areas(
    instance: Instance, use: Callable[[int, int], int] = lambda _, gpus: gpus
) -> list[int]:
    """(jobs) The fewest GPU slots that a job can hold, over all of its ring sizes.

    A job that may be resized mixes sizes: with at most `φ_w` iterations in a slot of w GPUs, each
    iteration takes at least the least `w/φ_w` of them. The same holds for anything else of which a
    job uses an amount that depends on its ring size.

    Parameters
    ----------
    instance
        The problem.
    use
        What a job, by index, uses with so many GPUs; by default these GPUs.
    """
    each = enumerate(zip(instance.jobs, job_extremes(instance), strict=True))
    found = [use(j, job.sizes[0]) * extreme.least_slots for j, (job, extreme) in each]
    # Options of many jobs of one size each need much memory, and say nothing new.
    several = [j for j, job in enumerate(instance.jobs) if len(job.sizes) > 1]
    options = lone_options(instance) if several else ()
    for j in several:
        rates = [(o.pace.size, o.pace.speed(o.servers, o.gbps)) for o in options[j]]
        left = instance.jobs[j].iterations_left
        if resizes(instance, j):
            found[j] = ceil(left * min(Fraction(use(j, w), speed) for w, speed in rates if speed))
        else:
            found[j] = min(use(j, w) * slots_needed(left, speed) for w, speed in rates if speed)
    return found
