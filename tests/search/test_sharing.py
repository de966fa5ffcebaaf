"""Which rings are to share links."""

from __future__ import annotations

import numpy as np

from rarmodel import generate
from rarmodel.engine.arrays import Floats
from rarmodel.schema import Instance
from rarmodel.schema.instance import LinearDegradation
from rarmodel.search.layout import layout_of
from rarmodel.search.order_annealing import EVENLY
from rarmodel.search.sharing import sharing_odds


def odds_of(instance: Instance) -> Floats:
    return sharing_odds(instance, layout_of(instance), lambda: False)


def with_degradation(instance: Instance, alpha: float) -> Instance:
    steep = LinearDegradation(kind="linear", alpha=alpha)
    contention = instance.contention.model_copy(update={"degradation": steep})
    return instance.model_copy(update={"contention": contention})


def test_only_jobs_that_fit_no_server_have_odds() -> None:
    instance = generate("spread", seed=0)
    odds, wide = odds_of(instance), np.array([job.size > 4 for job in instance.jobs])
    assert wide.any()
    assert not wide.all()
    assert (odds[~wide] == EVENLY).all()
    assert ((odds[wide] >= 0) & (odds[wide] <= 1)).all()
    assert 0 < (odds[wide] > 1 / 2).sum() < wide.sum() / 4


def test_the_dearer_sharing_is_the_rarer_it_gets() -> None:
    instance = generate("spread", seed=0)
    wide = np.array([job.size > 4 for job in instance.jobs])
    steep, mild, none = (odds_of(with_degradation(instance, a))[wide] for a in (1e6, 0.4, 0.0))
    assert steep.max() < 1e-3
    assert steep.sum() < mild.sum() < none.sum()


def test_without_time_the_prices_of_the_start_count() -> None:
    instance = generate("spread", seed=0)
    odds = sharing_odds(instance, layout_of(instance), lambda: True)
    assert np.isfinite(odds).all()
