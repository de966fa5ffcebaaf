"""What a waiting job asks for, in the terms of the model: ring sizes, spread, servers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.schema import Job
from rarmodel.workloads.cells import CellError
from rarmodel.workloads.profiles import is_type
from rarmodel.workloads.slurm import expand

from .queue import Node, Queue, SlurmJob, cpus_per_node, memory_per_node
from .values import gpus_in, value, whole_number

_AFTER = re.compile(r"after(?:ok|any|notok)((?::\d+(?:_\d+|_\*)?)+)(?:\(\w+\))?")


class UnusableError(Exception):
    """The model cannot hold this job; the text says why."""


class Request(NamedTuple):
    """What a waiting job asks for.

    Attributes
    ----------
    sizes
        GPUs in all, ascending.
    least_nodes, most_nodes
        On how many nodes, with the same number of GPUs on each.
    nodes
        Nodes that it may use.
    """

    sizes: tuple[int, ...]
    least_nodes: int
    most_nodes: int | None
    nodes: tuple[str, ...]


def request_of(job: SlurmJob, queue: Queue) -> Request:
    """What a waiting job asks for.

    Raises
    ------
    UnusableError
        If the model cannot hold it.
    """
    record = job.record
    for key, told in (
        ("HetJobId", "part of a heterogeneous job, which Slurm does not let others place"),
        ("Reservation", "asks for a reservation of Slurm"),
        ("TresPerSocket", "asks for GPUs per socket"),
    ):
        if value(record, key):
            raise UnusableError(told)
    if value(record, "OverSubscribe") == "NO":
        raise UnusableError("asks for nodes of its own (--exclusive)")
    each, whole, task = (
        _gpus(value(record, key)) for key in ("TresPerNode", "TresPerJob", "TresPerTask")
    )
    tasks = whole_number(record, "NumTasks")
    least, dash, most = record["NumNodes"].partition("-")
    fewest, limit = int(least), int(most) if dash else None
    gpus = sum(whole.values()) or tasks * sum(task.values())
    if sum(each.values()):
        per_node = sum(each.values())
        if not gpus:
            sizes = tuple(per_node * n for n in range(fewest, (limit or fewest) + 1))
            limit = limit or fewest
        else:
            sizes, fewest, limit = (gpus,), gpus // per_node, gpus // per_node
            if gpus % per_node:
                raise UnusableError(f"asks for {gpus} GPUs, {per_node} on each node")
    elif gpus:
        sizes = (gpus,)
        # Without a greatest number of nodes Slurm tells an estimate of the least.
        fewest = fewest if dash else 1
    else:
        raise UnusableError("asks for no GPUs")
    if limit is None and int(least) <= tasks:  # Each node has a task at least.
        limit = tasks
    nodes = _nodes(job, queue, {**each, **whole, **task}, fewest, limit)
    up = [queue.nodes[name].gpus for name in nodes if not queue.nodes[name].away]
    possible = tuple(size for size in sizes if _has_room(size, fewest, limit, up))
    if not possible:
        raise UnusableError("needs more GPUs, or equal parts on more nodes, than are up")
    return Request(possible, fewest, limit, nodes)


def _has_room(size: int, fewest: int, most: int | None, up: Sequence[int]) -> bool:
    """Whether some number of nodes that are up can have equal parts of a ring."""
    return any(
        size % n == 0 and sum(gpus >= size // n for gpus in up) >= n
        for n in range(fewest, min(most or size, size, len(up)) + 1)
    )


def shape_of(request: Request, queue: Queue) -> dict[str, object]:
    """The fields `gpus`, `servers` and `spread` of the model's job."""
    sizes = request.sizes
    fields: dict[str, object] = {"gpus": sizes[0] if len(sizes) == 1 else list(sizes)}
    if len(request.nodes) < len(queue.nodes):
        fields["servers"] = list(request.nodes)
    if max(sizes) > 1:
        fields["spread"] = {
            **({"min_servers": request.least_nodes} if request.least_nodes > 1 else {}),
            **({"max_servers": request.most_nodes} if request.most_nodes else {}),
            "equal": True,
        }
    return fields


def fits(job: Job, gpus: Mapping[str, int]) -> bool:
    """Whether so many GPUs on these servers are what the model's job asks for."""
    inside = job.servers is None or set(gpus) <= set(job.servers)
    spread = job.spread is None or job.spread.kept(gpus.values())
    return inside and spread and sum(gpus.values()) in job.sizes


def asked_type(job: SlurmJob) -> str:
    """The type of GPU that a job asks for; empty if any will do, or several are asked for."""
    keys = ("TresPerNode", "TresPerJob", "TresPerTask")
    kinds = {kind for key in keys for kind in _gpus(value(job.record, key))}
    return kinds.pop() if len(kinds) == 1 else ""


def _gpus(text: str) -> dict[str, int]:
    try:
        return gpus_in(text)
    except CellError as error:
        raise UnusableError(error.message) from error


def _nodes(
    job: SlurmJob, queue: Queue, types: Mapping[str, int], fewest: int, limit: int | None
) -> tuple[str, ...]:
    """Nodes of its partitions with the features, GPU types, processors and memory asked for."""
    record = job.record
    partitions = record["Partition"].split(",")
    inside = {name for one in partitions for name in queue.partitions.get(one, ())}
    if not inside:
        raise UnusableError(f"partition {record['Partition']!r} has no GPUs")
    try:
        inside -= set(expand(value(record, "ExcNodeList")))
        wanted = expand(value(record, "ReqNodeList"))
    except ValueError as error:
        raise UnusableError(str(error)) from error
    if wanted and not job.is_marked:  # Of a marked job the list may be a plan of rarmodel's.
        if len(wanted) > fewest:
            raise UnusableError("asks for more nodes by name than it needs")
        if len(wanted) == fewest:
            inside &= set(wanted)
    kinds = [kind for kind in types if kind]
    most = fewest if limit is None else limit
    cpus, memory = cpus_per_node(job, most), memory_per_node(job, most)
    features = value(record, "Features")
    found = tuple(
        node.name
        for node in queue.nodes.values()
        if node.name in inside
        and all(is_type(node.gpu_type, kind) for kind in kinds)
        and node.cpus >= cpus
        and node.memory_mb >= memory
        and _has(node, features)
    )
    if not found:
        raise UnusableError(
            "no node of its partition has the GPUs, features, CPUs and memory asked for"
        )
    return found


def _has(node: Node, features: str) -> bool:
    """Whether a node meets a constraint such as `a&b` or `a|b`."""
    if not features:
        return True
    if not re.fullmatch(r"[\w.-]+(?:[&|][\w.-]+)*", features):
        raise UnusableError(f"constraint {features!r}; only features with & or | are read")
    return any(set(part.split("&")) <= node.features for part in features.split("|"))


def predecessors(job: SlurmJob, known: Sequence[str]) -> list[str]:
    """Jobs that must end before it starts.

    Raises
    ------
    UnusableError
        If its dependency is of another kind.
    """
    text = value(job.record, "Dependency")
    found = []
    for part in filter(None, text.split(",")):
        dependency = _AFTER.fullmatch(part)
        if dependency is None or "?" in text:
            kinds = "afterok, afterany and afternotok"
            raise UnusableError(f"dependency {part!r}; only {kinds} are read")
        for name in dependency[1].strip(":").split(":"):
            stem = name.removesuffix("*")
            every = stem != name  # `12_*` means all tasks of the array 12.
            tasks = [one for one in known if one == name or (every and one.startswith(stem))]
            if not tasks:
                raise UnusableError("depends on a job that is not in the instance")
            found += tasks
    return found


def throttled(job: SlurmJob, known: Sequence[str]) -> list[str]:
    """The task that must end before this task of an array, of which only so many may run at once.

    Slurm lets any task end first; in the instance they go in the order of their numbers.
    """
    most = whole_number(job.record, "ArrayTaskThrottle")
    if not most:
        return []
    array = job.id.partition("_")[0]
    tasks = [name for name in known if name.startswith(f"{array}_")]
    place = tasks.index(job.id)
    return tasks[place - most : place - most + 1] if place >= most else []
