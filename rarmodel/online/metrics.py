"""What a simulation is worth to the jobs and to the cluster (section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.model.extremes import slots_alone
from rarmodel.schema import Instance

from .arriving_jobs import Jobs
from .cluster_at_work import Stay
from .shared_cluster import gpu_slots

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Metrics:
    """Figures about the jobs that are complete; None where there are none.

    Attributes
    ----------
    makespan
        The latest completion in slots.
    mean_flow, median_flow, p95_flow, p99_flow, max_flow
        Flow times `T_j − r_j` in slots; percentiles are interpolated between two jobs.
    mean_queueing
        Mean slots between release and completion in which a job holds no GPUs.
    utilisation
        Share of all GPU slots up to the makespan that jobs hold.
    restore_slots
        Slots that jobs spend in restorations, summed over jobs.
    lost_iterations
        Iterations that interruptions cost, summed over jobs.
    lost_slots
        Slots that these take again, each job alone in its best placement, summed over jobs.
    late_jobs, total_tardiness, max_stretch
        Values of the objectives `late-jobs`, `total-tardiness` and `max-stretch`.
    finish_time_fairness
        The greatest `T_shared / T_isolated` of Themis: the flow time of a job by its time alone on
        an n-th of the cluster. Here n is the mean number of jobs that are released and not complete
        during the job's life. A job of more GPUs than that share takes turns on it, and is slower
        in proportion.
    """

    makespan: int | None
    mean_flow: float | None
    median_flow: float | None
    p95_flow: float | None
    p99_flow: float | None
    max_flow: int | None
    mean_queueing: float | None
    utilisation: float | None
    restore_slots: int
    lost_iterations: int
    lost_slots: float
    late_jobs: int
    total_tardiness: int
    max_stretch: float | None
    finish_time_fairness: float | None


def metrics_of(
    instance: Instance,
    jobs: Jobs,
    stays: Sequence[Stay],
    completion: Ints,
    slot: int,
    lost: Ints,
) -> Metrics:
    """The figures of a simulation up to a slot; `lost` are iterations, by job."""
    done = completion < NEVER
    restored = sum(max(0, min(one.up, one.end, slot) - one.start) for one in stays)
    if not done.any():
        return of_nothing(restored, int(lost.sum()), float((lost / jobs.speed).sum()))
    ends = completion[done]
    flow = ends - jobs.release[done]
    makespan = int(ends.max())
    held = np.zeros(len(done), np.int64)
    area: Fraction | int = 0
    for one in stays:
        slots = min(one.end, slot) - one.start
        held[one.job] += slots
        area += gpu_slots(instance, jobs, one, slots)
    alone = np.array(slots_alone(instance), np.int64)[jobs.index]
    late = np.maximum(0, ends - jobs.due[done])
    return Metrics(
        makespan=makespan,
        mean_flow=float(flow.mean()),
        median_flow=float(np.median(flow)),
        p95_flow=float(np.percentile(flow, 95)),
        p99_flow=float(np.percentile(flow, 99)),
        max_flow=int(flow.max()),
        mean_queueing=float((flow - held[done]).mean()),
        utilisation=float(area / (instance.cluster.total_gpus * slot)) if slot else 0.0,
        restore_slots=restored,
        lost_iterations=int(lost.sum()),
        lost_slots=float((lost / jobs.speed).sum()),
        late_jobs=int(jobs.weight[done][late > 0].sum()),
        total_tardiness=int((jobs.weight[done] * late).sum()),
        max_stretch=float((flow / alone[done]).max()),
        finish_time_fairness=float((flow / _isolated(instance, jobs, completion, alone)).max()),
    )


def of_nothing(restored: int = 0, lost: int = 0, again: float = 0.0) -> Metrics:
    """The figures where no job is complete."""
    return Metrics(*(None,) * 8, restored, lost, again, 0, 0, None, None)


def _isolated(instance: Instance, jobs: Jobs, completion: Ints, alone: Ints) -> Floats:
    """Slots of each complete job alone on its share of the cluster, by Themis' definition."""
    done = completion < NEVER
    present = _mean_present(jobs.release, np.minimum(completion, completion[done].max()), done)
    share = instance.cluster.total_gpus / present
    return np.asarray(alone[done] * np.maximum(1.0, jobs.size[done] / share), np.float64)


def _mean_present(release: Ints, completion: Ints, of: npt.NDArray[np.bool_]) -> Floats:
    """Mean number of jobs that are released and not complete, over the life of each job."""
    moments = np.unique(np.concatenate([release, completion]))
    steps = np.zeros(len(moments), np.int64)
    np.add.at(steps, np.searchsorted(moments, release), 1)
    np.subtract.at(steps, np.searchsorted(moments, completion), 1)
    present = np.cumsum(steps)
    summed: Ints = np.concatenate([[0], np.cumsum(present[:-1] * np.diff(moments))])
    begin, end = release[of], completion[of]
    passed = summed[np.searchsorted(moments, end)] - summed[np.searchsorted(moments, begin)]
    return np.asarray(passed / (end - begin), np.float64)
