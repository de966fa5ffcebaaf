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
from rarmodel.schema.tenants import lineages, tenant_paths
from rarmodel.verifier import verify

from .colours import colouring
from .drawing import draw
from .steps import Floats, Steps, steps_of, time_bins

TOTAL_FLOW = "total-flow"
BINS = 400
"""Most points of a line over time."""
NO_TENANT = "no tenant"


class Class(NamedTuple):
    """Jobs that a table has in one column: of a tenant, of a priority, or of some sizes."""

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
        Positions of the jobs of each tenant and all below it, each priority, and each class of
        sizes.
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
    """Jobs by size, and by tenant and by priority where there are several."""
    found: dict[Class, list[int]] = {}
    colours = colouring(instance)
    for one in colours.classes:
        found[Class("size", one.name)] = []
    for i, job in enumerate(instance.jobs):
        number = next(k for k, top in enumerate(colours.tops) if job.sizes[-1] <= top)
        found[Class("size", colours.classes[number].name)].append(i)
    for name, own in sorted(_below(instance).items()):
        found[Class("tenant", name)] = own
    priorities = sorted({job.priority for job in instance.jobs}, reverse=True)
    for priority in priorities if len(priorities) > 1 else ():
        own = [i for i, job in enumerate(instance.jobs) if job.priority == priority]
        found[Class("priority", str(priority))] = own
    return found


def _below(instance: Instance) -> dict[str, list[int]]:
    """Jobs by tenant, if there are several; those of tenants below another one count there, too."""
    if len({job.tenant for job in instance.jobs}) == 1:
        return {}
    above, paths = lineages(instance.tenants), tenant_paths(instance.tenants)
    found: dict[str, list[int]] = {}
    for i, job in enumerate(instance.jobs):
        names = [NO_TENANT] if job.tenant is None else [paths[one] for one in above[job.tenant]]
        for name in names:
            found.setdefault(name, []).append(i)
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
