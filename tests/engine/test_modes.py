"""Rings of several sizes, types of GPU and rates within servers: the engine beside the verifier."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from wide_instances import WIDE, random_wide

from rarmodel.engine import NEVER, OVERFULL, STUCK, Engine, placements_of
from rarmodel.model import horizon_of, lone_options
from rarmodel.model.lone import allowed_servers, realised
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate


def random_ring(random: Random, instance: Instance, j: int) -> dict[int, int]:
    """Workers on servers that the job may use, in one of its sizes."""
    job, servers = instance.jobs[j], instance.cluster.servers
    if job.running is not None:
        return realised(instance, [options[0] for options in lone_options(instance)])[j]
    gpus = [s for s in allowed_servers(instance)[j] for _ in range(servers[s].gpus)]
    chosen = random.sample(gpus, random.choice(job.sizes))
    return {s: chosen.count(s) for s in sorted(set(chosen))}


@settings(max_examples=200, deadline=None)
@given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from([feature.name for feature in WIDE])),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_engine_gives_the_completions_of_the_verifier(
    random: Random, features: set[str], jobs: int, servers: int
) -> None:
    instance = random_wide(random, features, jobs=jobs, servers=servers)
    rings = [random_ring(random, instance, j) for j in range(jobs)]
    latest = horizon_of(instance)
    starts = [0 if job.running else random.randrange(latest) for job in instance.jobs]
    runs = [Run(*run) for run in zip(instance.jobs, starts, rings, strict=True)]
    expected = simulate(instance, runs).completion
    found = Engine(instance).evaluate(np.array(starts, np.int64), placements_of(rings))
    if found.makespan == OVERFULL:
        return
    if found.makespan == STUCK:
        assert None in expected
        return
    assert found.completion.tolist() == [NEVER if end is None else end for end in expected]
