"""Formulations with constraints and objectives of one's own: what may be used, and what not."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import documents
import pyomo.environ as pyo
import pytest
from random_instances import random_instance

import rarmodel
from rarmodel.errors import UsageError
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.compact import COMPACT
from rarmodel.formulations.rar_ddls import RAR_DDLS
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.model import job_extremes
from rarmodel.schema import Instance

HORIZON = 20


def instance_of(seed: int = 10) -> Instance:
    """Heuristics miss the optimum of this one, and its horizon is short."""
    instance = random_instance(Random(seed), jobs=4, servers=2, tree=False, most_slots=4)
    time = instance.time.model_copy(update={"horizon": HORIZON})
    return instance.model_copy(update={"time": time})


def first_job_last(model: Any, scope: Scope) -> None:
    """The first job starts when no other is running any more."""
    first, *others = scope.jobs
    model.last = pyo.Constraint(
        others, rule=lambda m, j: m.start[first] >= m.completion[j], doc="the first job is last"
    )


def test_more_constraints_never_shorten_the_makespan_and_are_kept() -> None:
    instance = instance_of()
    plain = rarmodel.solve(instance, formulation="time-indexed")
    result = rarmodel.solve(instance, formulation=TIME_INDEXED.extended("last", first_job_last))
    assert result.status == "optimal"
    assert result.restricted
    assert result.report is not None
    assert plain.makespan is not None
    assert result.makespan is not None
    assert result.makespan >= plain.makespan
    assert result.schedule is not None
    starts = {a.job: a.start for a in result.schedule.assignments}
    others = [end for job, end in result.report.completion.items() if job != "j0"]
    assert all(end is not None and starts["j0"] >= end for end in others)


@pytest.mark.parametrize("objective", ["makespan", "total-flow"])
def test_more_constraints_hold_on_wide_instances_too(objective: str) -> None:
    """Jobs arrive over time: what others find there does not count, unless it keeps to them."""
    plain = instance_of()
    jobs = tuple(
        job.model_copy(update={"release": release})
        for job, release in zip(plain.jobs, (0, 3, 1, 0), strict=True)
    )
    instance = plain.model_copy(update={"jobs": jobs, "objective": objective})
    free = rarmodel.solve(instance, formulation="time-indexed")
    both = [
        rarmodel.solve(instance, formulation=base.extended("last", first_job_last))
        for base in (TIME_INDEXED, COMPACT)
    ]
    for result in both:
        assert (result.status, result.restricted) == ("optimal", True)
        assert result.report is not None
        assert result.schedule is not None
        start = next(a.start for a in result.schedule.assignments if a.job == "j0")
        others = [end for job, end in result.report.completion.items() if job != "j0"]
        assert all(end is not None and start >= end for end in others)
    values = [float(one.objective[0].value or 0) for one in (free, *both)]
    assert values[1] == values[2] > values[0] > 0


def test_a_restricted_bound_counts_for_nobody_else() -> None:
    comparison = rarmodel.compare(
        instance_of(),
        methods=["sjf-bco"],
        formulations=["time-indexed", TIME_INDEXED.extended("last", first_job_last)],
    )[0]
    method, plain, last = comparison.rows()
    assert comparison.best_bound == plain["lower_bound"]
    assert method["best_bound"] == plain["makespan"]
    assert last["best_bound"] >= plain["makespan"]
    assert (plain["status"], last["status"]) == ("optimal", "optimal")


def test_variables_of_ones_own_get_their_values_from_the_solver() -> None:
    def late_jobs(model: Any, scope: Scope) -> None:
        model.late = pyo.Var(list(scope.jobs), domain=pyo.Binary)
        model.is_late = pyo.Constraint(
            list(scope.jobs),
            rule=lambda m, j: m.completion[j] <= 4 + HORIZON * m.late[j],
        )

    def number_of_late_jobs(model: Any, scope: Scope) -> Any:
        return sum(model.late[j] for j in scope.jobs)

    formulation = TIME_INDEXED.extended("late", late_jobs, objective=number_of_late_jobs)
    result = rarmodel.solve(instance_of(), formulation=formulation)
    assert result.status == "optimal"
    assert result.objective[0].name == "number of late jobs"
    assert result.report is not None
    late = sum(end is not None and end > 4 for end in result.report.completion.values())
    assert result.objective[0].value == result.objective[0].bound == late
    assert result.gap == 0


@pytest.mark.parametrize("base", [COMPACT, RAR_DDLS], ids=lambda base: base.name)
def test_what_is_said_of_one_formulation_can_be_said_of_another(base: Formulation) -> None:
    def total(model: Any, scope: Scope) -> Any:
        return sum(i * model.completion[j] for i, j in enumerate(scope.jobs, 1))

    def late(model: Any, scope: Scope) -> None:
        model.late = pyo.Constraint(expr=model.start["j1"] >= 2)

    instance = random_instance(Random(10), jobs=3, servers=2, tree=False, most_slots=3)
    instance = instance.model_copy(update={"time": instance.time.model_copy(update={"horizon": 9})})
    first, second = (
        rarmodel.solve(instance, formulation=f.extended("both", late, objective=total))
        for f in (TIME_INDEXED, base)
    )
    assert first.status == second.status == "optimal"
    assert first.objective[0].value == pytest.approx(second.objective[0].value)


@pytest.mark.parametrize("job", ["j0", "j3"])
def test_fixed_variables_stay_fixed(job: str) -> None:
    def not_before_two(model: Any, scope: Scope) -> None:
        for t in range(min(2, scope.horizon)):
            model.started[job, t].fix(0)

    formulation = TIME_INDEXED.extended("later", not_before_two)
    result = rarmodel.solve(instance_of(), formulation=formulation)
    assert result.status == "optimal"
    assert result.schedule is not None
    assert next(a.start for a in result.schedule.assignments if a.job == job) >= 2


@pytest.mark.parametrize("base", [TIME_INDEXED, COMPACT], ids=lambda base: base.name)
def test_a_constraint_that_an_earlier_end_breaks_is_found_out(
    base: Formulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def idle_at_the_end(model: Any, scope: Scope) -> None:
        # The model may let a job seem to run on; in truth it has completed long before.
        model.all_the_time = pyo.Constraint(
            ["a"], rule=lambda m, j: m.completion[j] - m.start[j] >= 5
        )

    # Spread over both servers, as they must be, the job takes 3 slots, and 4 beside the other one.
    both = {"gpus": 2, "gradient_mb": 10.0, "spread": {"min_servers": 2}}
    job, other = documents.job_data("a", iterations=27), documents.job_data("b", iterations=9)
    instance = documents.instance_of(job | both, other | both, servers=(2, 2), horizon=7)
    monkeypatch.setattr("rarmodel.exact.solve.search_orders", lambda *_: 0)
    result = rarmodel.solve(instance, formulation=base.extended("slow", idle_at_the_end))
    assert result.schedule is None
    assert result.status == "unknown"
    assert "the solver's solution is dropped" in result.stopped
    assert "bound" not in result.stopped
    # The makespan, if the bound that was proven of the formulation is beyond it.
    assert re.search(r"breaks (all_the_time\[a\]|makespan)$", result.stopped)


@pytest.mark.parametrize("base", [TIME_INDEXED, COMPACT], ids=lambda base: base.name)
def test_an_infeasible_model_says_what_is_in_conflict(base: Formulation) -> None:
    instance = instance_of()
    least = [extreme.least_slots for extreme in job_extremes(instance)]
    longest, other = least.index(max(least)), least.index(min(least))
    assert longest != other

    def soon(model: Any, scope: Scope) -> None:
        jobs = list(scope.jobs)
        model.soon = pyo.Constraint(expr=model.completion[jobs[longest]] <= max(least) - 1)
        model.harmless = pyo.Constraint(expr=model.completion[jobs[other]] <= scope.horizon)

    result = rarmodel.solve(instance, formulation=base.extended("soon", soon), time_limit=60)
    assert result.status == "infeasible"
    text = "\n".join(result.reasons)
    assert "no schedule within 20 slots satisfies all of this" in text
    assert "constraint soon" in text
    assert "harmless" not in text


@pytest.mark.parametrize("base", [TIME_INDEXED, COMPACT], ids=lambda base: base.name)
def test_jobs_in_conflict_are_named(base: Formulation) -> None:
    instance = documents.instance_of(
        *(documents.job_data(name, gpus=4, iterations=30) for name in "ab"),
        documents.job_data("c"),
        horizon=9,
    )

    def due(model: Any, scope: Scope) -> None:
        model.due = pyo.Constraint(list(scope.jobs), rule=lambda m, j: m.completion[j] <= 5)

    result = rarmodel.solve(instance, formulation=base.extended("due", due))
    assert result.status == "infeasible"
    assert result.reasons[1:3] == ("  jobs 'a', 'b'", "  constraint due")


def test_names_that_nobody_has_are_refused() -> None:
    def named(model: Any, scope: Scope) -> None:
        scope.check_jobs(scope.read("names"), "names")

    formulation = TIME_INDEXED.extended("named", named)
    with pytest.raises(UsageError, match="needs the entry 'names'"):
        rarmodel.solve(instance_of(), formulation=formulation)
    with pytest.raises(UsageError, match="names: no job 'who'; choose from j0, j1"):
        rarmodel.solve(instance_of(), formulation=formulation, data={"names": ["who"]})
