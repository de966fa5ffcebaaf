"""A training job: its ring, its work, and what it asks for (model, sections 3 and 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Annotated, Any, Self

from pydantic import (
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    Tag,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticKnownError

from rarmodel.errors import FEW, InputError, Problem

from .base import (
    ONE,
    SEVERAL,
    Count,
    Factor,
    Integer,
    Name,
    NonNegative,
    NonNegativeInteger,
    Record,
    SharingFactor,
    one_or_listed,
)
from .plain_jobs import learn_plain_jobs


class GpuTimes(Record):
    """Compute times of a job on one type of GPU."""

    forward_ms_per_sample: NonNegative
    """Forward pass of one sample in milliseconds, Δf_j."""

    backward_ms: NonNegative
    """Backward pass of one mini-batch in milliseconds, Δb_j."""


class Spread(Record):
    """Over how many servers a ring may spread, how evenly, and how far apart they may be."""

    min_servers: Count = 1
    """The fewest servers."""

    max_servers: Count | None = None
    """The most servers; by default as many as the ring has GPUs."""

    equal: bool = Field(default=False, strict=True)
    """Whether the ring has the same number of GPUs on each of its servers."""

    within: Name | None = None
    """A level of links, such as `rack`: all servers of the ring lie at or below one node of it."""

    @property
    def limits(self) -> bool:
        """Whether it asks for anything but a part of the network."""
        return self.min_servers > 1 or self.max_servers is not None or self.equal

    def kept(self, workers: Iterable[int]) -> bool:
        """Whether a ring with so many workers on its servers is spread as asked for."""
        held = tuple(workers)
        most = self.max_servers or len(held)
        alike = not self.equal or len(set(held)) == 1
        return self.min_servers <= len(held) <= most and alike

    def told(self) -> str:
        """The demand in words, such as `2 to 4 servers with the same number of GPUs on each`."""
        least, most = self.min_servers, self.max_servers
        number = str(least) if least == most else f"{least} to {most}"
        if most is None:
            number = "any number of" if least == 1 else f"at least {least}"
        servers = "server" if most == 1 else "servers"
        alike = " with the same number of GPUs on each" if self.equal else ""
        within = f" within one {self.within}" if self.within else ""
        return f"{number} {servers}{alike}{within}"

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

    def told(self) -> str:
        """Where it runs in words, such as `'s0' (2 GPUs) and 's1' (1 GPU)`."""
        each = [f"{name!r} ({len(g)} GPU{'s' * (len(g) > 1)})" for name, g in self.gpus.items()]
        few = each if len(each) <= FEW + 1 else [*each[:FEW], f"{len(each) - FEW} servers more"]
        return " and ".join(filter(None, (", ".join(few[:-1]), few[-1])))

    def goes_on(self, start: int, gpus: Mapping[str, Collection[int]]) -> bool:
        """Whether GPUs held from a slot on are those that it holds, from slot 0 on."""
        if start != 0:
            return False
        held = {name: sorted(some) for name, some in gpus.items() if some}
        return held == {name: sorted(some) for name, some in self.gpus.items()}


Sizes = Annotated[
    Annotated[Count, Tag(ONE)] | Annotated[tuple[Count, ...], Field(min_length=1), Tag(SEVERAL)],
    one_or_listed,
]


def _has(*fields: str) -> dict[str, Any]:
    """JSON Schema: these fields are there, and are not null."""
    there = {field: {"not": {"type": "null"}} for field in fields}
    return {"required": list(fields), "properties": there}


def _one_of_each(schema: dict[str, Any]) -> None:
    """State in a job's JSON Schema which fields stand in for which."""
    plain = ("forward_ms_per_sample", "backward_ms")
    neither = {"not": {"anyOf": [_has(field) for field in plain]}}
    schema["allOf"] = [
        {"oneOf": [_has("batch_size"), _has("global_batch_size")]},
        {"oneOf": [{"allOf": [_has("times"), neither]}, {**_has(*plain), "not": _has("times")}]},
        {
            "if": {"properties": {"gpus": {"type": "array"}}},
            "then": _has("global_batch_size"),
        },
    ]


class Job(Record):
    """A training job: one ring of GPUs, synchronised after each iteration."""

    model_config = ConfigDict(json_schema_extra=_one_of_each)

    name: Name
    """Unique name of the job."""

    gpus: Sizes
    """GPUs the job holds from start to completion, all at once: G_j, and its ring size w_j. A list
    of sizes, ascending, leaves the choice to the scheduler: W_j, a moldable job."""

    iterations: Count
    """Training iterations to do, F_j."""

    gradient_mb: NonNegative
    """Size of the gradient in MB (10^6 bytes), m_j."""

    global_batch_size: Annotated[Count | None, Field(validate_default=True)] = None
    """Samples of an iteration over the whole ring: M_j is its part of them, rounded up. Either
    this or `batch_size`; required where `gpus` is a list."""

    batch_size: Annotated[Count | None, Field(validate_default=True)] = None
    """Samples in the mini-batch of each GPU, M_j."""

    times: Annotated[dict[Name, GpuTimes], Field(min_length=1)] | None = None
    """Compute times by type of GPU, in place of the next two fields: the job runs on servers of
    these types only, and its ring goes at the pace of its slowest worker."""

    forward_ms_per_sample: Annotated[NonNegative | None, Field(validate_default=True)] = None
    """Forward pass of one sample in milliseconds, Δf_j, on every type of GPU."""

    backward_ms: Annotated[NonNegative | None, Field(validate_default=True)] = None
    """Backward pass of one mini-batch in milliseconds, Δb_j, on every type of GPU."""

    network_pressure: Factor | None = None
    """How much its ring slows others down on links that they share, b'_j, with
    `contention.model: "duty"`; by default its duty."""

    network_sensitivity: Factor | None = None
    """How much others slow its ring down there, a'_j; by default 1."""

    slices: Count | None = None
    """Slices that each worker takes of its own GPU, q_j, so that others may share this GPU; by
    default the whole GPU."""

    memory_gb: NonNegative | None = None
    """Memory that each worker needs of its GPU in GB; by default none."""

    sensitivity: SharingFactor = 1.0
    """How much others on its GPUs slow its passes down, σ_j."""

    pressure: SharingFactor = 1.0
    """How much it slows down the passes of others on its GPUs, π_j."""

    kind: Name | None = None
    """What kind of job it is, as `colocation` names it."""

    release: Integer = 0
    """Slot at which the job is submitted, r_j; below 0 if it was waiting before slot 0. It starts
    no earlier."""

    weight: Count = 1
    """How much the job counts in weighted objectives, v_j."""

    priority: Integer = 0
    """How urgent the job is to policies that go by it: greater ones come first. Offline nothing
    rests on it."""

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
    """Over how many servers it may spread, how evenly, and within what part of the network."""

    resources: dict[Name, NonNegative] | None = None
    """What it uses as a whole while it holds GPUs, by name of one of `resources`."""

    resources_per_gpu: dict[Name, NonNegative] | None = None
    """What each of its workers uses beside that."""

    running: Running | None = None
    """Where it runs at slot 0, and what is done by then."""

    preemptible: bool = Field(default=True, strict=True)
    """Whether it may be interrupted, where the instance has `preemption`. Otherwise it has one
    segment, and if it runs at slot 0, it goes on there."""

    checkpoint_iterations: Count | None = 1
    """Iterations between two checkpoints: an interruption loses what was done since the last one.
    Null: there are none, and an interruption loses all that was done."""

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
        if len(self.sizes) == 1:
            return self.sizes[0]
        raise TypeError(f"job {self.name!r} is moldable")

    @property
    def iterations_left(self) -> int:
        """Training iterations to do from slot 0 on."""
        running = self.running
        return self.iterations if running is None else self.iterations - running.iterations_done

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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """How a job is validated; plain jobs get a faster way as well."""
        schema = handler(source)
        if not cls.__pydantic_complete__:
            learn_plain_jobs(schema)
        return schema

    @field_validator("gpus")
    @classmethod
    def _sizes_ascend(cls, gpus: int | tuple[int, ...]) -> int | tuple[int, ...]:
        pairs = enumerate(pairwise(() if isinstance(gpus, int) else gpus), 1)
        problems = [
            Problem(f"[{i}]", f"{size} after {before}; sizes must ascend")
            for i, (before, size) in pairs
            if size <= before
        ]
        if problems:
            raise InputError(problems)
        return gpus

    @field_validator("global_batch_size")
    @classmethod
    def _sizes_share_a_batch(cls, value: int | None, info: ValidationInfo) -> int | None:
        if value is None and isinstance(info.data.get("gpus"), tuple):
            message = "missing; a job with a list of ring sizes needs it, in place of batch_size"
            raise InputError([Problem("", message)])
        return value

    @field_validator("batch_size")
    @classmethod
    def _one_batch_is_given(cls, value: int | None, info: ValidationInfo) -> int | None:
        whole = info.data.get("global_batch_size", 0)  # 0 if it was refused.
        if value is not None and whole:
            message = f"{value}, beside global_batch_size; only one of them may be given"
            raise InputError([Problem("", message)])
        if value is None and whole is None:
            raise PydanticKnownError("missing")
        return value

    @field_validator("forward_ms_per_sample", "backward_ms")
    @classmethod
    def _one_kind_of_times_is_given(cls, value: float | None, info: ValidationInfo) -> float | None:
        times = info.data.get("times", {})  # No dict if they were refused.
        if value is not None and times:
            raise InputError([Problem("", f"{value:g}, beside times; only one may be given")])
        if value is None and times is None:
            raise PydanticKnownError("missing")
        return value

    @field_validator("running")
    @classmethod
    def _what_runs_can_run_on(cls, running: Running | None, info: ValidationInfo) -> Running | None:
        if running is None:
            return None
        problems = []
        iterations, gpus = info.data.get("iterations"), info.data.get("gpus")
        if iterations is not None and running.iterations_done >= iterations:
            message = f"{running.iterations_done}; it must be below iterations, {iterations}"
            problems.append(Problem("iterations_done", message))
        sizes = (gpus,) if isinstance(gpus, int) else gpus
        if sizes is not None and running.size not in sizes:
            wanted = " or ".join(map(str, sizes))
            message = f"{running.size} GPUs in all; the job's ring has {wanted}"
            problems.append(Problem("gpus", message))
        if problems:
            raise InputError(problems)
        return running


_NULL_IS_A_VALUE = "checkpoint_iterations"
"""The field that says something else if it is null than if it is left out."""


def without_nulls(value: Any) -> Any:
    """Plain data without the fields that are null, as they say no more than if they were left out.

    One field says more: a job without checkpoints.
    """
    if isinstance(value, dict):
        return {
            key: without_nulls(one)
            for key, one in value.items()
            if one is not None or key == _NULL_IS_A_VALUE
        }
    return [*map(without_nulls, value)] if isinstance(value, list) else value


def sound_jobs(value: object) -> tuple[dict[int, Job], set[str]]:
    """Those of a list of jobs that have no faults of their own, by index; and the others' names."""
    sound: dict[int, Job] = {}
    refused: set[str] = set()
    for i, one in enumerate(value if isinstance(value, list | tuple) else ()):
        try:
            sound[i] = Job.model_validate(one)
        except ValidationError:
            name = one.get("name") if isinstance(one, dict) else None
            refused |= {name} if isinstance(name, str) else set()
    return sound, refused
