"""Kinds of objects that are jobs, or tell of one: which pods they make, and how they stand.

A job may be told several times: a JobSet owns batch Jobs, which own pods, and Kueue makes a
Workload of it. `KINDS` has the kinds from the most telling to the least; the pods of a job are
those that its objects of the first such kind make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from .objects import Key
from .schema import Condition, Metadata, Part, PodTemplate

JOBSET, VOLCANO = "jobset.x-k8s.io", "batch.volcano.sh"
KUEUE, KUBEFLOW = "kueue.x-k8s.io", "kubeflow.org"
VOLCANO_GROUPS, COSCHEDULING = "scheduling.volcano.sh", "scheduling.x-k8s.io"

MAX_EXECUTION = "kueue.x-k8s.io/max-exec-time-seconds"
QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"


class Pods(NamedTuple):
    """Equal pods: how many, and what each is like.

    Attributes
    ----------
    within
        Label of the level of the network within which all of them must be; empty if any will do.
    slices
        Whether parts of them must each be within a level.
    """

    number: int
    template: PodTemplate
    within: str = ""
    slices: bool = False


class Described(NamedTuple):
    """What an object says of its job; empty where it says nothing.

    Attributes
    ----------
    pods
        The pods that it makes.
    suspended, ended
        Whether it is suspended, and whether it is over.
    seconds
        After how many seconds it is ended, if it is not over by then.
    queue
        Name of its queue: for Kueue a LocalQueue, for Volcano a Queue.
    cluster_queue
        The ClusterQueue that admitted it.
    priority, priority_class
        Its priority, or the name of the class that has it.
    tier, tier_name
        The highest tier of HyperNodes within which it must be.
    why_not
        Why the model cannot hold it.
    """

    pods: tuple[Pods, ...] = ()
    suspended: bool = False
    ended: bool = False
    seconds: int | None = None
    queue: str = ""
    cluster_queue: str = ""
    priority: int | None = None
    priority_class: str = ""
    tier: int | None = None
    tier_name: str = ""
    why_not: str = ""


# What is read ------------------------------------------------------------------------------------


_Number = Annotated[int, Field(ge=0, lt=2**31)]
_Seconds = Annotated[int, Field(ge=0, le=10**9)]
_Priority = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class _Conditions(Part):
    conditions: tuple[Condition, ...] = ()


class _JobSpec(Part):
    parallelism: _Number = 1
    completions: _Number | None = None
    suspend: bool = False
    active_deadline_seconds: _Seconds | None = None
    template: PodTemplate = PodTemplate()


class _Job(Part):
    metadata: Metadata
    spec: _JobSpec = _JobSpec()
    status: _Conditions = _Conditions()


class _JobTemplate(Part):
    metadata: Metadata = Metadata()
    spec: _JobSpec = _JobSpec()


class _ReplicatedJob(Part):
    replicas: _Number = 1
    template: _JobTemplate = _JobTemplate()


class _JobSetSpec(Part):
    replicated_jobs: tuple[_ReplicatedJob, ...] = ()
    suspend: bool = False


class _JobSet(Part):
    metadata: Metadata
    spec: _JobSetSpec = _JobSetSpec()
    status: _Conditions = _Conditions()


class _Scheduling(Part):
    queue: str = ""
    priority_class: str = ""


class _RunPolicy(Part):
    suspend: bool = False
    active_deadline_seconds: _Seconds | None = None
    scheduling_policy: _Scheduling = _Scheduling()


class _Replicas(Part):
    replicas: _Number = 1
    template: PodTemplate = PodTemplate()


_BY_ROLE = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
"""Field with the replicas of each kind of Kubeflow's training operator."""


class _TrainingSpec(Part):
    roles: dict[str, _Replicas] = Field(default_factory=dict)
    run_policy: _RunPolicy = _RunPolicy()
    # Old versions have these here.
    suspend: bool = False
    active_deadline_seconds: _Seconds | None = None


class _Training(Part):
    metadata: Metadata
    spec: _TrainingSpec = _TrainingSpec()
    status: _Conditions = _Conditions()


class _NetworkTopology(Part):
    mode: str = "hard"
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class _Task(Part):
    replicas: _Number = 1
    template: PodTemplate = PodTemplate()


class _VolcanoSpec(Part):
    tasks: tuple[_Task, ...] = ()
    queue: str = ""
    priority_class_name: str = ""
    network_topology: _NetworkTopology | None = None


class _Phase(Part):
    phase: str = ""


class _VolcanoStatus(Part):
    state: _Phase = _Phase()


class _VolcanoJob(Part):
    metadata: Metadata
    spec: _VolcanoSpec = _VolcanoSpec()
    status: _VolcanoStatus = _VolcanoStatus()


class _TopologyRequest(Part):
    required: str = ""
    slice_topology: str = Field("", alias="podSetSliceRequiredTopology")


class _PodSet(Part):
    count: _Number = 1
    template: PodTemplate = PodTemplate()
    topology_request: _TopologyRequest = _TopologyRequest()


class _ClassRef(Part):
    name: str = ""


class _WorkloadSpec(Part):
    pod_sets: tuple[_PodSet, ...] = ()
    queue_name: str = ""
    priority: _Priority | None = None
    priority_class_name: str = ""
    priority_class_ref: _ClassRef = _ClassRef()
    active: bool = True
    maximum_execution_time_seconds: _Seconds | None = None


class _Admission(Part):
    cluster_queue: str = ""


class _WorkloadStatus(Part):
    conditions: tuple[Condition, ...] = ()
    admission: _Admission = _Admission()


class _Workload(Part):
    metadata: Metadata
    spec: _WorkloadSpec = _WorkloadSpec()
    status: _WorkloadStatus = _WorkloadStatus()


class _PodGroupSpec(Part):
    queue: str = ""
    priority_class_name: str = ""
    network_topology: _NetworkTopology | None = None


class _PodGroup(Part):
    metadata: Metadata
    spec: _PodGroupSpec = _PodGroupSpec()
    status: _Phase = _Phase()


class _Owner(Part):
    metadata: Metadata


# What it says ------------------------------------------------------------------------------------

_OVER = {"Complete", "Completed", "Failed", "Succeeded", "Finished"}
"""Conditions of jobs that are over."""
_PHASES_OVER = {"Completed", "Failed", "Terminated", "Aborted"}
"""Phases of Volcano's jobs that are over; an aborted one waits for a command."""
_REQUIRED = "kueue.x-k8s.io/podset-required-topology"
_SLICES = (
    "kueue.x-k8s.io/podset-slice-required-topology",
    "kueue.x-k8s.io/podset-slice-required-topology-constraints",
)
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"


def _over(conditions: Iterable[Condition]) -> bool:
    return any(one.holds and one.type in _OVER for one in conditions)


def _pods(count: int, template: PodTemplate, request: _TopologyRequest | None = None) -> Pods:
    notes = template.metadata.annotations
    asked = request or _TopologyRequest()
    return Pods(
        max(0, count),
        template,
        asked.required or notes.get(_REQUIRED, ""),
        bool(asked.slice_topology) or any(notes.get(one) for one in _SLICES),
    )


def _at_once(spec: _JobSpec) -> tuple[int, str]:
    """How many pods of a batch Job run at once, and why they are no ring, if they come by turns."""
    total = spec.parallelism if spec.completions is None else spec.completions
    why = "its pods come by turns (completions above parallelism)"
    return min(spec.parallelism, total), why if total > spec.parallelism else ""


def _kueue(metadata: Metadata) -> dict[str, Any]:
    """What labels for Kueue say, on any kind of job."""
    labels = metadata.labels
    text = labels.get(MAX_EXECUTION, "")
    return {
        "queue": labels.get(QUEUE, ""),
        "priority_class": labels.get(PRIORITY_CLASS, ""),
        "seconds": int(text) if text.isdecimal() and len(text) < 10 else None,
    }


def _batch_job(data: Mapping[str, Any]) -> Described:
    job = _Job.model_validate(data)
    count, why_not = _at_once(job.spec)
    said = _kueue(job.metadata)
    said["seconds"] = _least(said["seconds"], job.spec.active_deadline_seconds)
    return Described(
        pods=(_pods(count, job.spec.template),),
        suspended=job.spec.suspend,
        ended=_over(job.status.conditions),
        why_not=why_not,
        **said,
    )


def _jobset(data: Mapping[str, Any]) -> Described:
    job = _JobSet.model_validate(data)
    pods, why_not, said = list[Pods](), "", _kueue(job.metadata)
    notes = [job.metadata.annotations]
    for one in job.spec.replicated_jobs:
        count, turns = _at_once(one.template.spec)
        why_not = why_not or turns
        pods.append(_pods(one.replicas * count, one.template.spec.template))
        notes.append(one.template.metadata.annotations)
        said["seconds"] = _least(said["seconds"], one.template.spec.active_deadline_seconds)
    if any(one.get(_EXCLUSIVE) for one in notes):
        why_not = why_not or "asks for parts of the network of its own (exclusive-topology)"
    return Described(
        pods=tuple(pods),
        suspended=job.spec.suspend,
        ended=_over(job.status.conditions),
        why_not=why_not,
        **said,
    )


def _training_job(kind: str) -> Callable[[Mapping[str, Any]], Described]:
    def read(data: Mapping[str, Any]) -> Described:
        spec = data.get("spec")
        renamed = {**data}
        if isinstance(spec, Mapping):
            renamed["spec"] = {**spec, "roles": spec.get(_BY_ROLE[kind])}
        job = _Training.model_validate(renamed)
        policy, said = job.spec.run_policy, _kueue(job.metadata)
        said["queue"] = said["queue"] or policy.scheduling_policy.queue
        said["priority_class"] = said["priority_class"] or policy.scheduling_policy.priority_class
        for seconds in (policy.active_deadline_seconds, job.spec.active_deadline_seconds):
            said["seconds"] = _least(said["seconds"], seconds)
        return Described(
            pods=tuple(
                _pods(one.replicas, one.template) for _, one in sorted(job.spec.roles.items())
            ),
            suspended=policy.suspend or job.spec.suspend,
            ended=_over(job.status.conditions),
            **said,
        )

    return read


def _volcano_job(data: Mapping[str, Any]) -> Described:
    job = _VolcanoJob.model_validate(data)
    said = _kueue(job.metadata)
    return Described(
        pods=tuple(_pods(one.replicas, one.template) for one in job.spec.tasks),
        ended=job.status.state.phase in _PHASES_OVER,
        seconds=said["seconds"],
        queue=said["queue"] or job.spec.queue,
        priority_class=said["priority_class"] or job.spec.priority_class_name,
        **_tiers(job.spec.network_topology),
    )


def _workload(data: Mapping[str, Any]) -> Described:
    job = _Workload.model_validate(data)
    spec = job.spec
    return Described(
        pods=tuple(_pods(one.count, one.template, one.topology_request) for one in spec.pod_sets),
        suspended=not spec.active,
        ended=_over(job.status.conditions),
        seconds=spec.maximum_execution_time_seconds,
        queue=spec.queue_name,
        cluster_queue=job.status.admission.cluster_queue,
        priority=spec.priority,
        priority_class=spec.priority_class_ref.name or spec.priority_class_name,
    )


def _pod_group(data: Mapping[str, Any]) -> Described:
    group = _PodGroup.model_validate(data)
    return Described(
        ended=group.status.phase in _PHASES_OVER,
        queue=group.spec.queue,
        priority_class=group.spec.priority_class_name,
        **_tiers(group.spec.network_topology),
    )


def _owner(data: Mapping[str, Any]) -> Described:
    return Described(**_kueue(_Owner.model_validate(data).metadata))


def _tiers(asked: _NetworkTopology | None) -> dict[str, Any]:
    if asked is None or asked.mode != "hard":  # A soft demand binds nobody.
        return {}
    return {"tier": asked.highest_tier_allowed, "tier_name": asked.highest_tier_name}


def _least(first: int | None, second: int | None) -> int | None:
    return min((one for one in (first, second) if one is not None), default=None)


KINDS: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], Described]] = {
    **{(KUBEFLOW, kind): _training_job(kind) for kind in _BY_ROLE},
    (JOBSET, "JobSet"): _jobset,
    (VOLCANO, "Job"): _volcano_job,
    ("batch", "Job"): _batch_job,
    (KUEUE, "Workload"): _workload,
    ("trainer.kubeflow.org", "TrainJob"): _owner,
    ("workload.codeflare.dev", "AppWrapper"): _owner,
    (VOLCANO_GROUPS, "PodGroup"): _pod_group,
    (COSCHEDULING, "PodGroup"): _pod_group,
}
"""What each kind says, by group and kind."""

NAMING = (
    ("workload.codeflare.dev", "AppWrapper"),
    ("trainer.kubeflow.org", "TrainJob"),
    *((KUBEFLOW, kind) for kind in _BY_ROLE),
    (JOBSET, "JobSet"),
    (VOLCANO, "Job"),
    ("batch", "Job"),
    (KUEUE, "Workload"),
    (VOLCANO_GROUPS, "PodGroup"),
    (COSCHEDULING, "PodGroup"),
    ("", "Pod"),
)
"""Kinds by which a job is named, the ones that users submit first."""
CONTROLLERS = {kind for kind in NAMING if kind[1] not in {"Workload", "PodGroup", "Pod"}}
"""Kinds that run their pods to an end; other pods may be of a service."""


def is_job(key: Key) -> bool:
    """Whether an object is a job, or tells of one."""
    return (key.group, key.kind) in KINDS
