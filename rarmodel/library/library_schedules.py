"""Schedules as the library has them: the start of each job, and how many GPUs of which servers."""

from __future__ import annotations

from rarmodel.errors import InputError, Problem
from rarmodel.instances import Known
from rarmodel.instances.library import Placed
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import Run, simulate


def compact(instance: Instance, schedule: Schedule) -> tuple[Placed, ...]:
    """A verified schedule without interruptions, in the order of the instance's jobs."""
    placed = {one.job: one for one in schedule.assignments}
    return tuple(
        (one.start, {server: len(gpus) for server, gpus in one.gpus.items() if gpus})
        for one in (placed[job.name] for job in instance.jobs)
    )


def expanded(instance: Instance, known: Known) -> Schedule:
    """The schedule of a library, with a number for each GPU; to be verified.

    Raises
    ------
    InputError
        If it cannot be carried out: another number of jobs, an unknown server, more GPUs of a
        server than it has, or a job that never completes.
    """
    jobs, given = instance.jobs, known.schedule
    if len(given) != len(jobs):
        message = f"{len(given)} entries; the instance has {len(jobs)} jobs"
        raise InputError([Problem("schedule", message)])
    servers = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    if unknown := [
        Problem(f"schedule[{i}]", f"the instance has no server {name!r}")
        for i, (_, gpus) in enumerate(given)
        for name in gpus.keys() - servers.keys()
    ]:
        raise InputError(unknown)
    workers = [{servers[name]: count for name, count in gpus.items()} for _, gpus in given]
    starts = [start for start, _ in given]
    runs = [Run(*one) for one in zip(jobs, starts, workers, strict=True)]
    ends = simulate(instance, runs).completion
    if never := [
        Problem(f"schedule[{i}]", f"job {jobs[i].name!r} never completes")
        for i, end in enumerate(ends)
        if end is None
    ]:
        raise InputError(never)
    try:
        assignments = assign_gpus(instance, starts, [end or 0 for end in ends], workers)
    except InputError as error:
        raise InputError(
            Problem(one.place.replace("jobs", "schedule"), one.message) for one in error.problems
        ) from error
    return Schedule(
        schema_version=1, instance=instance.name, method=known.best.by, assignments=assignments
    )
