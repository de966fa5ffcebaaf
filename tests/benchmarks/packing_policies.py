"""Time of policies that share GPUs, by number of jobs: packing_policies.py [POLICY ...].

Jobs are drawn as in online_sharing.py, half of them quiet; there are 16 servers of 4 GPUs, and 300
jobs arrive within 9 hours, fewer in proportion. Verifying and bounds are not part of the time,
which is that of the processor.
"""

from __future__ import annotations

import sys
from time import process_time

from online_sharing import HOURS, PAIRS, SLOT_SECONDS, instance_of

import rarmodel
from rarmodel import registry
from rarmodel.online.play import play

SERVERS = 16
NUMBERS = (60, 150, 300)
POLICIES = (
    *("srtf", "lucid", "muri", "gavel-max-min-packed", "gavel-makespan-packed"),
    *("gavel-fairness-packed", "gavel-cost-packed"),
)


def main(*policies: str) -> None:
    """Print a row for each policy and number of jobs."""
    measured = rarmodel.compare_terms(PAIRS, gpu_type="v100")
    rows = PAIRS.read_text().splitlines()[1:]
    kinds = sorted({row.split(",")[1] for row in rows if row.startswith("v100,")})
    placement = registry.find("placements", "consolidate")
    rarmodel.simulate("two-servers", "srtf")  # Compiles.
    print(f"{'policy':22} {'jobs':>5} {'seconds':>8} {'decisions':>9} {'mean flow, h':>12}")
    for name in policies or POLICIES:
        policy = registry.find("policies", name)
        for number in NUMBERS:
            hours = HOURS * number / max(NUMBERS)
            data = instance_of(
                1, kinds, 0.5, slices=True, jobs=number, servers=SERVERS, hours=hours
            )
            instance = measured.applied(rarmodel.load_instance(data))
            begun = process_time()
            played = play(instance, policy, placement)
            seconds = process_time() - begun
            flow = (played.completion - played.jobs.release).mean() * SLOT_SECONDS / 3600
            print(
                f"{name:22} {number:5} {seconds:8.1f} {played.decisions:9,} {flow:12.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
