"""What a job of Slurm has to do: duration, profile, and the iterations that take so long."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from rarmodel.model import timing
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Instance, Job
from rarmodel.workloads.found_profiles import Found, trained_models
from rarmodel.workloads.job_profile import slots_of_work
from rarmodel.workloads.measured_pressures import with_pressures

from .expected_durations import Estimate, History, estimate_of
from .job_profiles import ASSUMED, profile_for
from .jobs_to_plan import Notes
from .queue import Queue
from .queue_account import NO_PROFILE
from .queue_choices import Choices
from .ring_parts import Speeds
from .slot_times import SlotTimes
from .slurm_jobs import SlurmJob

Fields = dict[str, Any]
"""A job of the model as plain data."""


class JobWork:
    """The work of the jobs of a reading, and what was assumed of it.

    Parameters
    ----------
    queue, choices
        The queue, and what to assume.
    times
        Slots of moments and lengths.
    history
        Earlier runs.
    outranked
        Partitions whose jobs must be taken to last until their time limits.
    speeds
        How fast types of GPU are; none if that is not known.
    overhead_ms
        What each server that a ring uses adds to its iteration.
    notes
        Gets the jobs by what was assumed of them.
    """

    def __init__(
        self,
        queue: Queue,
        choices: Choices,
        times: SlotTimes,
        history: History,
        outranked: Container[str],
        speeds: Speeds,
        overhead_ms: float,
        notes: Notes,
    ) -> None:
        self._queue, self._choices, self._times = queue, choices, times
        self._history, self._outranked, self._speeds = history, outranked, speeds
        self._overhead_ms, self._notes = overhead_ms, notes
        self._estimates: dict[str, Estimate] = {}
        self._profiles: dict[str, Found] = {}
        self._without_exchange = set[str]()

    def seconds(self, job: SlurmJob) -> float:
        """How long a job runs in its best placement."""
        return self._estimate(job).seconds

    def _estimate(self, job: SlurmJob) -> Estimate:
        if job.id not in self._estimates:
            found = self._profiles[job.id] = profile_for(job, self._choices.rules)
            lasts = any(name in self._outranked for name in job.partitions)
            default = self._choices.default_seconds
            self._estimates[job.id] = estimate_of(job, found, self._history, default, lasts=lasts)
        return self._estimates[job.id]

    def _noted_estimate(self, job: SlurmJob) -> Estimate:
        """The same, told in the account."""
        estimate, found = self._estimate(job), self._profiles[job.id]
        if found.fault:
            self._notes[f"comment not used: {found.fault}"].append(job.id)
        by_iterations = found.profile.iterations is not None
        origin = f"iterations of {found.origin}" if by_iterations else estimate.origin
        self._notes[f"duration from {origin}"].append(job.id)
        return estimate

    def content(
        self, job: SlurmJob, size: int, kinds: Iterable[str], *, moldable: bool, is_local: bool
    ) -> Fields:
        """Fields of a job's work; of its iterations, one for each slot so far.

        Parameters
        ----------
        job, size, kinds
            The job, its least ring, and the types of GPU that it may have.
        moldable
            Whether it may have several ring sizes.
        is_local
            Whether it stays on one node and one type of GPU: then no exchange matters.
        """
        slots = self._times.slots(self._noted_estimate(job).seconds)
        profile = self._profiles[job.id].profile
        of_types = sorted(kinds)
        if profile.exchanges:
            fastest = max(of_types, key=lambda one: self._speeds.get(one, 0))
            fields = profile.fields(size, fastest)
        elif is_local:
            fields = {"batch_size": 1, **self._slots_of_work()}
            self._without_exchange.add(job.id)
        else:
            fields = {**ASSUMED}
            self._notes[NO_PROFILE].append(job.id)
        if moldable:
            fields["global_batch_size"] = fields.pop("batch_size") * size
        if self.differs(of_types):
            fields |= self._by_type(fields, of_types)
        return {"name": job.id, **fields, "iterations": slots, "tenant": job.user or None}

    def beside_others(self, job: SlurmJob) -> Fields:
        """What its profile tells of how jobs slow each other down on a GPU."""
        self._estimate(job)
        profile = self._profiles[job.id].profile
        told = {"sensitivity": profile.sensitivity, "pressure": profile.pressure}
        return {name: number for name, number in told.items() if number is not None}

    def differs(self, kinds: Iterable[str]) -> bool:
        """Whether the speeds of some types of GPU are known to differ."""
        return bool(self._speeds) and len({*kinds}) > 1

    def _by_type(self, fields: Fields, kinds: Iterable[str]) -> Fields:
        """Compute times by type of GPU in place of those on the fastest one."""
        plain = {key: fields.pop(key) for key in ("forward_ms_per_sample", "backward_ms")}
        most = max(self._speeds[kind] for kind in kinds)
        return {
            "times": {
                kind: {key: most / self._speeds[kind] * ms for key, ms in plain.items()}
                for kind in kinds
            }
        }

    def _slots_of_work(self) -> Fields:
        """An iteration that exchanges nothing, and takes a slot on any number of servers."""
        return slots_of_work(self._choices.slot_seconds, self._overhead_ms, len(self._queue.nodes))

    def with_iterations(self, draft: Instance) -> Instance:
        """Jobs with a profile get the iterations that take their duration at their best speed.

        So far every job has an iteration for each slot of its duration.
        """
        if self._without_exchange >= {job.name for job in draft.jobs}:
            return draft
        jobs = []
        for job, (best, _) in zip(draft.jobs, iteration_ranges(draft), strict=True):
            speed = timing.speed(draft.time.slot_seconds, best)
            if job.name in self._without_exchange:
                jobs.append(job)
            elif speed == 0:
                note = "an iteration is longer than a slot: they exchange nothing"
                self._notes[note].append(job.name)
                jobs.append(job.model_copy(update=self._slots_of_work()))
            else:
                jobs.append(self._at_speed(job, speed))
        made = draft.model_copy(update={"jobs": tuple(jobs)})
        return with_pressures(made, trained_models(self._profiles))

    def _at_speed(self, job: Job, speed: int) -> Job:
        """A job that does so many iterations in a slot of its duration."""
        iterations = speed * job.iterations
        if (asked := self._profiles[job.name].profile.iterations) is not None:
            limit = self._queue.jobs[job.name].seconds("TimeLimit")  # Slurm ends it then.
            iterations = min(asked, asked if limit is None else iterations)
        changes: Fields = {"iterations": iterations}
        if job.deadline is not None:
            shorter = job.iterations - -(-iterations // speed)
            changes["deadline"] = job.deadline - shorter
        if (running := job.running) is not None:
            done = min(speed * running.iterations_done, iterations - 1)
            changes["running"] = running.model_copy(update={"iterations_done": done})
        return job.model_copy(update=changes)
