"""A solve starts from what the user knows: a schedule, its file, or the values of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from documents import assignment_data, instance_of, job_data, schedule_of

import rarmodel
from rarmodel import Instance, Schedule, UsageError
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.solvers import first_answer

METHODS = ["search", "sjf-bco", "first-fit", "random"]


def instance() -> Instance:
    """Three jobs of six slots on two servers of two GPUs."""
    return instance_of(*(job_data(name, 2, 60) for name in ("a", "b", "c")), horizon=60)


def best() -> Schedule:
    found = rarmodel.solve(instance(), formulation="time-indexed").schedule
    assert found is not None
    return found


def later(schedule: Schedule, slots: int) -> Schedule:
    """The same schedule, some slots later."""
    moved = [one.model_copy(update={"start": one.start + slots}) for one in schedule.assignments]
    return schedule.model_copy(update={"assignments": tuple(moved)})


@pytest.mark.parametrize("method", METHODS)
def test_no_method_returns_worse_than_the_start(method: str) -> None:
    start = best()
    given = rarmodel.verify(instance(), start)
    result = rarmodel.solve(instance(), method=method, start=start, time_limit=1)
    assert result.report is not None
    assert result.makespan is not None
    assert given.makespan is not None
    assert result.makespan <= given.makespan


def test_a_method_without_luck_returns_the_start() -> None:
    start = best()

    class Hapless:
        name = "hapless"

        def __call__(self, instance: Instance, limits: rarmodel.Limits) -> Any:
            from rarmodel.methods import Attempt

            assert limits.start == start
            return Attempt(None, "no luck")

    result = rarmodel.solve(instance(), method=Hapless(), start=start)
    assert result.schedule is not None
    assert result.schedule.assignments == start.assignments
    assert result.schedule_by == "start"
    assert result.status in {"feasible", "optimal"}


def test_a_method_that_finds_better_has_the_answer() -> None:
    start = later(best(), 20)
    result = rarmodel.solve(instance(), method="sjf-bco", start=start)
    assert result.schedule_by == "sjf-bco"


def test_search_starts_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    from rarmodel.search import Session

    start = best()
    seen: list[int] = []

    def run(session: Session, *_: object, **__: object) -> str:
        seen.append(session.makespan)
        return "idle"

    monkeypatch.setattr(Session, "run", run)
    result = rarmodel.solve(instance(), start=start, time_limit=1)
    assert seen[-1] == rarmodel.verify(instance(), start).makespan == result.makespan


def test_search_for_other_objectives_starts_from_it_too() -> None:
    start = best()
    result = rarmodel.solve(
        instance(), start=start, objective=["total-flow", "makespan"], iterations=1
    )
    worth = rarmodel.verify(instance().model_copy(update={"objective": "total-flow"}), start)
    assert worth.objective is not None
    assert result.objective[0].value is not None
    assert result.objective[0].value <= worth.objective["total-flow"]


@pytest.mark.parametrize("model_only", [False, True])
@pytest.mark.parametrize("solver", ["highs", "cpsat"])
@pytest.mark.usefixtures("idle_search")
def test_an_exact_model_gets_it_as_a_starting_solution(
    monkeypatch: pytest.MonkeyPatch, solver: str, *, model_only: bool
) -> None:
    from rarmodel.exact import models

    start, values = best(), []
    answer = first_answer

    def spy(solvers: Any, model: Any, limits: Any) -> Any:
        values.append({v.name: v.value for v in model.component_data_objects(pyo.Var)})
        return answer(solvers, model, limits)

    monkeypatch.setattr(models, "first_answer", spy)
    result = rarmodel.solve(
        instance(),
        formulation="time-indexed",
        solver=solver,
        start=start,
        model_only=model_only,
        objective="total-completion",
    )
    assert result.status == "optimal"
    if model_only:
        assert values
        assert None not in values[0].values()


def test_a_schedule_comes_from_a_file_or_a_dict(tmp_path: Path) -> None:
    path = tmp_path / "start.json"
    path.write_text(rarmodel.to_json(best()), encoding="utf-8")
    for start in (path, str(path), best().model_dump(mode="json", exclude_none=True)):
        result = rarmodel.solve(instance(), method="random", start=start)
        assert result.makespan == rarmodel.verify(instance(), best()).makespan


def values_of_a_model(**options: Any) -> Any:
    formulated = rarmodel.formulate(instance(), "time-indexed", horizon=30)
    formulated.load(best())
    return formulated


def nested(model: Any) -> dict[str, dict[Any, float]]:
    return {
        one.name: {index: variable.value for index, variable in one.items()}
        for one in model.component_objects(pyo.Var)
        if one.is_indexed()
    }


@pytest.mark.parametrize(
    "given",
    [
        lambda made: made,
        lambda made: made.model,
        lambda made: made.values,
        lambda made: nested(made.model),
    ],
    ids=["formulated", "model", "by name", "by component"],
)
@pytest.mark.usefixtures("idle_search")
def test_values_of_the_model_stand_for_their_schedule(given: Any) -> None:
    start = given(values_of_a_model())
    result = rarmodel.solve(instance(), formulation="time-indexed", start=start, time_limit=20)
    assert result.makespan == rarmodel.verify(instance(), best()).makespan


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ({"placd[a,s0:2]": 1}, "start: the model has no variable placd[a,s0:2]"),
        ({"placed": {("a", "s9:2"): 1}}, "start: the model has no variable placed[('a', 's9:2')]"),
        ({"placed[a,s0:2]": "x"}, "start: the value of placed[a,s0:2] is 'x'; a number is exp"),
        ({"placed[a,s0:2]": 1}, "start: the values are no feasible schedule: "),
    ],
)
def test_values_that_are_no_solution_are_refused(start: Any, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.solve(instance(), formulation="time-indexed", start=start)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


def test_values_need_a_formulation() -> None:
    with pytest.raises(UsageError, match="the values of a model need the formulation"):
        rarmodel.solve(instance(), start={"placed[a,s0:2]": 1})


@pytest.mark.parametrize("options", [{}, {"method": "first-fit"}, {"formulation": "time-indexed"}])
def test_an_infeasible_start_is_refused_with_the_reason(options: dict[str, Any]) -> None:
    start = schedule_of(
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 0, s0=[0, 1]),
        assignment_data("c", 0, s1=[0, 1]),
    )
    with pytest.raises(UsageError, match="start: the schedule is not feasible: ") as refused:
        rarmodel.solve(instance(), start=start, **options)
    assert "\n" not in str(refused.value)


def after_ten(model: Any, scope: Any) -> None:
    model.after_ten = pyo.Constraint(
        list(scope.jobs), rule=lambda m, j: m.start[j] >= 10, doc="no job starts before slot 10"
    )


def after_ten_by_the_model(model: Any, scope: Any) -> None:
    """The same, of variables that only the model has."""
    model.after_ten = pyo.Constraint(
        [j for j, _ in model.placed], range(10), rule=lambda m, j, t: m.started[j, t] <= 0
    )


@pytest.mark.parametrize("addition", [after_ten, after_ten_by_the_model])
def test_a_start_that_breaks_a_constraint_of_the_user_is_refused(addition: Any) -> None:
    mine = TIME_INDEXED.extended("mine", addition)
    with pytest.raises(UsageError, match=r"start: the schedule breaks after_ten\["):
        rarmodel.solve(instance(), formulation=mine, start=best(), time_limit=20)
    fine = rarmodel.solve(
        instance(), formulation=mine, start=later(best(), 10), model_only=True, time_limit=20
    )
    assert fine.report is not None
    assert all(one.start >= 10 for one in fine.schedule.assignments)  # type: ignore[union-attr]


def test_a_result_is_no_start() -> None:
    with pytest.raises(UsageError, match=r"give its `\.schedule`"):
        rarmodel.solve(instance(), start=rarmodel.solve(instance(), method="sjf-bco"))


# Side by side


def test_no_row_of_a_comparison_is_worse_than_the_start() -> None:
    start = best()
    (comparison,) = rarmodel.compare(
        instance(),
        methods=["random", "first-fit"],
        formulations=["time-indexed"],
        start=start,
        time_limit=5,
    )
    given = rarmodel.verify(instance(), start).makespan
    assert given is not None
    makespans = [result.makespan for result in comparison.results]
    assert len(makespans) == 3
    assert all(found is not None and found <= given for found in makespans)


def test_each_instance_of_a_comparison_has_its_own_start(tmp_path: Path) -> None:
    path = tmp_path / "start.json"
    path.write_text(rarmodel.to_json(best()), encoding="utf-8")
    other = instance_of(job_data("d", 2, 60), horizon=60)
    found = rarmodel.compare([other, instance()], methods=["random"], start=[None, str(path)])
    assert [one.results[0].schedule_by for one in found] == ["random", "start"]


def test_values_of_a_model_start_its_formulation_in_a_comparison() -> None:
    start = values_of_a_model()
    (comparison,) = rarmodel.compare(instance(), formulations=["time-indexed"], start=start)
    assert comparison.results[0].status == "optimal"
    with pytest.raises(UsageError, match="values of a model need the formulation"):
        rarmodel.compare(instance(), methods=["random"], start=start)


def test_starts_that_do_not_fit_the_instances_are_refused_before_anything_is_solved() -> None:
    other = instance_of(job_data("d", 2, 60), horizon=60)
    with pytest.raises(UsageError, match="start: 1 for 2 instances; give one for each"):
        rarmodel.compare([other, instance()], methods=["random"], start=best())
    with pytest.raises(UsageError, match="start: the schedule is not feasible"):
        rarmodel.compare([other, instance()], methods=["random"], start=[best(), best()])
    with pytest.raises(UsageError, match=r"its item 1 is 7; .* is expected"):
        rarmodel.compare([other, instance()], methods=["random"], start=[best(), 7])
