"""GPUs that jobs share, in the compiled simulation (section 15).

A GPU is a resource like a link: each job on it counts to each other one, and a ring is slowed down
by the greatest sum that it meets on one of its GPUs. Who starts a job first says which GPUs it has,
by `GpuLoads.held`. Jobs that hold GPUs and restore are not here, as they neither press nor are
pressed.

Of an instance that shares no GPU, `Arrays.gpus` and `State.gpus` are None. Each function here is
compiled into its caller, and to nothing for None: Numba drops what stands behind such a question.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.model.gpu_sharing import losses, shares_gpus
from rarmodel.schema import Instance

from .compilation import compiled
from .formulas import slowdown

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_inner = partial(compiled, inner=True)

NUMBER, CHANGED = range(2)
"""Of `GpuLoads.counters`: jobs in `waiting`, and of these, jobs that meet another load now."""
NOT_KNOWN = -1
"""Load of a ring that has just started."""


class SharedGpus(NamedTuple):
    """The GPUs of an instance, and how jobs bear each other there; nothing here changes."""

    first: Ints
    """(servers + 1) Offsets: GPU g of server s is number `first[s] + g`."""
    slices: Ints
    """(servers) Slices of each GPU, Q_s."""
    taken: Ints
    """(jobs) Slices that each worker takes, q_j; 0 for the whole GPU."""
    row_at: Ints
    """(GPUs + 1) Offsets into `GpuLoads.row`."""
    held_at: Ints
    """(jobs + 1) Offsets into `GpuLoads.held`."""
    column: Ints
    """(jobs) The class of each job that suffers."""
    row: Ints
    """(jobs) The class of each job by which others suffer."""
    units: Ints
    """(rows, columns) What a job counts to each class of jobs that suffer; see `Losses`."""
    within: Floats
    """(modes) Bandwidth in Gbit/s within a server."""


class GpuLoads(NamedTuple):
    """Who is on which GPU, and how much rings are slowed down there."""

    counters: Ints
    """NUMBER and CHANGED."""
    held: Ints
    """GPUs of each job, from `SharedGpus.held_at` on."""
    many: Ints
    """(jobs) How many of them; 0 for a job that is on none."""
    row: Ints
    """Jobs on each GPU, from `SharedGpus.row_at` on."""
    users: Ints
    """(GPUs) How many they are."""
    load: Ints
    """(jobs) What each ring met when speeds were last right: the greatest of its GPUs."""
    waiting: Ints
    """(jobs) Jobs that others have joined or left since then, or that are new."""
    waits: Ints
    """(jobs) 1 for each of them."""


def shared_gpus(instance: Instance, rates: npt.NDArray[np.float64]) -> SharedGpus | None:
    """Lay the GPUs of an instance out; None if no two jobs can be on one.

    Parameters
    ----------
    instance
        The problem.
    rates
        (modes) Bandwidth within a server in Gbit/s.
    """
    if not shares_gpus(instance):
        return None
    cluster, jobs = instance.cluster, instance.jobs
    gpus = np.array([server.gpus for server in cluster.servers], np.int64)
    slices = np.array([cluster.slices_of(server) for server in cluster.servers], np.int64)
    found = losses(instance)
    return SharedGpus(
        first=_offsets(gpus),
        slices=slices,
        taken=np.array([job.slices or 0 for job in jobs], np.int64),
        row_at=_offsets(np.repeat(slices, gpus)),
        held_at=_offsets(np.array([job.sizes[-1] for job in jobs], np.int64)),
        column=np.array(found.column, np.int64),
        row=np.array(found.row, np.int64),
        units=np.array(found.units, np.int64),
        within=rates,
    )


def new_loads(gpus: SharedGpus | None) -> GpuLoads | None:
    """Room for a simulation; None if no GPU is shared."""
    if gpus is None:
        return None
    jobs = len(gpus.taken)

    def zeros(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return GpuLoads(
        counters=zeros(2),
        held=zeros(int(gpus.held_at[-1])),
        many=zeros(jobs),
        row=zeros(int(gpus.row_at[-1])),
        users=zeros(len(gpus.row_at) - 1),
        load=zeros(jobs),
        waiting=zeros(jobs),
        waits=zeros(jobs),
    )


def _offsets(lengths: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


@_inner
def empty_gpus(loads: GpuLoads | None) -> None:
    """Nobody is on any GPU."""
    if loads is None:
        return
    loads.counters[:] = 0
    loads.many[:] = 0
    loads.users[:] = 0
    loads.waits[:] = 0


@_inner
def join_gpus(gpus: SharedGpus | None, loads: GpuLoads | None, job: int, size: int) -> None:
    """A ring starts on its GPUs, of which there are so many; the others there meet it."""
    if gpus is None or loads is None:
        return
    loads.many[job] = size
    loads.load[job] = NOT_KNOWN
    _wait(loads, job)
    at = gpus.held_at[job]
    for p in range(at, at + size):
        gpu = loads.held[p]
        first, count = gpus.row_at[gpu], loads.users[gpu]
        for place in range(first, first + count):
            _wait(loads, loads.row[place])
        loads.row[first + count] = job
        loads.users[gpu] = count + 1


@_inner
def leave_gpus(gpus: SharedGpus | None, loads: GpuLoads | None, job: int) -> None:
    """A ring leaves its GPUs; the others there meet it no more."""
    if gpus is None or loads is None:
        return
    at = gpus.held_at[job]
    for p in range(at, at + loads.many[job]):
        gpu = loads.held[p]
        first, last = gpus.row_at[gpu], gpus.row_at[gpu] + loads.users[gpu] - 1
        for place in range(first, last + 1):
            other = loads.row[place]
            if other == job:
                loads.row[place] = loads.row[last]
                loads.row[last] = job
                break
        for place in range(first, last):
            _wait(loads, loads.row[place])
        loads.users[gpu] -= 1
    loads.many[job] = 0


@_inner
def _wait(loads: GpuLoads, job: int) -> None:
    """Note that a ring may meet another load."""
    if loads.waits[job] == 0:
        loads.waits[job] = 1
        loads.waiting[loads.counters[NUMBER]] = job
        loads.counters[NUMBER] += 1


@_inner
def load_on(gpus: SharedGpus, loads: GpuLoads, gpu: int, job: int) -> int:
    """What the others on a GPU count to a job, which need not be there."""
    total, column = 0, gpus.column[job]
    first = gpus.row_at[gpu]
    for place in range(first, first + loads.users[gpu]):
        other = loads.row[place]
        if other != job:
            total += gpus.units[gpus.row[other], column]
    return int(total)


@_inner
def meet_on_gpus(gpus: SharedGpus | None, loads: GpuLoads | None) -> None:
    """Find what rings meet now; those that meet something else stand first in `waiting`."""
    if gpus is None or loads is None:
        return
    changed = 0
    for i in range(loads.counters[NUMBER]):
        job = loads.waiting[i]
        loads.waits[job] = 0
        if loads.many[job] == 0:
            continue
        most, at = 0, gpus.held_at[job]
        for p in range(at, at + loads.many[job]):
            most = max(most, load_on(gpus, loads, loads.held[p], job))
        if most != loads.load[job]:
            loads.load[job] = most
            loads.waiting[changed] = job
            changed += 1
    loads.counters[CHANGED] = changed
    loads.counters[NUMBER] = 0


@_inner
def changed_on_gpus(loads: GpuLoads | None) -> int:
    """How many rings meet something else than before."""
    if loads is None:
        return 0
    return int(loads.counters[CHANGED])


@_inner
def changed_ring(loads: GpuLoads | None, i: int) -> int:
    """One of these rings."""
    if loads is None:
        return 0
    return int(loads.waiting[i])


@_inner
def pressed_compute(loads: GpuLoads | None, job: int, compute: float) -> float:
    """Seconds of forward and backward pass beside the others on its GPUs."""
    if loads is None:
        return compute
    return compute * slowdown(loads.load[job])


@_inner
def rate_within(gpus: SharedGpus | None, mode: int) -> float:
    """Bandwidth in Gbit/s of a ring on one server."""
    if gpus is None:
        return np.inf
    return float(gpus.within[mode])


@_inner
def part_held(gpus: SharedGpus | None, job: int, server: int) -> float:
    """How much of a GPU of a server a worker holds."""
    if gpus is None or gpus.taken[job] == 0:
        return 1.0
    return float(gpus.taken[job] / gpus.slices[server])


@_inner
def jobs_on_gpus(loads: GpuLoads | None) -> int:
    """The jobs of the instance; 0 if none shares a GPU."""
    if loads is None:
        return 0
    return len(loads.many)


@_inner
def is_on_gpus(loads: GpuLoads | None, job: int) -> bool:
    """Whether a job's ring is on GPUs now."""
    if loads is None:
        return False
    return bool(loads.many[job] > 0)


@_inner
def copy_loads(gpus: SharedGpus | None, loads: GpuLoads | None, to: GpuLoads | None) -> None:
    """Copy who is on which GPU."""
    if gpus is None or loads is None or to is None:
        return
    for i in range(len(loads.counters)):
        to.counters[i] = loads.counters[i]
    for job in range(len(loads.many)):
        to.many[job] = loads.many[job]
        to.load[job] = loads.load[job]
        to.waits[job] = loads.waits[job]
        at = gpus.held_at[job]
        for p in range(at, at + loads.many[job]):
            to.held[p] = loads.held[p]
    for i in range(loads.counters[NUMBER]):
        to.waiting[i] = loads.waiting[i]
    for gpu in range(len(loads.users)):
        to.users[gpu] = loads.users[gpu]
        first = gpus.row_at[gpu]
        for place in range(first, first + loads.users[gpu]):
            to.row[place] = loads.row[place]
