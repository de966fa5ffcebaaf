"""A list schedule in the making, and the memory that this takes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints, State, new_state

from .free_gpus import FreeGpus, new_free_gpus
from .gpu_places import GpuRoom, new_room
from .instance_arrays import InstanceArrays
from .queues import Queues, new_queues

STUCK, STOPPED = -1, -2
"""Why there is no schedule: some job can never start or never completes, or jobs that run already
miss a deadline; another thread asked to stop."""
DEADLINES, EXPOSED, ENDS_KNOWN = range(3)
"""Commitments: jobs that run and have a deadline; supplies that would have too little if their
jobs stayed for ever; 1 if `ends` holds for the jobs that run."""


class PartialSchedule(NamedTuple):
    """The schedule so far, or the one that was made last."""

    state: State
    """The simulation; its rings keep their completion times."""
    saved: State
    """A second one, to look ahead."""
    starts: Ints
    """(jobs) Start slots a_j."""
    used: Ints
    """(jobs) Number of servers used."""
    server: Ints
    """Servers of each job, from `InstanceArrays.place_at[j]` on."""
    workers: Ints
    """Workers on each of them."""
    completed: Ints
    """(jobs) The jobs in the order of their completion."""
    free: FreeGpus
    """Idle GPUs."""
    queues: Queues
    """Jobs that wait."""
    capacity: Ints
    """(supplies) How much there is now: GPUs of a server that no reservation holds."""
    held: Ints
    """(supplies) How much of it jobs hold, but for those that ran at slot 0."""
    kept: Ints
    """(supplies) How much jobs hold which ran at slot 0."""
    floor: Ints
    """(supplies) The least capacity from now on."""
    exposed: Ints
    """(supplies) 1 if jobs hold more than that leaves."""
    commitments: Ints
    """(3) Of the numbers above."""
    ends: Ints
    """(jobs) When jobs that run end if nothing else starts, before the last capacity falls."""
    waits_for: Ints
    """(jobs) Jobs that each still waits for."""
    alone: Ints
    """(links) 1 if a ring has the link to itself while it runs."""
    alone_links: Ints
    """(jobs) Links that each has to itself."""
    alone_rings: Ints
    """(1) Rings that have links to themselves."""
    pool: Ints
    """(servers) Scratch: servers of a ring."""
    ended: Ints
    """(jobs) Scratch for the engine."""
    trial: Ints
    """(3, supplies) Scratch of the projection: capacity, held and kept."""
    room: GpuRoom | None
    """Who is on which GPU; None if no GPU is shared."""
    stop: Ints
    """(1) Another thread sets it to 1 to stop this one."""


def new_schedule(instance: InstanceArrays, stop: Ints | None = None) -> PartialSchedule:
    """Memory for one thread; all threads may share `stop`."""
    jobs, servers = len(instance.release), len(instance.server_gpus)
    supplies = len(instance.supplies.first)

    def zeros(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return PartialSchedule(
        state=new_state(instance.engine),
        saved=new_state(instance.engine),
        starts=zeros(jobs),
        used=zeros(jobs),
        server=zeros(int(instance.place_at[-1])),
        workers=zeros(int(instance.place_at[-1])),
        completed=zeros(jobs),
        free=new_free_gpus(instance.server_gpus, instance.groups),
        queues=new_queues(jobs, instance.options.queues + jobs),
        capacity=zeros(supplies),
        held=zeros(supplies),
        kept=zeros(supplies),
        floor=zeros(supplies),
        exposed=zeros(supplies),
        commitments=zeros(3),
        ends=zeros(jobs),
        waits_for=zeros(jobs),
        alone=zeros(len(instance.engine.gbps)),
        alone_links=zeros(jobs),
        alone_rings=zeros(1),
        pool=zeros(servers),
        ended=zeros(jobs),
        trial=np.zeros((3, supplies), np.int64),
        room=new_room(instance.places, instance.engine),
        stop=zeros(1) if stop is None else stop,
    )
