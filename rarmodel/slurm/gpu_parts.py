"""Parts of GPUs in Slurm: shards, and slices (MIG), where each GPU of a node has as many.

Slurm counts each slice as a GPU of its own type, and shards beside the GPUs that they are of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rarmodel.workloads.divided_nodes import Division, divided
from rarmodel.workloads.gpu_divisions import MIG
from rarmodel.workloads.gres import (
    SHARD,
    gpus_of_gres,
    shards_of_gres,
    slices_of_gres,
)

from .records import Record
from .slurm_values import indices, spans, value

_HELD = re.compile(r"((?:gpu|shard):?[^(,]*(?:\(null\)[^(,]*)?)\((?:IDX:([0-9,-]+)|([0-9/,]+))\)")
"""Parts with the indices of their GPUs, or with the parts of each GPU that are in use, and all, as
Slurm 23 and later tell them."""
_ASKED = re.compile(r"gres[:/](gpu|shard|mps)\b")


class HeldPart(NamedTuple):
    """What a job holds of a node's parts of GPUs.

    Attributes
    ----------
    part
        What Slurm calls them.
    number
        How many.
    gpus
        Indices: of the GPUs that shards are of, and of the slices themselves.
    """

    part: str
    number: int
    gpus: tuple[int, ...]


class AskedPart(NamedTuple):
    """What a waiting job asks for on each node: so many parts, of GPUs of a type."""

    part: str
    number: int
    gpu_type: str

    @property
    def told(self) -> str:
        """Their name for people."""
        return f"{self.part}s" if self.part == SHARD else f"slices {self.part}"

    @property
    def counted(self) -> int:
        """As how many GPUs Slurm counts it: a slice is one, a shard is none."""
        return 0 if self.part == SHARD else self.number


def division_of(record: Record) -> Division:
    """How the GPUs of a node are divided.

    Raises
    ------
    CellError
        If its resources are not as Slurm tells them.
    """
    return divided(value(record, "Gres"), {total for _, total in shards_by_gpu(record)})


def shards_by_gpu(record: Record) -> list[tuple[int, int]]:
    """Of each GPU of a node, the shards in use and all; none if Slurm does not tell."""
    told = (by_gpu for *_, by_gpu in _HELD.findall(value(record, "GresUsed")) if by_gpu)
    pairs = (pair.split("/") for pair in next(told, "").split(",") if pair)
    return [(int(used), int(total)) for used, total in pairs]


def shared_gpus(record: Record) -> set[int]:
    """The GPUs of a node of which jobs hold shares."""
    used = value(record, "GresUsed")
    shards = (gpu for one in parts_in(used) if one.part == SHARD for gpu in one.gpus)
    return {*shards, *indices(used, ("mps",))}


def parts_in(gres: str) -> list[HeldPart]:
    """Parts of GPUs in `gpu:1g.5gb:3(IDX:1-3)`, `shard:2(IDX:0)` or `shard:2(2/4,0/4)`."""
    found = []
    for kind, numbers, by_gpu in _HELD.findall(gres):
        words = kind.replace("(null)", "").split(":")
        count = int(words[-1]) if words[-1].isdigit() else 1
        if words[0] == SHARD and by_gpu:
            used = [int(pair.split("/")[0]) for pair in by_gpu.split(",")]
            gpus = tuple(gpu for gpu, number in enumerate(used) if number)
            found.append(HeldPart(SHARD, count, gpus))
        elif words[0] == SHARD or (len(words) > 1 and MIG.search(words[1])):
            part = SHARD if words[0] == SHARD else words[1]
            found.append(HeldPart(part, count, tuple(spans(numbers))))
    return found


def slices_asked(text: str) -> dict[str, int]:
    """Slices by type in a request such as `gres:gpu:1g.5gb:2`.

    Raises
    ------
    CellError
        If it is not as Slurm tells it.
    """
    return slices_of_gres(_plain(text), "GPUs")


def shards_asked(text: str) -> bool:
    """Whether a request is for shards."""
    return re.search(r"gres[:/]shard\b", text) is not None


def _plain(text: str) -> str:
    return _ASKED.sub(r"\1", text).replace("=", ":")


def asked_part(texts: Sequence[str], nodes: str, tasks: int) -> AskedPart | str:
    """What a job asks for on each node, or why that is nothing that the model has.

    Parameters
    ----------
    texts
        What it asks for by node, for the whole job, and by task.
    nodes, tasks
        Its number of nodes as Slurm tells it, and its tasks.

    Raises
    ------
    CellError
        If that is not as Slurm tells it.
    """
    each, whole, task = map(_plain, texts)
    text = ",".join(filter(None, (each, whole, task)))
    found = {
        (part or kind, kind if part else ""): count
        for part, read in (("", slices_of_gres), (SHARD, shards_of_gres))
        for kind, count in read(text, "GPUs").items()
    }
    if len(found) != 1 or gpus_of_gres(text, "GPUs") or "mps" in text:
        return "asks for several kinds of parts of GPUs, or for MPS"
    ((part, kind), count), *_ = found.items()
    if not each and count * (tasks if task else 1) > 1:
        return "asks for parts of GPUs by job or task; --gres says how many a node has"
    least, _, most = nodes.partition("-")
    if most and least != most:
        return "asks for parts of GPUs on a range of nodes"
    return AskedPart(part, count, kind or ("" if part == SHARD else part))
