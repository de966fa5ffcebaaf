"""The search over servers: packings stay schedules, and less and less is late."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from plans import late, plan_to_start_from
from random_instances import random_instance

from rarmodel.search.layout import layout_of
from rarmodel.search.packing import packing_of, plan_of, settle
from rarmodel.search.repack import repack
from rarmodel.verifier import verify


@pytest.mark.parametrize("seed", range(30))
def test_a_packing_stays_a_schedule(seed: int) -> None:
    random = Random(seed)
    instance = random_instance(random, jobs=25, servers=4, tree=seed % 2 == 1, most_slots=20)
    layout = layout_of(instance)
    draws = np.array([seed], np.uint64)
    plan = plan_to_start_from(instance, random)
    packing = packing_of(layout, plan)
    target = int(plan.makespan * 0.8)
    repack(layout, packing, target, 0, 1.0, 1.0, draws, np.zeros(1, np.int64))
    settle(layout, packing, target)
    first = plan_of(layout, plan, packing)
    done = repack(layout, packing, target, 20_000, 0.5, 0.9998, draws, np.zeros(1, np.int64))
    settle(layout, packing, target)
    better = plan_of(layout, plan, packing)
    assert late(better, layout.size, target) <= late(first, layout.size, target)
    assert done == (late(better, layout.size, target) == 0)
    for made in (first, better):
        report = verify(instance, made.schedule(instance, "test"))
        assert not [v for v in report.violations if v.constraint not in {"horizon", "progress"}]
        assert report.makespan == made.makespan


def test_told_to_stop_it_changes_nothing() -> None:
    random = Random(3)
    instance = random_instance(random, jobs=25, servers=4, tree=False, most_slots=20)
    layout = layout_of(instance)
    plan = plan_to_start_from(instance, random)
    packing = packing_of(layout, plan)
    first, after = packing.first.copy(), packing.after.copy()
    draws, stop = np.zeros(1, np.uint64), np.ones(1, np.int64)
    assert not repack(layout, packing, 1, 20_000, 1e9, 1.0, draws, stop)
    assert (packing.first == first).all()
    assert (packing.after == after).all()
