"""Turn a cluster's objects into an instance, with an account of every object."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError

from rarmodel.counting import counted
from rarmodel.errors import FEW, InputError, Problem, one_line
from rarmodel.schema import Cluster, Instance, TreeNetwork
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.cluster_rates import cluster_of
from rarmodel.workloads.importer import DEFAULT_CONTENTION

from . import queues as queue_tenants
from .account import Account, Bookkeeper
from .choices import Choices
from .cluster import Objects, objects_of
from .jobs import families
from .network import Network, network_of
from .node_choice import NodeChoice, UnusableError
from .nodes import GpuNode, by_number, gpu_node
from .objects import Found, Key
from .queues import Queues, queues_of
from .schema import (
    ClusterQueue,
    Cohort,
    HyperNode,
    LocalQueue,
    Node,
    Pod,
    ResourceFlavor,
    Topology,
    VolcanoQueue,
)
from .shapes import Shape, shape_of, with_gpus
from .standing import why_no_gpus
from .told_jobs import Told, told_of
from .work import Fields, Work

AT_THE_END = " (ending)"
"""Behind the name of a job whose pods are being deleted."""


class Reading(NamedTuple):
    """A cluster as an instance.

    Attributes
    ----------
    instance
        The instance; running jobs first, then the others as they wait: by priority and age.
    account
        What became of every object.
    network
        Where the network is from; empty for a star.
    notes
        Jobs, nodes and queues by what was assumed of them.
    """

    instance: Instance
    account: Account
    network: str
    notes: Mapping[str, Sequence[str]]

    def lines(self) -> list[str]:
        """The account in lines."""
        jobs, cluster = self.instance.jobs, self.instance.cluster
        running = sum(job.running is not None for job in jobs)
        return [
            one_line(
                f"{self.instance.name}: {counted(len(jobs), 'job')}, {running} running and "
                f"{len(jobs) - running} waiting; {counted(len(cluster.servers), 'server')}, "
                f"{counted(cluster.total_gpus, 'GPU')}"
            ),
            one_line(f"network: {self.network or 'nothing tells of it, so a star'}"),
            *self.account.lines(),
            *(_told(note, names) for note, names in self.notes.items() if names),
        ]

    def summary(self) -> dict[str, Any]:
        """The account as plain data."""
        origin = self.instance.time.origin
        return {
            "name": self.instance.name,
            "now": None if origin is None else origin.isoformat(),
            "jobs": [job.name for job in self.instance.jobs],
            "servers": [server.name for server in self.instance.cluster.servers],
            "network": self.network or None,
            **self.account.summary(),
            "notes": {note: [*names] for note, names in self.notes.items() if names},
        }


def _told(note: str, names: Sequence[str]) -> str:
    few = ", ".join(names[:FEW]) + (", …" if len(names) > FEW else "")
    return one_line(f"{len(names)} × {note} ({few})")


def reading_of(found: Found, choices: Choices, name: str) -> Reading:
    """Make an instance of a cluster's objects.

    A job's iterations are its greatest speed times its duration, so that it takes that duration
    alone in its best placement.

    Raises
    ------
    InputError
        If no node has GPUs that jobs can use, or no job is left.
    UsageError
        If slots are too short for the overhead of a ring.
    """
    return _Reader(found, choices, name).reading()


class _Reader:
    """A reading under way."""

    def __init__(self, found: Found, choices: Choices, name: str) -> None:
        self.found, self.choices, self.name = found, choices, name
        self.books = Bookkeeper()
        self.read: Objects = objects_of(found, self.books)
        self.now = choices.now or max(self.read.moments, default=None)
        self.notes: dict[str, list[str]] = defaultdict(list)
        self.nodes: dict[str, GpuNode] = {}
        self.queues: Queues = queues_of(
            [*self.read.of(ClusterQueue).values()],
            [*self.read.of(Cohort).values()],
            [*self.read.of(LocalQueue).values()],
            [*self.read.of(ResourceFlavor).values()],
            [*self.read.of(VolcanoQueue).values()],
        )
        self.next_gpu = Counter[str]()
        contention = choices.contention
        self.contention = DEFAULT_CONTENTION if contention is None else contention.given()

    def reading(self) -> Reading:
        """The instance and its account."""
        told = [told_of(one, self.read, self.queues) for one in families(self.read.metadata)]
        self._find_nodes(told)
        overhead = self.contention["overhead_ms_per_server"]
        self.work = Work(self.choices, self.now, overhead, len(self.nodes), self.notes)
        network = self._network()
        running = [one for job in told for one in self._running(job)]
        choice = NodeChoice(self.nodes)
        jobs = [(one, fields) for one in told if (fields := self._waiting(one, choice, network))]
        jobs.sort(key=lambda one: (-one[0].priority, self.work.release(one[0]), one[0].name))
        waiting = self._weighted(jobs)
        if not running and not waiting:
            raise InputError([Problem("", "no job with GPUs is left")], self.name)
        instance = self._instance([*running, *waiting], network)
        self._note_queues()
        account = self.books.account(
            self.found.objects,
            {
                "the same object again": tuple(key.called for key in self.found.repeated),
                "no object with kind and name": self.found.nameless,
            },
            self.found.total,
        )
        source = network.source if network else ""
        return Reading(instance, account, source, {n: [*v] for n, v in self.notes.items()})

    # Nodes ---------------------------------------------------------------------------------------

    def _find_nodes(self, told: Sequence[Told]) -> None:
        """Nodes with GPUs that jobs hold or may use, in the order of their names."""
        of_services, of_jobs = Counter[str](), Counter[str]()
        for job in told:
            held = Counter(job.standing.held) + Counter(job.standing.ending)
            (of_services if job.is_service else of_jobs).update(held)
        found: dict[str, tuple[Key, GpuNode]] = {}
        for key, node in self.read.of(Node).items():
            try:
                made = gpu_node(node)
            except ValueError as error:
                made = f"not as Kubernetes writes it: {error}"
            if isinstance(made, str):
                self.books.leave_out(key, made)
            else:
                found[key.name] = key, made
        for name in sorted(found, key=by_number):
            key, one = found[name]
            services, jobs = of_services[name], of_jobs[name]
            gpus = max(one.gpus, services + jobs) - services
            if one.away and not jobs:
                self.books.leave_out(key, f"{one.away}, and no job runs there")
            elif gpus == 0:
                self.books.leave_out(key, "services hold all its GPUs")
            else:
                self.books.use(key)
                self.nodes[name] = one._replace(gpus=gpus)
                if one.away:
                    self.notes[f"{one.away}: no further job starts there"].append(name)
                if services:
                    self.notes["services hold GPUs there, which are not in the instance"].append(
                        f"{name} ({services})"
                    )
                if one.parts:
                    self.notes["parts of GPUs there are not in the instance"].append(name)
        if not self.nodes:
            message = "no node has whole GPUs that jobs could use; nodes are needed, as "
            message += "`kubectl get nodes -o json` prints them"
            raise InputError([Problem("", message)], self.name)

    def _network(self) -> Network | None:
        topologies, hyper = self.read.of(Topology), self.read.of(HyperNode)
        network = network_of(
            {name: node.labels for name, node in self.nodes.items()},
            [*topologies.values()],
            [*hyper.values()],
            self.choices.levels,
        )
        source = "" if network is None else network.source
        for key in topologies:
            if source.endswith(f"topology {key.name!r}"):
                self.books.use(key)
        for key in hyper:
            if "HyperNodes" in source:
                self.books.use(key)
        if network is not None:
            depth = len(network.levels)
            below = [name for name, path in network.above.items() if len(path) < depth]
            if "HyperNodes" not in source:
                self.notes["lack labels of the network"] += below
        return network

    def _cluster(self, network: Network | None) -> Cluster:
        gpus = {name: node.gpus for name, node in self.nodes.items()}
        types = {name: node.gpu_type for name, node in self.nodes.items()}
        parents, level_of = network.tree("cluster") if network else (None, {})
        made = cluster_of(gpus, parents, self.choices.rates, self.name, types)
        if not isinstance(made.network, TreeNetwork) or not level_of:
            return made
        links = tuple(
            link.model_copy(update={"level": level_of[link.node]})
            if link.node in level_of
            else link
            for link in made.network.links
        )
        return made.model_copy(update={"network": made.network.model_copy(update={"links": links})})

    # Jobs ----------------------------------------------------------------------------------------

    def _use(self, told: Told) -> None:
        """Note that a job is in the instance, with all that tells of it."""
        for key in (*told.family.keys, *told.classes):
            if key in self.found.objects:
                self.books.use(key)

    def _leave_out(self, told: Told, reason: str) -> None:
        for key in told.family.keys:
            self.books.leave_out(key, reason)

    def _content(self, told: Told, size: int, gpu_type: str) -> Fields:
        """Fields of a job's work, and whose it is."""
        tenant = self._tenant(told)
        fields = self.work.content(told, size, gpu_type)
        return fields | ({"tenant": tenant} if tenant else {})

    def _tenant(self, told: Told) -> str | None:
        return told.queue.tenant if told.queue else told.family.head.namespace or None

    def _running(self, told: Told) -> list[Fields]:
        """The job, if it holds GPUs now; and once more, if pods of it are about to let go."""
        standing = told.standing
        if told.is_service:
            return []
        held, ending = dict(standing.held), Counter(standing.ending)
        if told.ended or told.deleted:
            held, ending = {}, ending + Counter(held)
        made = []
        unknown = sorted({*held, *ending} - {*self.nodes})
        known = {name: count for name, count in held.items() if name in self.nodes}
        ending = Counter({name: n for name, n in ending.items() if name in self.nodes})
        if unknown and not known and not ending:
            self._leave_out(told, f"runs on {unknown[0]!r}, which is left out or not in the files")
            return []
        if known and len(known) < len(held):
            note = (
                "some of their nodes are left out: on the others they hold GPUs, without exchange"
            )
            self.notes[note].append(told.name)
            slots = self.work.slots(self.work.duration(told))
            made.append(self._idle_ring(told, known, "", slots))
            self._use(told)
        elif known:
            made.append(self._holding(told, known))
            self._use(told)
        if ending:
            fields = self._idle_ring(told, ending, AT_THE_END if not told.ended else "", 1)
            self.notes["about to let their GPUs go: they hold them for a slot"].append(
                fields["name"]
            )
            made.append(fields)
            self._use(told)
        return made

    def _holding(self, told: Told, held: Mapping[str, int]) -> Fields:
        """A job that holds GPUs now: a ring, or what there is of one that lacks pods."""
        standing = told.standing
        try:
            wanted = sum(one.number for one, _ in with_gpus(told.pods)) if told.expects else 0
        except UnusableError:
            wanted = 0
        lacks = standing.placed + standing.over < wanted or (not wanted and standing.waiting)
        slots = self.work.slots(self.work.duration(told))
        if lacks:
            note = "some of their pods lack GPUs: the others hold theirs, and exchange nothing"
            self.notes[note].append(told.name)
            return self._idle_ring(told, held, "", slots)
        if told.why_not:
            self.notes[f"held as one ring, though {told.why_not}"].append(told.name)
        size, first = sum(held.values()), next(iter(held))
        fields = self._content(told, size, self.nodes[first].gpu_type)
        passed = 0 if standing.started is None else -self.work.at(standing.started)
        if passed >= slots:
            self.notes["past their duration: one slot more"].append(told.name)
        left = max(1, slots - passed)
        fields["iterations"] = max(slots, left)
        done = fields["iterations"] - left
        fields["running"] = {"gpus": self._numbered(held), "iterations_done": done}
        return fields

    def _idle_ring(self, told: Told, held: Mapping[str, int], suffix: str, slots: int) -> Fields:
        """Pods that hold GPUs for so many slots, and exchange nothing."""
        name = told.name + suffix
        tenant = self._tenant(told)
        return {
            "name": name,
            "gpus": sum(held.values()),
            "iterations": slots,
            **self.work.idle(name),
            "running": {"gpus": self._numbered(held), "iterations_done": 0},
        } | ({"tenant": tenant} if tenant else {})

    def _numbered(self, held: Mapping[str, int]) -> dict[str, list[int]]:
        """Indices of GPUs: pods do not tell which they have, so they are numbered in turn."""
        found = {}
        for name, count in held.items():
            first = self.next_gpu[name]
            self.next_gpu[name] += count
            found[name] = [*range(first, first + count)]
        return found

    def _waiting(self, told: Told, choice: NodeChoice, network: Network | None) -> Fields | None:
        """The job, if it waits for GPUs and the model can hold it."""
        standing = told.standing
        if standing.held and not (told.ended or told.deleted):
            if told.is_service:
                for key in told.family.keys:
                    if key in self.found.objects:
                        self.books.use(key)
            return None
        if reason := self._why_not_waiting(told):
            self._leave_out(told, reason)
            return None
        queue = told.queue
        try:
            shape = shape_of(
                told.pods,
                choice,
                network,
                None if queue is None else queue.flavors,
                self._tier(told, network),
            )
            self._require_quota(told, shape)
        except UnusableError as error:
            self._leave_out(told, str(error))
            return None
        kind = self.nodes[shape.nodes[0]].gpu_type
        fields = self._content(told, shape.size, kind)
        if len(shape.nodes) < len(self.nodes):
            fields["servers"] = [*shape.nodes]
        if shape.spread:
            fields["spread"] = dict(shape.spread)
        if shape.forgiven:
            self.notes["a taint for GPUs is taken to be tolerated"].append(told.name)
        if shape.narrowed:
            self.notes["their pods are on equal parts of nodes"].append(told.name)
        self._use(told)
        return fields

    def _why_not_waiting(self, told: Told) -> str:
        """Why a job without pods on nodes does not wait for any; empty if it does."""
        all_pods = self.read.of(Pod)
        pods = [all_pods[key] for key in told.family.keys if key in all_pods]
        if told.ended:
            return "over"
        if told.deleted:
            return "being deleted"
        if told.why_not:
            return told.why_not
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

    def _tier(self, told: Told, network: Network | None) -> str | None:
        """The level of HyperNodes within which a job must be."""
        if told.tier_name and network is not None and network.known(told.tier_name):
            return told.tier_name
        if told.tier is None:
            return None
        known = [int(n) for n in network.names if n.isdecimal()] if network else []
        tier = max((n for n in known if n <= (told.tier or 0)), default=None)
        return None if tier is None else str(tier)

    def _require_quota(self, told: Told, shape: Shape) -> None:
        if told.queue is None:
            return
        for tenant, cap in self.queues.caps(told.queue.tenant):
            if shape.size > cap:
                raise UnusableError(f"asks for more than the {cap} GPUs that {tenant!r} may use")

    def _weighted(self, jobs: Sequence[tuple[Told, Fields]]) -> list[Fields]:
        """Waiting jobs with weights from 1 to 100 by priority."""
        priorities = [told.priority for told, _ in jobs]
        low, high = min(priorities, default=0), max(priorities, default=0)
        for told, fields in jobs:
            if high > low and told.priority > low:
                fields["weight"] = 1 + round(99 * (told.priority - low) / (high - low))
        return [fields for _, fields in jobs]

    # Instances -----------------------------------------------------------------------------------

    def _instance(self, fields: list[Fields], network: Network | None) -> Instance:
        tenants = self._tenants(fields)
        time: Fields = {"slot_seconds": self.choices.slot_seconds}
        if self.now is not None:
            time["origin"] = self.now
        moment = "" if self.now is None else f" at {self.now.isoformat()}"
        try:
            draft = Instance.model_validate(
                {
                    "schema_version": 1,
                    "name": self.name,
                    "description": f"Jobs of a Kubernetes cluster{moment}",
                    "time": time,
                    "cluster": self._cluster(network),
                    "contention": self.contention,
                    "objective": self.choices.objective,
                    "tenants": tenants,
                    "jobs": fields,
                }
            )
        except ValidationError as error:
            raise InputError(problems_of(error), self.name) from error
        return self.work.with_iterations(draft)

    def _tenants(self, fields: Sequence[Fields]) -> list[Fields]:
        """Tenants of the jobs, and all queues; namespaces have no caps."""
        known = self.queues.tenants
        others = sorted({one["tenant"] for one in fields if "tenant" in one} - {*known})
        rows = queue_tenants.rows(known.values())
        return rows + [{"name": name} for name in others]

    def _note_queues(self) -> None:
        """Queues and what they rest on are used: they are tenants."""
        flavors = {key.name: key for key in self.read.of(ResourceFlavor)}
        queues = {key: one.spec.resource_groups for key, one in self.read.of(ClusterQueue).items()}
        queues |= {key: one.spec.resource_groups for key, one in self.read.of(Cohort).items()}
        for key, groups in queues.items():
            self.books.use(key)
            for name in {one.name for group in groups for one in group.flavors} & {*flavors}:
                self.books.use(flavors[name])
        clusters = {key.name for key in self.read.of(ClusterQueue)}
        for key, local in self.read.of(LocalQueue).items():
            if local.spec.cluster_queue in clusters:
                self.books.use(key)
            else:
                self.books.leave_out(key, "its ClusterQueue is not in the files")
        for key in self.read.of(VolcanoQueue):
            self.books.use(key)
