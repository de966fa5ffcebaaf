"""The search over servers: packings stay schedules, and less and less is late."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from random_instances import random_instance

from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.schema import Instance
from rarmodel.search.decode import decode
from rarmodel.search.layout import ANY, FEWEST_ALONE, layout_of, new_work
from rarmodel.search.packed import dealt_out, packing_of, plan_of
from rarmodel.search.plan import Plan, decoded
from rarmodel.search.repack import repack, settle
from rarmodel.verifier import verify


def plan_to_start_from(instance: Instance, random: Random) -> Plan:
    arrays, layout = arrays_of(instance), layout_of(instance)
    state, work = new_state(arrays), new_work(arrays, layout)
    jobs = len(instance.jobs)
    order = np.array(random.sample(range(jobs), jobs), np.int64)
    mode = np.array([random.randrange(most) for most in layout.most_modes], np.int64)
    mode[:] = np.where(mode >= ANY, FEWEST_ALONE, mode)  # Too much contention may never end.
    assert decode(arrays, state, layout, work, order, mode, np.zeros(jobs, np.int64), NEVER) > 0
    return decoded(layout, work, state)


def late(plan: Plan, sizes: np.ndarray[tuple[int], np.dtype[np.int64]], target: int) -> int:
    alone = plan.used == 1
    return int((np.maximum(0, plan.completions - target) * sizes)[alone].sum())


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("anew", [False, True])
def test_a_packing_stays_a_schedule(seed: int, anew: bool) -> None:
    random = Random(seed)
    instance = random_instance(random, jobs=25, servers=4, tree=seed % 2 == 1, most_slots=20)
    layout = layout_of(instance)
    draws = np.array([seed], np.uint64)
    plan = plan_to_start_from(instance, random)
    skeleton, packing = dealt_out(layout, plan, draws) if anew else (plan, packing_of(layout, plan))
    target = int(plan.makespan * 0.8)
    repack(layout, packing, target, 0, 1.0, 1.0, draws)
    settle(layout, packing, target)
    first = plan_of(layout, skeleton, packing)
    done = repack(layout, packing, target, 20_000, 0.5, 0.9998, draws)
    settle(layout, packing, target)
    better = plan_of(layout, skeleton, packing)
    assert late(better, layout.size, target) <= late(first, layout.size, target)
    assert done == (late(better, layout.size, target) == 0)
    for made in (first, better):
        report = verify(instance, made.schedule(instance, "test"))
        assert not [v for v in report.violations if v.constraint not in {"horizon", "progress"}]
        # Without some of the spread rings the others can only be faster.
        assert report.makespan is None or report.makespan <= made.makespan
        if not anew:
            assert report.makespan == made.makespan
