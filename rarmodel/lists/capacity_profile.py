"""How much there is of each supply over time.

A supply is a server, of which jobs hold GPUs, or a limit of what they use beside that: a resource
or a cap of a tenant. Servers come first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rarmodel.engine.arrays import Ints
from rarmodel.model.usage_limits import UsageLimit, usage_limits
from rarmodel.schema import Instance

from .offsets import ints


class CapacityProfile(NamedTuple):
    """The changes when reservations, or windows of resources, begin or end, by slot."""

    first: Ints
    """(supplies) How much there is of each before the first change."""
    slot: Ints
    """(changes) Slot of each."""
    supply: Ints
    """(changes) Its supply."""
    growth: Ints
    """(changes) By how much the supply grows then."""
    left: Ints
    """(changes) How much is left of the supply in that slot."""
    floor: Ints
    """(changes) The least that is left of the supply from then on."""
    first_floor: Ints
    """(supplies) And from slot 0 on."""
    last_fall: int
    """The last change by which a supply shrinks; −1 if there is none."""


def capacity_profile(instance: Instance) -> CapacityProfile:
    """The profile of an instance."""
    limits = [_capacities(instance, limit) for limit in usage_limits(instance)]
    first = [server.gpus for server in instance.cluster.servers]
    first += [capacities[0] for capacities in limits]
    changes = sorted(_changes(instance, limits))
    left, floor, first_floor = _left(first, changes)
    return CapacityProfile(
        first=ints(first),
        slot=ints(slot for slot, _, _ in changes),
        supply=ints(supply for _, supply, _ in changes),
        growth=ints(growth for _, _, growth in changes),
        left=ints(left),
        floor=ints(floor),
        first_floor=ints(first_floor),
        last_fall=max((i for i, (_, _, growth) in enumerate(changes) if growth < 0), default=-1),
    )


def _capacities(instance: Instance, limit: UsageLimit) -> list[int]:
    """The capacities of a limit, none greater than what all jobs together can use."""
    most = sum(use.most(instance.jobs[j].sizes[-1]) for j, use in limit.uses.items())
    return [most if one is None else min(one, most) for one in limit.capacities]


def _changes(instance: Instance, limits: Sequence[Sequence[int]]) -> Iterable[tuple[int, int, int]]:
    """Slot, supply and growth for each begin and end of a reservation or window."""
    number = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    for one in instance.cluster.reservations:
        yield one.start, number[one.server], -one.gpus
        if one.end is not None:
            yield one.end, number[one.server], one.gpus
    known = zip(usage_limits(instance), limits, strict=True)
    for supply, (limit, capacities) in enumerate(known, len(number)):
        for slot, (before, after) in zip(limit.starts[1:], pairwise(capacities), strict=True):
            if before != after:
                yield slot, supply, after - before


def _left(
    first: Sequence[int], changes: Sequence[tuple[int, int, int]]
) -> tuple[list[int], list[int], list[int]]:
    """What is left of the supply of each change in its slot, and the least from then on.

    The last list has the least of each supply from slot 0 on.
    """
    left = [*first]
    after = []
    for _, supply, growth in changes:
        left[supply] += growth
        after.append(left[supply])
    fewest, floors = left, [0] * len(changes)
    then = {(slot, supply): most for (slot, supply, _), most in zip(changes, after, strict=True)}
    in_slot = [then[slot, supply] for slot, supply, _ in changes]
    for i, (_, supply, growth) in reversed([*enumerate(changes)]):
        floors[i] = fewest[supply] = min(fewest[supply], after[i])
        fewest[supply] = min(fewest[supply], after[i] - growth)
    return in_slot, floors, fewest
