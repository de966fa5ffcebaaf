"""Solutions to improve, and how late they are."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt

from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.placement_options import (
    ANY,
    EMPTIEST,
    FEWEST_ALONE,
    NEVER_PACKS,
    PACKS_FIRST,
    option_of_style,
)
from rarmodel.packing import Solution, one_after_another
from rarmodel.schema import Instance
from rarmodel.search.starts import decoded


def solution_to_start_from(instance: Instance, random: Random) -> Solution:
    lists, jobs = ListSchedules(instance), len(instance.jobs)
    options = lists.arrays.options
    order = random.sample(range(jobs), jobs)
    option = np.array([random.randrange(count) for count in np.diff(options.at)], np.int64)
    alone = np.maximum(0, option_of_style(options, FEWEST_ALONE, PACKS_FIRST))
    alone = np.maximum(alone, option_of_style(options, FEWEST_ALONE, NEVER_PACKS))
    crowded = np.isin(options.style[options.at[:-1] + option], (ANY, EMPTIEST))
    option = np.where(crowded, alone, option)  # Too much contention may never end.
    if not lists.made(order, option):
        return one_after_another(instance)  # Some ring never ends where it is put.
    return decoded(lists)


def late(solution: Solution, sizes: npt.NDArray[np.int64], target: int) -> int:
    alone = solution.used == 1
    return int((np.maximum(0, solution.completions - target) * sizes)[alone].sum())
