"""Parallel tempering: what meets its target is a schedule, and rings keep their time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
import pytest
from depth import first
from random_instances import random_instance
from solutions import solution_to_start_from

from rarmodel.engine import Engine, placements_of
from rarmodel.engine.arrays import Ints
from rarmodel.packing import set_tempering
from rarmodel.packing.layout import Layout, layout_of
from rarmodel.packing.server_sets import Servers, servers_of
from rarmodel.packing.set_tempering import NUMBERS, temper
from rarmodel.packing.solution import Packed, Solution
from rarmodel.schema import Instance
from rarmodel.verifier import verify

SHORTER = (4, 6, 9, 11, 14, 16, 18, 19, 21, 25, 36, 39, 40, 44, 45, 47, 56, 59, 61, 63)
"""Seeds of instances in which it meets shorter targets; in many others only the first."""


def after(calls: int) -> Callable[[], bool]:
    """Over after so many calls."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def started(seed: int) -> tuple[Instance, Layout, Solution]:
    """A random instance and a schedule of it."""
    random = Random(seed)
    instance = random_instance(random, jobs=14, servers=4, tree=seed % 2 == 1, most_slots=20)
    return instance, layout_of(instance), solution_to_start_from(instance, random)


def evaluated(instance: Instance, packed: Packed) -> Solution:
    """The solution of a packing, by the engine."""
    placements = placements_of(packed.workers)
    makespan, completions = Engine(instance).evaluate(packed.starts, placements)
    return Solution(makespan, packed.starts, completions, *placements)


def times(solution: Solution, target: int) -> Ints:
    """Starts, where rings end at a target that end last or past it; no job starts before slot 0."""
    starts = solution.starts.copy()
    last = solution.completions[solution.used > 1].max(initial=0)
    for ring in np.flatnonzero(solution.used > 1).tolist():
        end = int(solution.completions[ring])
        if end > target or (end == last and starts[ring] > 0):
            starts[ring] += target - end
    return starts


def share(solution: Solution, starts: Ints, workers: Sequence[Mapping[int, int]]) -> bool:
    """Whether two rings are on one server at one time, if they last as long as in a solution."""
    ends = starts + solution.completions - solution.starts
    rings = np.flatnonzero(solution.used > 1).tolist()
    return any(
        starts[one] < ends[other]
        and starts[other] < ends[one]
        and workers[one].keys() & workers[other]
        for one, other in combinations(rings, 2)
    )


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("seed", first(6, SHORTER))
def test_what_it_finds_is_a_schedule_and_rings_keep_their_time(
    monkeypatch: pytest.MonkeyPatch, seed: int, cut: bool
) -> None:
    monkeypatch.setattr(set_tempering, "NUMBERS", NUMBERS._replace(piece=1))
    instance, layout, solution = started(seed)
    most = np.full(len(solution.used), len(layout.server_gpus) if cut else 0)
    random = np.random.default_rng(seed)
    shortest, tried, slower = None, 0, False
    for target in range(solution.makespan, 0, -1):
        packed = temper(layout, solution, target, most, random, after(16))
        if packed is None:
            break
        spread = solution.used > 1
        found = evaluated(instance, packed)
        assert (found.used <= np.maximum(solution.used, most)).all()
        assert (found.used[solution.used == 1] == 1).all()
        tried += 1
        within = spread & (found.used == 1)
        lasting = solution.completions - solution.starts
        slower |= (within & ((layout.packed == 0) | (layout.packed > lasting))).any()
        starts = times(solution, target)
        assert (packed.starts[spread] == starts[spread]).all()
        assert share(solution, starts, solution.rings) or not share(
            solution, packed.starts, packed.workers
        )
        alone = packed.starts[~spread] + layout.packed[~spread]
        assert (alone <= target).all()
        if found.makespan > 0:
            report = verify(instance, found.schedule(instance, "test"))
            assert not [v for v in report.violations if v.constraint not in {"horizon", "progress"}]
            assert report.makespan == found.makespan
            shortest = found.makespan
    assert tried > 3
    # In a tree, over more servers, or within one, a ring may take longer.
    assert cut or seed % 2 == 1 or slower or shortest is not None


def test_it_ends_when_told_to_and_where_rings_have_no_room() -> None:
    _, layout, solution = started(1)
    assert (solution.used > 1).any()
    random = np.random.default_rng(0)
    most = np.full(len(layout.size), 9)
    assert temper(layout, solution, solution.makespan, most, random, lambda: True) is None
    longest = int((solution.completions - solution.starts)[solution.used > 1].max())
    never = after(0)
    assert temper(layout, solution, longest - 1, most, random, never) is None


def test_sets_with_one_key_give_no_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs need more GPU slots than there are, but each set counts with the excess of another."""

    def servers_with_one_key(*arguments: Any) -> Servers:
        servers = servers_of(*arguments)
        servers.code[:], servers.server_code[:] = 0, 0
        return servers

    monkeypatch.setattr("rarmodel.packing.set_tempering.servers_of", servers_with_one_key)
    deceived = 0
    for seed in range(20):
        _, layout, solution = started(seed)
        target = int((layout.size * layout.packed).sum() / layout.server_gpus.sum() * 0.95)
        random, over = np.random.default_rng(seed), [True] + 15 * [False]
        most = np.zeros(len(layout.size), np.int64)
        assert temper(layout, solution, target, most, random, over.pop) is None
        deceived += 0 < len(over) < 16
    assert deceived > 0
