"""Services that answer requests, and the variants in which they can run (model, section 16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from rarmodel.errors import InputError, Problem, listed

from .base import Count, Name, NonNegative, NonNegativeInteger, Positive, Record, repeated_names
from .cluster import Cluster, Server
from .gpu_parts import PartOfGpu, holds
from .tenants import Tenant


class Demand(Record):
    """Requests that arrive at a steady rate for a while."""

    model_config = ConfigDict(serialize_by_alias=True)

    start: Annotated[NonNegativeInteger, Field(alias="from")]
    """First slot in which they arrive."""

    end: Annotated[NonNegativeInteger, Field(alias="to")]
    """First slot in which they do not any more."""

    requests_per_second: NonNegative
    """How many arrive in a second."""

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.end <= self.start:
            message = f"{self.end}; it must be above from, {self.start}"
            raise InputError([Problem("to", message)])
        return self


class Batch(Record):
    """How long a replica takes to answer some requests at once, as measured."""

    size: Count
    """Number of requests, b."""

    latency_ms: Positive
    """Time for all of them in milliseconds, l."""


class Variant(Record):
    """One way to run a service: a model, a precision, a kind and number of GPUs."""

    name: Name
    """Name of the variant, unique within its service."""

    gpus: Count = 1
    """GPUs that a replica holds, all of one server, w."""

    slices: Count | None = None
    """Slices of one GPU that a replica takes, q, in place of whole GPUs; others may take the
    rest."""

    memory_gb: NonNegative | None = None
    """Memory that a replica needs of each of its GPUs in GB; by default none."""

    gpu_type: Name | None = None
    """Type of the servers on which it runs; by default it runs alike on all."""

    accuracy: NonNegative | None = None
    """How good its answers are, on a scale that all variants of the service share; required where
    the service has `min_accuracy`."""

    batches: Annotated[tuple[Batch, ...], Field(min_length=1)]
    """The batch sizes that it can run, each with its time."""

    startup_seconds: NonNegative = 0.0
    """Seconds for which a replica holds its GPUs before it is ready."""

    @model_validator(mode="after")
    def _slices_are_of_one_gpu(self) -> Self:
        if self.slices is not None and self.gpus > 1:
            message = f"{self.slices}; a replica takes slices of one GPU, and gpus is {self.gpus}"
            raise InputError([Problem("slices", message)])
        return self

    @field_validator("batches")
    @classmethod
    def _sizes_are_distinct(cls, batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
        first: dict[int, int] = {}
        problems = [
            Problem(f"[{i}].size", f"{one.size}; entry [{first[one.size]}] has this size already")
            for i, one in enumerate(batches)
            if first.setdefault(one.size, i) != i
        ]
        if problems:
            raise InputError(problems)
        return batches


class Service(Record):
    """What answers requests in time, by replicas that hold GPUs."""

    name: Name
    """Unique name of the service."""

    demand: tuple[Demand, ...]
    """When how many requests arrive; none where no entry holds. Entries do not overlap."""

    latency_ms: Positive
    """Time in milliseconds within which each request is to be answered, L."""

    min_accuracy: NonNegative | None = None
    """Least mean accuracy of the answers, y; by default any will do."""

    variants: Annotated[tuple[Variant, ...], Field(min_length=1)]
    """The ways to run it; replicas of several may run at once."""

    servers: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Names of the servers that its replicas may use; by default all."""

    tenant: Name | None = None
    """Whose it is: its GPUs count towards the caps of this tenant and of those above."""

    @property
    def in_order(self) -> tuple[Demand, ...]:
        """The entries of demand, the earliest first."""
        return tuple(sorted(self.demand, key=lambda one: one.start))

    @field_validator("demand")
    @classmethod
    def _entries_do_not_overlap(cls, demand: tuple[Demand, ...]) -> tuple[Demand, ...]:
        problems = []
        for i, k in pairwise(sorted(range(len(demand)), key=lambda i: (demand[i].start, i))):
            if demand[k].start < demand[i].end:
                message = (
                    f"{demand[k].start}; entry [{i}] holds until slot {demand[i].end}, and two "
                    "must not overlap"
                )
                problems.append(Problem(f"[{k}].from", message))
        if problems:
            raise InputError(problems)
        return demand

    @model_validator(mode="after")
    def _variants_are_distinct_and_have_an_accuracy_where_one_is_asked_for(self) -> Self:
        problems = [
            Problem(f"variants[{i}].name", f"{name!r} names two variants; names must be unique")
            for i, name in repeated_names(one.name for one in self.variants)
        ]
        if self.min_accuracy is not None:
            problems += [
                Problem(f"variants[{i}].accuracy", "missing; min_accuracy needs it")
                for i, one in enumerate(self.variants)
                if one.accuracy is None
            ]
        if problems:
            raise InputError(problems)
        return self


def problems_of_services(
    services: Sequence[Service], cluster: Cluster | None, tenants: Sequence[Tenant] | None
) -> Iterator[Problem]:
    """Names that two have, servers and tenants that are not there, variants that fit no server.

    Parameters
    ----------
    services
        Services without faults of their own.
    cluster, tenants
        The rest of the instance; None for what was refused.
    """
    for i, name in repeated_names(one.name for one in services):
        yield Problem(f"[{i}].name", f"{name!r} names two services; names must be unique")
    if cluster is not None:
        by_name = {server.name: server for server in cluster.servers}
        for i, service in enumerate(services):
            yield from _problems_with_servers(f"[{i}]", service, by_name, cluster)
    if tenants is not None:
        known = {tenant.name for tenant in tenants}
        for i, service in enumerate(services):
            if service.tenant is not None and service.tenant not in known:
                yield Problem(f"[{i}].tenant", f"{service.tenant!r}; tenants lists no such name")


def _problems_with_servers(
    place: str, service: Service, by_name: dict[str, Server], cluster: Cluster
) -> Iterator[Problem]:
    absent = [(k, name) for k, name in enumerate(service.servers or ()) if name not in by_name]
    for k, name in absent:
        yield Problem(f"{place}.servers[{k}]", f"{name!r}; the cluster has no such server")
    if absent:
        return
    allowed = [by_name[name] for name in service.servers or by_name]
    for k, variant in enumerate(service.variants):
        if why := _fits_none(variant, allowed, cluster):
            yield Problem(f"{place}.variants[{k}]{why.place}", why.message)


def _fits_none(variant: Variant, allowed: Sequence[Server], cluster: Cluster) -> Problem | None:
    """Why no server that a service may use can hold a replica; None if one can."""
    typed = [one for one in allowed if variant.gpu_type in {None, one.gpu_type}]
    if not typed:
        kinds = sorted({one.gpu_type for one in allowed if one.gpu_type is not None})
        others = f"have {listed(kinds)}" if kinds else "have no gpu_type"
        message = f"{variant.gpu_type!r}; the servers that the service may use {others}"
        return Problem(".gpu_type", message)
    part = PartOfGpu(variant.slices, variant.memory_gb)
    if not any(holds(cluster, one, part) for one in typed):
        divided = max(map(cluster.slices_of, typed))
        if variant.slices is not None and variant.slices > divided:
            message = (
                f"{variant.slices}; the GPUs of the servers that it may use have at most {divided} "
                "(gpu_slices)"
            )
            return Problem(".slices", message)
        message = (
            f"{variant.memory_gb:.15g}; no GPU of the servers that it may use has as much "
            "(gpu_memory_gb)"
        )
        return Problem(".memory_gb", message)
    typed = [one for one in typed if holds(cluster, one, part)]
    most = max(one.gpus for one in typed)
    if variant.gpus > most:
        message = f"{variant.gpus}; the largest server that it may use has {most} GPUs"
        return Problem(".gpus", message)
    return None
