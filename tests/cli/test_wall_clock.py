"""Slots in the command line's output, with what they are by the clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import instance_data, replaced

from rarmodel.files import read_schedule
from rarmodel.schema import SlotTime

if TYPE_CHECKING:
    from invocation import Invoke

ORIGIN = "2026-03-02T08:00:00+01:00"
END = "2026-03-02 08:02:00+01:00"


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    """The small instance in slots of a minute, from a Monday at 8."""
    data = replaced(instance_data(), ("time", "slot_seconds"), 60.0)
    data["jobs"][0]["iterations"] = data["jobs"][1]["iterations"] = 1200
    data["time"]["origin"] = ORIGIN
    path = tmp_path / "dated.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def lines_of(text: str) -> dict[str, str]:
    return {name: rest.strip() for name, _, rest in (t.partition("  ") for t in text.splitlines())}


def test_solve_tells_hours_and_the_end_by_the_clock(invoke: Invoke, dated: Path) -> None:
    lines = lines_of(invoke("solve", dated, "--method", "first-fit").out)
    assert lines["makespan"] == "2 slots (2 min)"
    assert lines["end"] == END
    assert lines["lower bound"] == "2 slots (2 min; longest job)"
    assert lines["mean completion"] == "2.00 slots (2 min)"


def test_solve_writes_slots_and_origin_into_the_schedule(
    invoke: Invoke, dated: Path, tmp_path: Path
) -> None:
    path = tmp_path / "schedule.json"
    for asked in (("--method", "first-fit"), ("--formulation", "time-indexed")):
        assert invoke("solve", dated, *asked, "--output", path).code == 0
        assert read_schedule(path).time == SlotTime(slot_seconds=60.0, origin=ORIGIN)
    assert json.loads(path.read_text())["time"] == {"slot_seconds": 60.0, "origin": ORIGIN}


def test_verify_and_audit_tell_the_end(invoke: Invoke, dated: Path, tmp_path: Path) -> None:
    path = tmp_path / "schedule.json"
    invoke("solve", dated, "--output", path)
    assert lines_of(invoke("verify", dated, path).out)["end"] == END
    lines = lines_of(invoke("audit", dated).out)
    assert (lines["makespan"], lines["end"]) == ("2 slots (2 min)", END)
    assert lines["optimum"].startswith("2 slots (2 min; longest job; ")


def test_comparison_has_columns_by_the_clock(invoke: Invoke, dated: Path) -> None:
    lines = invoke("compare", dated, "--method", "first-fit").out.splitlines()
    assert lines[2].split()[3:5] == ["wall-clock", "end"]
    assert f"2 min   {END}" in lines[4]


def test_json_has_seconds_and_the_end(invoke: Invoke, dated: Path) -> None:
    expected = {"slot_seconds": 60.0, "makespan_seconds": 120.0, "end": "2026-03-02T08:02:00+01:00"}
    answer = invoke("solve", dated, "--json").json()
    (row,) = invoke("compare", dated, "--method", "first-fit", "--json").json()
    for found in (answer, row):
        assert expected.items() <= found.items()


def test_without_an_origin_there_is_no_end(invoke: Invoke, instance_file: Path) -> None:
    outcome = invoke("solve", instance_file)
    assert "end" not in lines_of(outcome.out)
    assert invoke("solve", instance_file, "--json").json()["end"] is None


def test_schedule_for_other_slots_is_noted(
    invoke: Invoke, dated: Path, instance_file: Path, tmp_path: Path
) -> None:
    path = tmp_path / "schedule.json"
    invoke("solve", dated, "--output", path)
    outcome = invoke("verify", instance_file, path)
    assert outcome.err == f"{path}: note: made for slots of 60 s, taken for 1 s\n"
