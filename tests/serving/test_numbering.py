"""GPUs are numbered anew: whoever shares a GPU still does, and nobody holds one with a replica."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from depth import first
from documents import instance_data, job_data
from serving_instances import demand, service, variant

from rarmodel.errors import VerificationError
from rarmodel.files import parse_instance, parse_schedule
from rarmodel.limits import Limits
from rarmodel.schema import Instance, Schedule
from rarmodel.serving import Decided, Unit, decide_replicas
from rarmodel.serving.numbering import with_replicas
from rarmodel.verifier import verify


def instance_of(random: Random) -> Instance:
    """Jobs of whole GPUs and of slices, one of which may run, beside two kinds of replicas."""
    jobs = []
    for i in range(4):
        fields: dict[str, Any] = {} if random.random() < 0.5 else {"slices": random.choice([1, 2])}
        jobs.append(job_data(f"j{i}", random.choice([1, 1, 2]), random.randint(10, 60), **fields))
    if random.random() < 0.5:
        jobs[0] |= {"gpus": 1, "running": {"gpus": {"s0": [1]}, "iterations_done": 1}}
    data = instance_data(*jobs, servers=(3, 3), horizon=500)
    data["cluster"]["gpu_slices"] = 4
    kinds = [variant("whole"), variant("part", slices=2)]
    entries = [demand(0, 6, 50.0), demand(6, 12, random.choice([50.0, 100.0, 140.0]))]
    data["services"] = [service("chat", *entries, variants=random.choice([kinds, kinds[:1]]))]
    data["preemption"] = {"restore_seconds": 1.0}
    return parse_instance(data)


def jobs_at_random(random: Random, instance: Instance) -> Schedule:
    """Each job on random GPUs, from a random slot on; some are interrupted once."""
    assignments = []
    for job in instance.jobs:
        if job.running is not None:
            assignments.append(
                {
                    "job": job.name,
                    "start": 0,
                    "gpus": {n: list(g) for n, g in job.running.gpus.items()},
                }
            )
            continue
        held = {f"s{random.randrange(2)}": random.sample(range(3), job.size)}
        start = random.randint(0, 12)
        if random.random() < 0.3:
            again = {f"s{random.randrange(2)}": random.sample(range(3), job.size)}
            later = start + random.randint(2, 6)
            segments = [
                {"start": start, "end": start + 1, "gpus": held},
                {"start": later, "gpus": again},
            ]
            assignments.append({"job": job.name, "segments": segments})
        else:
            assignments.append({"job": job.name, "start": start, "gpus": held})
    return parse_schedule(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": "random",
            "assignments": assignments,
        }
    )


@pytest.mark.parametrize("seed", first(12, range(120)))
def test_the_whole_is_feasible_and_jobs_complete_as_before(seed: int) -> None:
    random = Random(seed)
    found = 0
    for _ in range(200):
        instance = instance_of(random)
        decided = decide_replicas(instance, Limits(20.0))
        if not isinstance(decided, Decided):
            continue
        for _ in range(20):
            jobs = jobs_at_random(random, instance)
            report = verify(decided.rest, jobs)
            if not report.feasible:
                continue
            whole = decided.whole(jobs, report)
            after = verify(instance, whole)
            assert after.feasible, after.violations
            assert after.completion == report.completion
            assert len(whole.services) == len(decided.replicas)
            found += 1
        if found >= 3:
            return
    pytest.fail("no schedule of the jobs is feasible")


def test_more_than_a_server_has_is_refused() -> None:
    instance = parse_instance(
        {
            **instance_data(job_data("a", 2, 20), servers=(2, 2)),
            "services": [service("chat", demand(0, 1, 1.0))],
        }
    )
    jobs = parse_schedule(
        {
            "schema_version": 1,
            "instance": "example",
            "method": "by hand",
            "assignments": [{"job": "a", "start": 0, "gpus": {"s0": [0, 1]}}],
        }
    )
    alone = instance.model_copy(update={"services": ()})
    with pytest.raises(VerificationError, match="more GPUs of server 's0' are held at once"):
        with_replicas(instance, jobs, verify(alone, jobs), [Unit(0, 1, 3, [])], [])
