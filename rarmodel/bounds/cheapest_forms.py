"""The cheapest way for each job to do its iterations, where pieces of rings have prices.

A form of a job is a ring size and a number of servers. In each slot its ring is lone on the links
of its servers, or it shares them. A slot costs as much as the cheapest cut of the ring into as many
pieces as the form has servers; the pieces of lone and of sharing rings have prices of their own.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from rarmodel.engine.compilation import compiled
from rarmodel.schema import Instance

from .knapsack import Ints
from .ring_states import ring_states

Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]
LONE, SHARING = 0, 1
"""What a ring can be in a slot; also rows of the tables below. A packed job counts as lone."""
IMPOSSIBLE = 2**61
"""Price of what cannot be, above all others."""
MOST_SLOTS = 3_000
"""With more slots, those of both kinds are not mixed: less than a slot is given up instead."""


class Forms(NamedTuple):
    """The forms of all jobs, sorted by job."""

    job: Ints
    size: Ints
    servers: Ints
    speeds: Table
    """(2, forms) Most iterations in a slot; 0 if there are none, or if the other kind, which allows
    more, is as fast."""


class Chosen(NamedTuple):
    """The cheapest form of each job."""

    price: Ints
    form: Ints
    slots: Table
    """(2, jobs) Slots of each kind."""


def forms_of(instance: Instance, longest: int) -> Forms:
    """The forms in which a job is done within so many slots."""
    rows = []
    for j, spreadings in enumerate(ring_states(instance, most_rings=2)):
        iterations = instance.jobs[j].iterations_left
        for states in spreadings:
            if -(-iterations // states[0].speed) <= longest:
                speeds = {state.rings: state.speed for state in states}
                row = states[0].size, states[0].servers, speeds.get(1, 0), speeds.get(2, 0)
                rows.append((j, *row))
    table = np.array(rows, np.int64).reshape(-1, 5).T.copy()
    return Forms(table[0], table[1], table[2], table[3:])


class Cuts:
    """The cheapest cuts of rings into pieces.

    Parameters
    ----------
    prices
        Prices of pieces of 1, 2, … GPUs.
    servers, size
        Most pieces and most GPUs of a ring.

    Attributes
    ----------
    costs
        (pieces, GPUs) What the cheapest cut costs.
    """

    def __init__(self, prices: Ints, servers: int, size: int) -> None:
        self.costs = np.zeros((servers + 1, size + 1), np.int64)
        self._prices = prices
        _fill(prices, self.costs)
        self.pieces = cache(self._pieces)

    def _pieces(self, servers: int, size: int) -> list[int]:
        """GPUs of each piece of the cheapest cut."""
        found = []
        while servers:
            piece = next(
                k
                for k in range(1, min(len(self._prices), size) + 1)
                if self.costs[servers - 1, size - k] + self._prices[k - 1]
                == self.costs[servers, size]
            )
            found.append(piece)
            servers, size = servers - 1, size - piece
        return found


@compiled
def _fill(prices: Ints, costs: Table) -> None:
    costs[:] = IMPOSSIBLE
    costs[0, 0] = 0
    for count in range(1, len(costs)):
        for size in range(count, min(costs.shape[1] - 1, count * len(prices)) + 1):
            for piece in range(1, min(len(prices), size) + 1):
                before = costs[count - 1, size - piece]
                if before < IMPOSSIBLE:
                    costs[count, size] = min(costs[count, size], before + prices[piece - 1])


@compiled
def choose(forms: Forms, costs: Table, iterations: Ints, longest: int, chosen: Chosen) -> None:
    """Choose the cheapest form of each job, and its slots.

    Parameters
    ----------
    forms
        The forms; each job has one that is done in time.
    costs
        (2, forms) What a slot of each kind costs.
    iterations
        (jobs) Iterations to do.
    longest
        Most slots of a job.
    chosen
        Receives the result.
    """
    chosen.price[:] = IMPOSSIBLE
    for form in range(len(forms.job)):
        job = forms.job[form]
        left, lone, sharing = iterations[job], forms.speeds[0, form], forms.speeds[1, form]
        mixed = lone > 0 and sharing > 0
        if mixed and left // lone <= MOST_SLOTS:
            for first in range(-(-left // lone) + 1):
                rest = max(0, left - first * lone)
                second = -(-rest // sharing)
                price = first * costs[0, form] + second * costs[1, form]
                if first + second <= longest and price < chosen.price[job]:
                    chosen.price[job], chosen.form[job] = price, form
                    chosen.slots[0, job], chosen.slots[1, job] = first, second
            continue
        for kind in range(2):
            speed = forms.speeds[kind, form]
            if speed > 0:
                # No mixture is cheaper than as many parts of slots of the cheaper kind.
                slots = left // speed if mixed else -(-left // speed)
                if slots * costs[kind, form] < chosen.price[job]:
                    chosen.price[job], chosen.form[job] = slots * costs[kind, form], form
                    chosen.slots[kind, job], chosen.slots[1 - kind, job] = slots, 0
