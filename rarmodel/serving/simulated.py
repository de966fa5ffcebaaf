"""Policies beside services: the replicas are known beforehand, and jobs give way to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rarmodel.bounds import impossible, objective_bound
from rarmodel.errors import UsageError, VerificationError
from rarmodel.limits import Limits
from rarmodel.model import never_complete
from rarmodel.model.objectives import exact, objective
from rarmodel.model.services import cost_of_replicas
from rarmodel.online import Proven, Simulation
from rarmodel.online.service_figures import figures_of_services
from rarmodel.online.verified_play import LATE, no_services_beside
from rarmodel.schema import Instance
from rarmodel.verifier import verify

from .first import Decided, decide_replicas


def replicas_of_play(instance: Instance) -> Decided:
    """The replicas that follow the demand, whatever the jobs do.

    The demand is known beforehand, so replicas start up ahead of it.

    Raises
    ------
    UsageError
        If jobs cannot give way to replicas, or replicas find no room.
    """
    if why := no_services_beside(instance):
        raise UsageError(why)
    if (none := impossible(instance)) is not None and not never_complete(instance):
        raise UsageError(f"nothing is played: {none.stopped}: {'; '.join(none.reasons)}")
    decided = decide_replicas(instance, Limits())
    if isinstance(decided, str):
        raise UsageError(f"nothing is played: {decided}")
    return decided


def simulate_beside(
    decided: Decided, policy: str, play: Callable[[Instance], Simulation]
) -> Simulation:
    """Play a policy on the jobs beside replicas, and put both together.

    Bounds are on the whole: they do not take the replicas for given.

    Parameters
    ----------
    decided
        The replicas.
    policy
        Name of the policy.
    play
        Plays it on an instance without services.

    Raises
    ------
    UsageError
        If the policy does not take the instance.
    VerificationError
        If the whole fails verification, but for deadlines and the horizon.
    """
    instance = decided.instance
    found = play(decided.rest)
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
