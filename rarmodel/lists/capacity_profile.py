"""How many GPUs reservations leave of each server over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rarmodel.engine.arrays import Ints
from rarmodel.schema import Instance

from .offsets import ints


class ReservationProfile(NamedTuple):
    """The changes when reservations begin or end, by slot."""

    slot: Ints
    """(changes) Slot of each."""
    server: Ints
    """(changes) Its server."""
    gpus: Ints
    """(changes) By how much the GPUs of the server grow then."""
    left: Ints
    """(changes) GPUs that are left of the server in that slot."""
    floor: Ints
    """(changes) The fewest GPUs that are left of the server from then on."""
    first_floor: Ints
    """(servers) And from slot 0 on."""
    last_begin: int
    """The last change by which a server loses GPUs; −1 if there is none."""


def reservation_profile(instance: Instance) -> ReservationProfile:
    """The profile of an instance."""
    changes = sorted(_changes(instance))
    left, floor, first_floor = _left(instance, changes)
    return ReservationProfile(
        slot=ints(slot for slot, _, _ in changes),
        server=ints(server for _, server, _ in changes),
        gpus=ints(gpus for _, _, gpus in changes),
        left=ints(left),
        floor=ints(floor),
        first_floor=ints(first_floor),
        last_begin=max((i for i, (_, _, gpus) in enumerate(changes) if gpus < 0), default=-1),
    )


def _changes(instance: Instance) -> Iterable[tuple[int, int, int]]:
    """Slot, server and change of its GPUs for each begin and end of a reservation."""
    number = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    for one in instance.cluster.reservations:
        yield one.start, number[one.server], -one.gpus
        if one.end is not None:
            yield one.end, number[one.server], one.gpus


def _left(
    instance: Instance, changes: Sequence[tuple[int, int, int]]
) -> tuple[list[int], list[int], list[int]]:
    """GPUs left of the server of each change in its slot, and the fewest from then on.

    The last list has the fewest of each server from slot 0 on.
    """
    left = [server.gpus for server in instance.cluster.servers]
    after = []
    for _, server, gpus in changes:
        left[server] += gpus
        after.append(left[server])
    fewest, floors = left, [0] * len(changes)
    then = {(slot, server): gpus for (slot, server, _), gpus in zip(changes, after, strict=True)}
    in_slot = [then[slot, server] for slot, server, _ in changes]
    for i, (_, server, gpus) in reversed([*enumerate(changes)]):
        floors[i] = fewest[server] = min(fewest[server], after[i])
        fewest[server] = min(fewest[server], after[i] - gpus)
    return in_slot, floors, fewest
