"""Formulation, heuristics, bounds and verifier together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pyomo.environ as pyo  # noqa: TC002
import pytest
from random_instances import random_instance

from rarmodel import generate, solve
from rarmodel.bounds import best_bound
from rarmodel.errors import UsageError, VerificationError
from rarmodel.exact import schedule_of
from rarmodel.files import to_json
from rarmodel.formulations import Plan, Scope
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.methods import Attempt, Goal, constructive_methods, status_of
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance, Schedule
from rarmodel.search import Session
from rarmodel.solvers import Answer
from rarmodel.verifier import verify


def hard_instance() -> Instance:
    """Heuristics miss the optimum, and the bound is below it."""
    return random_instance(Random(40), jobs=4, servers=2, tree=False, most_slots=4)


class Claims:
    """A solver that solves nothing and claims what it is told to."""

    name = "claims"
    model_classes = frozenset({"integer", "linear"})

    def __init__(self, answer: Answer, act: Callable[[Any], None] = lambda _: None) -> None:
        self.answer = answer
        self.act = act

    def version(self) -> str:
        return "1"

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        self.act(model)
        return self.answer


def claim(**known: Any) -> Answer:
    fields: dict[str, Any] = {"termination": "time-limit", "has_solution": False, "bound": None}
    return Answer(**(fields | {"seconds": 0.0, "message": ""} | known))


@pytest.mark.usefixtures("idle_search")
def test_without_a_better_solution_the_heuristic_schedule_is_the_answer() -> None:
    result = solve(hard_instance(), formulation="time-indexed", solver=Claims(claim()))
    assert result.status == "feasible"
    assert result.stopped == "time limit"
    assert result.report is not None
    assert result.report.feasible
    assert result.lower_bound is not None
    assert result.makespan is not None
    assert result.lower_bound < result.makespan


@pytest.mark.usefixtures("idle_search")
def test_a_solver_that_says_optimal_is_not_taken_at_its_word() -> None:
    finished = claim(termination="finished", has_solution=True, bound=None)
    result = solve(hard_instance(), formulation="time-indexed", solver=Claims(finished))
    assert result.status == "feasible"


@pytest.mark.usefixtures("idle_search")
@pytest.mark.parametrize(("bound", "slots"), [(6.2, 7), (7.0, 7), (7.0000001, 7), (6.001, 7)])
def test_bounds_are_rounded_up_but_not_for_noise(bound: float, slots: int) -> None:
    result = solve(hard_instance(), formulation="time-indexed", solver=Claims(claim(bound=bound)))
    assert (result.lower_bound, result.bound_name) == (slots, "claims")


@pytest.mark.usefixtures("idle_search")
def test_a_bound_above_a_verified_makespan_is_ignored() -> None:
    result = solve(hard_instance(), formulation="time-indexed", solver=Claims(claim(bound=999.0)))
    assert "bound, 999, exceeds the makespan" in result.stopped
    assert result.status == "feasible"
    assert result.bound_name == "area"


def test_a_solver_that_is_not_installed_is_refused_at_once() -> None:
    class Absent(Claims):
        def version(self) -> Any:
            return None

    with pytest.raises(UsageError, match="'claims' is not installed"):
        solve(hard_instance(), formulation="time-indexed", solver=Absent(claim()))


@pytest.mark.usefixtures("idle_search")
def test_a_wrong_claim_of_infeasibility_proves_nothing() -> None:
    class Impatient(Claims):
        """Gives up on every horizon but the last, which it calls infeasible."""

        def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
            last = model.started["j0", 0].value is not None  # It has a starting solution.
            return claim(termination="infeasible" if last else "time-limit")

    result = solve(hard_instance(), formulation="time-indexed", solver=Impatient(claim()))
    assert result.status == "feasible"
    assert "infeasible model, but a schedule is known" in result.stopped


@pytest.mark.usefixtures("idle_search")
def test_horizons_grow_from_the_bound_to_the_best_makespan() -> None:
    horizons = []

    def infeasible(model: Any) -> None:
        horizons.append(sum(t >= 0 for j, t in model.started if j == "j0"))

    answer = claim(termination="infeasible")
    instance = hard_instance()
    bound = best_bound(instance).slots
    result = solve(instance, formulation="time-indexed", solver=Claims(answer, infeasible))
    makespan = result.makespan
    assert horizons[0] == bound
    assert horizons == sorted(set(horizons))
    assert makespan is not None
    assert horizons[-1] < makespan
    assert result.status == "optimal"
    assert "no schedule is shorter" in result.stopped


@pytest.mark.usefixtures("idle_search")
def test_a_formulation_with_a_wrong_schedule_is_found_out() -> None:
    def all_at_once(model: pyo.ConcreteModel, scope: Scope) -> Plan:
        jobs = scope.instance.jobs
        return Plan((0,) * len(jobs), ({0: 1},) * len(jobs))

    answer = claim(has_solution=True, bound=8.0)
    wrong = replace(TIME_INDEXED, name="all-at-once", plan=all_at_once)
    result = solve(hard_instance(), formulation=wrong, solver=Claims(answer))
    assert "solution and its bound are dropped: all-at-once" in result.stopped
    assert (result.status, result.bound_name) == ("feasible", "area")


@pytest.mark.parametrize(
    "plan",
    [
        Plan((0,), ({0: 1},)),
        Plan((0, 0, 0, -1), ({0: 1},) * 4),
        Plan((0,) * 4, ({7_000_000: 1},) * 4),
        Plan((0,) * 4, ({0: 0},) * 4),
    ],
)
def test_a_plan_that_places_a_job_wrongly_is_refused(plan: Plan) -> None:
    with pytest.raises(VerificationError):
        schedule_of(hard_instance(), plan, "wrong")


@pytest.mark.usefixtures("idle_search")
def test_speeds_beyond_a_solvers_arithmetic_are_not_given_to_it() -> None:
    instance = hard_instance()
    jobs = tuple(
        job.model_copy(update={"iterations": 10**9 * job.iterations}) for job in instance.jobs
    )
    slot = instance.time.model_copy(update={"slot_seconds": 1e9 * instance.time.slot_seconds})
    result = solve(
        instance.model_copy(update={"jobs": jobs, "time": slot}), formulation="time-indexed"
    )
    assert result.status == "feasible"
    assert "iterations per slot" in result.stopped


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_limit": -1.0},
        {"time_limit": float("nan")},
        {"gap": 2.0},
        {"gap": float("nan")},
        {"threads": 0},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 2**40},
    ],
)
def test_limits_out_of_range_are_usage_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="it must be"):
        solve(hard_instance(), **wrong)


@pytest.mark.usefixtures("idle_search")
def test_interrupt_while_building_returns_the_heuristic_schedule() -> None:
    def build(scope: Scope) -> pyo.ConcreteModel:
        raise KeyboardInterrupt

    interrupted = replace(TIME_INDEXED, build=build)
    result = solve(hard_instance(), formulation=interrupted, solver=Claims(claim()))
    assert (result.status, result.stopped) == ("feasible", "interrupted")


def test_a_model_too_large_for_the_time_is_not_begun() -> None:
    instance = random_instance(Random(4), jobs=40, servers=4, tree=False, most_slots=30)
    begun = time.perf_counter()
    result = solve(instance, formulation="time-indexed", time_limit=2.0)
    assert "too large for the time limit" in result.stopped
    assert result.schedule is not None
    assert result.seconds <= time.perf_counter() - begun


def test_where_no_model_can_be_built_there_is_a_schedule_to_repair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun_with = []

    def close_gap(session: Session, _: float) -> str:
        begun_with.append(session.solution)
        return "time limit"

    monkeypatch.setattr(Session, "close_gap", close_gap)
    result = solve(generate("paper", seed=3), formulation="time-indexed", time_limit=2.0)
    assert "can be placed in" in result.stopped
    assert result.stopped.endswith("; search used the rest of the time")
    assert len(begun_with) == 1
    assert begun_with[0] is not None


@pytest.mark.usefixtures("idle_search")
@pytest.mark.parametrize(("models", "asked"), [(True, 0), (False, 1)])
def test_models_do_not_wait_for_a_gap_that_is_small_enough_for_dives(
    models: bool, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = list[Session]()

    def close_gap(session: Session, _: float) -> str:
        made.append(session)
        return "time limit"

    monkeypatch.setattr(Session, "closable", True)
    monkeypatch.setattr(Session, "ready", False)
    monkeypatch.setattr(Session, "close_gap", close_gap)
    formulation = TIME_INDEXED if models else replace(TIME_INDEXED, unfit=lambda _: "no model")
    solve(hard_instance(), formulation=formulation, solver=Claims(claim()), time_limit=5.0)
    assert len(made) == asked


def test_without_a_model_the_solve_follows_the_very_course_of_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = generate("contention", seed=2)
    # Dives and the end come by the clock, and schedules may differ from there on. Both are an hour
    # away: the gap is met after eight iterations, however long a machine takes for these.
    monkeypatch.setattr("rarmodel.search.search.PROOF_SECONDS", inf)
    monkeypatch.setattr("rarmodel.search.search.PROOF_FROM", 1.0)
    limits: dict[str, Any] = {
        "threads": 2,
        "gap": 0.05,
        "time_limit": 3600,
        "objective": ["makespan"],
    }
    tiny = replace(TIME_INDEXED, unfit=lambda _: "no model")
    result = solve(instance, formulation=tiny, solver=Claims(claim()), **limits)
    alone = solve(instance, method="search", **limits)
    assert result.schedule is not None
    assert alone.schedule is not None
    assert result.schedule.assignments == alone.schedule.assignments
    assert result.stopped == (
        "no model; the schedule of a method is within the gap of the lower bound"
    )


class Patient:
    """A method of another package, which knows an optimal schedule."""

    name = "patient"

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        return Attempt(self.schedule, "as told")


@pytest.mark.usefixtures("idle_search")
def test_installed_methods_of_others_give_starting_solutions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = hard_instance()
    alone = solve(instance, formulation="time-indexed", solver=Claims(claim()))
    best = solve(instance, formulation="time-indexed").schedule
    assert best is not None
    installed = [*constructive_methods(), Patient(best)]
    monkeypatch.setattr("rarmodel.exact.schedules.constructive_methods", lambda: installed)
    result = solve(instance, formulation="time-indexed", solver=Claims(claim()))
    assert alone.makespan is not None
    assert result.makespan is not None
    assert result.makespan < alone.makespan


def test_methods_that_count_iterations_are_not_asked_for_starting_solutions() -> None:
    names = [method.name for method in constructive_methods()]
    assert names == sorted(names)
    assert "sjf-bco" in names
    assert "search" not in names


def test_the_first_job_may_wait_for_another() -> None:
    instance = hard_instance()
    first = instance.jobs[0].model_copy(update={"after": (instance.jobs[1].name,)})
    waits = instance.model_copy(update={"jobs": (first, *instance.jobs[1:])})
    result = solve(waits, formulation="time-indexed", time_limit=1e-6)
    assert result.report is not None
    assert result.report.feasible


def test_no_time_at_all_still_gives_a_schedule() -> None:
    for seed in range(10):
        instance = random_instance(Random(seed), jobs=4, servers=2, tree=False, stall=True)
        result = solve(instance, formulation="time-indexed", time_limit=1e-6)
        assert result.schedule is not None


@pytest.mark.usefixtures("idle_search")
def test_a_gap_that_the_heuristics_reach_needs_no_solver() -> None:
    result = solve(hard_instance(), formulation="time-indexed", solver=Claims(claim()), gap=0.9)
    assert result.status == "feasible"
    assert "within the gap" in result.stopped


def test_a_horizon_below_the_bound_is_infeasible_at_once() -> None:
    instance = hard_instance()
    short = instance.model_copy(update={"time": instance.time.model_copy(update={"horizon": 1})})
    for options in ({"formulation": "time-indexed"}, {"method": "sjf-bco"}):
        result = solve(short, **options)  # type: ignore[arg-type]
        assert result.status == "infeasible"
        assert result.schedule is None


@pytest.mark.parametrize(
    ("values", "bounds", "status"),
    [
        ([7], [7], "optimal"),
        ([7], [6], "feasible"),
        ([7], [None], "feasible"),
        ([Fraction(10**30 + 1, 3)], [Fraction(10**30, 3)], "feasible"),
        ([Fraction(1, 3), 5], [Fraction(1, 3), 5], "optimal"),
        ([Fraction(1, 3), 5], [Fraction(1, 3), 4], "feasible"),
        ([2, 5], [1, 5], "feasible"),
        ([None], [6], "unknown"),
        ([None, None], [None, None], "unknown"),
    ],
)
def test_status_comes_from_exact_values(
    values: list[Value | None], bounds: list[Value | None], status: str
) -> None:
    goals = [Goal("-", value, bound) for value, bound in zip(values, bounds, strict=True)]
    found = values[0] is not None
    assert status_of(goals, found=found) == status
    assert status_of(goals, found=found, infeasible=True) == (status if found else "infeasible")


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to another process")
def test_ctrl_c_writes_the_best_schedule_whole(tmp_path: Path) -> None:
    instance = random_instance(Random(5), jobs=10, servers=3, tree=True, most_slots=8)
    time = instance.time.model_copy(update={"horizon": 50})
    instance = instance.model_copy(update={"time": time})
    source, target = tmp_path / "instance.json", tmp_path / "schedule.json"
    source.write_text(to_json(instance), encoding="utf-8")
    # No bound of the search is one on this objective, so that the solver has its turn.
    (tmp_path / "mine.py").write_text(
        "from rarmodel.formulations.time_indexed import TIME_INDEXED\n"
        "TOTAL = TIME_INDEXED.extended(\n"
        "    'total', objective=lambda m, scope: sum(m.completion[j] for j in scope.jobs)\n"
        ")\n",
        encoding="utf-8",
    )
    command = ["solve", str(source), "--formulation", "mine:TOTAL", "--output", str(target)]
    process = subprocess.Popen(
        [sys.executable, "-m", "rarmodel", *command, "--solver", "highs", "--json", "--log"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "BestSol" in line:  # HiGHS has begun its search
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    result = json.loads(out)
    assert result["stopped"] == "interrupted"
    report = verify(instance, _schedule(target))
    assert report.feasible
    assert report.makespan == result["makespan"]


def _schedule(path: Path) -> Any:
    from rarmodel.files import read_schedule

    return read_schedule(path)
