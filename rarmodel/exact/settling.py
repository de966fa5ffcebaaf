"""From a plan with expected execution times to a schedule with those that follow from it.

Rings that share links take longer or less than a plan expects. Where a job would then start before
its GPUs are free, it waits until they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rarmodel.engine import Engine, placements_of
from rarmodel.engine.arrays import OVERFULL
from rarmodel.engine.kernel import CLOCK

MOST_DELAYS = 400
"""Most slots by which jobs of a plan are delayed, added up."""


class Settled(NamedTuple):
    """Starts that leave each job its GPUs, and the completions that follow from them."""

    starts: tuple[int, ...]
    completions: tuple[int, ...]


def settle(
    engine: Engine, starts: Sequence[int], workers: Sequence[Mapping[int, int]]
) -> Settled | None:
    """Delay jobs slot by slot until every server has room; None if that takes too long."""
    begun = np.array(starts, np.int64)
    placed = placements_of(workers)
    room = engine.arrays.server_gpus
    for _ in range(MOST_DELAYS):
        found = engine.evaluate(begun, placed)
        if found.makespan >= 0:
            return Settled(tuple(begun.tolist()), tuple(found.completion.tolist()))
        if found.makespan != OVERFULL:
            return None
        clock = int(engine.state.counters[CLOCK])
        full = {s for s in range(len(room)) if engine.state.busy[s] > room[s]}
        late = [j for j, ring in enumerate(workers) if begun[j] == clock and full & ring.keys()]
        begun[late[-1]] += 1
    return None
