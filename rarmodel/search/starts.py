"""Starts: orders that are good for most instances, and a solution without simulation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.packing import Solution, layout_of, one_after_another
from rarmodel.packing.buddy_blocks import new_blocks, pack_blocks
from rarmodel.packing.server_orders import rings_alone, settle, solution_of
from rarmodel.schema import Instance

from .layout import ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED, PACK, SPREAD, Layout


def first_orders(layout: Layout) -> Iterator[tuple[Ints, Ints]]:
    """Orders with modes: longest, widest and largest jobs first, packed and spread."""
    least = layout.least
    longest = np.argsort(-least, kind="stable")
    widest = np.lexsort((-least, -layout.size))
    largest = np.argsort(-least * layout.size, kind="stable")
    fits = layout.packed > 0
    # How jobs that fit a server may spread, and how the others do.
    for inside, outside in (
        (PACK, ANY_ALONE),
        (PACK, FEWEST_ALONE),
        (ANY, ANY),
        (FEWEST_PAIRED, FEWEST_PAIRED),
        (ANY_ALONE, ANY_ALONE),
        (SPREAD, ANY),
    ):
        mode = np.minimum(np.where(fits, inside, outside), layout.most_modes - 1)
        if inside == SPREAD and not (mode == SPREAD).any():
            continue
        for order in (longest, widest, largest):
            yield order, mode


def without_contention(instance: Instance) -> Solution:
    """A quick solution: jobs packed if they fit a server, and the others one after another."""
    layout, solution = layout_of(instance), one_after_another(instance)
    if not layout.packed.any():
        return solution
    skeleton, packing = rings_alone(layout, solution)
    pack_blocks(layout, new_blocks(layout, packing, np.zeros(1, np.uint64)), packing)
    settle(layout, packing, 0)
    return solution_of(layout, skeleton, packing)
