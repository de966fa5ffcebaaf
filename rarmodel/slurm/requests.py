"""What a waiting job asks for, in the terms of the model: ring sizes, spread, servers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from rarmodel.schema import Job
from rarmodel.workloads.gres import SHARD, has_parts
from rarmodel.workloads.model_profiles import is_type
from rarmodel.workloads.switch_trees import Tree
from rarmodel.workloads.table_cells import CellError

from .gpu_parts import AskedPart, asked_part
from .nodes import Node
from .partitions import Partition
from .queue import Queue
from .slurm_jobs import GPU_KEYS, SlurmJob, cpus_per_node, memory_per_node
from .slurm_values import gpus_in, hosts, value, whole_number

_CANNOT = {
    "HetJobId": "part of a heterogeneous job, which Slurm does not let others place",
    "Reservation": "asks for a reservation of Slurm",
    "TresPerSocket": "asks for GPUs per socket",
    "Switches": "asks for a number of switches (--switches)",
}
"""Keys with which the model cannot hold a job, and why."""
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
        On how many nodes.
    nodes
        Nodes that it may use.
    is_equal
        Whether it has the same number of GPUs on each node. Otherwise Slurm takes what is free.
    part
        The parts of a GPU that it asks for on each node; None for whole GPUs.
    """

    sizes: tuple[int, ...]
    least_nodes: int
    most_nodes: int | None
    nodes: tuple[str, ...]
    is_equal: bool = True
    part: AskedPart | None = None

    @property
    def counted_gpus(self) -> int:
        """As how many GPUs Slurm counts its least size."""
        return self.sizes[0] * (1 if self.part is None else self.part.counted)


def request_of(job: SlurmJob, queue: Queue) -> Request:
    """What a waiting job asks for.

    Raises
    ------
    UnusableError
        If the model cannot hold it.
    """
    record, partition = job.record, _partition(job, queue)
    for key, told in _CANNOT.items():
        if value(record, key):
            raise UnusableError(told)
    if value(record, "OverSubscribe") == "NO" or partition.is_exclusive:
        raise UnusableError("asks for nodes of its own (--exclusive), or its partition gives these")
    if value(record, "Contiguous") == "1":
        raise UnusableError("asks for nodes next to each other (--contiguous)")
    texts = [value(record, key) for key in GPU_KEYS]
    part = _part(job, texts) if has_parts(",".join(texts)) else None
    if other := re.search(r"\bgres[:/](?!(?:gpu|shard)\b)(\w+)", " ".join(texts)):
        raise UnusableError(f"asks for {other[1]} beside GPUs")
    # A worker has its parts of one GPU of a node.
    each, whole, task = map(_gpus, texts) if part is None else ({"": 1}, {}, {})
    tasks, per_node = whole_number(record, "NumTasks"), sum(each.values())
    gpus = sum(whole.values()) or tasks * sum(task.values())
    if not gpus and not per_node:
        raise UnusableError("asks for no GPUs")
    if gpus and per_node and gpus % per_node:
        raise UnusableError(f"asks for {gpus} GPUs, {per_node} on each node")
    fewest, most = _number_of_nodes(job, gpus, per_node)
    inside = {*partition.nodes} - {*hosts(value(record, "ExcNodeList"))}
    if job.nodes:
        if not fewest <= len(job.nodes) <= (most or len(job.nodes)):
            raise UnusableError("asks for more or fewer nodes than it names")
        inside &= {*job.nodes}
        fewest = most = len(job.nodes)
    limits = [limit for limit in (most, partition.most_nodes) if limit]
    most = min(limits, default=None)
    sizes = (gpus,) if gpus else tuple(per_node * n for n in range(fewest, (most or fewest) + 1))
    size, types = (sizes or (1,))[0], {**each, **whole, **task}
    greatest = max((queue.nodes[name].gpus for name in inside), default=1)
    if part is None:
        nodes = _nodes(job, queue, inside, types, size, max(most or fewest, -(-size // greatest)))
    else:
        nodes = _nodes_with(part, job, queue, inside, size)
    up = [queue.nodes[name].gpus for name in nodes if not queue.nodes[name].away]
    is_equal = True
    if gpus and not per_node and not job.nodes and gpus > (most or gpus) * max(up, default=gpus):
        least = _fewest(gpus, up)
        if least and least <= (partition.most_nodes or least):
            fewest = most = least
            is_equal = gpus == least * max(up)
    found = Request(sizes, fewest, most, nodes, is_equal, part)
    if (possible := _with_room(found, up)) is None:
        raise UnusableError("needs more GPUs, or equal parts on more nodes, than are up")
    return possible


def _part(job: SlurmJob, texts: list[str]) -> AskedPart:
    """The parts of GPUs that a job asks for."""
    tasks, nodes = whole_number(job.record, "NumTasks"), job.record["NumNodes"]
    try:
        found = asked_part(texts, nodes, tasks)
    except CellError as error:
        raise UnusableError(error.message) from error
    if isinstance(found, str):
        raise UnusableError(found)
    return found


def _fewest(gpus: int, up: Sequence[int]) -> int:
    """The fewest nodes with so many GPUs; 0 if they have too few.

    A job with `--gpus` alone gets these, though Slurm tells one node for it while it waits: it
    refuses a job that asks for fewer.
    """
    together = accumulate(sorted(up, reverse=True))
    return next((n for n, total in enumerate(together, 1) if total >= gpus), 0)


def _partition(job: SlurmJob, queue: Queue) -> Partition:
    """The partition of a job; of several that it may run in, the one with most nodes."""
    known = [queue.partitions[name] for name in job.partitions if name in queue.partitions]
    up = [one for one in known if one.is_up and one.nodes]
    if not up:
        raise UnusableError(f"partition {job.record['Partition']!r} has no GPUs, or is down")
    return max(up, key=lambda one: len(one.nodes))


def _number_of_nodes(job: SlurmJob, gpus: int, per_node: int) -> tuple[int, int | None]:
    """The fewest and the most nodes of a job; None where it sets no limit."""
    tasks, each = whole_number(job.record, "NumTasks"), job.tasks_per_node
    least, dash, greatest = job.record["NumNodes"].partition("-")
    if each and (not dash or least == greatest):
        return (nodes := max(1, -(-tasks // each))), nodes
    if gpus and per_node:
        return gpus // per_node, gpus // per_node
    if dash:
        return int(least), int(greatest)
    if per_node:
        return int(least), int(least)
    # Without a greatest number Slurm tells an estimate of the least. Each node has a task at least.
    return 1, tasks if int(least) <= tasks else None


def _has_room(size: int, fewest: int, most: int | None, up: Sequence[int]) -> bool:
    """Whether some number of nodes that are up can have equal parts of a ring."""
    return any(
        size % n == 0 and sum(gpus >= size // n for gpus in up) >= n
        for n in range(fewest, min(most or size, size, len(up)) + 1)
    )


def _with_room(request: Request, up: Sequence[int]) -> Request | None:
    """A request with those of its sizes for which nodes of so many GPUs have room, if any."""
    if not request.is_equal:
        return request if _fewest(request.sizes[0], up) == request.least_nodes else None
    least, most = request.least_nodes, request.most_nodes
    possible = tuple(size for size in request.sizes if _has_room(size, least, most, up))
    return request._replace(sizes=possible) if possible else None


def within(request: Request, part: Tree, queue: Queue) -> Request | None:
    """What a job asks for, on the nodes of one part of a cluster; None if it has no room there."""
    nodes = tuple(name for name in request.nodes if name in part.nodes)
    up = [queue.nodes[name].gpus for name in nodes if not queue.nodes[name].away]
    return _with_room(request._replace(nodes=nodes), up)


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
            **({"equal": True} if request.is_equal else {}),
        }
    if request.part is not None:
        fields["slices"] = request.part.number
    return fields


def fits(job: Job, gpus: Mapping[str, int]) -> bool:
    """Whether so many GPUs on these servers are what the model's job asks for."""
    inside = job.servers is None or set(gpus) <= set(job.servers)
    spread = job.spread is None or job.spread.kept(gpus.values())
    return inside and spread and sum(gpus.values()) in job.sizes


def _gpus(text: str) -> dict[str, int]:
    try:
        return gpus_in(text)
    except CellError as error:
        raise UnusableError(error.message) from error


def _nodes(
    job: SlurmJob, queue: Queue, inside: set[str], types: Mapping[str, int], size: int, most: int
) -> tuple[str, ...]:
    """Those of some nodes with the features, GPU types, processors and memory asked for.

    Nodes with GPUs of several types are only for jobs that take any, and nodes with slices only for
    jobs of a type: to others Slurm gives slices, too.
    """
    kinds = [kind for kind in types if kind]
    found = (
        node
        for node in queue.nodes.values()
        if all(is_type(node.gpu_type, kind) and "+" not in node.gpu_type for kind in kinds)
        and node.part in {"", SHARD}
        and (kinds or not node.is_sliced)
    )
    return _usable(found, job, inside, most, -(-size // most))


def _nodes_with(
    part: AskedPart, job: SlurmJob, queue: Queue, inside: set[str], size: int
) -> tuple[str, ...]:
    """Those of some nodes whose GPUs have these parts, and what else a job asks for."""
    named = [
        node
        for node in queue.nodes.values()
        if node.part == part.part and part.gpu_type in {"", node.gpu_type}
    ]
    if not named:
        raise UnusableError(f"no node has equal {part.told} on its GPUs")
    found = [node for node in named if node.slices >= part.number]
    if not found:
        most = max(node.slices for node in named)
        raise UnusableError(
            f"asks for {part.number} {part.told} on a node, and each GPU has {most}"
        )
    return _usable(found, job, inside, size, part.counted)


def _usable(
    nodes: Iterable[Node], job: SlurmJob, inside: set[str], number: int, gpus: int
) -> tuple[str, ...]:
    """Those of some nodes with the features, processors and memory that a job asks for.

    Parameters
    ----------
    nodes, job
        The nodes, and the job.
    inside
        Nodes that it may use.
    number, gpus
        On how many nodes it is, and with how many GPUs on each.
    """
    cpus, memory = cpus_per_node(job, number, gpus), memory_per_node(job, number, gpus)
    features = value(job.record, "Features")
    found = tuple(
        node.name
        for node in nodes
        if node.name in inside
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


def by_number(jobs: Iterable[SlurmJob]) -> Mapping[str, list[str]]:
    """The ids of jobs by their number, which all tasks of an array share."""
    found: dict[str, list[str]] = defaultdict(list)
    for job in jobs:
        found[job.id.partition("_")[0]].append(job.id)
    return found


def predecessors(job: SlurmJob, known: Mapping[str, Sequence[str]]) -> list[str]:
    """Jobs that must end before it starts.

    Parameters
    ----------
    job
        The job.
    known
        Jobs of the instance, `by_number`.

    Raises
    ------
    UnusableError
        If its dependency is of another kind, or on another job.
    """
    text = value(job.record, "Dependency")
    found = list[str]()
    for part in filter(None, text.split(",")):
        dependency = _AFTER.fullmatch(part)
        if dependency is None or "?" in text:
            kinds = "afterok, afterany and afternotok"
            raise UnusableError(f"dependency {part!r}; only {kinds} are read")
        for name in dependency[1].strip(":").split(":"):
            number, _, task = name.partition("_")
            tasks = [one for one in known.get(number, ()) if task in {"", "*"} or one == name]
            if not tasks:
                raise UnusableError("depends on a job that is not in the instance")
            found += tasks
    return found


def throttled(job: SlurmJob, known: Mapping[str, Sequence[str]]) -> list[str]:
    """The task that must end before this task of an array, of which only so many may run at once.

    Slurm lets any task end first; in the instance they go in the order of their numbers.
    """
    if not (most := whole_number(job.record, "ArrayTaskThrottle")):
        return []
    tasks = known[job.id.partition("_")[0]]
    place = tasks.index(job.id)
    return [tasks[place - most]] if place >= most else []
