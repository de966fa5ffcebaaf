"""Simulated annealing over servers: exchange jobs until each server keeps to the target.

If spread rings stay where they are, each server is a separate packing problem, and an exchange of
jobs costs two of these. Simulated annealing (S. Kirkpatrick, C. Gelatt, M. Vecchi,
Science 220, 1983) over exchanges and orders reduces the GPU slots that jobs hold past the target.
"""

from __future__ import annotations

from functools import partial
from math import log

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .layout import Layout
from .server_moves import NUMBERS, exchange, reorder, swap
from .server_orders import Packing, keep, measure


def worth_annealing(layout: Layout) -> bool:
    """Whether some jobs fit a server, and not too many."""
    jobs = len(layout.size)
    return len(layout.by_size) > 0 and jobs * layout.jobs_per_server <= NUMBERS.most_work


@partial(compiled, parallel=True)
def anneal_servers(
    layout: Layout,
    packing: Packing,
    target: int,
    moves: int,
    hot: float,
    cooling: float,
    generator: Generator,
    stop: Ints,
) -> bool:
    """Anneal; return whether no job is past the target.

    Parameters
    ----------
    layout, packing
        The instance, and the packing to improve.
    target
        The makespan to reach in slots.
    moves
        Changes to try.
    hot
        Temperature at the first change, in GPU slots.
    cooling
        Factor of the temperature from one change to the next.
    generator
        The random numbers.
    stop
        (1) Another thread sets it to 1 to stop this function.
    """
    servers = len(layout.server_gpus)
    measure(layout, packing, target)
    keep(packing)
    saved = 0
    temperature = hot
    for move in range(moves):
        if packing.total[0] <= 0.0 or stop[0] != 0:
            break
        temperature *= cooling
        if fraction(generator) < NUMBERS.overfull_share:
            server = packing.overfull[below(generator, packing.overfull_count[0])]
        else:
            server = below(generator, servers)
        if packing.first[0, server] < 0:
            continue
        limit = packing.total[0] - temperature * log(fraction(generator))
        if fraction(generator) < NUMBERS.order_share or servers == 1:
            reorder(layout, packing, server, target, limit, generator)
        elif fraction(generator) < NUMBERS.similar_share:
            swap(layout, packing, server, target, limit, generator)
        else:
            other = below(generator, servers)
            if other == server:
                continue
            exchange(layout, packing, server, other, target, limit, generator)
        # Copying takes as long as there are jobs, so it must not happen at every gain.
        if packing.total[0] < packing.total[1] and move - saved >= len(layout.size):
            keep(packing)
            saved = move
    if packing.total[0] < packing.total[1]:
        keep(packing)
    return bool(packing.total[1] <= 0.0)
