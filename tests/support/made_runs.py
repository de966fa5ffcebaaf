"""Measurements of rings beside each other, as a model of contention has them."""

from __future__ import annotations

from random import Random
from typing import Any

from rarmodel.calibration import Rates
from rarmodel.calibration.beside import runs_of
from rarmodel.calibration.contention_models import MODELS
from rarmodel.calibration.measurement_table import made_measurements
from rarmodel.calibration.prediction import predictions

RATES = {"network_gbps": 0.1}
CONSTANTS = {"concurrency": 0.8, "alpha": 0.0, "overhead_ms_per_server": 2.0}
LOSSY = {"concurrency": 1.0, "alpha": 0.3, "overhead_ms_per_server": 0.5}


def rows_of(*runs: list[tuple[str, float, float]], part: str | None = None) -> list[dict[str, Any]]:
    """Rows of runs of rings, each with its links as digits, MB and compute time."""
    found = []
    for number, rings in enumerate(runs):
        for links, mb, compute in rings:
            on = [sum(link in other for other, _, _ in rings) for link in links]
            found.append(
                {
                    "run": f"{part} {number}",
                    "links": " ".join(links),
                    "gpus": max(2, len(links)),
                    "servers": max(1, len(links)),
                    "concurrent_jobs": max(on, default=1),
                    "gradient_mb": mb,
                    "compute_ms": compute,
                    "iteration_ms": 1.0,
                    "part": part,
                }
            )
    return found


def made(
    model: str, constants: dict[str, float] = CONSTANTS, *, noise: float = 0.0, seed: int = 1
) -> list[dict[str, Any]]:
    """Rows as a model has them, with noise: twelve random runs to fit, and eight to test."""
    random = Random(seed)

    def run() -> list[tuple[str, float, float]]:
        return [
            (
                "".join(sorted(random.sample("01234", random.randint(2, 3)))),
                random.choice([0.5, 1.0, 2.0]),
                random.choice([0.0, 40.0, 160.0]),
            )
            for _ in range(random.randint(1, 6))
        ]

    rows = rows_of(*(run() for _ in range(12)), part="fit")
    rows += rows_of(*(run() for _ in range(8)), part="test")
    runs = runs_of(made_measurements(rows), Rates(**RATES))
    times = predictions(runs.cases, constants, MODELS[model](runs, constants))
    for row, time in zip(rows, times, strict=True):
        row["iteration_ms"] = float(time) * (1 + random.uniform(-noise, noise))
    return rows
