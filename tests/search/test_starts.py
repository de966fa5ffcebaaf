"""Solutions without a search."""

from __future__ import annotations

from depth import examples
from hypothesis import given
from random_instances import instances

from rarmodel.packing import one_after_another
from rarmodel.schema import Instance
from rarmodel.search.starts import without_contention
from rarmodel.verifier import require_feasible


@examples(40)
@given(instances())
def test_one_after_another_always_ends(instance: Instance) -> None:
    solution = one_after_another(instance)
    assert (
        require_feasible(instance, solution.schedule(instance, "test")).makespan
        == solution.makespan
    )


@examples(40)
@given(instances(jobs=12))
def test_a_plan_without_contention_is_feasible(instance: Instance) -> None:
    solution = without_contention(instance)
    report = require_feasible(instance, solution.schedule(instance, "test"))
    assert report.makespan == solution.makespan
