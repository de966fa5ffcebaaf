"""Number the GPUs of a plan that says who shares a GPU with whom: jobs, and replicas of slices.

Who is on a GPU at once with others stays with them, as one stay on one GPU. A model takes care that
never more of them overlap on a server than it has GPUs, beside the whole GPUs that others hold.
Then the first free number is one for each in the order of their begins. Which one makes no ring
faster or slower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.errors import InputError, VerificationError
from rarmodel.formulations import Plan
from rarmodel.model.gpu_assignment import Stay, number_gpus, overlapping
from rarmodel.schema import Assignment, Instance, Replica
from rarmodel.verifier import Run, simulate

Gpus = Mapping[str, tuple[int, ...]]
"""GPUs by server."""


class _OnGpu(NamedTuple):
    """Someone on a GPU of a plan."""

    start: int
    end: int
    who: int
    """Index of a job, or of a replica after all jobs."""
    runs: bool
    """Whether it is a job that runs at slot 0, which stays where it is."""


def numbered_by_gpu(
    instance: Instance, plan: Plan, method: str
) -> tuple[tuple[Assignment, ...], tuple[Replica, ...]]:
    """Jobs and replicas of a plan with GPU indices.

    Raises
    ------
    VerificationError
        If a server would hold more than it has GPUs.
    """
    jobs, names = len(instance.jobs), [server.name for server in instance.cluster.servers]
    ends = ends_of(instance, plan)
    on: dict[tuple[int, int], list[_OnGpu]] = {}
    stays: list[Stay] = []
    whose: list[list[int]] = []
    for j, job in enumerate(instance.jobs):
        if plan.gpus is None:
            held = job.running.gpus if job.running else None
            stays.append(Stay(plan.starts[j], ends[j], plan.workers[j], held))
            whose.append([j])
            continue
        for s, gpus in plan.gpus[j].items():
            for gpu in gpus:
                one = _OnGpu(plan.starts[j], ends[j], j, job.running is not None)
                on.setdefault((s, gpu), []).append(one)
    for r, replica in enumerate(plan.replicas):
        if replica.gpu is None:
            stays.append(Stay(replica.start, replica.end, {replica.server: replica.gpus}))
            whose.append([jobs + r])
        else:
            # Where jobs are by server, nobody else is on a GPU of replicas.
            one = _OnGpu(replica.start, replica.end, jobs + r, runs=False)
            on.setdefault((replica.server, replica.gpu), []).append(one)
    for (s, gpu), some in on.items():
        for here in overlapping(some, lambda one: (one.start, one.end)):
            fixed = {names[s]: (gpu,)} if any(one.runs for one in here) else None
            stays.append(Stay(here[0].start, max(one.end for one in here), {s: 1}, fixed))
            whose.append([one.who for one in here])
    try:
        numbered = number_gpus(instance.cluster, stays)
    except InputError as error:
        raise VerificationError(f"{method}: {error}") from error
    found: list[dict[str, tuple[int, ...]]] = [{} for _ in range(jobs + len(plan.replicas))]
    for gpus_of, who in zip(numbered, whose, strict=True):
        for i in who:
            for name, some_gpus in gpus_of.items():
                found[i][name] = tuple(sorted((*found[i].get(name, ()), *some_gpus)))
    return with_gpus(instance, plan, found)


def ends_of(instance: Instance, plan: Plan) -> list[int]:
    """(jobs) When each job completes.

    One that never does keeps its GPUs after all others; the verifier says so.
    """
    nothing: Mapping[int, tuple[int, ...]] = {}
    held = plan.gpus or [nothing] * len(instance.jobs)
    own = ([(s, gpu) for s, some in gpus.items() for gpu in some] for gpus in held)
    zipped = zip(instance.jobs, plan.starts, plan.workers, own, strict=True)
    runs = [
        Run(job, start, dict(workers))._replace(gpus=tuple(gpus))
        for job, start, workers, gpus in zipped
    ]
    ends = simulate(instance, runs).completion
    never = max([*plan.starts, *(end for end in ends if end is not None)]) + 1
    return [never if end is None else end for end in ends]


def with_gpus(
    instance: Instance, plan: Plan, gpus: Sequence[Gpus]
) -> tuple[tuple[Assignment, ...], tuple[Replica, ...]]:
    """Jobs and replicas of a plan, from the GPUs of all jobs and then of all replicas."""
    assignments = tuple(
        Assignment(job=job.name, start=start, gpus=of_job)
        for job, start, of_job in zip(instance.jobs, plan.starts, gpus, strict=False)
    )
    replicas = tuple(
        Replica.model_validate(
            {
                "service": one.service,
                "variant": one.variant,
                "from": one.start,
                "to": one.end,
                "gpus": of_replica,
            }
        )
        for one, of_replica in zip(plan.replicas, gpus[len(instance.jobs) :], strict=True)
    )
    return assignments, replicas
