"""The engine against the verifier, which shares nothing with it but the model's functions."""

from __future__ import annotations

from random import Random

import numpy as np
from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import instances, random_workers

from rarmodel.engine import CUT_OFF, NEVER, OVERFULL, STUCK, Engine, evaluate, placements_of
from rarmodel.model.gpu_assignment import assign_gpus
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import Run, SimulationResult, simulate, verify


def result_of(
    instance: Instance, starts: list[int], workers: list[dict[int, int]]
) -> SimulationResult:
    return simulate(
        instance,
        [Run(job, a, y) for job, a, y in zip(instance.jobs, starts, workers, strict=True)],
    )


def overfull(
    instance: Instance, starts: list[int], ends: list[int], workers: list[dict[int, int]]
) -> bool:
    return any(
        sum(y.get(s, 0) for a, end, y in zip(starts, ends, workers, strict=True) if a <= slot < end)
        > server.gpus
        for s, server in enumerate(instance.cluster.servers)
        for slot in starts
    )


@examples(80)
@given(instances(), st.randoms(use_true_random=False), st.sampled_from([3, 12, 60]))
def test_engine_equals_verifier(instance: Instance, random: Random, latest: int) -> None:
    workers = random_workers(random, instance)
    starts = [random.randrange(latest) for _ in instance.jobs]
    result = result_of(instance, starts, workers)
    ends = [NEVER if end is None else end for end in result.completion]
    evaluation = Engine(instance).evaluate(np.array(starts), placements_of(workers))
    if overfull(instance, starts, ends, workers):
        assert evaluation.makespan == OVERFULL
    else:
        assert evaluation.completion.tolist() == ends
        assert evaluation.makespan == (STUCK if NEVER in ends else max(ends))


@examples(30)
@given(instances(), st.randoms(use_true_random=False))
def test_engine_can_be_used_again(instance: Instance, random: Random) -> None:
    engine = Engine(instance)
    for _ in range(3):
        workers = placements_of(random_workers(random, instance))
        starts = np.array([random.randrange(12) for _ in instance.jobs])
        again = engine.evaluate(starts, workers)
        fresh = Engine(instance).evaluate(starts, workers)
        assert again.makespan == fresh.makespan
        if fresh.makespan != OVERFULL:
            assert again.completion.tolist() == fresh.completion.tolist()


@examples(40)
@given(instances(), st.randoms(use_true_random=False), st.integers(0, 30))
def test_limit_gives_up_exactly_when_the_makespan_exceeds_it(
    instance: Instance, random: Random, limit: int
) -> None:
    workers = placements_of(random_workers(random, instance))
    starts = np.array([10 * i for i in range(len(instance.jobs))])
    engine = Engine(instance)
    full = engine.evaluate(starts, workers)
    limited = engine.evaluate(starts, workers, limit)
    if full.makespan >= 0:
        assert limited.makespan == (full.makespan if full.makespan <= limit else CUT_OFF)
    else:
        assert limited.makespan in {CUT_OFF, full.makespan}


@examples(40)
@given(instances(jobs=5), st.randoms(use_true_random=False))
def test_one_more_job_never_makes_another_complete_earlier(
    instance: Instance, random: Random
) -> None:
    """The monotonicity on which enumeration and formulation rest."""
    workers = random_workers(random, instance)
    starts = [random.randrange(8) for _ in instance.jobs]
    runs = [Run(job, a, y) for job, a, y in zip(instance.jobs, starts, workers, strict=True)]
    more = [NEVER if end is None else end for end in simulate(instance, runs).completion]
    less = [NEVER if end is None else end for end in simulate(instance, runs[:-1]).completion]
    assert all(before <= after for before, after in zip(less, more, strict=False))


@examples(30)
@given(instances(), st.randoms(use_true_random=False), st.sampled_from([1, 40]))
def test_numbered_schedules_pass_verification(
    instance: Instance, random: Random, latest: int
) -> None:
    workers = random_workers(random, instance)
    starts = [random.randrange(latest) for _ in instance.jobs]
    evaluation = Engine(instance).evaluate(np.array(starts), placements_of(workers))
    assume(evaluation.makespan >= 0)
    schedule = Schedule(
        schema_version=1,
        instance=instance.name,
        method="random",
        assignments=assign_gpus(instance, starts, evaluation.completion.tolist(), workers),
    )
    report = verify(instance, schedule)
    assert report.feasible, report.violations
    assert report.makespan == evaluation.makespan == evaluate(instance, schedule).makespan
