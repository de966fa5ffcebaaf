"""The choice from a pool, with and without a limit on GPUs: against enumeration and the pool."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from random import Random
from typing import Any

import pyomo.environ as pyo
import pytest
from depth import examples, first
from enumeration import optimal_makespan
from hypothesis import assume, given
from hypothesis import strategies as st
from pyomo.core.expr.visitor import identify_variables
from random_instances import instances, random_instance
from scopes import scope_of

from rarmodel import solve
from rarmodel.bounds import best_bound
from rarmodel.errors import InputError, UsageError
from rarmodel.exact.admission import ModelNeeded, Verdict, admit, judge
from rarmodel.exact.numbered_schedules import schedule_of
from rarmodel.files import to_json
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.busy_time_selection import BUSY_TIME_SELECTION
from rarmodel.formulations.gpu_loads import loads
from rarmodel.formulations.pool import entry_of, pool_of
from rarmodel.formulations.schedule_selection import SCHEDULE_SELECTION
from rarmodel.heuristics import estimate, first_fit, list_scheduling, random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.model import horizon_of, job_extremes
from rarmodel.schema import Instance
from rarmodel.solvers.highs import HIGHS
from rarmodel.verifier import verify

INSTANCE = random_instance(Random(3), jobs=4, servers=2, tree=False)


def chosen_makespan(formulation: Formulation, scope: Scope) -> int | None:
    """Makespan of the schedule that the model chooses, verified; None if it is infeasible."""
    model = formulation.build(scope)
    answer = HIGHS.solve(model, Limits(time_limit=60, threads=1))
    if answer.termination == "infeasible":
        return None
    assert answer.termination == "finished"
    assert answer.bound is not None
    plan = formulation.plan(model, scope)
    assert plan is not None
    report = verify(scope.instance, schedule_of(scope.instance, plan, "chosen"))
    assert report.feasible
    assert report.makespan == round(answer.bound)
    return report.makespan


@pytest.mark.parametrize("tree", [False, True], ids=["star", "tree"])
@pytest.mark.parametrize("stall", [False, True], ids=["flowing", "stalling"])
@pytest.mark.parametrize("seed", first(2, range(20, 25)))
def test_the_pool_of_all_attains_the_optimum(seed: int, tree: bool, stall: bool) -> None:
    instance = random_instance(
        Random(seed), jobs=3 + seed % 2, servers=2, tree=tree, stall=stall, most_slots=3
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    scope = scope_of(instance, optimum, pool="all")
    assert chosen_makespan(SCHEDULE_SELECTION, scope) == optimum
    too_short = scope_of(instance, optimum - 1, pool="all")
    assert chosen_makespan(SCHEDULE_SELECTION, too_short) is None
    result = solve(instance, formulation="schedule-selection", data={"pool": "all"})
    assert (result.status, result.makespan, result.lower_bound) == ("optimal", optimum, optimum)


@examples(15)
@given(instances(jobs=5, servers=3))
def test_the_best_schedule_of_the_heuristics_is_chosen(instance: Instance) -> None:
    horizon = sum(extreme.least_slots for extreme in job_extremes(instance))
    scope = scope_of(instance, horizon)
    best = min(entry.makespan for entry in pool_of(scope))
    assert chosen_makespan(SCHEDULE_SELECTION, scope) == best


@examples(8)
@given(instances(jobs=5, servers=3))
def test_the_choice_is_at_least_as_good_as_every_heuristic(instance: Instance) -> None:
    result = solve(instance, formulation="schedule-selection")
    assert result.makespan is not None
    assert result.lower_bound is not None
    assert result.lower_bound <= result.makespan
    for policy in (first_fit, list_scheduling):
        found = run_policy(instance, policy)
        assert found is None or result.makespan <= found.makespan


def heuristic_pool(*policies: Any) -> list[Any]:
    found = [run_policy(INSTANCE, policy) for policy in policies]
    return [f.schedule for f in found if f]


def test_the_relaxation_has_the_optimum_of_the_model() -> None:
    scope = scope_of(INSTANCE, 100)
    model = SCHEDULE_SELECTION.build(scope)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    answer = HIGHS.solve(model, Limits())
    assert answer.bound == pytest.approx(pool_of(scope)[0].makespan)


def test_every_schedule_of_the_pool_is_a_solution() -> None:
    scope = scope_of(INSTANCE, 100)
    model: Any = SCHEDULE_SELECTION.build(scope)
    assert len(model.pool) > 1
    for entry in model.pool:
        plan = SCHEDULE_SELECTION.plan
        schedule = schedule_of(INSTANCE, _plan_of(entry), "pool")
        verdict = admit(model, SCHEDULE_SELECTION, scope, schedule, [HIGHS], Limits())
        assert verdict == (None, entry.makespan)
        assert model.makespan.value == entry.makespan
        assert plan(model, scope) == _plan_of(entry)
        for j, (start, end) in zip(
            scope.jobs, zip(entry.starts, entry.completions, strict=True), strict=True
        ):
            assert pyo.value(model.start[j]) == start
            assert pyo.value(model.completion[j]) == end


def _plan_of(entry: Any) -> Any:
    from rarmodel.formulations import Plan

    return Plan(entry.starts, entry.workers, entry.gpus)


def test_a_schedule_that_is_not_in_the_pool_leaves_variables_unset() -> None:
    ff, ls = heuristic_pool(first_fit), heuristic_pool(list_scheduling)
    assert ff[0].assignments != ls[0].assignments
    scope = scope_of(INSTANCE, 100, schedules=ff)
    model = SCHEDULE_SELECTION.build(scope)
    SCHEDULE_SELECTION.load(model, scope, ls[0])
    assert all(v.value is None for v in model.component_data_objects(pyo.Var))
    assert SCHEDULE_SELECTION.plan(model, scope) is None


def test_only_the_pool_of_all_proves_a_bound() -> None:
    pools: list[tuple[dict[str, Any], bool]] = [
        ({}, False),
        ({"schedules": []}, False),
        ({"pool": "all"}, True),
    ]
    for data, proven in pools:
        for formulation in (SCHEDULE_SELECTION, BUSY_TIME_SELECTION):
            assert formulation.proves(scope_of(INSTANCE, 9, **data)) is proven


@pytest.mark.parametrize("formulation", [SCHEDULE_SELECTION, BUSY_TIME_SELECTION])
def test_an_empty_pool_makes_the_model_infeasible(formulation: Formulation) -> None:
    pools: list[dict[str, Any]] = [{"schedules": []}, {"pool": "all"}, {}]
    for data in pools:
        scope = scope_of(INSTANCE, 1, limit=5, **data)
        assert pool_of(scope) == ()
        assert chosen_makespan(formulation, scope) is None


@pytest.mark.usefixtures("idle_search")
def test_an_empty_pool_proves_nothing() -> None:
    # Heuristics miss this one's optimum, and the bound is below it.
    instance = random_instance(Random(49), jobs=4, servers=2, tree=False, most_slots=4)
    result = solve(instance, formulation="schedule-selection", data={"schedules": []})
    assert result.status == "feasible"
    assert result.lower_bound == best_bound(instance).slots


def test_size_grows_as_the_model_does() -> None:
    optimum = optimal_makespan(INSTANCE)
    assert optimum is not None
    for formulation in (SCHEDULE_SELECTION, BUSY_TIME_SELECTION):
        for scope in (
            scope_of(INSTANCE, 100, limit=9),
            scope_of(INSTANCE, optimum, pool="all", limit=9),
        ):
            assert pool_of(scope)
            model = formulation.build(scope)
            terms = sum(
                len(list(identify_variables(c.body)))
                for c in model.component_data_objects(pyo.Constraint)
            )
            assert 0.3 < formulation.size(scope) / terms < 3


def test_more_constraints_can_be_added() -> None:
    """The last job first: its completion is what any schedule of the pool allows at best."""
    scope = scope_of(INSTANCE, 100)
    last = list(scope.jobs)[-1]
    early = SCHEDULE_SELECTION.extended(
        "last-first", objective=lambda m, _: m.completion[last], objective_name="last completion"
    )
    result = solve(INSTANCE, formulation=early)
    best = min(e.completions[-1] for e in pool_of(scope_of(INSTANCE, horizon_of(INSTANCE))))
    assert result.objective[0].value == best


def least_makespan_under(scope: Scope, limit: float) -> int | None:
    """Of all schedules and all numberings of their GPUs, from the definition."""
    work = estimate(scope.instance).work
    found = []
    servers = list(scope.servers.values())
    for entry in pool_of(scope):
        ways = []
        for workers in entry.workers:
            picks = [
                [(s, held) for held in combinations(range(servers[s].gpus), n)]
                for s, n in workers.items()
            ]
            ways.append([dict(choice) for choice in product(*picks)])
        for gpus in product(*ways):
            clash = any(
                a1 < e2 and a2 < e1 and any(set(h1[s]) & set(h2.get(s, ())) for s in h1)
                for (a1, e1, h1), (a2, e2, h2) in combinations(
                    list(zip(entry.starts, entry.completions, gpus, strict=True)), 2
                )
            )
            if not clash and max(loads(gpus, work).values()) <= limit:
                found.append(entry.makespan)
                break
    return min(found, default=None)


@pytest.mark.parametrize("seed", range(30, 36))
def test_the_limit_over_all_schedules_is_that_of_every_numbering(seed: int) -> None:
    instance = random_instance(
        Random(seed), jobs=3, servers=1, tree=False, most_slots=3, most_gpus=3
    )
    optimum = optimal_makespan(instance)
    assert optimum is not None
    horizon = optimum + 1
    seen = set()
    for limit in range(1, optimum + 2):
        scope = scope_of(instance, horizon, pool="all", limit=limit)
        expected = least_makespan_under(scope, limit)
        assert chosen_makespan(BUSY_TIME_SELECTION, scope) == expected
        seen.add(expected)
    assert None in seen
    assert optimum in seen


@examples(15)
@given(instances(jobs=5, servers=3))
def test_the_best_of_the_heuristics_under_a_limit_is_chosen(instance: Instance) -> None:
    horizon = sum(extreme.least_slots for extreme in job_extremes(instance))
    work = estimate(instance).work
    pool = pool_of(scope_of(instance, horizon), work)
    busiest = sorted({max(loads(entry.gpus, work).values()) for entry in pool})
    for limit in (busiest[0] - 0.5, busiest[0], busiest[-1]):
        if limit <= 0:
            continue
        scope = scope_of(instance, horizon, limit=limit)
        within = [e.makespan for e in pool if max(loads(e.gpus, work).values()) <= limit]
        assert chosen_makespan(BUSY_TIME_SELECTION, scope) == min(within, default=None)


def test_estimates_of_ones_own_count() -> None:
    schedules = heuristic_pool(first_fit)
    names = [job.name for job in INSTANCE.jobs]
    least = {j: e.least_slots for j, e in zip(names, job_extremes(INSTANCE), strict=True)}
    double = {j: 2 * slots for j, slots in least.items()}  # u = 2, so nothing changes.
    pool = pool_of(scope_of(INSTANCE, 100, schedules=schedules))
    busiest = max(loads(pool[0].gpus, list(least.values())).values())
    for estimates in ({}, double):
        for limit, expected in ((busiest, pool[0].makespan), (busiest - 1, None)):
            scope = scope_of(INSTANCE, 100, schedules=schedules, limit=limit, estimates=estimates)
            assert chosen_makespan(BUSY_TIME_SELECTION, scope) == expected


@pytest.mark.parametrize("limit", [0, -1, "nine", True, float("nan"), [3]])
def test_a_limit_that_is_no_number_of_slots_is_a_usage_error(limit: Any) -> None:
    with pytest.raises(UsageError, match=r"^limit: .*; a number of slots above 0 is expected"):
        BUSY_TIME_SELECTION.build(scope_of(INSTANCE, 100, limit=limit))


def test_without_a_limit_the_formulation_says_so_in_one_line() -> None:
    result = solve(INSTANCE, formulation="busy-time-selection")
    assert result.status == "unknown"
    assert result.stopped == 'this formulation needs a limit in its data, as in {"limit": 20}'


def test_a_schedule_beyond_the_limit_is_not_the_answer() -> None:
    heuristic = solve(INSTANCE, formulation="busy-time-selection", data={"limit": 1000})
    assert heuristic.makespan == pool_of(scope_of(INSTANCE, 1000))[0].makespan
    tight = solve(INSTANCE, formulation="busy-time-selection", data={"limit": 1})
    assert tight.schedule is None
    assert tight.lower_bound == best_bound(INSTANCE).slots


@pytest.mark.usefixtures("idle_search")
def test_without_a_pool_of_all_a_known_schedule_within_the_limit_is_the_answer() -> None:
    # Heuristics miss the optimum of this one, and the bound is below it.
    instance = random_instance(Random(49), jobs=4, servers=2, tree=False, most_slots=4)
    unfit = replace(BUSY_TIME_SELECTION, unfit=lambda _: "no model today")
    longest = max(extreme.least_slots for extreme in job_extremes(instance))
    for limit, status in ((1000, "feasible"), (longest - 0.5, "unknown")):
        data = {"pool": "all", "limit": limit}
        found = solve(instance, formulation=unfit, data=data, time_limit=1)
        assert found.status == status
        assert found.stopped.startswith("no model today; rarmodel spent the rest of the time on ")


@examples(15)
@given(instances(jobs=5, servers=3), st.integers(0, 3), st.integers(-1, 1))
def test_a_schedule_is_judged_by_its_busiest_gpu(instance: Instance, seed: int, more: int) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    assume(found is not None)
    assert found is not None
    work = estimate(instance).work
    scope = scope_of(instance, found.makespan)
    busiest = max(loads(entry_of(scope, found.schedule).gpus, work).values())
    assume(busiest + more > 0)
    scope = replace(scope, data={"pool": "all", "limit": busiest + more})
    verdict = judge(BUSY_TIME_SELECTION, scope, found.schedule, [HIGHS], Limits())
    assert isinstance(verdict, Verdict)
    assert (verdict.broken is None) == (more >= 0)
    other = replace(scope, data={"limit": busiest + more})
    needed = judge(BUSY_TIME_SELECTION, other, found.schedule, [HIGHS], Limits())
    assert isinstance(needed, ModelNeeded)


def test_files_come_with_a_data_file(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    names = []
    for schedule in heuristic_pool(first_fit, list_scheduling):
        path = tmp_path / f"{schedule.method}.json"
        path.write_text(to_json(schedule), encoding="utf-8")
        names.append(str(path))
    data.write_text(json.dumps({"schedules": names, "limit": 1000}), encoding="utf-8")
    result = solve(INSTANCE, formulation="busy-time-selection", data=data)
    pool = pool_of(scope_of(INSTANCE, 1000, schedules=names))
    assert result.makespan == pool[0].makespan
    data.write_text(json.dumps({"schedules": ["nope.json"], "limit": 9}), encoding="utf-8")
    with pytest.raises(InputError, match=r"^nope.json: cannot be read: no such file"):
        solve(INSTANCE, formulation="busy-time-selection", data=data)
