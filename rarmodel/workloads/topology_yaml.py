"""Slurm's `topology.yaml`, and blocks of nodes as switches.

With `topology/block` nodes are in blocks, within which they are close. The model takes a block as a
switch, with one switch above all: rings may cross blocks, as jobs may.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from rarmodel.errors import InputError, Problem
from rarmodel.yaml_text import parse_yaml

from .switch_trees import Switch

ABOVE_BLOCKS = "all blocks"
"""Name of the switch above blocks."""
_SHAPES = {"tree": ("switches", "switch"), "block": ("blocks", "block")}
"""For each kind of topology, its list, and the key of a name in it."""


def above_blocks(blocks: Sequence[Switch]) -> list[Switch]:
    """Blocks as switches, with one above them all."""
    names = [one.name for one in blocks]
    root = ABOVE_BLOCKS
    while root in names:
        root += "'"
    return [*blocks, Switch(blocks[0].place, root, (), names)] if blocks else []


def yaml_switches(text: str, source: str, expand: Callable[[str], Collection[str]]) -> list[Switch]:
    """The switches of a `topology.yaml`: of its topology that is the cluster's default.

    Parameters
    ----------
    text, source
        The file, and its name.
    expand
        Gives the names of a host list.

    Raises
    ------
    InputError
        If it is not such a file.
    """
    listed = parse_yaml(text, source, "a list of topologies").data
    if (
        not isinstance(listed, list)
        or not all(isinstance(one, dict) for one in listed)
        or not listed
    ):
        raise InputError([Problem("", "a list of topologies is expected, - topology: …")], source)
    chosen = next((one for one in listed if one.get("cluster_default") is True), listed[0])
    kind = next((kind for kind in _SHAPES if kind in chosen), None)
    if kind is None:
        return []  # A flat one.
    found = list(_switches(chosen[kind], kind, source, expand))
    return above_blocks(found) if kind == "block" else found


def _switches(
    content: Any, kind: str, source: str, expand: Callable[[str], Collection[str]]
) -> Iterator[Switch]:
    group, key = _SHAPES[kind]
    several = content.get(group) if isinstance(content, dict) else None
    if not isinstance(several, list):
        raise InputError([Problem(kind, f"a list {group} is expected")], source)
    for i, one in enumerate(several):
        place = f"{source}: {kind}.{group}[{i}]"
        if not isinstance(one, dict) or not isinstance(one.get(key), str):
            raise InputError([Problem(place, f"an entry with {key} is expected")])
        try:
            nodes, below = (expand(str(one.get(name) or "")) for name in ("nodes", "children"))
        except ValueError as error:
            raise InputError([Problem(place, str(error))]) from error
        yield Switch(place, one[key], nodes, below)
