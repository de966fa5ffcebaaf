"""How the time to a proof grows with the jobs, at three jobs for each server.

`python tests/benchmarks/proof_growth.py [--seeds N] [--seconds S] [--methods ...]`. A method is
`search`, or a formulation with its solver, such as `time-indexed:highs`, whose model must prove
alone. The instances are
those of `rarmodel generate stars`. A solve without a proof in time counts as endless. For each
method the medians are fitted by time = a·b^jobs, over the sizes at which at least half are proven.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import exp, inf, log
from statistics import linear_regression, median_high
from time import perf_counter

import rarmodel
from rarmodel.schema import Instance

JOBS_PER_SERVER = 3


def seconds_to_proof(instance: Instance, method: str, limit: float, threads: int) -> float:
    """Time until an instance is proven; infinite if it is not."""
    name, _, solver = method.partition(":")
    begun = perf_counter()
    result = rarmodel.solve(
        instance,
        method=None if solver else name,
        formulation=name if solver else None,
        solver=solver or None,
        model_only=bool(solver),
        time_limit=limit,
        threads=threads,
        objective=instance.objectives,
    )
    return perf_counter() - begun if result.status == "optimal" else inf


def fitted(jobs: Sequence[int], seconds: Sequence[float]) -> str:
    """The growth by job of medians, as far as they are finite."""
    known = [(n, log(time)) for n, time in zip(jobs, seconds, strict=True) if time < inf]
    if len(known) < 2:
        return "no fit"
    slope, intercept = linear_regression(*zip(*known, strict=True))
    return f"{exp(intercept):.2g} s · {exp(slope):.2f}^jobs, to {known[-1][0]} jobs"


def main(options: argparse.Namespace) -> None:
    """Print the median time of each method and size, and the fits."""
    sizes = [JOBS_PER_SERVER * servers for servers in range(2, options.servers + 1)]
    medians: dict[str, list[float]] = {method: [] for method in options.methods}
    print("| jobs × servers | " + " | ".join(options.methods) + " |")
    print("|---|" + "---|" * len(options.methods))
    for jobs in sizes:
        servers = jobs // JOBS_PER_SERVER
        cells = [f"{jobs} × {servers}"]
        stars = [
            rarmodel.generate("stars", jobs=jobs, servers=servers, seed=seed)
            for seed in range(options.seeds)
        ]
        for method in options.methods:
            if medians[method] and medians[method][-1] == inf:
                medians[method].append(inf)
                cells.append("not tried")
                continue
            times = [
                seconds_to_proof(star, method, options.seconds, options.threads) for star in stars
            ]
            medians[method].append(median_high(times))
            proven = sum(time < inf for time in times)
            cells.append(f"{median_high(times):.2f} s, {proven} of {len(stars)}")
        print("| " + " | ".join(cells) + " |", flush=True)
    for method, times in medians.items():
        print(f"{method}: {fitted(sizes, times)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--servers", type=int, default=8, help="servers of the largest size")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--methods",
        nargs="+",
        default=["search", "time-indexed:cpsat", "time-indexed:highs"],
    )
    main(parser.parse_args())
