"""The optimum by trying every start and every placement: slow, and hard to get wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarmodel.engine import CUT_OFF, Engine, placements_of
from rarmodel.model import horizon_of, job_extremes
from rarmodel.model.objectives import MAKESPAN, Value, objectives_of
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


def optimal_makespan(instance: Instance, known: int | None = None) -> int | None:
    """The optimum over all starts and placements; None if nothing meets the horizon.

    Of a makespan that is known to be possible, only shorter ones are looked for.
    """
    value = optimal_value(instance.model_copy(update={"objective": MAKESPAN.name}), known)
    return None if value is None else int(value)


def optimal_value(instance: Instance, known: Value | None = None) -> Value | None:
    """The least value of the first objective over all starts and placements, within the horizon.

    Jobs are decided one after another. A partial schedule that is late, overfull or no better than
    the best one stays so whatever is added, since more jobs never make others faster; this is all
    that is cut off.

    Parameters
    ----------
    instance
        The problem, with releases.
    known
        Only schedules of less value are looked for.
    """
    engine = Engine(instance)
    objective = objectives_of(instance)[0]
    capacities = [server.gpus for server in instance.cluster.servers]
    placements = [list(count_vectors(capacities, job.size)) for job in instance.jobs]
    least = [extreme.least_slots for extreme in job_extremes(instance)]
    releases = [max(0, job.release) for job in instance.jobs]
    jobs = len(instance.jobs)
    horizon = horizon_of(instance)
    best = known
    starts = np.full(jobs, FAR, np.int64)
    workers = [options[0] for options in placements]
    soonest = [release + slots for release, slots in zip(releases, least, strict=True)]

    def worse(completions: list[int]) -> bool:
        return best is not None and objective.value(instance, completions) >= best

    def decide(job: int, ends: list[int]) -> None:
        nonlocal best
        if job == jobs:
            best = objective.value(instance, ends)
            return
        for option in placements[job]:
            workers[job] = option
            start = releases[job]
            while start + least[job] <= horizon and not worse(
                [*ends, start + least[job], *soonest[job + 1 :]]
            ):
                starts[job] = start
                partial = engine.evaluate(starts, placements_of(workers), horizon)
                decided = partial.completion[: job + 1].tolist()
                on_time = partial.makespan >= 0 or partial.makespan == CUT_OFF
                if on_time and max(decided) <= horizon and not worse(decided + soonest[job + 1 :]):
                    decide(job + 1, decided)
                start += 1
            starts[job] = FAR
        workers[job] = placements[job][0]

    decide(0, [])
    return best
