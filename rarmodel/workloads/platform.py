"""Where imported jobs run: servers counted, a cluster of a file, or Slurm's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from pydantic import ValidationError

from rarmodel.errors import InputError, UsageError
from rarmodel.files import read_data
from rarmodel.schema import Cluster, Contention
from rarmodel.schema.cluster import MAX_GPUS
from rarmodel.schema.problems import problems_of

from .importer import DEFAULT_CONTENTION
from .rates import Rates, cluster_of
from .slurm import slurm_cluster


class Platform(NamedTuple):
    """A cluster, and how rings slow each other down on it."""

    cluster: Cluster
    contention: Contention


def platform_of(
    *,
    servers: int | None = None,
    gpus_per_server: int | None = None,
    cluster: str | None = None,
    slurm_conf: str | None = None,
    slurm_topology: str | None = None,
    rates: Mapping[str, float] | None = None,
    contention: Mapping[str, float] | None = None,
) -> Platform:
    """The platform that is asked for, in one of three ways.

    Parameters
    ----------
    servers, gpus_per_server
        A star of equal servers.
    cluster
        A JSON file with a cluster, or with an instance, of which cluster and contention count.
    slurm_conf, slurm_topology
        Slurm's `slurm.conf` and, for its switches, `topology.conf`.
    rates
        What differs from `Rates`; not for a file, which has its own.
    contention
        What differs in `alpha`, `concurrency` and `overhead_ms_per_server`.

    Raises
    ------
    UsageError
        If none or several ways are asked for, or a value is out of its range.
    InputError
        If a file is unusable.
    """
    counted = servers is not None or gpus_per_server is not None
    if counted + (cluster is not None) + (slurm_conf is not None) != 1:
        raise UsageError(
            "one cluster is needed: servers and gpus per server, a cluster file, or a slurm.conf"
        )
    if slurm_topology is not None and slurm_conf is None:
        raise UsageError("a topology.conf goes with a slurm.conf, which says who has GPUs")
    if cluster is not None and rates:
        raise UsageError(f"{', '.join(rates)}: the cluster file has its own rates")
    changes = dict(contention or {})
    known = [field.name for field in fields(Rates)]
    if unknown := sorted(set(rates or {}) - set(known)):
        raise UsageError(f"no rate {', '.join(unknown)}; there are {', '.join(known)}")
    own: Mapping[str, Any] = DEFAULT_CONTENTION
    if cluster is not None:
        found, own = _of_file(cluster)
    elif slurm_conf is not None:
        found = slurm_cluster(slurm_conf, slurm_topology, Rates(**(rates or {})))
    else:
        found = _equal(servers, gpus_per_server, Rates(**(rates or {})))
    return Platform(found, _contention(own, changes))


def _equal(servers: int | None, gpus_per_server: int | None, rates: Rates) -> Cluster:
    if servers is None or gpus_per_server is None:
        raise UsageError("servers and gpus per server go together")
    if servers < 1 or gpus_per_server < 1 or servers * gpus_per_server > MAX_GPUS:
        message = f"{servers} servers of {gpus_per_server} GPUs: at least 1 and at most {MAX_GPUS}"
        raise UsageError(f"{message} GPUs in all are supported")
    digits = len(str(servers - 1))
    gpus = {f"node{s:0{digits}d}": gpus_per_server for s in range(servers)}
    return cluster_of(gpus, None, rates)


def _of_file(path: str) -> tuple[Cluster, Mapping[str, Any]]:
    """The cluster of a file, and its contention or the default one."""
    data = read_data(path)
    own = DEFAULT_CONTENTION
    try:
        if "cluster" not in data:
            return Cluster.model_validate(data), own
        if "contention" in data:
            own = Contention.model_validate(data["contention"]).model_dump()
        return Cluster.model_validate(data["cluster"]), own
    except ValidationError as error:
        raise InputError(problems_of(error), path) from error


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
