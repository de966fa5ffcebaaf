"""The list-scheduling clock that every placement policy gets for free (section 6).

Jobs are placed one after another, in a given order, by a rule that picks GPUs among the available
ones: idle now, and with accumulated time within the limit. If the rule finds none, the clock goes
to the next completion under the full contention model.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from rarmodel.engine.arrays import NEVER, Arrays, Floats, Ints, State, arrays_of, new_state
from rarmodel.engine.compilation import compiled
from rarmodel.engine.kernel import CLOCK, RUNNING, complete_next, next_completion, reset, start
from rarmodel.errors import PartError, UsageError
from rarmodel.schema import Instance

from .idle_gpus import IdleGpus, Rule, available, new_idle_gpus
from .ranking import note_all, note_change

_inner = partial(compiled, inner=True)

INFEASIBLE, CUT_OFF, MISPLACED = -1, -2, -3
"""Why a list schedule gave no makespan: a job cannot be placed and nothing will complete; the
makespan does not beat the cutoff; the rule chose GPUs that are not available."""


def _list_schedule(
    rule: Rule,
    parameters: Floats,
    arrays: Arrays,
    state: State,
    room: IdleGpus,
    order: Ints,
    cutoff: int,
    starts: Ints,
    held_at: Ints,
    held: Ints,
    chosen: Ints,
) -> int:
    """Place all jobs; the makespan, or INFEASIBLE, CUT_OFF or MISPLACED.

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
    _begin(arrays, state, room)
    idle, placed = len(room.idle), 0
    while placed < len(order) or state.counters[RUNNING] > 0:
        if placed < len(order):
            job = order[placed]
            if room.size[job] <= idle and rule(job, room, parameters, chosen):
                if not _take(arrays, state, room, job, held_at[job], held, chosen):
                    return MISPLACED
                idle -= room.size[job]
                starts[job] = state.counters[CLOCK]
                placed += 1
                continue
        freed = _go_on(arrays, state, room, held_at, held, chosen)
        if freed == 0:
            return INFEASIBLE
        idle += freed
        if state.counters[CLOCK] >= cutoff:
            return CUT_OFF
    return int(state.counters[CLOCK])


@_inner
def _begin(arrays: Arrays, state: State, room: IdleGpus) -> None:
    """Begin at slot 0 with an empty cluster."""
    reset(arrays, state)
    room.idle[:] = True
    room.load[:] = 0.0
    room.most_load[:] = 0.0
    room.server_load[:] = 0.0
    room.hosted[:] = 0
    for server in room.servers:
        room.idle_gpus[server] = room.server_gpus[server]
    note_all(room.ranks, len(room.servers))


@_inner
def _take(
    arrays: Arrays, state: State, room: IdleGpus, job: int, at: int, held: Ints, chosen: Ints
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
        room.most_load[0] = max(room.most_load[0], room.load[gpu])
        room.server_load[server] += room.work[job]
        room.idle_gpus[server] -= 1
        if on_server[server] == 0:
            servers[used] = server
            room.hosted[server] += 1
            note_change(room.ranks, server)
            used += 1
        on_server[server] += 1
    for i in range(used):
        workers[i] = on_server[servers[i]]
    start(arrays, state, job, job, servers, workers, used)
    return True


@_inner
def _go_on(
    arrays: Arrays, state: State, room: IdleGpus, held_at: Ints, held: Ints, completed: Ints
) -> int:
    """Go to the next completion and free the GPUs of the jobs that complete.

    How many GPUs they are is returned; 0 if no job will complete.
    """
    if next_completion(arrays, state) == NEVER:
        return 0
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
                note_change(room.ranks, server)
                left[server] = 1
        freed += room.size[job]
    return freed


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
        self._room = new_idle_gpus(instance, work)
        self._held_at = np.concatenate(([0], np.cumsum(self._room.size))).astype(np.int64)
        self._held = np.zeros(int(self._held_at[-1]), np.int64)
        self._starts = np.zeros(len(instance.jobs), np.int64)
        self._chosen = np.zeros(len(self._room.idle), np.int64)
        self._compiled: dict[Rule, Callable[..., int]] = {}

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
            Give up (CUT_OFF) as soon as the makespan is known not to be below this slot.

        Returns
        -------
        int
            The makespan in slots, or INFEASIBLE or CUT_OFF.

        Raises
        ------
        UsageError
            If the rule cannot be compiled, or chooses GPUs that are not available, or one twice.
        """
        arguments = (
            parameters,
            self._arrays,
            self._state,
            self._room._replace(limit=min(limit, float(NEVER))),
            order,
            cutoff,
            self._starts,
            self._held_at,
            self._held,
            self._chosen,
        )
        schedule: Callable[..., int] = partial(_list_schedule, rule)
        if isinstance(rule, Dispatcher):
            if rule not in self._compiled:
                self._compiled[rule] = _compiled_for(rule, *map(numba.typeof, arguments))
            schedule = self._compiled[rule]
        makespan = schedule(*arguments)
        if makespan == MISPLACED:
            name = getattr(getattr(rule, "py_func", rule), "__name__", "of the policy")
            raise PartError(
                f"the placement rule {name!r} chose GPUs that are not available, or one GPU twice"
            )
        return int(makespan)

    def loads(self) -> Floats:
        """(GPUs) Accumulated time of each GPU in slots after the last run, U_g."""
        return self._room.load.copy()

    def assignments(self) -> list[tuple[int, Ints]]:
        """Start slot and GPU numbers of each job after the last run, in job order."""
        gpus = [np.sort(part) for part in np.split(self._held, self._held_at[1:-1])]
        return list(zip(self._starts.tolist(), gpus, strict=True))


class _Pointer(types.WrapperAddressProtocol):  # type: ignore[misc]
    """Where a compiled rule is; given the rule itself, Numba would look that up at each call."""

    def __init__(self, rule: Dispatcher, rule_type: Any) -> None:
        code = rule.get_compile_result(rule_type)
        self._address = code.library.get_pointer_to_function(code.fndesc.llvm_cfunc_wrapper_name)
        self._type = rule_type
        self._code = code  # It must stay in memory.

    def __wrapper_address__(self) -> int:
        return int(self._address)

    def signature(self) -> Any:
        """Types of the rule's arguments and of its answer."""
        return self._type


@cache
def _compiled_for(rule: Dispatcher, *argument_types: Any) -> Callable[..., int]:
    """The compiled clock with a rule, which it calls by pointer; compiles the rule as well."""
    parameters, _, _, room, *_, chosen = argument_types
    rule_type = types.boolean(types.int64, room, parameters, chosen)
    try:
        rule.compile(rule_type)
    except NumbaError as error:
        reason = " ".join(str(error.args[0] if error.args else error).split())
        raise UsageError(
            f"placement rule {rule.py_func.__name__!r} cannot be compiled: {reason}; "
            "without the decorator it runs as plain Python"
        ) from error
    clock = _compiled_clock(types.int64(types.FunctionType(rule_type), *argument_types))
    return partial(clock, _Pointer(rule, rule_type))


@cache
def _compiled_clock(signature: Any) -> Callable[..., int]:
    return compiled(_list_schedule, signature=signature)
