"""Schedules: their form; whether they are any good is the verifier's question."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from documents import assignment_data, label, removed, replaced, schedule_data

from rarmodel.errors import InputError
from rarmodel.files import parse_schedule, to_json
from rarmodel.schema import Assignment, InterruptedAssignment, Schedule, SlotTime, Time


def test_fields_are_read_as_they_stand() -> None:
    schedule = parse_schedule(schedule_data())
    assert schedule.instance == "example"
    assert schedule.method == "by hand"
    assert schedule.assignments[0].gpus == {"s0": (0, 1)}
    assert schedule.assignments[1].start == 0


@pytest.mark.parametrize("field", ["schema_version", "instance", "method", "assignments"])
def test_missing_field_is_one_line(field: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule(removed(schedule_data(), (field,)))
    assert refused.value.lines() == [f"{field}: missing; this field is required"]


@pytest.mark.parametrize("field", ["job", "start", "gpus"])
def test_missing_field_of_an_assignment_is_one_line(field: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule(removed(schedule_data(), ("assignments", 1, field)))
    assert refused.value.lines() == [f"assignments[1].{field}: missing; this field is required"]


def segments_data(*parts: tuple[int, int | None]) -> dict[str, Any]:
    """A job in segments: start and end of each."""
    segments = [{"start": start, "end": end, "gpus": {"s0": [0]}} for start, end in parts]
    found = [{k: v for k, v in one.items() if v is not None} for one in segments]
    return {"job": "a", "segments": found}


def test_job_in_segments_is_read_and_written_as_it_stands() -> None:
    data = schedule_data(segments_data((0, 4), (4, 9), (12, None)), assignment_data("b", 3, s0=[1]))
    schedule = parse_schedule(data)
    assert json.loads(to_json(schedule)) == data
    assert [type(one) for one in schedule.assignments] == [InterruptedAssignment, Assignment]
    segments = schedule.assignments[0].segments
    assert [(one.start, one.end) for one in segments] == [(0, 4), (4, 9), (12, None)]
    (only,) = schedule.assignments[1].segments
    assert (only.start, only.end, only.gpus) == (3, None, {"s0": (1,)})
    assert parse_schedule(to_json(schedule)) == schedule


def test_each_segment_is_a_row() -> None:
    schedule = parse_schedule(
        schedule_data(segments_data((0, 4), (12, None)), assignment_data("b", 3, s0=[1], s1=[0]))
    )
    rows = [(row["job"], row["start"], row["end"], row["gpus"]) for row in schedule.rows()]
    assert rows == [("a", 0, 4, 1), ("a", 12, None, 1), ("b", 3, None, 2)]
    assert "end" not in parse_schedule(schedule_data()).rows()[0]


@pytest.mark.parametrize(
    ("parts", "lines"),
    [
        ([(0, 4), (3, None)], ["[1].start: 3; the segment before it ends at slot 4"]),
        (
            [(0, 4), (5, 9)],
            ["[1].end: the last segment ends when the job completes; remove its end"],
        ),
        ([(0, None), (5, None)], ["[0].end: missing; every segment but the last one needs it"]),
        ([(4, 4), (5, None)], ["[0].end: 4; it must be above start, 4"]),
        (
            [(4, 2), (1, None), (7, 8)],
            [
                "[0].end: 2; it must be above start, 4",
                "[1].end: missing; every segment but the last one needs it",
                "[1].start: 1; the segment before it ends at slot 2",
                "[2].end: the last segment ends when the job completes; remove its end",
            ],
        ),
        ([], [": an empty list; at least one entry is expected"]),
    ],
    ids=label,
)
def test_faults_of_segments_are_one_line_each(
    parts: list[tuple[int, int | None]], lines: list[str]
) -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule(schedule_data(assignment_data("b", 0, s0=[1]), segments_data(*parts)))
    assert refused.value.lines() == [f"assignments[1].segments{line}" for line in lines]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"start": 3}, "assignments[0].start: unknown field; remove it or correct its name"),
        ({"segments": 3}, "assignments[0].segments: 3; a list is expected"),
        ({"segments": [7]}, "assignments[0].segments[0]: 7; an object is expected"),
        (
            {"segments": [{"start": 1.5, "gpus": {}}]},
            "assignments[0].segments[0].start: 1.5; a whole number is expected",
        ),
        (
            {"segments": [{"stort": 1, "gpus": {}}]},
            (
                "assignments[0].segments[0].stort: unknown field; "
                "'start' is missing here, was it meant?"
            ),
        ),
        (
            {"segments": [{"start": 1, "gpus": {}, "until": 3}]},
            "assignments[0].segments[0].until: unknown field; remove it or correct its name",
        ),
        (
            {"segments": [{"start": 1, "gpus": {"s 0": [0, "1"]}}]},
            "assignments[0].segments[0].gpus[\"s 0\"][1]: '1'; a whole number is expected",
        ),
    ],
    ids=label,
)
def test_wrong_field_of_a_segment_is_named_with_its_place(
    change: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule(schedule_data(segments_data((0, None)) | change))
    assert refused.value.lines() == [line]


def test_what_is_merely_wrong_is_left_to_the_verifier() -> None:
    wrong = schedule_data(
        assignment_data("nobody", -5, nowhere=[-1, 99, 99]), assignment_data("a", 2**53 - 1)
    )
    assert len(parse_schedule(wrong).assignments) == 2
    assert parse_schedule(replaced(schedule_data(), ("assignments",), [])).assignments == ()


def test_an_instance_is_no_schedule() -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule({"schema_version": 1, "name": "example", "jobs": []})
    assert set(refused.value.lines()) == {
        "instance: missing; this field is required",
        "method: missing; this field is required",
        "assignments: missing; this field is required",
        "name: unknown field; remove it or correct its name",
        "jobs: unknown field; remove it or correct its name",
    }


def test_json_schema_refuses_unknown_fields_and_describes_every_field() -> None:
    schema = Schedule.model_json_schema()
    optional = {
        "aim",
        "at_most",
        "bound",
        "end",
        "later",
        "origin",
        "placement",
        "time",
        "services",
    }
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"]) - optional
        assert all(field["description"] for field in part["properties"].values())


def test_a_schedule_may_carry_the_slots_it_is_made_of() -> None:
    time = {"slot_seconds": 60.0, "origin": "2026-03-02T08:00:00+01:00"}
    schedule = parse_schedule({**schedule_data(), "time": time})
    assert schedule.time is not None
    assert schedule.time.moment(273) == datetime.fromisoformat("2026-03-02T12:33:00+01:00")
    assert parse_schedule(to_json(schedule)) == schedule
    assert parse_schedule(schedule_data()).time is None


def test_slots_of_a_schedule_have_no_horizon() -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule({**schedule_data(), "time": {"slot_seconds": 1.0, "horizon": 9}})
    assert refused.value.lines() == [
        "time.horizon: unknown field; remove it or correct its name",
    ]


def test_a_schedule_takes_the_slots_of_its_instance() -> None:
    schedule = parse_schedule(schedule_data()).timed(Time(slot_seconds=60.0, horizon=9))
    assert schedule.time == SlotTime(slot_seconds=60.0)
    assert '"time": {"slot_seconds": 60.0},' in to_json(schedule)
    assert parse_schedule(to_json(schedule)) == schedule
