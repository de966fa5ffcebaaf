"""How much of execution time contention, slower links and overhead take in family `paper`.

For each method: the least and the greatest such part of any job, over the seeds.
`python tests/benchmarks/paper_family.py [SEEDS]`
"""

from __future__ import annotations

import sys

import rarmodel
from rarmodel.model import timing
from rarmodel.schema import Instance

METHODS = ("sjf-bco", "first-fit", "list-scheduling", "random")


def free_seconds(instance: Instance) -> dict[str, float]:
    """Iteration time of each job within one server, without overhead."""
    cluster = instance.cluster
    return {
        job.name: timing.iteration_seconds(
            timing.exchange_bits(job.gradient_mb, job.size),
            cluster.intra_server_gbps,
            0.0,
            timing.reduction_seconds(job.gradient_mb, job.size, cluster.reduction_gbps),
            0.0,
            timing.compute_seconds(job, job.size),
            1.0,
        )
        for job in instance.jobs
    }


def largest_part(instance: Instance, method: str) -> float:
    """The largest part of a job's execution time that is not spent as within one server."""
    report = rarmodel.solve(instance, method=method).report
    assert report
    free = free_seconds(instance)
    held, lost = dict.fromkeys(free, 0), dict.fromkeys(free, 0.0)
    for period in report.periods:
        for job, ring in period.rings.items():
            slots = period.end - period.start
            held[job] += slots
            lost[job] += slots * (1 - free[job] / ring.iteration_seconds)
    return max(lost[job] / held[job] for job in held)


def main(seeds: int) -> None:
    """Print a line for each method."""
    instances = [rarmodel.generate("paper", seed=seed) for seed in range(seeds)]
    for method in METHODS:
        parts = [largest_part(instance, method) for instance in instances]
        print(f"{method:16} {min(parts):.1%} to {max(parts):.1%} over {seeds} seeds")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
