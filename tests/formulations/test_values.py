"""Values of a schedule without the model are those that the model gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from depth import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import instances, random_instance
from scopes import scope_of
from wide_instances import wide_instances

from rarmodel.exact.admission import ModelNeeded, Verdict, admit, judge
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.formulations.time_indexed_preemptive import TIME_INDEXED_PREEMPTIVE
from rarmodel.heuristics import random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.lists import shortest_first
from rarmodel.methods import attempt
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Instance, Schedule
from rarmodel.solvers.highs import HIGHS
from rarmodel.verifier import verify


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


EXACT = [TIME_INDEXED, COMPACT, RAR_DDLS]
exact = pytest.mark.parametrize("formulation", EXACT, ids=lambda formulation: formulation.name)


def components(model: Any) -> dict[str, Any]:
    """What a schedule gives values: all but what takes all placements, or is of objectives."""
    found = model.component_objects((pyo.Var, pyo.Expression))
    hidden = ("reaches", "weighs", "within_")
    return {c.local_name: c for c in found if not c.local_name.startswith(hidden)}


@exact
@examples(10)
@given(instances(jobs=4, servers=3), st.integers(0, 3))
def test_values_are_those_of_the_model(
    formulation: Formulation, instance: Instance, seed: int
) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None and found.makespan <= 25)
    assert found is not None
    scope = replace(scope_of(instance, found.makespan + seed), every_schedule=True)
    assume(formulation.unfit(scope) is None)
    check_values(formulation, scope, found.schedule)


@exact
@examples(8)
@given(st.data(), st.integers(0, 3))
def test_values_of_wider_instances_are_those_of_the_model(
    formulation: Formulation, data: st.DataObject, spare_slots: int
) -> None:
    instance = data.draw(wide_instances(handles=formulation.handles))
    schedule = attempt(shortest_first, instance, Limits()).schedule
    assume(schedule is not None)
    assert schedule is not None
    latest = verify(instance, schedule).makespan
    assert latest is not None
    scope = replace(scope_of(instance, latest + spare_slots), every_schedule=True)
    check_values(formulation, scope, schedule)


@examples(8)
@given(st.data())
@pytest.mark.parametrize(
    "formulation", [*EXACT, TIME_INDEXED_PREEMPTIVE], ids=lambda formulation: formulation.name
)
def test_a_schedule_loaded_has_as_many_links_as_the_verifier_counts(
    formulation: Formulation, data: st.DataObject
) -> None:
    drawn = data.draw(wide_instances(handles=formulation.handles - {PREEMPTION.name}))
    instance = drawn.model_copy(update={"objective": ("makespan", "total-links")})
    schedule = attempt(shortest_first, instance, Limits()).schedule
    assume(schedule is not None)
    assert schedule is not None
    report = verify(instance, schedule)
    assert report.makespan is not None
    assert report.objective is not None
    latest = max(1, report.makespan)
    scope = replace(scope_of(instance, latest), stage=1, at_most=(latest, 10**6))
    scope = replace(scope, every_schedule=True)
    assume(formulation.unfit(scope) is None)
    model = formulation.build(scope)
    formulation.load(model, scope, schedule)
    assert pyo.value(model.objective) == report.objective["total-links"]
    for constraint in model.component_data_objects(pyo.Constraint):
        assert constraint.slack() >= -1e-6, constraint.name
    if formulation.evaluate is not None:
        check_values(formulation, scope, schedule)


def check_values(formulation: Formulation, scope: Scope, schedule: Schedule) -> None:
    """Each component has the values in a schedule that the model has after it is loaded."""
    model = formulation.build(scope)
    formulation.load(model, scope, schedule)
    assert formulation.evaluate is not None
    values = formulation.evaluate(scope, schedule)
    for name, component in components(model).items():
        if not component.is_indexed():
            assert pyo.value(getattr(values, name)) == pyo.value(component)
            continue
        known = getattr(values, name)
        for index in component:
            # Both are zero where a placement is not that of the job.
            assert pyo.value(known[index]) == pytest.approx(pyo.value(component[index])), name
        # What the model has not is zero: a sum over all is the same.
        total = sum(pyo.value(part) for part in known.values())
        assert total == pytest.approx(sum(pyo.value(part) for part in component.values())), name


@pytest.mark.parametrize("base", [TIME_INDEXED, COMPACT], ids=lambda base: base.name)
@examples(8)
@given(instances(jobs=4, servers=3), st.integers(0, 3), st.booleans())
def test_a_verdict_without_the_model_is_that_of_the_model(
    base: Formulation, instance: Instance, seed: int, constrained: bool
) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None and found.makespan <= 25)
    assert found is not None
    scope = scope_of(instance, found.makespan + seed)
    added = (not_too_many_at_once,) if constrained else ()
    formulation = base.extended("everything", *added, objective=everything)
    quick = judge(formulation, scope, found.schedule, [HIGHS], Limits())
    model = formulation.build(scope)
    slow = admit(model, formulation, scope, found.schedule, [HIGHS], Limits())
    assert isinstance(quick, Verdict)
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
    verdict = judge(formulation, scope, schedule, [HIGHS], Limits())
    values = TIME_INDEXED.extended("all", objective=everything)
    assert values.evaluate is not None
    completions = values.evaluate(scope, schedule).completion
    assert verdict == Verdict(None, sum(completions[j].value > 3 for j in scope.jobs))


@exact
def test_what_a_user_fixes_must_be_so_in_the_schedule(formulation: Formulation) -> None:
    scope, schedule = small()
    job = schedule.assignments[0].job
    for value, broken in ((0, True), (1, False)):

        def fixed(model: Any, scope: Scope, value: int = value) -> None:
            model.started[job, scope.horizon - 1].fix(value)

        verdict = judge(formulation.extended("fixed", fixed), scope, schedule, [HIGHS], Limits())
        assert isinstance(verdict, Verdict)
        assert (verdict.broken is not None) == broken


@pytest.mark.parametrize("base", [COMPACT, RAR_DDLS], ids=lambda base: base.name)
def test_a_makespan_that_a_user_fixes_must_be_that_of_the_schedule(base: Formulation) -> None:
    scope, schedule = small()
    for more, broken in ((0, None), (1, "makespan, which is fixed")):
        fixed = base.extended("fixed", lambda m, s, more=more: m.makespan.fix(s.horizon + more))  # type: ignore[misc]
        verdict = judge(fixed, scope, schedule, [HIGHS], Limits())
        assert isinstance(verdict, Verdict)
        assert verdict.broken == broken


@exact
def test_names_of_ones_own_hide_nothing(formulation: Formulation) -> None:
    scope, schedule = small()
    for name in ("allowed", "within_horizon", "numbers", "given", "known"):

        def named(model: Any, scope: Scope, name: str = name) -> None:
            setattr(model, name, pyo.Constraint(expr=model.makespan >= 0))

        def never(scope: Scope, *_: object) -> bool:
            return False

        ruled = replace(scope, allowed=(never,))
        verdict = judge(formulation.extended("named", named), ruled, schedule, [HIGHS], Limits())
        assert verdict == Verdict("_rules_on_placements")


@exact
def test_what_only_the_model_has_is_left_to_the_model(formulation: Formulation) -> None:
    scope, schedule = small()
    job = schedule.assignments[0].job

    def judged(rule: Callable[[Any], Any]) -> object:
        return judge(
            formulation.extended("f", lambda m, _: rule(m)), scope, schedule, [HIGHS], Limits()
        )

    for rule in (
        lambda m: m.reaches,
        lambda m: m.started["nobody", 0],
        lambda m: m.started[job, scope.horizon],
        lambda m: m.started[job, 0, 0],
        lambda m: m.started[job, :],
    ):
        assert isinstance(judged(rule), ModelNeeded)
    said = judged(lambda m: m.started["nobody", 0])
    assert said == ModelNeeded("f refers to what only the model has (\"started[('nobody', 0)]\")")


@exact
def test_components_can_be_gone_through_as_those_of_the_model(formulation: Formulation) -> None:
    scope, schedule = small()
    assert formulation.evaluate is not None
    values = formulation.evaluate(scope, schedule)
    for name, component in components(formulation.build(scope)).items():
        if component.is_indexed() and name not in {"placed", "active_in", "at_least"}:
            assert list(getattr(values, name)) == list(component), name
            assert len(getattr(values, name)) == len(component)
