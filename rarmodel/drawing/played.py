"""What schedules of arriving jobs are like for those who wait: flow times, queue, contention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.bounds import objective_bound
from rarmodel.errors import UsageError
from rarmodel.model.extremes import slots_alone
from rarmodel.model.objectives import Value
from rarmodel.model.objectives import objective as find_objective
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

from .colours import colouring
from .drawing import draw
from .steps import Floats, Steps, steps_of, time_bins

TOTAL_FLOW = "total-flow"
BINS = 400
"""Most points of a line over time."""
NO_TENANT = "no tenant"


class Class(NamedTuple):
    """Jobs that a table has in one row: those of a tenant, or of some sizes."""

    kind: str
    name: str


@dataclass(frozen=True)
class Played:
    """One schedule of arriving jobs; slots count from 0.

    Attributes
    ----------
    flow, stretch
        (jobs) Flow times in slots, and by the slots that the job takes alone in the cluster.
    classes
        Positions of the jobs of each tenant and each class of sizes.
    waiting
        Number of jobs that are released and hold no GPU, over time.
    slowed
        Number of jobs whose ring shares a link with another ring, over time.
    held
        GPUs that jobs hold, over time.
    gpus
        GPUs of the cluster.
    queueing
        (jobs) Slots between release and completion without GPUs.
    shared
        Share of the job slots with progress in which the ring shares a link.
    bound
        A proven lower bound on the sum of all flow times; None if none is known.
    weighted
        That sum, with weights.
    end
        The makespan.
    """

    flow: Floats
    stretch: Floats
    classes: dict[Class, list[int]]
    waiting: Steps
    slowed: Steps
    held: Steps
    gpus: int
    queueing: Floats
    shared: float
    bound: Value | None
    weighted: Value
    end: int


def played(instance: Instance, schedule: Schedule) -> Played:
    """The figures of a schedule in which every job completes.

    Raises
    ------
    UsageError
        If some job does not.
    """
    report = verify(instance, schedule)
    ends = [report.completion.get(job.name) for job in instance.jobs]
    completion = [end for end in ends if end is not None]
    if len(completion) < len(ends):
        raise UsageError(f"{schedule.method}: some job never completes; its flow time is unknown")
    drawing = draw(instance, schedule, report)
    releases = [job.release for job in instance.jobs]
    flow = np.array(completion, float) - np.array(releases, float)
    holding = np.zeros(len(flow))
    changes = [(max(0, release), 1) for release in releases]
    for run in drawing.runs:
        if run.end is not None:
            holding[drawing.numbers[run.job]] += run.end - run.start
            changes += [(run.start, -1), (run.end, 1)]
    # Each segment gave the job back to the queue; the last one does not.
    changes += [(end, -1) for end in completion]
    slowed, active, apart = [], 0, 0
    for period in report.periods:
        among = sum(ring.contention > 1 for ring in period.rings.values())
        slowed += [(period.start, among), (period.end, -among)]
        active += len(period.rings) * (period.end - period.start)
        apart += among * (period.end - period.start)
    aim = find_objective(TOTAL_FLOW)
    bound = objective_bound(instance, aim)
    return Played(
        flow=flow,
        stretch=flow / np.array(slots_alone(instance), float),
        classes=_classes(instance),
        waiting=steps_of(changes),
        slowed=steps_of(slowed),
        held=drawing.held_in_all,
        gpus=instance.cluster.total_gpus,
        queueing=flow - holding,
        shared=apart / active if active else 0.0,
        bound=None if bound is None else bound.value,
        weighted=aim.value(instance, completion),
        end=max(completion),
    )


def _classes(instance: Instance) -> dict[Class, list[int]]:
    """Jobs by tenant, where there are several, and by size."""
    found: dict[Class, list[int]] = {}
    colours = colouring(instance)
    for one in colours.classes:
        found[Class("size", one.name)] = []
    for i, job in enumerate(instance.jobs):
        number = next(k for k, top in enumerate(colours.tops) if job.sizes[-1] <= top)
        found[Class("size", colours.classes[number].name)].append(i)
    tenants = {job.tenant or NO_TENANT for job in instance.jobs}
    if len(tenants) > 1:
        for name in sorted(tenants):
            own = [i for i, job in enumerate(instance.jobs) if (job.tenant or NO_TENANT) == name]
            found[Class("tenant", name)] = own
    return found


def pooled(some: Sequence[Played], what: Callable[[Played], Floats], most: int = 1000) -> Floats:
    """Figures of the jobs of all schedules in order; evenly chosen ones if there are many."""
    values: Floats = np.sort(np.concatenate([what(one) for one in some]))
    if len(values) <= most:
        return values
    chosen: npt.NDArray[np.int64] = np.linspace(0, len(values) - 1, most).round().astype(np.int64)
    return values[chosen]


def over_time(
    some: Sequence[Played], what: Callable[[Played], Steps], end: int
) -> tuple[Floats, Floats]:
    """Edges of bins up to `end`, and the mean over the schedules from each edge on."""
    edges = time_bins(max(1, end), BINS)
    means: Floats = np.mean([what(one).means(edges) for one in some], axis=0)
    return edges, np.append(means, means[-1:])
