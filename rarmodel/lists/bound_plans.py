"""List schedules that follow the plan of a bound: when each job starts, where and how wide."""

from __future__ import annotations

import numpy as np

from rarmodel.bounds.gpu_prices import outcome
from rarmodel.engine.arrays import Ints
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Instance

from .placement_options import PlacementOptions
from .server_bits import as_truths


def planned(instance: Instance, options: PlacementOptions) -> tuple[Ints, Ints] | None:
    """Order and options that come nearest to the plan for the first objective.

    The jobs in the order of their starts in a relaxation is the classic way from a linear program
    to a schedule (L. Hall, A. Schulz, D. Shmoys, J. Wein, "Scheduling to minimize average
    completion time", Mathematics of Operations Research 22, 1997). None if there is no plan.
    """
    found = outcome(instance, objectives_of(instance)[0])
    if found is None:
        return None
    plan = found.plan
    kinds = np.array(plan.kinds)
    allowed = as_truths(options.sets, len(kinds))
    option = np.zeros(len(plan.starts), np.int64)
    for j, (kind, size) in enumerate(plan.offers):
        first, end = options.at[j], options.at[j + 1]
        fitting = [
            (int(allowed[row].sum()), int(options.style[o]), o - first)
            for o in range(first, end)
            if options.size[o] == size and allowed[row := options.allowed[o], kinds == kind].any()
        ]
        option[j] = min(fitting, default=(0, 0, 0))[2]
    return np.argsort(plan.starts, kind="stable").astype(np.int64), option
