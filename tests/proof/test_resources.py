"""Resources and the searches that prove: these refuse them, or what is proven is true."""

from __future__ import annotations

from random import Random

import pytest
from depth import first
from wide_instances import FEATURES, random_wide
from wide_optimum import optima

from rarmodel import solve
from rarmodel.engine import arrays_of
from rarmodel.model import horizon_of
from rarmodel.model.features import QUOTAS, RESOURCES, used
from rarmodel.model.objectives import Value
from rarmodel.proof.enumeration import enumeration_of
from rarmodel.proof.sum_search import sum_search
from rarmodel.schema import Instance

ASKED = ("makespan", "total-completion", "total-flow", "total-tardiness", "late-jobs")


def limited(seed: int, *, alone: bool) -> tuple[Instance, Value]:
    """A tiny instance with resources or caps of tenants, and its optimum by trying everything."""
    random = Random(seed)
    name = random.choice(ASKED)
    others = [] if alone else random.sample(FEATURES, random.randint(0, 2))
    for _ in range(100):
        features = {random.choice([RESOURCES.name, RESOURCES.name, QUOTAS.name]), *others}
        instance = random_wide(random, features, jobs=3, most_slots=3, objectives=(name,))
        if not {RESOURCES.name, QUOTAS.name} & used(instance).keys():
            continue
        best = optima(instance, horizon_of(instance) + 1)
        if best is not None:
            return instance, best[name]
    raise AssertionError(seed)


@pytest.mark.parametrize("seed", range(12))
def test_searches_of_the_plain_problem_refuse_resources(seed: int) -> None:
    instance, _ = limited(seed, alone=True)
    assert enumeration_of(instance, arrays_of(instance)) is None
    for name in ASKED:
        assert sum_search(instance.model_copy(update={"objective": name})) is None


@pytest.mark.parametrize("seed", first(5, range(12)))
def test_search_proves_nothing_above_the_optimum(seed: int) -> None:
    instance, best = limited(seed, alone=False)
    result = solve(instance, method="search", iterations=300, threads=1)
    (goal,) = result.objective[:1]
    assert goal.value is None or goal.value >= best
    assert goal.bound is None or goal.bound <= best
    assert result.status != "optimal" or goal.value == best


@pytest.mark.parametrize("seed", range(6))
def test_an_exact_solve_finds_and_proves_the_optimum(seed: int) -> None:
    instance, best = limited(seed, alone=False)
    result = solve(instance, formulation="time-indexed", time_limit=60.0)
    (goal,) = result.objective[:1]
    assert (result.status, goal.value, goal.bound) == ("optimal", best, best)
