"""Jobs that wait for GPUs, as jobs of the model, in the order in which they wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .account import Bookkeeper
from .cluster import Objects
from .network import Network
from .node_choice import NodeChoice, UnusableError
from .nodes import GpuNode
from .queues import Queues
from .schema import Pod
from .shapes import Shape, shape_of
from .standing import why_no_gpus
from .told_jobs import Told
from .work import Fields, Work


class WaitingJobs:
    """Makes waiting jobs of the model.

    Parameters
    ----------
    read, queues
        The objects of the cluster, and its queues.
    nodes, network
        The nodes of the instance, and the network above them.
    work
        The work of jobs.
    books, notes
        Get what became of each object, and jobs by what is said of them.
    """

    def __init__(
        self,
        read: Objects,
        queues: Queues,
        nodes: Mapping[str, GpuNode],
        network: Network | None,
        work: Work,
        books: Bookkeeper,
        notes: Mapping[str, list[str]],
    ) -> None:
        self._pods, self._queues = read.of(Pod), queues
        self._nodes, self._network, self._work = nodes, network, work
        self._books, self._notes = books, notes
        self._choice = NodeChoice(nodes)

    def of(self, told: Iterable[Told]) -> list[Fields]:
        """Those jobs that wait for GPUs and that the model can hold: by priority and age."""
        jobs = [(one, fields) for one in told if (fields := self._of(one))]
        jobs.sort(key=lambda one: (-one[0].priority, self._work.release(one[0]), one[0].name))
        return _weighted(jobs)

    def _of(self, told: Told) -> Fields | None:
        """The job, if it waits for GPUs and the model can hold it."""
        if told.standing.held and not (told.ended or told.deleted):
            if told.is_service:
                self._books.use(*told.family.keys)
            return None
        if reason := self._why_not(told):
            self._books.leave_out(reason, *told.family.keys)
            return None
        queue, network = told.queue, self._network
        try:
            flavors = None if queue is None else queue.flavors
            tier = _tier(told, network)
            shape = shape_of(told.pods, self._choice, network, flavors, tier)
            if not shape.on_parts:
                self._require_quota(told, shape)
        except UnusableError as error:
            self._books.leave_out(str(error), *told.family.keys)
            return None
        kind = self._nodes[shape.nodes[0]].gpu_type
        fields = self._work.content(told, shape.size, kind)
        if shape.on_parts:
            fields = self._work.on_part(told, fields)
        if len(shape.nodes) < len(self._nodes):
            fields["servers"] = [*shape.nodes]
        if shape.spread:
            fields["spread"] = dict(shape.spread)
        if shape.forgiven:
            self._notes["a taint for GPUs is taken to be tolerated"].append(told.name)
        if shape.narrowed:
            self._notes["their pods are on equal parts of nodes"].append(told.name)
        self._books.use(*told.keys)
        return fields

    def _why_not(self, told: Told) -> str:
        """Why a job without pods on nodes does not wait for any; empty if it does."""
        pods = [self._pods[key] for key in told.family.keys if key in self._pods]
        if told.ended:
            return "over"
        if told.deleted:
            return "being deleted"
        if told.why_not:
            return told.why_not
        if told.standing.aside:
            return f"runs on a part of a GPU of {told.standing.aside!r} that is not in the instance"
        if told.suspended:
            return "suspended"
        if told.is_service:
            return "a service, which never ends, and has no GPUs yet"
        if told.queue is not None and told.queue.stopped:
            return "its queue is stopped"
        if not told.pods:
            if pods and all(pod.status.phase in {"Succeeded", "Failed"} for pod in pods):
                return "over"
            return why_no_gpus(pods) if pods else "nothing tells which pods it makes"
        return ""

    def _require_quota(self, told: Told, shape: Shape) -> None:
        if told.queue is None:
            return
        for tenant, cap in self._queues.caps(told.queue.tenant):
            if shape.size > cap:
                raise UnusableError(f"asks for more than the {cap} GPUs that {tenant!r} may use")


def _tier(told: Told, network: Network | None) -> str | None:
    """The level of HyperNodes within which a job must be."""
    if told.tier_name and network is not None and network.known(told.tier_name):
        return told.tier_name
    if told.tier is None:
        return None
    known = [int(n) for n in network.names if n.isdecimal()] if network else []
    tier = max((n for n in known if n <= (told.tier or 0)), default=None)
    return None if tier is None else str(tier)


def _weighted(jobs: Sequence[tuple[Told, Fields]]) -> list[Fields]:
    """Waiting jobs with weights from 1 to 100 by priority."""
    priorities = [told.priority for told, _ in jobs]
    low, high = min(priorities, default=0), max(priorities, default=0)
    for told, fields in jobs:
        if high > low and told.priority > low:
            fields["weight"] = 1 + round(99 * (told.priority - low) / (high - low))
    return [fields for _, fields in jobs]
