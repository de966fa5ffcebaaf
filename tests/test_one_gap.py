"""A schedule has one gap, whoever shows it."""

from __future__ import annotations

from pathlib import Path

import rarmodel
from rarmodel.bounds import ValueBound, best_bound
from rarmodel.files import read_schedule, to_json, write_text
from rarmodel.reports.aims import aims_of, shown_bounds
from rarmodel.reports.comparison import draw_all, rows_of


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
