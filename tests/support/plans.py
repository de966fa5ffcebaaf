"""Plans to improve, and how late they are."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt

from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.schema import Instance
from rarmodel.search.decode import decode
from rarmodel.search.layout import ANY, FEWEST_ALONE, layout_of, new_work
from rarmodel.search.plan import Plan, decoded, one_after_another


def plan_to_start_from(instance: Instance, random: Random) -> Plan:
    arrays, layout = arrays_of(instance), layout_of(instance)
    state, work = new_state(arrays), new_work(arrays, layout)
    jobs = len(instance.jobs)
    order = np.array(random.sample(range(jobs), jobs), np.int64)
    mode = np.array([random.randrange(most) for most in layout.most_modes], np.int64)
    mode[:] = np.where(mode >= ANY, FEWEST_ALONE, mode)  # Too much contention may never end.
    none_late = np.zeros(jobs, np.int64)
    if decode(arrays, state, layout, work, order, mode, none_late, NEVER) < 0:
        return one_after_another(instance)  # Some ring never ends where it is put.
    return decoded(layout, work, state)


def late(plan: Plan, sizes: npt.NDArray[np.int64], target: int) -> int:
    alone = plan.used == 1
    return int((np.maximum(0, plan.completions - target) * sizes)[alone].sum())
