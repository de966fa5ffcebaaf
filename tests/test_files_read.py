"""Reading: malformed text, unreadable files, standard input."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from depth import examples
from documents import instance_data, label, replaced, schedule_data
from documents import tree_data as tree
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.errors import InputError
from rarmodel.files import (
    parse_instance,
    parse_schedule,
    read_bytes,
    read_data,
    read_instance,
    read_schedule,
    to_json,
)

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
ON_WINDOWS = sys.platform == "win32"


def lines_of_text(text: str) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(text, "x.json")
    return refused.value.lines()


def give_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


# Text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty; a JSON object is expected"),
        (" \n\t ", "empty; a JSON object is expected"),
        ("null", "the top level is null; an object is expected"),
        ("true", "the top level is true; an object is expected"),
        ("3", "the top level is 3; an object is expected"),
        ("NaN", "the top level is NaN; an object is expected"),
        ('"x"', "the top level is 'x'; an object is expected"),
        ("[]", "the top level is a list; an object is expected"),
        ("[{}]", "the top level is a list; an object is expected"),
    ],
    ids=label,
)
def test_what_is_no_object_is_one_line(text: str, message: str) -> None:
    assert lines_of_text(text) == [f"x.json: {message}"]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{", "line 1, column 2"),
        ('{\n  "name": \n}', "line 3, column 1"),
        ('{"name": "x",}', "line 1, column"),
        ("{'name': 'x'}", "line 1, column 2"),
        ('{"name": x}', "line 1, column 10"),
        ('{"name": "x"} {}', "line 1, column 15"),
        ('{"name": "x"}}', "line 1, column 14"),
        ('{"name": "tab\tin text"}', "line 1, column 14"),
        ('{"name": "\\x"}', "line 1, column 11"),
        ('{"name": "\\u12"}', "line 1, column"),
        ('{"gpus": 01}', "line 1, column"),
        ('{"gpus": +1}', "line 1, column 10"),
        ('{"gpus": .5}', "line 1, column 10"),
        ('{"gpus": 0x10}', "line 1, column"),
        ("// comment\n{}", "line 1, column 1"),
        ("schema_version: 1", "line 1, column 1"),
        ("<instance/>", "line 1, column 1"),
        ("\x00" * 100, "line 1, column 1"),
    ],
    ids=label,
)
def test_what_is_no_json_is_one_line_with_line_and_column(text: str, where: str) -> None:
    (line,) = lines_of_text(text)
    assert line.startswith("x.json: not JSON: ")
    assert where in line


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"a":[' * 50_000])
def test_too_deep_nesting_is_one_line(text: str) -> None:
    assert lines_of_text(text) == ["x.json: not usable JSON: nested too deeply"]


def test_deep_nesting_within_a_field_is_one_line() -> None:
    deep = "[" * 500 + "]" * 500
    text = json.dumps(instance_data()).replace('"s0"', deep, 1)
    assert lines_of_text(text) == ["x.json: cluster.servers[0].name: a list; a text is expected"]


def test_number_of_thousands_of_digits_is_one_line() -> None:
    text = json.dumps(instance_data()).replace("20", "9" * 5000, 1)
    assert lines_of_text(text) == ["x.json: not usable JSON: a number too long"]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        ("1e400", "Infinity; a finite number is expected"),
        ("-1e400", "-Infinity; a finite number is expected"),
        ("1" + "0" * 400, "a whole number of more than 20 digits; it must be within ±1e+30"),
        ("NaN", "NaN; a finite number is expected"),
        ("Infinity", "Infinity; a finite number is expected"),
        ("1e-400", "0.0; it must be above 0"),
        ("-0.0", "-0.0; it must be above 0"),
        ("-0", "0; it must be above 0"),
    ],
)
def test_number_that_no_float_holds_is_one_line(number: str, message: str) -> None:
    text = json.dumps(replaced(instance_data(), ("time", "slot_seconds"), "here"))
    assert lines_of_text(text.replace('"here"', number)) == [
        f"x.json: time.slot_seconds: {message}"
    ]


def test_half_of_a_surrogate_pair_is_one_line() -> None:
    text = json.dumps(replaced(instance_data(), ("jobs", 1, "name"), "\ud83d"))
    assert lines_of_text(text) == [
        "x.json: jobs[1].name: '\\ud83d'; half of a surrogate pair is not text"
    ]


def test_escaped_surrogate_pair_is_a_character() -> None:
    text = json.dumps(replaced(instance_data(), ("jobs", 1, "name"), "😀"))
    assert "\\ud83d\\ude00" in text
    assert parse_instance(text).jobs[1].name == "😀"


def test_field_that_occurs_twice_is_one_line_with_its_place() -> None:
    text = json.dumps(instance_data())
    text = text.replace('"gpus": 1, "iterations"', '"gpus": 1, "gpus": 2, "iterations"')
    assert lines_of_text(text) == [
        "x.json: jobs[1].gpus: this field occurs twice in one object; keep one"
    ]


def test_every_repeated_field_is_listed_with_the_other_problems() -> None:
    text = json.dumps(replaced(instance_data(), ("time", "slot_seconds"), 0))
    text = text.replace('"horizon": 20', '"horizon": 20, "horizon": 30, "horizon": 20')
    text = text.replace('"name": "a"', '"name": "b", "name": "a"')
    text = text[:-1] + ', "name": "twice"}'
    assert lines_of_text(text) == [
        "x.json: name: this field occurs twice in one object; keep one",
        "x.json: time.horizon: this field occurs twice in one object; keep one",
        "x.json: jobs[0].name: this field occurs twice in one object; keep one",
        "x.json: time.slot_seconds: 0; it must be above 0",
    ]


def test_server_that_occurs_twice_in_an_assignment_is_one_line() -> None:
    text = json.dumps(schedule_data()).replace('{"s0": [0, 1]}', '{"s0": [0], "s0": [1]}')
    with pytest.raises(InputError) as refused:
        parse_schedule(text)
    assert refused.value.lines() == [
        "assignments[0].gpus.s0: this field occurs twice in one object; keep one"
    ]


def test_instance_from_an_object_equals_that_from_text() -> None:
    assert parse_instance(instance_data()) == parse_instance(json.dumps(instance_data()))


@pytest.mark.parametrize("data", [[], None, 3, "[]"])
def test_python_object_that_is_none_is_one_line(data: Any) -> None:
    with pytest.raises(InputError, match="an object is expected"):
        parse_instance(data)


@examples(30)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_arbitrary_json_never_raises_anything_else(value: object) -> None:
    for text in (json.dumps(value), json.dumps({"jobs": value, "cluster": value, "time": value})):
        with pytest.raises(InputError):
            parse_instance(text)


PATHS: list[tuple[str | int, ...]] = [
    ("name",),
    ("time",),
    ("time", "horizon"),
    ("time", "slot_seconds"),
    ("cluster",),
    ("cluster", "servers"),
    ("cluster", "servers", 0),
    ("cluster", "servers", 0, "gpus"),
    ("cluster", "network"),
    ("cluster", "network", "kind"),
    ("cluster", "network", "links"),
    ("cluster", "network", "links", 0),
    ("cluster", "network", "links", 0, "parent"),
    ("cluster", "network", "links", 1, "gbps"),
    ("contention",),
    ("contention", "degradation"),
    ("jobs",),
    ("jobs", 0),
    ("jobs", 0, "gpus"),
    ("jobs", 0, "gradient_mb"),
]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.sampled_from(["s0", "s1", "core", 0, -0.0, 1e308, 1e-308, 1e30, 1e-30, 10**400, 2**53]),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(st.dictionaries(st.sampled_from(PATHS), ANYTHING, min_size=1, max_size=3))
def test_instance_with_anything_anywhere_is_refused_in_lines_or_accepted(
    changes: dict[tuple[str | int, ...], object],
) -> None:
    data = tree(("s0", "core"), ("s1", "core"))
    for path in sorted(changes, key=len, reverse=True):
        data = replaced(data, path, changes[path])
    lines: list[str] | None = None
    try:
        instance = parse_instance(json.dumps(data), "x.json")
    except InputError as error:
        lines = error.lines()
    if lines is None:
        assert parse_instance(to_json(instance)) == instance
    else:
        assert lines
        assert all(line.startswith("x.json: ") and line.isprintable() for line in lines)


# Files


def test_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(instance_data()), encoding="utf-8")
    assert read_instance(path) == read_instance(str(path)) == parse_instance(instance_data())
    path.write_text(json.dumps(schedule_data()), encoding="utf-8")
    assert read_schedule(path) == parse_schedule(schedule_data())


def test_problem_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert refused.value.source == str(path)
    assert refused.value.lines() == [f"{path}: the top level is a list; an object is expected"]


def test_utf8_with_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(instance_data()).encode())
    assert read_instance(path).name == "example"


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps(instance_data(), indent=1).replace("\n", "\r\n").encode())
    assert read_instance(path).name == "example"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings_are_one_line(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(json.dumps(instance_data()).encode(encoding))
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert refused.value.lines() == [f"{path}: not UTF-8 text (byte 0); JSON in UTF-8 is expected"]


def test_latin_1_is_one_line_with_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes('{"name": "é"}'.encode("latin-1"))
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert refused.value.lines() == [f"{path}: not UTF-8 text (byte 10); JSON in UTF-8 is expected"]


def test_binary_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert len(refused.value.lines()) == 1


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert refused.value.lines() == [f"{path}: cannot be read: no such file or directory"]


@pytest.mark.skipif(ON_WINDOWS, reason="Windows says permission denied")
def test_folder_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        read_instance(tmp_path)
    assert refused.value.lines() == [f"{tmp_path}: cannot be read: is a directory"]


def test_file_below_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(InputError) as refused:
        read_instance(tmp_path / "x" / "y.json")
    assert len(refused.value.lines()) == 1


@pytest.mark.skipif(AS_ROOT or ON_WINDOWS, reason="root may read everything")
def test_file_without_permission_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(instance_data()), encoding="utf-8")
    path.chmod(0)
    with pytest.raises(InputError) as refused:
        read_instance(path)
    assert refused.value.lines() == [f"{path}: cannot be read: permission denied"]


def test_file_that_fails_while_read_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(InputError) as refused:
        read_schedule("x.json")
    assert refused.value.lines() == ["x.json: cannot be read: permission denied"]


@pytest.mark.parametrize("name", ["a\0b.json", "x" * 5000, "", "a\nb.json"], ids=label)
def test_impossible_file_name_is_one_line(name: str) -> None:
    for read in (read_instance, read_schedule):
        with pytest.raises(InputError) as refused:
            read(name)
        (line,) = refused.value.lines()
        assert "cannot be read: " in line
        assert line.isprintable()


@pytest.mark.skipif(ON_WINDOWS, reason="no pipes with names")
def test_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = json.dumps(instance_data())
    writer = threading.Thread(target=pipe.write_text, args=(content,))
    writer.start()
    assert read_instance(pipe).name == "example"
    writer.join()


# Size


@pytest.mark.parametrize("read", [read_instance, read_schedule, read_data, read_bytes])
def test_file_of_gigabytes_is_refused_before_it_is_read(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "x.json"
    path.touch()
    os.truncate(path, 513_000_000)  # A hole: on most file systems it takes no room.
    with pytest.raises(InputError) as refused:
        read(path)
    assert refused.value.lines() == [f"{path}: more than 512 MB"]


def test_as_much_as_is_asked_for_is_read_and_not_a_byte_more(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"x" * 2000)
    assert read_bytes(path, 0.002) == (str(path), b"x" * 2000)
    with pytest.raises(InputError, match=r"x: more than 0.001999 MB; ask for more"):
        read_bytes(path, 0.001999, "; ask for more")


def test_endless_device_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero")
    with pytest.raises(InputError, match="/dev/zero: more than 3 MB"):
        read_bytes("/dev/zero", 3)


def test_endless_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"x" * 2001)
    with pytest.raises(InputError, match=r"standard input: more than 0.002 MB"):
        read_bytes("-", 0.002)
    give_stdin(monkeypatch, b"x" * 2000)
    assert read_bytes("-", 0.002) == ("standard input", b"x" * 2000)


# Standard input


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"\xef\xbb\xbf" + json.dumps(instance_data()).encode())
    assert read_instance("-").name == "example"
    give_stdin(monkeypatch, json.dumps(schedule_data()).encode())
    assert read_schedule("-").instance == "example"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty; a JSON object is expected"),
        (b"\xff\xfe", "not UTF-8 text (byte 0); JSON in UTF-8 is expected"),
        (b"[]", "the top level is a list; an object is expected"),
    ],
)
def test_problem_names_standard_input(
    monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    give_stdin(monkeypatch, content)
    with pytest.raises(InputError) as refused:
        read_instance("-")
    assert refused.value.lines() == [f"standard input: {message}"]


def test_no_standard_input_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError) as refused:
        read_instance("-")
    assert refused.value.lines() == ["standard input: cannot be read: it is closed"]


def test_closed_standard_input_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    give_stdin(monkeypatch, b"")
    sys.stdin.close()
    with pytest.raises(InputError, match="standard input: cannot be read: "):
        read_instance("-")
