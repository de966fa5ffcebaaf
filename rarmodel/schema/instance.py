"""A problem instance: time, cluster, contention and jobs (model, sections 3 and 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from rarmodel.duration import duration
from rarmodel.errors import InputError, Problem
from rarmodel.tabular import MOST_ROWS, frame, html_lines, html_rows

from .base import Count, Name, NonNegative, Record, Version, repeated_names
from .cluster import Cluster
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


class Job(Record):
    """A training job: one ring of GPUs, synchronised after each iteration."""

    name: Name
    """Unique name of the job."""

    gpus: Count
    """GPUs the job holds from start to completion, all at once: G_j, and its ring size w_j."""

    iterations: Count
    """Training iterations to do, F_j."""

    gradient_mb: NonNegative
    """Size of the gradient in MB (10^6 bytes), m_j."""

    batch_size: Count
    """Samples in the mini-batch of each GPU, M_j."""

    forward_ms_per_sample: NonNegative
    """Forward pass of one sample in milliseconds, Δf_j."""

    backward_ms: NonNegative
    """Backward pass of one mini-batch in milliseconds, Δb_j."""


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

    jobs: Annotated[tuple[Job, ...], Field(min_length=1)]
    """The jobs, all waiting at slot 0; their order breaks ties."""

    @field_validator("jobs")
    @classmethod
    def _jobs_are_distinct_and_fit_the_cluster(
        cls, jobs: tuple[Job, ...], info: ValidationInfo
    ) -> tuple[Job, ...]:
        problems = [
            Problem(f"[{i}].name", f"{name!r} names two jobs; names must be unique")
            for i, name in repeated_names(job.name for job in jobs)
        ]
        if cluster := info.data.get("cluster"):  # None if the cluster was refused.
            total = cluster.total_gpus
            problems += [
                Problem(
                    f"[{i}].gpus",
                    f"job {job.name!r} asks for {job.gpus} GPUs; the cluster has {total}",
                )
                for i, job in enumerate(jobs)
                if job.gpus > total
            ]
        if problems:
            raise InputError(problems)
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
            "servers": f"{len(self.cluster.servers):,}",
            "GPUs": f"{self.cluster.total_gpus:,}",
            "network": self.cluster.network.kind,
            "slot": duration(self.time.slot_seconds),
            "horizon": self.time.told(self.time.horizon),
        }

    def _repr_html_(self) -> str:
        jobs = [job.model_dump() for job in self.jobs[:MOST_ROWS]]
        lines = {"description": self.description} if self.description else {}
        return html_lines(self.name, lines | self.lines()) + html_rows("Jobs", jobs, len(self.jobs))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - IPython's
        sizes = ", ".join(f"{name} {value}" for name, value in self.lines().items())
        printer.text(f"Instance {self.name!r}: {sizes}")
