"""What the objects of one job say together: pods, queue, priority, time limit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from .cluster import PRIORITIES, Objects
from .job_kinds import CONTROLLERS, KINDS, KUEUE, NAMING, Described, Pods
from .jobs import Family
from .objects import Key
from .profiles import ANNOTATION
from .queues import Queue, Queues
from .schema import Metadata, Pod, PodTemplate, PriorityClass
from .standing import Standing, standing_of

_DEFAULT_QUEUE = "default"


class Told(NamedTuple):
    """What is known of a job.

    Attributes
    ----------
    family
        The objects that tell of it.
    pods
        The pods that it makes.
    expects
        Whether its objects say which pods it makes; otherwise `pods` are those that wait.
    standing
        How its pods stand.
    ended, deleted, suspended
        Whether it is over, is being deleted, or waits for somebody to resume it.
    why_not
        Why the model cannot hold it; empty if it can.
    is_service
        Whether its pods start again whenever they end.
    seconds
        Its time limit.
    queue, queue_name
        Its queue, if it is known, and the name of the queue that it asks for.
    tier, tier_name
        The highest tier of HyperNodes within which it must be.
    priority, classes
        Its priority, and the classes that say so.
    created
        When it was submitted.
    annotations
        Profiles as text, the job's own first.
    """

    family: Family
    pods: tuple[Pods, ...]
    expects: bool
    standing: Standing
    ended: bool
    deleted: bool
    suspended: bool
    why_not: str
    is_service: bool
    seconds: int | None
    queue: Queue | None
    queue_name: str
    tier: int | None
    tier_name: str
    priority: int
    classes: tuple[Key, ...]
    created: datetime | None
    annotations: tuple[str, ...]

    @property
    def name(self) -> str:
        """The job's name."""
        return self.family.name

    @property
    def keys(self) -> tuple[Key, ...]:
        """All objects that tell of it, and the classes of its priority."""
        return *self.family.keys, *self.classes

    @property
    def tenant(self) -> str | None:
        """Whose it is: its queue's, or its namespace's."""
        return self.queue.tenant if self.queue else self.family.head.namespace or None


def told_of(family: Family, read: Objects, queues: Queues, resources: Mapping[str, str]) -> Told:
    """What the objects of a job say together.

    The first kind of `KINDS` that makes pods says which; for all else the object that users submit
    goes before those made from it. Of `resources` see `standing_of`.
    """
    all_pods = read.of(Pod)
    own_pods = {key: all_pods[key] for key in family.keys if key in all_pods}
    said = {key: read.jobs[key] for key in family.keys if key in read.jobs}
    ordered = sorted(said, key=lambda key: (NAMING.index((key.group, key.kind)), key))
    best = _best(said)
    controls = [one for key, one in best.items() if (key.group, key.kind) in CONTROLLERS]
    workloads = [one for key, one in said.items() if key.kind == "Workload"]
    pods = tuple(one for key in sorted(best) for one in best[key].pods)
    if not best:
        pods = tuple(
            Pods(1, PodTemplate(metadata=pod.metadata, spec=pod.spec))
            for key, pod in sorted(own_pods.items())
            if not pod.spec.node_name and pod.status.phase not in {"Succeeded", "Failed"}
        )
    standing = standing_of(own_pods, resources)
    texts = [one.template.spec.restart_policy for one in pods]
    restarts = standing.always or (not own_pods and bool(texts) and set(texts) == {"Always"})
    queue_name = next((said[key].queue for key in ordered if said[key].queue), "")
    priority, classes = _priority(family, [said[key] for key in ordered], own_pods, pods, read)
    metadata = [read.metadata[key] for key in family.keys if key in read.metadata]
    head = read.metadata.get(family.head)
    return Told(
        family=family,
        pods=pods,
        expects=bool(best),
        standing=standing,
        ended=bool(
            (controls and all(one.ended for one in controls))
            or (workloads and all(one.ended for one in workloads))
            or (best and all(one.ended for one in best.values()))
        ),
        deleted=head is not None and head.deletion_timestamp is not None,
        suspended=_is_suspended(said, queue_name),
        why_not=next((one.why_not for _, one in sorted(best.items()) if one.why_not), ""),
        is_service=restarts and not family.runs_to_an_end,
        seconds=min(_limits(said, own_pods, pods), default=None),
        queue=_queue(family, said, queue_name, queues),
        queue_name=queue_name,
        tier=min((one.tier for one in said.values() if one.tier is not None), default=None),
        tier_name=next((said[key].tier_name for key in ordered if said[key].tier_name), ""),
        priority=priority,
        classes=classes,
        created=_created(metadata),
        annotations=_annotations([*ordered, *sorted(own_pods)], read, pods),
    )


def _best(said: Mapping[Key, Described]) -> dict[Key, Described]:
    """The objects that say which pods the job makes."""
    for kind in KINDS:
        found = {k: one for k, one in said.items() if (k.group, k.kind) == kind and one.pods}
        if found:
            return found
    return {}


def _is_suspended(said: Mapping[Key, Described], queue_name: str) -> bool:
    """Whether a job is suspended by somebody; Kueue suspends those that wait for their quota."""
    workloads = [one for key, one in said.items() if key.kind == "Workload"]
    if workloads:
        return all(one.suspended for one in workloads)
    return not queue_name and any(one.suspended for one in said.values())


def _limits(
    said: Mapping[Key, Described], own: Mapping[Key, Pod], pods: tuple[Pods, ...]
) -> list[int]:
    specs = [*(one.spec for one in own.values()), *(one.template.spec for one in pods)]
    found = [one.seconds for one in said.values()]
    found += [spec.active_deadline_seconds for spec in specs]
    return [one for one in found if one is not None]


def _queue(
    family: Family, said: Mapping[Key, Described], name: str, queues: Queues
) -> Queue | None:
    """The queue of a job, if the files have it."""
    for one in said.values():
        if one.cluster_queue in queues.cluster:
            return queues.cluster[one.cluster_queue]
    local = queues.local.get((family.head.namespace, name))
    if local is not None and (found := queues.cluster.get(local.spec.cluster_queue)) is not None:
        stopped = local.spec.stop_policy in {"Hold", "HoldAndDrain"}
        return found._replace(stopped=found.stopped or stopped)
    if local is None and any("volcano" in key.group for key in said):
        return queues.volcano.get(name or _DEFAULT_QUEUE)
    return None


def _priority(
    family: Family,
    said: list[Described],
    own: Mapping[Key, Pod],
    pods: tuple[Pods, ...],
    read: Objects,
) -> tuple[int, tuple[Key, ...]]:
    """The priority of a job, and the classes that it is from."""
    specs = [*(one.spec for _, one in sorted(own.items())), *(one.template.spec for one in pods)]
    names = [one.priority_class for one in said] + [one.priority_class_name for one in specs]
    by_key = read.of(PriorityClass)
    classes = []
    for name in dict.fromkeys(filter(None, names)):
        for group, kind in ((KUEUE, "WorkloadPriorityClass"), (PRIORITIES, "PriorityClass")):
            key = Key(group, kind, "", name)
            if key in by_key:
                classes.append(key)
    told = [*(one.priority for one in said), *(one.priority for one in specs)]
    given = [one for one in told if one is not None]
    if given:
        return given[0], tuple(classes)
    if classes:
        return by_key[classes[0]].value, tuple(classes)
    default = next((key for key, one in by_key.items() if one.global_default), None)
    return (0, ()) if default is None else (by_key[default].value, (default,))


def _created(metadata: list[Metadata]) -> datetime | None:
    return min((m for one in metadata if (m := one.creation_timestamp) is not None), default=None)


def _annotations(ordered: list[Key], read: Objects, pods: tuple[Pods, ...]) -> tuple[str, ...]:
    own = [read.metadata[key].annotations for key in ordered]
    texts = [
        one.get(ANNOTATION) for one in (*own, *(p.template.metadata.annotations for p in pods))
    ]
    return tuple(dict.fromkeys(text for text in texts if text))
