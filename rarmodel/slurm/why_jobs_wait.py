"""Why the jobs of a plan start no earlier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from rarmodel.model.usage_limits import limits_of_jobs, usage_limits
from rarmodel.schema import AnyAssignment, Instance, Job, Schedule


class Reasons:
    """Why jobs of a schedule start no earlier."""

    def __init__(
        self, instance: Instance, schedule: Schedule, ends: Mapping[str, int | None]
    ) -> None:
        self.instance, self.assignments, self.ends = instance, schedule.assignments, ends
        self.number = {job.name: j for j, job in enumerate(instance.jobs)}
        known = usage_limits(instance)
        self.limits = [
            [known[i] for i in uses if not known[i].of_tenant] for uses in limits_of_jobs(instance)
        ]
        self.ending: dict[int | None, list[AnyAssignment]] = defaultdict(list)
        for one in schedule.assignments:
            self.ending[ends.get(one.job)].append(one)

    def of(self, job: Job, own: AnyAssignment) -> str:
        """What ends just then on its servers, or what else it waits for; empty if it does not."""
        if own.start == 0:
            return ""
        if own.start == job.release:
            return "submitted then"
        if after := [one for one in job.after if self.ends.get(one) == own.start]:
            return f"after {', '.join(after)}"
        ending = self.ending[own.start]
        if lacking := self._lacking(own):
            return lacking
        if before := [one.job for one in ending if own.gpus.keys() & one.gpus.keys()]:
            return f"GPUs of {', '.join(before)}"
        reserved = self.instance.cluster.reservations
        away = [one for one in reserved if one.end == own.start and one.server in own.gpus]
        return f"until the end of: {away[0].reason}" if away else "other jobs go first"

    def _lacking(self, own: AnyAssignment) -> str:
        """A resource, such as a licence, of which too little was left a slot before, if any."""
        for limit in self.limits[self.number[own.job]]:
            users = [one for one in self.assignments if self.number[one.job] in limit.uses]
            before = own.start - 1
            capacity = limit.capacity(before)
            uses = (
                limit.uses[self.number[one.job]].at(sum(map(len, one.gpus.values())))
                for one in users
                if one is own or one.start <= before < (self.ends.get(one.job) or one.start + 1)
            )
            if capacity is not None and sum(uses) > capacity:
                ending = [one.job for one in users if self.ends.get(one.job) == own.start]
                return f"{limit.name} of {', '.join(ending)}" if ending else limit.name
        return ""
