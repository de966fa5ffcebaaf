"""Instances and schedules as plain data, to be changed into whatever a test is about."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from rarmodel.files import parse_instance, parse_schedule
from rarmodel.schema import Instance, Schedule

Data = dict[str, Any]
Path = Sequence[str | int]


def job_data(name: str, gpus: int | list[int] = 1, iterations: int = 10, **fields: Any) -> Data:
    """A job without exchange whose iterations take 0.1 s: 10 in a slot of 1 s."""
    return {
        "name": name,
        "gpus": gpus,
        "iterations": iterations,
        "gradient_mb": 0.0,
        "batch_size": 1,
        "forward_ms_per_sample": 0.0,
        "backward_ms": 100.0,
        **fields,
    }


def instance_data(*jobs: Data, servers: Sequence[int] = (2, 2), horizon: int = 20) -> Data:
    """A star of servers s0, s1, … with the jobs given, or with two small ones."""
    return {
        "schema_version": 1,
        "name": "example",
        "time": {"slot_seconds": 1.0, "horizon": horizon},
        "cluster": {
            "servers": [{"name": f"s{i}", "gpus": gpus} for i, gpus in enumerate(servers)],
            "network": {"kind": "star", "gbps": 10.0},
            "intra_server_gbps": 200.0,
            "reduction_gbps": 400.0,
        },
        "contention": {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.2},
            "overhead_ms_per_server": 0.0,
        },
        "jobs": list(jobs) or [job_data("a", gpus=2, iterations=20), job_data("b")],
    }


def tree_data(*links: tuple[str, str], **fields: Any) -> Data:
    """An instance whose network is a tree of the links (node, parent)."""
    data = instance_data(**fields)
    data["cluster"]["network"] = {
        "kind": "tree",
        "links": [{"node": node, "parent": parent, "gbps": 10.0} for node, parent in links],
    }
    return data


def assignment_data(job: str, start: int, **gpus: Sequence[int]) -> Data:
    """An assignment of a job to GPUs by server."""
    return {"job": job, "start": start, "gpus": {name: list(held) for name, held in gpus.items()}}


def schedule_data(*assignments: Data, instance: str = "example") -> Data:
    """A schedule of the assignments given, or a feasible one of `instance_data()`."""
    return {
        "schema_version": 1,
        "instance": instance,
        "method": "by hand",
        "assignments": list(assignments)
        or [assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0])],
    }


def replaced(data: Data, path: Path, value: Any) -> Data:
    """A copy in which one value is another, or new."""
    changed = copy.deepcopy(data)
    holder: Any = changed
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    return changed


def removed(data: Data, path: Path) -> Data:
    """A copy in which one field is missing."""
    changed = copy.deepcopy(data)
    holder: Any = changed
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    return changed


def instance_of(*jobs: Data, **fields: Any) -> Instance:
    """The instance that `instance_data` stands for."""
    return parse_instance(instance_data(*jobs, **fields))


def schedule_of(*assignments: Data) -> Schedule:
    """The schedule that `schedule_data` stands for."""
    return parse_schedule(schedule_data(*assignments))


def label(value: object) -> str:
    """A short name of a test's parameter."""
    return ascii(value)[:30]
