"""Numbers of GPUs in Slurm's texts: generic resources (GRES) and trackable resources (TRES)."""

from __future__ import annotations

import re
from collections import Counter

from rarmodel.schema.problems import show

from .gpu_divisions import MIG
from .table_cells import CellError

SHARD = "shard"
"""Slurm's equal shares of a GPU."""
_SHARES = {SHARD, "mps"}
"""Resources that are parts of GPUs."""


def gpus_of_gres(gres: str, column: str) -> dict[str, int]:
    """Whole GPUs by type in a list of generic resources of Slurm; those of no type under ``.

    Such lists are `gpu:2` and `gpu:v100:2(S:0-1),nvme:1`. Slices of GPUs do not count.

    Raises
    ------
    CellError
        If a number of GPUs is invalid.
    """
    found = _of_gres(gres, "gpu", column)
    return Counter({kind: count for kind, count in found.items() if not MIG.search(kind)})


def slices_of_gres(gres: str, column: str) -> dict[str, int]:
    """Slices of GPUs (MIG) by type in a list of generic resources of Slurm.

    Raises
    ------
    CellError
        If a number is invalid.
    """
    found = _of_gres(gres, "gpu", column)
    return {kind: count for kind, count in found.items() if MIG.search(kind)}


def shards_of_gres(gres: str, column: str) -> dict[str, int]:
    """Shards by type of GPU in a list of generic resources of Slurm; those of no type under ``.

    Raises
    ------
    CellError
        If a number is invalid.
    """
    return _of_gres(gres, SHARD, column)


def _of_gres(gres: str, name: str, column: str) -> dict[str, int]:
    """How many there are of a resource, by type."""
    counts = Counter[str]()
    for part in _parts(gres):
        words = part.split(":")
        if words[0] == name:
            numbered = len(words) > 1 and words[-1][:1].isdigit() and not MIG.search(words[-1])
            kind = "" if len(words) == 1 or (numbered and len(words) == 2) else words[1]
            counts[kind] += _count(words[-1] if numbered else "1", column, part)
    return counts


def gpus_of_tres(tres: str, column: str) -> dict[str, int]:
    """Whole GPUs by type in `billing=8,gres/gpu=2,gres/gpu:a100=2`; those of no type under ``.

    Slurm lists the total beside the types. Slices of GPUs do not count.

    Raises
    ------
    CellError
        If a number of GPUs is invalid.
    """
    counts = {}
    for part in tres.split(","):
        name, _, count = part.partition("=")
        if name.split(":")[0] == "gres/gpu":
            counts[name.partition(":")[2]] = _count(count, column, part)
    typed = sum(count for kind, count in counts.items() if kind)
    rest = counts.get("", typed) - typed
    whole = {kind: count for kind, count in counts.items() if kind and not MIG.search(kind)}
    return whole | ({"": rest} if rest else {})


def has_slices(resources: str) -> bool:
    """Whether a list of GRES has slices of GPUs (MIG)."""
    return any(part.startswith("gpu:") and MIG.search(part[3:]) for part in _parts(resources))


def has_parts(resources: str) -> bool:
    """Whether a list of GRES or TRES has parts of GPUs: slices (MIG), shards, or shares (MPS)."""
    for part in _parts(resources):
        name, _, count = part.removeprefix("gres/").replace("=", ":").partition(":")
        if name in _SHARES and count.rpartition(":")[2] != "0":
            return True
        if name == "gpu" and MIG.search(count):
            return True
    return False


def _parts(resources: str) -> list[str]:
    bare = re.sub(r"\([^()]*\)", "", resources)
    return [part.strip().removeprefix("gres:") for part in bare.split(",")]


def _count(count: str, column: str, part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,8}", count):
        raise CellError(column, f"{show(part)}; a number of GPUs is expected")
    return int(count)
