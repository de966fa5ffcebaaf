"""Orders of jobs searched on an objective of one's own, where there is no model."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from depth import first
from random_instances import random_instance

import rarmodel
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.schedule_selection import SCHEDULE_SELECTION
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.model import job_extremes
from rarmodel.schema import Instance
from rarmodel.solvers import Answer


def total(model: Any, scope: Scope) -> Any:
    return sum((1 + i % 3) * model.completion[j] for i, j in enumerate(scope.jobs))


def small(seed: int) -> Instance:
    instance = random_instance(Random(seed), jobs=5, servers=2, tree=bool(seed % 2), most_slots=4)
    return instance.model_copy(update={"time": instance.time.model_copy(update={"horizon": 25})})


def without_model(formulation: Formulation) -> Formulation:
    return replace(formulation, unfit=lambda _: "no model today")


@pytest.mark.parametrize("seed", first(2, range(6)))
def test_orders_are_no_worse_than_heuristics_and_never_below_the_optimum(seed: int) -> None:
    instance = small(seed)
    formulation = TIME_INDEXED.extended("total", objective=total)
    exact = rarmodel.solve(instance, formulation=formulation, time_limit=60)
    found = rarmodel.solve(
        instance, formulation=without_model(formulation), time_limit=1, threads=1
    )
    assert exact.status == "optimal"
    assert "orders of the jobs" not in exact.stopped  # Though a float bound is not quite the value.
    assert exact.objective[0].value is not None
    assert found.objective[0].value is not None
    assert "orders of the jobs" in found.stopped
    assert found.report is not None
    weights = {job.name: 1 + i % 3 for i, job in enumerate(instance.jobs)}
    assert found.objective[0].value == sum(
        weights[j] * (t or 0) for j, t in found.report.completion.items()
    )
    known = [rarmodel.solve(instance, method=name).report for name in ("sjf-bco", "first-fit")]
    values = [
        sum(weights[j] * (end or 0) for j, end in report.completion.items())
        for report in known
        if report is not None
    ]
    assert exact.objective[0].value <= found.objective[0].value <= min(values)


def test_constraints_are_kept_by_what_orders_give() -> None:
    instance = small(2)
    first = instance.jobs[0].name

    def late(model: Any, scope: Scope) -> None:
        model.late = pyo.Constraint(expr=model.start[first] >= 3)

    formulation = without_model(TIME_INDEXED.extended("late", late, objective=total))
    found = rarmodel.solve(instance, formulation=formulation, time_limit=1, threads=1)
    assert found.schedule is not None
    assert next(a.start for a in found.schedule.assignments if a.job == first) >= 3


@pytest.mark.parametrize(
    "base",
    [TIME_INDEXED, COMPACT, RAR_DDLS, SCHEDULE_SELECTION],
    ids=lambda base: base.name,
)
def test_a_known_schedule_is_an_answer_where_there_is_no_model(base: Formulation) -> None:
    instance = small(1)
    first = instance.jobs[0].name

    def late(model: Any, scope: Scope) -> None:
        model.late = pyo.Constraint(expr=model.start[first] >= 3)

    formulation = without_model(base.extended("late", late, objective=total))
    found = rarmodel.solve(instance, formulation=formulation, time_limit=1, threads=1)
    assert found.status == "feasible"
    assert found.schedule is not None
    assert found.report is not None
    assert next(a.start for a in found.schedule.assignments if a.job == first) >= 3
    assert found.objective[0].value == sum(
        (1 + i % 3) * (found.report.completion[job.name] or 0)
        for i, job in enumerate(instance.jobs)
    )
    assert found.stopped.startswith("no model today; rarmodel spent the rest of the time on ")


def test_what_only_a_model_can_judge_is_not_tried() -> None:
    total_by_model = replace(TIME_INDEXED.extended("theirs", objective=total), evaluate=None)
    found = rarmodel.solve(small(1), formulation=without_model(total_by_model), time_limit=1)
    assert found.status == "unknown"
    assert re.fullmatch(
        r"no model today; \d+ schedules are known that only the model can judge: "
        "theirs has no `evaluate`",
        found.stopped,
    )


class Idle:
    """A solver that finds nothing."""

    name = "idle"
    model_classes = frozenset({"integer"})

    def version(self) -> str:
        return "1"

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        return Answer("time-limit", has_solution=False, bound=None, seconds=0.0, message="")


@pytest.mark.parametrize("objective", [total, None], ids=["total", "makespan"])
def test_a_small_model_judges_what_only_a_model_can(objective: Any) -> None:
    """The model of all slots is too large, and the shortest schedules are not admissible."""
    instance = small(1)
    alone = sum(extreme.least_slots for extreme in job_extremes(instance))

    def one_by_one(model: Any, scope: Scope) -> None:
        model.one_by_one = pyo.Constraint(
            list(pairwise(scope.jobs)), rule=lambda m, i, j: m.start[j] >= m.completion[i]
        )
        model.harmless = pyo.Constraint(expr=sum(model.active_in.values()) >= 0)

    stated = replace(
        TIME_INDEXED.extended("chain", one_by_one, objective=objective),
        unfit=lambda scope: "too many slots" if scope.horizon > alone else None,
    )
    found = rarmodel.solve(instance, formulation=stated, solver=Idle())
    assert found.status == "feasible"
    assert found.makespan == alone


def test_no_admissible_order_is_no_failure() -> None:
    def never(model: Any, scope: Scope) -> None:
        model.never = pyo.Constraint(
            list(scope.jobs), rule=lambda m, j: m.completion[j] - m.start[j] >= 24
        )

    formulation = without_model(TIME_INDEXED.extended("never", never))
    found = rarmodel.solve(small(1), formulation=formulation, time_limit=1)
    assert found.status == "unknown"
    assert re.match("no model today; rarmodel spent the rest of the time on [1-9]", found.stopped)
