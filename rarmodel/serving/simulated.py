"""Policies beside services: the replicas are known beforehand, and jobs make room for them.

Jobs that may be interrupted give way where a replica begins. One that may not does not start on
GPUs that it might still hold then, beside whatever rings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from rarmodel.bounds import impossible, objective_bound
from rarmodel.errors import NoScheduleError, UsageError, VerificationError
from rarmodel.limits import Limits
from rarmodel.model import never_complete
from rarmodel.model.impossible import without_place_at_last
from rarmodel.model.interruptions import may_stop
from rarmodel.model.objectives import exact, objective
from rarmodel.model.services import cost_of_replicas
from rarmodel.model.usage_limits import limits_of_jobs
from rarmodel.online import Proven, Simulation
from rarmodel.online.service_figures import figures_of_services
from rarmodel.online.verified_play import LATE, needs_preemption
from rarmodel.schema import Instance
from rarmodel.schema.instance import Preemption
from rarmodel.verifier import verify

from .first import Decided, decide_replicas


class Beside(NamedTuple):
    """Replicas, and who gives way to them.

    Attributes
    ----------
    decided
        The replicas.
    lending
        Names of jobs that run at slot 0, and give way like all others.
    """

    decided: Decided
    lending: frozenset[str]


def replicas_of_play(instance: Instance) -> Beside:
    """The replicas that follow the demand, whatever the jobs do.

    The demand is known beforehand, so replicas start up ahead of it. Jobs that run at slot 0 keep
    their GPUs if replicas find room beside them. If not, those give way that may be interrupted,
    that use no resource and no cap of a tenant, that are on no server with reservations, and that
    can start again.

    Raises
    ------
    UsageError
        If jobs would have to give way to reservations or the like, and may not.
    NoScheduleError
        If no replicas can ever answer, or they find no room.
    """
    if why := needs_preemption(instance):
        raise UsageError(why)
    if (none := impossible(instance)) is not None and not never_complete(instance):
        raise NoScheduleError(f"nothing is played: {none.stopped}: {'; '.join(none.reasons)}")
    lending: frozenset[str] = frozenset()
    decided = decide_replicas(instance, Limits())
    if isinstance(decided, str) and (may_lend := _may_lend(instance)):
        lending = may_lend
        decided = decide_replicas(instance, Limits(), lending)
    if isinstance(decided, str):
        raise NoScheduleError(f"nothing is played: {decided}")
    return Beside(decided._replace(rest=_firm(decided.rest)), lending)


def _may_lend(instance: Instance) -> frozenset[str]:
    """Names of jobs that run at slot 0 and can give way to replicas as other jobs do.

    Beside a reservation or a cap, a job that runs there at slot 0 counts in another way than the
    others, as long as it goes on. So such a job keeps its GPUs.
    """
    reserved = {one.server for one in instance.cluster.reservations}
    firm = without_place_at_last(instance)
    return frozenset(
        job.name
        for j, (job, uses) in enumerate(zip(instance.jobs, limits_of_jobs(instance), strict=True))
        if job.running is not None
        and may_stop(instance, job)
        and not uses
        and j not in firm
        and reserved.isdisjoint(job.running.gpus)
    )


def _firm(rest: Instance) -> Instance:
    """The instance for policies: without preemption, each of its jobs is one that may not stop.

    That is the same, but then jobs look ahead at reservations.
    """
    if rest.preemption is not None:
        return rest
    jobs = tuple(job.model_copy(update={"preemptible": False}) for job in rest.jobs)
    update = {"jobs": jobs, "preemption": Preemption(restore_seconds=0.0)}
    return rest.model_copy(update=update)


def simulate_beside(beside: Beside, policy: str, play: Callable[..., Simulation]) -> Simulation:
    """Play a policy on the jobs beside replicas, and put both together.

    Bounds are on the whole: they do not take the replicas for given.

    Parameters
    ----------
    beside
        The replicas, and who gives way to them.
    policy
        Name of the policy.
    play
        Plays it on an instance without services, with `lending` as of `play`.

    Raises
    ------
    UsageError
        If the policy does not take the instance.
    VerificationError
        If the whole fails verification, but for deadlines and the horizon.
    """
    decided = beside.decided
    instance = decided.instance
    found = play(decided.rest, lending=beside.lending)
    if found.schedule is None or found.report is None:
        return found
    schedule = decided.whole(found.schedule, found.report)
    report = verify(instance, schedule)
    if wrong := [one.message for one in report.violations if one.constraint not in LATE]:
        told = "; ".join(wrong[:3])
        raise VerificationError(f"{policy} made a schedule that fails verification: {told}")
    proven = {}
    for name, one in found.proven.items():
        aim = objective(name)
        bound = objective_bound(instance, aim)
        if bound is not None:
            value = one.value
            if value is not None:
                value = exact(value + cost_of_replicas(instance, schedule.services, aim))
            _, _, assumed = one.assumes.partition(": ")
            proven[name] = Proven(value, bound.value, f"{bound.name}: {assumed}")
    return replace(
        found,
        instance=instance.name,
        schedule=schedule,
        report=report,
        proven=proven,
        services=figures_of_services(instance, schedule, report),
    )
