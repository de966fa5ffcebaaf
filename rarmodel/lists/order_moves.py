"""Changes to what a list schedule is decoded from: order, way of placement, delay.

They are the same for every feature and every objective: swap two jobs of the order or move one,
give a job another of its options (size, style, servers), or let it wait until another completes.
Where jobs are pinned to their places in some schedule, two that are alike may swap places, too.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import NEVER, Floats, Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .instance_arrays import InstanceArrays
from .objective_arrays import ObjectiveArrays, term_of
from .partial_schedule import PartialSchedule
from .placement_options import ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED

_inner = partial(compiled, inner=True)

CURRENT, BEST, LEAST, TRIAL, PASS = range(5)
NOTHING = 1e300
"""Energy of what gives no schedule."""
EVENLY = -1.0
"""Odds of a job for which all options are as likely."""


class Numbers(NamedTuple):
    """How often annealing makes which changes, and what counts how much."""

    passes: int = 1
    """List schedules for each trial: forwards, then in turn backwards and forwards."""
    most_changes: int = 3
    """Changes in one move, at most."""
    option_share: float = 0.15
    """Part of the changes that are to a job's option."""
    delay_share: float = 0.05
    """Part of the changes that are to its delay."""
    loose_alone: float = 0.5
    """Where a job's odds say whether it shares links: how often it takes any servers, relative to
    as few as possible, if it shares none."""
    loose_shared: float = 0.125
    """The same if it shares some: rings that share do so in chains, on few servers."""
    near_share: float = 0.5
    """Part of the moves in the order that are by a few places only."""
    near: int = 8
    """So many places at most."""
    hurry_share: float = 0.3
    """Under a greatest term, the part of the changes that are to the job of the greatest term among
    some."""
    rivals: int = 8
    """How many these are."""
    swap_share: float = 0.5
    """Part of the swaps of two jobs of the order that swap their places, too, if they can."""
    later: float = 1e-4
    """What each further objective counts, relative to the one before."""
    greatest: float = 0.1
    """Under a greatest term: what it counts itself."""
    excess: float = 4.0
    """And what the mean excess of all terms counts."""
    smoothing: float = 1e-3
    """And what the sum of weighted completions counts."""
    penalty: float = 2.0
    """What an objective counts above its cap, relative to the one that is minimised."""


NUMBERS = Numbers()
JUSTIFIED = Numbers(
    passes=3,
    most_changes=4,
    option_share=0.1,
    delay_share=0.01,
    near_share=0.0,
    hurry_share=0.0,
    greatest=0.0,
    smoothing=0.0,
)
"""For the makespan without releases, deadlines and the like."""
NESTED = JUSTIFIED._replace(greatest=NUMBERS.greatest, smoothing=NUMBERS.smoothing)
"""The same beside turns over buddy blocks, which lead: these turns are short."""


class Encodings(NamedTuple):
    """What schedules are decoded from, in rows CURRENT, BEST, LEAST, TRIAL and PASS.

    BEST has the best values of all. LEAST has the least energy for the present aim since the
    annealing began from another order.
    """

    order: Ints
    """(5, jobs) Jobs, most urgent first."""
    option: Ints
    """(5, jobs) Which of its options each takes."""
    earliest: Ints
    """(5, jobs) Slot from which on each may start."""
    value: Floats
    """(5, objectives) Values."""
    energy: Floats
    """(5) What is annealed."""
    aim: Floats
    """(1) What the terms of a greatest one should be at most: those up to it count nothing."""
    cap: Floats
    """(objectives) Value up to which an objective counts nothing; infinite to minimise it."""
    odds: Floats
    """(jobs) How often a new option lets the job share links; or EVENLY."""
    bulk: Floats
    """(jobs) What each slot past the aim counts: the job's GPUs, relative to their mean, or 1."""
    scale: Floats
    """(objectives + 1) What values, and the sum for smoothing, are divided by; 0 if not yet set."""


def new_encodings(jobs: int, objectives: int) -> Encodings:
    """Memory for the orders of so many jobs."""
    return Encodings(
        order=np.zeros((5, jobs), np.int64),
        option=np.zeros((5, jobs), np.int64),
        earliest=np.zeros((5, jobs), np.int64),
        value=np.full((5, objectives), NOTHING),
        energy=np.full(5, NOTHING),
        aim=np.zeros(1),
        cap=np.full(objectives, np.inf),
        odds=np.full(jobs, EVENLY),
        bulk=np.ones(jobs),
        scale=np.zeros(objectives + 1),
    )


@_inner
def copy_row(encodings: Encodings, source: int, to: int) -> None:
    """Copy the decisions of a row, with their values and energy."""
    for i in range(encodings.order.shape[1]):
        encodings.order[to, i] = encodings.order[source, i]
        encodings.option[to, i] = encodings.option[source, i]
        encodings.earliest[to, i] = encodings.earliest[source, i]
    for i in range(encodings.value.shape[1]):
        encodings.value[to, i] = encodings.value[source, i]
    encodings.energy[to] = encodings.energy[source]


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
def _option(
    instance: InstanceArrays,
    encodings: Encodings,
    numbers: Numbers,
    job: int,
    generator: Generator,
) -> int:
    """An option of a job, at random: evenly, or by how often the job is to share links."""
    first, end = instance.options.at[job], instance.options.at[job + 1]
    if encodings.odds[job] == EVENLY:
        return int(below(generator, end - first))
    shares = fraction(generator) < encodings.odds[job]
    while True:
        choice = below(generator, end - first)
        style = instance.options.style[first + choice]
        if shares != (style not in (ANY_ALONE, FEWEST_ALONE)):
            continue
        if style in (FEWEST_ALONE, FEWEST_PAIRED):
            return int(choice)
        loose = numbers.loose_shared if shares else numbers.loose_alone
        if fraction(generator) < loose:
            return int(choice)


@_inner
def _hurry(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    objectives: ObjectiveArrays,
    encodings: Encodings,
    numbers: Numbers,
    generator: Generator,
) -> None:
    """Let one of the jobs with the greatest terms be more urgent, or be placed in another way."""
    jobs = encodings.order.shape[1]
    order = encodings.order[TRIAL]
    place = 0
    greatest = -np.inf
    for _ in range(numbers.rivals):
        other = below(generator, jobs)
        job = order[other]
        if objectives.weight[0, job] > 0.0:
            term = term_of(objectives, 0, job, schedule.state.rings[job].finish)
            if term > greatest:
                place, greatest = other, term
    job = order[place]
    options = instance.options.at[job + 1] - instance.options.at[job]
    if options > 1 and below(generator, 2) == 0:
        encodings.option[TRIAL, job] = _option(instance, encodings, numbers, job, generator)
    else:
        encodings.earliest[TRIAL, job] = 0
        _move(order, place, below(generator, place + 1))


@_inner
def change(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    objectives: ObjectiveArrays,
    encodings: Encodings,
    numbers: Numbers,
    generator: Generator,
) -> None:
    """One change of the trial.

    Parameters
    ----------
    instance, schedule
        The instance, and the schedule that was made last.
    objectives, encodings, numbers
        What is minimised, the decisions, and how often which of them changes.
    generator
        The random numbers.
    """
    aimed = objectives.greatest[0] == 1 and encodings.cap[0] == np.inf
    if aimed and fraction(generator) < numbers.hurry_share:
        _hurry(instance, schedule, objectives, encodings, numbers, generator)
        return
    jobs = encodings.order.shape[1]
    order = encodings.order[TRIAL]
    job, other = below(generator, jobs), below(generator, jobs)
    kind = fraction(generator)
    options = instance.options.at[job + 1] - instance.options.at[job]
    pinned = len(instance.pin_at) > 1
    if pinned and kind < numbers.option_share and below(generator, 2) == 0:
        if _may_swap(instance, encodings, job, other):
            _swap_places(encodings, job, other)
    elif kind < numbers.option_share and (options > 1 or encodings.option[TRIAL, job] < 0):
        encodings.option[TRIAL, job] = _option(instance, encodings, numbers, job, generator)
    elif kind < numbers.option_share + numbers.delay_share:
        # Until another job completes, as far as the last schedule tells; or no more.
        delay = encodings.earliest[TRIAL, job] == 0
        slot = schedule.state.rings[other].finish
        encodings.earliest[TRIAL, job] = slot if delay and slot < NEVER else 0
    elif below(generator, 2) == 0:
        one, two = order[job], order[other]
        order[job], order[other] = two, one
        if (
            pinned
            and fraction(generator) < numbers.swap_share
            and _may_swap(instance, encodings, one, two)
        ):
            _swap_places(encodings, one, two)
    else:
        if fraction(generator) < numbers.near_share:
            other = job + below(generator, 2 * numbers.near + 1) - numbers.near
            other = max(0, min(jobs - 1, other))
        _move(order, job, other)


@_inner
def _may_swap(instance: InstanceArrays, encodings: Encodings, one: int, other: int) -> bool:
    """Whether two jobs of the trial are pinned, and alike."""
    option = encodings.option[TRIAL]
    pinned = option[one] < 0 and option[other] < 0
    return bool(pinned and instance.alike[one] == instance.alike[other])


@_inner
def _swap_places(encodings: Encodings, one: int, other: int) -> None:
    """Swap the places of two jobs of the trial, and until when they wait."""
    for row in (encodings.option, encodings.earliest):
        row[TRIAL, one], row[TRIAL, other] = row[TRIAL, other], row[TRIAL, one]
