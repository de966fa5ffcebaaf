"""Read a Slurm cluster: nodes from slurm.conf, switches from topology.conf.

This module expands host lists itself, in a few lines. The licences of ClusterShell (LGPL) and
python-hostlist (GPL) differ from ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
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


def slurm_cluster(slurm_conf: str, topology_conf: str | None, rates: Rates) -> Cluster:
    """A cluster from `slurm.conf` and, if given, `topology.conf`; otherwise a star.

    Nodes without GPUs are left out, and nodes in state FUTURE, which need not exist, and switches
    without remaining nodes. The rate of a switch's uplink is the total rate of the servers below
    it, divided by the oversubscription. Slurm's `LinkSpeed` has no unit, so it is not read.

    Raises
    ------
    InputError
        If a file is unusable, no node has GPUs, or the switches do not form a tree of the nodes.
    """
    gpus = _nodes(slurm_conf)
    if topology_conf is None:
        return cluster_of(gpus, None, rates, slurm_conf)
    return _with_switches(topology_conf, gpus, rates)


def _with_switches(path: str, gpus: Mapping[str, int], rates: Rates) -> Cluster:
    parents: dict[str, str] = {}
    problems = []
    hosts = 0
    for place, settings in _settings(path, "SwitchName", {"blockname"}):
        try:
            names, nodes, switches = (
                expand(settings.get(name, "")) for name in ("switchname", "nodes", "switches")
            )
        except ValueError as error:
            problems.append(Problem(place, str(error)))
            continue
        hosts += len(names) + len(nodes) + len(switches)
        if hosts > MAX_HOSTS:
            raise InputError([*problems, Problem(place, f"more than {MAX_HOSTS} hosts so far")])
        below = [*(node for node in nodes if node in gpus), *switches]
        if len(names) != 1:
            problems.append(Problem(place, f"{len(names)} switches; one is expected"))
            continue
        for node in below:
            if parents.setdefault(node, names[0]) != names[0]:
                message = f"{node!r} is below {parents[node]!r} and {names[0]!r}; a tree has one"
                problems.append(Problem(place, f"{message} uplink for each node"))
    missing = [node for node in gpus if node not in parents]
    if missing and not problems:
        message = f"no switch has nodes {listed(missing)} of slurm.conf; every one needs a switch"
        problems.append(Problem(path, message))
    if problems:
        raise InputError(problems)
    return cluster_of(gpus, parents, rates, path)


def _nodes(path: str) -> dict[str, int]:
    """GPUs of each node with GPUs, in the file's order."""
    gpus: dict[str, int] = {}
    problems = []
    hosts = 0
    default: Mapping[str, str] = {}
    for place, own in _settings(path, "NodeName", set()):
        settings = {**default, **own}
        try:
            if settings["nodename"].upper() == "DEFAULT":
                default = settings
                continue
            count = gpus_of_gres(settings.get("gres", ""), "Gres")
            names = expand(settings["nodename"])
        except (CellError, ValueError) as error:
            message = error.message if isinstance(error, CellError) else str(error)
            problems.append(Problem(place, message))
            continue
        hosts += len(names)
        if hosts > MAX_HOSTS:
            raise InputError([*problems, Problem(place, f"more than {MAX_HOSTS} hosts so far")])
        for name in names:
            if name in gpus:
                problems.append(Problem(place, f"node {name!r} occurs twice; keep one"))
            elif count and settings.get("state", "").upper() != "FUTURE":
                gpus[name] = count
    if not problems and not gpus:
        problems.append(Problem(path, "no node has GPUs; NodeName=… Gres=gpu:8 is expected"))
    if not problems and sum(gpus.values()) > MAX_GPUS:
        message = f"{sum(gpus.values())} GPUs; at most {MAX_GPUS} are supported"
        problems.append(Problem(path, message))
    if problems:
        raise InputError(problems)
    return gpus


def _settings(path: str, leading: str, refused: set[str]) -> list[_Line]:
    """Lines of a configuration that begin with a setting; other lines are skipped."""
    found = []
    for place, line in _lines(path, count(1)):
        pairs = _SETTING.findall(line)
        settings = {name.lower(): value.strip('"') for name, value in pairs}
        first = next(iter(settings), "")
        if first in refused:
            message = f"{pairs[0][0]}: only the tree topology is read, of lines SwitchName=…"
            raise InputError([Problem(place, message)])
        if first == leading.lower():
            found.append(_Line(place, settings))
    if not found:
        raise InputError([Problem("", f"no line {leading}=…; at least one is expected")], path)
    return found


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
