"""What GPUs do at best in a slot, where jobs share GPUs: prices by job, and sets of jobs.

Jobs beside each other are slower than alone, so a GPU of Q slices does less than Q times the work
of one job. Give the work of each job a price. In a slot a GPU does work of the jobs of some set
that fits its slices and its memory, and of each at most what `companion_rates` says. So a slot of
the cluster is worth at most the sum over the GPUs of the dearest such set, and a job is done when
all of its work is. Whatever the prices are, the cluster is no faster than a machine that does so
much in a slot (`Machine`); `one_machine` says what follows for each objective. A job that restores
does no work, and slows nobody down.

The prices that prove most of the makespan are the dual ones of a linear program: the least time in
which GPUs do all work, if their time can be divided freely among sets of jobs. Where two jobs fit a
GPU it is the fractional matching of jobs, each with its work. Its columns are sets, found as they
are needed. It proves nothing: its prices become whole numbers, and for these `gpu_sets` says in
whole numbers what no set exceeds.

The work of a ring of w GPUs that does φ iterations in a slot grows by φ, and by `φ/w` on each GPU.
So it takes F/φ slots, with the greatest φ, to do all F iterations: the `span` of `Work`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction
from math import inf
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.model import job_extremes
from rarmodel.model.caching import once_per_instance
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.objectives import MAKESPAN, Objective, Value, objectives_of
from rarmodel.schema import Instance

from .bound import ALWAYS, Bound
from .column_program import ColumnProgram, Solution
from .companion_rates import PARTS, GpuKind, Rates, companion_rates
from .companion_times import over_time
from .gpu_sets import Candidates, Found, dearest_sets, scratch_of
from .least_demands import Machine, filled, works
from .one_machine import proven_on
from .time_for_bounds import seconds_left

MOST_ROWS = 1_000
"""With more items all work has one price."""
MOST_ROUNDS = 60
ENOUGH = 1e-6
"""By which part the bound may fall short of the program's optimum."""
FIRST_WORK, THOROUGH_WORK = 2_000_000, 200_000_000
"""Items that a search for the dearest sets weighs, at most: hundredths of a second, and a second.

First searches find many sets, and seldom prove much."""
SLOW = 0.01
"""Once a round lowers the program's optimum by no more than this part, searches are thorough."""
THOROUGH_ITEMS = 2_000
"""Items times rounds in which searches are thorough, at most."""


def best_companions(instance: Instance, objective: Objective) -> Value | None:
    """What machines prove that do what GPUs do at best.

    Prices over time are only for objectives that the instance asks for, as they take longer.
    """
    if not shares_gpus(instance) or not objective.of_completions:
        return None
    found = list[Value]()
    for machine in companion_machines(instance):
        if objective is MAKESPAN:
            found.append(filled(machine))
        else:
            found += proven_on(instance, objective, machine)
            if objective in objectives_of(instance):
                priced = over_time(instance, objective, machine)
                found += [] if priced is None else [priced]
    return max(found, default=None)


@once_per_instance
def companion_machines(instance: Instance) -> tuple[Machine, ...]:
    """Machines that are no slower than the GPUs: at prices for all jobs, and for late ones."""
    rates = companion_rates(instance)
    every = range(len(instance.jobs))
    found = [_machine(instance, rates, _best_prices(instance, rates, every))]
    late = _deciding(instance, rates)
    if len(late) < len(every):
        found.append(_machine(instance, rates, _best_prices(instance, rates, late)))
    return tuple(found)


class Priced(NamedTuple):
    """Prices in whole numbers, and what follows from them."""

    prices: Ints
    """(items) What a GPU slot of work is worth, as it is done alone; at most `PARTS`."""
    dearest: tuple[int, ...]
    """(kinds) What a GPU is worth in a slot at most, in `PARTS` of these."""
    sets: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Some sets that are dearer than a threshold: kind of GPU, and items."""

    def room(self, rates: Rates) -> int:
        """What all GPUs are worth in a slot at most."""
        each = zip(rates.kinds, self.dearest, strict=True)
        return sum(kind.gpus * dearest for kind, dearest in each)


def _machine(instance: Instance, rates: Rates, priced: Priced) -> Machine:
    """The machine at some prices; jobs whose work is worth nothing do not use it."""
    users = {}
    for work, extreme in zip(works(instance), job_extremes(instance), strict=True):
        item, left = rates.item[work.job], instance.jobs[work.job].iterations_left
        alone, price = rates.alone[item], PARTS * int(priced.prices[item])
        area = left * price * alone.denominator // alone.numerator
        if area > 0:
            users[work.job] = work._replace(area=area, span=left // extreme.best_speed)
    return Machine(priced.room(rates), users)


def _deciding(instance: Instance, rates: Rates) -> list[int]:
    """The jobs that come so late that they would decide if each had its GPUs alone."""
    order = sorted(works(instance), key=lambda work: -work.head)
    needed = most = 0.0
    last = 0
    for place, work in enumerate(order):
        job, alone = instance.jobs[work.job], rates.alone[rates.item[work.job]]
        needed += float(job.iterations_left / alone) / instance.cluster.total_gpus
        if work.head + needed >= most:
            most, last = work.head + needed, place + 1
    return [work.job for work in order[:last]]


def _best_prices(instance: Instance, rates: Rates, some: Collection[int]) -> Priced:
    """The prices that prove most of the makespan of some jobs."""
    items = len(rates.alone)
    needs = [Fraction(0)] * items
    for j in some:
        needs[rates.item[j]] += instance.jobs[j].iterations_left / rates.alone[rates.item[j]]
    alike = np.array([PARTS * bool(need) for need in needs], np.int64)
    if items > MOST_ROWS:
        return _at(rates, alike)
    rows = {item: row for row, item in enumerate(i for i, need in enumerate(needs) if need)}
    program = ColumnProgram([float(needs[i]) for i in rows], [kind.gpus for kind in rates.kinds])
    for number, kind in enumerate(rates.kinds):
        for item, row in rows.items():
            if kind.those.slices[item] <= kind.room[0]:
                program.add({row: kind.parts[item, 0] / PARTS}, number)
    best, found, before, searches = Fraction(0), None, inf, 0
    for _ in range(MOST_ROUNDS):
        solution = program.solve()
        if solution is None or best >= solution.multiple * (1 - ENOUGH):
            break
        searches += bool(searches) or solution.multiple > before * (1 - SLOW)
        before = solution.multiple
        priced = _at(rates, *_whole(rates, rows, solution), thorough=searches > 0)
        proven = PARTS * _worth(needs, priced.prices) / priced.room(rates)
        if proven > best:
            best, found = proven, priced
        over = searches * items >= THOROUGH_ITEMS or seconds_left() == 0
        if over or (searches and not priced.sets):
            break
        searches += not priced.sets
        for number, one in priced.sets:
            program.add(_column(rates.kinds[number], rows, one), number)
    return _at(rates, alike) if found is None else found


def _at(
    rates: Rates, prices: Ints, thresholds: Sequence[int] | None = None, *, thorough: bool = True
) -> Priced:
    """What GPUs are worth at prices, and not less than a threshold of each kind."""
    work = (THOROUGH_WORK, THOROUGH_WORK) if thorough else (FIRST_WORK // len(prices), FIRST_WORK)
    dearest, sets = [], []
    for number, kind in enumerate(rates.kinds):
        threshold = 0 if thresholds is None else thresholds[number]
        worth, found = _dearest(kind, prices, threshold, work)
        dearest.append(worth)
        sets += [(number, one) for one in found]
    return Priced(prices, tuple(dearest), tuple(sets))


def _dearest(
    kind: GpuKind, prices: Ints, threshold: int, work: tuple[int, int]
) -> tuple[int, list[tuple[int, ...]]]:
    """What no set on a GPU exceeds, and not less than a threshold; and sets that are dearer."""
    worths = kind.parts * prices[:, None]
    order = np.argsort(-worths[:, 0], kind="stable")
    units, *each = kind.those
    those = Candidates(units, *(numbers[order] for numbers in each))
    found = Found(np.zeros(len(order), np.int64), np.zeros((len(order), kind.room[0]), np.int64))
    scratch = scratch_of(those, kind.room[0])
    greatest = dearest_sets(
        *(those, worths[order], kind.shift, kind.room, threshold, work, found, scratch)
    )
    sets = {tuple(some) for some in found.members[found.worth > threshold].tolist()}
    return greatest, [tuple(int(order[i]) for i in some if i >= 0) for some in sorted(sets)]


def _worth(needs: Sequence[Fraction], prices: Ints) -> Fraction:
    """What all work is worth."""
    each = zip(needs, prices.tolist(), strict=True)
    return sum((need * price for need, price in each), Fraction(0))


def _whole(rates: Rates, rows: dict[int, int], solution: Solution) -> tuple[Ints, list[int]]:
    """Prices in whole numbers, and what a GPU of each kind is worth at these by the program."""
    prices = np.zeros(len(rates.alone), np.int64)
    scale = PARTS / solution.prices.max()
    prices[list(rows)] = np.minimum(np.floor(solution.prices * scale), PARTS).astype(np.int64)
    supplies = np.maximum(solution.supply_prices, 0.0) * scale * (1 + ENOUGH / 2)
    return prices, [int(one * PARTS) for one in supplies.tolist()]


def _column(kind: GpuKind, rows: dict[int, int], items: tuple[int, ...]) -> dict[int, float]:
    """What a set of jobs does on a GPU in a slot."""
    units, row, column, *_ = kind.those
    content = dict[int, float]()
    for item in items:
        load = sum(int(units[row[other], column[item]]) for other in items)
        load -= int(units[row[item], column[item]])
        level = min(load >> kind.shift, kind.parts.shape[1] - 1)
        done = int(kind.parts[item, level]) / PARTS
        content[rows[item]] = content.get(rows[item], 0.0) + done
    return content


BEST_COMPANIONS = Bound(
    "best companions",
    "at prices of the jobs' work, no GPU does more than the set of jobs that is worth most there",
    best_companions,
    handles=ALWAYS,
    rank=22,
    cost="up to some seconds",
)
