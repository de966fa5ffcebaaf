"""Annealing of orders: hot and cold, justified or not, and by the odds of sharing."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_instances import random_instance

from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.objective_arrays import objective_arrays
from rarmodel.lists.order_annealing import OrderAnnealing
from rarmodel.lists.order_moves import BEST, CURRENT, JUSTIFIED, LEAST, NOTHING, NUMBERS, Numbers
from rarmodel.lists.placement_options import ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED
from rarmodel.verifier import verify

INSTANCE = random_instance(Random(5), jobs=25, servers=4, tree=True, most_slots=20)


def searched(
    hot: float, stop: int = 0, odds: float | None = None, numbers: Numbers = JUSTIFIED
) -> OrderAnnealing:
    """Orders after 300 moves."""
    lists = ListSchedules(INSTANCE, stop=np.array([stop]))
    orders = OrderAnnealing(lists, objective_arrays(INSTANCE), numbers, np.zeros(1, np.uint64))
    if odds is not None:
        orders.encodings.odds[:] = odds
    orders.begin(np.arange(25), 0)
    orders.aim_at(1)
    orders.heat(hot, hot, 300)
    orders.step(300)
    return orders


@pytest.mark.parametrize("numbers", [JUSTIFIED, NUMBERS])
@pytest.mark.parametrize("hot", [0.0, 1e-3, 1e9])
def test_the_best_order_is_kept_however_hot_it_gets(hot: float, numbers: Numbers) -> None:
    orders = searched(hot, numbers=numbers)
    encodings = orders.encodings
    for row in (BEST, CURRENT):
        assert orders.decode(row)
        report = verify(INSTANCE, orders.lists.schedule("test"))
        assert report.makespan == encodings.value[row, 0]
    assert encodings.value[BEST, 0] <= encodings.value[CURRENT, 0]


def test_heat_takes_changes_for_the_worse() -> None:
    hot, cold = searched(1e9).encodings, searched(0.0).encodings
    assert hot.energy[CURRENT] > hot.energy[LEAST]
    assert cold.energy[CURRENT] < hot.energy[CURRENT]


def test_options_are_drawn_by_the_odds_of_sharing() -> None:
    never, always = searched(1e9, odds=0.0), searched(1e9, odds=1.0)
    options = never.lists.arrays.options
    drawn = []
    for orders in (never, always):
        option = orders.encodings.option[CURRENT]
        drawn.append(options.style[options.at[:-1] + option][option != 0])
    assert all(len(styles) > 0 for styles in drawn)
    assert np.isin(drawn[0], (ANY_ALONE, FEWEST_ALONE)).all()
    assert not np.isin(drawn[1], (ANY_ALONE, FEWEST_ALONE)).any()
    # Rings that share links do so in chains, on few servers: by even chances a third would.
    assert (drawn[0] == FEWEST_ALONE).mean() > 0.5
    assert (drawn[1] == FEWEST_PAIRED).mean() > 0.6


def test_told_to_stop_it_tries_nothing() -> None:
    assert searched(0.0, stop=1).encodings.value[BEST, 0] == NOTHING
