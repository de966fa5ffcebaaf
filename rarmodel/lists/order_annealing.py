"""Simulated annealing over list schedules: order, way of placement, delay.

Every move changes what the decoder is given, so it applies to every feature and every objective:
swap two jobs of the order or move one, give a job another of its options (size, style, servers),
or let it wait until another job completes (S. Kirkpatrick, C. Gelatt, M. Vecchi, Science 220,
1983). Where jobs are pinned to their places in some schedule, two that are alike may swap places,
too. With several objectives the first counts most. Where it is the greatest of the jobs' terms,
most moves leave it as it is. Then what counts is by how much all terms together exceed an aim below
the best known value, and some moves are of the jobs with the greatest terms. Earlier completions
count a little.

Justification (V. Valls, F. Ballestín, S. Quintanilla, "Justification and RCPSP: a technique that
pays", European Journal of Operational Research 165, 2005) rebuilds a schedule with the jobs by
non-increasing completion, as if time ran backwards, and then once more. If jobs are packed onto
servers, this rarely makes a makespan longer, and it repairs most of the damage of a random change.
"""

from __future__ import annotations

from functools import partial
from math import log

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.engine.compilation import compiled
from rarmodel.engine.random_numbers import Generator, below, fraction

from .decoding import decode
from .instance_arrays import InstanceArrays
from .list_schedules import ListSchedules
from .objective_arrays import ObjectiveArrays, term_of, values
from .order_moves import (
    BEST,
    CURRENT,
    LEAST,
    NOTHING,
    PASS,
    TRIAL,
    Encodings,
    Numbers,
    change,
    copy_row,
    new_encodings,
)
from .partial_schedule import PartialSchedule

_inner = partial(compiled, inner=True)


class OrderAnnealing:
    """One thread's annealing of the orders of an instance, which goes on where it was.

    Parameters
    ----------
    lists
        The instance laid out, with the memory of the thread.
    objectives
        What is minimised.
    numbers
        How to anneal.
    generator
        The thread's random numbers.

    Attributes
    ----------
    lists, encodings
        The memory of the thread, and the decisions that it anneals.
    temperature
        The present temperature, as a part of the first objective.
    """

    def __init__(
        self,
        lists: ListSchedules,
        objectives: ObjectiveArrays,
        numbers: Numbers,
        generator: Generator,
    ) -> None:
        self.lists, self.temperature = lists, 0.0
        self.encodings = new_encodings(len(lists.instance.jobs), len(objectives.greatest))
        self._objectives, self._numbers, self._generator = objectives, numbers, generator
        self._cooling = 1.0

    def begin(self, order: Ints, option: Ints | int, earliest: Ints | int = 0) -> None:
        """Continue with another order; see `ListSchedules.makespan`."""
        encodings = self.encodings
        encodings.order[CURRENT] = order
        encodings.option[CURRENT] = option
        encodings.earliest[CURRENT] = earliest
        encodings.energy[CURRENT] = encodings.energy[LEAST] = NOTHING

    def begin_from(self, row: int) -> None:
        """Continue with one of the rows."""
        encodings = self.encodings
        self.begin(encodings.order[row], encodings.option[row], encodings.earliest[row])

    def aim_at(self, aim: float) -> None:
        """Let the terms of a greatest objective count from another value on."""
        if aim != self.encodings.aim[0]:
            self.encodings.aim[0] = aim
            self.encodings.energy[CURRENT] = NOTHING  # Not known for this aim.
            self.encodings.energy[LEAST] = NOTHING

    def heat(self, hot: float, cold: float, moves: int) -> None:
        """Cool from one temperature to another in so many moves; 0 for no heat at all."""
        self.temperature = hot
        self._cooling = (cold / hot) ** (1 / moves) if hot > 0.0 else 1.0

    def step(self, moves: int) -> bool:
        """Make so many moves; whether the best became better."""
        before = tuple(self.encodings.value[BEST])
        anneal(
            self.lists.arrays,
            self.lists.partial,
            self._objectives,
            self.encodings,
            self._numbers,
            moves,
            self.temperature,
            self._cooling,
            self._generator,
        )
        self.temperature *= self._cooling**moves
        return tuple(self.encodings.value[BEST]) < before

    def propose(self) -> bool:
        """Change the current decisions into the trial's; whether there is a schedule of those."""
        propose(
            self.lists.arrays,
            self.lists.partial,
            self._objectives,
            self.encodings,
            self._numbers,
            self._generator,
        )
        return self.decode(TRIAL)

    def accept(self) -> None:
        """Continue from the trial."""
        encodings = self.encodings
        for rows in (encodings.order, encodings.option, encodings.earliest):
            rows[CURRENT] = rows[TRIAL]

    def decode(self, row: int) -> bool:
        """Make the schedule of a row again, whoever asked to stop; whether there is one."""
        encodings, lists = self.encodings, self.lists
        of_row = encodings.order[row], encodings.option[row], encodings.earliest[row]
        unstopped = lists.partial._replace(stop=np.zeros(1, np.int64))
        return decode(lists.arrays, unstopped, *of_row) >= 0


@_inner
def _energy(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    objectives: ObjectiveArrays,
    encodings: Encodings,
    numbers: Numbers,
    row: int,
) -> float:
    """What is annealed, of the row that was decoded last."""
    share, energy = 1.0, 0.0
    count = len(objectives.greatest)
    for goal in range(count):
        value = encodings.value[row, goal]
        if encodings.scale[goal] == 0.0:
            encodings.scale[goal] = max(objectives.least_scale[goal], abs(value))
        if encodings.cap[goal] < np.inf:
            over = max(0.0, value - encodings.cap[goal])
            energy += numbers.penalty * over / encodings.scale[goal]
        else:
            energy += share * value / encodings.scale[goal]
            share *= numbers.later
    if objectives.greatest[0] == 1 and encodings.cap[0] == np.inf:
        over = total = 0.0
        for job in range(len(instance.release)):
            finish = schedule.state.rings[job].finish
            if objectives.weight[0, job] > 0.0:
                past = max(0.0, term_of(objectives, 0, job, finish) - encodings.aim[0])
                over += past * encodings.bulk[job]
            total += max(1e-3, objectives.weight[0, job]) * finish
        over /= encodings.scale[0] * len(instance.release)
        if encodings.scale[count] == 0.0:
            encodings.scale[count] = max(1e-9, total)
        energy = numbers.greatest * energy + numbers.excess * over
        energy += numbers.smoothing * total / encodings.scale[count]
    return energy


@_inner
def _better(encodings: Encodings, one: int, other: int) -> bool:
    """Whether one row has better values than another, the most important first."""
    for goal in range(encodings.value.shape[1]):
        if encodings.value[one, goal] != encodings.value[other, goal]:
            return bool(encodings.value[one, goal] < encodings.value[other, goal])
    return False


@compiled
def propose(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    objectives: ObjectiveArrays,
    encodings: Encodings,
    numbers: Numbers,
    generator: Generator,
) -> None:
    """Make the trial of the current decisions; see `change`."""
    copy_row(encodings, CURRENT, TRIAL)
    for _ in range(1 + below(generator, numbers.most_changes)):
        change(instance, schedule, objectives, encodings, numbers, generator)


@partial(compiled, parallel=True)
def anneal(
    instance: InstanceArrays,
    schedule: PartialSchedule,
    objectives: ObjectiveArrays,
    encodings: Encodings,
    numbers: Numbers,
    moves: int,
    hot: float,
    cooling: float,
    generator: Generator,
) -> int:
    """Anneal until nothing is left to gain for the aim; how many of the moves were made.

    Parameters
    ----------
    instance, schedule
        The instance, and memory.
    objectives
        What is minimised.
    encodings
        Decisions; the current ones are decoded first if their energy is not known.
    numbers
        How to anneal.
    moves
        How many to make.
    hot, cooling
        First temperature, as a part of the first objective, and its factor from move to move.
    generator
        The random numbers.
    """
    jobs = encodings.order.shape[1]
    temperature = hot
    for move in range(moves):
        if schedule.stop[0] != 0:
            return move
        temperature *= cooling
        copy_row(encodings, CURRENT, TRIAL)
        if encodings.energy[CURRENT] < NOTHING:
            for _ in range(1 + below(generator, numbers.most_changes)):
                change(instance, schedule, objectives, encodings, numbers, generator)
        encodings.energy[TRIAL] = NOTHING
        copy_row(encodings, TRIAL, PASS)
        for turn in range(numbers.passes):
            made = decode(
                instance,
                schedule,
                encodings.order[PASS],
                encodings.option[PASS],
                encodings.earliest[PASS],
            )
            if made < 0:
                break
            values(instance, schedule, objectives, encodings.value[PASS])
            encodings.energy[PASS] = _energy(
                instance, schedule, objectives, encodings, numbers, PASS
            )
            if _better(encodings, PASS, BEST):
                copy_row(encodings, PASS, BEST)
            if encodings.energy[PASS] < encodings.energy[TRIAL]:
                copy_row(encodings, PASS, TRIAL)
            if turn + 1 < numbers.passes:
                for place in range(jobs):
                    encodings.order[PASS, place] = schedule.completed[jobs - 1 - place]
                    encodings.earliest[PASS, place] = 0  # It meant a slot of time run forwards.
        if encodings.energy[TRIAL] == NOTHING:
            if encodings.energy[CURRENT] == NOTHING and schedule.stop[0] == 0:
                # Nothing is known that works: walk on at random.
                for _ in range(1 + below(generator, numbers.most_changes)):
                    change(instance, schedule, objectives, encodings, numbers, generator)
                copy_row(encodings, TRIAL, CURRENT)
            continue
        limit = encodings.energy[CURRENT] - temperature * log(fraction(generator))
        if encodings.energy[TRIAL] <= limit:
            copy_row(encodings, TRIAL, CURRENT)
            if encodings.energy[CURRENT] < encodings.energy[LEAST]:
                copy_row(encodings, CURRENT, LEAST)
        if encodings.energy[CURRENT] == 0.0:
            return move + 1
    return moves
