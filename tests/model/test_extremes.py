"""The range of a job's iteration time, against every placement there is."""

from __future__ import annotations

from random import Random

from enumeration import count_vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from random_instances import instances, random_workers

from rarmodel.exact import one_by_one
from rarmodel.model import best_placements, job_extremes
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate, verify


@settings(max_examples=200, deadline=None)
@given(instances(jobs=4))
def test_least_time_is_that_of_the_best_lone_placement(instance: Instance) -> None:
    capacities = [server.gpus for server in instance.cluster.servers]
    for job, extreme, best in zip(
        instance.jobs, job_extremes(instance), best_placements(instance), strict=True
    ):
        periods = {
            str(workers): simulate(instance, [Run(job, 0, workers)]).periods
            for workers in count_vectors(capacities, job.gpus)
        }
        alone = [p[0].rings[job.name].iteration_seconds for p in periods.values() if p]
        assert extreme.best_seconds == min(alone)
        assert sum(best.values()) == job.gpus
        assert all(1 <= count <= capacities[server] for server, count in best.items())
        lone = simulate(instance, [Run(job, 0, best)])
        assert lone.periods[0].rings[job.name].iteration_seconds == extreme.best_seconds
        assert lone.completion == (extreme.least_slots,)


@settings(max_examples=200, deadline=None)
@given(instances(), st.randoms(use_true_random=False))
def test_no_iteration_takes_longer_than_the_greatest_time(
    instance: Instance, random: Random
) -> None:
    """Placed at random within capacity, all rings that fit at once."""
    runs, free = [], [server.gpus for server in instance.cluster.servers]
    for job, workers in zip(instance.jobs, random_workers(random, instance), strict=True):
        if all(free[server] >= count for server, count in workers.items()):
            runs.append(Run(job, 0, workers))
            for server, count in workers.items():
                free[server] -= count
    by_name = {
        job.name: extreme
        for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True)
    }
    for period in simulate(instance, runs).periods:
        for name, ring in period.rings.items():
            assert ring.iteration_seconds <= by_name[name].worst_seconds
            assert by_name[name].worst_speed <= ring.speed <= by_name[name].best_speed


@settings(max_examples=100, deadline=None)
@given(instances())
def test_one_job_after_another_takes_the_sum_of_the_least_times(instance: Instance) -> None:
    report = verify(instance, one_by_one(instance))
    assert report.feasible
    assert report.makespan == sum(extreme.least_slots for extreme in job_extremes(instance))
