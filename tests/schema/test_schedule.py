"""Schedules: their form; whether they are any good is the verifier's question."""

from __future__ import annotations

from datetime import datetime

import pytest
from documents import assignment_data, removed, replaced, schedule_data

from rarmodel.errors import InputError
from rarmodel.files import parse_schedule, to_json
from rarmodel.schema import Schedule, SlotTime, Time


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
    optional = {"aim", "bound", "end", "origin", "time"}
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
