"""The cluster and its queue as Slurm tells them: nodes, partitions, reservations, jobs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.workloads.slurm import expand
from rarmodel.workloads.switch_trees import Switch, Topology, Tree, topology_of
from rarmodel.workloads.topology_yaml import above_blocks, yaml_switches

from .accounts import Association, Qos, associations_of, qos_of
from .held_slices import with_held_slices
from .licences import Licence, licences_of
from .nodes import Node, nodes_in
from .partitions import Partition, preempting
from .preempt_modes import mode_of
from .records import Line, lines
from .slurm_jobs import (
    ENDED,
    HOLDING,
    NEEDED,
    SlurmJob,
    cpus_per_node,
    jobs_of,
    memory_per_node,
    nodes_of,
    number_of,
    user_number,
)
from .slurm_values import moment, value, whole_number

_BLOCK_KEYS = frozenset(("BlockName", "BlockIndex", "Nodes", "BlockSize"))
BELOW_NO_SWITCH = "below no switch, so Slurm places no job there"
"""Why a node is away that Slurm's topology does not have."""


class Reserved(NamedTuple):
    """A reservation of Slurm: whole nodes for a while; None is for ever."""

    name: str
    nodes: tuple[str, ...]
    start: datetime
    end: datetime | None


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
    trees
        Trees of switches that no switch joins, if there are several: no job may cross them.
    preempts
        How Slurm preempts jobs; empty if it does not.
    unreadable
        Ids of jobs that cannot be trusted to be what they say.
    ended
        Jobs that are over, by id, for as long as Slurm tells of them.
    licences
        Licences of the cluster, by name; None if a recording lacks them.
    unequal
        Parts of GPUs that are left out, by node, and why.
    qos, associations
        QOS by name, and associations by account, user and partition, if accounting tells them.
    has_limits
        Whether Slurm enforces their limits.
    preempt_type, preempt_mode
        `PreemptType`, and what Slurm does to jobs that it preempts if nothing else says so.
    """

    name: str
    now: datetime
    slurm_user: int | None
    nodes: Mapping[str, Node]
    partitions: Mapping[str, Partition]
    parents: Mapping[str, str] | None
    trees: tuple[Tree, ...]
    preempts: str
    reserved: tuple[Reserved, ...]
    jobs: Mapping[str, SlurmJob]
    unreadable: frozenset[str]
    ended: Mapping[str, SlurmJob]
    licences: Mapping[str, Licence] | None = None
    unequal: Mapping[str, str] = MappingProxyType({})
    qos: Mapping[str, Qos] = MappingProxyType({})
    associations: Mapping[tuple[str, str, str], Association] = MappingProxyType({})
    has_limits: bool = False
    preempt_type: str = ""
    preempt_mode: str = ""

    def why_lost(self, node: str) -> str:
        """Why a node takes no jobs; empty if it does."""
        return self.nodes[node].away if node in self.nodes else "gone"

    @property
    def outside(self) -> tuple[str, ...]:
        """Nodes below no switch."""
        return tuple(name for name, node in self.nodes.items() if node.away == BELOW_NO_SWITCH)


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
    unequal = dict[str, str]()
    nodes = dict(nodes_in(outputs["node"], unequal, problems))
    if not nodes and not problems:
        problems.append(Problem("node", "no node has GPUs; Gres=gpu:8 or similar is expected"))
    default = _setting(config, "PreemptMode")
    partitions = dict(_partitions(outputs["partition"], nodes, default, problems))
    found = _topology(outputs.get("topology", ""), nodes, problems)
    if "TopoOptional" in _setting(config, "TopologyParam"):  # Then switches bind no job.
        found = found._replace(trees=(), outside=())
    for name in found.outside:
        nodes[name] = nodes[name]._replace(away=nodes[name].away or BELOW_NO_SWITCH)
    reserved = tuple(_reserved(outputs.get("reservation", ""), problems))
    licences = None
    if (told_of_licences := outputs.get("license")) is not None:
        licences = dict(licences_of(told_of_licences, problems))
    if problems or now is None:
        raise InputError(problems)
    name = _setting(config, "ClusterName") or "slurm"
    qos = dict(qos_of(outputs.get("qos", "")))
    enforced = {*_setting(config, "AccountingStorageEnforce").lower().split(",")}
    numbers = outputs.get("squeue")
    known = lines(outputs["job"], "JobId", NEEDED)
    if numbers is not None:
        real = {tuple(row.split()) for row in numbers.splitlines()}
        known = [line if number_of(line) in real else line._replace(values={}) for line in known]
    told = {line.name: [*jobs_of(line, nodes)] for line in known}
    jobs = [*_numbered([job for several in told.values() for job in several], nodes)]
    nodes, jobs = with_held_slices(nodes, jobs)
    live = {job.id: job for job in jobs if job.state not in ENDED}
    return Queue(
        name=name,
        now=now,
        slurm_user=user_number(_setting(config, "SlurmUser")),
        nodes=_without_idle_jobs(nodes, live.values()),
        partitions=partitions,
        parents=found.parents,
        trees=found.trees if len(found.trees) > 1 else (),
        preempts=preempting(_setting(config, "PreemptType"), partitions, qos),
        reserved=reserved,
        jobs=live,
        unreadable=frozenset(name for name, several in told.items() if not several),
        ended={job.id: job for job in jobs if job.state in ENDED},
        licences=licences,
        qos=qos,
        associations=dict(associations_of(outputs.get("assoc", ""), name)),
        has_limits=bool(enforced & {"limits", "safe"}),
        preempt_type=_setting(config, "PreemptType"),
        preempt_mode=mode_of(default),
        unequal=unequal,
    )


def of_partition(queue: Queue, partition: str | None) -> Queue:
    """The nodes of a partition, with the jobs that are in it or run there; None for all.

    Raises
    ------
    UsageError
        If there is no such partition, or it has no GPUs.
    """
    if partition is None:
        return queue
    if partition not in queue.partitions:
        raise UsageError(
            f"no partition {partition!r}; Slurm has {', '.join(queue.partitions) or 'none'}"
        )
    inside = queue.partitions[partition].nodes
    if not inside:
        raise UsageError(f"partition {partition!r} has no nodes with GPUs")
    nodes = {name: queue.nodes[name] for name in inside}
    jobs = {}
    for name, job in queue.jobs.items():
        held = {node: gpus for node, gpus in job.held.items() if node in nodes}
        if held or (partition in job.partitions and not job.held):
            jobs[name] = job._replace(held=held)
    partitions = {
        name: one._replace(nodes=tuple(node for node in one.nodes if node in nodes))
        for name, one in queue.partitions.items()
    }
    inner = [one._replace(nodes=tuple(n for n in one.nodes if n in nodes)) for one in queue.trees]
    trees = tuple(one for one in inner if one.nodes)
    return queue._replace(
        nodes=nodes, jobs=jobs, partitions=partitions, trees=trees if len(trees) > 1 else ()
    )


def _without_idle_jobs(nodes: Mapping[str, Node], jobs: Iterable[SlurmJob]) -> dict[str, Node]:
    """Nodes with the processors and the memory that jobs without GPUs leave of them."""
    left = dict(nodes)
    for job in jobs:
        if job.state in HOLDING and not job.held:
            cpus, memory = cpus_per_node(job, nodes_of(job)), memory_per_node(job, nodes_of(job))
            for name in job.nodes:
                if (node := left.get(name)) is not None:
                    left[name] = node._replace(
                        cpus=node.cpus - cpus, memory_mb=node.memory_mb - memory
                    )
    return left


def _numbered(jobs: Sequence[SlurmJob], nodes: Mapping[str, Node]) -> Iterator[SlurmJob]:
    """The jobs with GPUs numbered from 0 on each node: Slurm counts slices of GPUs among them."""
    held: dict[str, set[int]] = defaultdict(set)
    for job in jobs:
        for name, gpus in job.held.items():
            held[name] |= {*gpus}
    new = {
        name: {gpu: number for number, gpu in enumerate(sorted(gpus))}
        for name, gpus in held.items()
        if nodes[name].is_sliced and not nodes[name].part
    }
    for job in jobs:
        known = {
            name: tuple(new[name][gpu] for gpu in gpus) if name in new else gpus
            for name, gpus in job.held.items()
        }
        yield job._replace(held=known)


def _setting(config: str, name: str) -> str:
    found = re.search(rf"^{name}\s*= (\S+)", config, re.MULTILINE)
    return found[1] if found else ""


def _hosts(text: str, place: str, problems: list[Problem]) -> list[str]:
    try:
        return expand(text)
    except ValueError as error:
        problems.append(Problem(place, str(error)))
        return []


def _partitions(
    text: str, nodes: Mapping[str, Node], default: str, problems: list[Problem]
) -> Iterator[tuple[str, Partition]]:
    for line in lines(text, "PartitionName"):
        inside = {*_hosts(value(line.values, "Nodes"), "partition", problems)}
        yield (
            line.name,
            Partition(
                nodes=tuple(name for name in nodes if name in inside),
                most_nodes=whole_number(line.values, "MaxNodes") or None,
                is_up=line.values.get("State", "UP") in {"UP", "DRAIN"},  # Drained: no new jobs.
                is_exclusive=line.values.get("OverSubscribe") == "EXCLUSIVE",
                tier=whole_number(line.values, "PriorityTier") or 1,
                mode=mode_of(line.values.get("PreemptMode", default)),
                qos=value(line.values, "QoS"),
            ),
        )


def _topology(text: str, nodes: Mapping[str, Node], problems: list[Problem]) -> Topology:
    """The switches of `scontrol show topology` above nodes with GPUs; blocks are switches, too."""
    if re.match(r"(---\s+)?- topology:", text):
        switches = yaml_switches(text, "topology", expand)
    elif blocks := lines(text, "BlockName", keys=_BLOCK_KEYS):
        switches = above_blocks([*_switches(blocks, problems)])
    else:
        switches = [*_switches(lines(text, "SwitchName"), problems)]
    if not switches:
        return Topology(None, (), ())
    return topology_of(switches, nodes, problems, keeps_outside=True)


def _switches(known: Iterable[Line], problems: list[Problem]) -> Iterator[Switch]:
    for line in known:
        nodes, below = (
            _hosts(value(line.values, key), "topology", problems) for key in ("Nodes", "Switches")
        )
        yield Switch(f"topology: switch {line.name!r}", line.name, nodes, below)


def _reserved(text: str, problems: list[Problem]) -> Iterator[Reserved]:
    for line in lines(text, "ReservationName", ("StartTime", "Nodes")):
        if (start := moment(value(line.values, "StartTime"))) is None:
            continue
        nodes = _hosts(value(line.values, "Nodes"), "reservation", problems)
        yield Reserved(line.name, tuple(nodes), start, moment(value(line.values, "EndTime")))
