"""Generate random instances from settings; the same settings give the same file."""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from rarmodel.files import parse_instance
from rarmodel.model import job_extremes, used
from rarmodel.schema import Instance
from rarmodel.schema.base import MAX_INTEGER
from rarmodel.schema.job import without_nulls
from rarmodel.schema.time import Time

from .settings import Settings


def generate(settings: Settings, name: str, description: str) -> Instance:
    """Generate an instance.

    The family draws servers and jobs, in a fixed order. Features follow in the order of
    `drawn.KNOWN`. None of them changes the random numbers of the rest. Without a horizon in the
    settings, the instance has that of `with_safe_horizon`.

    Raises
    ------
    UsageError
        If the random numbers are repeatedly out of their range.
    InputError
        If a name is empty.
    """
    gpus, rings = settings.draw()
    digits = max(2, len(str(settings.servers - 1)))
    servers: list[dict[str, Any]] = [
        {"name": f"s{s:0{digits}d}", "gpus": count} for s, count in enumerate(gpus)
    ]
    digits = max(3, len(str(settings.jobs - 1)))
    jobs = [{"name": f"j{k:0{digits}d}", **ring} for k, ring in enumerate(rings)]
    drawn = parse_instance(
        {
            "schema_version": 1,
            "name": name,
            "description": description,
            "time": {"slot_seconds": settings.slot_seconds, "horizon": settings.horizon or 1},
            "cluster": {
                "servers": servers,
                "network": _network(settings, [server["name"] for server in servers]),
                "intra_server_gbps": settings.intra_server_gbps,
                "reduction_gbps": settings.reduction_gbps,
            },
            "contention": {
                "concurrency": settings.concurrency,
                "degradation": {"kind": "linear", "alpha": settings.alpha},
                "overhead_ms_per_server": settings.overhead_ms_per_server,
            },
            "jobs": jobs,
        }
    )
    if settings.features:
        return _with_features(drawn, settings)
    return drawn if settings.horizon else with_safe_horizon(drawn)


def _with_features(instance: Instance, settings: Settings) -> Instance:
    """Draw the features one after another, each with random numbers of its own."""
    for feature in settings.features:
        rng = np.random.default_rng([settings.seed, crc32(feature.name.encode())])
        instance = feature.draw(instance, rng)
    if settings.horizon is None:
        instance = with_safe_horizon(instance)
    return parse_instance(without_nulls(instance.model_dump(mode="json", exclude_unset=True)))


def with_safe_horizon(instance: Instance) -> Instance:
    """Give an instance of the paper's problem a horizon that always suffices; wider ones need none.

    It is the sum of the least execution times: one after another, each alone in its best placement,
    the jobs fit this horizon. A wider instance gets none, so that no schedule is too long.
    """
    if used(instance):
        time = Time(**instance.time.model_dump(exclude={"horizon"}, exclude_unset=True))
        return instance.model_copy(update={"time": time})
    needed = sum(extreme.least_slots for extreme in job_extremes(instance))
    horizon = min(needed, MAX_INTEGER)
    time = instance.time.model_copy(update={"horizon": horizon})
    return instance.model_copy(update={"time": time})


def _network(settings: Settings, servers: list[str]) -> dict[str, Any]:
    if not settings.racks:
        return {"kind": "star", "gbps": settings.network_gbps}
    digits = len(str(settings.racks - 1))
    racks = [f"rack{r:0{digits}d}" for r in range(settings.racks)]
    links = [
        {"node": server, "parent": racks[s % len(racks)], "gbps": settings.network_gbps}
        for s, server in enumerate(servers)
    ]
    for r, rack in enumerate(racks):
        below = len(servers[r :: len(racks)])
        rate = round(below * settings.network_gbps / settings.oversubscription, 6)
        links.append({"node": rack, "parent": "core", "gbps": rate})
    return {"kind": "tree", "links": links}
