"""Gavel's simulator, changed to find why it differs: gavel_changed.py GAVEL [CHANGE…] [OPTIONS].

GAVEL is a clone of https://github.com/stanford-futuredata/gavel, after `make rpc_stubs` in its
folder `scheduler`; run this with the Python that has its requirements. OPTIONS go to its driver
`simulate_scheduler_with_trace.py`, such as `-p fifo`. Changes:

strict
    A fifo of ours in place of its own. A job gets GPUs that no other holds; the first that does
    not fit blocks.
fill
    The same, but the first that does not fit is passed over.
each-round
    Shares are decided in each round, not at most every 1,920 s.
since-arrival
    Rounds count what jobs had since they arrived, not since shares were decided last.
pairs
    Sums over the combinations of each job, however many these are: Gavel's own code for pairs wants
    equally many for each job, and so fails where jobs have different numbers of GPUs.
vertex
    With pairs, and a simplex method for shares of max_min_fairness_packed: a few pairs then have
    much of the time, where an interior point gives many a little.
count
    Its own fifo; at the end, how often it gave out more GPUs than there are.
"""

from __future__ import annotations

import copy
import os
import runpy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

DRIVER = "scripts/drivers/simulate_scheduler_with_trace.py"
CHANGES = ("strict", "fill", "each-round", "since-arrival", "pairs", "vertex", "count")
SIMPLEX: Any = {"solver": "SCIPY", "scipy_options": {"method": "highs-ds"}}
CLUSTER = (
    *("-t", "traces/physical_cluster/minimize_makespan.trace"),
    *("-c", "16:0:0", "--num_gpus_per_server", "4:1:1", "--seed", "0"),
)


def change_fifo(policy: Any, *, blocks: bool) -> None:
    """Give jobs in order of arrival the GPUs that no other holds."""

    def allocation(self: Any, jobs: Any, sizes: Any, there: Any) -> Any:
        holding = {job for job in self._allocation if job in jobs}
        idle = sum(there.values()) - sum(sizes[job] for job in holding)
        for job in sorted(set(jobs) - holding):
            if sizes[job] <= idle:
                holding.add(job)
                idle -= sizes[job]
            elif blocks:
                break
        self._allocation = dict.fromkeys(holding, "v100")
        return {job: {kind: float(job in holding) for kind in there} for job in jobs}

    policy.get_allocation = allocation


def count_in_fifo(policy: Any) -> list[tuple[int, int]]:
    """The GPUs given out and there, of each decision to come."""
    counted: list[tuple[int, int]] = []
    decide = policy.get_allocation

    def allocation(self: Any, jobs: Any, sizes: Any, there: Any) -> Any:
        found = decide(self, jobs, sizes, there)
        counted.append((sum(sizes[job] for job in self._allocation), sum(there.values())))
        return found

    policy.get_allocation = allocation
    return counted


def decide_each_round(scheduler: Any) -> None:
    """Leave no time between decisions."""
    begin = scheduler.__init__

    def initialise(self: Any, *given: Any, **named: Any) -> None:
        begin(self, *given, **named, minimum_time_between_allocation_resets=0)

    scheduler.__init__ = initialise


def count_since_arrival(scheduler: Any) -> None:
    """Keep the times that jobs had when shares are decided anew."""
    reset = scheduler._reset_time_run_so_far

    def keep(self: Any) -> None:
        jobs, workers = copy.deepcopy(self._job_time_so_far), dict(self._worker_time_so_far)
        reset(self)
        self._job_time_so_far, self._worker_time_so_far = jobs, workers

    scheduler._reset_time_run_so_far = keep


def sum_by_job(packing: Any, max_min: Any, *, vertex: bool) -> None:
    """Sum over each job's own combinations, in the policies with pairs."""
    cp, np = import_module("cvxpy"), import_module("numpy")

    def constraints(self: Any, x: Any, jobs: Any, sizes: Any, of_job: Any) -> Any:
        held = cp.sum(cp.multiply(sizes, x), axis=0) <= np.array(self._num_workers)
        return [x >= 0, held, *(cp.sum(x[of_job[job]]) <= 1 for job in jobs)]

    def allocation(self: Any, speeds: Any, sizes: Any, weights: Any, there: Any) -> Any:
        every, index = self.flatten(speeds, there, priority_weights=weights)
        if every is None or len(every) == 0:
            return None
        jobs, single, kinds, of_job = index
        factors = self.scale_factors_array(sizes, jobs, *every[0].shape)
        alone = np.array([[speeds[job][kind] for kind in kinds] for job in single])
        equal = self._proportional_policy.get_throughputs(alone, (single, kinds), there)
        x = cp.Variable(every[0].shape)
        shares = [
            cp.sum(cp.multiply((own * factors)[of_job[job]] / float(part), x[of_job[job]]))
            for own, job, part in zip(every, single, np.ravel(equal), strict=True)
        ]
        rows = self.get_base_constraints(x, single, factors, of_job)
        rows += [x[at] == 0 for at in zip(*np.nonzero(factors == 0), strict=True)]
        cp.Problem(cp.Maximize(cp.min(cp.hstack(shares))), rows).solve(
            **SIMPLEX if vertex else {"solver": self._solver}
        )
        return self.unflatten(x.value.clip(min=0.0).clip(max=1.0), index)

    packing.get_base_constraints = constraints
    max_min.get_allocation = allocation


def main(gavel: str, *given: str) -> None:
    """Change what is named, and run the driver."""
    changes = set(given) & set(CHANGES)
    root = Path(gavel).resolve() / "scheduler"
    os.chdir(root)
    sys.path[:0] = [str(root), str(root / "policies")]
    scheduler = import_module("scheduler").Scheduler
    fifo = import_module("policies.fifo").FIFOPolicy
    if changes & {"strict", "fill"}:
        change_fifo(fifo, blocks="strict" in changes)
    counted = count_in_fifo(fifo) if "count" in changes else []
    if "each-round" in changes:
        decide_each_round(scheduler)
    if "since-arrival" in changes:
        count_since_arrival(scheduler)
    if changes & {"pairs", "vertex"}:
        sum_by_job(
            import_module("policy").PolicyWithPacking,
            import_module("policies.max_min_fairness").MaxMinFairnessPolicyWithPacking,
            vertex="vertex" in changes,
        )
    sys.argv = [DRIVER, *CLUSTER, *(one for one in given if one not in changes)]
    runpy.run_path(DRIVER, run_name="__main__")
    if counted:
        over = sum(given_out > there for given_out, there in counted)
        print(f"{len(counted)} decisions, {over} with more GPUs than there are, up to", end=" ")
        print(max(given_out for given_out, _ in counted))


if __name__ == "__main__":
    main(*sys.argv[1:])
