"""The decoder, which looks at few jobs and servers, against a simple one that looks at all."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
from depth import examples
from documents import instance_data, job_data
from hypothesis import Phase, given
from hypothesis import strategies as st
from simple_decode import Made, SimpleDecoder
from wide_instances import WIDE, random_wide

from rarmodel.engine import placements_of
from rarmodel.files import parse_instance
from rarmodel.lists.instance_arrays import pinned
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.model.extremes import iteration_ranges
from rarmodel.schema import Instance

NAMES = [feature.name for feature in WIDE]
NO_SHRINKING = [phase for phase in Phase if phase != Phase.shrink]


def made(lists: ListSchedules, order: Any, option: Any, earliest: Any) -> Made | None:
    if not lists.made(order, option, earliest):
        return None
    work, at = lists.partial, lists.arrays.place_at
    rings = [
        dict(
            zip(
                work.server[at[j] : at[j] + work.used[j]].tolist(),
                work.workers[at[j] : at[j] + work.used[j]].tolist(),
                strict=True,
            )
        )
        for j in range(len(at) - 1)
    ]
    return work.starts.tolist(), work.state.rings["finish"].tolist(), rings


def check(random: Random, instance: Instance, times: int = 3) -> None:
    lists, simple = ListSchedules(instance), SimpleDecoder(instance)
    jobs = len(instance.jobs)
    for _ in range(times):
        order = random.sample(range(jobs), jobs)
        options = np.diff(lists.arrays.options.at)
        option = np.array([random.randrange(max(1, count)) for count in options])
        earliest = np.array([random.choice([0, 0, random.randrange(12)]) for _ in range(jobs)])
        found = made(lists, order, option, earliest)
        assert found == simple(order, option, earliest)
        if found is None:
            continue
        # Some jobs stay where they are.
        simple.pins = found[2]
        lists.arrays = pinned(lists.arrays, placements_of(found[2]))
        for job in random.sample(range(jobs), random.randint(1, jobs)):
            option[job] = -1 - job
        random.shuffle(order)
        assert made(lists, order, option, earliest) == simple(order, option, earliest)


@examples(40, phases=NO_SHRINKING)
@given(
    st.integers(0, 2**32),
    st.sets(st.sampled_from(NAMES)),
    st.integers(1, 12),
    st.integers(1, 4),
    st.booleans(),
)
def test_schedules_are_those_of_the_simple_decoder(
    seed: int, features: set[str], jobs: int, servers: int, stalls: bool
) -> None:
    random = Random(seed)
    instance = random_wide(random, features, jobs=jobs, servers=servers, most_slots=8)
    if stalls:  # Contention can bring speeds to 0.
        slot = max(best for best, _ in iteration_ranges(instance))
        time = instance.time.model_copy(update={"slot_seconds": slot})
        instance = instance.model_copy(update={"time": time})
    check(random, instance)


@examples(2, phases=NO_SHRINKING)
@given(st.integers(0, 2**32), st.sampled_from([70, 300, 4200]), st.sampled_from([4, 300]))
def test_many_and_large_servers(seed: int, servers: int, most_gpus: int) -> None:
    random = Random(seed)
    gpus = [random.choice([1, 2, random.randint(1, most_gpus)]) for _ in range(servers)]
    names = [f"s{i}" for i in range(servers)]
    of_server = dict(zip(names, gpus, strict=True))
    jobs = []
    for i in range(60):
        allowed = random.choice([names, random.sample(names, random.randint(2, servers))])
        room = sum(of_server[name] for name in allowed)
        size = min(room, random.choice([1, 2, random.randint(1, most_gpus), max(1, room // 3)]))
        job = job_data(f"j{i}", size, random.randint(1, 60), servers=allowed)
        job["gradient_mb"] = random.choice([0.0, 20.0])
        if random.random() < 0.2:
            job |= {"gpus": 2, "spread": {"equal": True, "min_servers": random.randint(1, 2)}}
        jobs.append(job)
    data = instance_data(*jobs, servers=gpus)
    data["contention"]["degradation"]["alpha"] = 0.0
    data["time"] = {"slot_seconds": 20.0}
    check(random, parse_instance(data), times=1)
