"""Objectives that are asked for beside the instance's own, one or several."""

from __future__ import annotations

import pytest

from rarmodel import compare, formulate, load_instance, solve
from rarmodel.errors import UsageError
from rarmodel.methods import Goal, gap_of
from rarmodel.model.objectives import objectives_of


def test_values_and_bounds_of_a_list_are_those_of_the_verifier() -> None:
    result = solve(
        "two-servers", formulation="time-indexed", objective=["total-completion", "makespan"]
    )
    assert result.status == "optimal"
    assert result.report is not None
    values = list((result.report.objective or {}).values())
    assert result.report.objective == {
        "total-completion": sum(end or 0 for end in result.report.completion.values()),
        "makespan": result.report.makespan,
    }
    assert result.objective == tuple(
        Goal(name, value, value)
        for name, value in zip(["total-completion", "makespan"], values, strict=True)
    )
    row = result.summary()
    assert row["objective"] == ["total-completion", "makespan"]
    assert row["objective_value"] == row["objective_bound"] == values
    assert row["gap"] == 0


def test_the_first_objective_comes_first() -> None:
    short, early = (
        solve("two-servers", formulation="time-indexed", objective=names)
        for names in (["makespan", "total-completion"], ["total-completion", "makespan"])
    )
    makespan, total = (goal.value for goal in short.objective)
    assert early.objective[0].value <= total  # type: ignore[operator]
    assert early.objective[1].value >= makespan  # type: ignore[operator]
    alone = solve("two-servers", formulation="time-indexed", objective="makespan")
    assert alone.makespan == makespan
    assert alone.summary()["objective_value"] == makespan


def test_a_method_proves_only_what_a_bound_on_the_objective_proves() -> None:
    result = solve("two-servers", method="fifo-backfill", objective="total-completion")
    exact = solve("two-servers", formulation="time-indexed", objective="total-completion")
    (goal,), (best,) = result.objective, exact.objective
    assert goal.bound is not None
    assert best.value is not None
    assert goal.bound <= best.value
    assert result.status == ("optimal" if goal.value == goal.bound else "feasible")
    assert result.gap == goal.gap


def test_the_gap_of_several_is_that_of_the_first_one_open() -> None:
    assert gap_of([Goal("a", 4, 4), Goal("b", 4, 3), Goal("c", 4, 1)]) == 0.25
    assert gap_of([Goal("a", 4, 4)]) == 0
    assert gap_of([Goal("a", 4, None), Goal("b", 4, 3)]) is None


def test_compare_judges_every_row_by_the_best_bound_on_the_objective() -> None:
    (comparison,) = compare(
        "two-servers",
        methods=["fifo-backfill", "shortest-first", "first-fit"],
        formulations=["time-indexed"],
        objective="total-completion",
        time_limit=60,
    )
    fifo, shortest, first_fit, exact = comparison.rows()
    best = exact["objective_value"]
    assert exact["status"] == "optimal"
    for row in (fifo, shortest, exact):
        assert row["objective_bound"] == best
        assert row["gap"] == pytest.approx(1 - best / row["objective_value"])
        assert row["ratio"] == pytest.approx(row["objective_value"] / best)
        assert row["status"] == ("optimal" if row["objective_value"] == best else "feasible")
    assert first_fit["objective_value"] is None
    assert first_fit["status"] == "skipped"
    assert "does not handle objectives other than the makespan" in first_fit["stopped"]
    shown = comparison.table()[-1]
    assert shown["total-completion"] == shown["bound"] == str(best)


def test_the_model_of_an_objective_is_formulated() -> None:
    model, _ = formulate("two-servers", "time-indexed", objective="late-jobs", horizon=12)
    plain, _ = formulate("two-servers", "time-indexed", horizon=12)
    assert str(model.objective.expr) != str(plain.objective.expr)


@pytest.mark.parametrize(
    ("names", "said"),
    [("nothing", "no objective 'nothing'"), (["cost", "cost"], "'cost' is named twice"), ([], "o")],
)
def test_names_that_cannot_be_are_refused(names: str | list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        solve("two-servers", objective=names)


def test_the_file_names_the_objective_by_default() -> None:
    instance = load_instance("two-servers").model_copy(update={"objective": "max-flow"})
    result = solve(instance, formulation="time-indexed")
    assert [goal.name for goal in result.objective] == ["max-flow"]
    assert [one.name for one in objectives_of(instance)] == ["max-flow"]


def test_lines_show_each_objective_once() -> None:
    result = solve("two-servers", formulation="time-indexed", objective=["makespan", "total-flow"])
    lines = result.lines()
    assert lines["makespan"] == "12 slots (12 s)"
    assert lines["total-flow"].endswith(")")
    assert list(lines).index("lower bound") < list(lines).index("total-flow")


def test_lines_have_units_and_no_bound_on_a_makespan_that_is_no_aim() -> None:
    result = solve("two-servers", formulation="time-indexed", objective=["max-flow", "late-jobs"])
    lines = result.lines()
    assert lines["max-flow"] == "12 slots (12 s) (at least 12)"
    assert lines["late-jobs"] == "0 weighted jobs (at least 0)"
    assert "lower bound" not in lines
    assert list(lines).index("max-flow") < list(lines).index("makespan")


def test_frame_has_flow_times_and_tardiness_where_there_are_such() -> None:
    pytest.importorskip("pandas")
    instance = load_instance("two-servers")
    plain = list(solve(instance, method="fifo-backfill").to_frame().columns)
    first = instance.jobs[0].model_copy(update={"release": -2, "due": 5})
    wider = instance.model_copy(update={"jobs": (first, *instance.jobs[1:])})
    found = solve(wider, method="fifo-backfill").to_frame().set_index("job")
    assert [name for name in found.columns if name not in plain] == ["release", "flow", "tardiness"]
    row = found.loc[first.name]
    assert row["release"] == -2
    assert row["flow"] == row["completion"] + 2
    assert row["tardiness"] == max(0, row["completion"] - 5)
