"""The cluster of an import: given by counts, by a file, or by Slurm's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from pydantic import ValidationError

from rarmodel import registry
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import read_data
from rarmodel.schema import Cluster, Contention, StarNetwork
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import problems_of

from .cluster_rates import Rates, cluster_of
from .importer import DEFAULT_CONTENTION
from .nodes import is_table, table_cluster
from .slurm import SlurmCluster, read_slurm
from .switch_trees import Tree


class Platform(NamedTuple):
    """A cluster, and how rings slow each other down on it.

    Attributes
    ----------
    cluster, contention
        The cluster, and how rings slow each other down.
    partitions
        The servers of its partitions.
    trees, outside
        Trees of switches that no switch joins, and nodes that were left out: see `SlurmCluster`.
    licences
        How many there are of each licence that `slurm.conf` lists.
    """

    cluster: Cluster
    contention: Contention
    partitions: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    trees: tuple[Tree, ...] = ()
    outside: tuple[str, ...] = ()
    licences: Mapping[str, int] = MappingProxyType({})


class _File(NamedTuple):
    """The content of a cluster file: the whole cluster or only rates; and contention."""

    cluster: Cluster | None
    rates: Mapping[str, float]
    contention: Mapping[str, Any]


def platform_of(
    *,
    servers: int | None = None,
    gpus_per_server: int | None = None,
    gpu_slices: int | None = None,
    cluster: str | None = None,
    slurm_conf: str | None = None,
    slurm_topology: str | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
) -> Platform:
    """The requested platform: servers from one source, rates and contention.

    Parameters
    ----------
    servers, gpus_per_server
        A star of equal servers.
    gpu_slices
        Equal slices into which each GPU is divided, wherever the servers come from; not for a
        cluster that says so itself.
    cluster
        A JSON file with a cluster, or with an instance, whose cluster and contention are used.
        Combine a file without servers, as `calibrate` writes it, with another source of servers. Or
        a table for `table_cluster`.
    slurm_conf, slurm_topology
        Slurm's `slurm.conf` and, for its switches, `topology.conf`.
    rates
        Rates that differ from `Rates` or from the file; not for a file with servers and rates.
    contention
        Values of `alpha`, `concurrency`, `overhead_ms_per_server`, `latency_ms` and `overlap` that
        differ.

    Raises
    ------
    UsageError
        If you give no source or several, or a value is out of its range.
    InputError
        If a file is unusable.
    """
    given = dict(rates or {})
    known = [field.name for field in fields(Rates)]
    if unknown := sorted(given.keys() - set(known)):
        raise UsageError(registry.unknown("rate", unknown, known))
    if slurm_topology is not None and slurm_conf is None:
        raise UsageError("a topology.conf needs a slurm.conf, which says which nodes have GPUs")
    table = cluster is not None and is_table(cluster)
    file = _File(None, {}, DEFAULT_CONTENTION)
    if cluster is not None and not table:
        file = _of_file(cluster)
    counted = servers is not None or (gpus_per_server is not None and not table)
    sources = counted + table + (file.cluster is not None) + (slurm_conf is not None)
    if sources != 1:
        lack = f"{cluster} has no servers: " if cluster is not None and sources == 0 else ""
        raise UsageError(
            f"{lack}one source of servers is needed: servers and gpus per server, a cluster file "
            "that has them, or a slurm.conf"
        )
    if file.cluster is not None and given:
        raise UsageError(f"{', '.join(given)}: the cluster file has its own rates")
    used = Rates(**{**file.rates, **given})
    if slurm_conf is not None:
        slurm = read_slurm(slurm_conf, slurm_topology, used)
    elif cluster is not None and table:
        slurm = SlurmCluster(table_cluster(cluster, gpus_per_server, used), {})
    else:
        slurm = SlurmCluster(file.cluster or _equal(servers, gpus_per_server, used), {})
    merged = _contention(file.contention, dict(contention or {}))
    divided = slurm.cluster if gpu_slices is None else _divided(slurm.cluster, gpu_slices)
    return Platform(divided, merged, slurm.partitions, slurm.trees, slurm.outside, slurm.licences)


def _equal(servers: int | None, gpus_per_server: int | None, rates: Rates) -> Cluster:
    if servers is None or gpus_per_server is None:
        raise UsageError("give both servers and gpus per server")
    if servers < 1 or gpus_per_server < 1 or servers * gpus_per_server > MAX_GPUS:
        message = f"{servers} servers of {gpus_per_server} GPUs: at least 1 and at most {MAX_GPUS}"
        raise UsageError(f"{message} GPUs in all are supported")
    digits = len(str(servers - 1))
    gpus = {f"node{s:0{digits}d}": gpus_per_server for s in range(servers)}
    return cluster_of(gpus, None, rates)


def _divided(cluster: Cluster, gpu_slices: int) -> Cluster:
    """The same, with each GPU divided into equal slices."""
    if any(cluster.slices_of(server) > 1 for server in cluster.servers):
        raise UsageError("gpu slices: the cluster says itself how its GPUs are divided")
    try:
        given = cluster.model_dump(exclude_unset=True)
        return Cluster.model_validate({**given, "gpu_slices": gpu_slices})
    except ValidationError as error:
        told = "; ".join(f"{place}: {message}" for place, message in problems_of(error))
        raise UsageError(told) from error


def _of_file(path: str) -> _File:
    """What a JSON file says: a cluster, an instance, or the sections of one."""
    data = read_data(path)
    sections = data if {"cluster", "contention"} & data.keys() else {"cluster": data}
    cluster = sections.get("cluster", {})
    whole = not isinstance(cluster, dict) or "servers" in cluster
    # A server that stands for those to come lets the schema check the rest.
    rest = {} if whole else cluster_of({"server": 1}, None, Rates()).model_dump()
    problems: list[Problem] = []
    checked: dict[str, Any] = {}
    for name, schema, value in (
        ("cluster", Cluster, {**rest, **cluster} if rest else cluster),
        ("contention", Contention, sections.get("contention", DEFAULT_CONTENTION)),
    ):
        prefix = f"{name}." if name in data else ""
        try:
            checked[name] = schema.model_validate(value)
        except ValidationError as error:
            problems += [Problem(f"{prefix}{place}", what) for place, what in problems_of(error)]
    if problems:
        raise InputError(problems, path)
    found, contention = checked["cluster"], checked["contention"].given()
    if whole:
        return _File(found, {}, contention)
    rates = {name: getattr(found, name) for name in cluster if name != "network"}
    if "network" in cluster and isinstance(found.network, StarNetwork):
        rates["network_gbps"] = found.network.gbps
    return _File(None, rates, contention)


def _contention(own: Mapping[str, Any], changes: dict[str, float]) -> Contention:
    alpha = changes.pop("alpha", None)
    merged = {**own, **changes}
    if alpha is not None:
        merged["degradation"] = {"kind": "linear", "alpha": float(alpha)}
    try:
        return Contention.model_validate(merged)
    except ValidationError as error:
        told = "; ".join(f"{place}: {message}" for place, message in problems_of(error))
        raise UsageError(told) from error


def rates_of(
    cluster: str | None, rates: Mapping[str, float] | None, contention: Mapping[str, float] | None
) -> tuple[Rates, Contention]:
    """Rates and contention for servers that come from elsewhere, as from a live queue.

    Parameters
    ----------
    cluster
        A file with rates and contention but without servers, as `calibrate` writes it.
    rates, contention
        Values that differ from the file, or from the defaults of `Rates` and of `import`.
    """
    given = dict(rates or {})
    # A server that stands for all: only rates and contention are used.
    made = platform_of(
        servers=1, gpus_per_server=1, cluster=cluster, rates=given, contention=contention
    )
    network = cast("StarNetwork", made.cluster.network)
    found = Rates(
        network.gbps,
        made.cluster.intra_server_gbps,
        made.cluster.reduction_gbps,
        given.get("oversubscription", 1.0),
    )
    return found, made.contention
