"""Writing: JSON text, what is read back from it, and files that cannot be written."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from depth import examples
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
    to_json,
    write_text,
)
from rarmodel.schema import Assignment, Instance, Schedule

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

ON_WINDOWS = sys.platform == "win32"


@given(instances())
def test_instance_written_and_read_is_the_same(instance: Instance) -> None:
    assert parse_instance(to_json(instance)) == instance


PRINTABLE = st.characters(exclude_categories=["C", "Z"]) | st.just(" ")
NAMES = st.text(PRINTABLE, min_size=1) | st.tuples(st.text(), st.text()).map("\n".join)
"""Printable texts, and texts with a line break."""
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


@examples(30)
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


@examples(30)
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


@examples(30)
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


@pytest.mark.skipif(ON_WINDOWS, reason="links need privileges")
def test_link_that_leads_to_itself_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    (tmp_path / "below").symlink_to("loop/x.json")
    for name in ("loop", "one", "below"):
        path = tmp_path / name
        reason = "no such file or directory" if name == "below" else "too many levels of"
        assert refusal(path).startswith(f"{path}: cannot be written: {reason}")
        assert path.is_symlink()
    assert "cannot be written: no such file" in refusal(tmp_path / "loop" / "x.json")
    assert files_in(tmp_path) == ["below", "loop", "one", "other"]


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
