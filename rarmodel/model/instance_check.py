"""Whether an instance has a meaning: jobs make progress somewhere, and slots can be counted."""

from __future__ import annotations

from collections.abc import Iterator

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Instance
from rarmodel.schema.base import MAX_INTEGER

from . import timing
from .extremes import require_progress
from .horizon import horizon_of, last_event
from .interruptions import left_if_moved


def check_instance(instance: Instance, source: str = "") -> None:
    """Refuse an instance with a job that never makes progress, or with slots beyond all numbers.

    Raises
    ------
    InputError
        With every job that makes no progress even alone in its best placement (reading 3), or of
        which an iteration takes 0 s; or, without a horizon, with the sum of slots that is too
        large.
    """
    require_progress(instance, source)
    if instance.time.horizon is None:
        require_whole(instance, source)


def require_whole(instance: Instance, source: str = "") -> None:
    """Refuse an instance of which schedules may end beyond the largest whole number, 2^53 − 1.

    Raises
    ------
    InputError
        With the last slot at which something changes, and the slots that jobs take after it.
    """
    last = last_event(instance)
    # Most instances are far from that, and need no closer look.
    jobs, each = len(instance.jobs), 1 + timing.restore_slots(instance)
    work = each * (jobs + sum(left_if_moved(instance, job) for job in instance.jobs))
    running = sum(job.iterations_left for job in instance.jobs if job.running is not None)
    if last + work + (jobs + 1) * running <= MAX_INTEGER:
        return
    free = instance.model_copy(update={"time": instance.time.model_copy(update={"horizon": None})})
    total = horizon_of(free)
    if total <= MAX_INTEGER:
        return
    place, _ = max(_moments(instance), key=lambda one: one[1])
    message = (
        f"{last}; with the {total - last} slots that the jobs take one after another, schedules "
        f"may end at slot {total}, and slots must stay below 2^53"
    )
    if last == 0:
        message = f"one after another they take {total} slots; slots must stay below 2^53"
    raise InputError([Problem(place, message)], source)


def _moments(instance: Instance) -> Iterator[tuple[str, int]]:
    """Place and value of each slot that the instance names."""
    yield "jobs", 0
    for i, job in enumerate(instance.jobs):
        for name, slot in (("release", job.release), ("due", job.due), ("deadline", job.deadline)):
            if slot is not None:
                yield f"jobs[{i}].{name}", slot
    for i, one in enumerate(instance.cluster.reservations):
        for name, slot in (("from", one.start), ("to", one.end)):
            if slot is not None:
                yield f"cluster.reservations[{i}].{name}", slot
    for i, resource in enumerate(instance.resources):
        windows = resource.capacity if isinstance(resource.capacity, tuple) else ()
        for k, window in enumerate(windows):
            for name, slot in (("from", window.start), ("to", window.end)):
                if slot is not None:
                    yield f"resources[{i}].capacity[{k}].{name}", slot
    for i, service in enumerate(instance.services):
        for k, entry in enumerate(service.demand):
            yield f"services[{i}].demand[{k}].to", entry.end
