"""Tiny instances whose rings must share links, by any model of contention."""

from __future__ import annotations

from random import Random

from rarmodel.files import parse_instance
from rarmodel.schema import Instance

TREE = {"s0": "r0", "s1": "r0", "s2": "r1", "r0": "core", "r1": "core"}


def contended_instance(
    random: Random, *, jobs: int = 3, model: str = "duty", tree: bool = False, equal: bool = False
) -> Instance:
    """Rings of 4 GPUs on three servers of 3, which exchange for a fifth to most of the time.

    On a tree with `equal` links, all have one rate.
    """
    servers = [3, 3, random.choice([2, 3])]
    network: dict[str, object] = {"kind": "star", "gbps": 10.0}
    if tree:
        network = {
            "kind": "tree",
            "links": [
                {"node": node, "parent": above, "gbps": 10.0 if equal else random.choice([5, 10.0])}
                for node, above in TREE.items()
            ],
        }
    gradients = [random.uniform(20.0, 60.0) for _ in range(jobs)]
    return parse_instance(
        {
            "schema_version": 1,
            "name": "contended",
            "time": {"slot_seconds": 1.0, "horizon": 40},
            "cluster": {
                "servers": [{"name": f"s{i}", "gpus": n} for i, n in enumerate(servers)],
                "network": network,
                "intra_server_gbps": 100.0,
                "reduction_gbps": 400.0,
            },
            "contention": {
                "concurrency": random.choice([0.6, 1.0, 1.0]),
                "degradation": {"kind": "linear", "alpha": random.choice([0.0, 0.2])},
                "overhead_ms_per_server": random.choice([0.0, 5.0]),
                "model": model,
            },
            "jobs": [
                {
                    "name": f"j{i}",
                    "gpus": random.choice([1, 4, 4, 4]),
                    "iterations": random.randint(6, 40),
                    "gradient_mb": gradient,
                    "batch_size": 1,
                    "forward_ms_per_sample": 0.0,
                    # The exchange takes 1.6 ms for each MB, about.
                    "backward_ms": random.uniform(0.3, 4.0) * gradient,
                }
                for i, gradient in enumerate(gradients)
            ],
        }
    )
