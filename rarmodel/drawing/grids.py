"""Servers and links over time as tables of numbers of limited size."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .drawing import Drawing
from .steps import Floats, time_bins

MAX_ROWS = 128
MAX_BINS = 240
MAX_SINGLE_ROWS = 1024
MAX_SINGLE_BARS = 5000
"""With more bars than this, each bar is too small to see at first."""


class Grid(NamedTuple):
    """A value for each row and each bin of time.

    Attributes
    ----------
    names
        (rows) Name of each row: one server or link, or the first and the last of several.
    per_row
        Number of servers or links per row; the last row may have fewer.
    total
        Number of all servers or links.
    edges
        (bins + 1) Edges of the bins, in slots.
    values
        (rows, bins) The values.
    """

    names: tuple[str, ...]
    per_row: int
    total: int
    edges: Floats
    values: Floats

    def rectangles(self) -> Iterator[tuple[int, float, float, float]]:
        """Row, beginning, end and value of what is not 0; equal neighbours in time are one."""
        for row, values in enumerate(self.values):
            changes = np.flatnonzero(np.diff(values)) + 1
            limits = [0, *changes.tolist(), len(values)]
            for begin, end in pairwise(limits):
                if values[begin]:
                    yield (
                        row,
                        float(self.edges[begin]),
                        float(self.edges[end]),
                        float(values[begin]),
                    )


def utilisation_grid(
    drawing: Drawing, end: int, rows: int = MAX_ROWS, bins: int = MAX_BINS
) -> Grid:
    """Mean share of the GPUs of each server, or of several in a row, that jobs hold."""
    servers = drawing.instance.cluster.servers
    edges = time_bins(end, bins)
    held = np.array([steps.means(edges) for steps in drawing.held])
    gpus = np.array([server.gpus * drawing.parts for server in servers], float)
    names, per_row, firsts = _rows([server.name for server in servers], rows)
    total = np.add.reduceat(held, firsts) / np.add.reduceat(gpus, firsts)[:, None]
    return Grid(names, per_row, len(servers), edges, total)


def contention_grid(drawing: Drawing, end: int, rows: int = MAX_ROWS, bins: int = MAX_BINS) -> Grid:
    """Greatest number of rings on each link, or on the most used of several in a row."""
    edges = time_bins(end, bins)
    rings = np.array([link.rings.maxima(edges) for link in drawing.links])
    names, per_row, firsts = _rows([link.link for link in drawing.links], rows)
    return Grid(names, per_row, len(drawing.links), edges, np.maximum.reduceat(rings, firsts))


def busy_parts(drawing: Drawing, end: int, bins: int = 2 * MAX_BINS) -> tuple[Floats, Floats]:
    """Share of the cluster's GPUs that jobs hold over time: slots, and values from there on.

    The result has every change if there are few; otherwise means of bins.
    """
    steps = drawing.held_in_all
    gpus = drawing.instance.cluster.total_gpus * drawing.parts
    if len(steps.slots) <= bins:
        slots, values = (*steps.slots, end), (*steps.values, *(steps.values[-1:] or (0,)))
        if slots[0] > 0:
            slots, values = (0, *slots), (0, *values)
        return np.array(slots, float), np.array(values) / gpus
    edges = time_bins(end, bins)
    means = steps.means(edges) / gpus
    return edges, np.append(means, means[-1])


def completions(drawing: Drawing, most: int = 1000) -> tuple[Floats, Floats]:
    """Completion times in slots, ascending, and the share of all jobs complete by then.

    The result has at most `most` of them, evenly chosen, with the last.
    """
    return _shares(drawing.report.completion.values(), most)


def flow_parts(drawing: Drawing, most: int = 1000) -> tuple[Floats, Floats]:
    """Flow times in slots, ascending, and the share of all jobs that take no longer."""
    return _shares(drawing.report.flow.values(), most)


def _shares(found: Collection[int | None], most: int) -> tuple[Floats, Floats]:
    """Times in order, and the share of all that are no later; None is never."""
    ends = np.array(sorted(end for end in found if end is not None), float)
    parts = np.arange(1, len(ends) + 1) / len(found)
    if len(ends) > most:
        chosen = np.linspace(0, len(ends) - 1, most).round().astype(int)
        ends, parts = ends[chosen], parts[chosen]
    return np.concatenate([[0.0], ends]), np.concatenate([[0.0], parts])


def is_large(drawings: Sequence[Drawing]) -> bool:
    """Whether the rows of the Gantt charts are servers instead of GPUs; the same for all."""
    gpus = drawings[0].instance.cluster.total_gpus
    return gpus > MAX_SINGLE_ROWS or any(len(one.bars) > MAX_SINGLE_BARS for one in drawings)


def ring_scale(drawings: Sequence[Drawing]) -> int:
    """The number of rings on a link with the darkest colour, the same for all schedules.

    The number is at least 4: a lone ring has no contention and must not look like contention.
    """
    return max([4, *(link.rings.greatest for drawing in drawings for link in drawing.links)])


def _rows(names: Sequence[str], most: int) -> tuple[tuple[str, ...], int, list[int]]:
    """Names of at most this many rows, the number of entries of each, and the first of each."""
    per_row = -(-len(names) // most)
    firsts = list(range(0, len(names), per_row))
    shown = []
    for first in firsts:
        last = min(first + per_row, len(names)) - 1
        shown.append(names[first] if first == last else f"{names[first]} … {names[last]}")
    return tuple(shown), per_row, firsts
