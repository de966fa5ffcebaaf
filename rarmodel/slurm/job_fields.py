"""Jobs of a queue as jobs of the model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .chosen_parts import ChosenParts
from .end_times import latest_start
from .giving_way import Given, rank
from .gpu_limits import GpuLimits
from .job_work import Fields, JobWork
from .jobs_to_plan import Notes
from .licences import LicencesLeft
from .queue import Queue
from .requests import UnusableError, predecessors, request_of, shape_of, throttled
from .slot_times import SlotTimes
from .slurm_jobs import SlurmJob
from .slurm_values import value

MOST_RANKS = 2
"""Most steps by which the tiers of jobs multiply their weights."""


class JobFields:
    """Jobs of a queue as plain data of the model's jobs.

    Parameters
    ----------
    queue
        The queue as it is when running jobs have given way.
    times, work, parts
        Slots, the work of jobs, and the parts of the cluster.
    licences, limits
        What is left of licences and of limits on GPUs.
    given
        The running jobs that gave way.
    priorities
        Priorities of all waiting jobs that are not held.
    notes
        Gets the jobs by what was assumed of them, or by why they are left out.
    """

    def __init__(
        self,
        queue: Queue,
        times: SlotTimes,
        work: JobWork,
        parts: ChosenParts,
        licences: LicencesLeft,
        limits: GpuLimits,
        given: Mapping[str, Given],
        priorities: frozenset[int],
        notes: Notes,
    ) -> None:
        self._queue, self._times, self._work, self._parts = queue, times, work, parts
        self._licences, self._limits = licences, limits
        self._given, self._priorities, self._notes = given, priorities, notes
        ranks = sorted({rank(queue, job) for job in queue.jobs.values()})
        self._importance = {one: min(i, MOST_RANKS) for i, one in enumerate(ranks)}

    def running(self, job: SlurmJob) -> Fields:
        """The model's job for one that holds GPUs."""
        times = self._times
        size = sum(map(len, job.held.values()))
        kind = self._queue.nodes[next(iter(job.held))].gpu_type
        fields = self._work.content(job, size, [kind], moldable=False, is_local=len(job.held) == 1)
        fields |= self._shared(job, size, job.counted_gpus)
        if job.slices:
            fields |= self._of_slices(job, job.slices)
        estimate, begun = self._work.seconds(job), job.moment("StartTime") or times.origin
        passed = times.since_origin(times.now)
        left = times.slots(estimate - (times.origin - begun).total_seconds())
        if job.state == "COMPLETING":
            left = math.floor(passed) + 1
        elif (times.now - begun).total_seconds() >= estimate:
            left = math.ceil(passed) + 1
            self._notes["past their estimate: one slot more"].append(job.id)
        left = max(left, 1)
        held = {name: list(indices) for name, indices in job.held.items()}
        running = {"gpus": held, "iterations_done": max(0, fields["iterations"] - left)}
        fields |= {"gpus": size, "iterations": max(left, fields["iterations"]), "running": running}
        return fields | ({"release": r} if (r := times.release(job)) else {})

    def waiting(self, job: SlurmJob, known: Mapping[str, Sequence[str]]) -> Fields | None:
        """The model's job for one that waits; None if it is left out, and then it is noted why.

        Parameters
        ----------
        job
            The job.
        known
            The ids of jobs by their number, for those that it follows.
        """
        try:
            request = request_of(job, self._queue)
            request = self._parts.of(job, request, self._work.seconds(job))
            after = [*predecessors(job, known), *throttled(job, known)]
            latest = self._latest(job)
            self._require_resources(job, request.counted_gpus)
        except UnusableError as error:
            self._notes[f"left out: {error}"].append(job.id)
            return None
        kinds = {self._queue.nodes[name].gpu_type for name in request.nodes}
        size, moldable = request.sizes[0], len(request.sizes) > 1
        of_one_node = 1 in {request.most_nodes, max(request.sizes)}
        is_local = of_one_node and not self._work.differs(kinds)
        fields = self._work.content(job, size, kinds, moldable=moldable, is_local=is_local)
        fields |= self._shared(job, size, request.counted_gpus)
        fields |= shape_of(request, self._queue)
        if request.part is not None:
            fields |= self._of_slices(job, request.part.number)
        if release := self._times.release(job):
            fields["release"] = release
        if latest is not None:  # A run takes its iterations at least, so it starts by then.
            fields["deadline"] = latest + fields["iterations"]
        if (given := self._given.get(job.id)) is not None and "REQUEUE" in given.mode:
            after = [*after, given.to]
        if after:
            fields["after"] = after
        if (weight := self._weight(job)) > 1:
            fields["weight"] = weight
        if deadline := job.moment("Deadline"):
            fields["due"] = math.floor(self._times.since_origin(deadline))
        return fields

    def _of_slices(self, job: SlurmJob, slices: int) -> Fields:
        """The fields of a job that has parts of GPUs."""
        note = "on parts of GPUs: taken to be as fast beside others, unless a profile tells"
        self._notes[f"{note} their sensitivity"].append(job.id)
        return {"slices": slices, "sensitivity": 0.0, **self._work.beside_others(job)}

    def _shared(self, job: SlurmJob, size: int, counted: int) -> Fields:
        """The resources of a job: licences, and limits on GPUs that it shares with others.

        Parameters
        ----------
        job, size
            The job, and its GPUs in the instance.
        counted
            How many GPUs Slurm counts.
        """
        resources, per_gpu = self._licences.of(job), dict[str, int]()
        if resources:
            self._notes["their licences are resources of the instance"].append(job.id)
        if limits := self._limits.counted(job, counted):
            each = counted // size
            per_gpu = {name: each for name, number in limits.items() if number == counted}
            resources |= {name: n for name, n in limits.items() if n != counted}
            self._notes["limits of QOS and associations are resources"].append(job.id)
        if job.state == "PENDING" and self._limits.evaded(job):
            note = "name no type of GPU: Slurm starts them whatever its limits on types, and counts"
            self._notes[f"{note} their GPUs against these"].append(job.id)
        for name in self._licences.unknown_to(job):
            note = f"licence {name!r} is not one that Slurm lists, so it is not planned"
            self._notes[note].append(job.id)
        found = {"resources": resources, "resources_per_gpu": per_gpu}
        return {key: uses for key, uses in found.items() if uses}

    def _latest(self, job: SlurmJob) -> int | None:
        """The last slot in which a job may start, for its deadline; None without one."""
        latest = latest_start(job, self._work.seconds(job))
        if latest is None:
            return None
        if value(job.record, "Licenses") and not self._licences.are_all_known(job):
            raise UnusableError("asks for licences, for which it may wait past its deadline")
        slot = math.floor(self._times.since_origin(latest))
        if slot < max(0, self._times.release(job)):
            raise UnusableError(
                "its time limit would end past its deadline (--deadline), or in the minute before, "
                "and Slurm ends such a job unrun; give it a shorter limit or a later deadline"
            )
        return slot

    def _require_resources(self, job: SlurmJob, gpus: int) -> None:
        if lacking := self._licences.lacking(job) or self._limits.lacking(job, gpus):
            raise UnusableError(lacking)

    def _weight(self, job: SlurmJob) -> int:
        """Held jobs have weight 1; priorities of the others are scaled to 1 … 100.

        Jobs of a higher tier weigh a hundred times as much, as Slurm goes by tiers first.
        """
        tier: int = 100 ** self._importance.get(rank(self._queue, job), 0)
        if job.is_held or len(self._priorities) < 2:
            return tier
        low, high = min(self._priorities), max(self._priorities)
        return tier * (1 + round(99 * (min(high, max(low, job.priority)) - low) / (high - low)))
