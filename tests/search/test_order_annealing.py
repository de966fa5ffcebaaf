"""The search over orders, hot and cold, and where a thread begins when nothing gets better."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_instances import random_instance

from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.packing import layout_of as packing_layout_of
from rarmodel.search import BUDDY_BLOCKS, ORDERS, SERVERS, order_turns, packing_turns
from rarmodel.search.decode import decode
from rarmodel.search.decoder import decoded
from rarmodel.search.layout import ANY_ALONE, FEWEST_PAIRED, layout_of, new_work
from rarmodel.search.order_annealing import (
    BEST,
    CURRENT,
    EVENLY,
    SHORTEST,
    Orders,
    anneal_orders,
    new_orders,
)
from rarmodel.search.order_turns import OrderTurns
from rarmodel.search.starts import first_orders
from rarmodel.search.thread import Thread
from rarmodel.search.worker import Worker
from rarmodel.verifier import verify

INSTANCE = random_instance(Random(5), jobs=25, servers=4, tree=True, most_slots=20)
ARRAYS, LAYOUT = arrays_of(INSTANCE), layout_of(INSTANCE)


def searched(hot: float, stop: int = 0, odds: float = EVENLY) -> tuple[Orders, int]:
    """Orders after 300 trials, and the makespan that the shortest one leads to."""
    state, work = new_state(ARRAYS), new_work(ARRAYS, LAYOUT)
    work.stop[0] = stop
    orders = new_orders(*next(first_orders(LAYOUT)), np.full(25, odds))
    generator = np.zeros(1, np.uint64)
    memory = ARRAYS, state, LAYOUT, work, orders
    anneal_orders(*memory, 1, 300, hot, 1.0, generator)
    work.stop[0] = 0
    genes = orders.order[SHORTEST], orders.mode[SHORTEST], orders.earliest[SHORTEST]
    makespan = decode(ARRAYS, state, LAYOUT, work, *genes, NEVER)
    solution = decoded(LAYOUT, work, state)
    assert verify(INSTANCE, solution.schedule(INSTANCE, "test")).makespan == makespan
    return orders, makespan


@pytest.mark.parametrize("hot", [0.0, 5.0, 1e9])
def test_the_best_order_is_kept_however_hot_it_gets(hot: float) -> None:
    orders, makespan = searched(hot)
    assert orders.makespan[0] == makespan
    assert orders.excess[BEST] <= orders.excess[CURRENT]


def test_heat_takes_changes_for_the_worse() -> None:
    hot, cold = searched(1e9)[0], searched(0.0)[0]
    assert hot.excess[CURRENT] > hot.excess[BEST]
    assert cold.excess[CURRENT] < hot.excess[CURRENT]


def test_modes_are_drawn_by_the_odds_of_sharing() -> None:
    begun = next(first_orders(LAYOUT))[1]
    never, always = (searched(1e9, odds=odds)[0].mode[CURRENT] for odds in (0.0, 1.0))
    assert (never != begun).any()
    assert (never[never != begun] <= ANY_ALONE).all()
    assert (always != begun).any()
    assert (always[always != begun] >= FEWEST_PAIRED).all()


def test_told_to_stop_it_tries_nothing() -> None:
    assert searched(0.0, stop=1)[0].makespan[0] == NEVER


def test_where_nothing_gets_better_a_thread_begins_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module, name in ((order_turns, "NUMBERS"), (packing_turns, "SERVER_NUMBERS")):
        short = getattr(module, name)._replace(steps=2, most_steps=2)
        monkeypatch.setattr(module, name, short)
    starts = list(first_orders(LAYOUT))
    state, work = new_state(ARRAYS), new_work(ARRAYS, LAYOUT)
    decode(ARRAYS, state, LAYOUT, work, *starts[0], np.zeros(25, np.int64), NEVER)
    best = decoded(LAYOUT, work, state)
    for better in (0, 1):
        own = np.full(25, EVENLY), np.zeros(1, np.uint64), np.zeros(1, np.int64)
        packing, some = packing_layout_of(INSTANCE), [BUDDY_BLOCKS, ORDERS, SERVERS]
        worker = Worker(Thread(ARRAYS, LAYOUT, packing, 0, starts, *own, some), some)
        begun: list[object] = []
        turns = worker._orders[0]
        assert isinstance(turns, OrderTurns)
        monkeypatch.setattr(turns, "_reorder_from", lambda order, _, to=begun: to.append(order))
        for step in range(60):
            # It is told of a shorter solution at each step, or of the same one.
            worker.step(best._replace(makespan=200 - better * step), 1)
        elsewhere = any(order is start for order in begun for start, _ in starts)
        assert elsewhere == (better == 0)
        assert turns._temperature > 0.0
