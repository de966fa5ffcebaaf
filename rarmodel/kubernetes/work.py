"""What a job has to do: its duration, its profile, and the iterations that take so long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rarmodel.model import timing
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Instance
from rarmodel.schema.base import MAX_INTEGER
from rarmodel.workloads.found_profiles import Found, trained_models
from rarmodel.workloads.job_profile import Profile, slots_of_work
from rarmodel.workloads.measured_pressures import with_pressures

from .choices import Choices
from .profiles import annotated
from .told_jobs import Told

Fields = dict[str, Any]
"""A job of the model as plain data."""


class Work:
    """The work of the jobs of a reading, and what was assumed of it.

    Parameters
    ----------
    choices
        What to assume.
    now
        When slot 0 begins; None if nobody knows.
    overhead_ms
        What each server that a ring uses adds to its iteration.
    servers
        Servers of the cluster.
    notes
        Gets the jobs by what was assumed of them.
    """

    def __init__(
        self,
        choices: Choices,
        now: datetime | None,
        overhead_ms: float,
        servers: int,
        notes: Mapping[str, list[str]],
    ) -> None:
        self._choices, self._now, self._notes = choices, now, notes
        self._overhead_ms, self._servers = overhead_ms, servers
        self._profiles: dict[str, Found] = {}
        self._durations: dict[str, float] = {}
        self._limited: set[str] = set()
        self._idle: set[str] = set()

    def slots(self, seconds: float) -> int:
        """Slots that have so many seconds."""
        return math.ceil(round(seconds / self._choices.slot_seconds, 6))

    def at(self, moment: datetime | None) -> int:
        """The first slot that begins no earlier; 0 if the moment is not known."""
        if moment is None or self._now is None:
            return 0
        return self.slots((moment - self._now) / timedelta(seconds=1))

    def release(self, told: Told) -> int:
        """The slot in which a job was submitted: 0 or earlier."""
        return min(0, self.at(told.created))

    def duration(self, told: Told) -> float:
        """How long a job runs in its best placement, in seconds."""
        if told.name not in self._durations:
            self._durations[told.name] = self._estimate(told)
        return self._durations[told.name]

    def _estimate(self, told: Told) -> float:
        found = self._profile(told)
        if found.profile.seconds is not None:
            seconds, origin = found.profile.seconds, f"duration from {found.origin}"
        elif told.seconds is not None:
            seconds, origin = float(told.seconds), "duration from the time limit"
        else:
            seconds, origin = self._choices.default_seconds, "no time limit: the default duration"
        if found.profile.iterations is not None:
            origin = f"iterations of {found.origin}"
        if told.seconds is not None:  # Kubernetes ends it then.
            seconds = min(seconds, told.seconds)
            self._limited.add(told.name)
        self._notes[origin].append(told.name)
        return min(max(seconds, 1.0), 1e9)

    def _profile(self, told: Told) -> Found:
        if told.name not in self._profiles:
            self._profiles[told.name] = found = self._look_up(told)
            if found.fault:
                self._notes[f"annotation not used: {found.fault}"].append(told.name)
            if not found.origin and found.profile.exchanges:
                note = f"no profile: taken to train {self._choices.default_model}"
                self._notes[note].append(told.name)
            elif not found.profile.exchanges:
                self._notes["no profile, so they exchange nothing"].append(told.name)
        return self._profiles[told.name]

    def _look_up(self, told: Told) -> Found:
        """The profile of a job: its annotation's, that of the first rule that matches, the default.

        A profile that says only how long the job runs is filled with the default model.
        """
        profile, fault = annotated(told.annotations)
        origin, head = "its annotation", told.family.head
        if profile is None and self._choices.rules is not None:
            own = {
                "name": head.name,
                "namespace": head.namespace,
                "queue": told.queue_name,
                "kind": head.kind,
            }
            rules = self._choices.rules.profiles
            profile = next((rule.profile for rule in rules if rule.matches(**own)), None)
            origin = "the profiles"
        model = self._choices.default_model
        if profile is None:
            return Found(Profile(model=model), "", fault)
        if not profile.exchanges:
            profile = profile.model_copy(update={"model": model})
        return Found(profile, origin, fault)

    def content(self, told: Told, size: int, gpu_type: str) -> Fields:
        """Fields of a job's work, and whose it is; of its iterations, one for each slot so far."""
        profile = self._profile(told).profile
        if profile.exchanges:
            fields = profile.fields(size, gpu_type)
        else:
            fields = {"batch_size": 1, **self._slots_of_work()}
        fields |= {"name": told.name, "gpus": size, "iterations": self.slots(self.duration(told))}
        if release := self.release(told):
            fields["release"] = release
        if told.priority:
            fields["priority"] = told.priority
        if told.tenant:
            fields["tenant"] = told.tenant
        return fields

    def idle(self, told: Told, name: str, gpus: int, slots: int) -> Fields:
        """Fields of a job that only holds GPUs for so many slots: one for each iteration.

        Parameters
        ----------
        told, name
            The job of which the GPUs are, and the name of this part of it.
        gpus, slots
            How many, and for how long.
        """
        self._idle.add(name)
        fields: Fields = {"batch_size": 1, **self._slots_of_work()}
        fields |= {"name": name, "gpus": gpus, "iterations": slots}
        return fields | ({"tenant": told.tenant} if told.tenant else {})

    def on_part(self, told: Told, fields: Fields) -> Fields:
        """The fields of a job whose workers have a part of a GPU each.

        Quotas of parts are no quotas of GPUs, so a job of a queue with quotas has no tenant.
        """
        found = dict(fields)
        profile = self._profiles[told.name].profile if told.name in self._profiles else Profile()
        own = {"sensitivity": profile.sensitivity, "pressure": profile.pressure}
        note = "on parts of GPUs: taken to be as fast beside others, unless a profile tells"
        self._notes[f"{note} their sensitivity"].append(fields["name"])
        found |= {"slices": 1, "sensitivity": 0.0}
        found |= {name: number for name, number in own.items() if number is not None}
        if told.queue is not None and found.pop("tenant", None) is not None:
            note = "on parts of GPUs, of which quotas are not read: they have no tenant"
            self._notes[note].append(fields["name"])
        return found

    def _slots_of_work(self) -> Fields:
        return slots_of_work(self._choices.slot_seconds, self._overhead_ms, self._servers)

    def with_iterations(self, draft: Instance) -> Instance:
        """Jobs with a profile get the iterations that take their duration at their best speed.

        So far every job has an iteration for each slot of its duration.
        """
        jobs = []
        for job, (best, _) in zip(draft.jobs, iteration_ranges(draft), strict=True):
            found = None if job.name in self._idle else self._profiles[job.name]
            if found is None or not found.profile.exchanges:
                jobs.append(job)
                continue
            speed = timing.speed(draft.time.slot_seconds, best)
            if speed == 0:
                note = "an iteration is longer than a slot: they exchange nothing"
                self._notes[note].append(job.name)
                jobs.append(job.model_copy(update=self._slots_of_work()))
                continue
            iterations = min(speed * job.iterations, MAX_INTEGER)
            if (asked := found.profile.iterations) is not None:
                most = iterations if job.name in self._limited else asked
                iterations = min(asked, most)
            changes: Fields = {"iterations": iterations}
            if (running := job.running) is not None:
                done = min(speed * running.iterations_done, iterations - 1)
                changes["running"] = running.model_copy(update={"iterations_done": done})
            jobs.append(job.model_copy(update=changes))
        made = draft.model_copy(update={"jobs": tuple(jobs)})
        return with_pressures(made, trained_models(self._profiles))
