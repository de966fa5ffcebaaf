"""An instance with learned caps as resources, so that `search` keeps them by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rarmodel.schema import Instance

from .learned_caps import Key, LearnedCap

DIGITS = 9
"""Decimals of amounts; more is noise of floats."""

MOST_WINDOWS = 200
"""Most windows of a resource: `search` looks at each."""


def with_resources(instance: Instance, caps: Mapping[Key, LearnedCap]) -> Instance | None:
    """The instance with a resource for each cap; None if some cap depends on more than the job.

    Parameters
    ----------
    instance
        The problem.
    caps
        At least one cap; what it says of its last slot holds for later ones too.
    """
    data = instance.model_dump(mode="json", by_alias=True, exclude_unset=True)
    resources = data.setdefault("resources", [])
    taken = {one["name"] for one in resources}
    for n, cap in enumerate(caps.values()):
        capacity = _windows(cap)
        if capacity is None:
            return None
        if not capacity:
            continue
        name = f"added-{n}"
        while name in taken:
            name += "-"
        taken.add(name)
        resources.append({"name": name, "capacity": capacity})
        for job, written in zip(instance.jobs, data["jobs"], strict=True):
            mine = cap.uses.get(job.name, {})
            used = {round(mine.get(one.name, 0.0), DIGITS) for one in instance.cluster.servers}
            if len(used) > 1:
                return None  # A worker uses more of it on one server than on another.
            if len(job.sizes) > 1:
                written.setdefault("resources_per_gpu", {})[name] = used.pop()
            elif mine:
                whole = job.size * next(iter(mine.values()))
                written.setdefault("resources", {})[name] = round(whole, DIGITS)
    return Instance.model_validate(data)


def _windows(cap: LearnedCap) -> list[dict[str, Any]] | None:
    """Capacities by window, without those that have no limit; None if they are too many."""
    room = np.maximum(cap.room, 0.0).round(DIGITS)
    edges = [0, *(np.flatnonzero(np.diff(room)) + 1).tolist()]
    if len(edges) > MOST_WINDOWS:
        return None
    ends = [*edges[1:], None]
    return [
        {"from": start, **({} if end is None else {"to": end}), "capacity": float(room[start])}
        for start, end in zip(edges, ends, strict=True)
        if np.isfinite(room[start])
    ]
