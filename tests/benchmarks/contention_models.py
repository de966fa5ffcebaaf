"""Evaluations by the engine by duty, beside those by the count; and with pressures, beside duty.

Run: `python tests/benchmarks/contention_models.py`.

They take turns, in processor time: the ratio is what to compare. Each evaluates the list schedule
that a policy makes by its model: as many starts and completions, but at other slots. A schedule is
sparse where jobs keep to few servers (SJF-BCO), dense where they spread over many (at random). ξ1
is 1: with less, the count leaves rings alone that share a link with few others. With pressures,
each job has one, and one of four sensitivities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import process_time

import numpy as np
from engine_and_rules import ENGINE, SIZES, cluster_of, repeated
from heuristics_and_engine import as_arrays

from rarmodel.engine import Engine
from rarmodel.engine.arrays import NEVER
from rarmodel.files import parse_instance
from rarmodel.heuristics import Policy, run_policy
from rarmodel.schema import Instance

TURNS = 40


NETWORK_GBPS = 100.0
"""So fast that contention takes some per cent of the time, and schedules by both are alike."""


PRESSURES = (0.1, 0.25, 0.4)
SENSITIVITIES = (0.5, 0.8, 1.0, 1.5)


def by_model(jobs: int, model: str, *, pressed: bool = False) -> Instance:
    """Jobs and cluster with a model of contention, and perhaps with pressures."""
    data = cluster_of(jobs).model_dump(mode="json", exclude_unset=True)
    data["contention"] |= {"concurrency": 1.0, "model": model}
    data["cluster"]["network"]["gbps"] = NETWORK_GBPS
    for i, job in enumerate(data["jobs"] if pressed else ()):
        job["network_pressure"] = PRESSURES[i % len(PRESSURES)]
        job["network_sensitivity"] = SENSITIVITIES[i % len(SENSITIVITIES)]
    return parse_instance(data)


def seconds(jobs: int, policy: Policy) -> list[float]:
    """Seconds of an evaluation by the count, by duty, and with pressures."""
    few = by_model(jobs, "count"), by_model(jobs, "duty"), by_model(jobs, "duty", pressed=True)
    runs = [_repeated(instance, policy) for instance in few]
    least = [math.inf] * len(runs)
    for turn in range(TURNS + 1):
        for i, run in enumerate(runs):
            begun = process_time()
            times = run()
            if turn:
                least[i] = min(least[i], (process_time() - begun) / times)
    return least


def _repeated(instance: Instance, policy: Policy) -> Callable[[], int]:
    """Evaluate a schedule several times, and say how often."""
    found = run_policy(instance, policy, stop=lambda _: True)
    assert found is not None
    jobs, engine = len(instance.jobs), Engine(instance)
    starts, placements = as_arrays(instance, found.schedule)
    order, modes, completed = (
        np.argsort(starts, kind="stable"),
        np.arange(jobs),
        np.zeros(jobs, int),
    )
    times = max(1, 4_000 // jobs)

    def run() -> int:
        memory = engine.arrays, engine.state
        made = repeated(times, *memory, order, modes, starts, placements, NEVER, completed)
        assert made > 0
        return times

    return run


if __name__ == "__main__":
    print(f"{'schedule':<22}{'count':>12}{'duty':>12}{'ratio':>8}{'pressures':>12}{'ratio':>8}")
    for size in SIZES:
        for kind, policy in ENGINE.items():
            count, duty, pressed = seconds(size, policy)
            name = f"{kind}, {size:,} jobs"
            ratios = duty / count, pressed / duty
            print(
                f"{name:<22}{count * 1e6:>9.0f} µs{duty * 1e6:>9.0f} µs{ratios[0]:>8.2f}"
                f"{pressed * 1e6:>9.0f} µs{ratios[1]:>8.2f}"
            )
