"""Mechanisms help: within a budget of moves, the search finds what it does not find without them.

`tests/benchmarks/regret.py` measures how much, over whole families and in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rarmodel import generate
from rarmodel.limits import Limits
from rarmodel.packing import Layout, layout_of
from rarmodel.packing.packer import most_servers
from rarmodel.packing.set_tempering import temper
from rarmodel.schema import Instance
from rarmodel.search import Session

if TYPE_CHECKING:
    import pytest


def searched(instance: Instance, iterations: int, seed: int = 0) -> Session:
    """One thread's search for some iterations."""
    session = Session(instance, Limits(threads=1, seed=seed))
    session.run(iterations=iterations)
    return session


def after(calls: int) -> Callable[[], bool]:
    """Over after so many calls."""
    left = iter(range(calls))
    return lambda: next(left, None) is None


def test_buddy_blocks_shorten_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes divide one another: exchanges of blocks find what exchanges of jobs do not."""
    instance = generate("paper", seed=3)
    assert searched(instance, 40, seed=1).makespan <= 324
    monkeypatch.setattr(Layout, "nests", False)
    assert searched(instance, 40, seed=1).makespan > 328


def test_tempering_shortens_a_schedule() -> None:
    """From a schedule of annealing, on to the last slot above the bound but one."""
    instance = generate("contention", seed=2)
    session = searched(instance, 20)
    layout, random, over = layout_of(instance), np.random.default_rng(0), after(120)
    solution = session.solution
    assert solution is not None
    met = solution.makespan
    for target in range(met - 1, session.bound.slots, -1):
        if temper(layout, solution, target, most_servers(instance, solution), random, over):
            met = target
    assert met <= 214
    assert searched(instance, 40).makespan > 215
