"""Compare online policies on random sweeps beside other jobs, as in `features/sweeps.md`.

    python docs/sweeps_online.py [SEEDS]

For each seed it plays each policy, and takes the mean time from the release of a sweep to the
completion of its last trial, and the mean flow time of the other jobs. It prints both means over
all seeds in slots, and that of the sweeps divided by that of `srsf`, with its standard error.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

import numpy as np

import rarmodel

POLICIES = ("fifo", "las", "srtf", "srsf")
MIXES: dict[str, dict[str, Any]] = {
    "6 sweeps of 27 trials, 30 jobs": {
        "jobs": 30,
        "servers": 8,
        "features": {"sweeps": {"count": 6, "trials": 27, "iterations": 500, "gpus": 2}},
    },
    "8 sweeps of 9 trials, 12 jobs": {
        "jobs": 12,
        "servers": 6,
        "features": {"sweeps": {"count": 8, "trials": 9, "iterations": 500, "gpus": 2}},
    },
}


def played(instance: rarmodel.Instance, policy: str) -> tuple[float, float]:
    """Mean time of a sweep from its first release, and mean flow time of the other jobs."""
    found = rarmodel.simulate(instance, policy)
    assert found.report is not None, found.reasons  # noqa: S101 - a script
    ends = found.report.completion
    released: dict[str, int] = {}
    completed: dict[str, int] = defaultdict(int)
    others = []
    for job in instance.jobs:
        sweep, rung, _ = job.name.partition("-rung")
        if not rung:
            others.append(ends[job.name] - job.release)
            continue
        released[sweep] = min(job.release, released.get(sweep, job.release))
        completed[sweep] = max(completed[sweep], ends[job.name])
    took = [completed[sweep] - released[sweep] for sweep in released]
    return float(np.mean(took)), float(np.mean(others))


def main(seeds: int) -> None:
    """Print a table for each mix."""
    for name, knobs in MIXES.items():
        features = {**knobs["features"], "releases": {}, "preemption": {"restore_seconds": 60}}
        rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for seed in range(seeds):
            instance = rarmodel.generate("contention", **{**knobs, "features": features}, seed=seed)
            for policy in POLICIES:
                rows[policy].append(played(instance, policy))
        print(f"{name}, {seeds} seeds")
        best = np.array(rows["srsf"])[:, 0]
        for policy, both in rows.items():
            sweeps, others = np.array(both).T
            ratios = sweeps / best
            error = ratios.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else 0.0
            print(
                f"  {policy:5} sweeps {sweeps.mean():6.1f}, others {others.mean():6.1f}, "
                f"{ratios.mean():.2f} ± {error:.2f}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
