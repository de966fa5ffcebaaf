"""Random instances whose jobs share GPUs, and random schedules of them (section 15)."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from random import Random
from typing import Any

from wide_instances import random_wide

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.schema import Instance

KINDS = ("vision", "speech", "text")


def random_sharing(random: Random, features: Collection[str] = (), **sizes: Any) -> Instance:
    """An instance in which jobs may share GPUs, and which may use other features too.

    Parameters
    ----------
    random
        Where it comes from.
    features
        Names of the other features.
    sizes
        See `random_wide`.
    """
    while True:
        data = random_wide(random, features, **sizes).model_dump(mode="json", exclude_unset=True)
        give_slices(random, data)
        try:
            found = parse_instance(data)
        except InputError:
            continue  # Jobs without room.
        if any(job.slices for job in found.jobs):
            return found


def _size(running: dict[str, Any]) -> int:
    return sum(map(len, running["gpus"].values()))


def give_slices(random: Random, data: dict[str, Any]) -> None:
    """Divide GPUs into slices, and let jobs take some; some GPUs and jobs stay as they are."""
    cluster = data["cluster"]
    cluster["gpu_slices"] = random.choice([1, 2, 3, 4])
    if random.random() < 0.4:
        cluster["gpu_memory_gb"] = random.choice([16, 24.5, 40])
    for server in cluster["servers"]:
        if random.random() < 0.3:
            server["gpu_slices"] = random.choice([1, 2, 4, 6])
        if random.random() < 0.3:
            server["gpu_memory_gb"] = random.choice([10.1, 40, 80])
    for job in data["jobs"]:
        if random.random() < 0.8:
            job["slices"] = random.choice([1, 1, 1, 2, 2, 3])
        if random.random() < 0.6:
            job["memory_gb"] = random.choice([0, 4, 8.05, 10.1, 16])
        if random.random() < 0.5:
            job["sensitivity"] = random.choice([0, 0.25, 0.3, 1, 2.5])
        if random.random() < 0.5:
            job["pressure"] = random.choice([0, 0.1, 1, 1 / 3, 3])
        if random.random() < 0.5:
            job["kind"] = random.choice(KINDS)
    running = [job["running"] for job in data["jobs"] if "running" in job]
    for one, other in pairwise(running):
        if random.random() < 0.5 and _size(one) == _size(other):
            other["gpus"] = one["gpus"]
    if random.random() < 0.6:
        pairs = [(kind, beside) for kind in KINDS for beside in KINDS]
        data["colocation"] = [
            {"kind": kind, "beside": beside, "slowdown": random.choice([1, 1.1, 1.25, 2, 3.3])}
            for kind, beside in random.sample(pairs, random.randint(1, 6))
        ]
