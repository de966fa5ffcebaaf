"""A schedule has one gap, whoever shows it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from depth import first

import rarmodel
from rarmodel import registry
from rarmodel.bounds import Bound, ValueBound, best_bound, value_bounds
from rarmodel.drawing.objective_values import aims_of, shown_bounds
from rarmodel.drawing.page import report_page
from rarmodel.drawing.side_by_side import draw_all, rows_of
from rarmodel.files import read_schedule, to_json, write_text
from rarmodel.methods import Result


def test_solve_compare_and_report_state_one_gap(tmp_path: Path) -> None:
    instance = rarmodel.load_instance("start-later")
    result = rarmodel.solve(instance, formulation="time-indexed", time_limit=60)
    assert result.lower_bound is not None
    assert result.schedule is not None
    assert result.lower_bound > best_bound(instance).slots  # It takes more than a quick look.
    file = tmp_path / "schedule.json"
    write_text(file, to_json(result.schedule))
    drawings = draw_all(instance, [read_schedule(file)])
    (bound,) = shown_bounds(drawings)
    assert bound == ValueBound(result.lower_bound, str(result.bound_name))
    assert [row.gap for row in rows_of(drawings, aims_of(drawings))] == [result.gap]
    rows = rarmodel.compare(
        instance, methods=["sjf-bco"], formulations=["time-indexed"], time_limit=60
    )[0].rows()
    assert rows[-1]["gap"] == result.gap
    assert {row["best_bound"] for row in rows} == {bound.value}


LISTS = (
    ("total-flow", "makespan"),
    ("makespan", "total-flow"),
    ("cost", "makespan", "max-flow"),
    ("max-flow", "total-tardiness", "total-flow"),
    *((name,) for name in registry.names("objectives")),
)


def shown_again(result: Result, objectives: tuple[str, ...], folder: Path) -> None:
    """Require that a report of the stored schedule has the bounds and gaps of a result."""
    instance = rarmodel.load_instance("start-later").model_copy(update={"objective": objectives})
    assert result.schedule is not None
    file = folder / "schedule.json"
    write_text(file, to_json(result.schedule))
    drawings = draw_all(instance, [read_schedule(file)])
    aims = aims_of(drawings)
    assert [aim.name for aim in aims] == [goal.name for goal in result.objective]
    assert [aim.bound.value for aim in aims] == [goal.bound for goal in result.objective]
    assert [aim.values[0] for aim in aims] == [goal.value for goal in result.objective]
    assert rows_of(drawings, aims)[0].gap == result.gap
    told = result.summary()["objective_bound"]
    bounds = told if isinstance(told, list) else [told]
    assert bounds == pytest.approx([float(aim.bound.value) for aim in aims], abs=0)


@pytest.mark.parametrize("objectives", first(7, LISTS), ids="+".join)
def test_report_of_a_file_has_the_bounds_of_the_solve(
    objectives: tuple[str, ...], tmp_path: Path
) -> None:
    for options in ({"formulation": "time-indexed"}, {"iterations": 3, "threads": 1}):
        result = rarmodel.solve("start-later", objective=objectives, **options)
        shown_again(result, objectives, tmp_path)


def test_bounds_that_a_solver_proved_for_each_objective_are_kept(tmp_path: Path) -> None:
    objectives = ("total-flow", "makespan")
    result = rarmodel.solve("start-later", objective=objectives, formulation="time-indexed")
    instance = rarmodel.load_instance("start-later").model_copy(update={"objective": objectives})
    assert result.status == "optimal"
    for goal, quick in zip(result.objective, value_bounds(instance), strict=True):
        assert goal.bound is not None
        assert goal.bound > quick.value  # A report could not prove it again.
    shown_again(result, objectives, tmp_path)
    assert result.schedule is not None
    page = report_page(instance, [result.schedule])
    flow = result.objective[0].value
    assert f"(greatest, for schedules with total-flow of at most {flow})" in page
    # For a schedule that is worse in what counts more, the solver has proven nothing.
    worse = rarmodel.solve(instance, method="fifo-backfill")
    assert worse.schedule is not None
    drawings = draw_all(instance, [worse.schedule, result.schedule])
    makespan = aims_of(drawings)[1]
    assert makespan.claims[1].bound.value == result.objective[1].bound
    assert makespan.claims[0].bound == value_bounds(instance)[1]


def test_bounds_of_a_solve_of_its_own_are_kept(tmp_path: Path) -> None:
    objectives = ("total-flow", "max-flow")
    instance = rarmodel.load_instance("start-later").model_copy(update={"objective": objectives})
    known = {
        quick: value for quick, (value, _) in zip(objectives, value_bounds(instance), strict=True)
    }
    mine = Bound(
        "mine",
        prove=lambda _, objective: known[objective.name] + Fraction(1, 3),
        objectives=frozenset(objectives),
    )
    result = rarmodel.solve(instance, bounds=[mine], iterations=3, threads=1)
    assert [goal.bound for goal in result.objective] == [
        value + Fraction(1, 3) for value in known.values()
    ]
    shown_again(result, objectives, tmp_path)
    assert result.schedule is not None
    assert json.loads(to_json(result.schedule))["bound"]["later"][0]["name"] == "mine"
