"""Where a row's job may run: the types of GPU and the partition that the row names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rarmodel.errors import listed
from rarmodel.schema import Cluster

from .model_profiles import is_type
from .trace_format import PART


class Place(NamedTuple):
    """Where a job may run.

    Attributes
    ----------
    gpus
        GPUs of these servers.
    kinds
        Types of these GPUs, as far as they are known.
    types
        Types of GPU for the job's `times`; None if any will do.
    servers
        Names of servers for the job's list; None if any will do.
    gpu_slices
        Slices of each GPU of the server whose GPUs have fewest.
    lacking
        Why there is no such server; empty if there is one.
    notes
        What the row names that is not kept.
    """

    gpus: int
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] | None = None
    servers: tuple[str, ...] | None = None
    lacking: str = ""
    notes: tuple[str, ...] = ()
    gpu_slices: int = 1


class Site:
    """A cluster with partitions.

    Attributes
    ----------
    types
        Types of its GPUs.
    typed
        Whether every server has a type.
    gpus
        All GPUs of the cluster.
    gpu_slices
        Slices into which each GPU of the cluster is divided; 1 also where servers differ.
    """

    def __init__(self, cluster: Cluster, partitions: Mapping[str, Sequence[str]]) -> None:
        self.cluster = cluster
        self.gpus = cluster.total_gpus
        slices = {*map(cluster.slices_of, cluster.servers)}
        self.gpu_slices = slices.pop() if len(slices) == 1 else 1
        self.partitions = partitions
        kinds = dict.fromkeys(server.gpu_type for server in cluster.servers)
        self.types = tuple(kind for kind in kinds if kind is not None)
        self.typed = None not in kinds
        self._known: dict[tuple[tuple[str, ...], str, int], Place] = {}

    def place(self, gpu_types: tuple[str, ...], partition: str, shards: int = 0) -> Place:
        """Where a job may run that is bound to any of these types and to a partition.

        And to servers whose GPUs have so many shards, if it holds some.
        """
        key = gpu_types, partition, shards
        if key not in self._known:
            self._known[key] = self._place(*key)
        return self._known[key]

    def _place(self, gpu_types: tuple[str, ...], partition: str, shards: int) -> Place:
        notes = []
        types = servers = None
        allowed = self.cluster.servers
        if gpu_types and not self.types:
            notes.append("bound to a type of GPU, which is not kept: the cluster's have none")
        elif gpu_types:
            kinds = {k for k in self.types if any(is_type(k, name) for name in gpu_types)}
            if not kinds:
                there = "the cluster has " + listed(self.types)
                return Place(0, lacking=f"no server has GPUs of type {_either(gpu_types)}; {there}")
            allowed = tuple(server for server in allowed if server.gpu_type in kinds)
            if self.typed and len(kinds) < len(self.types):
                types = tuple(kind for kind in self.types if kind in kinds)
        names = [name for name in partition.split(",") if name in self.partitions]
        if partition and self.partitions and not names:
            notes.append("of a partition that slurm.conf does not have; it may use any server")
        elif names:
            within = {server for name in names for server in self.partitions[name]}
            allowed = tuple(server for server in allowed if server.name in within)
        if shards:
            slices_of = self.cluster.slices_of
            allowed = tuple(one for one in allowed if slices_of(one) >= max(2, shards))
            if not allowed:
                return Place(0, lacking=PART)
        if not allowed:
            of_type = f" of type {_either(gpu_types)}" if gpu_types and self.types else ""
            return Place(0, lacking=f"partition {partition!r} has no GPUs{of_type}")
        # A list says nothing where the types, or nothing at all, leaves the same servers.
        left = [s for s in self.cluster.servers if types is None or s.gpu_type in types]
        if len(allowed) < len(left):
            servers = tuple(server.name for server in allowed)
        kinds_there = dict.fromkeys(server.gpu_type for server in allowed)
        return Place(
            gpus=sum(server.gpus for server in allowed),
            gpu_slices=min(map(self.cluster.slices_of, allowed)),
            kinds=tuple(kind for kind in kinds_there if kind is not None),
            types=types,
            servers=servers,
            notes=tuple(notes),
        )


def _either(names: Sequence[str]) -> str:
    return " or ".join(map(repr, names))
