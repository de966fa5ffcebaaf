"""The log of incumbents and bounds: of search, exact solves and comparisons."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from documents import instance_of, job_data
from random_instances import random_instance

import rarmodel
from rarmodel import Instance, Limits, Result
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.methods import Attempt, Recorder
from rarmodel.model.features import ALL_BUT_PREEMPTION
from rarmodel.solvers import Answer

if TYPE_CHECKING:
    import pyomo.environ as pyo


def sound(result: Result) -> None:
    """Values fall, bounds rise, both to those of the result."""
    log = result.log
    assert log
    seconds = [entry.seconds for entry in log]
    assert seconds == sorted(seconds)
    assert log[-1] == (result.seconds, result.objective[0].value, result.objective[0].bound)
    values = [entry.value for entry in log if entry.value is not None]
    bounds = [entry.bound for entry in log if entry.bound is not None]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    for value in values:
        assert all(bound <= value for bound in bounds)


def three() -> Instance:
    """Three jobs of six slots on two servers, with few slots."""
    return instance_of(*(job_data(name, 2, 60) for name in "abc"), horizon=20)


def hard() -> Instance:
    return random_instance(Random(40), jobs=4, servers=2, tree=False, most_slots=4)


@pytest.mark.parametrize(
    ("method", "objective"),
    [
        *((method, "makespan") for method in ("search", "sjf-bco", "first-fit", "fifo-backfill")),
        *((method, "total-flow") for method in ("search", "fifo-backfill")),
        ("search", ["max-stretch", "makespan"]),
    ],
)
def test_methods_have_a_log(method: str, objective: Any) -> None:
    sound(rarmodel.solve(hard(), method=method, objective=objective, time_limit=1))


@pytest.mark.parametrize("model_only", [False, True])
@pytest.mark.parametrize("solver", ["highs", "cpsat", "scip"])
@pytest.mark.parametrize("objective", ["makespan", "total-flow", "max-stretch", "cost"])
@pytest.mark.usefixtures("idle_search")
def test_exact_solves_have_a_log(solver: str, objective: str, *, model_only: bool) -> None:
    result = rarmodel.solve(
        three(),
        formulation="time-indexed",
        solver=solver,
        objective=objective,
        model_only=model_only,
    )
    assert result.status == "optimal"
    sound(result)


def test_a_formulation_of_the_user_s_logs_its_own_objective() -> None:
    def halves(model: Any, scope: Any) -> Any:
        return 0.5 * sum(model.completion[j] for j in scope.jobs)

    result = rarmodel.solve(three(), formulation=TIME_INDEXED.extended("h", objective=halves))
    sound(result)
    assert result.log[-1].value == 12.0


def test_search_notes_the_first_value_before_the_last() -> None:
    result = rarmodel.solve("philly-2869ce", iterations=30, threads=1)
    sound(result)
    assert len(result.log) > 2
    assert result.log[0].value is None


def test_no_entry_claims_more_than_the_end() -> None:
    """A solver's incumbent that turns out to be no schedule, and a bound that is dropped."""
    told: list[tuple[float | None, float | None]] = []
    recorder = Recorder(0.0, lambda *known: told.append(known))
    recorder(30, 1)
    recorder(9, 25)
    recorder(9, 20)
    log = recorder.finished(12, 10, 1e9)
    assert [entry[1:] for entry in log] == [(30, 1), (12, 10), (12, 10)]
    assert told == [(30, 1), (9, 25), (9, 20)]
    assert [entry[1:] for entry in recorder.finished(None, None, 1e9)] == [(None, None)] * 2


def test_an_exact_value_is_a_number_in_rows() -> None:
    recorder = Recorder(0.0)
    recorder.note(Fraction(7, 2), None)
    assert recorder.finished(Fraction(7, 2), 3, 1e9).rows()[-1] == {
        "seconds": 1e9,
        "value": 3.5,
        "bound": 3,
    }


class Claims:
    """A solver that claims an incumbent and a bound which it then does not have."""

    name = "claims"
    model_classes = frozenset({"integer", "linear"})

    def version(self) -> str:
        return "1"

    def solve(self, model: pyo.ConcreteModel, limits: Limits) -> Answer:
        assert limits.progress is not None
        limits.progress(1.0, 500.0)
        return Answer("time-limit", has_solution=False, bound=None, seconds=0.0, message="")


@pytest.mark.usefixtures("idle_search")
def test_claims_of_a_solver_that_come_to_nothing_are_not_in_the_log() -> None:
    sound(rarmodel.solve(hard(), formulation="time-indexed", solver=Claims()))


class Untrue:
    """A method whose progress is about makespans."""

    name = "untrue"
    handles = ALL_BUT_PREEMPTION

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        assert limits.progress is not None
        limits.progress(1, 1)
        return Attempt(rarmodel.solve(instance, method="fifo-backfill").schedule, "finished")


def test_makespans_are_no_values_of_other_objectives() -> None:
    told: list[Any] = []
    result = rarmodel.solve(
        hard(),
        method=Untrue(),
        objective="total-flow",
        progress=lambda *known: told.append(known),
    )
    assert told == []
    sound(result)
    assert all(entry.value != 1 for entry in result.log)


@pytest.mark.parametrize(
    "objective",
    ["total-completion", ["total-completion", "makespan"], ["total-tardiness", "total-completion"]],
)
@pytest.mark.parametrize("model_only", [False, True])
def test_progress_of_exact_solves_is_about_the_first_objective(
    objective: Any, *, model_only: bool
) -> None:
    """Neither makespans of heuristics, nor a model's steps, nor values of a second objective."""
    told: list[tuple[float | None, float | None]] = []
    result = rarmodel.solve(
        "two-servers",
        formulation="time-indexed",
        objective=objective,
        model_only=model_only,
        progress=lambda *known: told.append(known),
    )
    first = result.objective[0]
    assert first.value is not None
    assert first.bound is not None
    assert min(value for value, _ in told if value is not None) == first.value
    assert all(bound <= first.bound for _, bound in told if bound is not None)


def test_comparisons_have_the_logs_of_their_rows() -> None:
    comparison = rarmodel.compare(
        "two-servers", methods=["search", "first-fit"], formulations=["time-indexed"], time_limit=2
    )
    for result in comparison[0].results:
        sound(result)
    table = comparison.log_to_frame()
    assert list(table.columns) == ["instance", "method", "seconds", "value", "bound"]
    assert set(table["method"]) == {result.name for result in comparison[0].results}
    assert comparison[0].log_to_frame().equals(table)


def test_a_log_can_be_pickled_and_shown() -> None:
    result = rarmodel.solve("two-servers")
    there = pickle.loads(pickle.dumps(result))  # noqa: S301 - it is our own
    assert there.log == result.log
    assert type(there.log) is type(result.log)
    assert "Incumbents" in result.log._repr_html_()
    assert list(result.log.to_frame().columns) == ["seconds", "value", "bound"]


def test_json_has_the_log_if_asked() -> None:
    result = rarmodel.solve("two-servers")
    assert "log" not in result.summary()
    assert json.loads(json.dumps(result.summary(log=True)))["log"] == result.log.rows()
