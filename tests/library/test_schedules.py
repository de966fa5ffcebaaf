"""Compact schedules of the library are the schedules that they were made of."""

from __future__ import annotations

from datetime import date
from random import Random

from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import random_instance

import rarmodel
from rarmodel.instances import Known, Recorded
from rarmodel.library.library_schedules import compact, expanded

UNKNOWN = Recorded(value=0, by="random", rarmodel="0.1.0", date=date(2026, 11, 22))


@given(seed=st.integers(0, 10_000), tree=st.booleans())
@examples(25)
def test_schedule_with_other_gpus_of_the_same_servers_completes_alike(
    seed: int, tree: bool
) -> None:
    random = Random(seed)
    jobs, servers = random.randint(1, 12), random.randint(1, 3)
    instance = random_instance(random, jobs=jobs, servers=servers, tree=tree)
    result = rarmodel.solve(instance, method="random", seed=seed)
    assume(result.schedule is not None)
    assert result.schedule
    assert result.report
    known = Known(
        objective="makespan",
        best=UNKNOWN,
        bound=UNKNOWN,
        schedule=compact(instance, result.schedule),
    )
    again = expanded(instance, known)
    report = rarmodel.verify(instance, again)
    assert report.feasible
    assert report.completion == result.report.completion
    assert compact(instance, again) == known.schedule
