"""Working memory of the decoder, and the schedule that was made last."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints

from .facts import Facts
from .room import Room, new_room
from .waiting import Waiting, new_waiting

DEADLINES, EXPOSED, ENDS_KNOWN = range(3)
"""Promises: jobs that run and have a deadline; servers that would have too little room if their
jobs stayed for ever; 1 if `ends` holds for the jobs that run."""


class Work(NamedTuple):
    """Working memory, and the schedule that was made last."""

    starts: Ints
    """(jobs) Start slots a_j."""
    used: Ints
    """(jobs) Number of servers used."""
    server: Ints
    """Servers of each job, from `Facts.place_at[j]` on."""
    workers: Ints
    """Workers on each of them."""
    capacity: Ints
    """(servers) GPUs that no reservation holds now."""
    held: Ints
    """(servers) GPUs that jobs hold, but for those that ran at slot 0."""
    kept: Ints
    """(servers) GPUs that jobs hold which ran at slot 0."""
    floor: Ints
    """(servers) The least capacity from now on."""
    exposed: Ints
    """(servers) 1 if jobs hold more than that leaves."""
    promises: Ints
    """(3) Of the numbers above."""
    ends: Ints
    """(jobs) When jobs that run end if nothing else starts, before the last reservation begins."""
    tenant_held: Ints
    """(tenants) The same by tenant with a cap."""
    tenant_kept: Ints
    """(tenants) And by those that ran at slot 0."""
    waits_for: Ints
    """(jobs) Jobs that each still waits for."""
    pool: Ints
    """(servers) Scratch: servers to spread over."""
    completed: Ints
    """(jobs) Scratch for the engine."""
    trial: Ints
    """(3, servers) Scratch of the projection: capacity, held and kept."""
    room: Room
    """Idle GPUs."""
    waiting: Waiting
    """Jobs that wait."""


def new_work(facts: Facts) -> Work:
    """Memory for one thread."""
    jobs, servers = len(facts.release), len(facts.server_gpus)

    def room(length: int) -> Ints:
        return np.zeros(length, np.int64)

    return Work(
        starts=room(jobs),
        used=room(jobs),
        server=room(int(facts.place_at[-1])),
        workers=room(int(facts.place_at[-1])),
        capacity=room(servers),
        held=room(servers),
        kept=room(servers),
        floor=room(servers),
        exposed=room(servers),
        promises=room(3),
        ends=room(jobs),
        tenant_held=room(len(facts.tenant_cap)),
        tenant_kept=room(len(facts.tenant_cap)),
        waits_for=room(jobs),
        pool=room(servers),
        completed=room(jobs),
        trial=np.zeros((3, servers), np.int64),
        room=new_room(facts.server_gpus),
        waiting=new_waiting(jobs, facts.lines + jobs),
    )
