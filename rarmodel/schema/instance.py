"""A problem instance: time, cluster, contention and jobs (model, sections 3, 4 and 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    ModelWrapValidatorHandler,
    Tag,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from rarmodel import registry
from rarmodel.duration import duration
from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.tabular import MOST_ROWS, frame, html_lines, html_rows

from .base import (
    ONE,
    SEVERAL,
    Name,
    NonNegative,
    Record,
    Version,
    one_or_listed,
    repeated_names,
    with_shared_field_names,
)
from .cluster import Cluster
from .colocation import Colocated, repeated_pairs
from .gpu_parts import problems_with_memory
from .job import Job, sound_jobs
from .network_pressures import problems_with_contention
from .plain_jobs import plain_first
from .problems import with_faults_of, with_problems
from .references import problems_among_jobs, problems_with_cluster
from .resources import Resource, problems_with_resources
from .services import Service, problems_of_services
from .tenants import Tenant, problems_of_tenants
from .time import Time

if TYPE_CHECKING:
    import pandas as pd


class LinearDegradation(Record):
    """Degradation that grows linearly: f(α, k) = max(1, k + α(k−1))."""

    kind: Literal["linear"]
    """Marks the linear factor."""

    alpha: NonNegative
    """Cost of each further ring beyond its share of the link, α."""


class Contention(Record):
    """How rings on a link slow each other down, and the overhead of a server."""

    concurrency: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
    """Share of the rings on a link that communicate at the same moment, ξ1."""

    degradation: LinearDegradation
    """Degradation factor f: the factor by which k concurrent rings divide a link's rate."""

    overhead_ms_per_server: NonNegative
    """Time that each server used adds to an iteration in milliseconds, ξ2."""

    model: Literal["count", "duty"] = "count"
    """By what another ring on a link counts: 1; or its duty, the part of an iteration in which it
    exchanges when alone."""

    latency_ms: NonNegative = 0.0
    """Time that each of the 2(w−1) steps of an exchange takes beside its bits in milliseconds, λ,
    within a server too."""

    overlap: Annotated[float, Field(strict=True, ge=1, le=1000, allow_inf_nan=False)] = 1.0
    """How far exchange and passes overlap, γ: together they take `(c^γ + e^γ)^(1/γ)`, with 1 their
    sum."""

    def given(self) -> dict[str, Any]:
        """The fields that are given, and the model."""
        return {"model": self.model, **self.model_dump(exclude_unset=True)}


class Preemption(Record):
    """Jobs may be interrupted, moved and, if they are moldable, resized."""

    restore_seconds: NonNegative
    """Seconds for which a job holds its GPUs without progress when it goes on."""


def _objectives_exist(value: str | tuple[str, ...], *, by_path: bool) -> str | tuple[str, ...]:
    problems = []
    for i, name in enumerate((value,) if isinstance(value, str) else value):
        place = "" if isinstance(value, str) else f"[{i}]"
        if name in value[:i]:
            problems.append(Problem(place, f"{name!r} is in the list already"))
        try:
            registry.find("objectives", name, by_path=by_path)
        except UsageError as error:
            problems.append(Problem(place, str(error)))
    if problems:
        raise InputError(problems)
    return value


_Names = Annotated[
    Annotated[Name, Tag(ONE)] | Annotated[tuple[Name, ...], Field(min_length=1), Tag(SEVERAL)],
    one_or_listed,
]
Objectives = Annotated[_Names, AfterValidator(partial(_objectives_exist, by_path=True))]
"""Name of an objective, or several names, the most important first."""
_Installed = Annotated[_Names, AfterValidator(partial(_objectives_exist, by_path=False))]
_BESIDE_SERVERS = {("reservations",), ("prices_per_gpu_hour",)}
"""Fields of a cluster whose faults leave its servers as they are."""


class Instance(Record):
    """One problem: place and time these jobs on this cluster.

    Raises
    ------
    pydantic.ValidationError
        If a field is missing, unknown, of the wrong type or out of range, a name is repeated, the
        network is not a tree of the servers, or a job asks for more GPUs than the cluster has.
    """

    schema_version: Version
    """Version of the file format."""

    name: Name
    """Name of the instance; schedules repeat it."""

    description: str | None = None
    """Description of the instance, for readers."""

    time: Time
    """Slots and horizon."""

    cluster: Cluster
    """Servers and network."""

    contention: Contention
    """The contention model's constants."""

    objective: _Installed = "makespan"
    """What is minimised, or several such names, the most important first."""

    preemption: Preemption | None = None
    """Whether jobs may be interrupted; by default they may not."""

    tenants: tuple[Tenant, ...] = ()
    """The tenants that jobs name, and those of which these are parts."""

    resources: tuple[Resource, ...] = ()
    """What jobs use beside GPUs."""

    services: tuple[Service, ...] = ()
    """What answers requests beside the jobs, by replicas that hold GPUs."""

    colocation: tuple[Colocated, ...] = ()
    """How jobs of one kind suffer beside those of another, where it was measured."""

    jobs: Annotated[tuple[Job, ...], Field(min_length=1), WrapValidator(plain_first)]
    """The jobs; their order breaks ties."""

    @property
    def objectives(self) -> tuple[str, ...]:
        """Names of what is minimised, the most important first."""
        return (self.objective,) if isinstance(self.objective, str) else self.objective

    @model_validator(mode="wrap")
    @classmethod
    def _jobs_are_checked_against_servers_beside_other_faults(
        cls, value: Any, validate: ModelWrapValidatorHandler[Self]
    ) -> Self:
        try:
            return validate(value)
        except ValidationError as error:
            faults = [
                at["loc"] for at in error.errors(include_url=False) if at["loc"][0] == "cluster"
            ]
            if not faults or any(loc[1:2] not in _BESIDE_SERVERS for loc in faults):
                raise
            beside = {loc[1] for loc in faults}
            kept = {name: one for name, one in value["cluster"].items() if name not in beside}
            try:
                validate({**value, "cluster": kept})
            except ValidationError as others:
                raise with_faults_of("cluster", error, others) from None
            raise

    @field_validator("tenants")
    @classmethod
    def _tenants_are_a_forest(cls, tenants: tuple[Tenant, ...]) -> tuple[Tenant, ...]:
        if problems := list(problems_of_tenants(tenants)):
            raise InputError(problems)
        return tenants

    @field_validator("resources")
    @classmethod
    def _resources_are_distinct(cls, resources: tuple[Resource, ...]) -> tuple[Resource, ...]:
        problems = [
            Problem(f"[{i}].name", f"{name!r} names two resources; names must be unique")
            for i, name in repeated_names(resource.name for resource in resources)
        ]
        if problems:
            raise InputError(problems)
        return resources

    @field_validator("services")
    @classmethod
    def _services_fit_the_rest(
        cls, services: tuple[Service, ...], info: ValidationInfo
    ) -> tuple[Service, ...]:
        rest = info.data
        if problems := list(
            problems_of_services(services, rest.get("cluster"), rest.get("tenants"))
        ):
            raise InputError(problems)
        return services

    @field_validator("colocation")
    @classmethod
    def _pairs_are_distinct(cls, pairs: tuple[Colocated, ...]) -> tuple[Colocated, ...]:
        if problems := list(repeated_pairs(pairs)):
            raise InputError(problems)
        return pairs

    @field_validator("jobs", mode="wrap")
    @classmethod
    def _jobs_are_distinct_and_fit_the_rest(
        cls, value: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> tuple[Job, ...]:
        try:
            jobs: tuple[Job, ...] = validate(value)
        except ValidationError as error:
            # Jobs without faults of their own are checked against the rest all the same.
            sound, refused = sound_jobs(value)
            places = list(sound)
            problems = [
                Problem(f"[{places[i]}]{place}", message)
                for i, place, message in _problems(list(sound.values()), refused, info.data)
            ]
            raise with_problems(error, problems, value) from None
        problems = [Problem(f"[{i}]{place}", m) for i, place, m in _problems(jobs, (), info.data)]
        if problems:
            raise InputError(problems)
        with_shared_field_names(jobs)
        return jobs

    def to_frame(self) -> pd.DataFrame:
        """The jobs as a pandas data frame, one column per field.

        Raises
        ------
        UsageError
            If pandas is not installed.
        """
        return frame(job.model_dump() for job in self.jobs)

    def lines(self) -> dict[str, str]:
        """The instance as a dictionary of names and formatted values."""
        return {
            "jobs": f"{len(self.jobs):,}",
            **({"services": f"{len(self.services):,}"} if self.services else {}),
            "servers": f"{len(self.cluster.servers):,}",
            "GPUs": f"{self.cluster.total_gpus:,}",
            "network": self.cluster.network.kind,
            "slot": duration(self.time.slot_seconds),
            "horizon": self.time.told(self.time.horizon),
            "objective": ", then ".join(self.objectives),
        }

    def _repr_html_(self) -> str:
        first = self.jobs[:MOST_ROWS]
        given = set[str]().union(*(job.model_fields_set for job in first))
        jobs = [job.model_dump(include=given) for job in first]
        lines = {"description": self.description} if self.description else {}
        return html_lines(self.name, lines | self.lines()) + html_rows("Jobs", jobs, len(self.jobs))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - IPython's
        sizes = ", ".join(f"{name} {value}" for name, value in self.lines().items())
        printer.text(f"Instance {self.name!r}: {sizes}")


def _problems(
    jobs: Sequence[Job], others: Collection[str], rest: Mapping[str, Any]
) -> Iterator[tuple[int, str, str]]:
    """What is wrong among jobs, and between them and the rest: index, place in the job, message.

    Parameters
    ----------
    jobs
        Jobs without faults of their own.
    others
        Names of the other jobs.
    rest
        The fields before `jobs`; those that were refused are missing.
    """
    for i, name in repeated_names(job.name for job in jobs):
        yield i, ".name", f"{name!r} names two jobs; names must be unique"
    found = list(problems_among_jobs(jobs, others))
    if (cluster := rest.get("cluster")) is not None:
        found += problems_with_cluster(jobs, cluster)
    if contention := rest.get("contention"):
        found += problems_with_contention(jobs, contention.model)
    found += problems_with_memory(jobs)
    if "resources" in rest:
        shares = any(job.slices is not None for job in jobs)
        parts = cluster.parts if cluster is not None and shares else 1
        found += problems_with_resources(jobs, rest["resources"], parts)
    for problem in found:
        index, _, place = problem.place.removeprefix("[").partition("]")
        yield int(index), place, problem.message
    if "tenants" in rest:
        listed = {tenant.name for tenant in rest["tenants"]}
        for i, job in enumerate(jobs):
            if job.tenant is not None and job.tenant not in listed:
                yield i, ".tenant", f"{job.tenant!r}; tenants lists no such name"
