"""Mean flow time in seconds beside Muri's published figures: online_published.py TRACE.

TRACE is trace3.csv of Muri's simulator (https://github.com/Rivendile/Muri), 992 jobs of a virtual
cluster of Philly. They are played on 8 servers of 8 GPUs without contention and restorations, in
slots of 10 s; `las` is also asked each minute, so that jobs change their queues in time.
"""

from __future__ import annotations

import sys

import rarmodel
from rarmodel.schema.instance import Preemption

PUBLISHED = {
    "srtf": 193_081.8,
    "srsf": 185_021.9,
    "las": 347_213.2,
    "finish-time-fairness": 397_058.8,
}


def main(trace: str) -> None:
    """Print a row for each policy."""
    found = rarmodel.import_trace(
        trace, servers=8, gpus_per_server=8, contention=False, slot_seconds=10.0
    ).instance
    instance = found.model_copy(update={"preemption": Preemption(restore_seconds=0.0)})
    for name, published in PUBLISHED.items():
        # Leases of 20 minutes.
        rounds = {"las": 6, "finish-time-fairness": 120}.get(name)
        one = rarmodel.simulate(instance, name, round_slots=rounds)
        assert one.verified
        assert one.metrics.mean_flow is not None
        flow = 10 * one.metrics.mean_flow
        print(f"{name:22} {len(instance.jobs):5,} {flow:11,.1f} {published:11,.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
