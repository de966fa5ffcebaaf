"""Gavel with pairs: the program beside SciPy's answer, and rounds by hand."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from depth import first
from documents import instance_data, job_data
from scipy.optimize import linprog

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.online.gavel_pairs import Pair, iterations_of, packed_shares, packed_worth
from rarmodel.online.gavel_programs import Demand, Gavel
from rarmodel.schema import Instance


def drawn(random: Random, jobs: int, types: int) -> tuple[Any, Any, Any, Any, list[Pair]]:
    speed = np.array([[random.choice([0, 1, 2, 5]) for _ in range(types)] for _ in range(jobs)])
    gpus = np.array([random.choice([1, 1, 2]) for _ in range(jobs)], float)
    need = np.array([random.uniform(0.5, 3) for _ in range(jobs)])
    there = np.array([random.randint(2, 3) for _ in range(types)], float)
    pairs = [
        Pair(i, k, speed[[i, k]] * np.array([[random.uniform(0.4, 1)], [random.uniform(0.4, 1)]]))
        for i in range(jobs)
        for k in range(i + 1, jobs)
        if gpus[i] == gpus[k]
    ]
    return speed.astype(float), gpus, need, there, pairs


class Dense(NamedTuple):
    """A program as dense matrices, with a column for each combination of jobs on each type."""

    time: Any
    room: Any
    work: Any
    bounds: list[tuple[float, float]]
    kind: list[int]


def dense(speed: Any, gpus: Any, pairs: list[Pair]) -> Dense:
    jobs, types = speed.shape
    combinations = [({j: speed[j]}, gpus[j]) for j in range(jobs)]
    combinations += [
        ({one.first: one.speed[0], one.second: one.speed[1]}, gpus[one.first]) for one in pairs
    ]
    columns = [(c, r) for c in range(len(combinations)) for r in range(types)]
    time, room = np.zeros((jobs, len(columns))), np.zeros((types, len(columns)))
    work = np.zeros((jobs, len(columns)))
    bounds = []
    for at, (c, r) in enumerate(columns):
        members, size = combinations[c]
        room[r, at] = size
        for j, own in members.items():
            time[j, at], work[j, at] = 1.0, own[r]
        bounds.append((0.0, 1.0 if all(own[r] > 0 for own in members.values()) else 0.0))
    return Dense(time, room, work, bounds, [r for _, r in columns])


@pytest.mark.parametrize("seed", first(4, range(30)))
def test_level_is_that_of_scipy(seed: int) -> None:
    random = Random(seed)
    jobs, types = random.randint(1, 5), random.randint(1, 3)
    speed, gpus, need, there, pairs = drawn(random, jobs, types)
    able = speed.max(axis=1) > 0
    program = dense(speed, gpus, pairs)
    matrix = np.concatenate([program.time, program.room, -program.work])
    level = np.concatenate([np.zeros(jobs + types), np.where(able, need, 0.0)])[:, None]
    limits = np.concatenate([np.ones(jobs), there, np.zeros(jobs)])
    cost = np.zeros(len(program.bounds) + 1)
    cost[-1] = -1
    bounds = [*program.bounds, (0, None)]
    expected = linprog(cost, np.concatenate([matrix, level], axis=1), limits, bounds=bounds)
    found = packed_shares(speed, gpus, need, there, pairs)
    if found is None:
        assert not able.any()
        return
    assert found.level == pytest.approx(-expected.fun)
    done = iterations_of(found, speed, pairs)
    assert (done[able] >= found.level * need[able] - 1e-6).all()


@pytest.mark.parametrize("seed", first(6, range(30)))
def test_worth_is_that_of_scipy(seed: int) -> None:
    random = Random(seed)
    jobs, types = random.randint(1, 5), random.randint(1, 3)
    speed, gpus, need, there, pairs = drawn(random, jobs, types)
    price = np.array([random.choice([0.5, 1, 4]) for _ in range(types)])
    best = np.maximum(speed.max(axis=1), 1e-12)
    needed = np.where(speed.max(axis=1) > 0, need * random.choice([0, 0.1, 1]), 0.0)
    program = dense(speed, gpus, pairs)
    worth = (program.work / best[:, None]).sum(axis=0) / price[program.kind]
    matrix = np.concatenate([program.time, program.room, -program.work])
    limits = np.concatenate([np.ones(jobs), there, -needed])
    expected = linprog(-worth, matrix, limits, bounds=program.bounds)
    found = packed_worth(speed, gpus, needed, there, price, pairs)
    assert (found is not None) == (expected.status == 0)
    if found is not None:
        parts = np.concatenate([found.alone.ravel(), found.together.ravel()])
        assert worth @ parts == pytest.approx(-expected.fun)
        assert (matrix @ parts <= limits + 1e-6).all()


@pytest.mark.parametrize("seed", first(3, range(20)))
def test_without_pairs_it_is_gavels_program(seed: int) -> None:
    random = Random(seed)
    speed, gpus, need, there, _ = drawn(random, random.randint(1, 5), random.randint(1, 3))
    found = packed_shares(speed, gpus, need, there, [])
    plain = Gavel("shares")(Demand(speed, gpus, need, there, np.ones_like(there)))
    assert (found is None) == (plain is None)
    if found is not None and plain is not None:
        assert found.level == pytest.approx(plain.level)


def shared(*kinds: str, gpus: int, pairs: dict[tuple[str, str], float], **more: Any) -> Instance:
    """Jobs of 40 slots alone, which take half a GPU."""
    jobs = [
        job_data(f"j{i}", iterations=400, kind=kind, slices=1, **more)
        for i, kind in enumerate(kinds)
    ]
    data: Any = instance_data(*jobs, horizon=9999)
    data["cluster"]["servers"] = [{"name": "s0", "gpus": gpus}]
    data["cluster"]["gpu_slices"] = 2
    data["preemption"] = {"restore_seconds": 0.0}
    data["colocation"] = [
        {"kind": one, "beside": other, "slowdown": loss} for (one, other), loss in pairs.items()
    ]
    return parse_instance(data)


def test_pairs_that_lose_least_are_together() -> None:
    """Two of each kind on two GPUs: alike they lose all, but beside the other kind nothing."""
    losses = {("a", "a"): 4.0, ("b", "b"): 4.0, ("a", "b"): 1.0, ("b", "a"): 1.0}
    instance = shared("a", "a", "b", "b", gpus=2, pairs=losses)
    found = rarmodel.simulate(instance, "gavel-max-min-packed", round_slots=10)
    assert found.verified
    assert found.metrics.makespan == 40
    assert found.preemptions == 0


def test_where_sharing_costs_more_than_turns_nobody_shares() -> None:
    instance = shared("a", "a", gpus=1, pairs={("a", "a"): 2.5})
    found = rarmodel.simulate(instance, "gavel-max-min-packed", round_slots=10)
    assert found.metrics.makespan == 80
    assert found.report is not None
    assert all(len(period.rings) == 1 for period in found.report.periods)


def test_the_makespan_has_the_pairs_that_it_needs() -> None:
    """Three jobs on one GPU; a pair does 1.6 times as much: 1200 in 75 slots at best."""
    instance = shared("a", "a", "a", gpus=1, pairs={("a", "a"): 1.25})
    found = rarmodel.simulate(instance, "gavel-makespan-packed", round_slots=5)
    assert found.verified
    assert found.metrics.makespan is not None
    assert 75 <= found.metrics.makespan <= 85


def test_slices_and_memory_decide_who_can_be_a_pair() -> None:
    pairs = {("a", "a"): 1.0}
    instance = shared("a", "a", gpus=1, pairs=pairs, memory_gb=10.0)
    data = instance.model_dump(mode="json", exclude_unset=True)
    for size, makespan in ((20.0, 40), (19.9, 80)):
        data["cluster"]["gpu_memory_gb"] = size
        found = rarmodel.simulate(parse_instance(data), "gavel-max-min-packed", round_slots=10)
        assert found.metrics.makespan == makespan


def test_without_slices_it_is_refused() -> None:
    with pytest.raises(UsageError, match="lets jobs share GPUs, and no job takes slices"):
        rarmodel.simulate("two-servers", "gavel-max-min-packed")


@pytest.mark.parametrize(("slowdown", "makespan"), [(1.25, 50), (2.5, 80)])
def test_fairness_shares_where_both_gain(slowdown: float, makespan: int) -> None:
    """Two jobs of 40 slots on one GPU: beside each other 1.25 times as long, or by turns."""
    instance = shared("a", "a", gpus=1, pairs={("a", "a"): slowdown})
    found = rarmodel.simulate(instance, "gavel-fairness-packed", round_slots=10)
    assert found.verified
    assert found.metrics.makespan == makespan


def test_fairness_gives_the_pair_to_those_that_it_serves_best() -> None:
    """One GPU: a and b lose nothing beside each other, and would lose much beside c.

    All three have the same time alone on a third, so all ratios are least if the pair has half of
    the time, and c the other half: by turns of ten slots, in which the pair begins.
    """
    losses = {("a", "b"): 1.0, ("b", "a"): 1.0}
    losses |= {(one, "c"): 4.0 for one in "ab"} | {("c", one): 4.0 for one in "ab"}
    instance = shared("a", "b", "c", gpus=1, pairs=losses)
    found = rarmodel.simulate(instance, "gavel-fairness-packed", round_slots=10)
    assert found.report is not None
    assert found.report.completion == {"j0": 70, "j1": 70, "j2": 80}


def test_cost_puts_a_pair_on_the_cheap_gpu() -> None:
    """A pair there is worth 2 · 0.8 / 1, and one job on each type 1 / 1 + 1 / 10."""
    data = shared("a", "a", gpus=1, pairs={("a", "a"): 1.25}).model_dump(
        mode="json", exclude_unset=True
    )
    data["cluster"]["servers"] = [
        {"name": "s0", "gpus": 1, "gpu_type": "cheap"},
        {"name": "s1", "gpus": 1, "gpu_type": "dear"},
    ]
    data["cluster"]["prices_per_gpu_hour"] = {"cheap": 1.0, "dear": 10.0}
    found = rarmodel.simulate(parse_instance(data), "gavel-cost-packed", round_slots=10)
    assert found.verified
    assert found.schedule is not None
    assert {server for one in found.schedule.assignments for server in one.gpus} == {"s0"}
    assert found.metrics.makespan == 50
