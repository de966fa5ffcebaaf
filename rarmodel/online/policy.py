"""What a policy is: what it needs to know, and a function from the state to who holds GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rarmodel import registry
from rarmodel.engine.arrays import Ints
from rarmodel.methods import order_of
from rarmodel.model.features import ALONE_ON_GPUS
from rarmodel.model.timing import restore_slots
from rarmodel.schema import Instance

from .state import ATTAINED, Knows, State


@dataclass(frozen=True)
class Decision:
    """Who holds GPUs from now on.

    Positions are those in the arrays of the state. rarmodel goes through the jobs in order; each
    one that fits gets its GPUs. Running jobs keep theirs, and the others of the order are placed.

    Attributes
    ----------
    order
        Positions of jobs, most urgent first; the others hold nothing. By default all, in order of
        arrival.
    gpus
        (jobs) Ring size of each job, 0 for none. By default that of `State.gpus`.
    blocks
        Whether the first job that does not fit keeps those after it from starting.
    types
        By position, the type of GPU that a job is to have; others take what is there.
    places
        By position, workers on each server, by index: exact places in place of a placement's.
    priority
        (jobs) If given, a running job goes on until one of a greater number needs its GPUs: those
        of the least number stop first, of equal ones those that began last. By default the order
        alone says who goes on.
    together
        Positions of jobs that are to be on the same GPUs, group by group, where jobs share GPUs:
        nobody else joins them, and all other jobs are alone. By default jobs join each other where
        that is worth it.
    """

    order: Ints | None = None
    gpus: Ints | None = None
    blocks: bool = False
    types: Mapping[int, str] | None = None
    places: Mapping[int, Mapping[int, int]] | None = None
    priority: Ints | None = None
    together: Sequence[Sequence[int]] | None = None


Decide = Callable[[State], Decision]


@dataclass(frozen=True)
class Policy(registry.Part):
    """A rule that decides, as jobs arrive, who holds GPUs.

    Attributes
    ----------
    name
        Its name for `--policy`.
    decide
        Gives the decision for a state. What it wants to remember goes to `State.memory`.
    description
        What it does, in a line.
    knows
        `attained` or `durations`; the state refuses what the policy does not know.
    interrupts
        Whether running jobs stop if they are not in the order, or find no room there. Where an
        instance allows no preemption, running jobs go on.
    elastic
        Whether it chooses ring sizes: it then refuses instances without lists of sizes.
    round_slots
        Slots after which it is asked again, whatever happens; None if events suffice. The user may
        choose another number.
    handles
        Names of the features that it handles; see `rarmodel.model.features`.
    round_seconds
        The same as a time, for policies whose rounds do not depend on the length of a slot; see
        `slots_of_round`. `round_slots` goes before.
    packs
        Whether it says who shares GPUs with whom: it then refuses instances without slices.
    """

    kind = "policies"

    name: str
    decide: Decide
    description: str = ""
    knows: Knows = ATTAINED
    interrupts: bool = False
    elastic: bool = False
    round_slots: int | None = None
    round_seconds: float | None = None
    handles: frozenset[str] = ALONE_ON_GPUS
    packs: bool = False


def slots_of_round(policy: Policy, instance: Instance) -> int | None:
    """Slots of a policy's round on an instance; None without rounds.

    A round that is a time is as many slots as begin within it. Where jobs may be interrupted, a
    round is no shorter than twice what it takes to restore a job, so that restoring pays: a job
    that holds GPUs for one round works for half of it at least.
    """
    if policy.round_slots is not None:
        return policy.round_slots
    # Others' policies may do without.
    seconds: float | None = getattr(policy, "round_seconds", None)
    if seconds is None:
        return None
    least = 2 * restore_slots(instance) if policy.interrupts else 0
    return max(1, least, math.ceil(seconds / instance.time.slot_seconds - 1e-9))


def ranked(*keys: npt.NDArray[Any], among: npt.NDArray[np.bool_] | None = None) -> Ints:
    """Positions by keys, the least first; equal ones in order of arrival.

    Parameters
    ----------
    keys
        (jobs) The most important key first.
    among
        (jobs) Which jobs are in the order; by default all.
    """
    order = np.argsort(keys[0], kind="stable") if len(keys) == 1 else np.lexsort(keys[::-1])
    return order if among is None else order[among[order]]


def listed_first(positions: Sequence[int], jobs: int) -> Ints:
    """Some positions, and then all others in order of arrival.

    Raises
    ------
    PartError
        If one of them is no position, or is there twice.
    """
    what = "the list of positions that come first"
    first = order_of(positions, jobs, lambda k: f"at {k}", what, whole=False)
    return np.concatenate([first, np.setdiff1d(np.arange(jobs), first)])
