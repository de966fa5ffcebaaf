"""The range of a job's iteration time, against every placement there is."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from depth import examples
from documents import job_data, tree_data
from enumeration import count_vectors
from hypothesis import given
from hypothesis import strategies as st
from random_instances import instances, random_workers
from wide_instances import WIDE, random_wide

from rarmodel.engine.arrays import Arrays, arrays_of
from rarmodel.errors import InputError, Problem
from rarmodel.files import parse_instance
from rarmodel.model import (
    best_placements,
    check_instance,
    job_extremes,
    slowest_alone,
    timing,
    topology,
)
from rarmodel.model.extremes import iteration_ranges
from rarmodel.model.features import RELEASES, RING_SIZES, SERVER_LISTS, SPREADS
from rarmodel.model.plain_paces import columns
from rarmodel.model.sharing_rule import COUNT
from rarmodel.schema import Instance
from rarmodel.search import one_after_another
from rarmodel.verifier import Run, simulate, verify


@examples(40)
@given(instances(jobs=4))
def test_least_time_is_that_of_the_best_lone_placement(instance: Instance) -> None:
    capacities = [server.gpus for server in instance.cluster.servers]
    for job, extreme, best in zip(
        instance.jobs, job_extremes(instance), best_placements(instance), strict=True
    ):
        periods = {
            str(workers): simulate(instance, [Run(job, 0, workers)]).periods
            for workers in count_vectors(capacities, job.size)
        }
        alone = [p[0].rings[job.name].iteration_seconds for p in periods.values() if p]
        assert extreme.best_seconds == min(alone)
        assert sum(best.values()) == job.size
        assert all(1 <= count <= capacities[server] for server, count in best.items())
        lone = simulate(instance, [Run(job, 0, best)])
        assert lone.periods[0].rings[job.name].iteration_seconds == extreme.best_seconds
        assert lone.completion == (extreme.least_slots,)


@examples(40)
@given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from([feature.name for feature in WIDE])),
    st.floats(0.02, 0.5),
    st.booleans(),
)
def test_check_at_reading_refuses_what_the_extremes_of_all_jobs_refuse(
    random: Random, features: set[str], shorter: float, timeless: bool
) -> None:
    instance = random_wide(random, features, jobs=6, servers=3)
    time = instance.time.model_copy(update={"slot_seconds": instance.time.slot_seconds * shorter})
    update: dict[str, object] = {"time": time}
    if timeless:
        none = {"gradient_mb": 0.0, "forward_ms_per_sample": 0.0, "backward_ms": 0.0}
        jobs = [
            job if job.times or random.random() < 0.7 else job.model_copy(update=none)
            for job in instance.jobs
        ]
        contention = instance.contention.model_copy(update={"overhead_ms_per_server": 0.0})
        update |= {"jobs": tuple(jobs), "contention": contention}
    shrunk = instance.model_copy(update=update)
    assert refusal(check_instance, shrunk) == refusal(job_extremes, shrunk)


@examples(30)
@given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from([SERVER_LISTS.name, SPREADS.name, RELEASES.name, RING_SIZES.name])),
)
def test_columns_of_jobs_have_the_numbers_of_each_job(random: Random, features: set[str]) -> None:
    instance = random_wide(random, features, jobs=6, servers=3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarmodel.model.plain_paces.MANY", 1)
        in_columns = instance.model_copy()
        assert bool(columns(in_columns)) == all(job.batch_size for job in instance.jobs)
        assert iteration_ranges(in_columns) == iteration_ranges(instance)
        made, expected = arrays_of(in_columns), arrays_of(instance)
        for name in Arrays._fields:
            assert np.array_equal(getattr(made, name), getattr(expected, name))


def refusal(check: Callable[[Instance], object], instance: Instance) -> tuple[Problem, ...]:
    try:
        check(instance)
    except InputError as error:
        return error.problems
    return ()


@examples(40)
@given(instances(jobs=4))
def test_slowest_time_alone_is_that_of_the_worst_lone_placement(instance: Instance) -> None:
    capacities = [server.gpus for server in instance.cluster.servers]
    for job, extreme, slowest in zip(
        instance.jobs, job_extremes(instance), slowest_alone(instance), strict=True
    ):
        alone = [
            simulate(instance, [Run(job, 0, workers)]).completion[0]
            for workers in count_vectors(capacities, job.size)
        ]
        stuck = any(slots is None for slots in alone)
        assert slowest == (None if stuck else max(slots or 0 for slots in alone))
        assert slowest is None or slowest >= extreme.least_slots
        assert extreme.most_slots is None or (slowest or 0) <= extreme.most_slots


@examples(40)
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


@examples(40)
@given(instances())
def test_one_job_after_another_takes_the_sum_of_the_least_times(instance: Instance) -> None:
    report = verify(instance, one_after_another(instance).schedule(instance, "one-after-another"))
    assert report.feasible
    assert report.makespan == sum(extreme.least_slots for extreme in job_extremes(instance))


def test_fewer_servers_behind_a_slower_link_can_be_best() -> None:
    # Three GPUs: s0, s1 and s2 over fast links, or s3 with one of them over a slow one.
    links = [("s0", "rack"), ("s1", "rack"), ("s2", "rack"), ("rack", "core"), ("s3", "core")]
    job = job_data("a", gpus=3, gradient_mb=3.0)
    data = tree_data(*links, servers=(1, 1, 1, 2))
    data["jobs"] = [job]
    data["contention"]["overhead_ms_per_server"] = 50.0
    for link in data["cluster"]["network"]["links"][3:]:
        link["gbps"] = 8.0
    instance = parse_instance(data)
    (best,) = best_placements(instance)
    assert best == {3: 2, 0: 1}
    # 2·3 MB·8e6·(2/3) = 32e6 bit at 8 Gbit/s take 4 ms, where 3.2 ms at 10 Gbit/s would be less;
    # reduction 16e6 bit at 400 Gbit/s 0.04 ms; 2·50 ms for the servers; 100 ms to compute.
    (extreme,) = job_extremes(instance)
    assert extreme.best_seconds == pytest.approx(0.20404, rel=1e-12)


def worst_lone_share(instance: Instance, size: int) -> float:
    """The least share of any link, with as many rings on it as fit the cluster, or the link."""
    sizes = sorted(job.size for job in instance.jobs if job.size > 1)
    sizes.remove(size)
    total = instance.cluster.total_gpus
    left, together = total - size, 1
    for other in sizes:
        if other > left:
            break
        left -= other
        together += 1
    tree = topology(instance.cluster)
    shares = [
        COUNT.share(instance.contention, link.gbps, min(together, below, total - below) - 1)
        for link, below in zip(tree.links, tree.gpus_below, strict=True)
        if 0 < below < total
    ]
    return min(shares)


@examples(40)
@given(instances(jobs=8))
def test_greatest_time_is_over_the_slowest_share_of_all_links(instance: Instance) -> None:
    servers = len(instance.cluster.servers)
    for job, extreme in zip(instance.jobs, job_extremes(instance), strict=True):
        across = 0.0
        if job.size > 1 and servers > 1:
            across = timing.iteration_seconds(
                timing.exchange_bits(job.gradient_mb, job.size),
                worst_lone_share(instance, job.size),
                0.0,
                timing.reduction_seconds(
                    job.gradient_mb, job.size, instance.cluster.reduction_gbps
                ),
                timing.overhead_seconds(
                    instance.contention.overhead_ms_per_server, min(job.size, servers)
                ),
                timing.compute_seconds(job, job.size),
                1.0,
            )
        within = 0.0
        if job.size <= instance.cluster.largest_server:
            capacities = [server.gpus for server in instance.cluster.servers]
            server = capacities.index(instance.cluster.largest_server)
            lone = simulate(instance, [Run(job, 0, {server: job.size})])
            if not lone.periods:  # Stuck: the report has no time of it.
                continue
            within = lone.periods[0].rings[job.name].iteration_seconds
        assert extreme.worst_seconds == max(across, within)
