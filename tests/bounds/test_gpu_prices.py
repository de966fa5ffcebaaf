"""The bound from prices of GPUs: exact sums, never above the optimum, as good as the program."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from documents import instance_data, job_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from wide_instances import OBJECTIVES, WIDE, optima, random_wide

from rarmodel.bounds import capacity_relaxation, objective_bound, subgradient
from rarmodel.bounds import gpu_prices as prices
from rarmodel.bounds.capacity_relaxation import Partition, partitions, relaxation_of
from rarmodel.bounds.gpu_prices import gpu_prices
from rarmodel.bounds.subgradient import CapacityRelaxation, Prices, ascend, new_prices, worth
from rarmodel.files import parse_instance
from rarmodel.model import horizon_of, windows
from rarmodel.model.objectives import Objective, Shape, Term, Value, objective
from rarmodel.schema import Instance

NAMES = [feature.name for feature in WIDE]
LONG = {0, 4, 12, 14, 18, 19, 29, 32, 34, 35, 37, 38}
"""Seeds of instances whose optima take long to enumerate."""


@st.composite
def relaxations_with_prices(draw: st.DrawFn) -> tuple[CapacityRelaxation, list[list[int]]]:
    """Any relaxed of a few jobs, and whole prices by kind and block."""
    small = st.integers(0, 9)
    width, blocks, kinds = draw(st.integers(1, 4)), draw(st.integers(1, 5)), 2
    offers = draw(
        st.lists(
            st.lists(
                st.tuples(st.integers(0, kinds - 1), st.integers(1, 3), st.integers(1, 6)),
                min_size=1,
                max_size=3,
            ),
            min_size=1,
            max_size=3,
        )
    )
    flat = [offer for each in offers for offer in each]
    each = st.lists(small, min_size=len(offers), max_size=len(offers))
    starts = draw(each)
    longest = max(slots for _, _, slots in flat)
    spare = draw(each)

    def whole(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    relaxed = CapacityRelaxation(
        width=width,
        capacity=np.array([[draw(small) for _ in range(blocks)] for _ in range(kinds)], float),
        offer_at=np.cumsum([0, *map(len, offers)]),
        size=whole([size for _, size, _ in flat]),
        slots=whole([slots for _, _, slots in flat]),
        kind=whole([kind for kind, _, _ in flat]),
        start=whole(starts),
        last_start=whole([draw(st.sampled_from([begin, 99])) for begin in starts]),
        end=whole([a + longest + b for a, b in zip(starts, spare, strict=True)]),
        weight=np.array(draw(each), float),
        offset=whole(draw(each)),
        shape=whole([int(draw(st.sampled_from(Shape))) for _ in offers]),
    )
    return relaxed, [[draw(small) for _ in range(blocks)] for _ in range(kinds)]


@settings(deadline=None)
@given(relaxations_with_prices())
def test_worth_is_the_least_over_all_starts(
    case: tuple[CapacityRelaxation, list[list[int]]],
) -> None:
    relaxed, prices = case
    known = new_prices(relaxed)
    known.now[:, :-1] = prices
    by_slot = [[price for price in row for _ in range(relaxed.width)] + [0] * 99 for row in prices]
    total: Value = -int((np.array(prices) * relaxed.capacity).sum())
    for j, start in enumerate(relaxed.start.tolist()):
        costs = []
        for i in range(relaxed.offer_at[j], relaxed.offer_at[j + 1]):
            slots, kind, size = (
                int(field[i]) for field in (relaxed.slots, relaxed.kind, relaxed.size)
            )
            last = min(relaxed.end[j] - slots, relaxed.last_start[j])
            for a in range(start, int(last) + 1):
                term = Term(
                    int(relaxed.weight[j]), int(relaxed.offset[j]), 1, Shape(relaxed.shape[j])
                )
                costs.append(term.at(a + slots) + size * sum(by_slot[kind][a : a + slots]))
        total += min(costs)
    assert worth(relaxed, known) == total
    held = sum(
        int(relaxed.size[i])
        * max(0, min(a + int(relaxed.slots[i]), relaxed.capacity[0].size * relaxed.width) - a)
        for i, a in zip(known.offer.tolist(), known.begun.tolist(), strict=True)
    )
    assert known.held.sum() == held


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] * (seed in LONG)) for seed in range(40)],
)
def test_bound_is_never_above_the_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    monkeypatch.setattr(capacity_relaxation, "STEP_WORK", random.choice([1, 12, 30, 1000]))
    features = set(random.sample(NAMES, random.randint(0, 4)))
    instance = random_wide(random, features, jobs=random.randint(2, 3), servers=2, most_slots=2)
    limit = min(horizon_of(instance), 12)
    best = optima(instance, limit)
    if not best or best["makespan"] >= limit:
        return
    for name in OBJECTIVES:
        found = gpu_prices(asked(instance, name), objective(name))
        assert found is None or found <= best[name], (name, found)


def asked(instance: Instance, name: str) -> Instance:
    """The instance with another objective."""
    return instance.model_copy(update={"objective": name})


def linear_program(instance: Instance, one: Objective, partition: Partition) -> float:
    """The time-indexed linear program: how much of each job begins when, with which offer."""
    length = 60
    terms = one.terms(instance)
    relaxed = relaxation_of(instance, partition, [w.end for w in windows(instance, 999)], length)
    costs, columns = [], []
    for j, start in enumerate(relaxed.start.tolist()):
        for i in range(relaxed.offer_at[j], relaxed.offer_at[j + 1]):
            for a in range(start, length - int(relaxed.slots[i]) + 1):
                held = np.zeros_like(relaxed.capacity)
                held[relaxed.kind[i], a : a + relaxed.slots[i]] = relaxed.size[i]
                term = terms[j]
                costs.append(float(term.at(a + int(relaxed.slots[i]))) if term else 0.0)
                columns.append(np.concatenate([held.ravel(), np.eye(len(terms))[j]]))
    rows = np.array(columns).T
    split = relaxed.capacity.size
    solved = linprog(
        costs,
        rows[:split],
        relaxed.capacity.ravel(),
        rows[split:],
        np.ones(len(terms)),
        method="highs",
    )
    return float(solved.fun)


def two_types(seed: int, jobs: int = 8) -> Instance:
    """Two servers of different types, and jobs that arrive and are due."""
    random = Random(seed)
    data = instance_data(
        *(
            job_data(
                f"j{i}",
                gpus=random.choice([1, 2, 4]),
                iterations=10 * random.randint(2, 6),
                release=random.randint(0, 5),
                due=random.randint(5, 15),
                weight=random.randint(1, 3),
            )
            for i in range(jobs)
        ),
        servers=(4, 4),
    )
    del data["time"]["horizon"]
    for server, kind in zip(data["cluster"]["servers"], "AB", strict=True):
        server["gpu_type"] = kind
    for job in data["jobs"]:
        plain = {key: job.pop(key) for key in ("forward_ms_per_sample", "backward_ms")}
        job["times"] = {"A": plain, "B": {key: 2 * value for key, value in plain.items()}}
    return parse_instance(data)


@pytest.mark.parametrize("name", ["total-flow", "total-tardiness", "late-jobs"])
@pytest.mark.parametrize("seed", range(3))
def test_bound_is_near_that_of_the_linear_program(name: str, seed: int) -> None:
    instance = asked(two_types(seed), name)
    one = objective(name)
    found = gpu_prices(instance, one)
    assert found is not None
    best = max(linear_program(instance, one, p) for p in partitions(instance))
    assert 0.97 * best <= found <= np.ceil(best - 1e-6)


@pytest.mark.parametrize("name", ["makespan", "max-stretch", "total-flow", "max-tardiness"])
def test_bound_sees_that_fast_gpus_are_few(name: str) -> None:
    instance = asked(two_types(7, jobs=20), name)
    found = gpu_prices(instance, objective(name))
    others = objective_bound(instance.model_copy(), objective(name))
    assert found is not None
    assert others is not None
    assert others.name == "prices of GPUs"
    assert others.value == found


@pytest.mark.parametrize("name", ["makespan", "max-stretch"])
def test_bound_says_nothing_where_it_would_take_long(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = asked(two_types(7, jobs=20), name)
    (partition, *_) = reversed(partitions(instance))
    offers = sum(map(len, partition.offers))
    monkeypatch.setattr(prices, "MOST_TRIED", offers)
    assert gpu_prices(asked(instance, name), objective(name)) is not None
    monkeypatch.setattr(prices, "MOST_TRIED", offers - 1)
    assert gpu_prices(asked(instance, name), objective(name)) is None


@pytest.mark.parametrize("limit", [1, 50_000, 200_000])
def test_work_on_values_that_are_not_refuted_is_limited(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[int] = []

    def counted(
        relaxed: CapacityRelaxation, known: Prices, most: int, hope: float, enough: float
    ) -> float:
        value = float(ascend(relaxed, known, most, hope, enough))
        if value <= 0:
            failed.append(most * len(relaxed.size) * relaxed.capacity.shape[1])
        return value

    instance = asked(two_types(7, jobs=20), "makespan")
    best = gpu_prices(instance, objective("makespan"))
    monkeypatch.setattr(subgradient, "ascend", counted)
    monkeypatch.setattr(prices, "FAILED_WORK", limit)
    found = gpu_prices(asked(instance, "makespan"), objective("makespan"))
    assert found is not None
    assert best is not None
    assert found <= best
    assert sum(failed[:-1]) <= limit
    assert failed
