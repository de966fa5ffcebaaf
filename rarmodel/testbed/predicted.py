"""What the models of contention say of a schedule that is played: the same order, in seconds.

Speeds are constant between two events, as everywhere, but nothing is rounded to slots or whole
iterations per slot, as nothing is in the testbed.
"""

from __future__ import annotations

from collections.abc import Sequence

from rarmodel.model import RingOnLinks, bandwidths, iteration_seconds, topology
from rarmodel.model.sharing_rule import RULES
from rarmodel.schema import Contention, Instance, Schedule

from .played_schedule import Part, PlayedJob, parts_of


def rows_of(
    instance: Instance, schedule: Schedule, played: Sequence[PlayedJob]
) -> list[dict[str, str | float]]:
    """A row for each job: its measured start and completion, and what models predict, in seconds.

    Parameters
    ----------
    instance, schedule
        The problem, and the schedule that was played.
    played
        What was measured.
    """
    gbps = [link.gbps for link in topology(instance.cluster).links]
    parts = parts_of(instance, schedule)
    models = {
        name: predicted(instance.contention.model_copy(update={"model": name}), gbps, parts)
        for name in RULES
    }
    return [
        {
            "job": job.job,
            "start_s": round(job.start, 3),
            "completion_s": round(job.completion, 3),
            **{f"{name}_s": round(jobs[i].completion, 3) for name, jobs in models.items()},
        }
        for i, job in enumerate(played)
    ]


def predicted(
    contention: Contention, gbps: Sequence[float], parts: Sequence[Part]
) -> list[PlayedJob]:
    """Start and completion of each job as the model of contention has them.

    Parameters
    ----------
    contention
        ξ1, f, and the model.
    gbps
        Rate of each link.
    parts
        The jobs.
    """
    left = [float(part.pace.iterations) for part in parts]
    start: dict[int, float] = {}
    completion: dict[int, float] = {}
    now = 0.0
    while len(completion) < len(parts):
        for number, part in enumerate(parts):
            if number not in start and completion.keys() >= set(part.after):
                start[number] = now
        running = [number for number in start if number not in completion]
        seconds = {number: parts[number].rest for number in running}
        linked = [number for number in running if parts[number].links]
        rings = [
            RingOnLinks(
                *(one.links, one.pace.bits, one.rest),
                pressure=one.pace.pressure,
                sensitivity=one.pace.sensitivity,
            )
            for one in map(parts.__getitem__, linked)
        ]
        for number, ring, share in zip(
            linked, rings, bandwidths(contention, gbps, rings), strict=True
        ):
            seconds[number] = iteration_seconds(ring.bits, share, 0.0, 0.0, 0.0, ring.rest, 1.0)
        step = min(left[number] * seconds[number] for number in running)
        now += step
        for number in running:
            left[number] -= step / seconds[number]
            if left[number] * seconds[number] <= 1e-9 * now:
                completion[number] = now
    return [
        PlayedJob(part.job, start[number], completion[number]) for number, part in enumerate(parts)
    ]
