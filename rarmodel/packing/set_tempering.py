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
from functools import partial
from math import exp, log
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .layout import Layout
from .least_excess import Items, least_excess
from .server_orders import rings_of
from .server_sets import RETRY_STEPS, Servers, Sets, new_sets, servers_of
from .set_exchange import exchange_matched, swap_similar
from .similar import SIMILAR
from .solution import Packed, Solution


class Numbers(NamedTuple):
    """How tempering goes."""

    cold: float = 0.25
    """Least temperature, by the mean GPUs of a packed job. The excess changes by a job's GPUs if
    the job ends a slot later."""
    hot: float = 0.8
    """Greatest temperature."""
    copies: int = 6
    """Packings, each at a temperature of its own."""
    moves: int = 20_000
    """Changes that a copy tries before the next one does."""
    overfull_share: float = 0.6
    """Share of the changes that begin at a server with an excess."""
    similar_share: float = 0.5
    """Share of the changes that swap two jobs of one size and of similar execution time."""
    piece: int = 4
    """GPUs of a piece of a ring. Changes move few pieces at a time, so they must not be smaller."""


NUMBERS = Numbers()


def temper(
    layout: Layout,
    solution: Solution,
    target: int,
    most_servers: Ints,
    random: np.random.Generator,
    over: Callable[[], bool],
    *,
    anew: bool = False,
) -> Packed | None:
    """Pack jobs anew, so that they meet a target; None if it is over before, or cannot begin.

    Parameters
    ----------
    layout
        The instance.
    solution
        Its spread rings keep their time, unless they end past the target: then they end at it. The
        ring that ends last also ends at the target, unless it starts at slot 0: jobs fit less well
        both before and after a ring. If rings have no room then, tempering cannot begin.
    target
        The makespan to meet in slots.
    most_servers
        (jobs) Servers over which a spread ring may spread, where that is more than it does now.
    random
        The random numbers.
    over
        Whether to stop.
    anew
        Whether rings get other times: by turns, in random order, one starts at slot 0 and the next
        one ends at the target.

    Returns
    -------
    Packed or None
        Rings may take longer than before where links differ. None also if two sets of jobs had the
        same key, which almost never happens.
    """
    starts = _starts_of_rings(solution, target, random if anew else None)
    skeleton = solution._replace(
        starts=starts, completions=starts + solution.completions - solution.starts
    )
    if not _have_room(layout, rings_of(layout, skeleton)):
        return None
    servers, homes = _in_pieces(layout, skeleton, most_servers, target, random)
    generator = random.integers(2**62, size=1, dtype=np.uint64)
    jobs = np.flatnonzero(solution.used == 1)
    temperatures = float(layout.size[jobs].mean()) * np.geomspace(
        NUMBERS.cold, NUMBERS.hot, NUMBERS.copies
    )
    copies = [_dealt(servers, homes, jobs, target, random) for _ in temperatures]
    while True:
        for temperature, sets in zip(temperatures, copies, strict=True):
            if over():
                return None
            if _change(servers, sets, target, NUMBERS, temperature, generator):
                return _packed(servers, skeleton, sets, target)
        for place in range(NUMBERS.copies - 1):
            better = float(copies[place].total[0] - copies[place + 1].total[0])
            warmth = 1 / temperatures[place] - 1 / temperatures[place + 1]
            if random.random() < exp(min(0.0, better * warmth)):
                copies[place], copies[place + 1] = copies[place + 1], copies[place]


@partial(compiled, parallel=True)
def _change(
    servers: Servers,
    sets: Sets,
    target: int,
    numbers: Numbers,
    temperature: float,
    generator: Generator,
) -> bool:
    """Change the jobs of servers at one temperature; return whether they meet the target."""
    number = len(sets.counts)
    for _ in range(numbers.moves):
        if sets.total[0] == 0:
            return True
        if fraction(generator) < numbers.overfull_share:
            server = sets.overfull[below(generator, sets.overfull_count[0])]
        else:
            server = below(generator, number)
        if sets.counts[server] == 0:
            continue
        limit = sets.total[0] + int(-temperature * log(fraction(generator)))
        if fraction(generator) < numbers.similar_share:
            swap_similar(servers, sets, server, target, limit, generator)
        else:
            other = below(generator, number)
            if other != server:
                exchange_matched(servers, sets, server, other, target, limit, generator)
    return bool(sets.total[0] == 0)


def _starts_of_rings(solution: Solution, target: int, random: np.random.Generator | None) -> Ints:
    """(jobs) Start slots, with rings moved as `temper` says; anew if there are random numbers."""
    starts = solution.starts.copy()
    rings = np.flatnonzero(solution.used > 1)
    ends = solution.completions[rings]
    if random is not None:
        lasting, turn = ends - starts[rings], random.permutation(len(rings))
        starts[rings] = np.where(turn % 2 == 0, 0, target - lasting)
    elif len(rings) > 0:
        last = (ends == ends.max()) & (starts[rings] > 0)
        starts[rings] += np.where(last | (ends > target), target - ends, 0)
    return starts


def _have_room(layout: Layout, rings: Sequence[Sequence[tuple[int, int, int]]]) -> bool:
    """Whether rings start at slot 0 or later, and no server has less GPUs than they hold."""
    return all(
        start >= 0 and sum(gpus for first, end, gpus in here if first <= start < end) <= most
        for here, most in zip(rings, layout.server_gpus.tolist(), strict=True)
        for start, _, _ in here
    )


def _in_pieces(
    layout: Layout,
    skeleton: Solution,
    most_servers: Ints,
    target: int,
    random: np.random.Generator,
) -> tuple[Servers, Ints]:
    """Cut rings into pieces; return what servers may run, and the server of each piece.

    A ring of too many pieces keeps the parts that it has on servers as they are.
    """
    jobs = len(layout.size)
    found: list[tuple[int, int, int]] = []
    for ring, parts in enumerate(skeleton.rings):
        if len(parts) > 1:
            cut = [
                (server, min(NUMBERS.piece, workers - first))
                for server, workers in parts.items()
                for first in range(0, workers, NUMBERS.piece)
            ]
            whole = len(cut) > most_servers[ring]
            found += [(ring, *piece) for piece in (parts.items() if whole else cut)]
    rings, homes, workers = np.array(found, np.int64).reshape(-1, 3).T
    starts, ends = skeleton.starts[rings], skeleton.completions[rings]
    pieces = layout._replace(
        size=np.concatenate((layout.size, workers)),
        packed=np.concatenate((layout.packed, ends - starts)),
        # So far from all ranks that no job is similar.
        size_rank=np.concatenate((layout.size_rank, np.full(len(rings), -2 * SIMILAR))),
    )
    items = Items(
        size=pieces.size,
        slots=pieces.packed,
        release=np.concatenate((np.zeros(jobs, np.int64), starts)),
        due=np.concatenate((np.full(jobs, target), ends)),
    )
    _, kind = np.unique(np.stack((rings, workers)), axis=1, return_inverse=True)
    kinds = np.concatenate((np.arange(jobs), jobs + kind.reshape(-1)))
    ring_of = np.concatenate((np.full(jobs, -1), rings))
    return servers_of(pieces, items, ring_of, kinds, random), homes


def _dealt(
    servers: Servers, homes: Ints, jobs: Ints, target: int, random: np.random.Generator
) -> Sets:
    """Sets in which each job has any server that it fits, and each piece the one it had."""
    gpus, size = servers.layout.server_gpus, servers.items.size
    members: list[list[int]] = [[] for _ in gpus]
    for piece, server in enumerate(homes.tolist(), len(size) - len(homes)):
        members[server].append(piece)
    for job in jobs.tolist():
        members[int(random.choice(np.flatnonzero(gpus >= size[job])))].append(job)
    return new_sets(servers, members, target)


def _packed(servers: Servers, skeleton: Solution, sets: Sets, target: int) -> Packed | None:
    """Start slots and workers of sets without an excess; None if two sets had the same key."""
    starts, stack = skeleton.starts.copy(), servers.stack
    workers: list[dict[int, int]] = [{} for _ in starts]
    for server, gpus in enumerate(servers.layout.server_gpus.tolist()):
        row, count = sets.members[server], int(sets.counts[server])
        if least_excess(servers.items, row, count, gpus, target, 0, RETRY_STEPS, stack) != 0:
            return None
        for place, start in zip(stack.chosen[:count], stack.start[:count], strict=True):
            item = stack.item[place]
            job = servers.ring[item]
            if job < 0:
                job = item
                starts[job] = start
            workers[job][server] = workers[job].get(server, 0) + int(servers.items.size[item])
    return Packed(starts, workers)
