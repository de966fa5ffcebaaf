"""The cutting-stock bound: how the execution times of jobs can fill the time of single GPUs.

Think of each GPU as a lane of length θ. In a schedule of length θ each lane holds workers of
different jobs one after another, so their execution times add up to at most θ; and job j has a
worker in `G_j` lanes. A lane of a server with `O_s < G_j` GPUs can only hold a worker of a ring
that spreads, for at least the least execution time of a spread ring. The bound
ignores that a ring runs on all its GPUs at once, and it ignores contention. So if the lanes do not
suffice, no schedule has length θ.

To decide whether they suffice is a cutting-stock problem. Column generation solves its linear
relaxation (P. Gilmore, R. Gomory, "A linear programming approach to the cutting-stock problem",
Operations Research 9, 1961): the columns are ways to fill a lane, found by a knapsack for each
class of servers. The relaxation is that of the program (14)–(16) over all schedules, with server
sizes respected. Its dual prices prove the bound, and no float is trusted for that: prices are
rounded to whole numbers, and if the jobs are worth more at these prices than all lanes can hold,
which the knapsacks give exactly, then θ is too short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import gcd
from typing import NamedTuple

import numpy as np

from rarmodel.model import least_slots_by_placement
from rarmodel.model.objectives import Objective, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import EachJob, LanePrices, ServerContent

from .arguments import of_jobs_alone
from .bound import FIXED_SIZES, ON_MAKESPAN, Bound, in_slots
from .column_program import ColumnProgram
from .destructive_bound import destructive_bound
from .knapsack import Ints, fill, powers

MAX_CELLS = 20_000_000
"""Largest table of a knapsack; larger instances have no cutting-stock bound."""
MAX_ITEMS = 1_000
"""Most kinds of jobs in the linear program."""
MAX_COLUMNS = 3_000
"""After this many columns, a length counts as not refuted."""
PRICE_SCALE = 10**9


@dataclass(frozen=True)
class _Lanes:
    """Class of servers whose sizes no job distinguishes: GPUs of these servers."""

    count: int
    sizes: Ints
    """(items) Slots that a worker of each item takes of a lane; 0 if it can have none there."""


@dataclass(frozen=True)
class _Problem:
    """Items (kinds of jobs that look the same to every lane) and classes of lanes."""

    classes: tuple[_Lanes, ...]
    class_of: dict[int, int]
    """By GPUs of a server, the class of its lanes."""
    item: tuple[int, ...]
    """(jobs) The kind of each."""
    workers: Ints
    """(items) Workers of all its jobs."""
    jobs: Ints
    """(items) Its jobs: a lane holds at most one worker of each."""


Column = tuple[int, tuple[tuple[int, int], ...]]
"""Class of a lane, and the items in it with their numbers."""


def cutting_stock(
    instance: Instance,
    known: int,
    upper: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> int | None:
    """The cutting-stock bound.

    Parameters
    ----------
    instance
        The problem.
    known, upper, stop
        See `destructive_bound`.

    Returns
    -------
    int or None
        None if the bound is not above `known`, or if the instance is too large: more than 1,000
        kinds of jobs, or about 20 million units of time times kinds of jobs.
    """
    problem = _problem(instance)
    columns: list[Column] = []
    return destructive_bound(
        known, upper, lambda length: refuted(problem, length, columns, stop), stop
    )


def prepare() -> None:
    """Compile this bound in advance, so that compilation does not count as its time."""
    one = np.ones(1, np.int64)
    lane = _Lanes(1, one)
    _Table(_Problem((lane,), {1: 0}, (0,), one, one), lane, 1).best(one)


def _problem(instance: Instance) -> _Problem:
    """Classes of lanes and kinds of jobs."""
    least = least_slots_by_placement(instance)
    capacities = Counter(server.gpus for server in instance.cluster.servers)
    each = list[tuple[int, ...]]()
    kinds: Counter[tuple[tuple[int, ...], int]] = Counter()
    for job, slots in zip(instance.jobs, least, strict=True):
        packed, spread = slots.packed or 0, slots.spread or 0
        # A ring may spread over servers that could hold all of it, but seldom gains by that.
        inside = min((value for value in (packed, spread) if value), default=0)
        each.append(tuple(inside if job.size <= gpus else spread for gpus in sorted(capacities)))
        kinds[each[-1], job.size] += 1
    items = sorted({sizes for sizes, _ in kinds})
    index = {sizes: i for i, sizes in enumerate(items)}
    workers, jobs = np.zeros(len(items), np.int64), np.zeros(len(items), np.int64)
    for (sizes, gpus), count in kinds.items():
        workers[index[sizes]] += gpus * count
        jobs[index[sizes]] += count
    by_sizes: Counter[tuple[int, ...]] = Counter()
    seen = {}
    for i, gpus in enumerate(sorted(capacities)):
        seen[gpus] = tuple(sizes[i] for sizes in items)
        by_sizes[seen[gpus]] += gpus * capacities[gpus]
    classes = sorted(by_sizes)
    return _Problem(
        classes=tuple(_Lanes(by_sizes[s], np.array(s, np.int64)) for s in classes),
        class_of={gpus: classes.index(sizes) for gpus, sizes in seen.items()},
        item=tuple(index[sizes] for sizes in each),
        workers=workers,
        jobs=jobs,
    )


def refuted(
    problem: _Problem, length: int, columns: list[Column], stop: Callable[[], bool]
) -> bool:
    """Whether the lanes are proven not to suffice for a length in slots.

    `columns` has the first columns, and receives the new ones.
    """
    return refuting(problem, length, columns, stop) is not None


class _Refuting(NamedTuple):
    """Prices at which the workers are worth more than all lanes hold."""

    prices: Sequence[int]
    """(items)"""
    dearest: Sequence[int]
    """(classes) What a lane holds at most."""


def refuting(
    problem: _Problem, length: int, columns: list[Column], stop: Callable[[], bool]
) -> _Refuting | None:
    """Prices that prove that the lanes do not suffice, or None."""
    items = len(problem.workers)
    tables = _tables(problem, length)
    if items > MAX_ITEMS or any(t.cells > MAX_CELLS for t in tables):
        return None
    for item in range(items):
        if not any(table.most(item) for table in tables):  # It fits no lane.
            return _Refuting([int(i == item) for i in range(items)], [0] * len(tables))
    for multiple, proven in islice(_rounds(problem, tables, length, columns), MAX_COLUMNS):
        if proven is not None:
            return proven
        if multiple <= 1 + 1e-9 or stop():
            return None
    return None


def share_needed(instance: Instance, length: int) -> float:
    """Share of all lanes that the linear relaxation needs for a length in slots; 0 without one."""
    problem = _problem(instance)
    rounds = _rounds(problem, _tables(problem, length), length, [])
    return min((multiple for multiple, _ in rounds), default=0.0)


def _tables(problem: _Problem, length: int) -> list[_Table]:
    """(classes) The knapsack of each class of lanes."""
    return [_Table(problem, lane_class, length) for lane_class in problem.classes]


def _rounds(
    problem: _Problem, tables: list[_Table], length: int, columns: list[Column]
) -> Iterator[tuple[float, _Refuting | None]]:
    """Multiples of the lanes that suffice, while columns join; some are proven to be above one."""
    items = len(problem.workers)
    program = ColumnProgram(
        [float(number) for number in problem.workers],
        [lane_class.count for lane_class in problem.classes],
    )
    for c, table in enumerate(tables):
        for item in range(items):
            if times := table.most(item):
                program.add({item: times}, c)
    for column in columns:
        c, content = column
        if sum(times * problem.classes[c].sizes[item] for item, times in content) <= length:
            program.add(dict(content), c)
    added = True
    while added and (solution := program.solve()) is not None:
        yield solution.multiple, None
        whole = np.floor(solution.prices * PRICE_SCALE).astype(np.int64)
        room, added = 0, False
        dearest = []
        for c, table in enumerate(tables):
            value, content = table.best(whole)
            room += problem.classes[c].count * value
            dearest.append(value)
            if value > solution.supply_prices[c] * PRICE_SCALE * (1 + 1e-9) + items:
                program.add(dict(content), c)
                columns.append((c, content))
                added = True
        if sum(int(w) * int(y) for w, y in zip(problem.workers, whole, strict=True)) > room:
            yield solution.multiple, _Refuting([int(price) for price in whole], dearest)


class _Table:
    """The knapsack of one class of lanes, with its scratch memory."""

    def __init__(self, problem: _Problem, lane_class: _Lanes, length: int) -> None:
        sizes = lane_class.sizes
        unit = gcd(*(int(size) for size in sizes)) or 1
        self._length = length // unit
        self._sizes = sizes // unit
        # A lane holds at most one worker of each job.
        self._most = [
            min(int(jobs), self._length // int(size)) if size else 0
            for size, jobs in zip(self._sizes, problem.jobs, strict=True)
        ]
        pieces = [(item, piece) for item, most in enumerate(self._most) for piece in powers(most)]
        self.cells = len(pieces) * (self._length + 1)
        self._pieces = np.array(pieces, np.int64).reshape(-1, 2)
        self._scratch: tuple[Ints, np.ndarray[tuple[int, int], np.dtype[np.bool_]]] | None = None

    def most(self, item: int) -> int:
        """Most workers of an item that fit a lane."""
        return self._most[item]

    def best(self, prices: Ints) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Greatest value that fits a lane, and the items of this filling."""
        if self._scratch is None:
            shape = (len(self._pieces), self._length + 1)
            self._scratch = np.zeros(self._length + 1, np.int64), np.zeros(shape, np.bool_)
        taken = np.zeros(len(prices), np.int64)
        value = fill(self._sizes, prices, self._pieces, self._length, *self._scratch, taken)
        return value, tuple((int(item), int(taken[item])) for item in np.flatnonzero(taken))


def certify(instance: Instance, objective: Objective, value: Value) -> EachJob | LanePrices | None:
    """Prices of workers that refute all schedules below a value."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    problem, length = _problem(instance), int(value) - 1
    found = refuting(problem, length, [], lambda: False)
    if found is None:
        return None
    each = zip(instance.jobs, problem.item, strict=True)
    return LanePrices(
        kind="lane-prices",
        length=length,
        prices={job.name: found.prices[item] for job, item in each if found.prices[item]},
        dearest=tuple(
            ServerContent(gpus=gpus, dearest=int(found.dearest[c]))
            for gpus, c in problem.class_of.items()
        ),
    )


CUTTING_STOCK = Bound(
    "cutting stock",
    "whole execution times must fit the time of single GPUs",
    tighten=in_slots(cutting_stock),
    objectives=ON_MAKESPAN,
    handles=FIXED_SIZES,
    rank=7,
    cost="seconds",
    certify=certify,
)
