"""YAML is read as JSON is: the same values, the same errors with places, and lines beside them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest
import yaml
from depth import examples
from documents import instance_data, replaced, schedule_data, tree_data
from hypothesis import given, settings
from hypothesis import strategies as st
from random_instances import instances

from rarmodel import yaml_text
from rarmodel.errors import InputError
from rarmodel.files import (
    parse_instance,
    parse_schedule,
    read_data,
    read_instance,
    read_schedule,
    to_json,
)
from rarmodel.schema import Instance
from rarmodel.yaml_text import lines_of, parse_yaml

# To YAML two characters end a line that do not to JSON, which escapes neither by itself.
CHARACTERS = st.characters(max_codepoint=0xD7FF, exclude_categories=("Cc", "Zl", "Zp"))
TEXT = st.text(CHARACTERS)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(TEXT, below, max_size=4),
    max_leaves=15,
)


def value_of(text: str) -> Any:
    return parse_yaml(text, "", "").data


def refused(read: Callable[[str, str], object], text: str, name: str = "x.yaml") -> list[str]:
    with pytest.raises(InputError) as error:
        read(text, name)
    assert all(line.startswith(f"{name}: ") for line in error.value.lines())
    return [line.removeprefix(f"{name}: ") for line in error.value.lines()]


@settings(deadline=None)
@given(VALUES)
def test_json_text_means_the_same_as_yaml(value: Any) -> None:
    for indent in (None, 2):
        found = value_of(json.dumps(value, ensure_ascii=False, indent=indent))
        assert found == value
        assert type(found) is type(value)


@settings(deadline=None)
@given(VALUES)
def test_what_pyyaml_writes_is_read_again(value: Any) -> None:
    # In quotes, with a tag for what is no text: unquoted, the text 1e3 is a number to YAML 1.2.
    assert value_of(yaml.safe_dump(value, allow_unicode=True, default_style='"')) == value


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("+5", 5),
        ("-0", 0),
        ("1e3", 1000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2026-03-02", "2026-03-02"),
        ("0x", "0x"),
        ("1e", "1e"),
        ("'5'", "5"),
        ("\u0665", "\u0665"),
        ("=", "="),
        ("<<", "<<"),
    ],
)
def test_plain_words_follow_the_core_schema(word: str, value: object) -> None:
    found = value_of(f"a: {word}")["a"]
    assert (found, type(found)) == (value, type(value))


def test_nan_is_a_number() -> None:
    assert isnan(value_of(".nan"))


@examples(20)
@given(instances())
def test_an_instance_is_the_same_from_either(instance: Instance) -> None:
    text = to_json(instance)
    assert parse_instance(text, "x.yaml") == instance
    blocks = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True)
    assert parse_instance(blocks, "x.YML") == instance


def test_a_schedule_and_data_are_the_same_from_either(tmp_path: Path) -> None:
    data = schedule_data()
    path = tmp_path / "schedule.yaml"
    path.write_text(yaml.safe_dump(data))
    assert read_schedule(path) == parse_schedule(data)
    path.write_text("weights: {a: 3}\ndeadlines:\n  b: 4\n")
    assert read_data(path) == {"weights": {"a": 3}, "deadlines": {"b": 4}}


BROKEN = [
    replaced(instance_data(), ("time", "slot_seconds"), 0),
    replaced(instance_data(), ("cluster", "servers", 1, "gpus"), 2.5),
    replaced(instance_data(), ("cluster", "network", "kind"), "ring"),
    replaced(instance_data(), ("jobs", 1, "name"), "a"),
    replaced(instance_data(), ("jobs",), []),
    replaced(instance_data(), ("time", "slot_seconds"), 0.01),
    replaced(instance_data(), ("jobs", 0, "itrations"), 3),
    tree_data(("s0", "r"), ("s1", "t")),
    {**instance_data(), "name": 3, "surprise": None},
    {},
]


@pytest.mark.parametrize("data", BROKEN)
def test_errors_are_those_of_json_with_lines_before(data: object) -> None:
    text = json.dumps(data, indent=1)
    known = refused(parse_instance, text, "x.json")
    for found in (
        refused(parse_instance, text),
        refused(parse_instance, yaml.safe_dump(data, sort_keys=False)),
    ):
        assert all(re.match(r"line \d+", line) for line in found)
        assert [re.sub(r"^line \d+(, |: )", "", line) for line in found] == known


def test_lines_are_those_of_the_places() -> None:
    text = """\
# A comment.
schema_version: 1
name: example
time:
  slot_seconds: 0
  horizon: 20

cluster:
  servers:
    - {name: s0, gpus: 2}
    - name: s1
      gpus: two
  network: {kind: star, gbps: 10}
  intra_server_gbps: 200
jobs: []
"""
    assert refused(parse_instance, text) == [
        "line 5, time.slot_seconds: 0; it must be above 0",
        "line 12, cluster.servers[1].gpus: 'two'; a whole number is expected",
        "line 8, cluster.reduction_gbps: missing; this field is required",
        "line 2, contention: missing; this field is required",
        "line 15, jobs: an empty list; at least one entry is expected",
    ]


def test_a_job_that_cannot_progress_is_named_with_its_line() -> None:
    data = replaced(instance_data(), ("time", "slot_seconds"), 0.01)
    text = yaml.safe_dump(data, sort_keys=False)
    (line,) = refused(parse_instance, text)
    number = text.splitlines().index("  slot_seconds: 0.01") + 1
    assert line.startswith(f"line {number}, time.slot_seconds: 0.01; slot too short")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["empty; an object in YAML is expected"]),
        ("# nothing\n", ["empty; an object in YAML is expected"]),
        ("- a", ["the top level is a list; an object is expected"]),
        ("a", ["the top level is 'a'; an object is expected"]),
        ("a: [1", ["line 1, column 6: not YAML: expected ',' or ']', but got '<stream end>'"]),
        ("a:\n\t- b", ["line 2, column 1: not YAML: found character '\\t' that cannot start any"]),
        ("a: b: c", ["line 1, column 5: not YAML: mapping values are not allowed here"]),
        ("a: 1\n---\nb: 2", ["line 2, column 1: not YAML: but found another document"]),
        ("a: !!python/object:os.system x", ["line 1, column 4: not YAML: could not determine"]),
        ("a: !!python/name:os.system", ["line 1, column 4: not YAML: could not determine"]),
        ("a: !mine x", ["line 1, column 4: not YAML: could not determine a constructor"]),
        ("a: !!int x", ["not YAML: invalid literal for int()"]),
        ("a: " + "7" * 5000, ["not YAML: Exceeds the limit (4300 digits)"]),
        ("a: &b 1\nc: *b", ["line 2: an alias; write out what it stands for"]),
        ("a: *b", ["line 1: an alias; write out what it stands for"]),
        ("a: &a [*a]", ["line 1: an alias; write out what it stands for"]),
        ("a: \x00", ["not YAML: unacceptable character"]),
        ("? [a]\n: 1", ["line 1, column 3: not YAML: found unhashable key"]),
    ],
)
def test_what_is_no_object_in_yaml_is_one_line(text: str, expected: list[str]) -> None:
    found = refused(parse_instance, text)
    assert len(found) == len(expected)
    for line, begin in zip(found, expected, strict=True):
        assert line.startswith(begin), found


def test_keys_that_occur_twice_or_are_no_texts_are_named_with_lines(tmp_path: Path) -> None:
    path = tmp_path / "data.yaml"
    path.write_text("a: 1\nb:\n  - {c: 1, c: 2}\na: 2\n3: x\n")
    with pytest.raises(InputError) as error:
        read_data(path)
    assert [line.removeprefix(f"{path}: ") for line in error.value.lines()] == [
        "line 4: 'a' occurs twice in one object; keep one",
        "line 5: a key that is not text; write it in quotes",
        "line 3, b[0]: 'c' occurs twice in one object; keep one",
    ]


def test_a_duplicate_and_a_wrong_value_are_told_together() -> None:
    text = yaml.safe_dump(replaced(instance_data(), ("time", "slot_seconds"), 0)) + "name: x\n"
    found = refused(parse_instance, text)
    assert len(found) == 2
    assert "'name' occurs twice in one object; keep one" in found[0]
    assert "time.slot_seconds: 0; it must be above 0" in found[1]


@pytest.mark.parametrize("text", ["[" * 10**6, "- " * 10**6, "{a: " * 10**5, "[" * 500 + "]" * 500])
def test_what_is_nested_too_deeply_is_one_line(text: str) -> None:
    assert refused(parse_instance, text) == [
        "line 1: nested too deeply; at most 100 levels are possible"
    ]


def test_laughs_are_refused_before_they_are_multiplied() -> None:
    # A billion billion entries, if anybody wrote them out.
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 18)]
    found = refused(parse_instance, "\n".join(lines))
    assert set(found) == {f"line {i}: an alias; write out what it stands for" for i in range(2, 19)}


def test_a_long_text_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MOST_CHARACTERS", 1_000_000)
    text = "a: [" + "1, " * 400_000 + "1]"
    assert refused(parse_instance, text) == ["YAML of more than 1 MB; write it as JSON"]


def test_the_parser_in_c_words_errors_in_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MOST_RETOLD", 5)
    (line,) = refused(parse_instance, "a: [1, 2")
    assert re.match(r"line \d, column \d+: not YAML: .*expected ',' or '\]'", line)


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes("name: größe".encode("latin-1"))
    with pytest.raises(InputError, match=r"not UTF-8 text \(byte 8\); YAML in UTF-8 is expected"):
        read_instance(path)
    path.write_bytes(b"\xef\xbb\xbf" + yaml.safe_dump(instance_data()).encode())
    assert read_instance(path).name == "example"


@settings(deadline=None)
@given(VALUES)
def test_every_place_has_a_line(value: Any) -> None:
    text = yaml.safe_dump(value, default_flow_style=False, allow_unicode=True)
    lines = lines_of(parse_yaml(text, "", "").root)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())
    assert lines[""] == 1
