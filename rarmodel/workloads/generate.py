"""Generate random instances from settings; the same settings give the same file."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import numpy as np

from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.model import job_extremes, used
from rarmodel.schema import Instance
from rarmodel.schema.base import MAX_INTEGER
from rarmodel.schema.time import Time

from .settings import Settings, speed

FORWARD_PART = 0.4
"""Share of the forward pass in the compute time: the ratio of HKBU-HPML/dl-scheduling."""

_TRIES = 10_000
"""After this many draws, a range counts as out of reach."""


def generate(settings: Settings, name: str, description: str) -> Instance:
    """Generate an instance.

    The order of the draws is fixed: servers, order of the job sizes, then job by job iterations
    and iteration time (repeated until the execution time is in its range), gradient and batch
    size. Random numbers are rounded to decimals before use, so that the file does not depend on the
    last bits of a platform's arithmetic. Features follow in the order of `drawn.KNOWN`. None of
    them changes the random numbers of the rest. Without a horizon in the settings, the instance
    has that of `with_safe_horizon`.

    Raises
    ------
    UsageError
        If the random numbers are repeatedly out of their range.
    InputError
        If a name is empty.
    """
    rng = np.random.default_rng(settings.seed)
    servers = _servers(settings, rng)
    sizes = [gpus for gpus, count in _counts(settings) for _ in range(count)]
    digits = max(3, len(str(settings.jobs - 1)))
    jobs = [
        {"name": f"j{k:0{digits}d}", "gpus": gpus, **_job(settings, gpus, rng)}
        for k, gpus in enumerate(rng.permutation(sizes).tolist())
    ]
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
    return parse_instance(_given(instance.model_dump(mode="json", exclude_unset=True)))


def _given(value: Any) -> Any:
    """Plain data without the fields that are null."""
    if isinstance(value, dict):
        return {key: _given(one) for key, one in value.items() if one is not None}
    return [*map(_given, value)] if isinstance(value, list) else value


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


def _servers(settings: Settings, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Servers with random capacities; all of them together hold the widest job."""
    widest = max(gpus for gpus, _ in settings.sizes)
    digits = max(2, len(str(settings.servers - 1)))
    for _ in range(_TRIES):
        gpus = rng.choice(settings.capacities, settings.servers).tolist()
        if sum(gpus) >= widest:
            return [{"name": f"s{s:0{digits}d}", "gpus": count} for s, count in enumerate(gpus)]
    raise UsageError(
        f"jobs of {widest} GPUs: {settings.servers} servers of {list(settings.capacities)} GPUs "
        f"are too small in each of {_TRIES} draws; use more servers or smaller sizes"
    )


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


def _counts(settings: Settings) -> list[tuple[int, int]]:
    """Numbers of jobs of each size, in proportion to the weights, by largest remainders."""
    total = sum(weight for _, weight in settings.sizes)
    counts = [settings.jobs * weight // total for _, weight in settings.sizes]
    remainders = [settings.jobs * weight % total for _, weight in settings.sizes]
    by_remainder = sorted(range(len(counts)), key=lambda i: -remainders[i])
    for i in by_remainder[: settings.jobs - sum(counts)]:
        counts[i] += 1
    return [(gpus, count) for (gpus, _), count in zip(settings.sizes, counts, strict=True)]


def _job(settings: Settings, gpus: int, rng: np.random.Generator) -> dict[str, Any]:
    for _ in range(_TRIES):
        iterations = int(rng.integers(*settings.iterations, endpoint=True))
        iteration_slots = float(rng.uniform(*settings.iteration_slots))
        slots = math.ceil(iterations / speed(iteration_slots))
        if settings.execution_slots[0] <= slots <= settings.execution_slots[1]:
            break
    else:
        low, high = settings.execution_slots
        raise UsageError(
            f"execution slots {low}..{high}: no such job in {_TRIES} draws; "
            "widen them, or change iterations and iteration slots"
        )
    seconds = iteration_slots * settings.slot_seconds
    per = seconds if settings.gradient_per_second else 1.0
    gradient = float(rng.uniform(*settings.gradient_mb)) * per
    gradient = float(round(gradient)) if gradient >= 1 else round(gradient, 3)
    batch_size = int(rng.choice(settings.batch_sizes))
    milliseconds = (seconds - settings.other_seconds(gradient, gpus)) * 1e3
    forward = round(FORWARD_PART * milliseconds / batch_size, 4)
    return {
        "iterations": iterations,
        "gradient_mb": gradient,
        "batch_size": batch_size,
        "forward_ms_per_sample": forward,
        "backward_ms": max(0.01, round(milliseconds - forward * batch_size, 2)),
    }
