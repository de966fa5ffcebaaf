"""The optimum by trying every start and every placement: slow, and hard to get wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarmodel.engine import CUT_OFF, Engine, placements_of
from rarmodel.model import horizon_of, job_extremes
from rarmodel.schema import Instance

FAR = 2**60


def count_vectors(capacities: list[int], gpus: int) -> Iterator[dict[int, int]]:
    """All ways to put a job's workers on servers."""

    def spread(server: int, left: int) -> Iterator[dict[int, int]]:
        if server == len(capacities):
            if left == 0:
                yield {}
            return
        for here in range(min(left, capacities[server]) + 1):
            for rest in spread(server + 1, left - here):
                yield {server: here, **rest} if here else rest

    yield from spread(0, gpus)


def optimal_makespan(instance: Instance) -> int | None:
    """The optimum over all starts and placements; None if nothing meets the horizon.

    Jobs are decided one after another. A partial schedule that is late, or overfull, stays so
    whatever is added, since more jobs never make others faster; this is all that is cut off.
    """
    engine = Engine(instance)
    capacities = [server.gpus for server in instance.cluster.servers]
    placements = [list(count_vectors(capacities, job.size)) for job in instance.jobs]
    least = [extreme.least_slots for extreme in job_extremes(instance)]
    jobs = len(instance.jobs)
    best = horizon_of(instance) + 1
    starts = np.full(jobs, FAR, np.int64)
    workers = [options[0] for options in placements]

    def decide(job: int) -> None:
        nonlocal best
        if job == jobs:
            makespan = engine.evaluate(starts, placements_of(workers)).makespan
            if 0 <= makespan < best:
                best = makespan
            return
        for option in placements[job]:
            workers[job] = option
            start = 0
            while start + least[job] < best:
                starts[job] = start
                partial = engine.evaluate(starts, placements_of(workers), best - 1)
                on_time = partial.makespan >= 0 or partial.makespan == CUT_OFF
                if on_time and (partial.completion[: job + 1] < best).all():
                    decide(job + 1)
                start += 1
            starts[job] = FAR
        workers[job] = placements[job][0]

    decide(0)
    return best if best <= horizon_of(instance) else None
