"""What the paper's claims are about, computed from their definitions: slow, and plain to read.

SJF-BCO is the naive one, with the verifier's simulation as its clock; θ*_u is found by trying all
choices of GPUs, and T* by trying all starts and placements.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

from enumeration import count_vectors, optimal_makespan
from reference_heuristics import sjf_bco

from rarmodel.model import horizon_of, job_extremes
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate

Gpu = tuple[int, int]


class Naive(NamedTuple):
    """Numbers of the claims, for SJF-BCO's schedule."""

    makespan: int
    limit: int
    estimated_load: int
    real_load: int
    largest_job: int
    factor: Fraction | None
    least_limit: int
    optimum: int | None


def naive_audit(instance: Instance, *, optimum: bool = True) -> Naive | None:
    """The numbers; None if SJF-BCO finds no schedule. T* only if asked for: it can take long."""
    outcome = sjf_bco(instance)
    if outcome is None:
        return None
    makespan, limit, placed = outcome
    runs = []
    for job, (start, gpus) in placed.items():
        servers = [server for server, _ in gpus]
        runs.append(Run(instance.jobs[job], start, {s: servers.count(s) for s in servers}))
    ends = simulate(instance, runs, slot_by_slot=True).completion
    extremes = job_extremes(instance)
    estimated: dict[Gpu, int] = {}
    real: dict[Gpu, int] = {}
    for (job, (start, gpus)), end in zip(placed.items(), ends, strict=True):
        assert end is not None
        for gpu in gpus:
            estimated[gpu] = estimated.get(gpu, 0) + extremes[job].least_slots
            real[gpu] = real.get(gpu, 0) + end - start
    assert makespan == max(end for end in ends if end is not None)
    factor: Fraction | None = Fraction(1)
    for extreme in extremes:
        if extreme.most_slots is None:
            factor = None
        elif factor is not None:
            factor = max(factor, Fraction(extreme.most_slots, extreme.least_slots))
    return Naive(
        makespan=makespan,
        limit=limit,
        estimated_load=max(estimated.values()),
        real_load=max(real.values()),
        largest_job=max(job.size for job in instance.jobs),
        factor=None if factor is None else factor**2,  # φ·(u/l) with u = 1 and l = 1/φ
        least_limit=least_limit(instance),
        optimum=optimal_makespan(instance) if optimum else None,
    )


def least_limit(instance: Instance) -> int:
    """θ*_u: over every choice of GPUs for every job, the least time of the busiest GPU.

    GPUs are all alike here, so that only the times that they are busy matter, in any order.
    """
    gpus = range(instance.cluster.total_gpus)
    reached = {(0,) * len(gpus)}
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        reached = {
            tuple(sorted(busy[g] + extreme.least_slots * (g in held) for g in gpus))
            for busy in reached
            for held in combinations(gpus, job.size)
        }
    return min(map(max, reached))


def greatest_slots(instance: Instance) -> list[int]:
    """Greatest execution time of each job over all feasible schedules, by trying all of them."""
    horizon = horizon_of(instance)
    capacities = [server.gpus for server in instance.cluster.servers]
    placements = [list(count_vectors(capacities, job.size)) for job in instance.jobs]
    greatest = [0] * len(instance.jobs)
    for starts in product(range(horizon), repeat=len(instance.jobs)):
        for workers in product(*placements):
            runs = [
                Run(job, start, on)
                for job, start, on in zip(instance.jobs, starts, workers, strict=True)
            ]
            ends = simulate(instance, runs).completion
            if all(end is not None and end <= horizon for end in ends) and _fits(
                capacities, runs, [end or 0 for end in ends]
            ):
                for j, (run, end) in enumerate(zip(runs, ends, strict=True)):
                    greatest[j] = max(greatest[j], (end or 0) - run.start)
    return greatest


def _fits(capacities: list[int], runs: list[Run], ends: list[int]) -> bool:
    """Whether no server ever holds more workers than it has GPUs."""
    return all(
        sum(
            run.workers.get(server, 0)
            for run, end in zip(runs, ends, strict=True)
            if run.start <= slot < end
        )
        <= capacity
        for slot in {run.start for run in runs}
        for server, capacity in enumerate(capacities)
    )
