"""Solutions to improve, and how late they are."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt

from rarmodel.engine import NEVER, arrays_of, new_state
from rarmodel.packing import Solution, one_after_another
from rarmodel.schema import Instance
from rarmodel.search.decode import decode
from rarmodel.search.decoder import decoded
from rarmodel.search.layout import ANY, FEWEST_ALONE, layout_of, new_work


def solution_to_start_from(instance: Instance, random: Random) -> Solution:
    arrays, layout = arrays_of(instance), layout_of(instance)
    state, work = new_state(arrays), new_work(arrays, layout)
    jobs = len(instance.jobs)
    order = np.array(random.sample(range(jobs), jobs), np.int64)
    mode = np.array([random.randrange(most) for most in layout.most_modes], np.int64)
    mode[:] = np.where(mode >= ANY, FEWEST_ALONE, mode)  # Too much contention may never end.
    no_delay = np.zeros(jobs, np.int64)
    if decode(arrays, state, layout, work, order, mode, no_delay, NEVER) < 0:
        return one_after_another(instance)  # Some ring never ends where it is put.
    return decoded(layout, work, state)


def late(solution: Solution, sizes: npt.NDArray[np.int64], target: int) -> int:
    alone = solution.used == 1
    return int((np.maximum(0, solution.completions - target) * sizes)[alone].sum())
