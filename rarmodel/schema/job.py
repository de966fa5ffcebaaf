"""A training job: its ring, its work, and what it asks for (model, sections 3 and 9)."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from rarmodel.errors import InputError, Problem

from .base import Count, Integer, Name, NonNegative, NonNegativeInteger, Record


class GpuTimes(Record):
    """Compute times of a job on one type of GPU."""

    forward_ms_per_sample: NonNegative
    """Forward pass of one sample in milliseconds, Δf_j."""

    backward_ms: NonNegative
    """Backward pass of one mini-batch in milliseconds, Δb_j."""


class Spread(Record):
    """Over how many servers a ring may spread, and how evenly."""

    min_servers: Count = 1
    """The fewest servers."""

    max_servers: Count | None = None
    """The most servers; by default as many as the ring has GPUs."""

    equal: bool = Field(default=False, strict=True)
    """Whether the ring has the same number of GPUs on each of its servers."""

    @model_validator(mode="after")
    def _some_number_is_left(self) -> Self:
        if self.max_servers is not None and self.max_servers < self.min_servers:
            message = f"{self.max_servers}; it must be at least min_servers, {self.min_servers}"
            raise InputError([Problem("max_servers", message)])
        return self


class Running(Record):
    """A job that runs already when slot 0 begins."""

    gpus: dict[Name, Annotated[tuple[NonNegativeInteger, ...], Field(min_length=1)]]
    """Indices (from 0) of the GPUs it holds, by server."""

    iterations_done: NonNegativeInteger
    """Training iterations behind it, fewer than `iterations`."""

    @property
    def size(self) -> int:
        """GPUs that it holds."""
        return sum(map(len, self.gpus.values()))


Sizes = Annotated[tuple[Count, ...], Field(min_length=1)]


class Job(Record):
    """A training job: one ring of GPUs, synchronised after each iteration."""

    name: Name
    """Unique name of the job."""

    gpus: Count | Sizes
    """GPUs the job holds from start to completion, all at once: G_j, and its ring size w_j. A list
    of sizes, ascending, leaves the choice to the scheduler: W_j, a moldable job."""

    iterations: Count
    """Training iterations to do, F_j."""

    gradient_mb: NonNegative
    """Size of the gradient in MB (10^6 bytes), m_j."""

    batch_size: Count | None = None
    """Samples in the mini-batch of each GPU, M_j; either this or `global_batch_size`."""

    global_batch_size: Count | None = None
    """Samples of an iteration over the whole ring: M_j is its part of them, rounded up. Required
    where `gpus` is a list."""

    forward_ms_per_sample: NonNegative | None = None
    """Forward pass of one sample in milliseconds, Δf_j, on every type of GPU."""

    backward_ms: NonNegative | None = None
    """Backward pass of one mini-batch in milliseconds, Δb_j, on every type of GPU."""

    times: Annotated[dict[Name, GpuTimes], Field(min_length=1)] | None = None
    """Both times by type of GPU instead: the job runs on servers of these types only, and its ring
    goes at the pace of its slowest worker."""

    release: Integer = 0
    """Slot at which the job is submitted, r_j; below 0 if it was waiting before slot 0. It starts
    no earlier."""

    weight: Count = 1
    """How much the job counts in weighted objectives, v_j."""

    due: Integer | None = None
    """Slot by which it should complete, d_j: what is late counts in objectives, and breaks
    nothing."""

    deadline: Integer | None = None
    """Slot by which it must complete, D_j."""

    tenant: Name | None = None
    """Whose job it is; one of `tenants`."""

    after: tuple[Name, ...] = ()
    """Jobs that must complete before it starts."""

    servers: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    """Servers it may use; by default all."""

    spread: Spread | None = None
    """Over how many servers it may spread, and how evenly."""

    running: Running | None = None
    """Where it runs at slot 0, and what is done by then."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Allowed ring sizes, ascending."""
        return (self.gpus,) if isinstance(self.gpus, int) else self.gpus

    @property
    def size(self) -> int:
        """The ring size of a job that has one.

        Raises
        ------
        TypeError
            If the job is moldable: who asks must be kept from such jobs.
        """
        if isinstance(self.gpus, int):
            return self.gpus
        raise TypeError(f"job {self.name!r} is moldable")

    @property
    def iterations_left(self) -> int:
        """Training iterations to do from slot 0 on."""
        return self.iterations - (self.running.iterations_done if self.running else 0)

    def samples(self, size: int) -> int:
        """Samples in the mini-batch of each GPU of a ring of `size`, M_j."""
        if self.global_batch_size is not None:
            return -(-self.global_batch_size // size)
        return self.batch_size or 0  # One of them is given.

    def milliseconds(self, gpu_type: str | None = None) -> tuple[float, float]:
        """Forward pass of a sample and backward pass of a mini-batch on a type of GPU, in ms."""
        if self.times is not None and gpu_type is not None:
            times = self.times[gpu_type]
            return times.forward_ms_per_sample, times.backward_ms
        return self.forward_ms_per_sample or 0.0, self.backward_ms or 0.0

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        problems = [*self._sizes(), *self._work(), *self._times()]
        if problems:
            raise InputError(problems)
        return self

    def _sizes(self) -> list[Problem]:
        if isinstance(self.gpus, int):
            return []
        return [
            Problem(f"gpus[{i}]", f"{size} after {before}; sizes must ascend")
            for i, (before, size) in enumerate(pairwise(self.gpus), 1)
            if size <= before
        ]

    def _work(self) -> list[Problem]:
        problems = []
        if self.batch_size is not None and self.global_batch_size is not None:
            message = f"{self.batch_size}, beside global_batch_size; only one of them may be given"
            problems.append(Problem("batch_size", message))
        elif not isinstance(self.gpus, int) and self.global_batch_size is None:
            message = "missing; a job with several ring sizes needs it, in place of batch_size"
            problems.append(Problem("global_batch_size", message))
        elif self.batch_size is None and self.global_batch_size is None:
            problems.append(Problem("batch_size", "missing; this field is required"))
        if self.running is not None and self.running.iterations_done >= self.iterations:
            done = self.running.iterations_done
            message = f"{done}; it must be below iterations, {self.iterations}"
            problems.append(Problem("running.iterations_done", message))
        if self.running is not None and self.running.size not in self.sizes:
            sizes = " or ".join(map(str, self.sizes))
            message = f"{self.running.size} GPUs; the job's ring has {sizes}"
            problems.append(Problem("running.gpus", message))
        return problems

    def _times(self) -> list[Problem]:
        plain = {"forward_ms_per_sample": self.forward_ms_per_sample}
        plain["backward_ms"] = self.backward_ms
        if self.times is None:
            return [
                Problem(field, "missing; this field is required, or times")
                for field, value in plain.items()
                if value is None
            ]
        return [
            Problem(field, "beside times; only one of them may be given")
            for field, value in plain.items()
            if value is not None
        ]
