"""The rules, call by call, against looking at every GPU.

Few different loads, so that there are ties of all kinds; limits that forbid some GPUs, or most.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from random_instances import random_instance

from rarmodel.engine.arrays import NEVER, Floats, Ints
from rarmodel.heuristics import IdleGpus, least_busy, least_loaded_servers
from rarmodel.heuristics.clock import ListScheduler
from rarmodel.heuristics.idle_gpus import TOLERANCE
from rarmodel.heuristics.ranking import BREAK_TIES, FIRST, IGNORE
from rarmodel.heuristics.rules import (
    first_fit_rule,
    list_scheduling_rule,
    random_rule,
    sjf_bco_rule,
)
from rarmodel.schema import Instance

Choice = Callable[[int, IdleGpus], list[int] | None]

CASES = st.tuples(
    st.integers(0, 2**32).map(Random),
    st.sampled_from([1, 3, 8, 17, 40]),  # servers
    st.sampled_from([1, 2, 4]),  # most GPUs of one
    st.sampled_from([(1,), (1, 2), (1, 2, 3, 4)]),  # sizes of jobs
    st.sampled_from([(1.0,), (1.0, 2.0), (0.1, 0.2, 0.3, 1.7)]),  # estimates
    st.sampled_from([2.0, 4.0, 8.0, 1e9]),  # limit
)
JOBS = 100
Case = tuple[Random, int, int, tuple[int, ...], tuple[float, ...], float]


def run(case: Case, rule: Callable[[int, IdleGpus, Floats, Ints], bool]) -> int:
    """Place the jobs of a random instance; how often the rule was asked."""
    random, servers, most_gpus, sizes, estimates, limit = case
    instance: Instance = random_instance(
        random, jobs=JOBS, servers=servers, tree=False, most_gpus=most_gpus, sizes=sizes
    )
    work = tuple(random.choice(estimates) for _ in instance.jobs)
    order = np.array(random.sample(range(JOBS), JOBS), np.int64)
    asked = 0

    def counting(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
        nonlocal asked
        asked += 1
        return rule(job, room, parameters, chosen)

    ListScheduler(instance, work).run(counting, np.zeros(0), order, limit)
    return asked


def checked(
    case: Case,
    rule: Callable[[int, IdleGpus, Floats, Ints], bool],
    parameters: tuple[float, ...],
    expected: Choice,
) -> None:
    """Assert at each call that the rule chooses what is expected."""

    def both(job: int, room: IdleGpus, _: Floats, chosen: Ints) -> bool:
        enough = rule(job, room, np.array(parameters, np.float64), chosen)
        wanted = expected(job, room)
        assert enough == (wanted is not None)
        if wanted is not None:
            assert sorted(chosen[: room.size[job]].tolist()) == sorted(wanted)
        return bool(enough)

    assert run(case, both) > 0


def idle_gpus(job: int, room: IdleGpus) -> list[int]:
    within = room.load + room.work[job] <= room.limit + TOLERANCE
    return [int(gpu) for gpu in np.flatnonzero(room.idle & within)]


def least(job: int, room: IdleGpus, key: Callable[[int], tuple[object, ...]]) -> list[int] | None:
    best = sorted(idle_gpus(job, room), key=key)[: room.size[job]]
    return best if len(best) == room.size[job] else None


def by_load(job: int, room: IdleGpus, occupied: int) -> list[int] | None:
    def key(gpu: int) -> tuple[object, ...]:
        load, empty = room.load[gpu], room.hosted[room.server_of[gpu]] == 0
        return {
            IGNORE: (load, gpu),
            BREAK_TIES: (load, empty, gpu),
            FIRST: (empty, load, gpu),
        }[occupied]

    return least(job, room, key)


def lightest(room: IdleGpus, gpus: float) -> list[int]:
    share = [load / own for load, own in zip(room.server_load, room.server_gpus, strict=True)]
    chosen, capacity = list[int](), 0
    for server in sorted(range(len(share)), key=lambda server: (share[server], server)):
        if capacity < gpus:
            chosen.append(server)
            capacity += int(room.server_gpus[server])
    return chosen


@examples(25)
@given(CASES, st.sampled_from([BREAK_TIES, FIRST]))
def test_fa_ffp_takes_the_least_busy_of_all(case: Case, occupied: int) -> None:
    checked(case, sjf_bco_rule, (99.0, 1.0, float(occupied)), lambda j, r: by_load(j, r, occupied))


@examples(25)
@given(CASES)
def test_list_scheduling_takes_the_least_busy_of_all(case: Case) -> None:
    checked(case, list_scheduling_rule, (), lambda job, room: by_load(job, room, IGNORE))


@examples(25)
@given(CASES)
def test_first_fit_takes_the_first_of_all(case: Case) -> None:
    checked(case, first_fit_rule, (), lambda job, room: least(job, room, lambda gpu: (gpu,)))


# Sums of such estimates, times numbers of GPUs, are exact: equal shares are equal as floats.
EXACT = CASES.filter(lambda case: case[4] != (0.1, 0.2, 0.3, 1.7))


@examples(25)
@given(EXACT, st.sampled_from([0.5, 1.0, 2.0, 50.0]))
def test_lbsgf_takes_the_least_busy_of_the_least_loaded_servers(case: Case, factor: float) -> None:
    def expected(job: int, room: IdleGpus) -> list[int] | None:
        servers = lightest(room, factor * room.size[job])

        def key(gpu: int) -> tuple[object, ...]:
            return room.load[gpu], servers.index(room.server_of[gpu]), gpu

        best = sorted(
            (gpu for gpu in idle_gpus(job, room) if room.server_of[gpu] in servers), key=key
        )[: room.size[job]]
        return best if len(best) == room.size[job] else None

    checked(case, sjf_bco_rule, (0.0, factor, float(BREAK_TIES)), expected)


@examples(20)
@given(EXACT, st.sampled_from([0.0, 1.0, 5.0, 1e9]))
def test_least_loaded_servers_come_in_order_and_are_left_as_they_are(
    case: Case, gpus: float
) -> None:
    def both(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
        for _ in range(2):
            servers = np.zeros(len(room.servers), np.int64)
            count = least_loaded_servers(room, gpus, servers)
            assert servers[:count].tolist() == lightest(room, gpus)
        return bool(list_scheduling_rule(job, room, parameters, chosen))

    assert run(case, both) > 0


@examples(15)
@given(CASES, st.sampled_from([IGNORE, BREAK_TIES, FIRST]), st.randoms(use_true_random=False))
def test_some_servers_are_gone_through_in_the_order_given(
    case: Case, occupied: int, random: Random
) -> None:
    def both(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
        some = random.sample(range(len(room.servers)), random.randint(1, len(room.servers)))
        servers = np.array(some, np.int64)

        def key(gpu: int) -> tuple[object, ...]:
            load, empty = room.load[gpu], room.hosted[room.server_of[gpu]] == 0
            place = some.index(room.server_of[gpu]), gpu
            return {
                IGNORE: (load, *place),
                BREAK_TIES: (load, empty, *place),
                FIRST: (empty, load, *place),
            }[occupied]

        best = sorted((g for g in idle_gpus(job, room) if room.server_of[g] in some), key=key)
        enough = least_busy(job, room, servers, len(some), occupied, chosen)
        assert enough == (len(best) >= room.size[job])
        if enough:
            size = room.size[job]
            assert sorted(chosen[:size].tolist()) == sorted(best[:size])
        return bool(list_scheduling_rule(job, room, parameters, chosen))

    assert run(case, both) > 0


@examples(25)
@given(CASES, st.integers(0, 2**32))
def test_random_placement_draws_from_the_list_of_available_gpus(case: Case, seed: int) -> None:
    def mixed(value: int) -> int:
        value = (value + 0x9E3779B97F4A7C15) % 2**64
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        return value ^ (value >> 31)

    def expected(job: int, room: IdleGpus) -> list[int] | None:
        gpus = idle_gpus(job, room)
        if len(gpus) < room.size[job]:
            return None
        state = mixed(seed ^ mixed(int(job)))
        for i in range(room.size[job]):
            state = mixed(state)
            pick = i + state % (len(gpus) - i)
            gpus[i], gpus[pick] = gpus[pick], gpus[i]
        return gpus[: room.size[job]]

    checked(case, random_rule, (float(seed),), expected)


@pytest.mark.parametrize(
    ("rule", "parameters"),
    [
        (list_scheduling_rule, ()),
        (sjf_bco_rule, (99.0, 1.0, float(BREAK_TIES))),
        (sjf_bco_rule, (99.0, 1.0, float(FIRST))),
    ],
)
def test_a_second_gpu_of_a_better_server_gives_way_to_an_earlier_equal_one(
    rule: Callable[[int, IdleGpus, Floats, Ints], bool], parameters: tuple[float, ...]
) -> None:
    """Server 9 has the least busy GPU; with it goes the first of the equally busy ones."""
    instance = random_instance(Random(0), jobs=2, servers=16, tree=False, most_gpus=8, sizes=(2,))
    asked = []

    def look(job: int, room: IdleGpus, _: Floats, chosen: Ints) -> bool:
        asked.append(job)
        room.load[:] = 2.0
        room.hosted[:] = 1
        room.load[room.first_gpu[9]] = 1.0
        assert rule(job, room, np.array(parameters, np.float64), chosen)
        assert sorted(chosen[:2].tolist()) == [0, room.first_gpu[9]]
        return False

    ListScheduler(instance, (1.0, 1.0)).run(look, np.zeros(0), np.arange(2), float(NEVER))
    assert asked == [0]
