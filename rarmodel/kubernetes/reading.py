"""Turn a cluster's objects into an instance, with an account of every object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pydantic import ValidationError

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Instance
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.importer import DEFAULT_CONTENTION

from . import queues as queue_tenants
from .account import Account, Bookkeeper
from .choices import Choices
from .cluster import Objects, objects_of
from .cluster_account import Reading
from .jobs import families
from .network import Network
from .nodes import GpuNode
from .objects import Found
from .queues import Queues, queues_of
from .running_jobs import RunningJobs
from .schema import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, VolcanoQueue
from .told_jobs import told_of
from .used_nodes import gpu_nodes, used_cluster, used_network, used_nodes
from .waiting_jobs import WaitingJobs
from .work import Fields, Work


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
        self.queues: Queues = queues_of(
            [*self.read.of(ClusterQueue).values()],
            [*self.read.of(Cohort).values()],
            [*self.read.of(LocalQueue).values()],
            [*self.read.of(ResourceFlavor).values()],
            [*self.read.of(VolcanoQueue).values()],
        )
        contention = choices.contention
        self.contention = DEFAULT_CONTENTION if contention is None else contention.given()

    def reading(self) -> Reading:
        """The instance and its account."""
        read, books, notes = self.read, self.books, self.notes
        there = gpu_nodes(read, books, parts=self.choices.parts)
        resources = {name: node.resource for name, (_, node) in there.items()}
        told = [told_of(one, read, self.queues, resources) for one in families(read.metadata)]
        nodes = used_nodes(there, told, books, notes, self.name)
        overhead = self.contention["overhead_ms_per_server"]
        work = Work(self.choices, self.now, overhead, len(nodes), notes)
        network = used_network(read, nodes, self.choices.levels, books, notes)
        holding = RunningJobs(nodes, work, books, notes)
        running = [one for job in told for one in holding.of(job)]
        waiting = WaitingJobs(read, self.queues, nodes, network, work, books, notes).of(told)
        if not running and not waiting:
            raise InputError([Problem("", "no job with GPUs is left")], self.name)
        instance = work.with_iterations(self._draft([*running, *waiting], nodes, network))
        self._note_queues()
        return Reading(
            instance,
            self._account(),
            network.source if network else "",
            {note: [*names] for note, names in notes.items()},
        )

    def _account(self) -> Account:
        """What became of every object."""
        return self.books.account(
            self.found.objects,
            {
                "the same object again": tuple(key.called for key in self.found.repeated),
                "no object with kind and name": self.found.nameless,
            },
            self.found.total,
        )

    def _draft(
        self, fields: list[Fields], nodes: dict[str, GpuNode], network: Network | None
    ) -> Instance:
        """The instance, with an iteration for each slot of a job's duration."""
        time: Fields = {"slot_seconds": self.choices.slot_seconds}
        if self.now is not None:
            time["origin"] = self.now
        moment = "" if self.now is None else f" at {self.now.isoformat()}"
        cluster = used_cluster(nodes, network, self.choices.rates, self.name)
        try:
            return Instance.model_validate(
                {
                    "schema_version": 1,
                    "name": self.name,
                    "description": f"Jobs of a Kubernetes cluster{moment}",
                    "time": time,
                    "cluster": cluster,
                    "contention": self.contention,
                    "objective": self.choices.objective,
                    "tenants": self._tenants(fields),
                    "jobs": fields,
                }
            )
        except ValidationError as error:
            raise InputError(problems_of(error), self.name) from error

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
            used = {one.name for group in groups for one in group.flavors} & {*flavors}
            self.books.use(key, *(flavors[name] for name in used))
        clusters = {key.name for key in self.read.of(ClusterQueue)}
        for key, local in self.read.of(LocalQueue).items():
            if local.spec.cluster_queue in clusters:
                self.books.use(key)
            else:
                self.books.leave_out("its ClusterQueue is not in the files", key)
        self.books.use(*self.read.of(VolcanoQueue))
