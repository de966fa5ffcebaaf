"""Simulate online policies on arriving jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

from rarmodel import registry
from rarmodel.defaults import DEFAULT_PLACEMENT
from rarmodel.limits import INTERRUPTED

from .arguments import asked
from .sources import Source, load_instance, with_objective

if TYPE_CHECKING:
    from rarmodel import online


@overload
def simulate(  # type: ignore[overload-overlap] # text is a sequence, too
    instance: Source,
    policy: str | online.Policy,
    *,
    placement: str | online.Placement = DEFAULT_PLACEMENT,
    round_slots: int | None = None,
    reclaim: bool = True,
    objective: str | Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[str, online.Progress], None] | None = None,
) -> online.Simulation: ...


@overload
def simulate(
    instance: Source,
    policy: Sequence[str | online.Policy],
    *,
    placement: str | online.Placement = DEFAULT_PLACEMENT,
    round_slots: int | None = None,
    reclaim: bool = True,
    objective: str | Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[str, online.Progress], None] | None = None,
) -> list[online.Simulation]: ...


@asked
def simulate(
    instance: Source,
    policy: str | online.Policy | Sequence[str | online.Policy],
    *,
    placement: str | online.Placement = DEFAULT_PLACEMENT,
    round_slots: int | None = None,
    reclaim: bool = True,
    objective: str | Sequence[str] | None = None,
    seed: int = 0,
    progress: Callable[[str, online.Progress], None] | None = None,
) -> online.Simulation | list[online.Simulation]:
    """Play policies on the arriving jobs of an instance, and verify the schedules.

    Jobs become known at their releases. The policy decides who holds how many GPUs, the placement
    where. Rings slow each other down as everywhere in rarmodel. Replicas of services follow their
    demand, which is known beforehand: jobs make room where a replica begins.

    Parameters
    ----------
    instance
        An instance, a file, or the name of a bundled instance.
    policy
        A name, `package.module:Name` or an object; a list of them gives a list of results.
    placement
        The placement, given in the same way.
    round_slots
        Ask the policy every so many slots as well; by default as the policy wants.
    reclaim
        Whether tenants take back GPUs up to what they are guaranteed, from those that hold more
        than theirs.
    objective
        Name of the objective, or several, for policies that solve the instance again.
    seed
        Seed of all random numbers.
    progress
        Is told the policy's name and how far it is, a few times a second.

    Returns
    -------
    Simulation or list of Simulation
        The schedule, which is verified, with figures and the distance from proven bounds. A policy
        that misses deadlines, or that was interrupted, gives a result that is not `verified`.

    Raises
    ------
    InputError
        If the instance is malformed.
    UsageError
        If a name is unknown, or a policy does not take the instance, fails, or asks for what it may
        not know.
    NoScheduleError
        If replicas of services find no room, or can never answer.
    VerificationError
        If the schedule breaks a constraint other than a deadline or the horizon.
    """
    from rarmodel.online import simulate as played  # noqa: PLC0415 - loads Numba

    problem = with_objective(load_instance(instance), objective)
    chosen: online.Placement = registry.find("placements", placement)
    several = isinstance(policy, Sequence) and not isinstance(policy, str)
    asked = list(policy) if isinstance(policy, Sequence) and several else [policy]
    policies: list[online.Policy] = [registry.find("policies", one) for one in asked]
    beside: Callable[[str, Callable[..., online.Simulation]], online.Simulation] | None
    beside = None
    if problem.services:
        from rarmodel.serving import replicas_of_play, simulate_beside  # noqa: PLC0415 - loads Pyomo

        beside = partial(simulate_beside, replicas_of_play(problem))
    results = []
    for one in policies:
        play = partial(
            played,
            policy=one,
            placement=chosen,
            round_slots=round_slots,
            reclaim=reclaim,
            seed=seed,
            progress=None if progress is None else _named(progress, one.name),
        )
        results.append(play(problem) if beside is None else beside(one.name, play))
        if results[-1].stopped == INTERRUPTED:
            break
    return results if several else results[0]


def _named(
    progress: Callable[[str, online.Progress], None], policy: str
) -> Callable[[online.Progress], None]:
    return lambda how_far: progress(policy, how_far)
