"""Rings of several sizes, types of GPU and rates within servers: the engine beside the verifier."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

import numpy as np
import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from wide_instances import FEATURES, OBJECTIVES, random_wide

from rarmodel.engine import NEVER, OVERFULL, STUCK, Engine, placements_of
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.objective_arrays import objective_arrays, values
from rarmodel.model import horizon_of, lone_options
from rarmodel.model.lone import allowed_servers, realised
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate, verify


def random_ring(random: Random, instance: Instance, j: int) -> dict[int, int]:
    """Workers on servers that the job may use, in one of its sizes."""
    job, servers = instance.jobs[j], instance.cluster.servers
    if job.running is not None:
        return realised(instance, [options[0] for options in lone_options(instance)])[j]
    gpus = [s for s in allowed_servers(instance)[j] for _ in range(servers[s].gpus)]
    chosen = random.sample(gpus, random.choice(job.sizes))
    return {s: chosen.count(s) for s in sorted(set(chosen))}


def overfull(
    instance: Instance,
    starts: Sequence[int],
    ends: Sequence[int | None],
    rings: Sequence[dict[int, int]],
) -> bool:
    """Whether some server holds more workers than it has GPUs; what never ends stays."""
    return any(
        sum(
            workers.get(s, 0)
            for start, end, workers in zip(starts, ends, rings, strict=True)
            if start <= slot and (end is None or slot < end)
        )
        > server.gpus
        for s, server in enumerate(instance.cluster.servers)
        for slot in starts
    )


def check_completions(
    instance: Instance, starts: Sequence[int], rings: Sequence[dict[int, int]]
) -> list[int | None]:
    """The engine and both readings of the verifier give the same completions."""
    runs = [Run(*run) for run in zip(instance.jobs, starts, rings, strict=True)]
    ends = list(simulate(instance, runs).completion)
    assert list(simulate(instance, runs, slot_by_slot=True).completion) == ends
    found = Engine(instance).evaluate(np.array(starts, np.int64), placements_of(list(rings)))
    if overfull(instance, starts, ends, rings):
        assert found.makespan == OVERFULL
    elif None in ends:
        assert found.makespan == STUCK
        assert found.completion.tolist() == [NEVER if end is None else end for end in ends]
    else:
        assert found.makespan == max(end for end in ends if end is not None)
        assert found.completion.tolist() == ends
    return ends


def check_random_starts(random: Random, features: Collection[str], jobs: int, servers: int) -> None:
    instance = random_wide(random, features, jobs=jobs, servers=servers)
    for latest in (3, horizon_of(instance)):
        rings = [random_ring(random, instance, j) for j in range(jobs)]
        starts = [0 if job.running else random.randint(0, latest) for job in instance.jobs]
        check_completions(instance, starts, rings)


def check_list_schedule(random: Random, features: Collection[str], jobs: int, servers: int) -> bool:
    """What a list schedule of random decisions is made of; whether there is one."""
    names = random.sample(OBJECTIVES, 3)
    instance = random_wide(random, features, jobs=jobs, servers=servers, objectives=names)
    lists = ListSchedules(instance)
    offsets = lists.arrays.options.at
    option = [random.randrange(offsets[j + 1] - offsets[j]) for j in range(jobs)]
    earliest = [random.choice([0, 0, random.randrange(8)]) for _ in range(jobs)]
    order = random.sample(range(jobs), jobs)
    if not lists.made(order, np.array(option, np.int64), np.array(earliest, np.int64)):
        return False
    schedule = lists.schedule("random")
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    # Past the horizon it is no schedule; who makes lists sees to that.
    assert {violation.constraint for violation in report.violations} <= {"horizon"}
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    held = {one.job: one for one in schedule.assignments}
    runs = [held[job.name] for job in instance.jobs]
    rings = [{index[s]: len(gpus) for s, gpus in one.gpus.items()} for one in runs]
    ends = check_completions(instance, [one.start for one in runs], rings)
    assert lists.partial.state.rings["finish"].tolist() == ends
    found = np.zeros(3)
    values(lists.arrays, lists.partial, objective_arrays(instance), found)
    assert report.objective is not None
    assert found.tolist() == pytest.approx([float(report.objective[name]) for name in names])
    return True


drawn = given(
    st.randoms(use_true_random=False),
    st.sets(st.sampled_from(FEATURES)),
    st.integers(1, 5),
    st.integers(1, 4),
)


@examples(40)
@drawn
def test_engine_gives_the_completions_of_the_verifier(
    random: Random, features: set[str], jobs: int, servers: int
) -> None:
    check_random_starts(random, features, jobs, servers)


@examples(40)
@drawn
def test_list_schedules_are_what_the_verifier_says_of_them(
    random: Random, features: set[str], jobs: int, servers: int
) -> None:
    check_list_schedule(random, features, jobs, servers)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_engine_gives_the_completions_of_the_verifier_thousands_of_times(part: int) -> None:
    made = 0
    for seed in range(400 * part, 400 * part + 400):
        random = Random(seed)
        features = FEATURES if seed % 3 == 0 else random.sample(FEATURES, random.randint(0, 5))
        size = random.randint(1, 6), random.randint(1, 4)
        check_random_starts(random, features, *size)
        made += check_list_schedule(random, features, *size)
    assert made > 200
