"""Read a Slurm cluster: nodes from slurm.conf, switches from topology.conf.

This module expands host lists itself, in a few lines. The licences of ClusterShell (LGPL) and
python-hostlist (GPL) differ from ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from rarmodel.errors import InputError, Problem
from rarmodel.files import read_bytes
from rarmodel.schema import Cluster
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import show

from .cluster_rates import Rates, cluster_of
from .divided_nodes import divided
from .gres import SHARD
from .licences import licences_in
from .switch_trees import Switch, Topology, Tree, topology_of
from .table_cells import CellError
from .topology_yaml import above_blocks, yaml_switches
from .trace_table import decoded

MAX_HOSTS = 1_000_000
"""Most hosts of a configuration: a greater number is a mistake."""
MAX_FILES, MAX_DEPTH = 1000, 20
"""Most files of a configuration, and deepest nesting of files."""

# What a class of characters has taken it keeps (`++`), so that no text takes more than one pass.
_SETTING = re.compile(r'\b(\w++)\s*+=\s*+("[^"]*"|\S+)')
_HOSTS = re.compile(r"(?:[^\[\]]++|\[[^\[\]]*+\])*")
_PART = re.compile(r"(?:[^\[\],]++|\[[^\[\]]*+\])+")
_PIECE = re.compile(r"([^\[\]]++)|\[([^\[\]]*+)\]")


class _Line(NamedTuple):
    """A line of a configuration: its place, and its settings by name in lower case."""

    place: str
    settings: Mapping[str, str]


class _Node(NamedTuple):
    """A node with GPUs: how many, shards of each, their type (empty if unknown), its features."""

    gpus: int
    shards: int
    gpu_type: str
    features: frozenset[str]


class SlurmCluster(NamedTuple):
    """A Slurm cluster.

    Attributes
    ----------
    cluster
        Its nodes with GPUs.
    partitions
        The servers of each partition.
    trees
        Trees of switches that no switch joins, if there are several: no ring may cross them.
    outside
        Nodes below no switch. Slurm places no job there, so they are left out.
    licences
        How many there are of each licence of the cluster.
    """

    cluster: Cluster
    partitions: Mapping[str, tuple[str, ...]]
    trees: tuple[Tree, ...] = ()
    outside: tuple[str, ...] = ()
    licences: Mapping[str, int] = MappingProxyType({})


def slurm_cluster(slurm_conf: str, topology_conf: str | None, rates: Rates) -> Cluster:
    """The cluster of `read_slurm`."""
    return read_slurm(slurm_conf, topology_conf, rates).cluster


def read_slurm(slurm_conf: str, topology_conf: str | None, rates: Rates) -> SlurmCluster:
    """A cluster from `slurm.conf` and, if given, `topology.conf`; otherwise a star.

    Nodes without GPUs are left out, and nodes in state FUTURE, which need not exist, nodes below no
    switch, and switches without remaining nodes. The rate of a switch's uplink is the total rate of
    the servers below it, divided by the oversubscription. Slurm's `LinkSpeed` has no unit, so it is
    not read. A node with GPUs of several types, such as `gpu:a100:4,gpu:t4:4`, has the type
    `a100+t4`. Shards, where each GPU of a node has as many, are slices.

    Raises
    ------
    InputError
        If a file is unusable, no node has GPUs, or the switches form no trees of nodes.
    """
    lines = [*_lines(slurm_conf, count(1))]
    nodes = _nodes(lines, slurm_conf)
    found, source = Topology(None, (), ()), slurm_conf
    if topology_conf is not None:
        found, source = _topology(topology_conf, nodes), topology_conf
        nodes = {name: node for name, node in nodes.items() if name not in found.outside}
        if not nodes:
            raise InputError([Problem("", "no switch has nodes of slurm.conf")], topology_conf)
    gpus = {name: node.gpus for name, node in nodes.items()}
    types = {name: node.gpu_type for name, node in nodes.items()}
    shards = {name: node.shards for name, node in nodes.items()}
    return SlurmCluster(
        cluster_of(gpus, found.parents, rates, source, types, shards),
        _partitions(lines, nodes),
        found.trees if len(found.trees) > 1 else (),
        found.outside,
        _licences(lines),
    )


def _licences(lines: Iterable[tuple[str, str]]) -> dict[str, int]:
    """The licences of the cluster; the last line counts, as in Slurm."""
    found: dict[str, int] = {}
    for line in _settings(lines, "Licenses"):
        found = licences_in(line.settings["licenses"])
    return found


def _topology(path: str, nodes: Collection[str]) -> Topology:
    """The switches of a `topology.conf` above nodes with GPUs."""
    problems: list[Problem] = []
    found = topology_of(_switches(path, problems), nodes, problems)
    if problems:
        raise InputError(problems)
    return found


def _switches(path: str, problems: list[Problem]) -> list[Switch]:
    """The switches of a `topology.conf` or `topology.yaml`, in its order; blocks are switches."""
    if Path(path).suffix in {".yaml", ".yml"}:
        source, raw = read_bytes(path)
        return yaml_switches(decoded(raw, source), source, expand)
    lines = [*_lines(path, count(1))]
    if blocks := [*_named_switches(lines, "BlockName", problems)]:
        return above_blocks(blocks)
    return [*_named_switches(lines, "SwitchName", problems, required=path)]


def _named_switches(
    lines: Iterable[tuple[str, str]], leading: str, problems: list[Problem], required: str = ""
) -> Iterator[Switch]:
    """The switches, or blocks, of the lines that begin with a setting."""
    hosts = 0
    for place, settings in _settings(lines, leading, required=required):
        try:
            names, nodes, switches = (
                expand(settings.get(name, "")) for name in (leading.lower(), "nodes", "switches")
            )
        except ValueError as error:
            problems.append(Problem(place, str(error)))
            continue
        hosts += len(names) + len(nodes) + len(switches)
        if hosts > MAX_HOSTS:
            raise InputError([*problems, Problem(place, f"more than {MAX_HOSTS} hosts so far")])
        if len(names) == 1:
            yield Switch(place, names[0], nodes, switches)
        else:
            problems.append(Problem(place, f"{len(names)} switches; one is expected"))


def _nodes(lines: Iterable[tuple[str, str]], path: str) -> dict[str, _Node]:
    """Nodes with GPUs, in the file's order."""
    nodes: dict[str, _Node] = {}
    problems = []
    hosts = 0
    for place, settings in _defaulted(_settings(lines, "NodeName", required=path), "nodename"):
        try:
            division = divided(settings.get("gres", ""))
            names = expand(settings["nodename"])
        except (CellError, ValueError) as error:
            message = error.message if isinstance(error, CellError) else str(error)
            problems.append(Problem(place, message))
            continue
        hosts += len(names)
        if hosts > MAX_HOSTS:
            raise InputError([*problems, Problem(place, f"more than {MAX_HOSTS} hosts so far")])
        features = settings.get("features", settings.get("feature", ""))
        # Slices (MIG) are no GPUs: a job of no type might get either.
        gpus = division.gpus if division.part in {"", SHARD} else 0
        kinds = frozenset(features.split(","))
        node = _Node(gpus, division.slices, division.gpu_type, kinds)
        for name in names:
            if name in nodes:
                problems.append(Problem(place, f"node {name!r} occurs twice; keep one"))
            elif node.gpus and settings.get("state", "").upper() != "FUTURE":
                nodes[name] = node
    if not problems and not nodes:
        problems.append(Problem(path, "no node has GPUs; NodeName=… Gres=gpu:8 is expected"))
    if not problems and (total := sum(node.gpus for node in nodes.values())) > MAX_GPUS:
        problems.append(Problem(path, f"{total} GPUs; at most {MAX_GPUS} are supported"))
    if problems:
        raise InputError(problems)
    return nodes


def _partitions(
    lines: Iterable[tuple[str, str]], nodes: Mapping[str, _Node]
) -> dict[str, tuple[str, ...]]:
    """Nodes with GPUs of each partition: named, of a set of nodes, or all."""
    problems = []
    sets: dict[str, set[str]] = {}
    found: dict[str, tuple[str, ...]] = {}
    for place, settings in [
        *_settings(lines, "NodeSet"),
        *_defaulted(_settings(lines, "PartitionName"), "partitionname"),
    ]:
        listed_nodes, feature = settings.get("nodes", ""), settings.get("feature")
        try:
            named = set(nodes if listed_nodes.upper() == "ALL" else expand(listed_nodes))
        except ValueError as error:
            problems.append(Problem(place, str(error)))
            continue
        if feature is not None:
            named |= {name for name, node in nodes.items() if feature in node.features}
        for name in sets.keys() & named:
            named |= sets[name]
        if "nodeset" in settings:
            sets[settings["nodeset"]] = named
        else:
            found[settings["partitionname"]] = tuple(name for name in nodes if name in named)
    if problems:
        raise InputError(problems)
    return found


def _settings(
    lines: Iterable[tuple[str, str]], leading: str, required: str = ""
) -> Iterator[_Line]:
    """Lines of a configuration that begin with a setting; other lines are skipped.

    Parameters
    ----------
    lines, leading
        Places and texts of all lines, and the setting.
    required
        The file, if it must have such a line.
    """
    found = False
    for place, line in lines:
        pairs = _SETTING.findall(line)
        settings = {name.lower(): value.strip('"') for name, value in pairs}
        first = next(iter(settings), "")
        if first == leading.lower():
            found = True
            yield _Line(place, settings)
    if required and not found:
        raise InputError([Problem("", f"no line {leading}=…; at least one is expected")], required)


def _defaulted(lines: Iterable[_Line], leading: str) -> Iterator[_Line]:
    """Lines with the settings of the lines DEFAULT before them."""
    default: Mapping[str, str] = {}
    for place, own in lines:
        settings = {**default, **own}
        if settings[leading].upper() == "DEFAULT":
            default = settings
        else:
            yield _Line(place, settings)


def _lines(
    path: str, numbers: Iterator[int], including: tuple[str, ...] = (), place: str = ""
) -> Iterator[tuple[str, str]]:
    """Place and text of each line; a line `Include FILE` is replaced by the lines of that file.

    Parameters
    ----------
    path
        The file; an included file is looked up from the folder of the including file.
    numbers
        Counts the files.
    including, place
        The chain of including files, and the place of the last `Include`.
    """
    source, raw = read_bytes(path)
    above = (*including, os.path.realpath(path))
    if above[-1] in including:
        raise InputError([Problem(place, f"{Path(path).name} includes itself")])
    if len(above) > MAX_DEPTH:
        message = f"more than {MAX_DEPTH} files, one within the other; put lines together"
        raise InputError([Problem(place, message)])
    if next(numbers) > MAX_FILES:
        message = f"more than {MAX_FILES} files with those that are included"
        raise InputError([Problem(place, message)])
    for number, line in _joined(decoded(raw, source)):
        here = f"{source}: line {number}"
        if found := re.fullmatch(r"\s*include\s+(\S+)", line, re.IGNORECASE):
            included = Path(path).parent / found[1].strip('"')
            yield from _lines(str(included), numbers, above, here)
        else:
            yield here, line


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments; a line that ends in a backslash continues in the next."""
    begun, parts = 1, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        bare = re.sub(r"(?<!\\)#.*", "", line).rstrip()
        if not parts:
            begun = number
        parts.append(bare.removesuffix("\\"))
        if not bare.endswith("\\"):
            yield begun, " ".join(parts)
            parts = []
    if parts:
        yield begun, " ".join(parts)


def expand(hosts: str) -> list[str]:
    """Names of a host list such as `login,node[01-16,20],r[1-2]n[1-4]`.

    Raises
    ------
    ValueError
        If the text is not a host list, or has more than a million hosts.
    """
    if not _HOSTS.fullmatch(hosts):
        raise ValueError(f"{show(hosts)}: brackets that do not match")
    names: list[str] = []
    for part in _PART.findall(hosts):
        if part.strip():
            names += _expanded(part.strip(), hosts, MAX_HOSTS - len(names))
    return names


def _expanded(part: str, hosts: str, most: int) -> list[str]:
    names = [""]
    for literal, ranges in _PIECE.findall(part):
        choices = [literal] if literal else [*_numbers(ranges, hosts, most)]
        if len(names) * len(choices) > most:
            raise ValueError(f"{show(hosts)}: more than {MAX_HOSTS} hosts")
        names = [name + choice for name in names for choice in choices]
    return names


def _numbers(ranges: str, hosts: str, most: int) -> Iterator[str]:
    for item in ranges.split(","):
        if not (found := re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", item.strip())):
            raise ValueError(f"{show(hosts)}: {show(item)} is no range; [01-16,20] is expected")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise ValueError(f"{show(hosts)}: range {item!r} ends before it begins")
        most -= last + 1 - first
        if most < 0:
            raise ValueError(f"{show(hosts)}: more than {MAX_HOSTS} hosts")
        for value in range(first, last + 1):
            yield str(value).zfill(len(found[1]))
