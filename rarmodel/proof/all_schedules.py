"""All schedules of a tiny instance, one by one: every start and every placement of every job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Arrays, Ints, State, arrays_of, new_state
from rarmodel.engine.compilation import compiled
from rarmodel.engine.evaluate import placements_of, simulate
from rarmodel.schema import Instance


class Schedules(NamedTuple):
    """Schedules as rows of arrays."""

    starts: Ints
    """(schedules, jobs) Start slots a_j."""
    completions: Ints
    """(schedules, jobs) Completion times T_j in slots."""
    choices: Ints
    """(schedules, jobs) Number of each job's placement among its options."""


def all_schedules(
    instance: Instance,
    options: Sequence[Sequence[Mapping[int, int]]],
    least_slots: Sequence[Sequence[int]],
    horizon: int,
    most_schedules: int,
    most_evaluations: int,
) -> Schedules | None:
    """Every feasible schedule within a horizon, up to the numbering of GPUs.

    Jobs are decided one after another. A partial schedule that is late, overfull or stuck stays so
    whatever is added, since more jobs never make others faster; this is all that is cut off.

    Parameters
    ----------
    instance
        The problem.
    options
        By job: all ways to place it, as workers by server index.
    least_slots
        By job: least execution time in slots in each of these.
    horizon
        Greatest makespan in slots.
    most_schedules, most_evaluations
        How many schedules, and simulations of partial ones, there may be.

    Returns
    -------
    Schedules or None
        None if there are more.
    """
    jobs = len(instance.jobs)
    arrays = arrays_of(instance)
    first = np.cumsum([0, *map(len, options)]).astype(np.int64)
    flat = placements_of(option for ways in options for option in ways)
    rows = tuple(np.zeros((most_schedules, jobs), np.int64) for _ in range(3))
    count = _enumerate(
        arrays,
        new_state(arrays),
        np.arange(jobs),
        first,
        flat.at,
        flat.server,
        flat.workers,
        np.array([slots for ways in least_slots for slots in ways], np.int64),
        horizon,
        most_evaluations,
        np.zeros((6, jobs + 1), np.int64),
        np.zeros((2, jobs * len(instance.cluster.servers)), np.int64),
        *rows,
    )
    return Schedules(*(row[:count].copy() for row in rows)) if count >= 0 else None


@compiled
def _enumerate(
    arrays: Arrays,
    state: State,
    modes: Ints,
    first: Ints,
    option_at: Ints,
    option_server: Ints,
    option_workers: Ints,
    least: Ints,
    horizon: int,
    most_evaluations: int,
    scratch: Ints,
    placed: Ints,
    all_starts: Ints,
    all_completions: Ints,
    all_choices: Ints,
) -> int:
    """Write all schedules to the last three arrays; their number, or −1 if there are too many."""
    jobs = len(first) - 1
    starts, option, at = scratch[0], scratch[1], scratch[2]
    order, completed = scratch[3], scratch[4]
    server, workers = placed[0], placed[1]
    count = evaluations = job = 0
    option[0] = first[0]
    while job >= 0:
        if option[job] == first[job + 1]:
            job -= 1
            if job >= 0:
                starts[job] += 1
            continue
        if starts[job] + least[option[job]] > horizon:
            option[job] += 1
            starts[job] = 0
            continue
        end = at[job]
        for p in range(option_at[option[job]], option_at[option[job] + 1]):
            server[end], workers[end] = option_server[p], option_workers[p]
            end += 1
        at[job + 1] = end
        for i in range(job + 1):  # The jobs decided so far, in the order of their starts.
            place = i
            while place > 0 and starts[order[place - 1]] > starts[i]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
        evaluations += 1
        if evaluations > most_evaluations:
            return -1
        makespan = simulate(
            arrays, state, order[: job + 1], modes, starts, at, server, workers, horizon, completed
        )
        if makespan >= 0 and job + 1 < jobs:
            job += 1
            option[job] = first[job]
            starts[job] = 0
            continue
        if makespan >= 0:
            if count == len(all_starts):
                return -1
            for j in range(jobs):
                all_starts[count, j] = starts[j]
                all_completions[count, j] = state.rings[j].finish
                all_choices[count, j] = option[j] - first[j]
            count += 1
        starts[job] += 1
    return count
