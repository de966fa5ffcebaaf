"""Sizes of buddy blocks.

Sizes of jobs that divide one another are *nested*. Blocks have nested sizes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .layout import Layout


class Kind(NamedTuple):
    """Jobs that are alike on one server."""

    size: int
    """GPUs."""
    slots: int
    """Execution time; 0 if no server is large enough."""


def kinds_of(layout: Layout) -> list[Kind]:
    """(jobs) The kind of each job."""
    return [
        Kind(size, slots)
        for size, slots in zip(layout.size.tolist(), layout.packed.tolist(), strict=True)
    ]


def nested_sizes(gpus: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Sizes of blocks in descending order; empty if some job would have no block.

    They are those sizes of jobs that divide one another and have the most jobs together.

    Parameters
    ----------
    gpus
        (servers) GPUs of each.
    sizes
        (jobs) GPUs of each job that fits a server.
    """
    count = Counter(sizes)
    # By its greatest size, the chain with the most jobs, and their number.
    best: dict[int, tuple[int, list[int]]] = {}
    for size in sorted(count):
        jobs, smaller = max((best[less] for less in best if size % less == 0), default=(0, []))
        best[size] = jobs + count[size], [size, *smaller]
    _, nested = max(best.values(), default=(0, []))
    if nested and max(count) > nested[0]:
        room = [many for many in gpus if many >= max(count) and many % nested[0] == 0]
        return [min(room), *nested] if room else []
    return nested


def parts(gpus: int, sizes: Sequence[int]) -> list[int]:
    """Sizes of the fewest blocks of some GPUs; sizes descend, and each divides the one before."""
    found = []
    for size in sizes:
        found += [size] * (gpus // size)
        gpus %= size
    return found


def runs_in_order(
    size: int, count: Mapping[Kind, int], lefts: set[int]
) -> Iterator[tuple[Kind, int]]:
    """Each job of a size on a block of that size, and the slots left on the block before.

    Longer jobs run first: other orders of the jobs on a block are no other packings.

    Parameters
    ----------
    size
        GPUs of the blocks.
    count
        Number of jobs by kind.
    lefts
        Slots left on the blocks; those that jobs leave are added.
    """
    for kind in sorted((kind for kind in count if kind.size == size), reverse=True):
        here = sorted(lefts)
        for _ in range(count[kind]):
            here = [left for left in here if left >= kind.slots]
            yield from ((kind, left) for left in here)
            here = [left - kind.slots for left in here]
            lefts.update(here)
