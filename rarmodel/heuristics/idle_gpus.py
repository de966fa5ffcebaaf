"""What a placement rule is, and what it sees.

A rule is a function `rule(job, room, parameters, chosen) -> bool`. It writes the numbers of the
job's GPUs to the front of `chosen` and returns True, or returns False if it cannot place the job
now. A rule decorated with `rule` is compiled and runs at full speed; a plain Python function does
as well, for trying something out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Floats, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.schema import Instance

TOLERANCE = 1e-9
"""Float noise that a limit on a sum of estimates forgives."""


class Ranks(NamedTuple):
    """The servers ranked in several ways; see `ranking`, which keeps this."""

    changes: Ints
    """Servers that changed, in the order of the changes."""
    counts: Ints
    """(4) Changes noted, and how many of them each tree has read."""
    least_idle: Floats
    """(nodes, 3) Least accumulated time of an idle GPU in slots."""
    lightest: Ints
    """(nodes) Server of least accumulated time per GPU."""
    idle_gpus: Ints
    """(nodes) Number of idle GPUs."""


class IdleGpus(NamedTuple):
    """What a rule sees: the jobs' sizes and estimates, and the state of GPUs and servers now."""

    limit: float
    """Limit on the accumulated time of a GPU in slots, θ_u."""
    size: Ints
    """(jobs) GPUs that each job needs, G_j."""
    work: Floats
    """(jobs) Estimated execution time of each job in slots, ρ̂_j/u."""
    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    first_gpu: Ints
    """(servers + 1) GPUs are numbered server by server; this is the first one of each server."""
    server_of: Ints
    """(GPUs) Server of each GPU."""
    idle: npt.NDArray[np.bool_]
    """(GPUs) Whether the GPU is idle now."""
    load: Floats
    """(GPUs) Accumulated time of each GPU in slots, U_g."""
    most_load: Floats
    """(1) The greatest of these."""
    idle_gpus: Ints
    """(servers) Idle GPUs of each server."""
    server_load: Floats
    """(servers) Accumulated time of all GPUs of each server in slots, Σ_g U_g."""
    hosted: Ints
    """(servers) Active jobs on each server."""
    servers: Ints
    """(servers) All servers in their order: 0, 1, …"""
    scratch: Ints
    """(3, GPUs) For notes; nothing is kept here between calls."""
    keys: Floats
    """(2, GPUs) For notes as well."""
    ranks: Ranks
    """The servers ranked, so that a rule need not look at all of them."""


Rule: TypeAlias = Callable[[int, IdleGpus, Floats, Ints], bool]


def rule(function: Rule) -> Rule:
    """Compile a placement rule with Numba and keep the result on disk.

    A compiled rule makes no arrays; `room.scratch` and `room.keys` are there to write notes in.
    """
    return compiled(function, by_pointer=True)


def new_idle_gpus(instance: Instance, work: tuple[float, ...]) -> IdleGpus:
    """The empty cluster as a rule sees it, with `work` as estimates; the limit is not set yet."""
    server_gpus = np.array([server.gpus for server in instance.cluster.servers], np.int64)
    gpus = int(server_gpus.sum())
    servers = len(server_gpus)
    size = np.array([job.size for job in instance.jobs], np.int64)
    # A leaf stays free on the right. Each start and each completion changes a job's servers.
    nodes = 2 << servers.bit_length()
    changes = servers + 2 * int(np.minimum(size, servers).sum())
    return IdleGpus(
        limit=float(NEVER),
        size=size,
        work=np.array(work, np.float64),
        server_gpus=server_gpus,
        first_gpu=np.concatenate(([0], np.cumsum(server_gpus))).astype(np.int64),
        server_of=np.repeat(np.arange(servers, dtype=np.int64), server_gpus),
        idle=np.ones(gpus, np.bool_),
        load=np.zeros(gpus),
        most_load=np.zeros(1),
        idle_gpus=server_gpus.copy(),
        server_load=np.zeros(servers),
        hosted=np.zeros(servers, np.int64),
        servers=np.arange(servers, dtype=np.int64),
        scratch=np.zeros((3, gpus), np.int64),
        keys=np.zeros((2, gpus)),
        ranks=Ranks(
            changes=np.zeros(changes, np.int64),
            counts=np.zeros(4, np.int64),
            least_idle=np.full((nodes, 3), np.inf),
            lightest=np.full(nodes, -1, np.int64),
            idle_gpus=np.zeros(nodes, np.int64),
        ),
    )


@partial(compiled, inner=True)
def available(room: IdleGpus, job: int, gpu: int) -> bool:
    """Whether a GPU is idle and the job would keep its accumulated time within the limit."""
    return bool(room.idle[gpu] and room.load[gpu] + room.work[job] <= room.limit + TOLERANCE)
