"""Orders of jobs searched on an objective of one's own, where there is no model."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from random_instances import random_instance

import rarmodel
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.schema import Instance


def total(model: Any, scope: Scope) -> Any:
    return sum((1 + i % 3) * model.completion[j] for i, j in enumerate(scope.jobs))


def small(seed: int) -> Instance:
    instance = random_instance(Random(seed), jobs=5, servers=2, tree=bool(seed % 2), most_slots=4)
    return instance.model_copy(update={"time": instance.time.model_copy(update={"horizon": 25})})


def without_model(formulation: Formulation) -> Formulation:
    return replace(formulation, unfit=lambda _: "no model today")


@pytest.mark.parametrize("seed", range(6))
def test_orders_come_near_the_optimum_and_never_below_it(seed: int) -> None:
    instance = small(seed)
    formulation = TIME_INDEXED.extended("total", objective=total)
    exact = rarmodel.solve(instance, formulation=formulation, time_limit=60)
    found = rarmodel.solve(instance, formulation=without_model(formulation), time_limit=2)
    assert exact.status == "optimal"
    assert exact.goal is not None
    assert found.goal is not None
    assert exact.goal.value is not None
    assert found.goal.value is not None
    assert "orders of the jobs" in found.stopped
    assert found.report is not None
    weights = {job.name: 1 + i % 3 for i, job in enumerate(instance.jobs)}
    assert found.goal.value == sum(
        weights[j] * (t or 0) for j, t in found.report.completion.items()
    )
    assert exact.goal.value <= found.goal.value <= 1.05 * exact.goal.value


def test_constraints_are_kept_by_what_orders_give() -> None:
    instance = small(2)
    first = instance.jobs[0].name

    def late(model: Any, scope: Scope) -> None:
        model.late = pyo.Constraint(expr=model.start[first] >= 3)

    formulation = without_model(TIME_INDEXED.extended("late", late, objective=total))
    found = rarmodel.solve(instance, formulation=formulation, time_limit=3)
    assert found.schedule is not None
    assert next(a.start for a in found.schedule.assignments if a.job == first) >= 3


def test_what_only_a_model_can_judge_is_not_tried() -> None:
    formulation = without_model(
        COMPACT.extended("compact", objective=lambda model, scope: model.makespan)
    )
    found = rarmodel.solve(small(1), formulation=formulation, time_limit=1)
    assert (found.status, found.stopped) == ("unknown", "no model today")
