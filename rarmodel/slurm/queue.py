"""The cluster and its queue as Slurm tells them: nodes, partitions, reservations, jobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from rarmodel.errors import InputError, Problem
from rarmodel.workloads.cells import CellError
from rarmodel.workloads.formats import gpus_of_gres
from rarmodel.workloads.slurm import expand

from .records import Line, Record, lines
from .values import indices, memory_mb, moment, seconds, value, whole_number

MARK = "rarmodel"
"""First word of the comment of the jobs that rarmodel may touch."""
HELD = {"JobHeldUser", "JobHeldAdmin"}
HOLDING = {"RUNNING", "COMPLETING", "SUSPENDED", "CONFIGURING", "STOPPED", "STAGE_OUT", "SIGNALING"}
"""States in which a job has GPUs."""
MOST_TASKS = 100_000
"""Most tasks of one array."""

_AWAY = re.compile(
    r"DOWN|DRAIN|FAIL|ERROR|UNKNOWN|INVAL|REBOOT|MAINT|POWER(ED|ING)_DOWN|NO_RESP|\*"
)


class Node(NamedTuple):
    """A node with GPUs.

    Attributes
    ----------
    gpus, gpu_type
        Number of GPUs, and their type; empty if unknown.
    used
        Indices of the GPUs that jobs hold.
    cpus, memory_mb
        Processors, and memory in MB (2^20 bytes, as Slurm counts).
    features
        Features for constraints.
    away
        Why it takes no jobs; empty if it does.
    """

    name: str
    gpus: int
    gpu_type: str
    used: frozenset[int]
    cpus: int
    memory_mb: int
    features: frozenset[str]
    away: str


class Reserved(NamedTuple):
    """A reservation of Slurm: whole nodes for a while; None is for ever."""

    name: str
    nodes: tuple[str, ...]
    start: datetime
    end: datetime | None


class SlurmJob(NamedTuple):
    """A job, or one task of an array.

    Attributes
    ----------
    id
        Number in Slurm, such as `12`, or `12_3` for a task of an array.
    record
        All values that Slurm tells.
    held
        Indices of the GPUs that it holds, by node.
    """

    id: str
    record: Record
    held: Mapping[str, tuple[int, ...]]

    @property
    def state(self) -> str:
        """State, such as `PENDING`."""
        return self.record["JobState"]

    @property
    def user(self) -> str:
        """Name of the user."""
        return self.record["UserId"].rpartition("(")[0]

    @property
    def uid(self) -> int | None:
        """Number of the user; None if it is not told."""
        return user_number(self.record["UserId"])

    @property
    def is_held(self) -> bool:
        """Whether it waits for its release."""
        return self.state == "PENDING" and self.record.get("Priority") == "0"

    @property
    def is_marked(self) -> bool:
        """Whether its comment lets rarmodel touch it."""
        return value(self.record, "Comment").split(" ")[0].split("{")[0] == MARK

    @property
    def priority(self) -> int:
        """Slurm's priority; 0 if it is held."""
        return int(self.record.get("Priority", "0"))

    @property
    def wanted_nodes(self) -> list[str]:
        """Nodes that it asks for by name; none if they are not a host list."""
        return _hosts(value(self.record, "ReqNodeList"), "", [])

    def moment(self, key: str) -> datetime | None:
        """A point in time; None if it is unknown."""
        return moment(value(self.record, key))

    def seconds(self, key: str) -> float | None:
        """A length of time in seconds; None if it is unknown or unlimited."""
        return seconds(value(self.record, key))


class Queue(NamedTuple):
    """A cluster with its jobs at one moment.

    Attributes
    ----------
    name, now
        Name of the cluster, and the moment, in UTC.
    slurm_user
        Number of the user who may do anything beside root; None if it is not told.
    parents
        Switch above each node and each switch; None where Slurm knows no switches.
    unreadable
        Jobs that cannot be trusted to be what they say, by id.
    """

    name: str
    now: datetime
    slurm_user: int | None
    nodes: Mapping[str, Node]
    partitions: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, str] | None
    reserved: tuple[Reserved, ...]
    jobs: Mapping[str, SlurmJob]
    unreadable: tuple[str, ...]


def queue_of(outputs: Mapping[str, str]) -> Queue:
    """The queue in Slurm's outputs, by name as in `outputs.COMMANDS`.

    Raises
    ------
    InputError
        With every output that is not what Slurm prints, or if no node has GPUs.
    """
    problems = list[Problem]()
    config = outputs["config"]
    begun = re.match(r"Configuration data as of (\S+)", config)
    now = moment(begun[1]) if begun else None
    if now is None:
        problems.append(Problem("config", "no 'Configuration data as of …' in the first line"))
    nodes = dict(_nodes(outputs["node"], problems))
    if not nodes and not problems:
        problems.append(Problem("node", "no node has GPUs; Gres=gpu:8 or similar is expected"))
    partitions = {}
    for line in lines(outputs["partition"], "PartitionName"):
        inside = set(_hosts(value(line.values, "Nodes"), "partition", problems))
        partitions[line.name] = tuple(name for name in nodes if name in inside)
    parents = _parents(outputs.get("topology", ""), nodes, problems)
    reserved = tuple(_reserved(outputs.get("reservation", ""), problems))
    if problems or now is None:
        raise InputError(problems)
    jobs, unreadable = _jobs(outputs["job"], nodes)
    nodes = {name: _left(node, jobs) for name, node in nodes.items()}
    return Queue(
        name=_setting(config, "ClusterName") or "slurm",
        now=now,
        slurm_user=user_number(_setting(config, "SlurmUser")),
        nodes=nodes,
        partitions=partitions,
        parents=parents,
        reserved=reserved,
        jobs=jobs,
        unreadable=unreadable,
    )


def _left(node: Node, jobs: Mapping[str, SlurmJob]) -> Node:
    """A node with the processors and the memory that jobs without GPUs leave of it."""
    idle = [job for job in jobs.values() if job.state in HOLDING and not job.held]
    inside = [job for job in idle if node.name in expand(value(job.record, "NodeList"))]
    cpus = sum(cpus_per_node(job, nodes_of(job)) for job in inside)
    memory = sum(memory_per_node(job, nodes_of(job)) for job in inside)
    return node._replace(cpus=node.cpus - cpus, memory_mb=node.memory_mb - memory)


def user_number(text: str) -> int | None:
    """The number in a user such as `alice(1000)`."""
    found = re.search(r"\((\d+)\)$", text)
    return int(found[1]) if found else None


def nodes_of(job: SlurmJob) -> int:
    """The number of nodes of a job, the least if it asks for a range."""
    return max(1, whole_number(job.record, "NumNodes"))


def cpus_per_node(job: SlurmJob, nodes: int) -> int:
    """Processors that it takes of each of so many nodes, if they are shared evenly."""
    evenly = -(-whole_number(job.record, "NumCPUs") // nodes)
    return max(evenly, whole_number(job.record, "MinCPUsNode"))


def memory_per_node(job: SlurmJob, nodes: int) -> int:
    """Memory in MB that it takes of each of so many nodes."""
    if text := value(job.record, "MinMemoryCPU"):
        return memory_mb(text) * cpus_per_node(job, nodes)
    return memory_mb(value(job.record, "MinMemoryNode"))


def _setting(config: str, name: str) -> str:
    found = re.search(rf"^{name}\s*= (\S+)", config, re.MULTILINE)
    return found[1] if found else ""


def _hosts(text: str, place: str, problems: list[Problem]) -> list[str]:
    try:
        return expand(text)
    except ValueError as error:
        problems.append(Problem(place, str(error)))
        return []


def _nodes(text: str, problems: list[Problem]) -> Iterator[tuple[str, Node]]:
    for line in lines(text, "NodeName", ("State", "Gres", "CPUTot")):
        record = line.values
        try:
            gpus = gpus_of_gres(value(record, "Gres"), "Gres")
            cpus, memory = int(record.get("CPUTot", "")), int(record.get("RealMemory", "0"))
        except (CellError, ValueError):
            problems.append(Problem(f"node {line.name!r}", "not as scontrol shows a node"))
            continue
        state = record["State"]
        if not sum(gpus.values()) or "FUTURE" in state:
            continue
        away = ""
        if _AWAY.search(state):
            away = f"{state}: {value(record, 'Reason')}".removesuffix(": ")
        kinds = "+".join(kind for kind, number in gpus.items() if kind and number)
        yield (
            line.name,
            Node(
                name=line.name,
                gpus=sum(gpus.values()),
                gpu_type=kinds,
                used=frozenset(indices(record.get("GresUsed", ""))),
                cpus=cpus,
                memory_mb=memory,
                features=frozenset(value(record, "ActiveFeatures").split(",")),
                away=away,
            ),
        )


def _parents(
    text: str, nodes: Mapping[str, Node], problems: list[Problem]
) -> Mapping[str, str] | None:
    """The switch above each node with GPUs and above each switch; None if some node has none.

    Slurm lists at each switch all nodes below it: those of a switch above switches are not its own.
    """
    parents = {}
    for line in lines(text, "SwitchName"):
        switches = value(line.values, "Switches")
        for name in _hosts(switches or value(line.values, "Nodes"), "topology", problems):
            if switches or name in nodes:
                parents[name] = line.name
    return parents if all(name in parents for name in nodes) else None


def _reserved(text: str, problems: list[Problem]) -> Iterator[Reserved]:
    for line in lines(text, "ReservationName", ("StartTime", "Nodes")):
        if (start := moment(value(line.values, "StartTime"))) is None:
            continue
        nodes = _hosts(value(line.values, "Nodes"), "reservation", problems)
        yield Reserved(line.name, tuple(nodes), start, moment(value(line.values, "EndTime")))


def _jobs(text: str, nodes: Mapping[str, Node]) -> tuple[dict[str, SlurmJob], tuple[str, ...]]:
    """Jobs with GPUs or without, by id; and the ids of those that cannot be trusted."""
    jobs, unreadable = dict[str, SlurmJob](), list[str]()
    needed = ("UserId", "JobState", "Partition", "SubmitTime", "NumNodes", "NumCPUs")
    for line in lines(text, "JobId", needed):
        record = line.values
        whole = all(
            re.fullmatch(r"\d+(-\d+)?", record.get(key, "-")) for key in ("NumNodes", "NumCPUs")
        )
        ids = [*_ids(line)] if record and whole and line.name.isdigit() else []
        if not ids:
            unreadable.append(line.name)
        elif record["JobState"] == "PENDING" or record["JobState"] in HOLDING:
            held = _held(line, nodes)
            jobs |= {one: SlurmJob(one, record, held) for one in ids}
    return jobs, tuple(unreadable)


def _ids(line: Line) -> Iterator[str]:
    """The job's own id, or that of each task which an array's record stands for."""
    array, tasks = line.values.get("ArrayJobId", ""), line.values.get("ArrayTaskId", "")
    if not array:
        yield line.name
        return
    if not array.isdigit():
        return
    try:
        numbers = expand(f"[{tasks.partition('%')[0]}]")
    except ValueError:
        return
    if len(numbers) <= MOST_TASKS:
        yield from (f"{array}_{int(number)}" for number in numbers)


def _held(line: Line, nodes: Mapping[str, Node]) -> dict[str, tuple[int, ...]]:
    """GPUs of an allocation: `Nodes=node[1-2] CPU_IDs=0 Mem=0 GRES=gpu:h100:3(IDX:0-2)`."""
    held: dict[str, tuple[int, ...]] = {}
    group: list[str] = []
    for key, text in line.pairs:
        if key == "Nodes":
            group = _hosts(text, "", [])
        elif key == "GRES":
            gpus = tuple(indices(text))
            held |= {name: gpus for name in group if name in nodes and gpus}
    return held
