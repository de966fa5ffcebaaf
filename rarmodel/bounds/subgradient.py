"""Prices for GPUs over time that make jobs pay as much as possible, by subgradient steps.

See `rarmodel.bounds.gpu_prices` for what such prices prove. All functions here are exact where
their floats are whole numbers below 2^53.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.engine.compilation import compiled

_inner = partial(compiled, inner=True)

MOMENTUM = 0.7
"""Part of the last step that the next one keeps."""
PATIENCE, SHORTER = 15, 0.7
"""After so many steps without a better value, steps get shorter by this factor."""
ENOUGH = 1e-6
"""Steps end when they promise no more than this part of the first one."""


class CapacityRelaxation(NamedTuple):
    """Jobs that need GPUs of some kind for some slots, and the GPUs that there are.

    Time is cut into blocks of `width` slots; after the last one GPUs cost nothing.
    """

    width: int
    """Slots of a block."""
    capacity: Floats
    """(kinds, blocks) GPU slots that there are."""
    offer_at: Ints
    """(jobs + 1) Offsets of each job's offers in the next three."""
    size: Ints
    """GPUs that the job then holds."""
    slots: Ints
    """Slots for which it holds them, at least."""
    kind: Ints
    """Kind of GPUs."""
    start: Ints
    """(jobs) First slot in which each may start."""
    last_start: Ints
    """(jobs) Last slot in which each may start, but for its end."""
    end: Ints
    """(jobs) Slot by which each must complete."""
    weight: Floats
    """(jobs) Weight of its term; 0 for a job that does not count."""
    offset: Ints
    """(jobs) Offset of its term."""
    shape: Ints
    """(jobs) Shape of its term."""


class Prices(NamedTuple):
    """Prices, and what jobs do at them."""

    now: Floats
    """(kinds, blocks + 1) Price of a GPU for a slot; 0 in the last column."""
    best: Floats
    """The same with the greatest value so far."""
    paid: Floats
    """(kinds, blocks + 1) What a GPU costs from slot 0 to the begin of each block."""
    held: Floats
    """(kinds, blocks) GPU slots that jobs hold."""
    step: Floats
    """(kinds, blocks) Direction of the last step."""
    offer: Ints
    """(jobs) Offer that each job takes."""
    begun: Ints
    """(jobs) When it starts."""
    taken: Floats
    """(offers) How often each offer was taken, lately and on average."""
    mean: Floats
    """(jobs) When each started, lately and on average."""


def new_prices(relaxed: CapacityRelaxation) -> Prices:
    """All prices 0."""
    kinds, blocks = relaxed.capacity.shape
    jobs = len(relaxed.start)
    return Prices(
        now=np.zeros((kinds, blocks + 1)),
        best=np.zeros((kinds, blocks + 1)),
        paid=np.zeros((kinds, blocks + 1)),
        held=np.zeros((kinds, blocks)),
        step=np.zeros((kinds, blocks)),
        offer=np.zeros(jobs, np.int64),
        begun=np.zeros(jobs, np.int64),
        taken=np.zeros(len(relaxed.size)),
        mean=np.zeros(jobs),
    )


@_inner
def _term(relaxed: CapacityRelaxation, job: int, completion: int) -> float:
    slots = completion - relaxed.offset[job]
    if relaxed.shape[job] == 1:
        slots = max(0, slots)
    elif relaxed.shape[job] == 2:
        slots = 1 if slots > 0 else 0
    return float(relaxed.weight[job] * slots)


@_inner
def _until(relaxed: CapacityRelaxation, prices: Prices, kind: int, slot: int) -> float:
    """What a GPU costs from slot 0 to a slot."""
    block = slot // relaxed.width
    blocks = relaxed.capacity.shape[1]
    if block >= blocks:
        return float(prices.paid[kind, blocks])
    inside = slot - block * relaxed.width
    return float(prices.paid[kind, block] + prices.now[kind, block] * inside)


@_inner
def _take(
    relaxed: CapacityRelaxation, prices: Prices, job: int, offer: int, least: float, start: int
) -> float:
    """The least of a known cost and that of an offer at a start; notes it if it is less."""
    slots, kind = relaxed.slots[offer], relaxed.kind[offer]
    paid = _until(relaxed, prices, kind, start + slots) - _until(relaxed, prices, kind, start)
    cost = _term(relaxed, job, start + slots) + relaxed.size[offer] * paid
    if cost < least:
        prices.offer[job], prices.begun[job] = offer, start
        return float(cost)
    return least


@_inner
def _least(relaxed: CapacityRelaxation, prices: Prices, job: int) -> float:
    """The least that a job can cost; infinite if it can do nothing.

    Between two of the starts that are tried the price of the slots held, and the term, change
    evenly with the start, and so does their sum.
    """
    width, blocks = relaxed.width, relaxed.capacity.shape[1]
    least = np.inf
    for offer in range(relaxed.offer_at[job], relaxed.offer_at[job + 1]):
        slots, kind, size = relaxed.slots[offer], relaxed.kind[offer], relaxed.size[offer]
        first = relaxed.start[job]
        last = min(relaxed.end[job] - slots, relaxed.last_start[job])
        if first > last:
            continue
        last = max(first, min(last, blocks * width))
        for start in (first, last, relaxed.offset[job] - slots, relaxed.offset[job] - slots + 1):
            if first <= start <= last:
                least = _take(relaxed, prices, job, offer, least, start)
        now, paid = prices.now[kind], prices.paid[kind]
        whole = slots // width
        rest = slots - whole * width
        # Starts at the begin of a block.
        for block in range(-(-first // width), min(last // width, blocks) + 1):
            end = min(block + whole, blocks)
            cost = paid[end] + now[end] * rest - paid[block]
            cost = _term(relaxed, job, block * width + slots) + size * cost
            if cost < least:
                least = cost
                prices.offer[job], prices.begun[job] = offer, block * width
        if rest > 0:
            # Completions there.
            for block in range(-(-(first + slots) // width), (last + slots) // width + 1):
                least = _take(relaxed, prices, job, offer, least, block * width - slots)
    return least


@_inner
def _hold(relaxed: CapacityRelaxation, prices: Prices, job: int) -> None:
    """Add what a job holds."""
    offer, width = prices.offer[job], relaxed.width
    start = prices.begun[job]
    end = min(start + relaxed.slots[offer], relaxed.capacity.shape[1] * width)
    block = start // width
    while block * width < end:
        inside = min(end, (block + 1) * width) - max(start, block * width)
        prices.held[relaxed.kind[offer], block] += relaxed.size[offer] * inside
        block += 1


@compiled
def worth(relaxed: CapacityRelaxation, prices: Prices) -> float:
    """What all jobs cost at least, at the present prices, less the price of all the room."""
    kinds, blocks = relaxed.capacity.shape
    total = 0.0
    prices.held[:] = 0.0
    for kind in range(kinds):
        for block in range(blocks):
            whole = prices.now[kind, block] * relaxed.width
            prices.paid[kind, block + 1] = prices.paid[kind, block] + whole
            total -= prices.now[kind, block] * relaxed.capacity[kind, block]
    for job in range(len(relaxed.start)):
        total += _least(relaxed, prices, job)
        if total == np.inf:
            return total
        _hold(relaxed, prices, job)
    return total


@_inner
def _scale(relaxed: CapacityRelaxation, prices: Prices) -> None:
    """Make all the room cost 1."""
    total = 0.0
    for kind in range(relaxed.capacity.shape[0]):
        for block in range(relaxed.capacity.shape[1]):
            total += prices.now[kind, block] * relaxed.capacity[kind, block]
    if total > 0.0:
        for kind in range(relaxed.capacity.shape[0]):
            for block in range(relaxed.capacity.shape[1]):
                prices.now[kind, block] /= total


@_inner
def _copy(source: Floats, to: Floats) -> None:
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            to[i, j] = source[i, j]


@compiled
def ascend(
    relaxed: CapacityRelaxation, prices: Prices, steps: int, hope: float, enough: float
) -> float:
    """Change prices step by step; the greatest value, whose prices are then `best` and `now`.

    If no term counts, only the ratio of prices matters: then all the room costs 1.

    Parameters
    ----------
    relaxed, prices
        The jobs, and prices to start from.
    steps
        How many, at most.
    hope
        By how much the value may grow: steps aim at that (B. Polyak, "Minimization of unsmooth
        functionals", USSR Computational Mathematics and Mathematical Physics 9, 1969).
    enough
        A value at which to stop.
    """
    kinds, blocks = relaxed.capacity.shape
    greatest = -np.inf
    scaled = True
    for job in range(len(relaxed.weight)):
        scaled = scaled and relaxed.weight[job] == 0.0
    prices.step[:] = 0.0
    prices.taken[:] = 0.0
    least_hope = hope * ENOUGH
    stalled = 0
    for number in range(steps):
        if scaled:
            _scale(relaxed, prices)
        value = worth(relaxed, prices)
        part = max(0.02, 1.0 / (number + 1))
        for offer in range(len(prices.taken)):
            prices.taken[offer] *= 1.0 - part
        for job in range(len(relaxed.start)):
            prices.taken[prices.offer[job]] += part
            prices.mean[job] += part * (prices.begun[job] - prices.mean[job])
        stalled += 1
        if value > greatest:
            if value > greatest + 0.05 * hope:
                stalled = 0
            greatest = value
            _copy(prices.now, prices.best)
        if greatest >= enough or hope <= least_hope:
            break
        if stalled >= PATIENCE:
            hope *= SHORTER
            stalled = 0
            _copy(prices.best, prices.now)
            prices.step[:] = 0.0
            continue
        length = 0.0
        for kind in range(kinds):
            for block in range(blocks):
                excess = prices.held[kind, block] - relaxed.capacity[kind, block]
                change = excess + MOMENTUM * prices.step[kind, block]
                prices.step[kind, block] = change
                if change > 0.0 or prices.now[kind, block] > 0.0:
                    length += change * change
        if length == 0.0:
            break
        factor = (greatest - value + hope) / length
        for kind in range(kinds):
            for block in range(blocks):
                change = prices.now[kind, block] + factor * prices.step[kind, block]
                prices.now[kind, block] = max(0.0, change)
    _copy(prices.best, prices.now)
    return greatest
