"""Restricted models: what they return is admissible, whatever a user's additions ask for."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random
from time import perf_counter
from typing import Any

import pyomo.environ as pyo
import pytest
from additions import (
    apart,
    exclusive,
    few_at_once,
    nightly,
    not_at_once_in_a_row,
    servers_and_end,
    slack_of_its_own,
    three_sides,
    weighted,
    work_after_the_end,
)
from depth import first
from known_solves import known_of
from random_instances import random_instance
from scopes import scope_of

import rarmodel
from rarmodel.engine import Engine
from rarmodel.exact.admission import Verdict, evaluated, fixed_model, judge, judge_values
from rarmodel.exact.delays import delayed
from rarmodel.exact.first_incumbents import first_incumbents
from rarmodel.exact.freed_jobs import KINDS, Times, shape_of
from rarmodel.exact.insertion import Insertion
from rarmodel.exact.placement_pool import PlacementPool
from rarmodel.exact.ranking import Incumbent, Ranking
from rarmodel.exact.restricted_models import RestrictedModels
from rarmodel.exact.settling import settle
from rarmodel.exact.slot_rules import SlotRules
from rarmodel.exact.violation import excess, relax, violation
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.constants import Constants
from rarmodel.formulations.restricted import load, plan, restricted_model
from rarmodel.formulations.restriction import Choice
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.heuristics import random_placement, run_policy
from rarmodel.limits import Limits
from rarmodel.schema import Instance, Resource
from rarmodel.search import one_after_another
from rarmodel.solvers.highs import HIGHS

HOSTILE = [
    few_at_once,
    apart,
    three_sides,
    not_at_once_in_a_row,
    slack_of_its_own,
    work_after_the_end,
]
OBJECTIVES = [None, weighted, servers_and_end]


def small(seed: int, horizon: int = 40) -> Instance:
    instance = random_instance(Random(seed), jobs=4, servers=2, tree=bool(seed % 2), most_slots=4)
    time = instance.time.model_copy(update={"horizon": horizon})
    return instance.model_copy(update={"time": time})


def without_model(formulation: Formulation) -> Formulation:
    return replace(formulation, unfit=lambda _: "no model today")


def extended(seed: int) -> Formulation:
    random = Random(seed)
    added = random.sample(HOSTILE, random.randint(1, 3))
    base = random.choice([TIME_INDEXED, COMPACT])
    return base.extended("hostile", *added, objective=random.choice(OBJECTIVES))


@pytest.mark.parametrize("seed", first(8, range(40)))
def test_what_restricted_models_return_satisfies_the_additions(seed: int) -> None:
    instance, formulation = small(seed), extended(seed)
    found = rarmodel.solve(
        instance, formulation=without_model(formulation), time_limit=1, threads=1
    )
    assert found.status in {"feasible", "optimal", "unknown"}
    if found.schedule is None:
        return
    # Judged anew, in all slots, by the values of components and not by constants.
    scope = replace(scope_of(instance, 40), every_schedule=True)
    model = evaluated(formulation, scope, found.schedule)
    verdict = judge_values(model, [HIGHS], Limits())
    assert verdict.broken is None
    if found.objective[0].name != "makespan":
        assert found.objective[0].value == pytest.approx(verdict.value)


@pytest.mark.parametrize("seed", range(6))
def test_restricted_models_find_a_schedule_where_no_method_does(seed: int) -> None:
    instance = small(seed)
    formulation = without_model(TIME_INDEXED.extended("row", not_at_once_in_a_row))
    whole = rarmodel.solve(instance, formulation=TIME_INDEXED.extended("row", not_at_once_in_a_row))
    found = rarmodel.solve(instance, formulation=formulation, time_limit=10, threads=1, gap=0.5)
    assert whole.status == "optimal"
    assert found.status in {"feasible", "optimal"}
    assert found.makespan is not None
    assert whole.makespan is not None
    assert found.makespan >= whole.makespan
    assert found.schedule_by != "one-after-another" or found.makespan == whole.makespan


@pytest.mark.parametrize("seed", range(30))
def test_a_verdict_on_constants_is_that_on_values(seed: int) -> None:
    instance, formulation = small(seed), extended(seed)
    made = run_policy(instance, random_placement, seed=seed)
    if made is None:
        pytest.skip("the policy finds no schedule")
    scope = replace(scope_of(instance, 40), every_schedule=True)
    model = fixed_model(formulation, scope, made.schedule)
    assert model is not None
    quick = judge_values(model, [HIGHS], Limits())
    slow = judge_values(evaluated(formulation, scope, made.schedule), [HIGHS], Limits())
    assert (quick.broken is None) == (slow.broken is None)
    if quick.broken is None and formulation.objective != "makespan":
        assert quick.value == pytest.approx(slow.value)


def test_constants_compare_as_variables_do() -> None:
    model: Any = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Binary)
    constants = Constants(model)
    zero, one = constants.of(0), constants.of(1)
    model.kept = pyo.Constraint(expr=sum([zero, one, one]) <= 2)
    model.broken = pyo.Constraint(expr=2 * one + zero >= 3)
    model.mixed = pyo.Constraint(expr=one - model.x == zero)
    model.x.value = 1
    assert excess(model.kept) == 0
    assert excess(model.broken) == 1
    assert excess(model.mixed) == 0
    assert str(zero + model.x) == str(model.x + zero) == str(one * model.x) == "x"
    assert not constants.changed
    zero.fix(0)
    assert not constants.changed
    zero.fix(1)
    assert constants.changed


def licensed(instance: Instance) -> Instance:
    """The same, if each of its jobs uses one of two licences, and the first one both."""
    jobs = (
        job.model_copy(update={"resources": {"licence": 2 - bool(j)}})
        for j, job in enumerate(instance.jobs)
    )
    licence = Resource(name="licence", capacity=2)
    return instance.model_copy(update={"jobs": tuple(jobs), "resources": (licence,)})


def by_turns(scope: Scope, job: str, workers: Any, slot: int) -> bool:
    """A rule for slots: the first server is down in some, and the last job waits for them."""
    first, *_ = scope.servers
    *_, last = scope.jobs
    return not (first in workers and slot % 7 in {2, 3}) and not (job == last and slot in {5, 9})


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("with_licences", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_a_restricted_model_of_all_starts_reaches_the_optimum_in_one_server(
    seed: int, *, with_licences: bool, ruled: bool
) -> None:
    instance = licensed(small(seed)) if with_licences else small(seed)
    scope = replace(scope_of(instance, 20), every_schedule=True)
    rules = SlotRules(replace(scope, allowed_at=(by_turns,) if ruled else ()))
    server = max(scope.servers.values(), key=lambda one: one.gpus)
    if any(job.size > server.gpus for job in instance.jobs):
        pytest.skip("a job does not fit into one server")
    formulation = TIME_INDEXED.extended("weighted", objective=weighted)
    restriction = {
        j: tuple(
            Choice.within({s: job.size}, slots, starts)
            for s, one in scope.servers.items()
            if one.gpus >= job.size
            and (starts := rules.starts(j, {s: job.size}, slots, 0, 20 - slots))
        )
        for j, job in scope.jobs.items()
        for slots in (scope.least_slots[j],)
    }
    model = restricted_model(formulation, scope, restriction)
    answer = HIGHS.solve(model, Limits(time_limit=30))
    alone = TIME_INDEXED.extended(
        "alone",
        objective=weighted,
        allows=lambda _, __, workers, left: (
            len(workers) + left < 2 or (len(workers) == 1 and left == 0)
        ),
        allows_at=by_turns if ruled else None,
    )
    exact = rarmodel.solve(instance, formulation=alone)
    assert answer.termination == "finished"
    assert answer.value == pytest.approx(exact.objective[0].value)
    made = plan(model, scope, restriction)
    assert len(made.starts) == len(instance.jobs)
    for j, start, ring in zip(scope.jobs, made.starts, made.workers, strict=True):
        workers = {list(scope.servers)[s]: count for s, count in ring.items()}
        assert not ruled or all(
            by_turns(scope, j, workers, t) for t in range(start, start + scope.least_slots[j])
        )


def test_a_loaded_incumbent_satisfies_its_restricted_model() -> None:
    instance = small(3)
    made = run_policy(instance, random_placement, seed=3)
    assert made is not None
    report = rarmodel.verify(instance, made.schedule)
    scope = replace(scope_of(instance, 40), every_schedule=True)
    starts = {one.job: one.start for one in made.schedule.assignments}
    workers = {
        one.job: {s: len(g) for s, g in one.gpus.items()} for one in made.schedule.assignments
    }
    restriction = {
        j: (
            Choice(
                workers[j],
                (report.completion[j] or 0) - starts[j],
                range(max(0, starts[j] - 3), starts[j] + 4),
            ),
        )
        for j in scope.jobs
    }
    model = restricted_model(TIME_INDEXED.extended("apart", apart), scope, restriction)
    load(model, scope, restriction, starts, workers)
    for name in ("one_choice", "stays_begun", "capacity", "waits", "is_latest"):
        for constraint in model.component(name).values():
            assert excess(constraint) <= 1e-6
    for j in scope.jobs:
        assert pyo.value(model.start[j]) == starts[j]
        assert pyo.value(model.completion[j]) == report.completion[j]


def test_starts_that_a_rule_refuses_have_no_variable() -> None:
    scope = replace(scope_of(small(3), 20), every_schedule=True)
    restriction = {
        j: (Choice.within({"s0": job.size}, 2, [1, 2, 5, 6, 9] if number == 0 else [3]),)
        for number, (j, job) in enumerate(scope.jobs.items())
    }
    first = next(iter(scope.jobs))
    model = restricted_model(TIME_INDEXED.extended("few", few_at_once), scope, restriction)
    assert list(model.begun) == [(first, 0, t) for t in (1, 2, 5, 6)]
    for start in (1, 2, 5, 6, 9):
        starts = {j: choices[0].starts[0] for j, choices in restriction.items()} | {first: start}
        workers = {j: choices[0].workers for j, choices in restriction.items()}
        load(model, scope, restriction, starts, workers)
        assert all(excess(one) == 0 for one in model.stays_begun.values())
        assert pyo.value(model.start[first]) == start
        assert plan(model, scope, restriction).starts[0] == start
        active = [t for t in range(20) if pyo.value(model.running[first, t])]
        assert active == [start, start + 1]


def test_a_rule_for_slots_is_asked_of_no_more_slots_than_needed() -> None:
    asked: list[int] = []

    def rule(_: Scope, __: str, ___: Any, slot: int) -> bool:
        asked.append(slot)
        return slot not in {4, 5}

    scope = replace(scope_of(small(1), 40), allowed_at=(rule,))
    rules, job = SlotRules(scope), next(iter(scope.jobs))
    assert rules.starts(job, {"s0": 1}, 3, 0, 7) == [0, 1, 6, 7]
    assert rules.starts(job, {"s0": 1}, 1, 3, 4) == [3]
    assert rules.starts(job, {"s0": 1}, 2, 5, 4) == []
    assert asked == list(range(10))


@pytest.mark.parametrize("seed", [1, 2])
def test_restricted_models_find_schedules_where_servers_are_down_by_night(seed: int) -> None:
    instance = rarmodel.generate("contention", seed=seed, jobs=8)
    formulation = TIME_INDEXED.extended("nightly", allows_at=nightly)
    known = known_of(instance, formulation)
    ranking = Ranking(known)
    begin, broken, _ = first_incumbents(ranking, inf)
    assert broken is None
    assert begin is not None
    in_a_row = sum(begin.times.ends[j] - begin.times.starts[j] for j in begin.times.starts)
    assert begin.times.latest < in_a_row
    search = RestrictedModels(known)
    found, _ = search._solve(begin, 0, perf_counter() + 60)
    for one in (begin, *([] if found is None else [found])):
        for j, start in one.times.starts.items():
            for t in range(start, one.times.ends[j]):
                assert nightly(ranking.scope(1), j, one.times.workers[j], t)


def test_violation_is_what_slack_amounts_to() -> None:
    instance = small(2)
    made = run_policy(instance, random_placement, seed=2)
    assert made is not None
    formulation = TIME_INDEXED.extended("few", few_at_once)
    scope = replace(scope_of(instance, 40), every_schedule=True)
    model = fixed_model(formulation, scope, made.schedule)
    verdict = judge(formulation, scope, made.schedule, [HIGHS], Limits())
    assert isinstance(verdict, Verdict)
    assert (violation(model) > 0) == (verdict.broken is not None)
    relax(model)
    assert model is not None
    few: Any = model.component("few")
    assert not any(one.active for one in few.values())


def test_a_plan_that_expects_too_short_times_waits_for_room() -> None:
    instance = small(5)
    job = max(instance.jobs, key=lambda one: one.size)
    server = max(range(2), key=lambda s: instance.cluster.servers[s].gpus)
    if job.size > instance.cluster.servers[server].gpus:
        pytest.skip("the job does not fit into one server")
    alone = instance.model_copy(
        update={"jobs": tuple(job.model_copy(update={"name": f"j{i}"}) for i in range(9))}
    )
    settled = settle(Engine(alone), [0] * 9, [{server: job.size}] * 9)
    assert settled is not None
    room = instance.cluster.servers[server].gpus
    for t in range(max(settled.completions)):
        runs = zip(settled.starts, settled.completions, strict=True)
        assert sum(job.size for start, end in runs if start <= t < end) <= room


def test_neighbourhoods_have_as_many_different_jobs_as_asked() -> None:
    random = Random(1)
    jobs = [f"j{i}" for i in range(12)]
    starts = {j: random.randrange(20) for j in jobs}
    ends = {j: starts[j] + random.randint(1, 5) for j in jobs}
    times = Times(starts, ends, {j: {f"s{random.randrange(3)}": 1} for j in jobs})
    for kind in KINDS:
        for number in (2, 5, 12):
            freed = kind(times, jobs, number, random)
            assert len(set(freed)) == len(freed) == number
    for size in (60, 1000, 40_000):
        shape = shape_of(size, times, 8, random)
        assert 2 <= shape.jobs <= 12
        assert 1 <= shape.placements <= 8


def test_the_pool_keeps_rules_and_learns_times() -> None:
    instance = small(4)
    scope = replace(
        scope_of(instance, 40), allowed=(lambda _, __, workers, left: len(workers) == 1,)
    )
    pool = PlacementPool(scope)
    assert not pool.add(instance.jobs[0].name, dict.fromkeys(scope.servers, 1) | {"s0": 99})
    for job, number in pool.sizes().items():
        for workers in pool.draw(job, number, Random(0)):
            assert len(workers) == 1
            pool.learn({job: (workers, 17)})
            assert pool.expected(job, workers) == 17


def test_the_limit_is_kept() -> None:
    begun = perf_counter()
    found = rarmodel.solve(
        small(1),
        formulation=without_model(TIME_INDEXED.extended("few", few_at_once)),
        time_limit=2,
        threads=1,
    )
    assert found.seconds <= perf_counter() - begun
    assert "restricted models" in found.stopped or found.status == "optimal"


def test_functions_that_somebody_has_replaced_are_not_taken_for_additions() -> None:
    instance = small(1)
    formulation = TIME_INDEXED.extended("few", few_at_once)
    assert formulation.states_additions
    assert formulation.extended("more", apart).states_additions
    theirs = replace(formulation, evaluate=TIME_INDEXED.evaluate)
    assert not theirs.states_additions
    assert not theirs.extended("more", apart).states_additions
    made = run_policy(instance, random_placement, seed=1)
    assert made is not None
    scope = replace(scope_of(instance, 40), every_schedule=True)
    assert fixed_model(formulation, scope, made.schedule) is not None
    assert fixed_model(theirs, scope, made.schedule) is None


def test_placements_that_rules_refuse_are_replaced() -> None:
    instance = random_instance(Random(7), jobs=4, servers=2, tree=False, most_slots=4, sizes=(1,))
    instance = instance.model_copy(
        update={"time": instance.time.model_copy(update={"horizon": 60})}
    )
    last = instance.cluster.servers[-1].name
    formulation = TIME_INDEXED.extended(
        "last-server", allows=lambda _, __, workers, left: set(workers) <= {last}
    )
    found = rarmodel.solve(
        instance, formulation=without_model(formulation), time_limit=2, threads=1
    )
    assert found.schedule is not None
    assert all(set(one.gpus) == {last} for one in found.schedule.assignments)


def overlaps(found: Incumbent, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    starts, ends = found.times.starts, found.times.ends
    return [(j, k) for j, k in pairs if starts[j] < ends[k] and starts[k] < ends[j]]


@pytest.mark.parametrize("seed", first(1, [1, 2]))
def test_five_pairs_that_may_not_overlap_wait_for_each_other(seed: int) -> None:
    instance = rarmodel.generate("contention", seed=seed, jobs=14)
    longest = sorted(instance.jobs, key=lambda job: -job.size * job.iterations)
    names = [job.name for job in longest[:10]]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    made = run_policy(instance, random_placement, seed=seed)
    assert made is not None
    known = known_of(instance, TIME_INDEXED.extended("pairs", exclusive), exclusive=pairs)
    ranking = Ranking(known)
    begin = ranking.ranked(made.schedule)
    assert begin is not None
    assert begin.violated
    assert {frozenset(one.jobs) for one in ranking.conflicts(begin)} == {
        frozenset(pair) for pair in overlaps(begin, pairs)
    }
    found = delayed(ranking, begin, inf)
    assert not found.violated
    assert not overlaps(found, pairs)
    assert known.checked(found.schedule).feasible
    in_a_row = sum(found.times.ends[j] - found.times.starts[j] for j in found.times.starts)
    assert found.times.latest < in_a_row / 2


def test_restricted_models_begin_from_the_shortest_of_many_schedules() -> None:
    instance = rarmodel.generate("contention", seed=1, jobs=8)
    known = known_of(instance, TIME_INDEXED.extended("pairs", exclusive), exclusive=[])
    made = [run_policy(instance, random_placement, seed=seed) for seed in range(60)]
    found = [one.schedule for one in made if one is not None]
    reports = [known.checked(schedule) for schedule in found]
    known.offered = sorted(zip(found, reports, strict=True), key=lambda one: one[1].makespan or inf)
    best = known.offered[0][1].makespan
    admissible, broken, _ = first_incumbents(Ranking(known), inf)
    assert broken is None
    assert admissible is not None
    assert admissible.times.latest == best


@pytest.mark.parametrize("seed", range(6))
def test_inserted_plans_keep_capacities_licences_and_waits(seed: int) -> None:
    instance = licensed(small(seed, horizon=80))
    known = known_of(instance, TIME_INDEXED.extended("few", few_at_once))
    ranking = Ranking(known)
    random = Random(seed)
    order = [job.name for job in instance.jobs]
    random.shuffle(order)
    ways = {
        j: [(way, ranking.pool.expected(j, way)) for way in ranking.pool.draw(j, 3, random)]
        for j in order
    }
    first, *_, last = order
    insertion = Insertion(replace(ranking.scope(80), allowed_at=(by_turns,)))
    plan = insertion.plan(order, ways, {first: {last}}, {order[1]: 3})
    assert plan is not None
    assert plan.starts[order[1]] >= 3
    for j, start in plan.starts.items():
        slots = {str(way): slots for way, slots in ways[j]}[str(plan.workers[j])]
        scope = ranking.scope(80)
        assert all(by_turns(scope, j, plan.workers[j], t) for t in range(start, start + slots))
    made = ranking.settled([plan.starts[job.name] for job in instance.jobs], plan.workers)
    assert made is not None  # The verifier has passed it.
    assert plan.starts[first] >= plan.starts[last] + ranking.scope(80).least_slots[last]
    assert insertion.plan(order, ways, {first: {last}, last: {first}}, {}) is None
    assert Insertion(ranking.scope(1)).plan(order, ways, {}, {}) is None


@pytest.mark.parametrize("seed", first(1, [0, 8, 9]))
def test_later_objectives_are_minimised_and_earlier_ones_kept(seed: int) -> None:
    plain = small(seed)
    jobs = tuple(
        job.model_copy(update={"weight": 1 + 7 * (j % 2)}) for j, job in enumerate(plain.jobs)
    )
    instance = plain.model_copy(
        update={"objective": ("makespan", "total-completion"), "jobs": jobs}
    )
    formulation = TIME_INDEXED.extended("apart", apart)
    whole = rarmodel.solve(instance, formulation=formulation, threads=1)
    found = rarmodel.solve(
        instance, formulation=without_model(formulation), time_limit=4, threads=1
    )
    assert whole.status == "optimal"
    assert [goal.value for goal in found.objective] == [goal.value for goal in whole.objective]


def test_a_long_schedule_is_judged_at_the_end_where_that_takes_long() -> None:
    instance = rarmodel.generate("small", seed=3, jobs=4)
    schedule = one_after_another(instance).schedule(instance, "one-after-another")
    known = known_of(instance, TIME_INDEXED.extended("few", few_at_once))
    known = replace(known, limits=replace(known.limits, time_limit=100.0))
    known.judging = 1.0  # A second for each slot.
    known.collect_at_last(schedule)
    before, seconds = known.schedule_by, known.seconds_at_last
    assert (before, seconds) == (None, known.offered[0][1].makespan)
    known.fall_back()
    after, seconds = known.schedule_by, known.seconds_at_last
    assert (after, seconds) == ("one-after-another", 0.0)


def test_a_long_schedule_is_judged_at_once_where_that_is_nothing() -> None:
    instance = rarmodel.generate("small", seed=3, jobs=4)
    schedule = one_after_another(instance).schedule(instance, "one-after-another")
    known = known_of(instance, TIME_INDEXED.extended("few", few_at_once))
    known = replace(known, limits=replace(known.limits, time_limit=100.0))
    known.collect_at_last(schedule)
    assert known.schedule is schedule
