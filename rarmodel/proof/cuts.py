"""Cuts of the configuration bound, as `branch` takes them.

A cut counts wherever at most so many slots are left as it is about: it says what all that is left
of the jobs is worth, and how much a slot can be worth. So cuts that were made for one node prune
other nodes as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rarmodel.bounds.configurations import Cut
from rarmodel.bounds.ring_states import Spreading
from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled

from .tree import LEVEL, Options, Prices, Tree

MOST_WORTHS = 10_000_000
"""Most numbers in the tables of what is left of jobs."""


def with_room(
    options: Options,
    iterations: Sequence[int],
    spreadings: Sequence[Sequence[Spreading]],
    cuts: int,
) -> Options:
    """The options, with room for so many cuts, or for fewer if that takes too much memory.

    Parameters
    ----------
    options
        The options.
    iterations, spreadings
        (jobs of the instance) The iterations and the classes of each job.
    cuts
        Most cuts.
    """
    offsets, size = {}, 0
    for j in map(int, options.job):
        for spreading in spreadings[j]:
            offsets[j, spreading[0].servers] = size
            size += iterations[j] + 1
    cuts = min(cuts, MOST_WORTHS // size)
    prices = Prices(
        counters=np.zeros(1, np.int64),
        length=np.zeros(cuts, np.int64),
        slot=np.zeros(cuts, np.int64),
        waiting=np.zeros((cuts, len(options.job)), np.int64),
        more=np.zeros((cuts, len(options.slots)), np.int64),
        at=np.array([offsets[form] for form in forms(options)], np.int64),
        left=np.zeros((cuts, size), np.int64),
    )
    return options._replace(prices=prices)


def forms(options: Options) -> Iterator[tuple[int, int]]:
    """(options) The job, by its index in the instance, and its number of servers."""
    for place, j in enumerate(map(int, options.job)):
        for option in range(options.first[place], options.first[place + 1]):
            yield j, int(np.count_nonzero(options.workers[option]))


def write_cut(
    options: Options,
    place: int,
    cut: Cut,
    iterations: Sequence[int],
    spreadings: Sequence[Sequence[Spreading]],
) -> None:
    """Write a cut into a place of the prices; see `with_room`."""
    prices = options.prices
    prices.length[place], prices.slot[place] = cut.length, cut.dearest
    too_much = cut.dearest * (cut.length + 1)
    worths = []
    written = set()
    for at, (j, servers) in zip(map(int, prices.at), forms(options), strict=True):
        k = class_of(spreadings[j], servers)
        worths.append(cut.cheapest.get((j, k), too_much) if k in cut.within[j] else 0)
        if at not in written:
            written.add(at)
            speeds = np.array([state.speed for state in spreadings[j][k]], np.int64)
            row = prices.left[place, at : at + iterations[j] + 1]
            fill_worths(speeds, np.array(cut.prices[j, k], np.int64), row)
    for i in range(len(options.job)):
        own = slice(options.first[i], options.first[i + 1])
        prices.waiting[place, i] = least = min(worths[own], default=0)
        prices.more[place, own] = [worth - least for worth in worths[own]]
    prices.counters[0] = max(prices.counters[0], place + 1)


def class_of(spreadings: Sequence[Spreading], servers: int) -> int:
    """The class of a job on so many servers."""
    return next(k for k, states in enumerate(spreadings) if states[0].servers == servers)


@compiled
def fill_worths(speeds: Ints, prices: Ints, row: Ints) -> None:
    """The least price of slots that do so many iterations, at speeds that have prices."""
    row[0] = 0
    for left in range(1, len(row)):
        row[left] = prices[0] + row[max(0, left - speeds[0])]
        for state in range(1, len(speeds)):
            row[left] = min(row[left], prices[state] + row[max(0, left - speeds[state])])


@compiled
def appraise(options: Options, tree: Tree, cut: int) -> None:
    """Value all states on the path by a cut."""
    prices = options.prices
    for level in range(tree.counters[LEVEL] + 1):
        worth = 0
        for job in range(len(options.job)):
            worth += prices.waiting[cut, job]
        for before in range(level):
            job = tree.job[before]
            row = prices.at[tree.option[before]]
            worth += prices.left[cut, row + tree.left[level, job]] - prices.waiting[cut, job]
        tree.worth[level, cut] = worth
