"""What all schemas share: refused fields, frozen records, kinds of number and name."""

from __future__ import annotations

from typing import Any

import pytest
from documents import instance_data, label, replaced
from pydantic import ValidationError

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.schema import Instance, Job, Server
from rarmodel.schema.base import LEAST_POSITIVE, MAX_INTEGER, MAX_NUMBER, repeated_names
from rarmodel.schema.schedule import Assignment

COUNTS = [("cluster", "servers", 0, "gpus"), ("jobs", 0, "iterations"), ("jobs", 0, "weight")]
OPTIONAL_COUNTS = [("time", "horizon"), ("jobs", 0, "batch_size")]
COUNT_OR_LIST = ("jobs", 0, "gpus")
WHOLE = [("jobs", 0, "release")]
OPTIONAL_WHOLE = [("jobs", 0, "due"), ("jobs", 0, "deadline")]
POSITIVES = [
    ("time", "slot_seconds"),
    ("cluster", "network", "gbps"),
    ("cluster", "intra_server_gbps"),
    ("cluster", "reduction_gbps"),
]
NON_NEGATIVES = [
    ("contention", "degradation", "alpha"),
    ("contention", "overhead_ms_per_server"),
    ("jobs", 0, "gradient_mb"),
]
OPTIONAL_NON_NEGATIVES = [
    ("jobs", 0, "forward_ms_per_sample"),
    ("jobs", 0, "backward_ms"),
    ("cluster", "prices_per_gpu_hour"),
]
OPTIONAL_POSITIVES = [("cluster", "servers", 0, "intra_server_gbps")]
CONCURRENCY = ("contention", "concurrency")
NAMES = [("name",), ("cluster", "servers", 0, "name"), ("jobs", 0, "name")]
HUGE = "a whole number of more than 20 digits"
NO_NUMBERS: list[tuple[object, str]] = [
    (True, "true; {} is expected"),
    (False, "false; {} is expected"),
    ("1", "'1'; {} is expected"),
    ("", "''; {} is expected"),
    ({}, "an object; {} is expected"),
]
NO_LISTS: list[tuple[object, str]] = [
    ([], "a list; {} is expected"),
    ([1], "a list; {} is expected"),
]
NO_WHOLE_NUMBERS = [
    (2.0, "2.0; a whole number is expected"),
    (1.5, "1.5; a whole number is expected"),
    (1e12, "1000000000000.0; a whole number is expected"),
    (float("nan"), "NaN; a whole number is expected"),
    (float("inf"), "Infinity; a whole number is expected"),
    (2**53, "9007199254740992; it must be at most 9007199254740991"),
    (10**400, f"{HUGE}; it must be at most 9007199254740991"),
]

Place = tuple[str | int, ...]


def place(path: Place) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def lines_for(path: Place, value: object) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(replaced(instance_data(), path, value))
    return refused.value.lines()


def value_at(instance: Instance, path: Place) -> Any:
    value: Any = instance
    for part in path:
        value = value[part] if isinstance(part, int) else getattr(value, part)
    return value


@pytest.mark.parametrize("path", [*COUNTS, *OPTIONAL_COUNTS, COUNT_OR_LIST], ids=place)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, message.format("a whole number")) for value, message in NO_NUMBERS[:-1]),
        *NO_WHOLE_NUMBERS,
        (0, "0; it must be at least 1"),
        (-3, "-3; it must be at least 1"),
        (-(10**400), f"{HUGE}; it must be at least 1"),
    ],
    ids=label,
)
def test_count_that_is_none_is_one_line(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize("path", [*WHOLE, *OPTIONAL_WHOLE], ids=place)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, message.format("a whole number")) for value, message in NO_NUMBERS),
        *((value, message.format("a whole number")) for value, message in NO_LISTS),
        *NO_WHOLE_NUMBERS,
        (-(10**400), f"{HUGE}; it must be at least -9007199254740991"),
    ],
    ids=label,
)
def test_slot_that_is_none_is_one_line(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize("path", [*WHOLE, *OPTIONAL_WHOLE], ids=place)
@pytest.mark.parametrize("value", [0, -7, 12])
def test_slots_of_jobs_may_lie_before_slot_0(path: Place, value: int) -> None:
    assert value_at(parse_instance(replaced(instance_data(), path, value)), path) == value


@pytest.mark.parametrize("path", [*COUNTS, *OPTIONAL_COUNTS], ids=place)
@pytest.mark.parametrize("value", [[], [1], {}], ids=label)
def test_count_is_neither_list_nor_object(path: Place, value: object) -> None:
    shown = "an object" if value == {} else "a list"
    assert lines_for(path, value) == [f"{place(path)}: {shown}; a whole number is expected"]


@pytest.mark.parametrize("path", [*COUNTS, COUNT_OR_LIST, *WHOLE], ids=place)
def test_count_that_is_required_or_has_a_default_is_not_null(path: Place) -> None:
    assert lines_for(path, None) == [f"{place(path)}: null; a whole number is expected"]


@pytest.mark.parametrize(
    "path", [("time", "horizon"), *OPTIONAL_WHOLE, *OPTIONAL_POSITIVES], ids=place
)
def test_null_leaves_an_optional_field_out(path: Place) -> None:
    assert value_at(parse_instance(replaced(instance_data(), path, None)), path) is None


@pytest.mark.parametrize("field", ["batch_size", "forward_ms_per_sample", "backward_ms"])
def test_null_does_not_stand_for_one_of_two_fields(field: str) -> None:
    lines = lines_for(("jobs", 0, field), None)
    assert lines == [f"jobs[0].{field}: missing; this field is required"]


@pytest.mark.parametrize(
    "path", [*POSITIVES, *NON_NEGATIVES, *OPTIONAL_POSITIVES, CONCURRENCY], ids=place
)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, message.format("a number")) for value, message in NO_NUMBERS),
        *((value, message.format("a number")) for value, message in NO_LISTS),
    ],
    ids=label,
)
def test_text_or_list_is_no_number(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize("path", [*POSITIVES, *NON_NEGATIVES, CONCURRENCY], ids=place)
def test_number_that_is_required_is_not_null(path: Place) -> None:
    assert lines_for(path, None) == [f"{place(path)}: null; a number is expected"]


@pytest.mark.parametrize(
    "path",
    [
        *(*POSITIVES, *NON_NEGATIVES, *OPTIONAL_POSITIVES, *OPTIONAL_NON_NEGATIVES),
        CONCURRENCY,
    ],
    ids=place,
)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        *((value, message.format("a number")) for value, message in NO_NUMBERS[:-1]),
        *((value, message.format("a number")) for value, message in NO_LISTS),
        (float("nan"), "NaN; a finite number is expected"),
        (float("inf"), "Infinity; a finite number is expected"),
        (float("-inf"), "-Infinity; a finite number is expected"),
        (10**400, f"{HUGE}; it must be within ±1e+30"),
        (-(10**400), f"{HUGE}; it must be within ±1e+30"),
    ],
    ids=label,
)
def test_number_that_is_none_is_one_line(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize("path", [*POSITIVES, *OPTIONAL_POSITIVES], ids=place)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "0; it must be above 0"),
        (0.0, "0.0; it must be above 0"),
        (-0.0, "-0.0; it must be above 0"),
        (-1, "-1; it must be above 0"),
        (1e-320, "1e-320; it must be at least 1e-30"),
        (1e308, "1e+308; it must be at most 1e+30"),
        (10**31, f"{HUGE}; it must be at most 1e+30"),
    ],
    ids=label,
)
def test_rate_or_slot_out_of_range_is_one_line(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize("path", [*NON_NEGATIVES, *OPTIONAL_NON_NEGATIVES], ids=place)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1e-320, "-1e-320; it must be at least 0"),
        (-5, "-5; it must be at least 0"),
        (1e308, "1e+308; it must be at most 1e+30"),
    ],
    ids=label,
)
def test_negative_or_huge_number_is_one_line(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize("path", [*NON_NEGATIVES, *OPTIONAL_NON_NEGATIVES], ids=place)
@pytest.mark.parametrize("value", [0, 0.0, -0.0, 5e-324, 3, 2.5])
def test_non_negative_number_is_taken_as_it_is(path: Place, value: float) -> None:
    data = replaced(instance_data(), path, value)
    assert value_at(Instance.model_validate(data), path) == value


@pytest.mark.parametrize("path", [*POSITIVES, *OPTIONAL_POSITIVES], ids=place)
@pytest.mark.parametrize("value", [LEAST_POSITIVE, 1, 2.5, MAX_NUMBER])
def test_positive_number_is_taken_as_it_is(path: Place, value: float) -> None:
    data = replaced(instance_data(), path, value)
    assert value_at(Instance.model_validate(data), path) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "0; it must be above 0"),
        (-0.0, "-0.0; it must be above 0"),
        (1.0000001, "1.0000001; it must be at most 1"),
        (2, "2; it must be at most 1"),
    ],
)
def test_concurrency_out_of_range_is_one_line(value: float, message: str) -> None:
    assert lines_for(CONCURRENCY, value) == [f"{place(CONCURRENCY)}: {message}"]


@pytest.mark.parametrize("value", [1, 1.0, 0.5, 5e-324])
def test_concurrency_within_its_range_is_taken(value: float) -> None:
    data = replaced(instance_data(), CONCURRENCY, value)
    assert parse_instance(data).contention.concurrency == value


@pytest.mark.parametrize("path", NAMES, ids=place)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", "an empty text; it must not be empty"),
        (None, "null; a text is expected"),
        (3, "3; a text is expected"),
        (True, "true; a text is expected"),
        (["a"], "a list; a text is expected"),
        ("\ud800", "'\\ud800'; half of a surrogate pair is not text"),
    ],
    ids=label,
)
def test_name_that_is_none_is_one_line(path: Place, value: object, message: str) -> None:
    assert lines_for(path, value) == [f"{place(path)}: {message}"]


@pytest.mark.parametrize(
    "name", [" ", "node-1", "[red]x[/red]", "a\nb", "任务", "😀", "x" * 10_000]
)
def test_any_other_text_is_a_name(name: str) -> None:
    instance = parse_instance(replaced(instance_data(), ("jobs", 0, "name"), name))
    assert instance.jobs[0].name == name


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2, "2; 1 is expected"),
        (0, "0; 1 is expected"),
        ("1", "'1'; 1 is expected"),
        (1.0, "1.0; 1 is expected"),
        (True, "true; 1 is expected"),
        (None, "null; 1 is expected"),
        ([1], "a list; 1 is expected"),
        (float("nan"), "NaN; 1 is expected"),
        (10**400, f"{HUGE}; 1 is expected"),
    ],
    ids=label,
)
def test_other_version_is_one_line(value: object, message: str) -> None:
    assert lines_for(("schema_version",), value) == [f"schema_version: {message}"]


def test_unknown_fields_are_refused_in_python_too() -> None:
    with pytest.raises(ValidationError, match="color"):
        Server.model_validate({"name": "s0", "gpus": 1, "color": "red"})


def test_records_are_frozen() -> None:
    server = Server(name="s0", gpus=1)
    with pytest.raises(ValidationError, match="frozen"):
        server.gpus = 2  # type: ignore[misc]


def test_largest_integer_is_the_largest_that_json_carries_exactly() -> None:
    assert float(MAX_INTEGER) == MAX_INTEGER
    assert float(MAX_INTEGER + 2) != MAX_INTEGER + 2
    assert Assignment(job="a", start=MAX_INTEGER, gpus={}).start == MAX_INTEGER


def test_every_field_is_described() -> None:
    for model in (Instance, Job, Server, Assignment):
        for name, field in model.model_fields.items():
            assert field.description, f"{model.__name__}.{name}"


def test_repeated_names_are_each_that_an_earlier_one_has() -> None:
    assert repeated_names(["a", "b", "a", "c", "a", "b"]) == [(2, "a"), (4, "a"), (5, "b")]
    assert repeated_names(["a", "A", "a "]) == []
    assert repeated_names([]) == []
