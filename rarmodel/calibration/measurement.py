"""One measurement: a job in a placement beside others, and its time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from rarmodel.errors import InputError, Problem
from rarmodel.schema.base import Count, Name, NonNegative, Positive, Record

Quantity = Literal["iteration_ms", "completion_s", "relative_time"]
"""Kinds of measured times."""


class Measurement(Record):
    """A measured job; its fields are the columns of a table of measurements.

    Raises
    ------
    pydantic.ValidationError
        If a field is missing, unknown or out of its range, not exactly one time is given, or the
        job has more servers than GPUs.
    """

    job: Name | None = None
    """The job's name. Rows of one job without `compute_ms` share a fitted compute time."""

    gpus: Count
    """Workers in the job's ring, w_j."""

    servers: Count
    """Number of servers that the workers use."""

    concurrent_jobs: Count
    """Number of rings, the job's own included, on its most shared link: p_j of equation (6)."""

    gradient_mb: NonNegative
    """Size of the job's gradient in MB (10^6 bytes), m_j."""

    compute_ms: NonNegative | None = None
    """Forward and backward pass of a mini-batch in milliseconds; fitted if left out."""

    network_gbps: Positive | None = None
    """Rate of the job's most shared link in Gbit/s, b^e; by default the table's."""

    iterations: Count | None = None
    """Iterations done within `completion_s`."""

    run: Name | None = None
    """Name of the run: its rows are all rings that ran at the same time."""

    links: Annotated[str, Field(strict=True)] = ""
    """Names of the links that the ring uses, separated by spaces."""

    part: Literal["fit", "test"] | None = None
    """Whether a comparison of models fits constants to the row, or tests them on it."""

    iteration_ms: Positive | None = None
    """Measured time of an iteration in milliseconds."""

    completion_s: Positive | None = None
    """Measured time of all iterations in seconds, under constant contention."""

    relative_time: Annotated[Positive | None, Field(validate_default=True)] = None
    """Measured time divided by that of the same job in the same placement, alone on its links."""

    @field_validator("servers")
    @classmethod
    def _servers_have_a_worker_each(cls, servers: int, info: ValidationInfo) -> int:
        gpus = info.data.get("gpus", servers)
        if servers > gpus:
            raise InputError([Problem("", f"{servers} servers; {gpus} GPUs are on {gpus} at most")])
        return servers

    @field_validator("completion_s")
    @classmethod
    def _completion_has_iterations(
        cls, completion: float | None, info: ValidationInfo
    ) -> float | None:
        if completion is not None and info.data.get("iterations", 0) is None:
            message = "a time of completion without iterations; their number is expected"
            raise InputError([Problem("", message)])
        return completion

    @field_validator("relative_time")
    @classmethod
    def _one_time(cls, relative: float | None, info: ValidationInfo) -> float | None:
        # A time that was refused is no longer in the data, and was given.
        times = [info.data.get(name, 0.0) for name in ("iteration_ms", "completion_s")]
        given = sum(time is not None for time in (*times, relative))
        if given != 1:
            message = (
                f"{given or 'none'} of iteration_ms, completion_s and relative_time; "
                "exactly one is expected"
            )
            raise InputError([Problem("", message)])
        return relative

    @property
    def quantity(self) -> Quantity:
        """The kind of the measured time."""
        if self.iteration_ms is not None:
            return "iteration_ms"
        return "completion_s" if self.completion_s is not None else "relative_time"

    @property
    def measured(self) -> float:
        """The measured time, in the unit of `quantity`."""
        time: float = getattr(self, self.quantity)
        return time

    @property
    def exchanges(self) -> bool:
        """Whether the job exchanges gradients."""
        return self.gpus > 1 and self.gradient_mb > 0

    @property
    def on_link(self) -> bool:
        """Whether the job exchanges gradients between servers."""
        return self.exchanges and self.servers > 1

    @property
    def links_used(self) -> frozenset[str]:
        """Names of the links over which the job exchanges gradients."""
        return frozenset(self.links.split()) if self.exchanges else frozenset()
