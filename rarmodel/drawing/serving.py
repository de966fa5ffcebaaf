"""The GPUs that replicas of services hold, as a picture shows them."""

from __future__ import annotations

from typing import NamedTuple

from rarmodel.schema import Instance, Schedule

from .reserved import blocks


class HeldByReplica(NamedTuple):
    """A block of adjacent GPUs of a server that a replica holds.

    Attributes
    ----------
    service, variant
        What it runs.
    server
        Index of the server.
    first, gpus
        Lowest index of the GPUs on the server, and their number.
    start, end
        First slot, and the slot after the last.
    """

    service: str
    variant: str
    server: int
    first: int
    gpus: int
    start: int
    end: int


def held_by_replicas(instance: Instance, schedule: Schedule) -> tuple[HeldByReplica, ...]:
    """Blocks of GPUs that exist, for each replica of a schedule that ends after it begins."""
    servers = {server.name: (s, server.gpus) for s, server in enumerate(instance.cluster.servers)}
    found = []
    for one in schedule.services:
        for name, gpus in one.gpus.items():
            s, most = servers.get(name, (0, 0))
            known = sorted({gpu for gpu in gpus if 0 <= gpu < most})
            for first, count in blocks(known) if one.start < one.end else ():
                found.append(
                    HeldByReplica(one.service, one.variant, s, first, count, one.start, one.end)
                )
    return tuple(found)
