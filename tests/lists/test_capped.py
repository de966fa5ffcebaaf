"""List schedules with jobs pinned to their places: any schedule is one of them."""

from __future__ import annotations

from random import Random

import pytest
from depth import first
from wide_instances import OBJECTIVES, WIDE, random_wide

from rarmodel import solve
from rarmodel.limits import Limits
from rarmodel.lists.capped import CappedSearch
from rarmodel.verifier import verify

TIES = ("total-completion", "total-links")
NAMES = [feature.name for feature in WIDE]


@pytest.mark.parametrize("seed", first(5, range(30)))
def test_a_schedule_is_found_again_and_none_is_worse(seed: int) -> None:
    random = Random(seed)
    features = NAMES if seed % 3 else [NAMES[seed % len(NAMES)]]
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    instance = random_wide(random, features, jobs=8, servers=3, objectives=(objective,))
    found = solve(
        instance, method=random.choice(["fifo-backfill", "shortest-first", "earliest-due-first"])
    )
    if found.schedule is None:
        pytest.skip("the rule finds none")
    last = random.choice([name for name in TIES if name != objective])
    wide = instance.model_copy(update={"objective": (objective, last)})
    before = verify(wide, found.schedule)
    assert before.objective is not None
    search = CappedSearch(wide, found.schedule, Limits(threads=2, seed=seed))
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
