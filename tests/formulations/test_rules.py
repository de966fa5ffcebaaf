"""Rules on placements: what they leave out has no variables, and schedules that break them fall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from documents import instance_data, instance_of, job_data
from random_instances import random_instance
from scopes import scope_of

import rarmodel
from rarmodel.errors import PartError, UsageError
from rarmodel.exact.admission import Verdict, judge
from rarmodel.formulations import Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.placements import MAX_PLACEMENTS, number_of_placements, placements
from rarmodel.formulations.scope import Allows
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS


def at_most(servers: int) -> Allows:
    def rule(scope: Scope, job: str, workers: Mapping[str, int], left: int) -> bool:
        return len(workers) <= servers

    return rule


def on_two_or_more(scope: Scope, job: str, workers: Mapping[str, int], left: int) -> bool:
    return left > 0 or len(workers) >= min(2, scope.jobs[job].size)


def spread_over(instance: Instance, rule: Allows) -> Scope:
    return replace(scope_of(instance, 1000), allowed=(rule,))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "rule", [at_most(1), at_most(2), on_two_or_more], ids=["one", "two", "more"]
)
def test_a_rule_leaves_out_what_a_filter_of_all_would(seed: int, rule: Allows) -> None:
    instance = random_instance(Random(seed), jobs=4, servers=3, tree=bool(seed % 2))
    scope = spread_over(instance, rule)
    for j, ways in placements(scope_of(instance, 1000)).items():
        complete = {k: way for k, way in ways.items() if rule(scope, j, way.workers, 0)}
        kept = placements(scope)[j]
        assert list(kept) == list(complete)
        assert kept == complete


@pytest.mark.parametrize("seed", range(4))
def test_placements_are_counted_as_they_are_listed(seed: int) -> None:
    instance = random_instance(Random(seed), jobs=4, servers=3, tree=False)
    for scope in (scope_of(instance, 10**6), spread_over(instance, at_most(2))):
        wide = replace(scope, horizon=10**6)
        for j, (number, most) in number_of_placements(wide).items():
            listed = placements(wide)[j]
            assert number >= len(listed)  # Those that stall are not listed.
            assert most >= max((len(way.workers) for way in listed.values()), default=0)


def test_a_rule_makes_a_model_of_many_servers_small() -> None:
    instance = rarmodel.load_instance("paper-160")
    scope = spread_over(instance, at_most(1))
    assert TIME_INDEXED.unfit(scope_of(instance, 300)) is not None
    plain = number_of_placements(scope_of(instance, 300))
    ruled = number_of_placements(scope)
    assert max(number for number, _ in plain.values()) > MAX_PLACEMENTS
    assert max(number for number, _ in ruled.values()) <= len(instance.cluster.servers)


def test_the_optimum_under_a_rule_is_that_under_a_constraint() -> None:
    import pyomo.environ as pyo

    def few(model: object, scope: Scope) -> None:
        model.few = pyo.Constraint(  # type: ignore[attr-defined]
            list(scope.jobs), rule=lambda m, j: m.servers_used[j] <= 1
        )

    instance = rarmodel.load_instance("fragmented-leftovers")
    ruled = TIME_INDEXED.extended("ruled", allows=at_most(1))
    stated = TIME_INDEXED.extended("stated", few)
    first = rarmodel.solve(instance, formulation=ruled)
    second = rarmodel.solve(instance, formulation=stated)
    assert first.status == second.status
    assert first.makespan == second.makespan


def test_a_schedule_that_breaks_a_rule_is_not_admitted() -> None:
    instance = rarmodel.load_instance("two-servers")
    schedule = rarmodel.solve(instance, method="sjf-bco").schedule
    assert schedule is not None
    scope = scope_of(instance, 60)
    verdicts = [
        judge(TIME_INDEXED.extended("x", allows=rule), scope, schedule, [HIGHS], Limits())
        for rule in (at_most(1), at_most(2))
    ]
    assert verdicts[0] == Verdict("_rules_on_placements")
    assert verdicts[1] == Verdict(None, rarmodel.verify(instance, schedule).makespan or 0)


def test_a_formulation_without_placements_takes_no_rules() -> None:
    with pytest.raises(UsageError, match="lists no placements"):
        COMPACT.extended("x", allows=on_two_or_more)


# Rules for placements at slots


def by_night(scope: Scope, job: str, workers: Mapping[str, int], slot: int) -> bool:
    """Server s1 is down in slots 3 to 7."""
    return "s1" not in workers or not 3 <= slot < 8


def instance_by_night() -> Instance:
    return instance_of(*(job_data(name, 2, 60) for name in "abc"), horizon=30)


def down(model: object, scope: Scope) -> None:
    """The same as constraints."""
    import pyomo.environ as pyo

    model.down = pyo.Constraint(  # type: ignore[attr-defined]
        range(3, min(8, scope.horizon)),
        rule=lambda m, t: sum(m.held[j, "s1", t] for j in scope.jobs) <= 0,
    )


@pytest.mark.parametrize("objective", ["makespan", "total-completion"])
def test_the_optimum_under_a_rule_for_slots_is_that_under_a_constraint(objective: str) -> None:
    ruled = TIME_INDEXED.extended("ruled", allows_at=by_night)
    stated = TIME_INDEXED.extended("stated", down)
    found = [
        rarmodel.solve(
            instance_by_night(),
            formulation=one,
            solver="highs",
            objective=objective,
            model_only=True,
        )
        for one in (ruled, stated)
    ]
    assert [one.status for one in found] == ["optimal", "optimal"]
    assert found[0].objective[0].value == found[1].objective[0].value
    plain = rarmodel.solve(instance_by_night(), objective=objective).objective[0].value
    assert found[0].objective[0].value != plain


def test_variables_that_a_rule_for_slots_refuses_are_fixed() -> None:
    ruled = TIME_INDEXED.extended("ruled", allows_at=by_night)
    model = rarmodel.formulate(instance_by_night(), ruled).model
    plain = rarmodel.formulate(instance_by_night(), "time-indexed", every_schedule=True).model
    fixed = {v.name for v in model.active_in.values() if v.fixed}
    assert len(model.active_in) == len(plain.active_in)
    assert fixed == {
        v.name
        for (_, label, t), v in model.active_in.items()
        if "s1" in label and not by_night(None, "", {"s1": 1}, t)  # type: ignore[arg-type]
    }


def test_interrupted_jobs_keep_a_rule_for_slots() -> None:
    from rarmodel.formulations.time_indexed_preemptive import TIME_INDEXED_PREEMPTIVE

    jobs = [job_data(name, 2, 40) for name in "ab"]
    data = instance_data(*jobs, horizon=14) | {"preemption": {"restore_seconds": 0.0}}
    instance = Instance.model_validate(data)
    result = rarmodel.solve(
        instance,
        formulation=TIME_INDEXED_PREEMPTIVE.extended("ruled", allows_at=by_night),
        solver="highs",
        model_only=True,
    )
    assert result.status == "optimal"
    assert result.schedule is not None
    assert result.report is not None
    for one in result.schedule.assignments:
        for segment in one.segments:
            end = result.report.completion[one.job] if segment.end is None else segment.end
            assert end is not None
            for t in range(segment.start, end):
                assert by_night(None, one.job, dict.fromkeys(segment.gpus, 1), t)  # type: ignore[arg-type]


def test_a_schedule_that_breaks_a_rule_for_slots_is_not_admitted() -> None:
    instance = instance_by_night()
    schedule = rarmodel.solve(instance).schedule
    assert schedule is not None
    scope = replace(scope_of(instance, 30), every_schedule=True)
    ruled = TIME_INDEXED.extended("x", allows_at=by_night)
    assert judge(ruled, scope, schedule, [HIGHS], Limits()) == Verdict("_rules_on_slots")
    with pytest.raises(UsageError, match="start: the schedule breaks _rules_on_slots"):
        rarmodel.solve(instance, formulation=ruled, start=schedule)


def test_a_formulation_without_placements_takes_no_rules_for_slots() -> None:
    with pytest.raises(UsageError, match="lists no placements"):
        COMPACT.extended("x", allows_at=by_night)


def test_a_rule_for_slots_that_answers_nonsense_is_named() -> None:
    ruled = TIME_INDEXED.extended("x", allows_at=lambda *_: None)  # type: ignore[arg-type]
    with pytest.raises(PartError, match=r"a rule for slots \(allows_at\) returned None"):
        rarmodel.formulate(instance_by_night(), ruled)
