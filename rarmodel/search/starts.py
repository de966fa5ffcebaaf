"""Orders to start from: good ones for most instances, best first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarmodel.engine.arrays import Ints

from .layout import ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED, PACK, SPREAD, Layout


def first_orders(layout: Layout, least: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Orders with modes: longest, widest and largest jobs first, packed and spread.

    Parameters
    ----------
    layout
        The instance.
    least
        (jobs) Least execution times in slots.
    """
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
