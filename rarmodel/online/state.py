"""What a policy sees: the clock, the cluster, and the jobs that have arrived and are not complete.

A state holds nothing else. Jobs that are still to come are not in it, and durations are refused
unless the policy has declared that it knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints
from rarmodel.errors import UsageError
from rarmodel.schema import Cluster, Instance

from .placement import Asked

Service = npt.NDArray[np.int64] | npt.NDArray[np.float64]
"""GPUs times slots: whole numbers, but where workers hold parts of GPUs."""
Knows = Literal["attained", "durations"]
"""What a policy may know of jobs."""
ATTAINED: Literal["attained"] = "attained"
"""A policy that knows what jobs have had so far, but not how long they are."""
DURATIONS: Literal["durations"] = "durations"
"""A policy that knows how many iterations jobs need, hence their remaining time."""
OF_DURATIONS = frozenset({"remaining", "length", "iterations", "problem"})
"""What only policies see that know durations."""


class State:
    """The state at a decision.

    Arrays have one entry for each job that has arrived, is not complete, and waits for no other
    job; in order of arrival: by release, then as in the instance. Nobody can write to them.

    Attributes
    ----------
    now
        The slot.
    slot_seconds
        Length of a slot in seconds.
    cluster
        Servers and network, with all reservations.
    number
        How many jobs arrived before each: a job keeps its number.
    release
        When each was submitted, r_j.
    gpus
        Ring size of each: the one that it has while it runs, or else that of least area.
    sizes
        Its allowed ring sizes, ascending.
    weight, priority, due, deadline
        As the instance has them; a slot beyond all others where there is none.
    tenant
        Name of its tenant; None without one.
    running
        Whether it holds GPUs.
    held
        How many.
    since
        The slot from which on it holds them; −1 if it holds none.
    attained
        GPUs times slots that it held them so far, restorations included; where jobs share GPUs, a
        worker of some slices holds a part of one.
    places
        Workers on each server, by index, of those that run.
    speeds
        Iterations per slot alone in the best placement, by ring size and type of GPU; the type is
        None for a job that runs alike on all.
    type_speeds
        The same in a ring of `gpus` on GPUs of one type only, by type, alone on what is not
        reserved now; 0 where the servers that it may use have no place for it.
    speeds_beside
        Of some positions, the iterations per slot of the first beside the others on the same GPUs,
        by type, in a ring of `gpus`; 0 where they do not fit there together.
    mates
        Positions of the jobs that are on some GPU of each.
    kept_beside
        The part of its speed that each keeps beside one other on a GPU: the mean over the kinds
        beside which its own was measured, or as beside one of pressure 1.
    idle
        (servers) GPUs that jobs may take now.
    capacity
        (servers) GPUs without those that are reserved now.
    completed_service
        What the jobs that are complete had attained, in order of completion.
    asks
        What each asks for of its places, with as many GPUs as `gpus` says; see `Asked`.
    interruptible
        Whether some job may be interrupted.
    preemptible
        Whether each job may. One that may not goes on once it holds GPUs, whatever is decided.
    is_round
        Whether a round begins.
    remaining, length, iterations
        Slots for the iterations that each has left, and for all that it had when it arrived, alone
        in its best placement; iterations left. Only for policies that know durations.
    problem
        All of this as an instance that begins now: with what is left of the jobs, and those that
        run where they are. Only for policies that know durations.
    random
        Random numbers of this simulation.
    memory
        What the policy wants to remember until the next decision; empty at the first one.
    """

    __slots__ = ("_cached", "_knows", "_policy", "_views", "memory", "random")

    now: int
    slot_seconds: float
    cluster: Cluster
    number: Ints
    release: Ints
    gpus: Ints
    sizes: tuple[tuple[int, ...], ...]
    weight: Ints
    priority: Ints
    due: Ints
    deadline: Ints
    tenant: tuple[str | None, ...]
    running: npt.NDArray[np.bool_]
    held: Ints
    since: Ints
    attained: Service
    places: tuple[Mapping[int, int], ...]
    speeds: tuple[Mapping[tuple[int, str | None], int], ...]
    type_speeds: tuple[Mapping[str | None, int], ...]
    speeds_beside: Callable[..., Mapping[str | None, int]]
    mates: tuple[frozenset[int], ...]
    kept_beside: npt.NDArray[np.float64]
    idle: Ints
    capacity: Ints
    completed_service: Service
    asks: tuple[Asked, ...]
    interruptible: bool
    preemptible: npt.NDArray[np.bool_]
    is_round: bool
    problem: Instance
    remaining: Ints
    length: Ints
    iterations: Ints

    def __init__(
        self,
        policy: str,
        knows: Knows,
        views: Mapping[str, Callable[[], Any]],
        random: np.random.Generator,
        memory: dict[str, Any],
    ) -> None:
        self._policy = policy
        self._knows = knows
        self._views = views
        self._cached: dict[str, Any] = {}
        self.random = random
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._cached:
            return self._cached[name]
        if name not in self._views:
            known = ", ".join(sorted(self._views))
            self._refuse(f"{name!r}, which no policy sees; a state has {known}")
        if name in OF_DURATIONS and self._knows != DURATIONS:
            self._refuse(f"{name!r}, but has not declared that it knows {DURATIONS!r}")
        value = self._views[name]()
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        self._cached[name] = value
        return value

    def __len__(self) -> int:
        return len(self.number)

    def position(self, number: int) -> int:
        """The position of a job in the arrays, by its number.

        Raises
        ------
        UsageError
            If no such job has arrived, or it is complete or waits for another job.
        """
        place = int(np.searchsorted(self.number, number))
        if place == len(self) or self.number[place] != number:
            self._refuse(f"job number {number}, which is not there")
        return place

    def _refuse(self, what: str) -> NoReturn:
        raise UsageError(f"policy {self._policy!r} asks its state for {what}")
