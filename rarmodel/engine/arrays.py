"""An instance as flat arrays for compiled code, and the state of a running simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.model import timing
from rarmodel.model.contention import ring_share
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Records = npt.NDArray[np.void]

NEVER = 2**62
"""Completion time of a job that does not complete."""


JOB = np.dtype(
    [
        ("gpus", np.int64),  # G_j
        ("iterations", np.int64),  # F_j
        ("bits", np.float64),  # that a worker exchanges in an iteration
        ("reduction", np.float64),  # seconds in an iteration
        ("compute", np.float64),  # seconds of forward and backward pass in an iteration
    ]
)
"""What a job is."""

RING = np.dtype(
    [
        ("remaining", np.int64),  # iterations to do at slot `since`
        ("since", np.int64),  # slot of the last change of speed
        ("speed", np.int64),  # iterations per slot since then, φ_j
        ("finish", np.int64),  # completion time if nothing changes; NEVER while the speed is 0
        ("servers", np.int64),  # number of servers used
        ("bandwidth", np.float64),  # Gbit/s, B_j
        ("chain", np.int64),  # first membership; -1 if the ring uses no link
        ("heap_at", np.int64),  # place in the heap; -1 if not in it
        ("dirty", np.int64),  # 1 if its speed awaits an update
    ]
)
"""State of a job's ring."""

LINK = np.dtype(
    [
        ("rings", np.int64),  # that use it now, p_ℓ
        ("share", np.float64),  # Gbit/s that each got when speeds were last right
        ("dirty", np.int64),  # 1 if `rings` changed since
        ("below", np.int64),  # scratch: workers of one ring below it
    ]
)
"""State of a link."""

MEMBER = np.dtype(
    [
        ("job", np.int64),  # the ring
        ("link", np.int64),  # the link
        ("next", np.int64),  # the ring's next membership, or the next free one; -1 at the end
        ("at", np.int64),  # place in the link's row
    ]
)
"""Membership: one ring uses one link."""


class Arrays(NamedTuple):
    """What an evaluation needs to know of an instance; nothing here changes.

    Ragged tables are one flat array and an array of offsets: row i of `path` is
    `path[path_at[i]:path_at[i + 1]]`.
    """

    slot_seconds: float
    """Length of a slot in seconds."""
    overhead_ms_per_server: float
    """Milliseconds that each server used adds to an iteration, ξ2."""
    intra_gbps: float
    """Bandwidth within a server in Gbit/s, b^i."""
    jobs: Records
    """(jobs) of `JOB`."""
    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    path_at: Ints
    """(servers + 1) Offsets into `path`."""
    path: Ints
    """Links from each server up to the root."""
    row_at: Ints
    """(links + 1) Offsets of each link's row in `share`, and of its list of rings."""
    share: Floats
    """Bandwidth in Gbit/s that each ring gets of a link, by the number of rings on it."""


class State(NamedTuple):
    """A simulation in progress, written to by the compiled code.

    Memberships come from a pool with a free list; those of a ring are chained, those of a link
    stand together in the link's row.
    """

    counters: Ints
    """Clock and sizes of the lists below; the indices are named in `kernel`."""
    rings: Records
    """(jobs) of `RING`."""
    dirty_rings: Ints
    """(jobs) Rings that await a new speed."""
    heap: Ints
    """(jobs) Running jobs that will complete, as a binary heap by `finish`."""
    links: Records
    """(links) of `LINK`."""
    dirty_links: Ints
    """(links) Links whose number of rings changed since speeds were last right."""
    members: Records
    """(as `share`) of `MEMBER`."""
    row: Ints
    """(as `share`) Memberships of each link."""
    touched: Ints
    """(links) Scratch: links with workers of one ring below."""
    busy: Ints
    """(servers) GPUs of each server that are held."""


def arrays_of(instance: Instance) -> Arrays:
    """Lay an instance out for compiled code."""
    tree = topology(instance.cluster)
    cluster, contention = instance.cluster, instance.contention
    total = cluster.total_gpus
    wide = sum(job.gpus > 1 for job in instance.jobs)
    # Every ring on a link has a worker below and one above it.
    most_rings = [min(below, total - below, wide) for below in tree.gpus_below]
    rows: dict[tuple[float, int], list[float]] = {}
    for link, most in zip(tree.links, most_rings, strict=True):
        if (link.gbps, most) not in rows:
            rows[link.gbps, most] = [
                ring_share(contention, link.gbps, rings) for rings in range(most + 1)
            ]
    shares = [rows[link.gbps, most] for link, most in zip(tree.links, most_rings, strict=True)]
    jobs = np.zeros(len(instance.jobs), JOB)
    for i, job in enumerate(instance.jobs):
        jobs[i] = (
            job.gpus,
            job.iterations,
            timing.exchange_bits(job.gradient_mb, job.gpus),
            timing.reduction_seconds(job.gradient_mb, job.gpus, cluster.reduction_gbps),
            timing.compute_seconds(job),
        )
    return Arrays(
        slot_seconds=instance.time.slot_seconds,
        overhead_ms_per_server=contention.overhead_ms_per_server,
        intra_gbps=cluster.intra_server_gbps,
        jobs=jobs,
        server_gpus=np.array([server.gpus for server in cluster.servers], np.int64),
        path_at=_offsets([len(path) for path in tree.paths]),
        path=np.array([link for path in tree.paths for link in path], np.int64),
        row_at=_offsets([len(row) for row in shares]),
        share=np.array([share for row in shares for share in row], np.float64),
    )


def new_state(arrays: Arrays) -> State:
    """Room for a simulation; `kernel.reset` makes it start."""
    jobs, links, members = len(arrays.jobs), len(arrays.row_at) - 1, len(arrays.share)
    return State(
        counters=np.zeros(7, np.int64),
        rings=np.zeros(jobs, RING),
        dirty_rings=np.zeros(jobs, np.int64),
        heap=np.zeros(jobs, np.int64),
        links=np.zeros(links, LINK),
        dirty_links=np.zeros(links, np.int64),
        members=np.zeros(members, MEMBER),
        row=np.zeros(members, np.int64),
        touched=np.zeros(links, np.int64),
        busy=np.zeros(len(arrays.server_gpus), np.int64),
    )


def _offsets(lengths: list[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)
