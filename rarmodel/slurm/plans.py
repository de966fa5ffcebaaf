"""A plan for a queue, beside Slurm's own order: its jobs, who gains, and how it is told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from statistics import fmean
from typing import Any

from rarmodel.counting import counted
from rarmodel.duration import duration
from rarmodel.errors import listed
from rarmodel.methods import Result
from rarmodel.model.usage_limits import usage_limits
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.tabular import NONE, number
from rarmodel.workloads.job_profile import MIDDLE_MODEL

from .host_lists import folded
from .planned_jobs import Planned, schedule_of, waits_of


@dataclass(frozen=True)
class Plan:
    """A plan, beside Slurm's own order under the same model.

    Attributes
    ----------
    instance
        What was planned.
    result
        The plan, with its proven bound.
    slurm
        Slurm's own order.
    jobs
        The waiting jobs in order of start.
    conflicts
        Where jobs of the plan ask for more processors or memory than a node has, or run longer than
        Slurm lets them, a line each.
    left
        Jobs that cannot keep their deadlines beside the others: the plan does not have them.
    ended
        Jobs that Slurm's own order would start too late for their deadlines: Slurm ends them.
    caveats
        Why no bound is claimed, a sentence each; none if the bound says what it seems to.
    names
        Names of jobs in Slurm, by id; none if they are not told.
    assumed
        Jobs without a profile, for which rarmodel assumed one.
    remarks
        What Slurm cannot be told of the plan, a sentence each.
    """

    instance: Instance
    result: Result
    slurm: Result
    jobs: tuple[Planned, ...]
    conflicts: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def schedule(self) -> Schedule:
        """The plan as a schedule."""
        return schedule_of(self.result)

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """Slurm's own order, if it has a schedule, and the plan: for `plot` and `report`."""
        by_slurm = self.slurm.schedule
        return (*([by_slurm] if by_slurm else []), self.schedule)

    def named(self) -> tuple[Instance, tuple[Schedule, ...]]:
        """The instance and `schedules` for pictures, with Slurm's names behind the ids of jobs."""
        told = {job: f"{job} {name}" for job, name in self.names.items() if name}
        jobs = tuple(
            job.model_copy(
                update={
                    "name": told.get(job.name, job.name),
                    "after": tuple(told.get(one, one) for one in job.after),
                }
            )
            for job in self.instance.jobs
        )
        return self.instance.model_copy(update={"jobs": jobs}), tuple(
            schedule.model_copy(
                update={
                    "assignments": tuple(
                        one.model_copy(update={"job": told.get(one.job, one.job)})
                        for one in schedule.assignments
                    )
                }
            )
            for schedule in self.schedules
        )

    def rows(self) -> list[dict[str, str]]:
        """A row for each waiting job, as text; names and types only where they differ."""
        names = len({one.name for one in self.jobs}) > 1
        types = len({server.gpu_type for server in self.instance.cluster.servers}) > 1
        return [
            {
                "job": one.job,
                **({"name": one.name or NONE} if names else {}),
                "user": one.user or NONE,
                "GPUs": " + ".join(f"{n} on {folded(nodes)}" for n, nodes in _alike(one.told)),
                **({"type": ", ".join(one.gpu_types) or NONE} if types else {}),
                "starts": self._clock(one.start),
                "ends": self._clock(one.end),
                "by Slurm": NONE if one.by_slurm is None else self._clock(one.by_slurm),
                "waits": self._change(one),
                "why it waits": one.why or NONE,
            }
            for one in self.jobs
        ]

    def _change(self, one: Planned) -> str:
        """How much longer or shorter a job waits than in Slurm's order."""
        if one.by_slurm is None or one.by_slurm == one.start:
            return NONE
        seconds = self.instance.time.seconds(abs(one.start - one.by_slurm))
        return f"{duration(seconds)} {'longer' if one.start > one.by_slurm else 'less'}"

    def by_user(self) -> dict[str, float]:
        """By user, how many seconds less their jobs wait on average than in Slurm's order."""
        found: dict[str, list[float]] = defaultdict(list)
        for one in self.jobs:
            if one.by_slurm is not None:
                less = one.by_slurm - one.start
                found[one.user].append(self.instance.time.seconds(abs(less)) * (-1) ** (less < 0))
        return {user: fmean(several) for user, several in sorted(found.items()) if user}

    def waiting_longer(self) -> list[str]:
        """The jobs that wait longer than in Slurm's order, those that lose most first."""
        late = [(one.start - one.by_slurm, one) for one in self.jobs if one.by_slurm is not None]
        late = [pair for pair in late if pair[0] > 0]
        return [one.job for _, one in sorted(late, key=lambda pair: (-pair[0], pair[1].job))]

    def _fairness(self) -> Iterator[tuple[str, str]]:
        """Who gains and who loses, as names and values."""
        if (users := self.by_user()) and len(users) > 1:
            told = (
                f"{user} {duration(abs(less))} {'less' if less >= 0 else 'more'}"
                for user, less in users.items()
            )
            yield "mean wait by user", ", ".join(told)
        if longer := self.waiting_longer():
            yield "waiting longer", f"{counted(len(longer), 'job')} ({listed(longer)})"
        if self.assumed:
            told_of = f"{counted(len(self.assumed), 'job')}, taken to exchange as {MIDDLE_MODEL}"
            yield "no profile", told_of

    def head(self) -> list[str]:
        """Sentences to tell before anything else."""
        found = [f"{one}; so no gap is claimed" for one in self.caveats]
        found += self.remarks
        if self.left:
            told = "cannot keep their deadlines beside the others, and are left out"
            found.append(f"{counted(len(self.left), 'job')} {told} ({listed(self.left)})")
        return found

    def lines(self) -> dict[str, str]:
        """Gain and proven gap, as names and values."""
        mine, slurms = self._facts(self.result), self._facts(self.slurm)
        told = {
            name: f"{value} ({slurms.get(name, NONE)} by Slurm's order)"
            for name, value in mine.items()
        }
        goals = {goal.name: goal.told(self.instance.time) for goal in self.result.objective}
        if self.caveats:
            goals = {name: told.partition(" (at least")[0] for name, told in goals.items()}
        else:
            goals["gap"] = number(self.result.gap, ".2%")
        lines = {**told, "gain": self._gain(), **dict(self._fairness()), **goals}
        if used := "; ".join(self._most_used()):
            lines["resources"] = used
        if self.ended:
            lines["by Slurm's order"] = (
                f"{counted(len(self.ended), 'job')} would start too late for their deadlines, and "
                f"Slurm would end them ({listed(self.ended)})"
            )
        if self.conflicts:
            lines["does not fit"] = f"{self.conflicts[0]}; {len(self.conflicts)} such in all"
        return lines

    def summary(self) -> dict[str, Any]:
        """The plan as plain data."""
        return {
            "jobs": [
                {
                    "job": one.job,
                    "name": one.name or None,
                    "user": one.user or None,
                    "gpu_types": [*one.gpu_types],
                    "gpus": dict(one.gpus),
                    "slices": one.slices,
                    "start": one.start,
                    "end": one.end,
                    "starts": _iso(self.instance.time.moment(one.start)),
                    "ends": _iso(self.instance.time.moment(one.end)),
                    "wait_seconds": one.wait_seconds,
                    "why": one.why,
                    "by_slurm": one.by_slurm,
                }
                for one in self.jobs
            ],
            "plan": self.result.summary(),
            "slurm": self.slurm.summary(),
            "conflicts": [*self.conflicts],
            "left_out": [*self.left],
            "ended_by_slurm": [*self.ended],
            "caveats": [*self.caveats, *self.remarks],
            "waiting_longer": self.waiting_longer(),
            "seconds_less_by_user": self.by_user(),
            "no_profile": [*self.assumed],
            "mean_wait_seconds": self._mean_wait(self.result),
            "mean_wait_seconds_by_slurm": self._mean_wait(self.slurm),
        }

    def _most_used(self) -> Iterator[str]:
        """How much jobs use at once of each resource, such as a licence, at the most."""
        assignments = [one for one in self.schedule.assignments if isinstance(one, Assignment)]
        ends = self.result.report.completion if self.result.report else {}
        numbers = {job.name: j for j, job in enumerate(self.instance.jobs)}
        resources = {one.name: one for one in self.instance.resources}
        for limit in usage_limits(self.instance):
            changes = Counter[int]()
            for one in assignments:
                if (use := limit.uses.get(numbers[one.job])) is not None:
                    number = use.at(sum(map(len, one.gpus.values())))
                    changes[one.start] += number
                    changes[ends[one.job] or one.start + 1] -= number
            used = max(accumulate(changes[slot] for slot in sorted(changes)), default=0)
            if used and not limit.of_tenant:
                most = max(window.capacity for window in resources[limit.name].windows)
                yield f"{limit.name}: at most {limit.told(used)} of {most:.15g} at once"

    def _clock(self, slot: int) -> str:
        """A slot as a time of day, with the date if it is not that of slot 0."""
        time = self.instance.time
        if (moment := time.moment(slot)) is None or time.origin is None:
            return f"slot {slot}"
        form = "%H:%M:%S" if moment.date() == time.origin.date() else "%Y-%m-%d %H:%M:%S"
        return moment.strftime(form)

    def _mean_wait(self, result: Result) -> float | None:
        waits = [*waits_of(self.instance, result).values()]
        return fmean(waits) if waits else None

    def _facts(self, result: Result) -> dict[str, str]:
        if result.report is None or result.makespan is None:
            return {}
        wait = self._mean_wait(result)
        return {
            "mean wait": NONE if wait is None else duration(wait),
            "mean time to the end": duration(
                self.instance.time.seconds(fmean(_known(result.report.flow)))
            ),
            "last end": self._clock(result.makespan),
        }

    def headline(self) -> str:
        """The gain in a sentence; empty if there is nothing to compare."""
        own, others = self._mean_wait(self.result), self._mean_wait(self.slurm)
        if own is None or others is None:
            return ""
        if own == others:
            return f"The mean wait stays {duration(own)}."
        verb = "falls" if own < others else "rises"
        by = duration(abs(others - own))
        return f"The mean wait {verb} by {by}, from {duration(others)} to {duration(own)}."

    def _gain(self) -> str:
        """The gain in the user's terms."""
        own, others = self._mean_wait(self.result), self._mean_wait(self.slurm)
        if own is None or others is None:
            return NONE
        if own == others:
            return "none: the mean wait is that of Slurm's order"
        word = "less" if own < others else "more"
        part = f" ({abs(others - own) / others:.0%})" if others else ""
        return f"{duration(abs(others - own))} {word} waiting on average{part}"


def _alike(gpus: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Nodes with the same number of GPUs."""
    counts: dict[str, list[str]] = {}
    for name, count in gpus.items():
        counts.setdefault(count, []).append(name)
    return [*counts.items()]


def _known(slots: Mapping[str, int | None]) -> list[int]:
    return [one for one in slots.values() if one is not None]


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
