"""Evaluate starts and placements: the hot path of everything that searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.schema import Instance, Schedule

from .arrays import CUT_OFF, NEVER, OVERFULL, STUCK, Arrays, Ints, State, arrays_of, new_state
from .compilation import compiled
from .kernel import CLOCK, RUNNING, complete_next, next_completion, reset, start
from .modes import modes_in, modes_of
from .segmented_runs import evaluated, segments_of


class Placements(NamedTuple):
    """Where each job's workers are: those of job j are entries `at[j]` to `at[j + 1] − 1`."""

    at: Ints
    """(jobs + 1) Offsets."""
    server: Ints
    """Server index; a job's servers are distinct."""
    workers: Ints
    """Workers y_js there, at least 1 each and G_j in all."""


class Evaluation(NamedTuple):
    """Outcome of an evaluation.

    Attributes
    ----------
    makespan
        The latest completion in slots, or OVERFULL, STUCK or CUT_OFF.
    completion
        (jobs) Completion times in slots; `NEVER` for jobs that had not completed when the
        evaluation ended without a makespan.
    """

    makespan: int
    completion: Ints


class Engine:
    """Evaluates schedules of one instance, reusing its memory; one per thread."""

    def __init__(self, instance: Instance) -> None:
        self.arrays = arrays_of(instance)
        self.state = new_state(self.arrays)
        self._completed = np.zeros(len(instance.jobs), np.int64)
        self._mode = np.arange(len(instance.jobs))
        self._modes = None
        if len(self.arrays.modes) > len(instance.jobs):
            self._modes = modes_of(instance)
            self._compute = self.arrays.modes["compute"].copy()

    def evaluate(self, starts: Ints, placements: Placements, limit: int = NEVER) -> Evaluation:
        """Simulate jobs that start at given slots on given servers.

        Parameters
        ----------
        starts
            (jobs) Start slots, at least 0.
        placements
            Workers of each job on each server. GPU indices do not matter to time, only that no
            server holds more workers than it has GPUs.
        limit
            Give up (CUT_OFF) as soon as the makespan is known to exceed this slot.
        """
        order = np.argsort(starts, kind="stable")
        if self._modes is not None:
            modes_in(self._modes, self._compute, *placements, self._mode)
        makespan = simulate(
            self.arrays, self.state, order, self._mode, starts, *placements, limit, self._completed
        )
        done = self.state.rings["finish"].copy()
        if makespan < 0:
            done[done > self.state.counters[CLOCK]] = NEVER
        return Evaluation(int(makespan), done)


def placements_of(workers: Iterable[Mapping[int, int]]) -> Placements:
    """Placements from the number of workers on each server (by index), job by job."""
    at, server, count = [0], list[int](), list[int]()
    for ring in workers:
        server.extend(ring)
        count.extend(ring.values())
        at.append(len(server))
    return Placements(*(np.array(values, np.int64) for values in (at, server, count)))


def decisions(instance: Instance, schedule: Schedule) -> tuple[Ints, Placements]:
    """Starts and placements of a schedule that assigns each job once to servers that exist.

    Raises
    ------
    ValueError
        If a job is interrupted: it has several of both.
    """
    if any(len(assignment.segments) > 1 for assignment in schedule.assignments):
        raise ValueError("a job is interrupted, and has no one start and placement")
    index = {server.name: i for i, server in enumerate(instance.cluster.servers)}
    by_job = {assignment.job: assignment for assignment in schedule.assignments}
    assignments = [by_job[job.name] for job in instance.jobs]
    starts = np.array([assignment.start for assignment in assignments], np.int64)
    placements = placements_of(
        {index[name]: len(gpus) for name, gpus in assignment.gpus.items() if gpus}
        for assignment in assignments
    )
    return starts, placements


def numbered_gpus(instance: Instance, schedule: Schedule) -> list[list[int]]:
    """(jobs) GPUs of each job by number, as in `SharedGpus`; in the order of `decisions`."""
    servers = instance.cluster.servers
    begins = accumulate((server.gpus for server in servers), initial=0)
    first = dict(zip([server.name for server in servers], begins, strict=False))
    by_job = {assignment.job: assignment.gpus for assignment in schedule.assignments}
    return [
        [first[name] + gpu for name, own in by_job[job.name].items() for gpu in own]
        for job in instance.jobs
    ]


def evaluate(instance: Instance, schedule: Schedule) -> Evaluation:
    """Evaluate a schedule that assigns each job once to servers that exist.

    What a job holds after its completion, in segments that should not be, counts for nothing.
    """
    if instance.preemption is not None:
        return Evaluation(*evaluated(instance, segments_of(instance, schedule), NEVER))
    if shares_gpus(instance):
        decisions(instance, schedule)  # No job is interrupted.
        return Evaluation(*evaluated(instance, segments_of(instance, schedule), NEVER))
    return Engine(instance).evaluate(*decisions(instance, schedule))


@compiled
def simulate(
    arrays: Arrays,
    state: State,
    order: Ints,
    modes: Ints,
    starts: Ints,
    at: Ints,
    server: Ints,
    workers: Ints,
    limit: int,
    completed: Ints,
) -> int:
    """Makespan of jobs in their modes, or why there is none; rings keep completions in `finish`."""
    reset(arrays, state)
    busy = state.busy
    busy[:] = 0
    jobs, begun = len(order), 0
    while begun < jobs or state.counters[RUNNING] > 0:
        completion = next_completion(arrays, state)
        beginning = starts[order[begun]] if begun < jobs else NEVER
        if min(completion, beginning) > limit:
            return STUCK if completion == beginning == NEVER else CUT_OFF
        if completion <= beginning:
            if completion == NEVER:
                return STUCK
            for i in range(complete_next(arrays, state, completed)):
                job = completed[i]
                for p in range(at[job], at[job + 1]):
                    busy[server[p]] -= workers[p]
            if completion < beginning:
                continue
        state.counters[CLOCK] = beginning
        while begun < jobs and starts[order[begun]] == beginning:
            job = order[begun]
            first, end = at[job], at[job + 1]
            for p in range(first, end):
                busy[server[p]] += workers[p]
                if busy[server[p]] > arrays.server_gpus[server[p]]:
                    return OVERFULL
            ring = server[first:end], workers[first:end], end - first
            start(arrays, state, job, modes[job], *ring)
            begun += 1
    return int(state.counters[CLOCK])
