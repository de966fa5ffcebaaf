"""Decisions and rings as users' parts return them: refused in one line unless they make sense."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rarmodel.culprits import shown
from rarmodel.errors import PartError
from rarmodel.methods import is_whole, order_of, whole_numbers

from .idle_capacity import Ring
from .policy import Decision, Policy


def sound_decision(
    decision: object, policy: Policy, jobs: int, name: Callable[[int], str], servers: int
) -> Decision:
    """A decision with arrays of whole numbers, if a policy returned one.

    Parameters
    ----------
    decision, policy
        What the policy returned.
    jobs, name
        Number of jobs in the state, and what gives their names by position.
    servers
        Number of servers.

    Raises
    ------
    PartError
        With the first fault.
    """
    whose = f"policy {policy.name!r}"
    if not isinstance(decision, Decision):
        raise PartError(f"{whose} returned {shown(decision)}, and not a Decision")
    order = gpus = priority = None
    if decision.order is not None:
        order = order_of(decision.order, jobs, name, f"the order of {whose}", whole=False)
    if decision.gpus is not None:
        gpus = whole_numbers(decision.gpus, f"the list of ring sizes of {whose}", jobs)
        if len(gpus) and gpus.min() < 0:
            raise PartError(f"the list of ring sizes of {whose} has {gpus.min()}; 0 is for no GPUs")
    if decision.priority is not None:
        priority = whole_numbers(decision.priority, f"the list of priorities of {whose}", jobs)
    for what, chosen in (("types", decision.types), ("places", decision.places)):
        _require_positions(chosen, f"the {what} of {whose}", jobs)
    for kind in (decision.types or {}).values():
        if not isinstance(kind, str):
            raise PartError(f"the types of {whose} have {shown(kind)}; a type of GPU is expected")
    places = None
    if decision.places is not None:
        places = {at: sound_ring(ring, whose, servers) for at, ring in decision.places.items()}
    together = None
    if decision.together is not None:
        together = _groups(decision.together, f"the groups of {whose}", jobs, name)
    return Decision(order, gpus, bool(decision.blocks), decision.types, places, priority, together)


def _groups(
    groups: Any, what: str, jobs: int, name: Callable[[int], str]
) -> tuple[tuple[int, ...], ...]:
    """Groups of positions, each of which is in one of them at most."""
    if not isinstance(groups, Sequence) or not all(isinstance(one, Sequence) for one in groups):
        raise PartError(f"{what} are {shown(groups)}; lists of positions of jobs are expected")
    listed = [position for one in groups for position in one]
    order_of(listed, jobs, name, what, whole=False)
    return tuple(tuple(map(int, one)) for one in groups)


def _require_positions(chosen: object, what: str, jobs: int) -> None:
    if chosen is None:
        return
    if not isinstance(chosen, Mapping):
        raise PartError(f"{what} are {shown(chosen)}; a mapping by position of a job is expected")
    for position in chosen:
        if not (is_whole(position) and 0 <= position < jobs):
            raise PartError(
                f"{what} have position {shown(position)}; positions are 0 to {jobs - 1}"
            )


def sound_ring(ring: Any, whose: str, servers: int) -> Ring:
    """Workers by server, if a part returned whole numbers of them.

    Raises
    ------
    PartError
        With the ring.
    """
    sound = isinstance(ring, Mapping) and all(
        is_whole(server) and is_whole(count) for server, count in ring.items()
    )
    if sound and all(0 <= server < servers for server in ring):
        return {int(server): int(count) for server, count in ring.items()}
    raise PartError(
        f"{whose} returned {shown(ring)} as a place; whole numbers of workers by server, from 0 to "
        f"{servers - 1}, are expected"
    )
