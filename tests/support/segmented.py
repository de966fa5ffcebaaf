"""Random schedules with segments, which keep the form of the file but perhaps no constraint."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from wide_instances import FEATURES, random_wide

from rarmodel.files import parse_schedule
from rarmodel.model.features import DEADLINES, PREEMPTION, RELEASES
from rarmodel.schema import Instance, Schedule


@st.composite
def segmented(draw: st.DrawFn, *, plain: bool = False) -> tuple[Instance, Schedule]:
    """An instance of any features with preemption, and a schedule of it on GPUs that exist.

    With `plain`, no feature limits when jobs may run, and no job asks for places.
    """
    random = draw(st.randoms(use_true_random=False))
    some = draw(st.sets(st.sampled_from(FEATURES)))
    features = {PREEMPTION.name, *(() if plain else some)}
    instance = random_wide(
        random,
        features - {RELEASES.name, DEADLINES.name} if random.random() < 0.5 else features,
        jobs=draw(st.integers(1, 4)),
        servers=draw(st.integers(1, 3)),
        stall=draw(st.booleans()),
    )
    return instance, random_schedule(instance, random, draw(st.integers(0, 6)))


def random_schedule(instance: Instance, random: Random, latest: int) -> Schedule:
    """Each job in up to four segments; running jobs mostly go on where they run."""
    types = {server.name: server.gpu_type for server in instance.cluster.servers}
    assignments = []
    for job in instance.jobs:
        gpus = [
            (server.name, i)
            for server in instance.cluster.servers
            for i in range(server.gpus)
            if job.times is None or types[server.name] in job.times
        ]
        segments: list[dict[str, Any]] = []
        slot = random.randint(0, latest)
        for _ in range(random.randint(1, 4)):
            size = random.choice([size for size in job.sizes if size <= len(gpus)] or [0])
            held: dict[str, list[int]] = {}
            if segments and random.random() < 0.3:
                held = segments[-1]["gpus"]
            elif job.running and not segments and random.random() < 0.7:
                slot = random.choice([0, 0, slot])
                held = {name: list(some) for name, some in job.running.gpus.items()}
            elif size:
                first = random.randrange(len(gpus) - size + 1)
                near = random.random() < 0.6
                for name, i in gpus[first : first + size] if near else random.sample(gpus, size):
                    held.setdefault(name, []).append(i)
            end = slot + random.randint(1, 4)
            segments.append({"start": slot, "end": end, "gpus": held})
            slot = end + random.choice([0, 0, 1, 3])
        del segments[-1]["end"]
        if len(segments) == 1 and random.random() < 0.5:
            assignments.append({"job": job.name, **segments[0]})
        else:
            assignments.append({"job": job.name, "segments": segments})
    random.shuffle(assignments)
    return parse_schedule(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": "random",
            "assignments": assignments,
        }
    )
