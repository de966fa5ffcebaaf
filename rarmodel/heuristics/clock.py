"""The list-scheduling clock that every placement policy gets for free (section 6).

Jobs are placed one after another, in a given order, by a *rule* that picks GPUs among the
available ones: idle now, and with accumulated time within the limit. If the rule finds none, the
clock goes to the next completion under the full contention model.

A rule is a function `rule(job, room, parameters, chosen) -> bool`. It writes the numbers of the
job's GPUs to the front of `chosen` and returns True, or returns False if it cannot place the job
now. A rule decorated with `rule` is compiled and runs at full speed; a plain Python function does
as well, for trying something out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from rarmodel.engine.arrays import (
    JOB,
    LINK,
    MEMBER,
    NEVER,
    RING,
    Arrays,
    Floats,
    Ints,
    State,
    arrays_of,
    new_state,
)
from rarmodel.engine.compilation import compiled
from rarmodel.engine.kernel import CLOCK, RUNNING, complete_next, next_completion, reset, start
from rarmodel.errors import UsageError
from rarmodel.schema import Instance

TOLERANCE = 1e-9
"""Float noise that a limit on a sum of estimates forgives."""

INFEASIBLE, LATE, MISPLACED = -1, -2, -3
"""Why a list schedule gave no makespan: a job cannot be placed and nothing will complete; the
makespan does not beat the cutoff; the rule chose GPUs that are not available."""


class Room(NamedTuple):
    """What a rule sees: the jobs' sizes and estimates, and the state of GPUs and servers now."""

    limit: float
    """Limit on the accumulated time of a GPU in slots, θ_u."""
    size: Ints
    """(jobs) GPUs that each job needs, G_j."""
    work: Floats
    """(jobs) Estimated execution time of each job in slots, ρ̂_j/u."""
    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    first_gpu: Ints
    """(servers + 1) GPUs are numbered server by server; this is the first one of each server."""
    server_of: Ints
    """(GPUs) Server of each GPU."""
    idle: npt.NDArray[np.bool_]
    """(GPUs) Whether the GPU is idle now."""
    load: Floats
    """(GPUs) Accumulated time of each GPU in slots, U_g."""
    idle_gpus: Ints
    """(servers) Idle GPUs of each server."""
    server_load: Floats
    """(servers) Accumulated time of all GPUs of each server in slots, Σ_g U_g."""
    hosted: Ints
    """(servers) Active jobs on each server."""
    servers: Ints
    """(servers) All servers in their order: 0, 1, …"""
    scratch: Ints
    """(3, servers or GPUs, whichever are more) For notes; nothing is kept here between calls."""
    keys: Floats
    """(2, GPUs) For notes as well."""


Rule: TypeAlias = Callable[[int, Room, Floats, Ints], bool]

_FLOATS, _INTS, _BOOLS = types.float64[::1], types.int64[::1], types.boolean[::1]


def _records(dtype: np.dtype[np.void]) -> types.Type:
    return numba.from_dtype(dtype)[::1]


_ROOM = types.NamedTuple(
    (
        types.float64,
        _INTS,
        _FLOATS,
        _INTS,
        _INTS,
        _INTS,
        _BOOLS,
        _FLOATS,
        _INTS,
        _FLOATS,
        _INTS,
        _INTS,
        types.int64[:, ::1],
        types.float64[:, ::1],
    ),
    Room,
)
_ARRAYS = types.NamedTuple(
    (
        types.float64,
        types.float64,
        types.float64,
        _records(JOB),
        _INTS,
        _INTS,
        _INTS,
        _INTS,
        _FLOATS,
    ),
    Arrays,
)
_STATE = types.NamedTuple(
    (
        _INTS,
        _records(RING),
        _INTS,
        _INTS,
        _records(LINK),
        _INTS,
        _records(MEMBER),
        _INTS,
        _INTS,
        _INTS,
    ),
    State,
)
_RULE = types.boolean(types.int64, _ROOM, _FLOATS, _INTS)


def rule(function: Rule) -> Rule:
    """Compile a placement rule with Numba and keep the result on disk.

    A compiled rule makes no arrays; `room.scratch` and `room.keys` are there to write notes in.
    """
    return compiled(function, by_pointer=True)


def new_room(instance: Instance, work: tuple[float, ...]) -> Room:
    """The empty cluster as a rule sees it, with `work` as estimates; the limit is not set yet."""
    server_gpus = np.array([server.gpus for server in instance.cluster.servers], np.int64)
    gpus = int(server_gpus.sum())
    servers = len(server_gpus)
    return Room(
        limit=float(NEVER),
        size=np.array([job.gpus for job in instance.jobs], np.int64),
        work=np.array(work, np.float64),
        server_gpus=server_gpus,
        first_gpu=np.concatenate(([0], np.cumsum(server_gpus))).astype(np.int64),
        server_of=np.repeat(np.arange(servers, dtype=np.int64), server_gpus),
        idle=np.ones(gpus, np.bool_),
        load=np.zeros(gpus),
        idle_gpus=server_gpus.copy(),
        server_load=np.zeros(servers),
        hosted=np.zeros(servers, np.int64),
        servers=np.arange(servers, dtype=np.int64),
        scratch=np.zeros((3, max(servers, gpus)), np.int64),
        keys=np.zeros((2, gpus)),
    )


@compiled
def available(room: Room, job: int, gpu: int) -> bool:
    """Whether a GPU is idle and the job would keep its accumulated time within the limit."""
    return bool(room.idle[gpu] and room.load[gpu] + room.work[job] <= room.limit + TOLERANCE)


def _list_schedule(
    rule: Rule,
    parameters: Floats,
    arrays: Arrays,
    state: State,
    room: Room,
    order: Ints,
    cutoff: int,
    starts: Ints,
    held_at: Ints,
    held: Ints,
    chosen: Ints,
) -> int:
    """Place all jobs; the makespan, or INFEASIBLE, LATE or MISPLACED.

    Parameters
    ----------
    rule, parameters
        The placement rule and the numbers passed on to it.
    arrays, state, room
        The instance, and working memory for simulation and rule.
    order
        (jobs) The jobs in the order they are placed.
    cutoff
        Only makespans below this are of interest.
    starts
        (jobs) Receives the start slots.
    held_at, held
        Offsets by job, and what receives the GPUs of each job.
    chosen
        Scratch, as long as the cluster has GPUs.
    """
    reset(state)
    _clear(room)
    idle = len(room.idle)
    for job in order:
        size = room.size[job]
        while idle < size or not rule(job, room, parameters, chosen):
            if next_completion(arrays, state) == NEVER:
                return INFEASIBLE
            idle += _release(arrays, state, room, held_at, held, chosen)
            if state.counters[CLOCK] >= cutoff:
                return LATE
        if not _take(arrays, state, room, job, held_at[job], held, chosen):
            return MISPLACED
        idle -= size
        starts[job] = state.counters[CLOCK]
    while state.counters[RUNNING] > 0:
        if next_completion(arrays, state) == NEVER:
            return INFEASIBLE
        _release(arrays, state, room, held_at, held, chosen)
        if state.counters[CLOCK] >= cutoff:
            return LATE
    return int(state.counters[CLOCK])


@compiled
def _clear(room: Room) -> None:
    """Empty the cluster."""
    room.idle[:] = True
    room.load[:] = 0.0
    room.server_load[:] = 0.0
    room.hosted[:] = 0
    for server in room.servers:
        room.idle_gpus[server] = room.server_gpus[server]


@compiled
def _take(
    arrays: Arrays, state: State, room: Room, job: int, at: int, held: Ints, chosen: Ints
) -> bool:
    """Start a job on the chosen GPUs; False if one of them is not available."""
    servers, workers, on_server = room.scratch[0], room.scratch[1], room.scratch[2]
    for i in range(room.size[job]):
        if 0 <= chosen[i] < len(room.idle):
            on_server[room.server_of[chosen[i]]] = 0
    used = 0
    for i in range(room.size[job]):
        gpu = chosen[i]
        if gpu < 0 or gpu >= len(room.idle) or not available(room, job, gpu):
            return False
        held[at + i] = gpu
        server = room.server_of[gpu]
        room.idle[gpu] = False
        room.load[gpu] += room.work[job]
        room.server_load[server] += room.work[job]
        room.idle_gpus[server] -= 1
        if on_server[server] == 0:
            servers[used] = server
            room.hosted[server] += 1
            used += 1
        on_server[server] += 1
    for i in range(used):
        workers[i] = on_server[servers[i]]
    start(arrays, state, job, servers, workers, used)
    return True


@compiled
def _release(
    arrays: Arrays, state: State, room: Room, held_at: Ints, held: Ints, completed: Ints
) -> int:
    """Go to the next completion; free the GPUs of the jobs that complete, and count them."""
    freed = 0
    left = room.scratch[0]
    for i in range(complete_next(arrays, state, completed)):
        job = completed[i]
        for gpu in held[held_at[job] : held_at[job + 1]]:
            left[room.server_of[gpu]] = 0
        for gpu in held[held_at[job] : held_at[job + 1]]:
            server = room.server_of[gpu]
            room.idle[gpu] = True
            room.idle_gpus[server] += 1
            if left[server] == 0:
                room.hosted[server] -= 1
                left[server] = 1
        freed += room.size[job]
    return freed


_SIGNATURE = types.int64(
    types.FunctionType(_RULE),
    _FLOATS,
    _ARRAYS,
    _STATE,
    _ROOM,
    _INTS,
    types.int64,
    _INTS,
    _INTS,
    _INTS,
    _INTS,
)


class ListScheduler:
    """Runs the clock over one instance with any rule, order and limit, reusing its memory.

    Parameters
    ----------
    instance
        The problem.
    work
        Estimated execution time of each job in slots, ρ̂_j/u.
    """

    def __init__(self, instance: Instance, work: tuple[float, ...]) -> None:
        self._arrays = arrays_of(instance)
        self._state = new_state(self._arrays)
        self._room = new_room(instance, work)
        self._held_at = np.concatenate(([0], np.cumsum(self._room.size))).astype(np.int64)
        self._held = np.zeros(int(self._held_at[-1]), np.int64)
        self._starts = np.zeros(len(instance.jobs), np.int64)
        self._chosen = np.zeros(len(self._room.idle), np.int64)

    def run(
        self, rule: Rule, parameters: Floats, order: Ints, limit: float, cutoff: int = NEVER
    ) -> int:
        """Place all jobs.

        Parameters
        ----------
        rule, parameters
            The placement rule, and the numbers it gets each time.
        order
            (jobs) Job indices in the order of placement.
        limit
            Limit on a GPU's accumulated time in slots, θ_u.
        cutoff
            Give up (LATE) as soon as the makespan is known not to be below this slot.

        Returns
        -------
        int
            The makespan in slots, or INFEASIBLE or LATE.

        Raises
        ------
        UsageError
            If the rule cannot be compiled, or chooses GPUs that are not available.
        """
        schedule = _list_schedule
        if isinstance(rule, Dispatcher):
            _compile(rule)
            schedule = _compiled_list_schedule()
        makespan = schedule(
            rule,
            parameters,
            self._arrays,
            self._state,
            self._room._replace(limit=limit),
            order,
            cutoff,
            self._starts,
            self._held_at,
            self._held,
            self._chosen,
        )
        if makespan == MISPLACED:
            raise UsageError("the placement rule chose GPUs that are not available")
        return int(makespan)

    def loads(self) -> Floats:
        """(GPUs) Accumulated time of each GPU in slots after the last run, U_g."""
        return self._room.load.copy()

    def assignments(self) -> list[tuple[int, Ints]]:
        """Start slot and GPU numbers of each job after the last run, in job order."""
        gpus = [np.sort(part) for part in np.split(self._held, self._held_at[1:-1])]
        return list(zip(self._starts.tolist(), gpus, strict=True))


def _compile(rule: Dispatcher) -> None:
    try:
        rule.compile(_RULE)
    except NumbaError as error:
        reason = " ".join(str(error.args[0] if error.args else error).split())
        raise UsageError(
            f"placement rule {rule.py_func.__name__!r} cannot be compiled: {reason}; "
            "without the decorator it runs as plain Python"
        ) from error


@cache
def _compiled_list_schedule() -> Callable[..., int]:
    return compiled(_list_schedule, signature=_SIGNATURE)
