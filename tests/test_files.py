"""Reading and writing: malformed text, unreadable and unwritable files, round trips."""

from __future__ import annotations

import io
import json
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from documents import Data, assignment_data, instance_data, label, replaced, schedule_data
from documents import tree_data as tree
from hypothesis import given
from hypothesis import strategies as st
from random_instances import instances

from rarmodel.errors import InputError
from rarmodel.files import (
    check_writable,
    format_json,
    parse_instance,
    parse_schedule,
    read_instance,
    read_schedule,
    to_json,
    write_text,
)
from rarmodel.schema import Assignment, Instance, Schedule

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
        "x.json: jobs[1].name: '\\ud83d'; half of a surrogate pair is no text"
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
    def fail(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", fail)
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


# JSON text


@given(instances())
def test_instance_written_and_read_is_the_same(instance: Instance) -> None:
    assert parse_instance(to_json(instance)) == instance


NAMES = st.text(min_size=1).filter(lambda text: text.isprintable() or "\n" in text)
SCHEDULES = st.builds(
    Schedule,
    schema_version=st.just(1),
    instance=NAMES,
    method=NAMES,
    assignments=st.lists(
        st.builds(
            Assignment,
            job=NAMES,
            start=st.integers(-(2**53) + 1, 2**53 - 1),
            gpus=st.dictionaries(
                NAMES, st.lists(st.integers(-(2**53) + 1, 2**53 - 1)).map(tuple), max_size=4
            ),
        ),
        max_size=4,
    ).map(tuple),
)


@given(SCHEDULES)
def test_schedule_written_and_read_is_the_same(schedule: Schedule) -> None:
    text = to_json(schedule)
    assert parse_schedule(text) == schedule
    assert to_json(parse_schedule(text)) == text


@pytest.mark.parametrize(
    "data",
    [
        instance_data(),
        {**instance_data(), "description": None},
        {**instance_data(), "description": "é任务😀\n\t\x7f\u2028"},
        replaced(instance_data(), ("time", "slot_seconds"), 1),
        replaced(instance_data(), ("time", "slot_seconds"), 0.30000000000000004),
        replaced(instance_data(), ("jobs", 0, "gradient_mb"), -0.0),
        replaced(instance_data(), ("jobs", 0, "iterations"), 2**53 - 1),
        tree(("s0", "r0"), ("s1", "r0"), ("r0", "core")),
    ],
    ids=range(8),
)
def test_instance_file_stays_the_same_up_to_formatting(data: Data) -> None:
    assert json.loads(to_json(parse_instance(json.dumps(data)))) == data


def test_schedule_file_stays_the_same_up_to_formatting() -> None:
    data = schedule_data(assignment_data("z", -1, s9=[3, 1, 1], s0=[]), assignment_data("a", 7))
    assert json.loads(to_json(parse_schedule(json.dumps(data)))) == data


def test_field_left_out_stays_out_and_null_stays_null() -> None:
    assert "description" not in to_json(parse_instance(instance_data()))
    assert '"description": null' in to_json(
        parse_instance({**instance_data(), "description": None})
    )


def test_json_text_ends_with_one_line_end() -> None:
    text = to_json(parse_schedule(schedule_data()))
    assert text.endswith("}\n")
    assert not text.endswith("\n\n")


def test_what_fits_a_line_stands_on_one() -> None:
    text = to_json(parse_instance(instance_data(horizon=12)))
    assert '  "time": {"slot_seconds": 1.0, "horizon": 12},\n' in text
    assert '      {"name": "s0", "gpus": 2},\n' not in text
    assert '    "servers": [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 2}],\n' in text
    assert max(map(len, text.splitlines())) <= 120


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)  # fmt: skip


@given(JSON)
def test_formatted_json_means_the_same(value: object) -> None:
    assert json.loads(format_json(value)) == value


def written_out(value: Any, indent: int = 0) -> str:
    """The same text from its description: on one line if that fits, or else entry by entry."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + len(flat) <= 100 or not isinstance(value, dict | list) or not value:
        return flat
    pad = "\n" + " " * (indent + 2)
    if isinstance(value, dict):
        entries = [f"{written_out(key)}: {written_out(v, indent + 2)}" for key, v in value.items()]
        return "{" + pad + f",{pad}".join(entries) + "\n" + " " * indent + "}"
    entries = [written_out(v, indent + 2) for v in value]
    return "[" + pad + f",{pad}".join(entries) + "\n" + " " * indent + "]"


@given(JSON | st.lists(st.integers(0, 9) | JSON, min_size=25, max_size=40))
def test_formatted_json_is_one_line_where_that_fits(value: object) -> None:
    assert format_json(value) == written_out(value)
    assert format_json({"a": [value, 1]}) == written_out({"a": [value, 1]})


def test_list_that_just_fits_a_line_stands_on_one() -> None:
    for entries in range(30, 37):
        assert format_json([1] * entries) == written_out([1] * entries)
    assert "\n" not in format_json([1] * 33)  # 33 entries and 32 commas with a space: 99.
    assert "\n" in format_json([1] * 34)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": float("-inf")}])
def test_formatted_json_has_no_nan_and_no_infinity(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        format_json(value)


# Writing


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refusal(path: Path | str, text: str = "new") -> str:
    with pytest.raises(InputError) as refused:
        write_text(path, text)
    (line,) = refused.value.lines()
    return line


def test_file_is_written_in_utf8_with_plain_line_ends(tmp_path: Path) -> None:
    write_text(tmp_path / "x.json", "é任务😀\n")
    assert (tmp_path / "x.json").read_bytes() == "é任务😀\n".encode()
    assert files_in(tmp_path) == ["x.json"]


def test_existing_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("a longer text than the new one", encoding="utf-8")
    write_text(str(path), "new")
    assert path.read_text(encoding="utf-8") == "new"
    assert files_in(tmp_path) == ["x.json"]


def test_relative_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("x.json", "new")
    assert files_in(tmp_path) == ["x.json"]


def test_file_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    name = "x" * 250 + ".json"
    write_text(tmp_path / name, "new")
    assert files_in(tmp_path) == [name]


@pytest.mark.skipif(ON_WINDOWS, reason="no such modes")
def test_new_file_has_the_usual_mode_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    mask = os.umask(0o027)
    try:
        write_text(path, "new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_text(path, "newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.skipif(ON_WINDOWS, reason="links need privileges")
def test_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(Path("real") / "x.json")
    for text in ("new", "newer"):  # First the target does not exist, then it does.
        write_text(tmp_path / "link.json", text)
        assert (tmp_path / "link.json").is_symlink()
        assert (tmp_path / "real" / "x.json").read_text(encoding="utf-8") == text


@pytest.mark.skipif(ON_WINDOWS, reason="no pipes with names")
def test_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text(encoding="utf-8")))
    reader.start()
    write_text(pipe, "new")
    reader.join()
    assert received == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(ON_WINDOWS, reason="no /dev")
def test_null_device_is_written_to_and_not_replaced() -> None:
    write_text("/dev/null", "new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: cannot be written: is a directory"
    assert files_in(tmp_path) == []


def test_missing_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none" / "x.json"
    assert refusal(path) == f"{path}: cannot be written: no such file or directory"
    assert files_in(tmp_path) == []


def test_file_below_a_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    path = tmp_path / "x" / "y.json"
    assert refusal(path) == f"{path}: cannot be written: not a directory"


@pytest.mark.parametrize("name", ["", ".", "a\0b", "x" * 5000], ids=label)
def test_impossible_name_is_refused_in_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "cannot be written: " in refusal(name)
    assert files_in(tmp_path) == []


@pytest.mark.skipif(AS_ROOT or ON_WINDOWS, reason="root may write everywhere")
def test_folder_or_file_without_permission_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert refusal(folder / "x") == f"{folder / 'x'}: cannot be written: permission denied"
    path = tmp_path / "x.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o400)
    assert refusal(path) == f"{path}: cannot be written: permission denied"
    assert path.read_text(encoding="utf-8") == "old"


def test_file_without_permission_is_refused_whoever_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_text("old", encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert refusal(path) == f"{path}: cannot be written: permission denied"
    assert path.read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
def test_existing_file_is_untouched_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, existing: bool
) -> None:
    path = tmp_path / "x.json"
    if existing:
        path.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(failing, fail)
    assert refusal(path) == f"{path}: cannot be written: no space left on device"
    assert files_in(tmp_path) == (["x.json"] if existing else [])
    if existing:
        assert path.read_text(encoding="utf-8") == "old"


def test_existing_file_is_untouched_by_text_that_cannot_be_encoded(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("old", encoding="utf-8")
    refusal(path, "half of a pair: \ud83d")
    assert path.read_text(encoding="utf-8") == "old"
    assert files_in(tmp_path) == ["x.json"]


def test_existing_file_is_untouched_by_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_text("old", encoding="utf-8")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert files_in(tmp_path) == ["x.json"]


def test_check_leaves_no_trace(tmp_path: Path) -> None:
    check_writable(tmp_path / "x.json")
    assert files_in(tmp_path) == []
    (tmp_path / "y.json").write_text("old", encoding="utf-8")
    check_writable(tmp_path / "y.json")
    assert (tmp_path / "y.json").read_text(encoding="utf-8") == "old"
    with pytest.raises(InputError, match="is a directory"):
        check_writable(tmp_path)
