"""At a limit or at Ctrl-C: what a solver or a method found is kept, and the limit too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any
from weakref import ref

import pyomo.environ as pyo
import pytest
from depth import first
from documents import instance_of, job_data
from enumeration import optimal_makespan
from random_instances import random_instance

from rarmodel import generate, load_instance, solve
from rarmodel.errors import UsageError
from rarmodel.exact.building import OutOfTime, built_until
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.search.ties import Budget, Ties
from rarmodel.solvers import Answer
from rarmodel.solvers.highs import HIGHS


def used_servers(model: Any, scope: Scope) -> None:
    """A server is used if a job is on it."""
    model.used = pyo.Var(list(scope.servers), domain=pyo.Binary)
    model.used_if_on = pyo.Constraint(
        list(scope.jobs), list(scope.servers), rule=lambda m, j, s: m.on[j, s] <= m.used[s]
    )


def few_servers(base: Formulation) -> Formulation:
    """Use few servers, and complete early."""
    return base.extended(
        "few-servers",
        used_servers,
        objective=lambda m, s: (
            1000 * sum(m.used[x] for x in s.servers) + sum(m.completion[j] for j in s.jobs)
        ),
    )


def example() -> Instance:
    instance = random_instance(Random(7), jobs=3, servers=2, tree=False, most_slots=3)
    optimum = optimal_makespan(instance)
    assert optimum is not None
    time = instance.time.model_copy(update={"horizon": optimum + 2})
    return instance.model_copy(update={"time": time})


class OneAnswer:
    """HiGHS, which solves the first large model and from then on finds no time for anything."""

    name, model_classes = "one-answer", HIGHS.model_classes

    def __init__(self) -> None:
        self.asked = list[int]()

    def version(self) -> str | None:
        return "1"

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        size = sum(not v.fixed for v in model.component_data_objects(pyo.Var))
        self.asked.append(size)
        if size > 20 and max(self.asked[:-1], default=0) <= 20:
            answer = HIGHS.solve(model, limits)
            return replace(answer, termination="time-limit")
        return Answer("time-limit", has_solution=False, bound=None, seconds=0.0, message="no time")


@pytest.mark.parametrize("base", [TIME_INDEXED, COMPACT], ids=lambda base: base.name)
@pytest.mark.parametrize("judged_by_model", [False, True])
def test_the_values_of_added_variables_are_kept_where_there_is_no_time_to_check(
    base: Formulation, judged_by_model: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rarmodel.exact.solve.search_orders", lambda *_: 0)
    formulation = few_servers(base)
    if judged_by_model:
        formulation = replace(formulation, evaluate=None)
    result = solve(example(), formulation=formulation, solver=OneAnswer(), time_limit=60)
    best = solve(example(), formulation=formulation, solver="highs", time_limit=60)
    assert best.status == "optimal"
    assert result.objective[0].value == best.objective[0].value
    assert result.objective[0].bound == best.objective[0].bound
    assert result.schedule_by == "one-answer 1"
    assert result.proved_by == "one-answer 1"
    assert result.status == "optimal"


def test_a_bound_is_kept_though_the_schedule_fails() -> None:
    """The model may let a job end later than it does; a bound on what the model has is true."""

    def five_slots(model: Any, scope: Scope) -> None:
        model.long = pyo.Constraint(
            list(scope.jobs), rule=lambda m, j: m.completion[j] - m.start[j] >= 5
        )

    # Spread over both servers, as they must be, the jobs take 3 slots, or 4 beside each other.
    spread = {"gradient_mb": 10.0, "spread": {"min_servers": 2}}
    jobs = (job_data(name, gpus=2, iterations=25, **spread) for name in "ab")
    instance = instance_of(*jobs, servers=(2, 2), horizon=7)
    long = TIME_INDEXED.extended("long", five_slots)
    result = solve(instance, formulation=long, solver="highs", model_only=True)
    assert (result.status, result.schedule) == ("unknown", None)
    assert result.stopped.startswith("the solver reached its gap; the solver's solution is dropped")
    assert "bound" not in result.stopped
    assert (result.lower_bound, result.proved_by) == (5, f"highs {HIGHS.version()}")


def endless(scope: Scope) -> pyo.ConcreteModel:
    """A model that is never built, by code that takes every exception for its own."""
    while True:
        with suppress(Exception):
            time.sleep(0.001)


@pytest.mark.usefixtures("idle_search")
def test_a_model_that_is_never_built_ends_with_the_limit() -> None:
    formulation = replace(TIME_INDEXED, name="endless", build=endless)
    instance = random_instance(Random(40), jobs=4, servers=2, tree=False, most_slots=4)
    result = solve(instance, formulation=formulation, solver="highs", time_limit=1.0)
    assert result.status == "feasible"
    assert result.stopped.startswith("the time was over while the model was built; --time-limit ")
    assert result.solver is None
    assert result.model is not None
    assert not result.model.built


def test_nothing_is_raised_after_the_end_of_building() -> None:
    ended = 0
    for _ in range(300):
        try:
            built_until(time.perf_counter() + 2e-4, lambda: sum(range(5000)))
        except OutOfTime:
            ended += 1
    assert ended < 300
    assert threading.active_count() < 100


def test_a_thread_that_is_out_of_time_ends() -> None:
    before = threading.active_count()
    with pytest.raises(OutOfTime):
        built_until(time.perf_counter() + 0.05, lambda: endless(None))  # type: ignore[arg-type]
    assert threading.active_count() == before


def test_a_callback_that_loses_the_exception_is_not_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python reports and forgets what a weak reference's callback raises."""
    told = list[Any]()
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    class Gone:
        pass

    def slow(_: object) -> None:
        end = time.perf_counter() + 0.2
        while time.perf_counter() < end:
            pass

    def build() -> None:
        one = Gone()
        kept = ref(one, slow)
        del one
        while kept is not None:
            time.sleep(0.001)

    with pytest.raises(OutOfTime):
        built_until(time.perf_counter() + 0.05, build)
    assert told == []


def test_without_a_limit_nothing_ends_it() -> None:
    assert built_until(None, lambda: 3) == 3


def test_an_error_of_the_user_passes_unchanged() -> None:
    def wrong() -> None:
        raise UsageError("mine")

    with pytest.raises(UsageError, match="mine"):
        built_until(time.perf_counter() + 5, wrong)


PROGRAM = """
import os, signal, threading, rarmodel
from dataclasses import replace
from rarmodel.formulations.time_indexed import TIME_INDEXED

def build(scope):
    threading.Timer({delay}, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    while True:
        TIME_INDEXED.build(scope)

instance = rarmodel.generate("small", seed=4, jobs=8)
def early(model, scope):
    return sum(model.completion[job] for job in scope.jobs)

slow = replace(TIME_INDEXED, build=build).extended("slow", objective=early)
result = rarmodel.solve(instance, formulation=slow, solver="highs", time_limit=60)
print(result.status, result.stopped, result.report.feasible)
"""


@pytest.mark.parametrize("delay", first(1, [0.3, 0.01]))
def test_ctrl_c_while_a_model_is_built_returns_the_known_schedule(delay: float) -> None:
    def hears_ctrl_c() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(delay=delay)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=hears_ctrl_c if os.name == "posix" else None,
    )
    assert ran.stdout == "feasible interrupted True\n"
    assert "ERROR" not in ran.stderr
    assert "Traceback" not in ran.stderr


def told(instance: Instance, formulation: Formulation, seconds: float) -> str:
    return solve(instance, formulation=formulation, solver="highs", time_limit=seconds).stopped


@pytest.mark.parametrize("seconds", first(1, [1.5, 4.0]))
def test_the_reason_is_told_once(seconds: float) -> None:
    instance = generate("small", seed=4, jobs=8)
    reason = told(instance, few_servers(TIME_INDEXED), seconds)
    parts = [part.partition(":")[0].strip() for part in reason.split(";")]
    assert len(parts) == len(set(parts))


@pytest.mark.parametrize(("check", "turned"), [(1e-6, True), (10.0, False)])
def test_ties_are_decided_only_if_their_checks_fit(
    check: float, turned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Budget] = []
    monkeypatch.setattr("rarmodel.exact.known.CHECK_SECONDS_PER_JOB", check)
    monkeypatch.setattr(Ties, "run", lambda _, budget: ran.append(budget))
    result = solve("two-servers", formulation="time-indexed", time_limit=30)
    assert result.status == "optimal"
    assert bool(ran) == turned


def test_an_exact_solve_keeps_time_for_its_last_check(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []

    def noted(_: object, model: object, bounded: Limits) -> Answer:
        limits.append(bounded.time_limit)
        return Answer("time-limit", has_solution=False, bound=None, seconds=0.0, message="")

    instance = load_instance("two-servers")
    monkeypatch.setattr("rarmodel.exact.known.CHECK_SECONDS_PER_JOB", 1.0)
    monkeypatch.setattr(type(HIGHS), "solve", noted)
    solve(instance, formulation="time-indexed", solver="highs", model_only=True, time_limit=40)
    # Of 40 s the check of these four jobs, made twice, has eight.
    assert len(instance.jobs) == 4
    assert limits
    assert all(limit is not None and limit <= 32 for limit in limits)
