"""Tables in the published layouts, made by the model with noise."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np

from rarmodel.calibration import terms

PLACEMENTS = ("1", "2", "4", "1 1", "1 2", "2 2", "2 4", "4 4", "1 1 1", "2 2 2", "4 4 4")
JOBS = {"resnet50": (102.23, 2.0, 30.0), "vgg16": (553.43, 4.0, 60.0), "mine": (40.0, 0.5, 5.0)}
"""Gradient in MB, forward pass per sample and backward pass in ms."""
RATES = {"near": (80.0, 30.0), "far": (50.0, 8.0)}
"""Rates in Gbit/s within a server and between servers, by cluster."""


def ring(placed: str, samples: int, mb: float) -> terms.Rings:
    """One ring, as columns of length 1."""
    gpus = [int(one) for one in placed.split()]
    return terms.Rings(
        workers=np.array([float(sum(gpus))]),
        servers=np.array([float(len(gpus))]),
        least=np.array([float(min(gpus))]),
        samples=np.array([samples]),
        message_mb=np.array([mb]),
    )


def steps(at: Path, *, seed: int = 0, **values: float) -> Path:
    """Step times of three jobs on two clusters, with 1 % noise."""
    random = Random(seed)
    lines = ["cluster,model,gpus_by_server,batch_per_gpu,step_seconds,exchange_seconds"]
    for cluster, (within, between) in RATES.items():
        for job, (mb, forward, backward) in JOBS.items():
            for placed in PLACEMENTS:
                for samples in (8, 32):
                    known = {
                        "intra_server_gbps": within,
                        "network_gbps": between,
                        "forward_ms_per_sample": forward,
                        "backward_ms": backward,
                        **values,
                    }
                    seconds = float(terms.ring_seconds(ring(placed, samples, mb), known)[0])
                    seconds *= random.gauss(1.0, 0.01)
                    lines.append(f"{cluster},{job},{placed},{samples},{seconds!r},0")
    at.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return at


def all_reduces(at: Path, noise: float = 0.02, **values: float) -> Path:
    """All-reduces in six placements on one cluster."""
    random = Random(1)
    lines = ["cluster,gpus,gpus_by_server,bytes,median_ms,min_ms"]
    known = {"intra_server_gbps": 1000.0, "network_gbps": 160.0, **values}
    for placed in ("2", "4", "1 1", "2 2", "4 4", "8 8"):
        for size in range(20):
            count = int(1e6 * 1.3**size)
            seconds = float(terms.ring_seconds(ring(placed, 0, count / 1e6), known)[0])
            seconds *= random.gauss(1.0, noise)
            gpus = sum(map(int, placed.split()))
            lines.append(f"box,{gpus},{placed},{count},{1e3 * seconds!r},1")
    at.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return at


def pairs(at: Path, noise: float = 0.01) -> Path:
    """Jobs beside each other, by sensitivity and pressure."""
    random = Random(2)
    lines = ['"job (model,gpus,servers)",beside,samples_per_second_alone,throughput_ratio']
    factors = {f"M{i},4,2": (0.1 + 0.1 * i, 1.0 - 0.1 * i) for i in range(8)}
    for job, (sensitivity, _) in factors.items():
        for beside, (_, pressure) in factors.items():
            ratio = random.gauss(1.0, noise) / (1.0 + sensitivity * pressure)
            lines.append(f'"{job}","{beside}",10,{ratio!r}')
    at.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return at


KINDS = {f"K{i} (batch size 8)": (0.2 + 0.2 * i, 1.6 - 0.2 * i) for i in range(7)}
"""Sensitivity and pressure on GPUs, by kind."""


def colocated(at: Path, noise: float = 0.01, types: tuple[str, ...] = ("slow", "fast")) -> Path:
    """Each pair of kinds on the same GPUs, once: on the second type jobs lose half as much."""
    random = Random(3)
    lines = ["gpu_type,job,beside,ratio,ratio_beside"]
    kinds = [*KINDS.items()]
    for part, gpu_type in enumerate(types, start=1):
        for i, (job, (sensitivity, pressure)) in enumerate(kinds):
            for beside, (other, pressing) in kinds[i:]:
                ratios = [
                    random.gauss(1.0, noise) / (1.0 + loss / part)
                    for loss in (sensitivity * pressing, other * pressure)
                ]
                lines.append(f"{gpu_type},{job},{beside},{ratios[0]!r},{ratios[1]!r}")
    at.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return at
