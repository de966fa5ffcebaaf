"""List schedules on GPUs that jobs share: feasible, and as the verifier has them."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from depth import examples
from documents import instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st
from sharing_instances import random_sharing
from wide_instances import FEATURES, random_wide

from rarmodel.engine.arrays import Ints
from rarmodel.files import parse_instance
from rarmodel.lists.gpu_places import ALONE, BESIDE, JOIN, LEAST, WAYS
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.schema import Instance
from rarmodel.verifier import verify


def check(lists: ListSchedules) -> None:
    """The schedule that was made last keeps everything, and ends when the verifier says so."""
    report = verify(lists.instance, lists.schedule("list"))
    assert report.feasible, report.violations
    ends = [report.completion[job.name] for job in lists.instance.jobs]
    assert lists.partial.state.rings["finish"].tolist() == ends


def options_at_random(lists: ListSchedules, random: Random) -> Ints:
    many = np.diff(lists.arrays.options.at).tolist()
    return np.array([random.randrange(count) if count else 0 for count in many], np.int64)


@given(st.randoms(use_true_random=False), st.sets(st.sampled_from(FEATURES)))
@examples(60)
def test_every_list_schedule_passes_the_verifier(random: Random, some: set[str]) -> None:
    instance = random_sharing(random, some, jobs=random.randint(2, 6), stall=random.random() < 0.2)
    lists, jobs = ListSchedules(instance), range(len(instance.jobs))
    for _ in range(5):
        order = random.sample(jobs, len(jobs))
        earliest = np.array([random.choice([0, 0, 3]) for _ in jobs], np.int64)
        if lists.made(order, options_at_random(lists, random), earliest):
            check(lists)


def test_features_leave_enough_list_schedules_to_look_at() -> None:
    """The property above would say little if most orders gave none."""
    made = 0
    for seed in range(60):
        random = Random(seed)
        some = [name for name in FEATURES if random.random() < 0.3]
        lists = ListSchedules(random_sharing(random, some, jobs=4))
        made += lists.made(range(4), options_at_random(lists, random))
    assert made > 40


@pytest.mark.parametrize("seed", range(5))
def test_memory_alone_keeps_jobs_to_servers_that_have_it(seed: int) -> None:
    data = random_wide(Random(seed), [], jobs=4, servers=2).model_dump(mode="json")
    data["cluster"]["servers"][0]["gpu_memory_gb"] = 10.0
    data["jobs"] = [{**job, "gpus": 1, "memory_gb": 12.0} for job in data["jobs"]]
    instance = parse_instance(data)
    lists = ListSchedules(instance)
    assert lists.made(range(4))
    check(lists)
    servers = {name for one in lists.schedule("list").assignments for name in one.gpus}
    assert servers == {instance.cluster.servers[1].name}


# Whom jobs meet.


def pairs(*jobs: dict[str, object], servers: int = 2, slices: int = 2) -> Instance:
    data = instance_data(*jobs, horizon=99)
    data["cluster"]["servers"] = [{"name": "s0", "gpus": servers}]
    data["cluster"]["gpu_slices"] = slices
    return parse_instance(data)


def places(instance: Instance, *ways: int) -> list[tuple[int, ...]]:
    """GPUs of the jobs, which start at slot 0 in the order of the file."""
    lists = ListSchedules(instance)
    options = lists.arrays.options
    known = lists.arrays.places
    assert known is not None
    chosen = []
    for j, way in enumerate(ways):
        own = known.way[options.at[j] : options.at[j + 1]].tolist()
        chosen.append(own.index(way))
    assert lists.made(range(len(ways)), np.array(chosen, np.int64))
    assert lists.partial.starts.tolist() == [0] * len(ways)
    check(lists)
    return [one.gpus["s0"] for one in lists.schedule("list").assignments]


def part(name: str, **fields: object) -> dict[str, object]:
    return {**job_data(name, iterations=100), "slices": 1, **fields}


def test_jobs_keep_apart_while_a_gpu_is_idle_unless_they_are_to_join() -> None:
    two = pairs(part("a"), part("b"))
    for way in (LEAST, ALONE, BESIDE):
        assert places(two, way, way) == [(0,), (1,)]
    assert places(two, JOIN, JOIN) == [(0,), (0,)]


def test_a_job_joins_the_one_beside_which_all_lose_least() -> None:
    loud, quiet = part("a", pressure=2.0), part("b", pressure=0.1, sensitivity=0.1)
    for way in (BESIDE, JOIN):
        assert places(pairs(loud, quiet, part("c")), ALONE, ALONE, way)[2] == (1,)
    # Beside the quiet one nothing is lost that matters; beside the loud one it would be.
    assert places(pairs(loud, quiet, part("c", pressure=0.5)), ALONE, ALONE, LEAST)[2] == (1,)


def test_a_job_that_wants_to_lose_little_waits_rather_than_meet_a_loud_one() -> None:
    instance = pairs(part("a", pressure=3.0), part("b"), servers=1)
    lists = ListSchedules(instance)
    assert lists.made(range(2), np.array([WAYS.index(LEAST)] * 2))
    assert lists.partial.starts.tolist() == [0, 10]
    assert lists.made(range(2), np.array([WAYS.index(BESIDE)] * 2))
    assert lists.partial.starts.tolist() == [0, 0]


def test_memory_decides_first() -> None:
    data = pairs(
        part("a", memory_gb=9.0), part("b", memory_gb=4.0), part("c", memory_gb=8.0)
    ).model_dump(mode="json", exclude_unset=True)
    data["cluster"]["gpu_memory_gb"] = 16.0
    assert places(parse_instance(data), ALONE, ALONE, JOIN)[2] == (1,)
