"""A cluster's objects by kind, each checked by itself; what cannot be read is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from rarmodel.schema.problems import problems_of

from .account import Bookkeeper
from .gpus import WHOLE
from .job_kinds import KINDS, KUEUE, VOLCANO_GROUPS, Described, is_job
from .network import is_read
from .objects import Found, Key, is_text
from .quantities import quantity
from .queues import quota_of
from .schema import (
    ClusterQueue,
    Cohort,
    Condition,
    HyperNode,
    LocalQueue,
    Metadata,
    Node,
    Part,
    Pod,
    PriorityClass,
    ResourceFlavor,
    Topology,
    VolcanoQueue,
)

PRIORITIES = "scheduling.k8s.io"
TYPES: Mapping[tuple[str, str], type[Part]] = {
    ("", "Node"): Node,
    ("", "Pod"): Pod,
    (KUEUE, "Topology"): Topology,
    ("topology.volcano.sh", "HyperNode"): HyperNode,
    (KUEUE, "ClusterQueue"): ClusterQueue,
    (KUEUE, "Cohort"): Cohort,
    (KUEUE, "LocalQueue"): LocalQueue,
    (KUEUE, "ResourceFlavor"): ResourceFlavor,
    (KUEUE, "WorkloadPriorityClass"): PriorityClass,
    (PRIORITIES, "PriorityClass"): PriorityClass,
    (VOLCANO_GROUPS, "Queue"): VolcanoQueue,
}
"""How each kind is read that is no job, by group and kind."""

P = TypeVar("P", bound=Part)


class _Named(Part):
    metadata: Metadata


@dataclass
class Objects:
    """Objects that can be read.

    Attributes
    ----------
    parts
        All that are no jobs, by type.
    jobs
        What jobs, and objects that tell of one, say.
    metadata
        Name, labels and owners of jobs and pods.
    moments
        All points in time that objects tell of their past.
    """

    parts: dict[type[Part], dict[Key, Part]] = field(default_factory=dict)
    jobs: dict[Key, Described] = field(default_factory=dict)
    metadata: dict[Key, Metadata] = field(default_factory=dict)
    moments: list[datetime] = field(default_factory=list)

    def of(self, kind: type[P]) -> dict[Key, P]:
        """Those of a kind."""
        return cast("dict[Key, P]", self.parts.get(kind, {}))


def objects_of(found: Found, books: Bookkeeper) -> Objects:
    """Read the objects that the model can use; the others are left out."""
    read = Objects()
    for key, data in found.objects.items():
        if not is_job(key) and (key.group, key.kind) not in TYPES:
            books.leave_out(f"of kind {key.kind!r}, which is not read", key)
            continue
        if not is_text(data):
            books.leave_out("half of a surrogate pair in it is not text", key)
            continue
        try:
            if is_job(key):
                said = KINDS[key.group, key.kind](data)
                read.metadata[key] = _Named.model_validate(data).metadata
                read.jobs[key] = said
            else:
                part = TYPES[key.group, key.kind].model_validate(data)
                _require_numbers(part)
                read.parts.setdefault(type(part), {})[key] = part
                if isinstance(part, Pod):
                    read.metadata[key] = part.metadata
        except ValidationError as error:
            first = ": ".join(filter(None, problems_of(error)[0]))
            books.leave_out(f"not as Kubernetes writes it: {first}", key)
        except ValueError as error:
            books.leave_out(f"not as Kubernetes writes it: {error}", key)
        else:
            read.moments += _moments(data)
    return read


def _require_numbers(part: Part) -> None:
    """Refuse what is well-formed but means nothing.

    Raises
    ------
    ValueError
        If it does.
    """
    if isinstance(part, ClusterQueue | Cohort):
        quota_of(part.spec.resource_groups)
    if isinstance(part, VolcanoQueue):
        spec = part.spec
        for amounts in (spec.capability, spec.deserved, spec.guarantee.resource):
            for name in WHOLE:
                quantity(amounts.get(name, 0))
    if isinstance(part, HyperNode):
        for member in part.spec.members:
            regex = member.selector.regex_match
            if regex is not None and not is_read(regex.pattern):
                raise ValueError(f"pattern {regex.pattern[:80]!r} is not read; simple ones are")


def _moments(data: Mapping[str, Any]) -> Iterator[datetime]:
    """Points in time that an object tells of its past."""
    status = data.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    told = [
        data["metadata"].get("creationTimestamp"),
        status.get("startTime") if isinstance(status, Mapping) else None,
        *(
            one.get(name)
            for one in (conditions if isinstance(conditions, list) else ())
            if isinstance(one, Mapping)
            for name in ("lastTransitionTime", "lastHeartbeatTime", "lastProbeTime")
        ),
    ]
    for text in told:
        if isinstance(text, str):
            with suppress(ValidationError):
                moment = Condition(type="", last_transition_time=text).last_transition_time
                if moment is not None:
                    yield moment
