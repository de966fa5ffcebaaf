"""Rules on placements: what they leave out has no variables, and schedules that break them fall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pytest
from random_instances import random_instance
from scopes import scope_of

import rarmodel
from rarmodel.errors import UsageError
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
