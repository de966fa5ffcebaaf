"""A job's profile: the model's parameters, by name of a measured model or one by one."""

from __future__ import annotations

from typing import Any, Self

from pydantic import field_validator, model_validator

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.schema.base import (
    Count,
    Name,
    NonNegative,
    Positive,
    Record,
    SharingFactor,
)

from .model_profiles import profile_of, require_model
from .timed import FORWARD_PART

MIDDLE_MODEL = "resnet50"
"""Model of the table that stands for jobs of which nothing is known: in a ring of 8 over 25 Gbit/s
it exchanges for two thirds of the time that it computes, and half of the models exchange less."""


class Profile(Record):
    """What a job's iterations are made of.

    With `model` all else comes from the table of measured models; otherwise `backward_ms` is
    needed, unless there is only `seconds`: then it does not say what the job exchanges.
    """

    seconds: Positive | None = None
    """Duration in its best placement without contention, in seconds."""

    iterations: Count | None = None
    """Training iterations; by default those of the duration."""

    model: Name | None = None
    """A model of the table, such as `resnet50`."""

    gradient_mb: NonNegative | None = None
    """Size of the gradient in MB (10^6 bytes), m_j."""

    batch_size: Count | None = None
    """Samples in the mini-batch of each GPU, M_j."""

    forward_ms_per_sample: NonNegative | None = None
    """Forward pass of one sample in milliseconds, Δf_j."""

    backward_ms: NonNegative | None = None
    """Backward pass of one mini-batch in milliseconds, Δb_j."""

    sensitivity: SharingFactor | None = None
    """How much it suffers beside others on parts of a GPU, σ_j."""

    pressure: SharingFactor | None = None
    """How much it makes others suffer there, π_j."""

    @field_validator("model")
    @classmethod
    def _model_is_known(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                require_model(name)
            except UsageError as error:
                raise InputError([Problem("", str(error))]) from error
        return name

    @model_validator(mode="after")
    def _times_are_whole(self) -> Self:
        own = ("gradient_mb", "forward_ms_per_sample", "backward_ms")
        given = [name for name in own if getattr(self, name) is not None]
        if self.model is not None and given:
            raise InputError([Problem(given[0], "beside model; only one of them may be given")])
        timed = (self.forward_ms_per_sample or 0) + (self.backward_ms or 0) > 0
        needing = given or self.iterations is not None or self.batch_size is not None
        if self.model is None and needing and not timed:
            message = "missing; an iteration must take time, or model names a known one"
            raise InputError([Problem("backward_ms", message)])
        return self

    @property
    def exchanges(self) -> bool:
        """Whether it says what an iteration is made of."""
        return self.model is not None or bool(self.forward_ms_per_sample or self.backward_ms)

    def fields(self, gpus: int, gpu_type: str) -> dict[str, Any]:
        """The fields of the model's job, for a ring of this size and type of GPU."""
        if self.model is not None:
            model = require_model(self.model)
            found = profile_of(model, gpus, self.batch_size, gpu_type or None)
            return {
                "gradient_mb": found.gradient_mb,
                "batch_size": found.batch_size,
                "forward_ms_per_sample": FORWARD_PART * found.compute_ms / found.batch_size,
                "backward_ms": (1 - FORWARD_PART) * found.compute_ms,
            }
        return {
            "gradient_mb": self.gradient_mb or 0.0,
            "batch_size": self.batch_size or 1,
            "forward_ms_per_sample": self.forward_ms_per_sample or 0.0,
            "backward_ms": self.backward_ms or 0.0,
        }


def slots_of_work(slot_seconds: float, overhead_ms: float, servers: int) -> dict[str, Any]:
    """Fields of a job that exchanges nothing: an iteration takes a slot on any number of servers.

    Parameters
    ----------
    slot_seconds
        Length of a slot in seconds.
    overhead_ms
        What each of the servers that a ring uses adds to its iteration, in ms.
    servers
        Servers of the cluster.

    Raises
    ------
    UsageError
        If half a slot is too short for the overhead.
    """
    slot = slot_seconds * 1e3
    left = slot - overhead_ms * servers
    if left <= slot / 2:
        raise UsageError(
            f"slots of {slot:g} ms are too short for an overhead of {overhead_ms:g} ms on each of "
            f"{servers} servers; lengthen the slots"
        )
    return {"gradient_mb": 0.0, "forward_ms_per_sample": 0.0, "backward_ms": float(left)}
