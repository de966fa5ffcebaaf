"""Profiles: the model's parameters of a job, from its comment or from a file of rules."""

from __future__ import annotations

import json
import os
from fnmatch import fnmatchcase
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from rarmodel.errors import InputError, Problem, UsageError
from rarmodel.files import read_data
from rarmodel.schema.base import Count, Name, NonNegative, Positive, Record
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.model_profiles import profile_of, require_model
from rarmodel.workloads.timed import FORWARD_PART

from .slurm_jobs import MARK, SlurmJob
from .slurm_values import value


class Profile(Record):
    """What a job's iterations are made of.

    With `model` all else comes from the table of measured models; otherwise `backward_ms` is
    needed, unless there is only `seconds`: then the job exchanges as `ASSUMED`.
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


class Rule(Record):
    """A profile for the jobs whose name, user, account and comment match these patterns."""

    name: Name | None = None
    """Pattern of the job's name, such as `train-*`."""

    user: Name | None = None
    """Pattern of the user's name."""

    account: Name | None = None
    """Pattern of the account."""

    comment: Name | None = None
    """Pattern of the comment."""

    profile: Profile
    """The parameters."""

    def matches(self, job: SlurmJob) -> bool:
        """Whether the job is one of these."""
        own = {
            "name": job.record.get("JobName", ""),
            "user": job.user,
            "account": value(job.record, "Account"),
            "comment": value(job.record, "Comment"),
        }
        patterns = ((key, getattr(self, key)) for key in own)
        return all(p is None or fnmatchcase(own[key], p) for key, p in patterns)


class Rules(Record):
    """A file of profiles: the first rule that matches a job gives its profile."""

    profiles: Annotated[tuple[Rule, ...], Field(min_length=1)]
    """The rules, the most special first."""

    gpu_speeds: dict[Name, Positive] | None = None
    """How fast GPUs are in comparison, by type."""


ASSUMED_MODEL = "resnet50"
ASSUMED = {
    "gradient_mb": 102.2,
    "batch_size": 1,
    "forward_ms_per_sample": 0.0,
    "backward_ms": 87.8,
}
"""An iteration of a job of which nothing is known: it exchanges as `resnet50` of the table does,
which is in the middle by gradient per compute time. More GPUs do not make it faster, as its
duration says nothing about other ring sizes."""


class Found(NamedTuple):
    """A job's profile, where it is from, and what was wrong with its comment."""

    profile: Profile
    origin: str
    fault: str = ""


def read_rules(source: str | os.PathLike[str]) -> Rules:
    """Read a file of profiles, JSON or YAML.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    try:
        return Rules.model_validate(read_data(source))
    except ValidationError as error:
        raise InputError(problems_of(error), os.fspath(source)) from error


def profile_for(job: SlurmJob, rules: Rules | None) -> Found:
    """The profile of a job: of its comment, else of the first rule that matches, else none."""
    comment = value(job.record, "Comment")
    fault = ""
    if job.is_marked and (text := comment.removeprefix(MARK).strip()):
        try:
            return Found(Profile.model_validate(json.loads(text)), "its comment")
        except ValidationError as error:
            first = problems_of(error)[0]
            fault = ": ".join(filter(None, first))
        except (ValueError, RecursionError):
            fault = "not JSON"
    for rule in rules.profiles if rules else ():
        if rule.matches(job):
            return Found(rule.profile, "the profiles", fault)
    return Found(Profile(), "", fault)
