"""Turn starts and workers into a schedule with GPU indices."""

from __future__ import annotations

from rarmodel.errors import InputError, VerificationError
from rarmodel.formulations import Plan
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import Run, simulate


def schedule_of(instance: Instance, plan: Plan, method: str) -> Schedule:
    """A schedule with GPU indices from starts and workers, and from the plan's GPUs if given.

    Raises
    ------
    VerificationError
        If the plan places a job wrongly, or some server would hold more workers than it has GPUs.
    """
    capacities = [server.gpus for server in instance.cluster.servers]
    if len(plan.starts) != len(instance.jobs) or len(plan.workers) != len(instance.jobs):
        raise VerificationError(f"{method}: a plan needs a start and workers for every job")
    for job, start, workers in zip(instance.jobs, plan.starts, plan.workers, strict=True):
        placed = all(
            0 <= server < len(capacities) and 1 <= count <= capacities[server]
            for server, count in workers.items()
        )
        if start < 0 or not placed or sum(workers.values()) not in job.sizes:
            raise VerificationError(
                f"{method}: job {job.name!r} starts at slot {start} with workers "
                f"{dict(workers)} by server, and needs {' or '.join(map(str, job.sizes))} GPUs"
            )
    if plan.gpus is not None:
        names = [server.name for server in instance.cluster.servers]
        assignments = tuple(
            Assignment(job=job.name, start=start, gpus={names[s]: g for s, g in held.items()})
            for job, start, held in zip(instance.jobs, plan.starts, plan.gpus, strict=True)
        )
    else:
        assignments = _numbered(instance, plan, method)
    return Schedule(
        schema_version=1, instance=instance.name, method=method, assignments=assignments
    )


def _numbered(instance: Instance, plan: Plan, method: str) -> tuple[Assignment, ...]:
    runs = [
        Run(job, start, dict(workers))
        for job, start, workers in zip(instance.jobs, plan.starts, plan.workers, strict=True)
    ]
    ends = simulate(instance, runs).completion
    # A job that never completes keeps its GPUs; the verifier says so.
    never = max([*plan.starts, *(end for end in ends if end is not None)]) + 1
    try:
        completions = [never if end is None else end for end in ends]
        return assign_gpus(instance, plan.starts, completions, plan.workers)
    except InputError as error:
        raise VerificationError(f"{method}: {error}") from error
