"""Schedules with segments beside those without: interrupted_jobs.py [JOBS] [SECONDS] [OBJECTIVE].

Most jobs are short and some are long. For each of three instances it prints the value that `search`
finds where jobs may be interrupted, the value that it finds in the same time where they may not,
that of the online rule `srtf`, and the proven bound, which holds with interruptions. The last
argument may be followed by the part of a job's iterations between two checkpoints, or `null`.
"""

from __future__ import annotations

import sys
from random import Random

import rarmodel
from rarmodel.schema import Instance

FACTORS = (0.05, 0.1, 0.2, 0.3, 1, 4)
"""By how much jobs of the family `wide` are shorter or longer here."""


def instance_of(seed: int, jobs: int, objective: str, checkpoints: str) -> Instance:
    """An instance of as many jobs, most of them short."""
    random = Random(seed)
    drawn = rarmodel.generate(
        "wide",
        seed=seed,
        jobs=jobs,
        servers=1 + jobs // 30,
        features=["releases:within=0.7", "preemption:restore_seconds=20"],
        objective=objective,
    )
    data = drawn.model_dump(mode="json", exclude_unset=True)
    for job in data["jobs"]:
        factor = random.choice(FACTORS)
        job["iterations"] = max(1, int(job["iterations"] * factor))
        job["due"] = job.get("release", 0) + int(60 * factor * 2) + 5
        if checkpoints == "null":
            job["checkpoint_iterations"] = None
        elif checkpoints:
            job["checkpoint_iterations"] = max(1, int(job["iterations"] * float(checkpoints)))
    return Instance.model_validate(data)


def main(
    jobs: int = 100, seconds: float = 20.0, objective: str = "total-flow", checkpoints: str = ""
) -> None:
    """Print a row for each instance."""
    print(
        f"{'seed':>4} {'segments':>9} {'without':>9} {'srtf':>9} {'bound':>9} {'interrupted':>11}"
    )
    for seed in range(3):
        instance = instance_of(seed, jobs, objective, checkpoints)
        found = rarmodel.solve(instance, method="search", time_limit=seconds, threads=1, seed=1)
        plain = instance.model_copy(update={"preemption": None})
        without = rarmodel.solve(plain, method="search", time_limit=seconds, threads=1, seed=1)
        online = rarmodel.simulate(instance, "srtf")
        rows = found.schedule.assignments if found.schedule else ()
        interrupted = sum(len(one.segments) > 1 for one in rows)
        values = [found.objective[0].value, without.objective[0].value]
        values += [online.proven[objective].value]
        values += [found.objective[0].bound]
        told = " ".join(f"{value!s:>9}" for value in values)
        print(f"{seed:4} {told} {interrupted:11}", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*(kind(one) for kind, one in zip((int, float, str, str), given, strict=False)))
