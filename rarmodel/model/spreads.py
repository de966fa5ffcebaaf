"""All ways to put the workers of a ring on the servers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def spreads(capacities: Sequence[int], gpus: int) -> Iterator[dict[int, int]]:
    """Each way to put this many workers on servers with these GPUs, by server index."""

    def further(server: int, left: int, room: int) -> Iterator[dict[int, int]]:
        if left == 0:
            yield {}
        elif left <= room:
            room -= capacities[server]
            for here in range(min(left, capacities[server]), -1, -1):
                for rest in further(server + 1, left - here, room):
                    yield {server: here, **rest} if here else rest

    return further(0, gpus, sum(capacities))
