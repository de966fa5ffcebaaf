"""Compiling what exact solutions need, before any clock starts."""

from __future__ import annotations

import numpy as np

from rarmodel.engine import Engine, placements_of
from rarmodel.engine.compilation import told
from rarmodel.engine.enumerate import all_schedules
from rarmodel.heuristics.policies import HEURISTICS
from rarmodel.model import best_placements
from rarmodel.schema import Instance
from rarmodel.search import SEARCH


def prepare(instance: Instance) -> None:
    """Compile policies, search, engine and enumeration, once in an installation's life."""
    first = instance.model_copy(update={"jobs": instance.jobs[:1]})
    placements = best_placements(first)
    with told():
        for policy in HEURISTICS:
            policy.prepare(first)
        SEARCH.prepare(instance)
        Engine(first).evaluate(np.zeros(1, np.int64), placements_of(placements), limit=-1)
        all_schedules(first, [placements], [[1]], 0, 1, 1)
