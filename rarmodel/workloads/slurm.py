"""A Slurm cluster as ours: nodes of slurm.conf, switches of topology.conf.

Host lists are expanded here, in a few lines, and not by ClusterShell (LGPL) or python-hostlist
(GPL): our licence is another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rarmodel.errors import InputError, Problem, listed
from rarmodel.files import read_bytes
from rarmodel.schema import Cluster
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import show

from .cells import CellError
from .formats import gpus_of_gres
from .rates import Rates, cluster_of
from .table import decoded

MAX_HOSTS = 1_000_000
"""Most hosts of one expression: beyond it a number is a slip."""


class _Line(NamedTuple):
    """A line of a configuration: where it begins, and its settings by name in lower case."""

    number: int
    settings: Mapping[str, str]


def slurm_cluster(slurm_conf: str, topology_conf: str | None, rates: Rates) -> Cluster:
    """A cluster from `slurm.conf` and, if given, `topology.conf`; without it a star.

    Nodes without GPUs are left out, and so are switches that have none below them. Uplinks of
    switches carry what the servers below them have together, over the oversubscription: Slurm's
    `LinkSpeed` has no unit and is not read.

    Raises
    ------
    InputError
        If a file is unusable, no node has GPUs, or the switches are no tree of the nodes.
    """
    source, gpus = _nodes(slurm_conf)
    if topology_conf is None:
        return cluster_of(gpus, None, rates, source)
    return _with_switches(topology_conf, gpus, rates)


def _with_switches(path: str, gpus: Mapping[str, int], rates: Rates) -> Cluster:
    source, lines = _settings(path, "SwitchName", {"blockname"})
    parents: dict[str, str] = {}
    problems = []
    for number, settings in lines:
        try:
            names = expand(settings["switchname"])
            below = [
                *(node for node in expand(settings.get("nodes", "")) if node in gpus),
                *expand(settings.get("switches", "")),
            ]
        except ValueError as error:
            problems.append(Problem(f"line {number}", str(error)))
            continue
        if len(names) != 1:
            problems.append(Problem(f"line {number}", f"{len(names)} switches; one is expected"))
            continue
        for node in below:
            if parents.setdefault(node, names[0]) != names[0]:
                message = f"{node!r} is below {parents[node]!r} and {names[0]!r}; a tree has one"
                problems.append(Problem(f"line {number}", f"{message} uplink for each node"))
    missing = [node for node in gpus if node not in parents]
    if missing and not problems:
        message = f"no switch has nodes {listed(missing)} of slurm.conf; every one needs a switch"
        problems.append(Problem("", message))
    if problems:
        raise InputError(problems, source)
    return cluster_of(gpus, parents, rates, source)


def _nodes(path: str) -> tuple[str, dict[str, int]]:
    """Name of the file, and GPUs of each node that has any, in its order."""
    source, lines = _settings(path, "NodeName", set())
    gpus: dict[str, int] = {}
    problems = []
    default = ""
    for number, settings in lines:
        gres = settings.get("gres", default)
        try:
            if settings["nodename"].upper() == "DEFAULT":
                default = gres
                continue
            count = gpus_of_gres(gres, "Gres")
            names = expand(settings["nodename"])
        except (CellError, ValueError) as error:
            message = error.message if isinstance(error, CellError) else str(error)
            problems.append(Problem(f"line {number}", message))
            continue
        for name in names:
            if name in gpus:
                problems.append(Problem(f"line {number}", f"node {name!r} occurs twice; keep one"))
            elif count:
                gpus[name] = count
    if not problems and not gpus:
        problems.append(Problem("", "no node has GPUs; NodeName=… Gres=gpu:8 is expected"))
    if not problems and sum(gpus.values()) > MAX_GPUS:
        problems.append(Problem("", f"{sum(gpus.values())} GPUs; at most {MAX_GPUS} are supported"))
    if problems:
        raise InputError(problems, source)
    return source, gpus


def _settings(path: str, leading: str, refused: set[str]) -> tuple[str, list[_Line]]:
    """Lines of a configuration that begin with a setting; other lines are not read."""
    source, raw = read_bytes(path)
    text = decoded(raw, source)
    found = []
    for number, line in _joined(text):
        pairs = re.findall(r'(\w+)\s*=\s*("[^"]*"|\S+)', line)
        settings = {name.lower(): value.strip('"') for name, value in pairs}
        first = next(iter(settings), "")
        if first in refused:
            message = f"{pairs[0][0]}: only the tree topology is read, of lines SwitchName=…"
            raise InputError([Problem(f"line {number}", message)], source)
        if first == leading.lower():
            found.append(_Line(number, settings))
    if not found:
        raise InputError([Problem("", f"no line {leading}=…; at least one is expected")], source)
    return source, found


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments; one that ends in a backslash goes on in the next."""
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
        If it is none, or of more than a million hosts.
    """
    names: list[str] = []
    # Commas within brackets belong to the ranges.
    for part in re.split(r",(?![^\[]*\])", hosts):
        if part.strip():
            names += _expanded(part.strip(), hosts, MAX_HOSTS - len(names))
    return names


def _expanded(part: str, hosts: str, most: int) -> list[str]:
    if not re.fullmatch(r"(?:[^\[\]]+|\[[^\[\]]*\])*", part):
        raise ValueError(f"{show(hosts)}: brackets that do not match")
    names = [""]
    for literal, ranges in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", part):
        choices = [literal] if literal else [*_numbers(ranges, hosts, most)]
        if len(names) * len(choices) > most:
            raise ValueError(f"{show(hosts)}: more than {MAX_HOSTS} hosts")
        names = [name + choice for name in names for choice in choices]
    return names


def _numbers(ranges: str, hosts: str, most: int) -> Iterator[str]:
    for item in ranges.split(","):
        if not (found := re.fullmatch(r"([0-9]{1,18})(?:-([0-9]{1,18}))?", item.strip())):
            raise ValueError(f"{show(hosts)}: {item!r} is no range; [01-16,20] is expected")
        first, last = found[1], found[2] or found[1]
        if int(last) < int(first):
            raise ValueError(f"{show(hosts)}: range {item!r} ends before it begins")
        if int(last) - int(first) >= most:
            raise ValueError(f"{show(hosts)}: more than {MAX_HOSTS} hosts")
        for value in range(int(first), int(last) + 1):
            yield str(value).zfill(len(first))
