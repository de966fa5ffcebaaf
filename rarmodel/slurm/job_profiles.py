"""Profiles: the model's parameters of a job, from its comment or from a file of rules."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from rarmodel.schema.base import Name, Positive, Record
from rarmodel.workloads.found_profiles import Found, carried_profile, read_rules_of
from rarmodel.workloads.job_profile import Profile

from .slurm_jobs import MARK, SlurmJob
from .slurm_values import value


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


ASSUMED = {
    "gradient_mb": 102.2,
    "batch_size": 1,
    "forward_ms_per_sample": 0.0,
    "backward_ms": 87.8,
}
"""An iteration of a job of which nothing is known: it exchanges as `MIDDLE_MODEL` of the table
does. More GPUs do not make it faster, as its duration says nothing about other ring sizes."""


def read_rules(source: str | os.PathLike[str]) -> Rules:
    """Read a file of profiles, JSON or YAML.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    return read_rules_of(Rules, source)


def profile_for(job: SlurmJob, rules: Rules | None) -> Found:
    """The profile of a job: of its comment, else of the first rule that matches, else none."""
    comment = value(job.record, "Comment")
    fault = ""
    if job.is_marked and (text := comment.removeprefix(MARK).strip()):
        profile, fault = carried_profile(text)
        if profile is not None:
            return Found(profile, "its comment")
    for rule in rules.profiles if rules else ():
        if rule.matches(job):
            return Found(rule.profile, "the profiles", fault)
    return Found(Profile(), "", fault)
