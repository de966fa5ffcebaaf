"""A schedule on GPUs alone, where jobs may share: more is known of how to search for those.

A schedule in which nobody shares a GPU is also one of the instance, and no job takes longer in it.
"""

from __future__ import annotations

from rarmodel.bounds import impossible
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.lone import allowed_servers
from rarmodel.schema import Instance

BEFORE, UNTIL = 0.1, 0.3
"""Shares of the time after which it is looked for, and after which the search goes on with all."""


def on_gpus_alone(instance: Instance) -> Instance | None:
    """The instance without slices; None if no GPU is shared, or some must be.

    Jobs that run at slot 0 may share some then, and caps may have no room for whole GPUs.

    A whole GPU is more than a part: who keeps to a quota or a capacity with whole GPUs does so with
    slices, too.
    """
    if not shares_gpus(instance) or any(job.running is not None for job in instance.jobs):
        return None
    servers = [server.name for server in instance.cluster.servers]
    slices = {instance.cluster.slices_of(server) for server in instance.cluster.servers}
    jobs = []
    for job, allowed in zip(instance.jobs, allowed_servers(instance), strict=True):
        update: dict[str, object] = {"slices": None}
        if job.slices is not None and job.slices > min(slices):  # Not all servers have so many.
            update["servers"] = tuple(servers[s] for s in sorted(allowed))
        jobs.append(job if job.slices is None else job.model_copy(update=update))
    alone = instance.model_copy(update={"jobs": tuple(jobs)})
    return None if impossible(alone) else alone
