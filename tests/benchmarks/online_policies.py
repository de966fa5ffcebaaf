"""Time of simulations by number of jobs: online_policies.py TRACE [SERVERS].

TRACE is a trace that `rarmodel import` reads, with as many jobs as you have; the first 1,000, the
first 10,000 and all of them are played, on SERVERS servers of 4 GPUs, by default 100. Verifying and
bounds are not part of the time.
"""

from __future__ import annotations

import sys
from time import perf_counter

import rarmodel
from rarmodel import registry
from rarmodel.online.play import play
from rarmodel.schema.instance import Preemption

POLICIES = ("fifo-backfill", "srtf", "las")
JOBS = (1_000, 10_000, 0)


def main(trace: str, servers: int = 100) -> None:
    """Print a row for each policy and number of jobs."""
    placement = registry.find("placements", "consolidate")
    rarmodel.simulate("two-servers", "srtf")  # Compiles.
    print(f"{'policy':14} {'jobs':>7} {'seconds':>8} {'decisions':>9} {'preemptions':>11}")
    for name in POLICIES:
        policy = registry.find("policies", name)
        for jobs in JOBS:
            found = rarmodel.import_trace(
                trace, servers=servers, gpus_per_server=4, max_jobs=jobs or None
            ).instance
            instance = found.model_copy(update={"preemption": Preemption(restore_seconds=60.0)})
            begun = perf_counter()
            played = play(instance, policy, placement)
            seconds = perf_counter() - begun
            print(
                f"{name:14} {len(instance.jobs):7,} {seconds:8.2f} {played.decisions:9,} "
                f"{played.preemptions:11,}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
