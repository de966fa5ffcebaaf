"""Read clusters from tables: Alibaba's hosts and nodes, Tiresias' counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rarmodel.errors import InputError, Problem, UsageError, listed
from rarmodel.schema import Cluster
from rarmodel.schema.cluster import MAX_GPUS

from .cluster_rates import Rates, cluster_of
from .table_cells import CellError, Cells, text, whole
from .trace_table import Table, open_table

_LEVELS = ("ASW", "PSW", "DSW")
"""Access, pod and core switch above a host, as Alibaba names them."""

_TYPES = ("gpu_type", "model", "gpu_model")
"""Columns that may have the type of a server's GPUs."""

_ROOT = "core"
"""Name of a root switch that a table does not name."""


class _Node(NamedTuple):
    """A server, its GPUs (None if the table does not say), the switches above it, and its type."""

    name: str
    gpus: int | None
    switches: tuple[str, ...] = ()
    gpu_type: str = ""


class _Form(NamedTuple):
    """A form of tables: its columns, and a function that reads the servers of a row."""

    columns: tuple[str, ...]
    read: Callable[[Cells], Sequence[_Node]]
    has_gpus: bool


def is_table(path: str) -> bool:
    """Whether a file is a table, by its name."""
    return path.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def table_cluster(path: str, gpus_per_server: int | None, rates: Rates) -> Cluster:
    """A cluster from a table in one of the forms of `_FORMS`, recognised by its columns.

    Servers without GPUs are left out. A column `gpu_type`, `model` or `gpu_model` has the type of
    the GPUs. In a Clos network a switch has several switches above it. These count as one, so that
    the parallel uplinks are one link of their total rate (reading 4).

    Parameters
    ----------
    path
        The file.
    gpus_per_server
        GPUs of each server, if the table does not have them.
    rates
        All rates.

    Raises
    ------
    InputError
        If the file is unusable, or in none of the forms.
    UsageError
        If the GPUs of servers are unknown, or given twice.
    """
    with open_table(path, "a table of servers") as table:
        form = _form_of(table)
        if form.has_gpus and gpus_per_server is not None:
            raise UsageError(f"{path} has the GPUs of its servers: leave out GPUs per server")
        if not form.has_gpus and gpus_per_server is None:
            raise UsageError(
                f"{path} does not say the GPUs of its servers: GPUs per server are needed"
            )
        nodes = _nodes(table, form)
    gpus = {node.name: gpus_per_server if node.gpus is None else node.gpus for node in nodes}
    used = {name: count for name, count in gpus.items() if count}
    total = sum(used.values())
    if not 1 <= total <= MAX_GPUS:
        raise InputError([Problem("", f"{total} GPUs; 1 to {MAX_GPUS} are expected")], path)
    types = {node.name: node.gpu_type for node in nodes}
    return cluster_of(used, _parents(nodes), rates, path, types)


def _form_of(table: Table) -> _Form:
    place = f"line {table.line}"
    form = next((form for form in _FORMS if set(form.columns) <= set(table.first)), None)
    if form is None:
        known = ", or ".join(" and ".join(form.columns) for form in _FORMS)
        message = f"columns {listed(table.first)}; {known} are expected"
        raise InputError([Problem(place, message)], table.source)
    for name in {*form.columns, *_LEVELS, *_TYPES}:
        if (times := table.first.count(name)) > 1:
            message = f"column {name!r} is there {times} times; once is expected"
            raise InputError([Problem(place, message)], table.source)
    return form


def _nodes(table: Table, form: _Form) -> list[_Node]:
    """All servers of a table, with unique names."""
    nodes: dict[str, _Node] = {}
    problems = []
    for line, row in table.rows:
        if len(row) != len(table.first):
            message = f"{len(row)} cells; {len(table.first)} are expected, as in the first line"
            problems.append(Problem(f"line {line}", message))
            continue
        try:
            found = form.read(Cells(zip(table.first, row, strict=True)))
        except CellError as error:
            problems.append(Problem(f"line {line}, column {error.column!r}", error.message))
            continue
        for node in found:
            if node.name in nodes:
                problems.append(Problem(f"line {line}", f"{node.name!r} occurs twice; keep one"))
            nodes[node.name] = node
    if not nodes and not problems:
        problems = [Problem("", "no rows below the names of columns; servers are expected")]
    if problems:
        raise InputError(problems, table.source)
    return list(nodes.values())


def _parents(nodes: Sequence[_Node]) -> Mapping[str, str] | None:
    """The switch above each server and switch; None if there are no switches.

    A level is left out if one of its nodes is below several switches; the next level is then tried.
    Nodes without a switch above them are placed below one root.
    """
    parents: dict[str, str] = {}
    tops = [node.name for node in nodes]
    if not any(node.switches for node in nodes):
        return None
    for level in zip(*(node.switches for node in nodes), strict=True):
        above: dict[str, str] = {}
        if all(above.setdefault(node, s) == s for node, s in zip(tops, level, strict=True)):
            parents |= above
            tops = list(level)
    if len(set(tops)) > 1:
        parents |= dict.fromkeys(tops, _ROOT)
    return parents


def _cell(cells: Cells, column: str) -> str:
    if not (value := text(cells, column)):
        raise CellError(column, "empty; a name is expected")
    return value


def _count(cells: Cells, column: str) -> int:
    if (value := whole(cells, column, MAX_GPUS)) is None:
        raise CellError(column, "empty; a whole number is expected")
    return value


def _type(cells: Cells) -> str:
    return next(filter(None, (text(cells, column) for column in _TYPES)), "")


def _host(cells: Cells) -> Sequence[_Node]:
    # The level is part of the name: a table may number the switches of each from 1.
    switches = tuple(f"{level} {_cell(cells, level)}" for level in _LEVELS if level in cells)
    return [_Node(_cell(cells, "ip"), None, switches, _type(cells))]


def _server(cells: Cells) -> Sequence[_Node]:
    return [_Node(_cell(cells, "sn"), _count(cells, "gpu"), gpu_type=_type(cells))]


def _spot_node(cells: Cells) -> Sequence[_Node]:
    name, gpus = _cell(cells, "node_name"), _count(cells, "gpu_capacity_num")
    return [_Node(name, gpus, gpu_type=_type(cells))]


def _equal(cells: Cells) -> Sequence[_Node]:
    switches, each = _count(cells, "num_switch"), _count(cells, "num_node_p_switch")
    gpus = _count(cells, "num_gpu_p_node")
    if switches * each * gpus > MAX_GPUS:
        message = f"{switches} × {each} × {gpus} GPUs; at most {MAX_GPUS} are supported"
        raise CellError("num_switch", message)
    digits = len(str(switches * each - 1))
    return [
        _Node(f"node{s:0{digits}d}", gpus, (f"switch{s // each}",) if switches > 1 else ())
        for s in range(switches * each)
    ]


_FORMS = (
    _Form(("ip", "ASW"), _host, has_gpus=False),
    _Form(("sn", "gpu"), _server, has_gpus=True),
    _Form(("num_switch", "num_node_p_switch", "num_gpu_p_node"), _equal, has_gpus=True),
    _Form(("node_name", "gpu_capacity_num"), _spot_node, has_gpus=True),
)
"""Alibaba's Lingjun and OpenB; Tiresias, Muri and ElasticFlow; Alibaba's spot nodes."""
