"""Engine, verifier and the slot-by-slot reading on one schedule: they agree to the last bit."""

from __future__ import annotations

from random import Random

import numpy as np
from random_instances import random_workers

from rarmodel.engine import NEVER, OVERFULL, STUCK, Engine, placements_of
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate


def check(instance: Instance, random: Random, latest: int) -> None:
    """Compare them on random placements and starts below a slot."""
    workers = random_workers(random, instance)
    starts = [random.randrange(latest) for _ in instance.jobs]
    runs = [Run(*run) for run in zip(instance.jobs, starts, workers, strict=True)]
    result, plain = (simulate(instance, runs, slot_by_slot=naive) for naive in (False, True))
    assert result.completion == plain.completion
    assert result.periods == plain.periods
    evaluation = Engine(instance).evaluate(np.array(starts), placements_of(workers))
    if evaluation.makespan != OVERFULL:
        ends = [NEVER if end is None else end for end in result.completion]
        assert evaluation.completion.tolist() == ends
        assert evaluation.makespan == (STUCK if NEVER in ends else max(ends))
