"""Two jobs of one size and of similar execution time: their exchange changes little."""

from __future__ import annotations

from functools import partial

from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below

from .layout import Layout

SIMILAR = 8
"""Greatest distance of these jobs when jobs of their size are sorted by execution time."""


@partial(compiled, inner=True)
def similar_job(layout: Layout, job: int, generator: Generator) -> int:
    """Choose a job of the same size and of similar execution time; −1 if the choice fails."""
    place = layout.size_rank[job] + 1 + below(generator, SIMILAR)
    if below(generator, 2) == 0:
        place = 2 * layout.size_rank[job] - place
    if place < 0 or place >= len(layout.by_size):
        return -1
    other = layout.by_size[place]
    return int(other) if layout.size[other] == layout.size[job] else -1
