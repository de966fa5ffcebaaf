"""Values of a schedule without the model are those that the model gives."""

from __future__ import annotations

from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_instances import instances, random_instance
from scopes import scope_of

from rarmodel.exact.admission import Verdict, admit, judge
from rarmodel.formulations import Scope
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS


def everything(model: Any, scope: Scope) -> Any:
    """An objective that every documented component has a part in, each with a weight of its own."""
    jobs, servers, slots = list(scope.jobs), list(scope.servers), range(scope.horizon)
    total = 1e6 * model.makespan
    for i, j in enumerate(jobs, 1):
        total += 3 * i * model.start[j] + 5 * i * model.completion[j] + 7 * model.servers_used[j]
        for s in servers:
            total += 11 * i * model.on[j, s] + 13 * model.workers[j, s]
            total += sum((t + 1) * model.held[j, s, t] for t in slots)
        total += sum((2 * t + i) * model.running[j, t] for t in slots)
        total += sum(i * model.started[j, t] - t * model.ended[j, t] for t in slots)
    return total


def not_too_many_at_once(model: Any, scope: Scope) -> None:
    model.busy = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: sum(m.held[j, s, t] for j in scope.jobs for s in scope.servers) <= 3,
    )


@settings(max_examples=30, deadline=None)
@given(instances(jobs=4, servers=3), st.integers(0, 3), st.booleans())
def test_a_verdict_without_the_model_is_that_of_the_model(
    instance: Instance, seed: int, constrained: bool
) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None and found.makespan <= 25)
    assert found is not None
    scope = scope_of(instance, found.makespan + seed)
    added = (not_too_many_at_once,) if constrained else ()
    formulation = TIME_INDEXED.extended("everything", *added, objective=everything)
    quick = judge(formulation, scope, found.schedule, HIGHS, Limits())
    model = formulation.build(scope)
    slow = admit(model, formulation, scope, found.schedule, HIGHS, Limits())
    assert quick is not None
    assert (quick.broken is None) == (slow.broken is None)
    if slow.broken is None:
        assert quick.value == pytest.approx(slow.value)


def small() -> tuple[Scope, Any]:
    instance = random_instance(Random(3), jobs=4, servers=2, tree=False)
    found = run_policy(instance, random_placement, seed=1)
    assert found is not None
    return scope_of(instance, found.makespan), found.schedule


def test_added_variables_get_values_from_the_solver() -> None:
    scope, schedule = small()
    due = dict.fromkeys(scope.jobs, 3)

    def late(model: Any, scope: Scope) -> None:
        model.late = pyo.Var(list(scope.jobs), domain=pyo.Binary)
        model.is_late = pyo.Constraint(
            list(scope.jobs),
            rule=lambda m, j: m.completion[j] <= due[j] + scope.horizon * m.late[j],
        )

    formulation = TIME_INDEXED.extended(
        "late", late, objective=lambda m, scope: sum(m.late[j] for j in scope.jobs)
    )
    verdict = judge(formulation, scope, schedule, HIGHS, Limits())
    values = TIME_INDEXED.extended("all", objective=everything)
    assert values.evaluate is not None
    completions = values.evaluate(scope, schedule).completion
    assert verdict == Verdict(None, sum(completions[j].value > 3 for j in scope.jobs))


def test_what_a_user_fixes_must_be_so_in_the_schedule() -> None:
    scope, schedule = small()
    job = schedule.assignments[0].job
    for value, broken in ((0, True), (1, False)):

        def fixed(model: Any, scope: Scope, value: int = value) -> None:
            model.started[job, scope.horizon - 1].fix(value)

        verdict = judge(TIME_INDEXED.extended("fixed", fixed), scope, schedule, HIGHS, Limits())
        assert verdict is not None
        assert (verdict.broken is not None) == broken


def test_what_only_the_model_has_is_left_to_the_model() -> None:
    scope, schedule = small()

    def fast(model: Any, scope: Scope) -> None:
        model.fast = pyo.Constraint(expr=sum(model.reaches.values()) >= 0)

    assert judge(TIME_INDEXED.extended("f", fast), scope, schedule, HIGHS, Limits()) is None


def test_components_can_be_gone_through_as_those_of_the_model() -> None:
    scope, schedule = small()
    model, values = TIME_INDEXED.build(scope), TIME_INDEXED.evaluate
    assert values is not None
    made: Any = values(scope, schedule)
    for name in ("started", "ended", "running", "workers", "on", "servers_used", "held", "start"):
        assert list(made.known[name]) == list(getattr(model, name))
        assert len(made.known[name]) == len(getattr(model, name))
