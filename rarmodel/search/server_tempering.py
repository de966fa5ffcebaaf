"""Parallel tempering over servers: packings at fixed temperatures, which exchange places.

Simulated annealing ends wherever it is when it is cold. Copies of a packing that stay at one
temperature each, and now and then change places with the next one, go on for as long as there is
time: a copy that is stuck in the cold gets warm again (K. Hukushima, K. Nemoto, Journal of the
Physical Society of Japan 65, 1996). So they meet a makespan that almost no packing meets.

Spread rings are cut into pieces, which move between servers as jobs do. A ring keeps its time. It
takes as long as before where all links are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.random_numbers import Generator

from .block_program import Packed
from .layout import Layout
from .packing import Packing, new_packing, rings_of, settle
from .server_annealing import anneal_servers
from .similar import SIMILAR
from .solution import Solution

COLD, HOT, COPIES = 0.25, 1.1, 8
"""Least and greatest temperature, by the mean GPUs of a packed job, and how many there are. The
excess changes by a job's GPUs if the job ends a slot later."""
MOVES = 100_000
"""Changes that a copy tries before the next one does. With fewer, targets were met less often."""
PIECE = 4
"""GPUs of a piece of a ring. Changes move few pieces at a time, so they must not be smaller."""


class _Pieces(NamedTuple):
    """An instance in which each piece of a spread ring is a job more."""

    layout: Layout
    """The instance: its jobs, and then the pieces."""
    job: Ints
    """(jobs and pieces) The job of each piece; jobs are their own."""
    fixed: Ints
    """(jobs and pieces) Start slot of a piece, −1 for jobs."""
    server: Ints
    """(pieces) Where they begin."""


def temper(
    layout: Layout,
    solution: Solution,
    target: int,
    most_servers: Ints,
    random: np.random.Generator,
    over: Callable[[], bool],
) -> Packed | None:
    """Pack jobs anew, so that they meet a target; None if it is over before, or cannot begin.

    Parameters
    ----------
    layout
        The instance.
    solution
        Its spread rings keep their time, unless they end past the target: then they end at it. If
        they have no room then, tempering cannot begin.
    target
        The makespan to meet in slots.
    most_servers
        (jobs) Servers over which a spread ring may spread, where that is more than it does now.
    random
        The random numbers.
    over
        Whether to stop.

    Returns
    -------
    Packed or None
        Rings may take longer than before where links differ.
    """
    late = np.where(solution.used > 1, np.maximum(0, solution.completions - target), 0)
    skeleton = solution._replace(
        starts=solution.starts - late, completions=solution.completions - late
    )
    if not _have_room(layout, rings_of(layout, skeleton)):
        return None
    pieces = _pieces_of(layout, skeleton, most_servers)
    generator, stop = random.integers(2**62, size=1, dtype=np.uint64), np.zeros(1, np.int64)
    jobs = np.flatnonzero(solution.used == 1)
    temperatures = float(layout.size[jobs].mean()) * np.geomspace(COLD, HOT, COPIES)
    copies = [_dealt(pieces, jobs, random) for _ in temperatures]
    while True:
        for temperature, packing in zip(temperatures, copies, strict=True):
            if over():
                return None
            if _anneal(pieces.layout, packing, target, temperature, generator, stop):
                settle(pieces.layout, packing, target)
                return _packed(pieces, skeleton, packing)
        for place in range(COPIES - 1):
            better = copies[place].total[0] - copies[place + 1].total[0]
            warmth = 1 / temperatures[place] - 1 / temperatures[place + 1]
            if random.random() < exp(min(0.0, better * warmth)):
                copies[place], copies[place + 1] = copies[place + 1], copies[place]


def _have_room(layout: Layout, rings: Sequence[Sequence[tuple[int, int, int]]]) -> bool:
    """Whether rings start at slot 0 or later, and no server has less GPUs than they hold."""
    return all(
        start >= 0 and sum(gpus for first, end, gpus in here if first <= start < end) <= most
        for here, most in zip(rings, layout.server_gpus.tolist(), strict=True)
        for start, _, _ in here
    )


def _pieces_of(layout: Layout, skeleton: Solution, most_servers: Ints) -> _Pieces:
    """The rings of a solution in pieces.

    A ring of too many pieces keeps the parts that it has on servers as they are.
    """
    jobs = len(layout.size)
    found: list[tuple[int, int, int]] = []
    for ring, parts in enumerate(skeleton.rings):
        if len(parts) > 1:
            cut = [
                (server, min(PIECE, workers - first))
                for server, workers in parts.items()
                for first in range(0, workers, PIECE)
            ]
            whole = len(cut) > most_servers[ring]
            found += [(ring, *piece) for piece in (parts.items() if whole else cut)]
    rings, servers, workers = np.array(found, np.int64).reshape(-1, 3).T
    lasting = (skeleton.completions - skeleton.starts)[rings]
    return _Pieces(
        layout._replace(
            size=np.concatenate((layout.size, workers)),
            packed=np.concatenate((layout.packed, lasting)),
            # So far from all ranks that no job is similar.
            size_rank=np.concatenate((layout.size_rank, np.full(len(rings), -2 * SIMILAR))),
        ),
        np.concatenate((np.arange(jobs), rings)),
        np.concatenate((np.full(jobs, -1), skeleton.starts[rings])),
        servers,
    )


def _dealt(pieces: _Pieces, jobs: Ints, random: np.random.Generator) -> Packing:
    """A packing in which each job has any server that it fits, and each piece the one it had."""
    layout = pieces.layout
    jobs_of: list[list[int]] = [[] for _ in layout.server_gpus]
    first = len(pieces.job) - len(pieces.server)
    for piece, server in enumerate(pieces.server.tolist(), first):
        jobs_of[server].append(piece)
    for job in random.permutation(jobs).tolist():
        fitting = np.flatnonzero(layout.server_gpus >= layout.size[job])
        jobs_of[int(random.choice(fitting))].append(job)
    packing = new_packing(layout, jobs_of, [[] for _ in jobs_of])
    return packing._replace(fixed=pieces.fixed, ring=pieces.job)


def _anneal(
    layout: Layout,
    packing: Packing,
    target: int,
    temperature: float,
    generator: Generator,
    stop: Ints,
) -> bool:
    """Change a packing at one temperature; return whether it meets the target."""
    heat = temperature, 1.0
    return anneal_servers(layout, packing, target, MOVES, *heat, generator, stop, matched=True)


def _packed(pieces: _Pieces, skeleton: Solution, packing: Packing) -> Packed:
    """Start slots and workers of a settled packing."""
    workers: list[dict[int, int]] = [{} for _ in skeleton.starts]
    for job, size, home in zip(pieces.job, pieces.layout.size, packing.home.tolist(), strict=True):
        if home >= 0:
            workers[job][home] = workers[job].get(home, 0) + int(size)
    starts = np.where(skeleton.used > 1, skeleton.starts, packing.starts[: len(workers)])
    return Packed(starts, workers)
