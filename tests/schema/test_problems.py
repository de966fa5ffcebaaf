"""From Pydantic's account of a refused input to ours."""

from __future__ import annotations

import pytest
from documents import Data, Path, instance_data, label, removed, replaced, schedule_data
from pydantic import ValidationError

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, parse_schedule
from rarmodel.schema import Instance
from rarmodel.schema.problems import place_of, problems_of, show


def lines_of(data: Data) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    return refused.value.lines()


@pytest.mark.parametrize(
    ("loc", "place"),
    [
        ((), ""),
        (("name",), "name"),
        (("jobs", 3, "gpus"), "jobs[3].gpus"),
        (("assignments", 0, "gpus", "s0", 1), "assignments[0].gpus.s0[1]"),
        (("assignments", 0, "gpus", "node-1", 1), 'assignments[0].gpus["node-1"][1]'),
        (("assignments", 0, "gpus", "", "[key]"), 'assignments[0].gpus[""]'),
        (("cluster", "network", "star", "gbps"), "cluster.network.gbps"),
        (("cluster", "network", "tree", "links", 0), "cluster.network.links[0]"),
        (("cluster", "network", "tree", "star"), "cluster.network.star"),
        (("star",), "star"),
        (("assignments", 0, "gpus", "tree", 0), "assignments[0].gpus.tree[0]"),
        (("a.b", "c d"), '["a.b"]["c d"]'),
        (("任务",), "任务"),
        (("x" * 50,), "x" * 50),
        (("-" * 50,), f'["{"-" * 37}…"]'),
        (("[key]",), '["[key]"]'),
    ],
)
def test_place_is_a_path(loc: tuple[int | str, ...], place: str) -> None:
    assert place_of(loc) == place


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (10**19, "10000000000000000000"),
        (10**20, "a whole number of more than 20 digits"),
        (-(10**4000), "a whole number of more than 20 digits"),
        (1.5, "1.5"),
        (1e400, "Infinity"),
        (float("nan"), "NaN"),
        ("x", "'x'"),
        ("a\nb\x1b", "'a\\nb\\x1b'"),
        ("x" * 40, f"'{'x' * 40}'"),
        ("x" * 41, f"'{'x' * 37}…'"),
        ([1, 2], "a list"),
        ({"a": 1}, "an object"),
    ],
    ids=label,
)
def test_value_is_shown_short_and_as_json_has_it(value: object, shown: str) -> None:
    assert show(value) == shown


@pytest.mark.parametrize(
    ("holder", "field", "typo"),
    [
        ((), "schema_version", "schema_versoin"),
        ((), "name", "nmae"),
        ((), "jobs", "job"),
        (("time",), "slot_seconds", "slot_second"),
        (("cluster",), "intra_server_gbps", "intra_server_Gbps"),
        (("cluster", "network"), "gbps", "gpbs"),
        (("contention",), "overhead_ms_per_server", "overhead_per_server_ms"),
        (("contention", "degradation"), "alpha", "aplha"),
        (("jobs", 1), "iterations", "iteration"),
        (("jobs", 1), "gradient_mb", "gradient_MB"),
    ],
)
def test_typo_in_field_name_is_one_line_naming_both_fields(
    holder: Path, field: str, typo: str
) -> None:
    data = instance_data()
    value = {**data}
    inner: object = value
    for part in (*holder, field):
        inner = inner[part]  # type: ignore[index]
    data = replaced(removed(data, (*holder, field)), (*holder, typo), inner)
    place = place_of((*holder, typo))
    assert lines_of(data) == [f"{place}: unknown field; {field!r} is missing here, was it meant?"]


def test_two_typos_in_one_object_are_two_lines() -> None:
    data = instance_data()
    data["jobs"][0]["iteration"] = data["jobs"][0].pop("iterations")
    data["jobs"][0]["gpu"] = data["jobs"][0].pop("gpus")
    assert sorted(lines_of(data)) == [
        "jobs[0].gpu: unknown field; 'gpus' is missing here, was it meant?",
        "jobs[0].iteration: unknown field; 'iterations' is missing here, was it meant?",
    ]


def test_a_missing_field_answers_for_one_typo_only() -> None:
    data = instance_data()
    data["jobs"][0]["gpuss"] = data["jobs"][0].pop("gpus")
    data["jobs"][0]["gpu"] = 1
    lines = lines_of(data)
    assert len(lines) == 2
    assert sum("'gpus' is missing here" in line for line in lines) == 1
    assert sum("was 'gpus' meant?" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("holder", "typo", "field"),
    [
        (("time",), "Horizon", "horizon"),
        (("jobs", 1), "relase", "release"),
        (("jobs", 1), "dead_line", "deadline"),
        (("cluster", "servers", 0), "gpu_typ", "gpu_type"),
        (("cluster",), "reservation", "reservations"),
        ((), "objectives", "objective"),
        ((), "tenant", "tenants"),
    ],
)
def test_typo_of_an_optional_field_is_one_line_naming_both_fields(
    holder: Path, typo: str, field: str
) -> None:
    path = (*holder, typo)
    assert lines_of(replaced(instance_data(), path, 1)) == [
        f"{place_of(path)}: unknown field; was {field!r} meant?"
    ]


@pytest.mark.parametrize(
    ("missing", "typo", "field"),
    [
        (["batch_size"], "global_batch_sise", "global_batch_size"),
        (["forward_ms_per_sample", "backward_ms"], "time", "times"),
    ],
)
def test_typo_of_a_field_that_stands_in_for_others_is_one_line(
    missing: list[str], typo: str, field: str
) -> None:
    data = replaced(instance_data(), ("jobs", 0, typo), 8)
    for name in missing:
        del data["jobs"][0][name]
    assert lines_of(data) == [f"jobs[0].{typo}: unknown field; was {field!r} meant?"]


def test_unknown_field_beside_a_missing_one_unlike_it_is_two_lines() -> None:
    data = removed(replaced(instance_data(), ("time", "color"), "red"), ("time", "slot_seconds"))
    assert lines_of(data) == [
        "time.slot_seconds: missing; this field is required",
        "time.color: unknown field; remove it or correct its name",
    ]


def test_typo_does_not_answer_for_a_field_missing_in_another_object() -> None:
    data = removed(replaced(instance_data(), ("time", "nam"), "x"), ("name",))
    assert lines_of(data) == [
        "name: missing; this field is required",
        "time.nam: unknown field; remove it or correct its name",
    ]


@pytest.mark.parametrize(
    "path",
    [
        ("schema_version",),
        ("name",),
        ("time",),
        ("time", "slot_seconds"),
        ("cluster",),
        ("cluster", "servers"),
        ("cluster", "servers", 1, "name"),
        ("cluster", "servers", 1, "gpus"),
        ("cluster", "network"),
        ("cluster", "network", "gbps"),
        ("cluster", "intra_server_gbps"),
        ("cluster", "reduction_gbps"),
        ("contention",),
        ("contention", "concurrency"),
        ("contention", "degradation"),
        ("contention", "degradation", "kind"),
        ("contention", "degradation", "alpha"),
        ("contention", "overhead_ms_per_server"),
        ("jobs",),
        ("jobs", 1, "name"),
        ("jobs", 1, "gpus"),
        ("jobs", 1, "iterations"),
        ("jobs", 1, "gradient_mb"),
        ("jobs", 1, "batch_size"),
        ("jobs", 1, "forward_ms_per_sample"),
        ("jobs", 1, "backward_ms"),
    ],
    ids=place_of,
)
def test_missing_field_is_one_line(path: Path) -> None:
    data = removed(instance_data(), path)
    assert lines_of(data) == [f"{place_of(path)}: missing; this field is required"]


@pytest.mark.parametrize("path", [("jobs",), ("cluster", "servers")], ids=place_of)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "an empty list; at least one entry is expected"),
        ({}, "an object; a list is expected"),
        ("ab", "'ab'; a list is expected"),
        (None, "null; a list is expected"),
        (3, "3; a list is expected"),
        (True, "true; a list is expected"),
    ],
    ids=label,
)
def test_list_that_is_none_or_empty_is_one_line(path: Path, value: object, message: str) -> None:
    assert lines_of(replaced(instance_data(), path, value)) == [f"{place_of(path)}: {message}"]


@pytest.mark.parametrize("path", [("jobs",), ("cluster", "servers")], ids=place_of)
def test_list_whose_only_entry_is_refused_is_not_called_empty(path: Path) -> None:
    assert lines_of(replaced(instance_data(), path, [None])) == [
        f"{place_of(path)}[0]: null; an object is expected"
    ]


@pytest.mark.parametrize(
    "path",
    [
        ("time",),
        ("cluster",),
        ("cluster", "network"),
        ("contention",),
        ("contention", "degradation"),
        ("jobs", 0),
        ("cluster", "servers", 0),
    ],
    ids=place_of,
)
@pytest.mark.parametrize(
    ("value", "shown"),
    [([], "a list"), ("x", "'x'"), (None, "null"), (1.5, "1.5"), (False, "false")],
    ids=label,
)
def test_object_that_is_none_is_one_line(path: Path, value: object, shown: str) -> None:
    data = replaced(instance_data(), path, value)
    assert lines_of(data) == [f"{place_of(path)}: {shown}; an object is expected"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("ring", "'ring'; 'star' or 'tree' is expected"),
        ("", "''; 'star' or 'tree' is expected"),
        (3, "3; 'star' or 'tree' is expected"),
        (None, "null; 'star' or 'tree' is expected"),
        (True, "true; 'star' or 'tree' is expected"),
        ([1], "a list; 'star' or 'tree' is expected"),
        ({}, "an object; 'star' or 'tree' is expected"),
        ("\ud800", "'\\ud800'; 'star' or 'tree' is expected"),
    ],
    ids=label,
)
def test_unknown_kind_of_network_is_one_line(value: object, message: str) -> None:
    data = replaced(instance_data(), ("cluster", "network", "kind"), value)
    assert lines_of(data) == [f"cluster.network.kind: {message}"]


def test_network_without_kind_is_one_line() -> None:
    data = removed(instance_data(), ("cluster", "network", "kind"))
    assert lines_of(data) == ["cluster.network.kind: missing; 'star' or 'tree' is expected"]


def test_unknown_kind_of_degradation_is_one_line() -> None:
    data = replaced(instance_data(), ("contention", "degradation", "kind"), "quadratic")
    assert lines_of(data) == ["contention.degradation.kind: 'quadratic'; 'linear' is expected"]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("a\nb", '["a\\nb"]'),
        ("", '[""]'),
        ("[red]x[/red]", '["[red]x[/red]"]'),
        ("\x1b[31m", '["\\u001b[31m"]'),
        ("a.b", '["a.b"]'),
        ('"', '["\\""]'),
    ],
    ids=label,
)
def test_unknown_field_of_any_name_is_one_line_that_shows_it(name: str, place: str) -> None:
    assert lines_of(replaced(instance_data(), (name,), 1)) == [
        f"{place}: unknown field; remove it or correct its name"
    ]


def test_field_name_that_is_no_text_is_one_line_that_shows_it() -> None:
    data = replaced(instance_data(), ("jobs", 0, "\udfff"), 1)
    assert lines_of(data) == ["jobs[0]: '\\udfff'; half of a surrogate pair is not text"]


def test_all_problems_are_listed_at_once() -> None:
    data = instance_data()
    data["time"]["slot_seconds"] = -1
    data["time"]["horizon"] = "60"
    data["cluster"]["servers"][1]["gpus"] = 0
    data["cluster"]["network"]["gbps"] = float("nan")
    del data["contention"]["concurrency"]
    data["contention"]["degradation"]["alpha"] = None
    data["jobs"][0]["gpus"] = True
    data["jobs"][1]["color"] = "red"
    data["colour"] = "blue"
    assert lines_of(data) == [
        "time.slot_seconds: -1; it must be above 0",
        "time.horizon: '60'; a whole number is expected",
        "cluster.servers[1].gpus: 0; it must be at least 1",
        "cluster.network.gbps: NaN; a finite number is expected",
        "contention.concurrency: missing; this field is required",
        "contention.degradation.alpha: null; a number is expected",
        "jobs[0].gpus: true; a whole number is expected",
        "jobs[1].color: unknown field; remove it or correct its name",
        "colour: unknown field; remove it or correct its name",
    ]


def test_a_thousand_bad_jobs_are_a_thousand_lines() -> None:
    data = instance_data(*({"name": f"j{i}"} for i in range(1000)))
    lines = lines_of(data)
    assert len(lines) == 6000
    assert "jobs[999].gpus: missing; this field is required" in lines


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("assignments",), {}, "assignments: an object; a list is expected"),
        (("assignments", 0), 3, "assignments[0]: 3; an object is expected"),
        (("assignments", 0, "job"), 3, "assignments[0].job: 3; a text is expected"),
        (("assignments", 0, "start"), 0.0, "assignments[0].start: 0.0; a whole number is expected"),
        (
            ("assignments", 0, "start"),
            None,
            "assignments[0].start: null; a whole number is expected",
        ),
        (
            ("assignments", 0, "start"),
            2**60,
            "assignments[0].start: 1152921504606846976; it must be at most 9007199254740991",
        ),
        (("assignments", 0, "gpus"), [], "assignments[0].gpus: a list; an object is expected"),
        (("assignments", 0, "gpus", "s0"), 1, "assignments[0].gpus.s0: 1; a list is expected"),
        (
            ("assignments", 0, "gpus", "node-1"),
            [0, "1"],
            "assignments[0].gpus[\"node-1\"][1]: '1'; a whole number is expected",
        ),
        (
            ("assignments", 0, "gpus", ""),
            [0],
            'assignments[0].gpus[""]: an empty text; it must not be empty',
        ),
        (
            ("assignments", 0, "gpus", "star"),
            [True],
            "assignments[0].gpus.star[0]: true; a whole number is expected",
        ),
        (
            ("assignments", 0, "end"),
            5,
            "assignments[0].end: unknown field; remove it or correct its name",
        ),
    ],
    ids=label,
)
def test_malformed_schedule_is_one_line(path: Path, value: object, line: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_schedule(replaced(schedule_data(), path, value))
    assert refused.value.lines() == [line]


def test_problems_have_places_apart_from_messages() -> None:
    with pytest.raises(ValidationError) as refused:
        Instance.model_validate(replaced(instance_data(), ("jobs", 1, "gpus"), 0))
    (problem,) = problems_of(refused.value)
    assert problem.place == "jobs[1].gpus"
    assert problem.message == "0; it must be at least 1"
