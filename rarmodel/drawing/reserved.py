"""Which GPUs a picture shows as away: nobody says which, so those that no job holds then."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import NamedTuple

from rarmodel.schema import Instance


class Hold(NamedTuple):
    """A job holds GPUs of a server; for ever if it never completes."""

    start: int
    end: float
    gpus: Sequence[int]


class Away(NamedTuple):
    """A block of adjacent GPUs of a server that a picture shows as reserved.

    Attributes
    ----------
    reservation
        Index in `cluster.reservations`.
    server
        Index of the server.
    first, gpus
        Lowest index of the GPUs on the server, and their number.
    start, end
        First slot, and the slot after the last; None if they never come back.
    """

    reservation: int
    server: int
    first: int
    gpus: int
    start: int
    end: int | None


def away_areas(instance: Instance, holds: Mapping[int, Sequence[Hold]]) -> tuple[Away, ...]:
    """Areas for the reservations of every server, by GPUs that no job holds then.

    As many GPUs as are reserved, or all that are left where jobs that ran at slot 0 (or jobs that
    break a constraint) hold more. A reservation keeps its GPUs while no job takes them.

    Parameters
    ----------
    instance
        The problem.
    holds
        By index of the server, the GPUs that jobs hold, and when.
    """
    indices = {server.name: i for i, server in enumerate(instance.cluster.servers)}
    by_server: dict[int, list[int]] = {}
    for i, one in enumerate(instance.cluster.reservations):
        by_server.setdefault(indices[one.server], []).append(i)
    return tuple(
        area
        for server, reservations in sorted(by_server.items())
        for area in _of_server(instance, server, reservations, holds.get(server, ()))
    )


def _of_server(
    instance: Instance, server: int, reservations: Sequence[int], holds: Sequence[Hold]
) -> list[Away]:
    gpus = range(instance.cluster.servers[server].gpus)
    held = [_Times(hold for hold in holds if gpu in hold.gpus) for gpu in gpus]
    asked = {i: instance.cluster.reservations[i] for i in reservations}
    ends: dict[int, float] = {i: inf if one.end is None else one.end for i, one in asked.items()}
    slots = {one.start for one in asked.values()} | {*ends.values()}
    first, last = min(slots), max(slots)
    for hold in holds:
        slots |= {slot for slot in (hold.start, hold.end) if first < slot < last}
    chosen: dict[int, set[int]] = {i: set() for i in asked}
    found: dict[tuple[int, int, int], Away] = {}  # The last of each block.
    areas: list[Away] = []
    for slot, until in pairwise(sorted({*slots, inf} if last == inf else slots)):
        free = {gpu: held[gpu].free_until(slot) for gpu in gpus}
        left = {gpu for gpu in gpus if free[gpu] > slot}
        active = [i for i, one in asked.items() if one.start <= slot < ends[i]]
        for i in active:
            chosen[i] &= left
            left -= chosen[i]
        for i in sorted(active, key=lambda i: (asked[i].start, i)):
            longest = sorted(left, key=lambda gpu: (-min(free[gpu], ends[i]), -gpu))
            more = set(longest[: asked[i].gpus - len(chosen[i])])
            chosen[i] |= more
            left -= more
            for low, count in blocks(sorted(chosen[i])):
                before = found.get((i, low, count))
                end = None if until == inf else int(until)
                area = Away(i, server, low, count, int(slot), end)
                if before is not None and before.end == slot:
                    area = area._replace(start=before.start)
                    areas.remove(before)
                found[i, low, count] = area
                areas.append(area)
    return areas


class _Times:
    """When a GPU is held: merged, in order."""

    def __init__(self, holds: Iterable[Hold]) -> None:
        self.starts: list[float] = []
        self.ends: list[float] = []
        for hold in sorted(holds, key=lambda hold: hold.start):
            if self.ends and hold.start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], hold.end)
            else:
                self.starts.append(hold.start)
                self.ends.append(hold.end)

    def free_until(self, slot: float) -> float:
        """The next slot at which the GPU is held; the slot itself if it is held then."""
        i = bisect_right(self.starts, slot)
        if i and self.ends[i - 1] > slot:
            return slot
        return self.starts[i] if i < len(self.starts) else inf


def blocks(gpus: Sequence[int]) -> list[tuple[int, int]]:
    """First index and length of each run of adjacent indices, which ascend."""
    found: list[tuple[int, int]] = []
    for gpu in gpus:
        if found and gpu == sum(found[-1]):
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((gpu, 1))
    return found
