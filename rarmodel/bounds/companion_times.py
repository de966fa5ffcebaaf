"""Prices over time of what GPUs do at best where jobs share them, for sums of terms.

The machine of `companions` does so much in a slot, at prices of work. Give its time prices too, at
least 0, that never rise from a slot to the next one. In a schedule all jobs together pay at most
for all that the machine does. So the sum of the terms is at least the sum over the jobs of term
plus payment, less the price of all the room, as in `gpu_prices`.

Job j has F iterations to do, φ in a slot at most. Where it shares GPUs it may be slow at some times
and fast at others, and it may be interrupted. By its completion T it has done all, and as prices do
not rise, it pays least if it does φ iterations in each of the last slots before T: of these there
are `⌊F/φ⌋` at least. So it pays no less than one that starts `⌊F/φ⌋` slots before T and is alone.

Subgradient steps find prices. Of those that rise, neighbours are levelled out, which is the closest
row of prices that never rise (M. Ayer and others, "An empirical distribution function for sampling
with incomplete information", Annals of Mathematical Statistics 26, 1955).
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, inf, lcm

import numpy as np

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.model import job_extremes
from rarmodel.model.objectives import Objective, Term, Value, exact
from rarmodel.schema import Instance

from .arguments import counted
from .capacity_relaxation import STEP_WORK
from .gpu_prices import ascended, proven_at, steps_for, with_terms
from .least_demands import Machine, filled, works
from .subgradient import CapacityRelaxation, new_prices

SPEED = 2**20
"""What the machine does in a slot, about: other numbers are parts of that."""
NEVER = 2**60
"""A slot that is later than any other."""


def over_time(instance: Instance, objective: Objective, machine: Machine) -> Value | None:
    """What prices of a machine's time prove of a sum of terms; None if the objective is none."""
    terms = counted(instance, objective)
    if objective.greatest or not terms:
        return None
    common = lcm(*(term.divisor for term in terms.values()))
    relaxed = with_terms(_relaxation(instance, machine), terms, common)
    steps = steps_for(relaxed)
    if steps == 0:
        return None  # Time is over.
    prices = new_prices(relaxed)
    ascended(relaxed, prices, steps, _hope(terms.values(), machine) * common, inf)
    prices.best[0, :-1] = falling(prices.best[0, :-1])
    proven = proven_at((0,), relaxed, prices)
    if proven is None:
        return None
    value = proven.value / common
    return ceil(value) if common == 1 else exact(value)


def _hope(terms: Iterable[Term], machine: Machine) -> float:
    """How much more than each job alone all might cost, as a first guess."""
    weights = sum(term.weight / term.divisor for term in terms)
    return max(1.0, weights * filled(machine) / 8)


def _relaxation(instance: Instance, machine: Machine) -> CapacityRelaxation:
    """The machine and its jobs without terms; jobs that do not use it pay nothing."""
    length = filled(machine) * 4 // 3
    blocks = max(1, min(length, STEP_WORK // len(instance.jobs)))
    width = -(-length // blocks)
    blocks = -(-length // width)
    unit = -(-machine.speed // SPEED)
    starts, slots, sizes = [], [], []
    for work, extreme in zip(works(instance), job_extremes(instance), strict=True):
        mine = machine.works.get(work.job)
        if mine is None or mine.span == 0:
            alone, size = work.slots, 0
        else:
            left = instance.jobs[work.job].iterations_left
            alone, size = mine.span, mine.area * extreme.best_speed // (left * unit)
        starts.append(work.head + work.slots - alone)
        slots.append(alone)
        sizes.append(size)
    jobs = len(starts)
    room = -(-machine.speed // unit) * width
    return CapacityRelaxation(
        width=width,
        capacity=np.full((1, blocks), float(room)),
        offer_at=np.arange(jobs + 1),
        size=_ints(sizes),
        slots=_ints(slots),
        kind=np.zeros(jobs, np.int64),
        start=_ints(starts),
        last_start=np.full(jobs, NEVER),
        end=np.full(jobs, NEVER),
        weight=np.zeros(jobs),
        offset=np.zeros(jobs, np.int64),
        shape=np.zeros(jobs, np.int64),
    )


def _ints(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, np.int64)


def falling(prices: Floats) -> Floats:
    """The closest row of numbers that never rise: where they do, the mean of neighbours."""
    means, numbers = list[float](), list[int]()
    for price in prices.tolist():
        means.append(price)
        numbers.append(1)
        while len(means) > 1 and means[-2] < means[-1]:
            last, many = means.pop(), numbers.pop()
            together = numbers[-1] + many
            means[-1] = (means[-1] * numbers[-1] + last * many) / together
            numbers[-1] = together
    # Rounding must not let a price rise.
    return np.minimum.accumulate(np.repeat(means, numbers))
