"""Times from release to completion, and jobs past their due slots: what users of a cluster feel."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rarmodel.schema import Instance


def flow_measures(instance: Instance, completion: Mapping[str, int | None]) -> dict[str, float]:
    """Measures of a schedule's completion times, as far as the instance gives them a meaning.

    Parameters
    ----------
    instance
        The problem.
    completion
        Completion time of each job in slots, by name.

    Returns
    -------
    dict
        If a job has a release: `mean_flow`, `p95_flow` and `max_flow`, the mean, the 95th
        percentile (linear between jobs) and the greatest of the times from release to completion,
        in slots. If a job has a due slot: `late_jobs`, the number of jobs that complete past it.
        Weights count nowhere. Empty if a job does not complete.
    """
    ends = [completion[job.name] for job in instance.jobs]
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return {}
    found: dict[str, float] = {}
    if any(job.release != 0 for job in instance.jobs):
        flows = [end - job.release for end, job in zip(known, instance.jobs, strict=True)]
        found["mean_flow"] = sum(flows) / len(flows)
        found["p95_flow"] = float(np.percentile(flows, 95))
        found["max_flow"] = max(flows)
    if any(job.due is not None for job in instance.jobs):
        pairs = zip(known, instance.jobs, strict=True)
        found["late_jobs"] = sum(job.due is not None and end > job.due for end, job in pairs)
    return found
