"""Bounds that look at the clock end in time, with something valid."""

from __future__ import annotations

from time import perf_counter

import rarmodel
from rarmodel.bounds import objective_bound, until, value_bounds
from rarmodel.bounds.gpu_prices import gpu_prices
from rarmodel.bounds.time_for_bounds import seconds_left
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Instance


def arriving() -> Instance:
    drawn = rarmodel.generate("paper", seed=1, jobs=60, servers=8, features={"releases": {}})
    return drawn.model_copy(update={"objective": "total-flow"})


def test_prices_take_no_time_when_there_is_none() -> None:
    (objective,) = objectives_of(arriving())
    whole = gpu_prices(arriving(), objective)
    assert whole is not None
    with until(perf_counter()):
        assert seconds_left() == 0
        assert gpu_prices(arriving(), objective) is None
        late = arriving()
        cheap = objective_bound(late, objective)  # The cheap ones are there in any case.
        assert cheap is not None
        assert value_bounds(late)[0] == cheap
        assert cheap.value <= whole
    assert seconds_left() == float("inf")


def test_much_time_changes_nothing() -> None:
    (objective,) = objectives_of(arriving())
    with until(perf_counter() + 1000):
        assert gpu_prices(arriving(), objective) == gpu_prices(arriving(), objective)
        found = gpu_prices(arriving(), objective)
    assert found == gpu_prices(arriving(), objective)
