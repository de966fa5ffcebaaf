"""Turn a queue into an instance, with an account of every job."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from rarmodel.errors import InputError, NoScheduleError, Problem
from rarmodel.schema import Cluster, Instance
from rarmodel.schema.problems import problems_of
from rarmodel.workloads.cluster_rates import cluster_of
from rarmodel.workloads.importer import DEFAULT_CONTENTION

from .caveats import PREEMPTION, SHARDS
from .chosen_parts import ChosenParts
from .expected_durations import History, history_of
from .giving_way import without_given
from .gpu_limits import GpuLimits, held_outside
from .job_fields import JobFields
from .job_work import Fields, JobWork
from .jobs_to_plan import jobs_to_plan
from .licences import LicencesLeft
from .preemption import outranked
from .queue import Queue, of_partition, queue_of
from .queue_account import Reading
from .queue_choices import Choices
from .requests import by_number
from .ring_parts import speeds_of
from .slot_times import SlotTimes
from .slurm_jobs import SlurmJob, holds_shards
from .unavailable_gpus import Expected, away, expected_by_slurm


def read(outputs: Mapping[str, str], choices: Choices | None = None) -> Reading:
    """Make an instance from Slurm's outputs, by name as in `outputs.COMMANDS`.

    A job's iterations are its greatest speed times its duration, so that it takes that duration
    alone in its best placement. A job without a profile exchanges as `ASSUMED`.

    Raises
    ------
    InputError
        If an output is not what Slurm prints, or no job can be used.
    UsageError
        If a choice is invalid.
    """
    choices = choices or Choices()
    return _Reader(queue_of(outputs), history_of(outputs.get("sacct", "")), choices).reading()


class _Reader:
    """A reading under way."""

    def __init__(self, queue: Queue, history: History, choices: Choices) -> None:
        self.choices = choices
        self.notes: dict[str, list[str]] = defaultdict(list)
        inside = of_partition(queue, choices.partition)
        speeds = speeds_of(inside, choices.gpu_speeds)
        self.parts = ChosenParts(inside, choices, speeds, self.notes)
        self.jobs = jobs_to_plan(inside, choices, self.notes)
        self.queue = self.jobs.queue
        # Jobs of other partitions hold licences, too.
        self.everywhere = [*without_given(queue, self.jobs.given).jobs.values()]
        origin = choices.origin or queue.now
        self.times = SlotTimes(origin, queue.now, choices.slot_seconds, choices.default_seconds)
        self.licences, self.limits = LicencesLeft(queue.licences), GpuLimits(queue)
        contention = choices.contention
        self.contention = DEFAULT_CONTENTION if contention is None else contention.given()
        self.work = JobWork(
            self.queue,
            choices,
            self.times,
            history,
            outranked(self.queue, self.jobs.mine),
            speeds,
            self.contention["overhead_ms_per_server"],
            self.notes,
        )
        pending = (job for job in queue.jobs.values() if job.state == "PENDING")
        self.fields = JobFields(
            self.queue,
            self.times,
            self.work,
            self.parts,
            self.licences,
            self.limits,
            self.jobs.given,
            frozenset(job.priority for job in pending if not job.is_held),
            self.notes,
        )

    def reading(self) -> Reading:
        """The instance and its account."""
        given, running, planned = self.jobs.given, self.jobs.running, self.jobs.planned
        self._take_held({job.id for job in running})
        fields = [self.fields.running(job) for job in running]
        for of_job, job in zip(fields, running, strict=True):
            left = of_job["iterations"] - of_job["running"]["iterations_done"]
            self.parts.load(job.held, of_job["gpus"] * left * self.choices.slot_seconds)
        cluster = self._with_reservations(self._cluster())
        if self.choices.around:
            urgent = {one.to for one in given.values()}
            first = [job for job in planned if job.id in urgent]
            cluster = self._around(cluster, fields, [*first, *self.jobs.others])
        known = by_number([*running, *planned])
        fields += [one for job in planned if (one := self.fields.waiting(job, known))]
        instance = self._instance(fields, cluster)
        used = {job.name for job in instance.jobs}
        return Reading(
            instance=instance,
            queue=self.queue,
            mine=tuple(job.id for job in self.jobs.mine if job.id in used),
            others=tuple(job.id for job in self.jobs.others),
            notes={note: [*dict.fromkeys(ids)] for note, ids in self.notes.items()},
            given=given,
        )

    def _take_held(self, inside: set[str]) -> None:
        """Keep from the jobs of the instance the licences and limits that others hold."""
        self.licences.take_held(self.everywhere, inside, self.times.held_until)
        for job, gpus in held_outside(self.everywhere, inside):
            counted = self.limits.counted(job, gpus)
            self.limits.take(counted, 0, self.times.held_until(job))

    def _around(self, cluster: Cluster, fields: list[Fields], others: list[SlurmJob]) -> Cluster:
        """The cluster, with the GPUs that jobs will hold which only Slurm places.

        Before these go the urgent jobs to which others give way; they are planned, and so only
        keep the others from the room that they get.
        """
        urgent = {one.to for one in self.jobs.given.values()}
        if all(job.id in urgent for job in others):
            return cluster
        known = by_number([*self.jobs.running, *others])
        waiting = [one for job in others if (one := self.fields.waiting(job, known))]
        for placed in waiting:
            placed.pop("deadline", None)  # Slurm's order does not know it.
        if not waiting:
            return cluster
        first = self._instance(fields + waiting, cluster)
        names = {one["name"] for one in waiting} & {job.name for job in first.jobs} - urgent
        try:
            expected = [one for one in expected_by_slurm(first) if one.job not in urgent]
            cluster = self._with_reservations(self._cluster(), expected)
            asked = {one["name"]: one for one in waiting}
            for other in expected:
                wanted, slots = asked[other.job], (other.start, other.end)
                self.licences.take(wanted.get("resources", {}), *slots)
                gpus = sum(map(len, other.gpus.values()))
                each = wanted.get("resources_per_gpu", {})
                self.limits.take({name: gpus * n for name, n in each.items()}, *slots)
            note = "not held: planned around, where Slurm is expected to start them"
        except NoScheduleError:
            note = "not held, and not planned around: they can never all run"
        self.notes[note] = [job.id for job in others if job.id in names]
        return cluster

    def _with_reservations(self, bare: Cluster, expected: Sequence[Expected] = ()) -> Cluster:
        found = away(self.queue, self.choices, self.times.origin, expected)
        if not found:
            return bare
        return Cluster.model_validate(
            {**bare.model_dump(exclude_unset=True), "reservations": found}
        )

    def _cluster(self) -> Cluster:
        nodes = self.queue.nodes
        return cluster_of(
            {name: node.gpus for name, node in nodes.items()},
            self.queue.parents,
            self.choices.rates,
            self.queue.name,
            {name: node.gpu_type for name, node in nodes.items()},
            {name: node.slices for name, node in nodes.items()},
        )

    def _instance(self, fields: list[Fields], cluster: Cluster) -> Instance:
        """The instance of these jobs, without those that it cannot hold."""
        while True:
            if not fields:
                raise InputError([Problem("", "no job with GPUs is left")], self.queue.name)
            time = {"slot_seconds": self.choices.slot_seconds, "origin": self.times.origin}
            try:
                draft = Instance.model_validate(
                    {
                        "schema_version": 1,
                        "name": self.queue.name,
                        "description": self._description({one["name"] for one in fields}),
                        "time": time,
                        "cluster": cluster,
                        "contention": self.contention,
                        "objective": self.choices.objective,
                        **self._resources_for(fields),
                        "tenants": [{"name": user} for user in _users(fields)],
                        "jobs": fields,
                    }
                )
                break
            except ValidationError as error:
                fields = self._without(fields, problems_of(error))
        return self.work.with_iterations(draft)

    def _resources_for(self, fields: list[Fields]) -> Fields:
        """Licences and limits on GPUs, if jobs have some."""
        found = self.licences.resources_for(fields) + self.limits.resources_for(fields)
        return {"resources": found} if found else {}

    def _description(self, jobs: set[str]) -> str:
        preempts = f". {PREEMPTION} ({self.queue.preempts})" if self.queue.preempts else ""
        waiting = (job for job in self.jobs.planned if job.id in jobs)
        shards = [SHARDS] if any(map(holds_shards, waiting)) else []
        told = "".join(f". {one}" for one in [*self.parts.caveats(jobs), *shards])
        return f"Slurm's queue at {self.queue.now.isoformat()}{preempts}{told}"

    def _without(self, fields: list[Fields], problems: Iterable[Problem]) -> list[Fields]:
        """The jobs but those with problems, which the account names."""
        reasons: dict[int, str] = {}
        for place, message in problems:
            if not (found := re.match(r"jobs\[(\d+)\]", place)):
                raise InputError([*problems], self.queue.name)
            reasons.setdefault(int(found[1]), message)
        for i, reason in reasons.items():
            self.notes[f"left out: {reason}"].append(fields[i]["name"])
        return [one for i, one in enumerate(fields) if i not in reasons]


def _users(fields: Iterable[Fields]) -> list[str]:
    """The users whose jobs they are: tenants without caps."""
    return sorted({one["tenant"] for one in fields if one["tenant"] is not None})
