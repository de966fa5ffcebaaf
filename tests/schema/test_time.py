"""Slots as seconds and clock times."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from documents import instance_data, replaced
from hypothesis import given, settings
from hypothesis import strategies as st

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, to_json
from rarmodel.schema import SlotTime

ORIGIN = "2026-03-02T08:00:00+01:00"


def test_slots_are_told_with_what_they_are_by_the_clock() -> None:
    time = SlotTime(slot_seconds=60.0)
    assert time.told(273) == "273 slots (4 h 33 min)"
    assert time.told(1) == "1 slot (1 min)"
    assert time.told(5.8, form=".2f") == "5.80 slots (5 min 48 s)"
    assert time.told(10, "longest job") == "10 slots (10 min; longest job)"
    assert time.told(None, "longest job") == "-"


def test_a_makespan_by_the_clock_is_plain_data() -> None:
    time = SlotTime(slot_seconds=60.0, origin=datetime.fromisoformat(ORIGIN))
    assert time.by_clock(273) == {
        "slot_seconds": 60.0,
        "makespan_seconds": 16380.0,
        "end": "2026-03-02T12:33:00+01:00",
    }
    nothing = {"slot_seconds": 60.0, "makespan_seconds": None, "end": None}
    assert time.by_clock(None) == nothing
    assert SlotTime(slot_seconds=2.0).by_clock(3)["end"] is None


@settings(deadline=None)
@given(
    st.datetimes(
        timezones=st.none()
        | st.timedeltas(timedelta(hours=-14), timedelta(hours=14)).map(
            lambda gap: timezone(timedelta(minutes=gap // timedelta(minutes=1)))
        )
    ),
)
def test_an_origin_is_kept_with_its_distance_from_utc(origin: datetime) -> None:
    data = replaced(instance_data(), ("time", "origin"), origin.isoformat())
    instance = parse_instance(data)
    assert instance.time.origin == origin
    assert instance.time.origin.utcoffset() == origin.utcoffset()
    again = parse_instance(to_json(instance))
    assert again == instance
    assert again.time.moment(0) == origin


@settings(deadline=None)
@given(
    st.floats(1e-30, 1e30),
    st.integers(-(2**53), 2**53),
    st.datetimes(),
)
def test_a_moment_is_there_or_beyond_what_calendars_hold(
    slot_seconds: float, slot: int, origin: datetime
) -> None:
    time = SlotTime(slot_seconds=slot_seconds, origin=origin)
    found = time.moment(slot)
    try:
        away = timedelta(seconds=slot * slot_seconds)
        expected = origin + away
    except OverflowError:
        assert found is None
    else:
        assert found == expected
    assert time.told(abs(slot))


@pytest.mark.parametrize("value", [5, True, "", "yesterday", "2026-13-01", [], "08:00"])
def test_what_is_no_moment_is_refused_by_its_place(value: object) -> None:
    data = replaced(instance_data(), ("time", "origin"), value)
    with pytest.raises(InputError) as refused:
        parse_instance(data, "x.json")
    (line,) = refused.value.lines()
    assert line.startswith("x.json: time.origin: ")
    assert line.endswith(f"; a moment in ISO 8601 such as {ORIGIN} is expected")


def test_an_instance_without_an_origin_reads_and_writes_as_before() -> None:
    instance = parse_instance(instance_data())
    assert instance.time.origin is None
    assert "origin" not in to_json(instance)
