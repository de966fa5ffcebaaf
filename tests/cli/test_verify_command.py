"""`rarmodel verify`: verdicts on hand-broken schedules, and refusals of malformed files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documents import (
    Data,
    assignment_data,
    instance_data,
    job_data,
    label,
    removed,
    replaced,
    schedule_data,
    tree_data,
)

if TYPE_CHECKING:
    from invocation import Invoke

A, B = assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0])


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


# Verdicts


def test_feasible_schedule_exits_0(
    invoke: Invoke, instance_file: Path, schedule_file: Path
) -> None:
    outcome = invoke("verify", instance_file, schedule_file)
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.splitlines() == [
        "feasible         yes",
        "makespan         2 slots",
        "mean completion  1.50 slots",
        "GPU utilisation  s0 100%, s1 25%",
        "violations       0",
    ]


def test_json_of_a_feasible_schedule(
    invoke: Invoke, instance_file: Path, schedule_file: Path
) -> None:
    outcome = invoke("verify", instance_file, schedule_file, "--json")
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.json() == {
        "feasible": True,
        "makespan": 2,
        "mean_completion": 1.5,
        "completion": {"a": 2, "b": 1},
        "utilisation": {"s0": 1.0, "s1": 0.25},
        "violations": [],
    }


BROKEN: list[tuple[str, list[Data], list[tuple[str, str, str | None, int | None]]]] = [
    (
        "all jobs at slot 0 on the same GPUs",
        [A, assignment_data("b", 0, s0=[0])],
        [("capacity", "b", "s0", 0)],
    ),
    ("a job missing", [A], [("assignment", "b", None, None)]),
    ("no job at all", [], [("assignment", "a", None, None), ("assignment", "b", None, None)]),
    ("a job doubled", [A, B, assignment_data("b", 4, s1=[1])], [("assignment", "b", None, 4)]),
    (
        "a job on too many GPUs",
        [A, assignment_data("b", 3, s1=[0, 1])],
        [("gang", "b", None, 3)],
    ),
    ("a job on too few GPUs", [assignment_data("a", 3, s0=[0]), B], [("gang", "a", None, 3)]),
    (
        "a job on an unknown server",
        [A, assignment_data("b", 6, s9=[0])],
        [("index", "b", "s9", 6)],
    ),
    (
        "a job on an unknown GPU",
        [A, assignment_data("b", 6, s1=[2])],
        [("index", "b", "s1", 6)],
    ),
    ("a job past the horizon", [A, assignment_data("b", 20, s1=[0])], [("horizon", "b", None, 20)]),
    ("a job before slot 0", [A, assignment_data("b", -1, s1=[0])], [("index", "b", None, -1)]),
    ("an unknown job", [A, B, assignment_data("c", 2, s1=[1])], [("assignment", "c", None, 2)]),
    (
        "several at once",
        [assignment_data("a", 19, s0=[0, 1]), assignment_data("b", 19, s0=[1])],
        [("capacity", "b", "s0", 19), ("horizon", "a", None, 20)],
    ),
]


@pytest.mark.parametrize(
    ("assignments", "violations"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_broken_schedule_exits_1_and_names_constraint_job_server_and_slot(
    invoke: Invoke,
    instance_file: Path,
    tmp_path: Path,
    assignments: list[Data],
    violations: list[tuple[str, str, str | None, int | None]],
) -> None:
    data = {**schedule_data(), "assignments": assignments}
    schedule = write(tmp_path / "broken.json", data)
    outcome = invoke("verify", instance_file, schedule, "--json")
    assert outcome.code == 1
    assert outcome.err == ""
    verdict = outcome.json()
    assert verdict["feasible"] is False
    assert [
        (v["constraint"], v["job"], v["server"], v["slot"]) for v in verdict["violations"]
    ] == violations

    outcome = invoke("verify", instance_file, schedule)
    assert outcome.code == 1
    assert outcome.err == ""
    assert "feasible         no\n" in outcome.out
    assert f"violations       {len(violations)}\n" in outcome.out
    for constraint, job, server, slot in violations:
        row = f"{constraint} {job} {server or '-'} {'-' if slot is None else slot} "
        assert any(" ".join(line.split()).startswith(row) for line in outcome.out.splitlines()), row


def test_stalled_jobs_exit_1_at_once(invoke: Invoke, tmp_path: Path) -> None:
    latest = 2**53 - 1
    ring: dict[str, Any] = {"gradient_mb": 125.0, "backward_ms": 0.0, "iterations": latest}
    jobs = (job_data(name, gpus=2, **ring) for name in "ab")
    data = instance_data(*jobs, horizon=latest)
    data = replaced(data, ("time", "slot_seconds"), 0.2)
    schedule = schedule_data(
        assignment_data("a", 0, s0=[0], s1=[0]), assignment_data("b", 7, s0=[1], s1=[1])
    )
    outcome = invoke(
        "verify", write(tmp_path / "i", data), write(tmp_path / "s", schedule), "--json"
    )
    assert outcome.code == 1
    assert [(v["constraint"], v["job"], v["slot"]) for v in outcome.json()["violations"]] == [
        ("progress", "a", 7),
        ("progress", "b", 7),
    ]
    assert outcome.json()["completion"] == {"a": None, "b": None}


def test_schedule_made_for_another_instance_is_a_note_on_stderr(
    invoke: Invoke, instance_file: Path, tmp_path: Path
) -> None:
    schedule = write(tmp_path / "s.json", {**schedule_data(), "instance": "an\nother"})
    outcome = invoke("verify", instance_file, schedule, "--json")
    assert outcome.code == 0
    assert outcome.json()["feasible"] is True
    assert outcome.lines == [
        f"{schedule}: note: made for instance 'an\\nother', checked against 'example'"
    ]


def test_either_may_come_from_standard_input(
    invoke: Invoke, instance_file: Path, schedule_file: Path
) -> None:
    assert invoke("verify", "-", schedule_file, stdin=json.dumps(instance_data())).code == 0
    assert invoke("verify", instance_file, "-", stdin=json.dumps(schedule_data())).code == 0


def test_both_from_standard_input_is_a_usage_error(invoke: Invoke) -> None:
    outcome = invoke("verify", "-", "-", stdin=json.dumps(instance_data()))
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.lines == ["instance and schedule cannot both come from stdin"]


def test_bundled_instance_is_found_by_name(invoke: Invoke, tmp_path: Path) -> None:
    schedule = {**schedule_data(), "instance": "two-servers", "assignments": []}
    outcome = invoke("verify", "two-servers", write(tmp_path / "s.json", schedule), "--json")
    assert outcome.code == 1
    assert outcome.err == ""
    assert {v["constraint"] for v in outcome.json()["violations"]} == {"assignment"}


def test_file_comes_before_a_bundled_instance_of_its_name(
    invoke: Invoke, tmp_path: Path, schedule_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "two-servers", instance_data())
    outcome = invoke("verify", "two-servers", schedule_file)
    assert outcome.code == 0
    assert outcome.err == ""


NAMES = ["[red]x[/red]", ":smile:", "two\nlines", "\x1b[31mred", "任务-😀", "'\"\\", "x" * 300, " "]


@pytest.mark.parametrize("name", NAMES, ids=label)
def test_names_of_any_kind_are_shown_as_they_are_on_one_line(
    invoke: Invoke, tmp_path: Path, name: str
) -> None:
    data = instance_data(job_data(name), servers=[1])
    data["cluster"]["servers"][0]["name"] = name
    schedule = schedule_data({"job": name, "start": 99, "gpus": {name: [0]}})
    instance, claimed = write(tmp_path / "i", data), write(tmp_path / "s", schedule)
    outcome = invoke("verify", instance, claimed)
    assert outcome.code == 1
    shown = name.replace("\n", "\\n").replace("\x1b", "\\x1b")
    lines = outcome.out.splitlines()
    assert len(lines) == 9  # five of the verdict, an empty one, head, rule, and one violation
    assert shown in lines[3]
    assert lines[-1].count(shown) >= 1
    assert "\x1b" not in outcome.out
    verdict = invoke("verify", instance, claimed, "--json").json()
    assert list(verdict["completion"]) == [name]
    assert verdict["violations"][0]["job"] == name


def test_table_is_not_cut_to_the_width_of_a_terminal_when_piped(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    name = "job-" + "x" * 400
    data, schedule = instance_data(job_data(name)), schedule_data(A)
    outcome = invoke("verify", write(tmp_path / "i", data), write(tmp_path / "s", schedule))
    (line,) = [line for line in outcome.out.splitlines() if "every job must run" in line]
    assert line.split()[:2] == ["assignment", name]


def test_longer_table_has_a_line_for_each_violation(invoke: Invoke, tmp_path: Path) -> None:
    data = instance_data(*(job_data(f"j{i}") for i in range(200)))
    schedule = {**schedule_data(), "assignments": []}
    outcome = invoke("verify", write(tmp_path / "i", data), write(tmp_path / "s", schedule))
    assert sum(line.startswith(" assignment ") for line in outcome.out.splitlines()) == 200


# Malformed

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
        replaced(STAR, ("time", "horizon"), None),
        ["time.horizon: null; a whole number is expected"],
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
        ["name: '\\udc80'; half of a surrogate pair is no text"],
    ),
    (
        "typo in a field",
        removed(replaced(STAR, ("time", "slot_second"), 1.0), ("time", "slot_seconds")),
        ["time.slot_second: unknown field; 'slot_seconds' is missing here, was it meant?"],
    ),
    (
        "unknown field",
        replaced(STAR, ("jobs", 1, "priority"), 3),
        ["jobs[1].priority: unknown field; remove it or correct its name"],
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
        ["jobs[1]: an iteration of job 'b' takes no time; it must take some"],
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


def test_unknown_name_lists_the_bundled_instances(invoke: Invoke, schedule_file: Path) -> None:
    outcome = invoke("verify", "two-server", schedule_file)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line.startswith("two-server: neither a file nor a bundled instance; bundled are ")
    assert "two-servers" in line
