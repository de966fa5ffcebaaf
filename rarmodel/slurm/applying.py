"""Compare a plan with the queue as it is now: what is handed back, and what stays held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from rarmodel.counting import counted
from rarmodel.duration import duration
from rarmodel.errors import InputError, Problem, RarmodelError, UsageError, listed
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Assignment, Instance, Job, Schedule
from rarmodel.verifier import Report, verify

from .caveats import caveats_of, remarks_of
from .counts import conflicts
from .end_times import latest_start, overruns, past_deadline
from .giving_way import verb_of
from .permission import is_operator, why_not
from .plan_changes import Command, Handed, handed, script
from .preemption import interrupting
from .queue_account import Reading
from .queue_choices import Choices
from .queue_reading import read
from .requests import fits
from .returning import Former, former_of
from .slurm_jobs import HOLDING, SlurmJob
from .slurms_gpus import first_with_room

LEAD_SECONDS = 2.0
"""Time in seconds that handing back takes at most: no job is told to start sooner."""


class StaleError(RarmodelError):
    """The queue is no longer as it was when it was planned."""

    def __init__(self, changes: Iterable[str]) -> None:
        self.changes = tuple(changes)
        super().__init__("\n".join(self.changes))

    def __reduce__(self) -> tuple[type[StaleError], tuple[tuple[str, ...]]]:
        return type(self), (self.changes,)


@dataclass(frozen=True)
class Applied:
    """What became of a plan.

    Attributes
    ----------
    plan
        Where and when each job shall run, in order of start.
    late_seconds
        By how much every start moved, because the plan's first start had passed.
    untouched
        Waiting jobs that are not marked, or not held: they were not touched.
    stale
        What changed since the plan was made, a line each, if the jobs concerned were left out.
    left
        Jobs that stay held because Slurm would end or interrupt a job if they were handed back, a
        line each.
    caveats
        What the plan does not know of this cluster, a sentence each.
    interrupted
        Running jobs that Slurm interrupts to start jobs of the plan, and what it does to them.
    divided
        Jobs whose tasks Slurm divides among the nodes, as the user is no operator.
    commands
        The commands that ran, in order; none if the plan was only written.
    differences
        What Slurm did not take, a line each.
    former
        The way back of each job.
    report
        The verifier's report on the plan beside what runs now.
    """

    plan: tuple[Handed, ...]
    late_seconds: float
    untouched: tuple[str, ...]
    stale: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    interrupted: tuple[str, ...] = ()
    divided: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    differences: tuple[str, ...] = ()
    former: tuple[Former, ...] = ()
    report: Report | None = field(default=None, repr=False, compare=False)

    def script(self) -> str:
        """The commands as a shell script."""
        latest = [one.latest for one in self.plan]
        return script([one.commands() for one in self.plan], self.lines(), latest)

    def undo(self) -> str:
        """The way back as a shell script: the jobs that still wait are held, as they were."""
        about = [
            f"The way back: {counted(len(self.former), 'job')} held again, with former requests",
            "Jobs that have started or ended are refused, and not changed.",
        ]
        return script([one.commands() for one in reversed(self.former)], about)

    def lines(self) -> list[str]:
        """What is done, in lines."""
        found = [f"{one}: check what starts" for one in self.caveats]
        found.append(f"{counted(len(self.plan), 'held job')} handed back, in order of start")
        found += [f"left held: {one}" for one in self.left]
        found += [f"to start jobs of the plan, {one}" for one in self.interrupted]
        if self.late_seconds:
            late = duration(self.late_seconds)
            found.append(f"the plan's first start has passed: all start {late} later")
        if self.untouched:
            found.append(f"not touched: {len(self.untouched)} waiting ({listed(self.untouched)})")
        if self.divided:
            told = "Slurm divides the tasks among the nodes, as only an operator may say how"
            found.append(f"{told} ({listed(self.divided)})")
        return found

    def summary(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "jobs": [
                {
                    "job": one.job,
                    "nodes": [*one.nodes],
                    "gpus_per_node": one.per_node,
                    "gpus": dict(zip(one.nodes, one.gpus, strict=True)),
                    "start": one.start.isoformat(),
                }
                for one in self.plan
            ],
            "late_seconds": self.late_seconds,
            "untouched": [*self.untouched],
            "left_held": [*self.left],
            "caveats": [*self.caveats],
            "interrupted": [*self.interrupted],
            "commands": [[*one] for one in self.commands],
            "differences": [*self.differences],
        }


def checked(
    schedule: Schedule, outputs: Mapping[str, str], choices: Choices, *, partly: bool = False
) -> Applied:
    """Compare a plan with the queue as it is now.

    The queue is read on the plan's own slots, and the verifier checks the plan against it: so a
    node that was lost, GPUs that a job still holds, and a job that asks for something else are
    seen alike. A job that ended early only frees GPUs.

    Parameters
    ----------
    schedule
        The plan, with the times of its slots.
    outputs
        Slurm's outputs, as of now.
    choices
        The choices of the reading that was planned.
    partly
        Leave out the jobs that changed, or that cannot start as planned. The others can all the
        same: fewer jobs only free GPUs.

    Raises
    ------
    InputError
        If the schedule has no times, or is of another cluster.
    StaleError
        With everything that changed since the plan was made.
    UsageError
        If no job of the plan may be touched.
    """
    time = schedule.time
    if time is None or time.origin is None:
        message = "missing; a plan of `rarmodel slurm plan` says when its slots are"
        raise InputError([Problem("time.origin", message)], schedule.instance)
    origin = time.origin if time.origin.tzinfo else time.origin.replace(tzinfo=UTC)
    own = replace(
        choices,
        slot_seconds=time.slot_seconds,
        origin=origin,
        whose="mine",
        around=False,
        placed={one.job: frozenset(one.gpus) for one in schedule.assignments},
    )
    reading = read(outputs, own)
    if schedule.instance != reading.queue.name:
        told = f"{schedule.instance!r}; this cluster is {reading.queue.name!r}"
        raise InputError([Problem("instance", told)], "plan")
    stale = dict(_changed(schedule, reading, own))
    if stale and not partly:
        raise StaleError(stale.values())
    ours = [
        one
        for one in schedule.assignments
        if isinstance(one, Assignment) and one.job in reading.mine
        if not stale.keys() & {one.job, *one.gpus}
    ]
    if not ours:
        cure = "hold them, and begin their comments with `rarmodel` or name them with --job"
        raise UsageError(f"no job of the plan may be touched; {cure}")
    first = origin + timedelta(seconds=time.seconds(min(one.start for one in ours)))
    late = max(timedelta(0), reading.queue.now + timedelta(seconds=LEAD_SECONDS) - first)
    if late:
        reading = read(outputs, replace(own, origin=origin + late))
    starts = {one.job: origin + late + timedelta(seconds=time.seconds(one.start)) for one in ours}
    moved, faults, report = _as_now(schedule, reading, ours, starts)
    while faults:
        stale |= faults
        left = [one for one in ours if one.job not in faults]
        if not partly or not left or len(left) == len(ours):
            raise StaleError(stale.values())
        ours = left
        moved, faults, report = _as_now(schedule, reading, ours, starts)
    queue = reading.queue
    waiting = (job for job in queue.jobs.values() if job.state == "PENDING")
    jobs = {one.job: queue.jobs[one.job] for one in ours}
    held = dict(overruns(reading.instance, moved, report.completion, queue))
    operator = is_operator(queue, choices)
    ends = {one.job: report.completion[one.job] or one.start + 1 for one in moved.assignments}
    runs = {one.job: time.seconds(ends[one.job] - one.start) for one in moved.assignments}
    plan = [
        one._replace(latest=latest_start(jobs[one.job], runs[one.job]))
        for one in handed(moved, jobs, starts, operator=operator)
    ]
    held |= dict(interrupting([one for one in plan if one.job not in held], queue))
    told = "has GPUs by task on several nodes, which only an operator divides evenly"
    held |= {
        one.job: f"job {one.job} {told}; submit it with --ntasks-per-node"
        for one in plan
        if one.by_task and one.is_divided
    }
    held |= _waiting_for(reading.instance, held)
    plan = [one for one in plan if one.job not in held]
    return Applied(
        plan=tuple(plan),
        late_seconds=late.total_seconds(),
        untouched=tuple(
            job.id for job in waiting if job.id not in jobs and job.id not in reading.given
        ),
        stale=tuple(stale.values()),
        left=tuple(held.values()),
        caveats=(*caveats_of(reading.instance), *remarks_of(reading.instance)),
        interrupted=tuple(
            f"Slurm {verb_of(one.mode)} job {name} for job {one.to}"
            for name, one in reading.given.items()
            if one.to in {handed_back.job for handed_back in plan}
        ),
        divided=tuple(one.job for one in plan if one.is_divided),
        former=tuple(former_of(jobs[one.job], one, queue) for one in plan),
        report=report,
    )


def _waiting_for(instance: Instance, held: Mapping[str, str]) -> dict[str, str]:
    """Jobs that come after some that stay held: they stay so too."""
    found = dict(held)
    while new := {
        job.name: f"job {job.name} waits for {listed(sorted({*job.after} & found.keys()))}"
        for job in instance.jobs
        if job.name not in found and found.keys() & {*job.after}
    }:
        found |= new
    return found


def _changed(schedule: Schedule, reading: Reading, choices: Choices) -> Iterator[tuple[str, str]]:
    """Nodes and jobs of the plan that are gone or changed, or that Slurm cannot be told to place.

    The name of each, and what is wrong with it.
    """
    known = {job.name: job for job in reading.instance.jobs}
    queue = reading.queue
    used = {name for one in schedule.assignments if one.job in reading.mine for name in one.gpus}
    for name in sorted(used):
        if why := queue.why_lost(name):
            yield name, f"node {name} is lost: {why}"
    for one in schedule.assignments:
        if one.job in reading.given:
            continue  # Slurm interrupts it, and places it again.
        job = queue.jobs.get(one.job)
        gpus = {server: len(held) for server, held in one.gpus.items() if held}
        if job is None:
            # A job of slot 0 ran already, unless Slurm says otherwise: its end only frees GPUs.
            ended = queue.ended.get(one.job)
            if one.start > 0 or (ended is not None and not ended.nodes):
                yield one.job, f"job {one.job} is gone"
        elif one.job not in reading.mine:
            ours = job.is_marked or one.job in choices.named
            if ours and (job.is_held or not _is_where(job, {*gpus})):
                notes = (note for note, ids in reading.notes.items() if one.job in ids)
                why = why_not(job, queue, choices) or next(notes, "it changed")
                yield one.job, f"job {one.job} can no longer be planned: {why}"
        elif not isinstance(one, Assignment):
            told = "is interrupted by the plan, which Slurm cannot be told"
            yield one.job, f"job {one.job} {told}"
        elif len({*gpus.values()}) > 1 and _is_equal(known[one.job]):
            told = "has unequal GPUs per node, which Slurm cannot be told"
            yield one.job, f"job {one.job} {told}"
        elif not fits(known[one.job], gpus):
            told = "changed: it no longer asks for the GPUs or nodes planned"
            yield one.job, f"job {one.job} {told}"


def _is_equal(job: Job) -> bool:
    """Whether a job has the same number of GPUs on each of its nodes."""
    return job.spread is not None and job.spread.equal


def _is_where(job: SlurmJob, nodes: set[str]) -> bool:
    """Whether a job that is not held runs on these nodes, or waits for them by name."""
    own = {*job.held} if job.state in HOLDING else {*job.nodes}
    return bool(own) and own <= nodes


def _as_now(
    schedule: Schedule,
    reading: Reading,
    ours: Sequence[Assignment],
    starts: Mapping[str, datetime],
) -> tuple[Schedule, dict[str, str], Report]:
    """The plan beside what runs now, what is wrong with which jobs, and the verifier's report.

    Slurm chooses the indices of GPUs, so those of the plan are only counts, and numbered anew.
    Where jobs have parts of GPUs and Slurm's choice would let one of them wait, the fullest GPUs
    with room are tried, and then those of the plan.
    """
    planned = {one.job: one for one in ours}
    jobs = tuple(job for job in reading.instance.jobs if job.running or job.name in planned)
    # A job that must end first and is gone has ended.
    left = {job.name for job in jobs}
    gone = {
        name: next((f"job {name}: {note}" for note, ids in reading.notes.items() if name in ids))
        for name in planned.keys() - left
    }
    jobs = tuple(
        job.model_copy(update={"after": tuple(one for one in job.after if one in left)})
        for job in jobs
    )
    instance = reading.instance.model_copy(update={"jobs": jobs})
    beside = [
        Assignment(job=job.name, start=0, gpus=job.running.gpus)
        if job.running
        else planned[job.name]
        for job in jobs
    ]
    bare = schedule.model_copy(update={"assignments": tuple(beside)})
    report = verify(instance, bare)
    ends = report.completion
    if any(job.slices for job in jobs):
        tries = (first_with_room(instance, beside, ends, fullest=full) for full in (False, True))
        found = next((one for one in tries if one is not None), tuple(beside))
        moved = bare.model_copy(update={"assignments": found})
        return _checked(moved, reading, instance, starts, gone)
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    try:
        assignments = assign_gpus(
            instance,
            [one.start for one in beside],
            [ends[one.job] or one.start + 1 for one in beside],
            [{index[s]: len(held) for s, held in one.gpus.items() if held} for one in beside],
        )
    except InputError as error:
        places = [int(one.place.removeprefix("jobs[").removesuffix("]")) for one in error.problems]
        names = [jobs[i].name for i in places]
        told = zip(names, error.problems, strict=True)
        return bare, gone | {name: f"job {name}: {one.message}" for name, one in told}, report
    moved = bare.model_copy(update={"assignments": assignments})
    return _checked(moved, reading, instance, starts, gone)


def _checked(
    moved: Schedule,
    reading: Reading,
    instance: Instance,
    starts: Mapping[str, datetime],
    gone: Mapping[str, str],
) -> tuple[Schedule, dict[str, str], Report]:
    """A plan beside what runs now, what is wrong with which jobs, and the verifier's report."""
    report = verify(instance, moved)
    faults = {one.job: one.message for one in report.violations}
    faults |= {one.job: one.message for one in conflicts(reading.queue, moved, report.completion)}
    slot = instance.time.slot_seconds
    for one in moved.assignments:
        if one.job in starts:
            run = ((report.completion[one.job] or one.start + 1) - one.start) * slot
            if why := past_deadline(reading.queue.jobs[one.job], starts[one.job], run):
                faults[one.job] = f"job {one.job} {why}"
    return moved, {**faults, **gone}, report
