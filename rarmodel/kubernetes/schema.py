"""What is read of objects: their fields as Kubernetes documents them; all others are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel


class Part(BaseModel):
    """A part of an object. A field that is null is one that is not there."""

    model_config = ConfigDict(
        extra="ignore", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, value: object) -> object:
        if isinstance(value, Mapping):
            return {key: one for key, one in value.items() if one is not None}
        return value


P = TypeVar("P", bound=Part)


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("a moment between the years 1 and 9999 is expected") from error


Moment = Annotated[datetime, AfterValidator(_in_utc)]
Labels = dict[str, str]
Amounts = dict[str, str | int | float]
"""Quantities by name of a resource."""


class Owner(Part):
    """An object that owns another one."""

    api_version: str = ""
    kind: str
    name: str


class Metadata(Part):
    """Name, labels and owners."""

    name: str = ""
    namespace: str = ""
    labels: Labels = {}
    annotations: Labels = {}
    owner_references: tuple[Owner, ...] = ()
    creation_timestamp: Moment | None = None
    deletion_timestamp: Moment | None = None


class Condition(Part):
    """A condition of an object's state, such as Ready."""

    type: str
    status: str = ""
    reason: str = ""
    last_transition_time: Moment | None = None
    last_heartbeat_time: Moment | None = None

    @property
    def holds(self) -> bool:
        """Whether it is said to be true."""
        return self.status == "True"


class Taint(Part):
    """A mark of a node that keeps pods away which do not tolerate it."""

    key: str
    value: str = ""
    effect: str = ""


class Toleration(Part):
    """Which taints a pod tolerates."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Requirement(Part):
    """A demand on a label."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Selector(Part):
    """Labels asked for."""

    match_labels: Labels = {}
    match_expressions: tuple[Requirement, ...] = ()


class NodeTerm(Part):
    """Demands on a node that must all be met."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeTerms(Part):
    """Terms of which one must be met."""

    node_selector_terms: tuple[NodeTerm, ...] = ()


class NodeAffinity(Part):
    """The nodes that a pod asks for."""

    required: NodeTerms | None = Field(None, alias="requiredDuringSchedulingIgnoredDuringExecution")


class PodTerm(Part):
    """Other pods, and the part of the network in which they must be, or must not."""

    label_selector: Selector | None = None
    topology_key: str = ""


class PodAffinity(Part):
    """The pods that a pod must be near, or apart from."""

    required: tuple[PodTerm, ...] = Field(
        (), alias="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Part):
    """What a pod asks of the node's labels and of other pods."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class Amount(Part):
    """What a container asks for."""

    requests: Amounts = {}
    limits: Amounts = {}


class Container(Part):
    """A container of a pod."""

    resources: Amount = Amount()
    restart_policy: str = ""


class Spreading(Part):
    """How evenly pods must be over parts of the network."""

    when_unsatisfiable: str = "DoNotSchedule"


class PodSpec(Part):
    """What a pod asks for, and its node if it has one."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_selector: Labels = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[Spreading, ...] = ()
    resource_claims: tuple[dict[str, Any], ...] = ()
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    priority_class_name: str = ""
    restart_policy: str = "Always"
    active_deadline_seconds: Annotated[int, Field(ge=0, le=10**9)] | None = None


class PodTemplate(Part):
    """What pods will be like."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()


class PodStatus(Part):
    """How a pod is."""

    phase: str = ""
    start_time: Moment | None = None
    conditions: tuple[Condition, ...] = ()


class Pod(Part):
    """A pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(Part):
    """What a node refuses."""

    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class NodeStatus(Part):
    """What a node has."""

    capacity: Amounts = {}
    allocatable: Amounts = {}
    conditions: tuple[Condition, ...] = ()


class Node(Part):
    """A node."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Level(Part):
    """A level of a Kueue Topology."""

    node_label: str


class TopologySpec(Part):
    """The levels, from the top."""

    levels: tuple[Level, ...] = ()


class Topology(Part):
    """A Kueue Topology."""

    metadata: Metadata
    spec: TopologySpec


class Exact(Part):
    """A member by name."""

    name: str


class Regex(Part):
    """Members whose name a pattern matches."""

    pattern: str


class Chosen(Part):
    """Which members a HyperNode has."""

    exact_match: Exact | None = None
    regex_match: Regex | None = None
    label_match: Selector | None = None


class Member(Part):
    """Members of a HyperNode."""

    type: str = "Node"
    selector: Chosen = Chosen()


class HyperNodeSpec(Part):
    """Tier and members of a HyperNode."""

    tier: int
    tier_name: str = ""
    members: tuple[Member, ...] = ()


class HyperNode(Part):
    """A Volcano HyperNode."""

    metadata: Metadata
    spec: HyperNodeSpec


class Quota(Part):
    """How much of a resource there is."""

    name: str
    nominal_quota: str | int | float = 0
    borrowing_limit: str | int | float | None = None
    lending_limit: str | int | float | None = None


class Flavor(Part):
    """Quotas of one flavor."""

    name: str
    resources: tuple[Quota, ...] = ()


class ResourceGroup(Part):
    """Flavors of some resources."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[Flavor, ...] = ()


class ClusterQueueSpec(Part):
    """Quotas and cohort; v1beta1 calls the cohort otherwise."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort: str = ""
    cohort_name: str = ""
    stop_policy: str = "None"


class ClusterQueue(Part):
    """A Kueue ClusterQueue."""

    metadata: Metadata
    spec: ClusterQueueSpec


class CohortSpec(Part):
    """Quotas of its own, and parent; v1beta1 calls the parent otherwise."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    parent: str = ""
    parent_name: str = ""


class Cohort(Part):
    """A Kueue Cohort."""

    metadata: Metadata
    spec: CohortSpec = CohortSpec()


class LocalQueueSpec(Part):
    """The ClusterQueue behind it."""

    cluster_queue: str = ""
    stop_policy: str = "None"


class LocalQueue(Part):
    """A Kueue LocalQueue."""

    metadata: Metadata
    spec: LocalQueueSpec = LocalQueueSpec()


class ResourceFlavorSpec(Part):
    """The nodes of a flavor, and taints that Kueue lets its pods tolerate."""

    node_labels: Labels = {}
    tolerations: tuple[Toleration, ...] = ()


class ResourceFlavor(Part):
    """A Kueue ResourceFlavor."""

    metadata: Metadata
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class Guarantee(Part):
    """What a Volcano Queue has in any case."""

    resource: Amounts = {}


class VolcanoQueueSpec(Part):
    """Caps of a Volcano Queue."""

    capability: Amounts = {}
    deserved: Amounts = {}
    guarantee: Guarantee = Guarantee()
    parent: str = ""


class VolcanoQueueStatus(Part):
    """Whether it takes jobs."""

    state: str = ""


class VolcanoQueue(Part):
    """A Volcano Queue."""

    metadata: Metadata
    spec: VolcanoQueueSpec = VolcanoQueueSpec()
    status: VolcanoQueueStatus = VolcanoQueueStatus()


class PriorityClass(Part):
    """A PriorityClass, or Kueue's WorkloadPriorityClass."""

    metadata: Metadata
    value: Annotated[int, Field(ge=-(2**31), lt=2**31)]
    global_default: bool = False
