"""Instances small enough to play by hand: an iteration takes a slot, and rings cost nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rarmodel.files import parse_instance
from rarmodel.schema import Instance

MS_PER_SLOT = 1000.0


def worked(
    jobs: Sequence[Mapping[str, Any]],
    servers: Sequence[int] = (4,),
    *,
    restore: float | None = None,
    types: Sequence[str] = (),
    network_gbps: float = 10.0,
    cluster: Mapping[str, Any] | None = None,
    tenants: Sequence[Mapping[str, Any]] = (),
) -> Instance:
    """An instance of jobs `a`, `b`, …: `slots` of work, and `gpus`, 1 by default.

    Parameters
    ----------
    jobs
        Fields of each job beside these; `gradient_mb` is 0 unless given.
    servers, types
        GPUs of each server, and their types.
    restore
        Slots of a restoration; None if jobs cannot be interrupted.
    network_gbps
        Rate of each server's link.
    cluster
        More fields of the cluster.
    tenants
        Tenants that jobs name.
    """
    data: dict[str, Any] = {
        "schema_version": 1,
        "name": "by-hand",
        "time": {"slot_seconds": 1.0},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": gpus} for i, gpus in enumerate(servers)],
            "network": {"kind": "star", "gbps": network_gbps},
            "intra_server_gbps": 1e6,
            "reduction_gbps": 1e6,
            **(cluster or {}),
        },
        "contention": {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.0},
            "overhead_ms_per_server": 0.0,
        },
        "tenants": list(tenants),
        "jobs": [_job(i, job) for i, job in enumerate(jobs)],
    }
    for server, kind in zip(data["cluster"]["servers"], types, strict=False):
        server["gpu_type"] = kind
    if restore is not None:
        data["preemption"] = {"restore_seconds": restore}
    return parse_instance(data)


def _job(i: int, job: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"name": chr(ord("a") + i), "gpus": 1, "gradient_mb": 0.0, **job}
    fields["iterations"] = fields.pop("slots")
    if "global_batch_size" not in fields:
        fields["batch_size"] = 1
    if "times" not in fields:
        fields.setdefault("forward_ms_per_sample", 0.0)
        fields.setdefault("backward_ms", MS_PER_SLOT)
    return fields
