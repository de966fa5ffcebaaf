"""Gavel with pairs: the program beside SciPy's answer, and rounds by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from depth import first
from documents import instance_data, job_data
from scipy.optimize import linprog

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.online.gavel_pairs import Pair, packed_shares
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


@pytest.mark.parametrize("seed", first(4, range(30)))
def test_level_is_that_of_scipy(seed: int) -> None:
    """The program as dense matrices, with a variable for each combination of jobs on each type."""
    random = Random(seed)
    jobs, types = random.randint(1, 5), random.randint(1, 3)
    speed, gpus, need, there, pairs = drawn(random, jobs, types)
    able = speed.max(axis=1) > 0
    combinations = [({j: speed[j]}, gpus[j]) for j in range(jobs)]
    combinations += [
        ({one.first: one.speed[0], one.second: one.speed[1]}, gpus[one.first]) for one in pairs
    ]
    columns = [(c, r) for c in range(len(combinations)) for r in range(types)]
    time, room = np.zeros((jobs, len(columns) + 1)), np.zeros((types, len(columns) + 1))
    work = np.zeros((jobs, len(columns) + 1))
    bounds: list[tuple[float, float | None]] = []
    for at, (c, r) in enumerate(columns):
        members, size = combinations[c]
        room[r, at] = size
        for j, own in members.items():
            time[j, at], work[j, at] = 1.0, -own[r]
        runs = all(own[r] > 0 for own in members.values())
        bounds.append((0, 1 if runs else 0))
    work[:, -1] = np.where(able, need, 0.0)
    matrix = np.concatenate([time, room, work])
    limits = np.concatenate([np.ones(jobs), there, np.zeros(jobs)])
    cost = np.zeros(len(columns) + 1)
    cost[-1] = -1
    expected = linprog(cost, matrix, limits, bounds=[*bounds, (0, None)])
    found = packed_shares(speed, gpus, need, there, pairs)
    if found is None:
        assert not able.any()
        return
    assert found.level == pytest.approx(-expected.fun)
    together = np.zeros(jobs)
    for pair, parts in zip(pairs, found.together, strict=True):
        together[[pair.first, pair.second]] += (pair.speed * parts).sum(axis=1)
    done = (speed * found.alone).sum(axis=1) + together
    assert (done[able] >= found.level * need[able] - 1e-6).all()


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
