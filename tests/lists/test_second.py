"""List schedules with jobs pinned to their places: any schedule is one of them."""

from __future__ import annotations

from random import Random

import pytest
from wide_instances import OBJECTIVES, WIDE, random_wide

from rarmodel import solve
from rarmodel.limits import Limits
from rarmodel.lists.second import SecondSearch, with_second_aim
from rarmodel.verifier import verify

NAMES = [feature.name for feature in WIDE]


@pytest.mark.parametrize("seed", range(30))
def test_a_schedule_is_found_again_and_none_is_worse(seed: int) -> None:
    random = Random(seed)
    features = NAMES if seed % 3 else [NAMES[seed % len(NAMES)]]
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    instance = random_wide(random, features, jobs=8, servers=3, objectives=(objective,))
    found = solve(instance, method=random.choice(["fifo", "shortest-first", "earliest-due-first"]))
    if found.schedule is None:
        pytest.skip("the rule finds none")
    wide = with_second_aim(instance)
    before = verify(wide, found.schedule)
    assert before.objective is not None
    search = SecondSearch(wide, found.schedule, Limits(threads=2, seed=seed))
    known = tuple(map(float, before.objective.values()))
    assert search.best.values == pytest.approx(known, rel=1e-12)
    assert search.best.schedule is not None
    again = verify(wide, search.best.schedule)
    assert again.feasible
    assert again.completion == before.completion
    search.run(None, iterations=8)
    after = verify(wide, search.best.schedule)
    assert after.feasible
    assert after.objective is not None
    assert tuple(map(float, after.objective.values())) <= known


def test_an_instance_that_asks_for_flow_is_left_as_it_is() -> None:
    flow = random_wide(Random(1), [], objectives=("total-flow",))
    assert with_second_aim(flow) is flow
    makespan = random_wide(Random(1), [])
    assert with_second_aim(makespan).objectives == ("makespan", "total-completion")
