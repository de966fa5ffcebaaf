"""Search over orders: change the order, justify, and keep improvements, or anneal.

Justification (Valls, Ballestín, Quintanilla, "Justification and RCPSP: a technique that pays",
European Journal of Operational Research 165, 2005) rebuilds the schedule with the jobs by
non-increasing completion, as if time ran backwards, and then once more. If jobs are packed onto
servers, this rarely makes a schedule longer, and it repairs most of the damage of a random change.
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Arrays, Floats, Ints, State
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .decode import decode
from .layout import ANY, ANY_ALONE, FEWEST_PAIRED, Layout, Work

_inner = partial(compiled, inner=True)


class Numbers(NamedTuple):
    """How orders are changed."""

    passes: int = 3
    """List schedules for each change: forwards, backwards, and forwards again."""
    most_changes: int = 4
    mode_share: float = 0.1
    delay_share: float = 0.01
    """Shares of the changes to a job's mode, and to its earliest start."""
    any_share: float = 0.2
    """Share of modes without restriction, among those that let a job share links by its odds."""
    history: int = 5
    """A change is also kept if it is no worse than the current order this many iterations ago."""


NUMBERS = Numbers()
EVENLY = -1.0
"""Odds of a job for which all modes are as likely."""
NOTHING = 1e300
"""Excess of an order without a schedule."""


class Orders(NamedTuple):
    """Genes of the search; rows are CURRENT, BEST (least excess), SHORTEST, TRIAL and PASS."""

    order: Ints
    """(5, jobs) Jobs, most urgent first."""
    mode: Ints
    """(5, jobs) Mode of each job."""
    earliest: Ints
    """(5, jobs) Earliest start of each job."""
    excess: Floats
    """(2 + history) Excess of CURRENT and BEST, and of what was current in the last iterations;
    NOTHING where it is not known for the present target."""
    makespan: Ints
    """(1) Makespan of SHORTEST in slots."""
    odds: Floats
    """(jobs) How often a new mode lets the job share links; or EVENLY."""


CURRENT, BEST, SHORTEST, TRIAL, PASS = range(5)


def new_orders(order: Ints, mode: Ints, odds: Floats) -> Orders:
    """Start with one order."""
    jobs = len(order)
    return Orders(
        order=np.tile(order, (5, 1)),
        mode=np.tile(mode, (5, 1)),
        earliest=np.zeros((5, jobs), np.int64),
        excess=np.full(2 + NUMBERS.history, NOTHING),
        makespan=np.array([NEVER], np.int64),
        odds=odds,
    )


@_inner
def _copy(orders: Orders, source: int, to: int) -> None:
    for i in range(orders.order.shape[1]):
        orders.order[to, i] = orders.order[source, i]
        orders.mode[to, i] = orders.mode[source, i]
        orders.earliest[to, i] = orders.earliest[source, i]


@_inner
def _excess(state: State, layout: Layout, target: int) -> float:
    """GPU slots that jobs hold past the target."""
    excess = 0.0
    for job in range(len(layout.size)):
        over = state.rings[job].finish - target
        if over > 0:
            excess += float(over) * layout.size[job]
    return excess


@_inner
def _change(
    layout: Layout, state: State, orders: Orders, generator: Generator, target: int
) -> None:
    """Swap two jobs of the trial order, move one, or change its mode or earliest start."""
    jobs = len(layout.size)
    order = orders.order[TRIAL]
    one, other = below(generator, jobs), below(generator, jobs)
    kind = fraction(generator)
    if kind < NUMBERS.mode_share:
        orders.mode[TRIAL, one] = _mode(layout, orders, one, generator)
    elif kind < NUMBERS.mode_share + NUMBERS.delay_share:
        # Until another job completes, as far as the last schedule tells.
        slot = state.rings[other].finish
        orders.earliest[TRIAL, one] = slot if slot < target and below(generator, 2) == 0 else 0
    elif below(generator, 2) == 0:
        order[one], order[other] = order[other], order[one]
    else:
        job = order[one]
        step = 1 if one < other else -1
        while one != other:
            order[one] = order[one + step]
            one += step
        order[one] = job


@_inner
def _mode(layout: Layout, orders: Orders, job: int, generator: Generator) -> int:
    """A mode, at random."""
    if orders.odds[job] == EVENLY:
        return below(generator, layout.most_modes[job])
    if fraction(generator) >= orders.odds[job]:
        return below(generator, ANY_ALONE + 1)
    return ANY if fraction(generator) < NUMBERS.any_share else FEWEST_PAIRED


@partial(compiled, parallel=True)
def anneal_orders(
    arrays: Arrays,
    state: State,
    layout: Layout,
    work: Work,
    orders: Orders,
    target: int,
    iterations: int,
    hot: float,
    cooling: float,
    generator: Generator,
) -> bool:
    """Look for an order without excess; return whether SHORTEST was improved.

    Parameters
    ----------
    arrays, state, layout, work
        The instance, and working memory.
    orders
        The orders to start from; they receive the results.
    target
        The makespan to reach in slots: the excess is the GPU slots that jobs hold past it.
    iterations
        Number of trials; the first has no change if the current excess is unknown.
    hot
        Temperature at the first trial, in GPU slots; if it is 0, changes that are no worse are
        kept.
    cooling
        Factor of the temperature from one trial to the next.
    generator
        The random numbers.
    """
    jobs = len(layout.size)
    improved = False
    temperature = hot
    for iteration in range(iterations):
        if work.stop[0] != 0:
            break
        _copy(orders, CURRENT, TRIAL)
        if iteration > 0 or orders.excess[CURRENT] < NOTHING:
            for _ in range(1 + below(generator, NUMBERS.most_changes)):
                _change(layout, state, orders, generator, target)
        least = NOTHING
        _copy(orders, TRIAL, PASS)
        for turn in range(NUMBERS.passes):
            makespan = decode(
                arrays,
                state,
                layout,
                work,
                orders.order[PASS],
                orders.mode[PASS],
                orders.earliest[PASS],
                4 * max(target, min(orders.makespan[0], NEVER // 8)),
            )
            if makespan < 0:
                break
            excess = _excess(state, layout, target)
            if makespan < orders.makespan[0]:
                orders.makespan[0] = makespan
                _copy(orders, PASS, SHORTEST)
                improved = True
            if excess < least:
                least = excess
                _copy(orders, PASS, TRIAL)
            if excess == 0.0:
                break
            if turn + 1 < NUMBERS.passes:
                for place in range(jobs):
                    orders.order[PASS, place] = work.finished[jobs - 1 - place]
                    orders.earliest[PASS, place] = 0  # It meant a slot of time run forwards.
        then = 2 + iteration % NUMBERS.history
        if orders.excess[then] == NOTHING:
            orders.excess[then] = orders.excess[CURRENT]
        limit = max(orders.excess[CURRENT], orders.excess[then])
        if temperature > 0.0:
            temperature *= cooling
            limit = orders.excess[CURRENT] - temperature * log(fraction(generator))
        if least < NOTHING and least <= limit:
            orders.excess[CURRENT] = least
            _copy(orders, TRIAL, CURRENT)
            if least < orders.excess[BEST]:
                orders.excess[BEST] = least
                _copy(orders, TRIAL, BEST)
        orders.excess[then] = orders.excess[CURRENT]
        if least == 0.0:
            break
    return improved
