"""Simulated annealing over list schedules of wider instances: order, way of placement, delay.

Every move changes what the decoder is given, so it applies to every feature and every objective:
swap two jobs of the order or move one, give a job another of its options (size, style, servers),
or let it wait until another job completes (S. Kirkpatrick, C. Gelatt, M. Vecchi, Science 220,
1983). Where jobs are pinned to their places in some schedule, two that are alike may swap places,
too. With several objectives the first counts most. Where it is the greatest of the jobs' terms,
most moves leave it as it is. Then what counts is by how much all terms together exceed an aim below
the best known value, and some moves are of the jobs with the greatest terms. Earlier completions
count a little.
"""

from __future__ import annotations

from functools import partial
from math import log
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Arrays, Floats, Ints, State
from rarmodel.engine.compilation import compiled
from rarmodel.engine.modes import Modes
from rarmodel.engine.random_numbers import Generator, below, fraction

from .decode import decode, term_of, values
from .facts import Facts, Goals
from .work import Work

_inner = partial(compiled, inner=True)

CURRENT, BEST, TRIAL = range(3)


class Numbers(NamedTuple):
    """How list schedules are changed, and what counts."""

    most_changes: int = 3
    """Changes in one move, at most."""
    option_share: float = 0.15
    delay_share: float = 0.05
    """Parts of the changes that are to a job's option, and to its delay."""
    near_share: float = 0.5
    near: int = 8
    """Of those to the order, the part that move a job by a few places only, and how many."""
    hurry_share: float = 0.3
    rivals: int = 8
    """Under a greatest term, the part of the changes that are to the job of the greatest term among
    some, and how many."""
    later_goals: float = 1e-4
    """What each further objective counts, relative to the one before."""
    smoothing: float = 1e-3
    """What the sum of weighted completions counts under a greatest term."""
    greatest_share: float = 0.1
    excess_share: float = 4.0
    """Under a greatest term: what it counts itself, and what the mean excess of all counts."""
    swap_share: float = 0.5
    """Part of the swaps of two jobs of the order that swap their places, too, if they can."""
    penalty: float = 2.0
    """What an objective counts above its cap, relative to the one that is minimised."""


NUMBERS = Numbers()
NOTHING = 1e300
"""Energy of what gives no schedule."""


class Genes(NamedTuple):
    """Decisions, in rows CURRENT, BEST and TRIAL."""

    order: Ints
    """(3, jobs) Jobs, most urgent first."""
    option: Ints
    """(3, jobs) Which of its options each takes."""
    earliest: Ints
    """(3, jobs) Slot from which on each may start."""
    value: Floats
    """(3, objectives) Values."""
    energy: Floats
    """(3) What is annealed."""
    aim: Floats
    """(1) What the terms of a greatest one should be at most: those up to it count nothing."""
    cap: Floats
    """(objectives) Value up to which an objective counts nothing; infinite to minimise it."""
    scale: Floats
    """(objectives + 1) What values, and the sum for smoothing, are divided by; 0 if not yet set."""


def new_genes(jobs: int, goals: int) -> Genes:
    """Room for decisions."""
    return Genes(
        order=np.zeros((3, jobs), np.int64),
        option=np.zeros((3, jobs), np.int64),
        earliest=np.zeros((3, jobs), np.int64),
        value=np.full((3, goals), NOTHING),
        energy=np.full(3, NOTHING),
        aim=np.zeros(1),
        cap=np.full(goals, np.inf),
        scale=np.zeros(goals + 1),
    )


@_inner
def _copy(genes: Genes, source: int, to: int) -> None:
    for i in range(genes.order.shape[1]):
        genes.order[to, i] = genes.order[source, i]
        genes.option[to, i] = genes.option[source, i]
        genes.earliest[to, i] = genes.earliest[source, i]
    for i in range(genes.value.shape[1]):
        genes.value[to, i] = genes.value[source, i]
    genes.energy[to] = genes.energy[source]


@_inner
def _move(order: Ints, place: int, to: int) -> None:
    """Move a job of the order to another place."""
    job = order[place]
    step = 1 if place < to else -1
    while place != to:
        order[place] = order[place + step]
        place += step
    order[place] = job


@_inner
def _hurry(facts: Facts, state: State, goals: Goals, genes: Genes, generator: Generator) -> None:
    """Let one of the jobs with the greatest terms be more urgent, or be placed in another way."""
    jobs = genes.order.shape[1]
    order = genes.order[TRIAL]
    place = 0
    greatest = -np.inf
    for _ in range(NUMBERS.rivals):
        other = below(generator, jobs)
        job = order[other]
        if goals.weight[0, job] > 0.0:
            term = term_of(goals, 0, job, state.rings[job].finish)
            if term > greatest:
                place, greatest = other, term
    job = order[place]
    options = facts.option_at[job + 1] - facts.option_at[job]
    if options > 1 and below(generator, 2) == 0:
        genes.option[TRIAL, job] = below(generator, options)
    else:
        genes.earliest[TRIAL, job] = 0
        _move(order, place, below(generator, place + 1))


@_inner
def _change(facts: Facts, state: State, goals: Goals, genes: Genes, generator: Generator) -> None:
    """One change of the trial."""
    aimed = goals.greatest[0] == 1 and genes.cap[0] == np.inf
    if aimed and fraction(generator) < NUMBERS.hurry_share:
        _hurry(facts, state, goals, genes, generator)
        return
    jobs = genes.order.shape[1]
    order = genes.order[TRIAL]
    job, other = below(generator, jobs), below(generator, jobs)
    kind = fraction(generator)
    options = facts.option_at[job + 1] - facts.option_at[job]
    pinned = len(facts.pin_at) > 1
    if pinned and kind < NUMBERS.option_share and below(generator, 2) == 0:
        if _may_swap(facts, genes, job, other):
            _swap_places(genes, job, other)
    elif kind < NUMBERS.option_share and (options > 1 or genes.option[TRIAL, job] < 0):
        genes.option[TRIAL, job] = below(generator, options)
    elif kind < NUMBERS.option_share + NUMBERS.delay_share:
        # Until another job completes, as far as the last schedule tells; or no more.
        delay = genes.earliest[TRIAL, job] == 0
        genes.earliest[TRIAL, job] = state.rings[other].finish if delay else 0
    elif below(generator, 2) == 0:
        one, two = order[job], order[other]
        order[job], order[other] = two, one
        if (
            pinned
            and fraction(generator) < NUMBERS.swap_share
            and _may_swap(facts, genes, one, two)
        ):
            _swap_places(genes, one, two)
    else:
        if fraction(generator) < NUMBERS.near_share:
            other = job + below(generator, 2 * NUMBERS.near + 1) - NUMBERS.near
            other = max(0, min(jobs - 1, other))
        _move(order, job, other)


@_inner
def _may_swap(facts: Facts, genes: Genes, one: int, other: int) -> bool:
    """Whether two jobs of the trial are pinned, and alike."""
    option = genes.option[TRIAL]
    return bool(option[one] < 0 and option[other] < 0 and facts.alike[one] == facts.alike[other])


@_inner
def _swap_places(genes: Genes, one: int, other: int) -> None:
    """Swap the places of two jobs of the trial, and until when they wait."""
    for row in (genes.option, genes.earliest):
        row[TRIAL, one], row[TRIAL, other] = row[TRIAL, other], row[TRIAL, one]


@_inner
def _energy(state: State, facts: Facts, goals: Goals, genes: Genes) -> float:
    """What is annealed, of the trial that was decoded last."""
    share, energy = 1.0, 0.0
    count = len(goals.greatest)
    for goal in range(count):
        value = genes.value[TRIAL, goal]
        if genes.scale[goal] == 0.0:
            genes.scale[goal] = max(goals.floor[goal], abs(value))
        if genes.cap[goal] < np.inf:
            energy += NUMBERS.penalty * max(0.0, value - genes.cap[goal]) / genes.scale[goal]
        else:
            energy += share * value / genes.scale[goal]
            share *= NUMBERS.later_goals
    if goals.greatest[0] == 1 and genes.cap[0] == np.inf:
        over = 0.0
        for job in range(len(facts.release)):
            if goals.weight[0, job] > 0.0:
                term = term_of(goals, 0, job, state.rings[job].finish)
                over += max(0.0, term - genes.aim[0])
        over /= genes.scale[0] * len(facts.release)
        energy = NUMBERS.greatest_share * energy + NUMBERS.excess_share * over
        total = 0.0
        for job in range(len(facts.release)):
            total += max(1e-3, goals.weight[0, job]) * state.rings[job].finish
        if genes.scale[count] == 0.0:
            genes.scale[count] = max(1e-9, total)
        energy += NUMBERS.smoothing * total / genes.scale[count]
    return energy


@_inner
def _better(genes: Genes, one: int, other: int) -> bool:
    """Whether one row has better values than another, the most important first."""
    for goal in range(genes.value.shape[1]):
        if genes.value[one, goal] != genes.value[other, goal]:
            return bool(genes.value[one, goal] < genes.value[other, goal])
    return False


@compiled
def anneal(
    arrays: Arrays,
    state: State,
    saved: State,
    modes: Modes,
    compute: Floats,
    facts: Facts,
    goals: Goals,
    work: Work,
    genes: Genes,
    moves: int,
    hot: float,
    cooling: float,
    generator: Generator,
    stop: Ints,
) -> int:
    """Anneal; how many of the moves were made.

    Parameters
    ----------
    arrays, modes, compute, facts, goals
        The instance, and what is minimised.
    state, saved, work
        Memory.
    genes
        Decisions; the current ones are decoded first if their energy is not known.
    moves
        How many to make.
    hot, cooling
        First temperature, as a part of the first objective, and its factor from move to move.
    generator
        The random numbers.
    stop
        (1) Another thread sets it to 1 to end this at once.
    """
    temperature = hot
    for move in range(moves):
        if stop[0] != 0:
            return move
        temperature *= cooling
        _copy(genes, CURRENT, TRIAL)
        if genes.energy[CURRENT] < NOTHING:
            for _ in range(1 + below(generator, NUMBERS.most_changes)):
                _change(facts, state, goals, genes, generator)
        made = decode(
            arrays,
            state,
            saved,
            modes,
            compute,
            facts,
            work,
            genes.order[TRIAL],
            genes.option[TRIAL],
            genes.earliest[TRIAL],
        )
        if made != 0:
            if genes.energy[CURRENT] == NOTHING:
                # Nothing is known that works: walk on at random.
                for _ in range(1 + below(generator, NUMBERS.most_changes)):
                    _change(facts, state, goals, genes, generator)
                _copy(genes, TRIAL, CURRENT)
            continue
        values(state, facts, goals, work, genes.value[TRIAL])
        genes.energy[TRIAL] = _energy(state, facts, goals, genes)
        limit = genes.energy[CURRENT] - temperature * log(fraction(generator))
        if genes.energy[TRIAL] <= limit:
            _copy(genes, TRIAL, CURRENT)
        if _better(genes, TRIAL, BEST):
            _copy(genes, TRIAL, BEST)
    return moves
