"""Profiles of jobs: in an annotation, or in a file of rules."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field

from rarmodel.schema.base import Name, Record
from rarmodel.workloads.found_profiles import carried_profile, read_rules_of
from rarmodel.workloads.job_profile import Profile

ANNOTATION = "rarmodel/profile"
"""Annotation of a job, or of its pods, with its profile as JSON."""


class Rule(Record):
    """A profile for the jobs whose name, namespace, queue and kind match these patterns."""

    name: Name | None = None
    """Pattern of the job's name, such as `train-*`."""

    namespace: Name | None = None
    """Pattern of its namespace."""

    queue: Name | None = None
    """Pattern of its queue."""

    kind: Name | None = None
    """Pattern of its kind, such as `PyTorchJob`."""

    profile: Profile
    """The parameters."""

    def matches(self, *, name: str, namespace: str, queue: str, kind: str) -> bool:
        """Whether the job is one of these."""
        pairs = (
            (self.name, name),
            (self.namespace, namespace),
            (self.queue, queue),
            (self.kind, kind),
        )
        return all(pattern is None or fnmatchcase(own, pattern) for pattern, own in pairs)


class Rules(Record):
    """A file of profiles: the first rule that matches a job gives its profile."""

    profiles: Annotated[tuple[Rule, ...], Field(min_length=1)]
    """The rules, the most special first."""


def read_rules(source: str | os.PathLike[str]) -> Rules:
    """Read a file of profiles, JSON or YAML.

    Raises
    ------
    InputError
        With every problem of the file.
    """
    return read_rules_of(Rules, source)


def annotated(texts: Iterable[str]) -> tuple[Profile | None, str]:
    """The profile in the first of some annotations that has one, and the first fault of others."""
    first = ""
    for text in texts:
        profile, fault = carried_profile(text)
        first = first or fault
        if profile is not None:
            return profile, first
    return None, first
