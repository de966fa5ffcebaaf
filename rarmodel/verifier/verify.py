"""Check that a schedule keeps every constraint: (1)–(5), horizon and indices.

Some violations cannot occur, because the schedule's format cannot express them: migration within a
segment (3), because a segment has one set of GPUs; holding GPUs while inactive (4), because a job
holds its GPUs from start to completion, or to the end of the segment; fractional counts (5),
because GPUs are listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf

from rarmodel.errors import VerificationError
from rarmodel.model.gpu_sharing import part_held
from rarmodel.model.objectives import MAX_FLOW, MAX_TARDINESS, Objective, objectives_of, ties_of
from rarmodel.model.timing import restore_slots
from rarmodel.schema import Held, Instance, Job, Schedule

from .answered import Answered
from .demands import asks_for_places, placement_demands, time_demands
from .holding_caps import caps_kept
from .occupation import fits_alone, gpus_in_words, gpus_suffice, hold_of, holds_of
from .replicas import Up, answered, demands_kept, gpu_slots, replica_holds, replicas_carried_out
from .report import Report, Violation
from .segments import (
    ends_with_completion,
    interrupted_in_vain,
    run_of,
    stays_where_it_runs,
)
from .simulate import simulate
from .simulation_result import Run, SimulationResult

UNREADABLE = {"index", "capacity", "gang", "type"}
"""Constraints without which an assignment cannot be carried out: its speed has no meaning."""


def verify(instance: Instance, schedule: Schedule, *, slot_by_slot: bool = False) -> Report:
    """Check a schedule, and compute completion times, makespan, contention and utilisation.

    Parameters
    ----------
    instance
        The problem.
    schedule
        The claimed answer.
    slot_by_slot
        Recompute every slot instead of stepping from one change of the active set to the next; the
        report is the same.

    Returns
    -------
    Report
        Every violation, with job, server and slot, and the results of the simulation. The
        simulation leaves out assignments that cannot be carried out (an unknown server, a wrong
        number of GPUs).
    """
    jobs = {job.name: job for job in instance.jobs}
    servers = {server.name: i for i, server in enumerate(instance.cluster.servers)}
    violations = [*_assigned_once(jobs, schedule)]
    violations += interrupted_in_vain(instance, jobs, schedule)
    sound: list[tuple[Held, Run]] = []
    same: dict[tuple[tuple[int, int], ...], Mapping[int, int]] = {}  # Of a million runs few differ.
    restore = restore_slots(instance)
    for assignment in schedule.assignments:
        if job := jobs.get(assignment.job):
            before: int | None = None
            for segment in assignment.segments:
                broken = [*_carried_out(instance, servers, job, segment)]
                if asks_for_places(job) and not _unreadable(broken):
                    broken += placement_demands(instance, servers, job, segment)
                    if before is None:
                        broken += stays_where_it_runs(instance, job, segment)
                violations += broken
                if _unreadable(broken):
                    break
                held = segment.gpus.items()
                own = {servers[name]: len(gpus) for name, gpus in held if gpus}
                workers = same.setdefault(tuple(own.items()), own)
                run = run_of(instance, job, segment, workers, restore, before)
                before = len(sound)
                sound.append((segment, run))
    result = simulate(instance, [run for _, run in sound], slot_by_slot=slot_by_slot)
    ups = replicas_carried_out(instance, schedule, violations)
    holds = [*holds_of(sound, result.ends), *replica_holds(ups, len(sound))]
    violations.extend(gpus_suffice(instance, holds))
    violations.extend(_in_time(instance, sound, result))
    runs = [run for _, run in sound]
    violations.extend(ends_with_completion(runs, result))
    violations.extend(time_demands(runs, result.completion))
    violations.extend(caps_kept(instance, sound, result.ends, holds, ups))
    services = answered(instance, ups, slot_by_slot=slot_by_slot)
    violations.extend(demands_kept(instance, services))
    return _report(instance, schedule, sound, result, violations, ups, services)


def _unreadable(broken: Sequence[Violation]) -> bool:
    """Whether what is broken leaves a segment without meaning."""
    return bool(broken) and not UNREADABLE.isdisjoint(one.constraint for one in broken)


def require_feasible(instance: Instance, schedule: Schedule) -> Report:
    """The verifier's report on a schedule that a user is about to see.

    Raises
    ------
    VerificationError
        If the schedule breaks any constraint.
    """
    report = verify(instance, schedule)
    if not report.feasible:
        messages = [violation.message for violation in report.violations]
        more = [f"and {len(messages) - 3} more"] if len(messages) > 3 else []
        raise VerificationError(
            f"{schedule.method} made a schedule that fails verification: "
            + "; ".join(messages[:3] + more)
        )
    return report


def _assigned_once(jobs: dict[str, Job], schedule: Schedule) -> Iterator[Violation]:
    """Each job has exactly one assignment: it runs once, without preemption or migration (3)."""
    seen: set[str] = set()
    for assignment in schedule.assignments:
        name, slot = assignment.job, assignment.start
        if name not in jobs:
            message = f"job {name!r} is scheduled; the instance has no such job"
            yield Violation("assignment", name, None, slot, message)
        elif name in seen:
            message = f"job {name!r} is assigned once more at slot {slot}; a job runs once"
            yield Violation("assignment", name, None, slot, message)
        seen.add(name)
    for name in jobs:
        if name not in seen:
            message = f"job {name!r} has no assignment; every job must run"
            yield Violation("assignment", name, None, None, message)


def _carried_out(
    instance: Instance, servers: Mapping[str, int], job: Job, segment: Held
) -> Iterator[Violation]:
    """The start is a slot, servers and GPUs exist, and the gang is complete (1)."""
    slot = segment.start
    if slot < 0:
        message = f"job {job.name!r} starts at slot {slot}; slots are numbered from 0"
        yield Violation("index", job.name, None, slot, message)
    for name, gpus in segment.gpus.items():
        if name not in servers:
            message = f"job {job.name!r} is on server {name!r}; the cluster has no such server"
            yield Violation("index", job.name, name, slot, message)
            continue
        size = instance.cluster.servers[servers[name]].gpus
        if gpus and not 0 <= min(gpus) <= max(gpus) < size:
            outside = sorted({gpu for gpu in gpus if not 0 <= gpu < size})
            message = (
                f"job {job.name!r} holds {gpus_in_words(outside)} of server {name!r}, "
                f"whose GPUs are numbered 0 to {size - 1}"
            )
            yield Violation("index", job.name, name, slot, message)
        if len(set(gpus)) < len(gpus):
            twice = sorted(gpu for gpu, times in Counter(gpus).items() if times > 1)
            message = (
                f"job {job.name!r} lists {gpus_in_words(twice)} of server {name!r} more than once; "
                "a GPU serves one worker at a time"
            )
            yield Violation("capacity", job.name, name, slot, message)
        if gpus and (job.slices is not None or job.memory_gb):
            server = instance.cluster.servers[servers[name]]
            yield from fits_alone(instance, server, hold_of(0, job, segment, name, inf))
    held = sum(len(gpus) for gpus in segment.gpus.values())
    if held != job.gpus and held not in job.sizes:
        exactly = "exactly " if len(job.sizes) == 1 else ""
        sizes = " or ".join(map(str, job.sizes))
        message = f"job {job.name!r} holds {held} GPUs; its ring needs {exactly}{sizes}"
        yield Violation("gang", job.name, None, slot, message)


def _in_time(
    instance: Instance, sound: Sequence[tuple[Held, Run]], result: SimulationResult
) -> Iterator[Violation]:
    """Every job completes, and within the horizon."""
    horizon = instance.time.horizon
    for i, (_, run) in enumerate(sound):
        end = result.completion[i]
        if result.ends[i] is None:
            message = (
                f"job {run.job.name!r} never completes: from slot {result.stuck_since} on no "
                "running job makes any progress"
            )
            yield Violation("progress", run.job.name, None, result.stuck_since, message)
        elif horizon is not None and end is not None and end > horizon:
            message = f"job {run.job.name!r} completes at slot {end}, past the horizon {horizon}"
            yield Violation("horizon", run.job.name, None, max(run.start, horizon), message)


def _report(
    instance: Instance,
    schedule: Schedule,
    sound: Sequence[tuple[Held, Run]],
    result: SimulationResult,
    violations: Sequence[Violation],
    ups: Sequence[Up],
    services: Mapping[str, Sequence[Answered]],
) -> Report:
    times = Counter(assignment.job for assignment in schedule.assignments)
    completion: dict[str, int | None] = dict.fromkeys(job.name for job in instance.jobs)
    for (_, run), end in zip(sound, result.completion, strict=True):
        if times[run.job.name] == 1 and end is not None:
            completion[run.job.name] = end
    ends = [end for end in completion.values() if end is not None]
    complete = len(ends) == len(completion)
    makespan = max(ends) if complete else None
    released = any(job.release for job in instance.jobs)
    due = any(job.due is not None for job in instance.jobs)
    utilisation = objective = ties = None
    busy: dict[int, int | Fraction] = dict.fromkeys(range(len(instance.cluster.servers)), 0)
    lost: Counter[str] = Counter()
    rings: dict[str, list[Mapping[int, int]]] = {job.name: [] for job in instance.jobs}
    for (_, run), end, iterations in zip(sound, result.ends, result.lost, strict=True):
        rings[run.job.name].append(run.workers)
        if iterations:
            lost[run.job.name] += iterations
        for server, workers in run.workers.items():
            slots = workers * ((end or run.start) - run.start)
            shared = run.job.slices is not None
            busy[server] += part_held(instance, run.job, server) * slots if shared else slots
    if complete:
        by_replicas = gpu_slots(instance, ups)
        held, of_jobs = [busy[i] + by_replicas.get(i, 0) for i in busy], rings.values()
        objective, ties = (
            {one.name: one.value(instance, ends, held, of_jobs) for one in some}
            for some in (objectives_of(instance), ties_of(instance))
        )
    if makespan:
        utilisation = {
            server.name: float(busy[i] / (server.gpus * makespan))
            for i, server in enumerate(instance.cluster.servers)
        }
    return Report(
        time=instance.time,
        feasible=not violations,
        violations=tuple(violations),
        completion=completion,
        makespan=makespan,
        mean_completion=sum(ends) / len(ends) if complete else None,
        objective=objective,
        ties=ties,
        utilisation=utilisation,
        periods=result.periods,
        flow=_by_job(instance, completion, MAX_FLOW) if released else completion,
        tardiness=_by_job(instance, completion, MAX_TARDINESS) if due else {},
        lost=dict(lost),
        services=services,
    )


def _by_job(
    instance: Instance, completion: Mapping[str, int | None], greatest: Objective
) -> dict[str, int | None]:
    """Each job's own part in an objective in slots; jobs that do not count are left out."""
    terms = zip(completion.items(), greatest.terms(instance), strict=True)
    return {
        job: None if end is None else int(term.at(end))
        for (job, end), term in terms
        if term is not None
    }
