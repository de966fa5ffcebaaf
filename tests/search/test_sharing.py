"""Which rings are to share links."""

from __future__ import annotations

import numpy as np

from rarmodel import generate
from rarmodel.engine.arrays import Floats
from rarmodel.lists.order_moves import EVENLY
from rarmodel.packing import layout_of
from rarmodel.schema import Instance
from rarmodel.schema.instance import LinearDegradation
from rarmodel.search.sharing_odds import LEAST, MOST, sharing_odds


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
    assert ((odds[wide] >= LEAST) & (odds[wide] <= MOST)).all()


def test_few_share_and_nearly_always() -> None:
    instance = generate("spread", seed=0)
    often = np.flatnonzero(odds_of(instance) > 0.5)
    assert len(often) == 4
    # Three rings of 5 and one of 6: those of two 5s and the 6 strand none of 16 GPUs.
    assert sorted(instance.jobs[j].size for j in often) == [5, 5, 5, 6]


def test_the_dearer_sharing_is_the_rarer_it_gets() -> None:
    instance = generate("spread", seed=0)
    wide = np.array([job.size > 4 for job in instance.jobs])
    steep, mild, none = (odds_of(with_degradation(instance, a))[wide] for a in (1e6, 0.4, 0.0))
    assert (steep == LEAST).all()
    assert steep.sum() < mild.sum() < none.sum()


def test_without_time_the_program_of_the_start_counts() -> None:
    instance = generate("spread", seed=0)
    odds = sharing_odds(instance, layout_of(instance), lambda: True)
    assert np.isfinite(odds).all()
