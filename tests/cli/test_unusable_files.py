"""Malformed and missing files: a line for each problem, and exit code 2."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from documents import (
    instance_data,
    label,
    removed,
    replaced,
    schedule_data,
    tree_data,
)

if TYPE_CHECKING:
    from invocation import Invoke


STAR, RACK = instance_data(), tree_data(("s0", "r"), ("s1", "r"), ("r", "core"))
SERVERS, LINKS = ("cluster", "servers"), ("cluster", "network", "links")

MALFORMED: list[tuple[str, object, list[str]]] = [
    # what it is, the file (data, or text or bytes), what each line says after the file's name
    ("not JSON", "slot_seconds = 1", ["not JSON: Expecting value (line 1, column 1)"]),
    ("JSON cut off", json.dumps(STAR)[:-1], ["not JSON: Expecting ',' delimiter (line 1, column "]),
    ("a list", [STAR], ["the top level is a list; an object is expected"]),
    ("a number", 3, ["the top level is 3; an object is expected"]),
    ("null", None, ["the top level is null; an object is expected"]),
    ("empty", "", ["empty; a JSON object is expected"]),
    ("only space", " \n ", ["empty; a JSON object is expected"]),
    ("UTF-16", json.dumps(STAR).encode("utf-16"), ["not UTF-8 text (byte 0); JSON in UTF-8"]),
    (
        "binary",
        b"\x89PNG\r\n\x1a\n\x00\xff",
        ["not UTF-8 text (byte 0); JSON in UTF-8 is expected"],
    ),
    ("NUL bytes", b"\0" * 9, ["not JSON: Expecting value (line 1, column 1)"]),
    ("too deep", "[" * 99_999, ["not usable JSON: nested too deeply"]),
    ("5,000 digits", '{"a": ' + "7" * 5000 + "}", ["not usable JSON: a number too long"]),
    ("duplicate key", json.dumps(STAR)[:-1] + ', "name": "x"}', ["name: this field occurs twice"]),
    (
        "NaN",
        replaced(STAR, ("time", "slot_seconds"), float("nan")),
        ["time.slot_seconds: NaN; a finite number is expected"],
    ),
    (
        "infinity",
        replaced(STAR, ("jobs", 0, "gradient_mb"), float("inf")),
        ["jobs[0].gradient_mb: Infinity; a finite number is expected"],
    ),
    (
        "1e400",
        json.dumps(replaced(STAR, ("time", "slot_seconds"), "?")).replace('"?"', "1e400"),
        ["time.slot_seconds: Infinity; a finite number is expected"],
    ),
    (
        "10^400",
        replaced(STAR, ("time", "slot_seconds"), 10**400),
        ["time.slot_seconds: a whole number of more than 20 digits; it must be within ±1e+30"],
    ),
    (
        "-0.0",
        replaced(STAR, ("cluster", "intra_server_gbps"), -0.0),
        ["cluster.intra_server_gbps: -0.0; it must be above 0"],
    ),
    (
        "1e-400",
        json.dumps(replaced(STAR, ("cluster", "reduction_gbps"), "?")).replace('"?"', "1e-400"),
        ["cluster.reduction_gbps: 0.0; it must be above 0"],
    ),
    (
        "text as number",
        replaced(STAR, ("jobs", 1, "gpus"), "1"),
        ["jobs[1].gpus: '1'; a whole number is expected"],
    ),
    (
        "fraction as count",
        replaced(STAR, ("jobs", 1, "iterations"), 1.5),
        ["jobs[1].iterations: 1.5; a whole number is expected"],
    ),
    (
        "truth as number",
        replaced(STAR, ("jobs", 1, "backward_ms"), True),
        ["jobs[1].backward_ms: true; a number is expected"],
    ),
    (
        "null as number",
        replaced(STAR, ("jobs", 1, "iterations"), None),
        ["jobs[1].iterations: null; a whole number is expected"],
    ),
    (
        "number as name",
        replaced(STAR, ("name",), 5),
        ["name: 5; a text is expected"],
    ),
    (
        "object as list",
        replaced(STAR, ("jobs",), {}),
        ["jobs: an object; a list is expected"],
    ),
    (
        "lone surrogate",
        replaced(STAR, ("name",), "\udc80"),
        ["name: '\\udc80'; half of a surrogate pair is not text"],
    ),
    (
        "typo in a field",
        removed(replaced(STAR, ("time", "slot_second"), 1.0), ("time", "slot_seconds")),
        ["time.slot_second: unknown field; 'slot_seconds' is missing here, was it meant?"],
    ),
    (
        "unknown field",
        replaced(STAR, ("jobs", 1, "urgency"), 3),
        ["jobs[1].urgency: unknown field; remove it or correct its name"],
    ),
    (
        "unknown field with a line break and markup",
        replaced(STAR, ("[red]\n[/red]",), 3),
        ['["[red]\\n[/red]"]: unknown field; remove it or correct its name'],
    ),
    ("missing field", removed(STAR, ("cluster",)), ["cluster: missing; this field is required"]),
    (
        "version 2",
        replaced(STAR, ("schema_version",), 2),
        ["schema_version: 2; 1 is expected"],
    ),
    ("no jobs", replaced(STAR, ("jobs",), []), ["jobs: an empty list; at least one entry"]),
    (
        "duplicate job",
        replaced(STAR, ("jobs", 1, "name"), "a"),
        ["jobs[1].name: 'a' names two jobs; names must be unique"],
    ),
    (
        "duplicate server",
        replaced(STAR, (*SERVERS, 1, "name"), "s0"),
        ["cluster.servers[1].name: 's0' names two servers; names must be unique"],
    ),
    (
        "job larger than the cluster",
        replaced(STAR, ("jobs", 0, "gpus"), 5),
        ["jobs[0].gpus: job 'a' asks for 5 GPUs; the cluster has 4"],
    ),
    (
        "job of 10^12 GPUs",
        replaced(STAR, ("jobs", 0, "gpus"), 10**12),
        ["jobs[0].gpus: job 'a' asks for 1000000000000 GPUs; the cluster has 4"],
    ),
    (
        "server of 10^12 GPUs",
        replaced(STAR, (*SERVERS, 0, "gpus"), 10**12),
        ["cluster.servers: 1000000000002 GPUs in all; at most 10000000 are supported"],
    ),
    (
        "cyclic network",
        replaced(RACK, (*LINKS, 2, "parent"), "r"),
        ["cluster.network.links[2]: a cycle, 'r' → 'r'; a tree has none"],
    ),
    (
        "network of two trees",
        replaced(RACK, (*LINKS, 1, "parent"), "other"),
        ["cluster.network.links: 2 separate trees, with roots 'core', 'other'; "],
    ),
    (
        "network that misses a server",
        removed(RACK, (*LINKS, 1)),
        ["cluster.network.links: no uplink for server 's1'; every server needs one"],
    ),
    (
        "server as a switch",
        replaced(RACK, (*LINKS, 1, "parent"), "s0"),
        ["cluster.network.links[1].parent: 's0' is a server; only a switch can have links below"],
    ),
    (
        "two uplinks",
        replaced(RACK, (*LINKS, 1, "node"), "s0"),
        ["cluster.network.links[1].node: 's0' already has an uplink; every node has one uplink"],
    ),
    (
        "unknown network",
        replaced(STAR, ("cluster", "network", "kind"), "mesh"),
        ["cluster.network.kind: 'mesh'; 'star' or 'tree' is expected"],
    ),
    (
        "slot_seconds too small",
        replaced(STAR, ("time", "slot_seconds"), 1e-9),
        ["time.slot_seconds: 1e-09; slot too short for jobs 'a', 'b': alone in its best placement"],
    ),
    (
        "iteration without time",
        replaced(STAR, ("jobs", 1, "backward_ms"), 0),
        ["jobs[1]: an iteration of job 'b' takes 0 s; it must take more"],
    ),
    (
        "several problems",
        replaced(replaced(removed(STAR, ("name",)), ("jobs", 0, "gpus"), 0), ("x",), 1),
        [
            "name: missing; this field is required",
            "jobs[0].gpus: 0; it must be at least 1",
            "x: unknown field; remove it or correct its name",
        ],
    ),
]


def write_anything(path: Path, content: object) -> Path:
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("content", "says"), [case[1:] for case in MALFORMED], ids=[case[0] for case in MALFORMED]
)
@pytest.mark.parametrize(
    "command",
    [
        ("verify", "FILE", "schedule"),
        ("solve", "FILE"),
        ("solve", "FILE", "--formulation", "time-indexed", "--json"),
        ("compare", "two-servers", "FILE", "--method", "first-fit"),
    ],
    ids=" ".join,
)
def test_malformed_instance_exits_2_with_a_line_for_each_problem(
    invoke: Invoke,
    tmp_path: Path,
    schedule_file: Path,
    command: tuple[str, ...],
    content: object,
    says: list[str],
) -> None:
    path = write_anything(tmp_path / "bad.json", content)
    files = {"FILE": path, "schedule": schedule_file}
    outcome = invoke(*(files.get(word, word) for word in command))
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.lines) == len(says)
    for line, said in zip(outcome.lines, says, strict=True):
        assert line.startswith(f"{path}: {said}")


@pytest.mark.parametrize(
    ("content", "says"), [case[1:] for case in MALFORMED[:13]], ids=[c[0] for c in MALFORMED[:13]]
)
def test_malformed_standard_input_exits_2_with_a_line_for_each_problem(
    invoke: Invoke, content: object, says: list[str]
) -> None:
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    outcome = invoke("solve", "-", stdin=content)
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.lines) == len(says)
    assert outcome.err.startswith(f"standard input: {says[0]}")


MALFORMED_SCHEDULES: list[tuple[str, object, str]] = [
    ("not JSON", "{", "not JSON: "),
    ("a list", [], "the top level is a list; an object is expected"),
    ("empty", "", "empty; a JSON object is expected"),
    ("negative zero start", replaced(schedule_data(), ("assignments", 0, "start"), -0.0), ""),
    (
        "typo",
        removed(
            replaced(schedule_data(), ("assignments", 1, "starts"), 0), ("assignments", 1, "start")
        ),
        "assignments[1].starts: unknown field; 'start' is missing here, was it meant?",
    ),
    (
        "completion given",
        replaced(schedule_data(), ("assignments", 1, "completion"), 9),
        "assignments[1].completion: unknown field; remove it or correct its name",
    ),
    (
        "counts instead of indices",
        replaced(schedule_data(), ("assignments", 0, "gpus"), {"s0": 2}),
        "assignments[0].gpus.s0: 2; a list is expected",
    ),
    (
        "null among indices",
        replaced(schedule_data(), ("assignments", 0, "gpus"), {"s0": [0, None]}),
        "assignments[0].gpus.s0[1]: null; a whole number is expected",
    ),
    (
        "truth as start",
        replaced(schedule_data(), ("assignments", 0, "start"), False),
        "assignments[0].start: false; a whole number is expected",
    ),
    (
        "huge start",
        replaced(schedule_data(), ("assignments", 0, "start"), 10**30),
        "assignments[0].start: a whole number of more than 20 digits; it must be at most 9007",
    ),
    (
        "server without a name",
        replaced(schedule_data(), ("assignments", 0, "gpus"), {"": [0, 1]}),
        'assignments[0].gpus[""]: an empty text; it must not be empty',
    ),
    (
        "server of half a character",
        replaced(schedule_data(), ("assignments", 0, "gpus"), {"\ud800": [0, 1]}),
        "assignments[0].gpus",
    ),
    ("an instance", instance_data(), ""),
]


@pytest.mark.parametrize(
    ("content", "says"),
    [case[1:] for case in MALFORMED_SCHEDULES],
    ids=[case[0] for case in MALFORMED_SCHEDULES],
)
def test_malformed_schedule_exits_2_and_names_the_place(
    invoke: Invoke, tmp_path: Path, instance_file: Path, content: object, says: str
) -> None:
    path = write_anything(tmp_path / "bad.json", content)
    outcome = invoke("verify", instance_file, path, "--json")
    assert outcome.code == 2
    assert outcome.out == ""
    assert all(line.startswith(f"{path}: ") for line in outcome.lines)
    assert outcome.lines[0].startswith(f"{path}: {says}")
    assert len(outcome.lines) == 1 or not says


@pytest.mark.parametrize("which", ["instance", "schedule"])
def test_missing_file_exits_2_with_one_line(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path, which: str
) -> None:
    none = tmp_path / "none.json"
    files = (none, schedule_file) if which == "instance" else (instance_file, none)
    outcome = invoke("verify", *files)
    assert outcome.code == 2
    assert outcome.lines == [f"{none}: cannot be read: no such file or directory"]


@pytest.mark.skipif(os.name == "nt", reason="Windows says permission denied")
def test_folder_exits_2_with_one_line(
    invoke: Invoke, instance_file: Path, schedule_file: Path, tmp_path: Path
) -> None:
    for files in ((tmp_path, schedule_file), (instance_file, tmp_path)):
        outcome = invoke("verify", *files)
        assert outcome.code == 2
        assert outcome.lines == [f"{tmp_path}: cannot be read: is a directory"]


@pytest.mark.parametrize(
    "name", ["x" * 300, "x" * 300 + ".json", "", "no\nsuch", "[red]"], ids=label
)
def test_impossible_name_exits_2_with_one_line(
    invoke: Invoke, schedule_file: Path, name: str
) -> None:
    outcome = invoke("verify", name, schedule_file)
    assert outcome.code == 2
    assert outcome.out == ""
    assert len(outcome.lines) == 1


def test_unknown_name_says_what_lists_instances_and_which_was_meant(
    invoke: Invoke, schedule_file: Path
) -> None:
    outcome = invoke("verify", "two-server", schedule_file)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line == (
        "two-server: neither a file nor a bundled instance; `rarmodel instances` lists these; "
        "was 'two-servers' meant?"
    )
