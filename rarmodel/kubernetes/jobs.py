"""Which objects tell of one job: owners, pod groups and workloads, followed to the top.

Only kinds that are jobs join: two Jobs of a CronJob, or two pods of a Deployment, have nothing to
do with each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .job_kinds import CONTROLLERS, COSCHEDULING, JOBSET, KINDS, KUEUE, NAMING, VOLCANO_GROUPS
from .objects import Key, group_of
from .schema import Metadata

_GROUPS: tuple[tuple[str, str, str], ...] = (
    ("scheduling.k8s.io/group-name", VOLCANO_GROUPS, "PodGroup"),
    ("scheduling.volcano.sh/group-name", VOLCANO_GROUPS, "PodGroup"),
    ("scheduling.x-k8s.io/pod-group", COSCHEDULING, "PodGroup"),
    ("pod-group.scheduling.sigs.k8s.io", COSCHEDULING, "PodGroup"),
    ("kueue.x-k8s.io/pod-group-name", KUEUE, "Workload"),
    ("jobset.sigs.k8s.io/jobset-name", JOBSET, "JobSet"),
)
"""Labels and annotations of pods that name what they are part of, with its group and kind."""


class Family(NamedTuple):
    """Objects that tell of one job.

    Attributes
    ----------
    name
        The job's name: that of the object that users submit, with its kind if two have it.
    head
        The object that names it.
    keys
        All objects, those that are only named by others too.
    """

    name: str
    head: Key
    keys: tuple[Key, ...]

    @property
    def runs_to_an_end(self) -> bool:
        """Whether it has an object of a kind whose pods run to an end."""
        return any((key.group, key.kind) in CONTROLLERS for key in self.keys)


def families(metadata: Mapping[Key, Metadata]) -> list[Family]:
    """The jobs of some objects: jobs, what tells of them, and pods; by name.

    Parameters
    ----------
    metadata
        Name, labels and owners of each.
    """
    parent: dict[Key, Key] = {}

    def root(key: Key) -> Key:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for key, own in metadata.items():
        root(key)
        for other in _related(key, own):
            first, second = sorted((root(key), root(other)))
            parent[second] = first
    members: dict[Key, list[Key]] = defaultdict(list)
    for key in sorted(parent):
        members[root(key)].append(key)
    heads = {_head(some): tuple(some) for some in members.values()}
    return sorted(_named(heads))


def _related(key: Key, own: Metadata) -> Iterator[Key]:
    """What an object is part of, as far as that is one job."""
    for owner in own.owner_references:
        group = group_of(owner.api_version)
        is_pod = (group, owner.kind) == ("", "Pod")  # Kueue lets pods own the Workload of a group.
        if (group, owner.kind) in KINDS or (is_pod and key.kind == "Workload"):
            yield Key(group, owner.kind, key.namespace, owner.name)
    if key.kind == "Pod":
        for label, group, kind in _GROUPS:
            if name := own.labels.get(label) or own.annotations.get(label):
                yield Key(group, kind, key.namespace, name)


def _head(keys: Iterable[Key]) -> Key:
    return min(keys, key=lambda key: (NAMING.index((key.group, key.kind)), key))


def _named(heads: Mapping[Key, tuple[Key, ...]]) -> Iterator[Family]:
    """Families with names of their own."""
    called: dict[str, list[Key]] = defaultdict(list)
    for head in heads:
        called[head.place].append(head)
    taken = set(called)
    for place, several in called.items():
        for head in several:
            name = place
            if len(several) > 1:
                name = f"{head.kind}.{head.group} {place}".replace(". ", " ")
                while name in taken:
                    name += "'"
                taken.add(name)
            yield Family(name, head, heads[head])
