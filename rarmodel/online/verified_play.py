"""Simulate a policy, verify what comes out, and compare it with proven bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from time import perf_counter

import numpy as np

from rarmodel import registry
from rarmodel.bounds import objective_bound
from rarmodel.engine.arrays import NEVER
from rarmodel.engine.compilation import told
from rarmodel.errors import UsageError, VerificationError
from rarmodel.files import parse_instance
from rarmodel.instances import text_of
from rarmodel.model import gpu_assignment, never_complete
from rarmodel.model.features import (
    ALONE_ON_GPUS,
    RESERVATIONS,
    SHARED_GPUS,
    unhandled,
    used,
)
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.instance_check import require_whole
from rarmodel.model.interruptions import interrupts
from rarmodel.model.objectives import Objective, Value
from rarmodel.model.usage_limits import usage_limits
from rarmodel.schema import Instance, Schedule
from rarmodel.schema.instance import Preemption
from rarmodel.schema.schedule import AnyAssignment, Assignment, InterruptedAssignment, Segment
from rarmodel.verifier import Report, verify

from .arriving_jobs import Jobs
from .cluster_at_work import Stay
from .group_metrics import Groups
from .idle_capacity import Ring
from .metrics import metrics_of, of_nothing
from .placement import CONTENTION_AWARE, Placement
from .play import Played, Progress, play
from .policies.priorities import SRTF
from .policy import Policy
from .shared_cluster import SharedStay, gpus_held
from .simulation import Proven, Simulation, figures_without_meaning

_Held = tuple[Stay, dict[str, tuple[int, ...]]]
"""A stay, and the GPUs of each server."""
_NAMES = {kind: {*kind.model_fields} for kind in (Assignment, Segment, InterruptedAssignment)}
"""The fields that are given: Pydantic keeps a set of them, which is as large as an assignment."""
LATE = frozenset({"deadline", "horizon"})
"""Constraints that a policy may break: it is not told what would keep them."""


def simulate(
    instance: Instance,
    policy: Policy,
    placement: Placement,
    *,
    round_slots: int | None = None,
    reclaim: bool = True,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
    lending: Collection[str] = (),
) -> Simulation:
    """Play a policy on the arriving jobs of an instance, and verify the schedule.

    Parameters
    ----------
    instance, policy, placement
        What is played on, who decides, and where jobs are put.
    round_slots, reclaim, seed, progress, lending
        As for `play`.

    Raises
    ------
    UsageError
        If the policy does not take the instance, fails, or asks for what it may not know.
    VerificationError
        If the schedule breaks a constraint other than a deadline or the horizon.
    """
    begun = perf_counter()
    if lines := never_complete(instance):
        return _not_played(instance, policy, placement, lines, perf_counter() - begun)
    if why := unsuitable(instance, policy):
        raise UsageError(why)
    require_whole(instance)
    prepare_play()
    begun = perf_counter()
    played = play(
        *(instance, policy, placement),
        round_slots=round_slots,
        reclaim=reclaim,
        seed=seed,
        progress=progress,
        lending=lending,
    )
    done = bool((played.completion < NEVER).all())
    schedule = report = None
    if done:
        schedule = schedule_of(instance, played.jobs, played.stays, policy.name, placement.name)
        report = verify(instance, schedule)
        _require_sound(instance, policy, played, report)
    index = played.jobs.index[played.completion == NEVER]
    groups = Groups(instance, played.jobs, played.stays, played.completion, played.slot)
    stopped = "nothing more happens"
    if done:
        stopped = "finished"
    elif played.interrupted:
        stopped = "interrupted"
    return Simulation(
        instance=instance.name,
        policy=policy.name,
        placement=placement.name,
        time=instance.time,
        schedule=schedule,
        report=report,
        metrics=metrics_of(
            instance, played.jobs, played.stays, played.completion, played.slot, played.lost
        ),
        preemptions=played.preemptions,
        decisions=played.decisions,
        seconds=perf_counter() - begun,
        proven={} if played.interrupted else proven_of(instance, played),
        tenants=groups.of_tenants(),
        priorities=groups.of_priorities(),
        unfinished=tuple(instance.jobs[j].name for j in index.tolist()),
        stopped=stopped,
        causes=played.causes,
        notes=notes_on(instance, policy, reclaim=reclaim),
        says_nothing=figures_without_meaning(instance),
    )


def _not_played(
    instance: Instance,
    policy: Policy,
    placement: Placement,
    lines: tuple[str, ...],
    seconds: float,
) -> Simulation:
    """The result where some job completes in no schedule: that is said at once."""
    return Simulation(
        instance=instance.name,
        policy=policy.name,
        placement=placement.name,
        time=instance.time,
        schedule=None,
        report=None,
        metrics=of_nothing(),
        preemptions=0,
        decisions=0,
        seconds=seconds,
        proven={},
        unfinished=tuple(job.name for job in instance.jobs),
        stopped="a job can never complete, so nothing was played",
        causes=lines,
        notes=notes_on(instance, policy),
        says_nothing=figures_without_meaning(instance),
    )


def notes_on(instance: Instance, policy: Policy, *, reclaim: bool = True) -> tuple[str, ...]:
    """What one should know of a policy on an instance, a line each."""
    found = []
    lacks = "this one has none" if instance.preemption is None else "here no job is preemptible"
    if reclaim and not interrupts(instance) and any(one.guaranteed for one in instance.tenants):
        note = f"tenants take back GPUs where the instance has preemption; {lacks}, so "
        found.append(note + "who is below its guarantee is only served first")
    if policy.interrupts and not interrupts(instance):
        note = f"interrupts jobs where the instance has preemption; {lacks}, so running "
        found.append(note + "jobs go on until they are complete")
    return tuple(found)


@cache
def prepare_play() -> None:
    """Compile what simulations need, so that this does not count as a policy's time."""
    small = parse_instance(text_of("two-servers") or "")
    with told():
        play(
            small.model_copy(update={"preemption": Preemption(restore_seconds=0.0)}),
            SRTF,
            CONTENTION_AWARE,
            round_slots=1,
        )


def unsuitable(instance: Instance, policy: Policy) -> str | None:
    """Why an instance cannot be simulated, or not with this policy, in a line that names the field.

    None if it can.
    """
    # Others' policies may do without.
    handles: frozenset[str] = getattr(policy, "handles", ALONE_ON_GPUS)
    if why := unhandled(instance, handles, f"policy {policy.name!r}"):
        return why
    if shares_gpus(instance) and (why := _not_where_shared(instance)):
        return why
    if why := needs_preemption(instance):
        return why
    packs: bool = getattr(policy, "packs", False)
    if packs and not shares_gpus(instance):
        return (
            f"policy {policy.name!r} lets jobs share GPUs, and no job takes slices; give them "
            "jobs[].slices"
        )
    if policy.elastic and all(len(job.sizes) == 1 for job in instance.jobs):
        return (
            f"policy {policy.name!r} chooses ring sizes, and no job has a list of them; give "
            "jobs[].gpus a list of sizes"
        )
    return None


def needs_preemption(instance: Instance) -> str | None:
    """Why an instance without preemption cannot be simulated; None if it can, or has preemption."""
    if instance.preemption is not None:
        return None
    if place := used(instance).get(RESERVATIONS.name):
        return (
            f"simulate does not handle reservations ({place}) without preemption: jobs give way "
            "where a reservation begins; give the instance preemption"
        )
    falls = (
        limit.place
        for limit in usage_limits(instance)
        for before, after in pairwise(limit.capacities)
        if after is not None and (before is None or after < before)
    )
    if place := next(falls, None):
        return (
            f"simulate does not handle capacities that fall ({place}) without preemption: jobs "
            "give way where that happens; give the instance preemption"
        )
    return None


def _not_where_shared(instance: Instance) -> str | None:
    """What simulations of shared GPUs do not handle beside them, in a line; None if nothing."""
    tenants = enumerate(instance.tenants)
    guaranteed = (f"tenants[{i}].guaranteed" for i, one in tenants if one.guaranteed is not None)
    place = next(guaranteed, None)
    if place is None:
        return None
    shared = used(instance)[SHARED_GPUS.name]
    return f"simulate does not handle {place} where jobs share GPUs ({shared})"


def proven_of(instance: Instance, played: Played) -> dict[str, Proven]:
    """The best quick bound on each installed objective, where one holds for the instance."""
    done = (played.completion < NEVER).all()
    objectives: list[Objective] = registry.parts("objectives")
    values = objective_values(instance, played, objectives) if done else ()
    may = "may be" if interrupts(instance) else "are not"
    assumed = f"every job and duration is known from the start; jobs {may} interrupted"
    found = {}
    for i, one in enumerate(objectives):
        bound = objective_bound(instance, one)
        if bound is not None:
            value = values[i] if values else None
            found[one.name] = Proven(value, bound.value, f"{bound.name}: {assumed}")
    return found


def objective_values(
    instance: Instance, played: Played, objectives: Iterable[Objective]
) -> tuple[Value, ...]:
    """Values of objectives where all jobs are complete."""
    completions = np.empty_like(played.completion)
    completions[played.jobs.index] = played.completion
    ends, held, rings = (
        completions.tolist(),
        _held(instance, played.jobs, played.stays),
        _rings(instance, played),
    )
    return tuple(one.value(instance, ends, held, rings) for one in objectives)


def _held(instance: Instance, jobs: Jobs, stays: Iterable[Stay]) -> list[int | Fraction]:
    """(servers) GPU slots that jobs hold."""
    held: list[int | Fraction] = [0] * len(instance.cluster.servers)
    for stay in stays:
        for server in stay.ring:
            held[server] += gpus_held(instance, jobs, stay, server) * (stay.end - stay.start)
    return held


def _rings(instance: Instance, played: Played) -> list[list[Ring]]:
    """(jobs) Where the ring of each job was, segment by segment."""
    rings: list[list[Ring]] = [[] for _ in instance.jobs]
    for stay in played.stays:
        rings[int(played.jobs.index[stay.job])].append(stay.ring)
    return rings


def _require_sound(instance: Instance, policy: Policy, played: Played, report: Report) -> None:
    """Refuse a schedule that the verifier reads in another way than the simulation.

    Raises
    ------
    VerificationError
        With the first differences.
    """
    wrong = [one.message for one in report.violations if one.constraint not in LATE]
    pairs = zip(played.jobs.index.tolist(), played.completion.tolist(), strict=True)
    for k, (j, end) in enumerate(pairs):
        name = instance.jobs[j].name
        if report.completion[name] != end:
            wrong.append(f"job {name!r} completes at slot {report.completion[name]}, not {end}")
        if report.lost.get(name, 0) != played.lost[k]:
            lost = report.lost.get(name, 0)
            wrong.append(f"job {name!r} loses {lost} iterations, not {played.lost[k]}")
    if wrong:
        raise VerificationError(
            f"{policy.name} made a schedule that fails verification: " + "; ".join(wrong[:3])
        )


def schedule_of(
    instance: Instance,
    jobs: Jobs,
    stays: Sequence[Stay],
    method: str,
    placement: str | None = None,
) -> Schedule:
    """The schedule of stays in which every job has completed."""
    numbered = _numbered(instance, jobs, stays)
    index = jobs.index.tolist()
    held: list[list[_Held]] = [[] for _ in instance.jobs]
    for i in sorted(range(len(stays)), key=lambda i: stays[i].start):
        held[index[stays[i].job]].append((stays[i], numbered[i]))
    return Schedule.model_construct(
        schema_version=1,
        instance=instance.name,
        method=method,
        placement=placement,
        time=None,
        bound=None,
        assignments=tuple(
            _assignment(job.name, own) for job, own in zip(instance.jobs, held, strict=True)
        ),
    ).timed(instance.time)


def _numbered(
    instance: Instance, jobs: Jobs, stays: Sequence[Stay]
) -> Sequence[Mapping[str, tuple[int, ...]]]:
    """(stays) The GPUs of each, by name of the server."""
    if not shares_gpus(instance):
        with_gpus = [_with_gpus(instance, jobs, one) for one in stays]
        return gpu_assignment.number_gpus(instance.cluster, with_gpus)
    servers = instance.cluster.servers
    own = [one.gpus or {} for one in stays if isinstance(one, SharedStay)]
    return [{servers[s].name: gpus for s, gpus in one.items()} for one in own]


def _with_gpus(instance: Instance, jobs: Jobs, stay: Stay) -> gpu_assignment.Stay:
    running = instance.jobs[jobs.index[stay.job]].running
    kept = running.gpus if stay.kept and running is not None else None
    return gpu_assignment.Stay(stay.start, stay.end, stay.ring, kept)


def _assignment(job: str, held: Sequence[_Held]) -> AnyAssignment:
    """An assignment with fields that are known to be valid; all share the set of their names."""
    *before, (last, gpus) = held
    if not before:
        return Assignment.model_construct(_NAMES[Assignment], job=job, start=last.start, gpus=gpus)
    names = _NAMES[Segment]
    segments = [
        Segment.model_construct(names, start=stay.start, end=stay.end, gpus=own)
        for stay, own in before
    ]
    segments.append(Segment.model_construct(names, start=last.start, end=None, gpus=gpus))
    return InterruptedAssignment.model_construct(
        _NAMES[InterruptedAssignment], job=job, segments=tuple(segments)
    )
