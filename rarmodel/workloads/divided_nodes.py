"""How the GPUs of Slurm's nodes are divided: into shards, or slices (MIG), as many of each GPU.

Slurm counts each slice as a GPU of its own type, and shards beside the GPUs that they are of.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from rarmodel.schema.cluster import MAX_SLICES

from .gpu_divisions import instances_per_gpu
from .gres import SHARD, gpus_of_gres, shards_of_gres, slices_of_gres


class Division(NamedTuple):
    """How the GPUs of a node are divided.

    Attributes
    ----------
    part
        What Slurm calls a part: `shard`, or the type of a slice; empty if GPUs are whole.
    gpus, slices
        GPUs of the node, and parts of each of them.
    gpu_type
        Their type: that of the slices, where these are what Slurm has; empty if unknown.
    unequal
        Parts that the node has beside these, or that are not equal; empty if there are none.
    """

    part: str
    gpus: int
    slices: int
    gpu_type: str
    unequal: str = ""


def divided(gres: str, shards_of_gpus: Set[int] = frozenset()) -> Division:
    """How the GPUs of a node are divided.

    Parameters
    ----------
    gres
        Its generic resources, such as `gpu:4,shard:16`.
    shards_of_gpus
        The numbers of shards that its GPUs have, if that is told.

    Raises
    ------
    CellError
        If its resources are not as Slurm tells them.
    """
    whole, slices, shards = (
        {kind: count for kind, count in read(gres, "Gres").items() if count}
        for read in (gpus_of_gres, slices_of_gres, shards_of_gres)
    )
    gpus, kinds = sum(whole.values()), "+".join(kind for kind in whole if kind)
    if whole and slices:
        return Division("", gpus, 1, kinds, f"slices {_told(slices)} beside whole GPUs")
    if slices:
        kind, count = next(iter(slices.items()))
        each = instances_per_gpu(kind, count)
        if len(slices) == 1 and each is not None:
            return Division(kind, count // each, each, kind)
        told = "of several profiles" if len(slices) > 1 else "which fill no whole GPUs"
        return Division("", 0, 1, "", f"slices {_told(slices)}, {told}")
    if (count := sum(shards.values())) and gpus:
        each, rest = divmod(count, gpus)
        if rest or len(whole) > 1 or not each <= MAX_SLICES or shards_of_gpus - {each}:
            return Division("", gpus, 1, kinds, f"{count} shards of {gpus} GPUs, not equal")
        return Division(SHARD, gpus, each, kinds)
    return Division("", gpus, 1, kinds)


def _told(slices: dict[str, int]) -> str:
    return ", ".join(f"{kind}:{count}" for kind, count in slices.items())
