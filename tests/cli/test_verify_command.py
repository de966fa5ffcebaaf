"""`rarmodel verify`: verdicts on hand-broken schedules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from documents import (
    Data,
    assignment_data,
    instance_data,
    job_data,
    label,
    replaced,
    schedule_data,
)

if TYPE_CHECKING:
    from invocation import Invoke

A, B = assignment_data("a", 0, s0=[0, 1]), assignment_data("b", 0, s1=[0])


def write(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


# Verdicts


def test_values_of_objectives_are_printed_and_in_json(
    invoke: Invoke, tmp_path: Path, schedule_file: Path
) -> None:
    data = {**instance_data(), "objective": ["total-flow", "cost"]}
    data["cluster"]["prices_per_gpu_hour"] = 3600.0
    path = write(tmp_path / "wide.json", data)
    outcome = invoke("verify", path, schedule_file)
    assert outcome.code == 0
    assert "total-flow       3 weighted slots" in outcome.out.splitlines()
    assert "cost             5 price units" in outcome.out.splitlines()
    outcome = invoke("verify", path, schedule_file, "--json")
    assert outcome.json()["objective"] == {"total-flow": 3, "cost": 5}


def test_other_objectives_than_the_instances_can_be_asked_for(
    invoke: Invoke, instance_file: Path, schedule_file: Path
) -> None:
    outcome = invoke("verify", instance_file, schedule_file, "--objective", "max-flow,late-jobs")
    assert outcome.code == 0
    assert "max-flow         2 slots (2 s)" in outcome.out.splitlines()
    assert "late-jobs        0 weighted jobs" in outcome.out.splitlines()
    outcome = invoke("verify", instance_file, schedule_file, "--objective", "max-flo")
    assert outcome.code == 2
    assert "no objective 'max-flo'" in outcome.err


def test_unknown_objective_is_one_line(invoke: Invoke, tmp_path: Path, schedule_file: Path) -> None:
    path = write(tmp_path / "wide.json", {**instance_data(), "objective": "total-flo"})
    outcome = invoke("verify", path, schedule_file)
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "objective: no objective 'total-flo'; " in line
    assert line.endswith("was 'total-flow' meant?")


def test_broken_demands_are_listed_and_exit_1(
    invoke: Invoke, tmp_path: Path, schedule_file: Path
) -> None:
    data = instance_data()
    data["jobs"][0].update(release=1, deadline=1, servers=["s1"])
    outcome = invoke("verify", write(tmp_path / "wide.json", data), schedule_file, "--json")
    assert outcome.code == 1
    told = [one["constraint"] for one in outcome.json()["violations"]]
    assert told == ["servers", "release", "deadline"]


def test_feasible_schedule_exits_0(
    invoke: Invoke, instance_file: Path, schedule_file: Path
) -> None:
    outcome = invoke("verify", instance_file, schedule_file)
    assert outcome.code == 0
    assert outcome.err == ""
    assert outcome.out.splitlines() == [
        "feasible         yes",
        "makespan         2 slots (2 s)",
        "mean completion  1.50 slots (1.5 s)",
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
        "slot_seconds": 1.0,
        "makespan_seconds": 2.0,
        "end": None,
        "mean_completion": 1.5,
        "objective": {"makespan": 2},
        "ties": {"total-completion": 3, "total-links": 0},
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
        f"{schedule}: note: made for instance 'an\\nother', taken for 'example'"
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
    assert outcome.lines == ["only one input can come from stdin"]


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


# Segments


def interrupted(**later: Any) -> Data:
    """Job a of `instance_data` in two segments; it takes 2 slots in all."""
    first = {"start": 0, "end": 1, "gpus": {"s0": [0, 1]}}
    return {"job": "a", "segments": [first, {"start": 3, "gpus": {"s1": [0, 1]}, **later}]}


def test_segments_are_verified_and_faults_have_the_slot_of_their_segment(
    invoke: Invoke, tmp_path: Path
) -> None:
    data = {**instance_data(), "preemption": {"restore_seconds": 1.5}}
    instance = write(tmp_path / "preemptive.json", data)
    sound = write(tmp_path / "sound.json", schedule_data(interrupted(), B))
    outcome = invoke("verify", instance, sound, "--json")
    assert outcome.code == 0
    assert outcome.json()["completion"] == {"a": 6, "b": 1}
    wrong = write(tmp_path / "wrong.json", schedule_data(interrupted(gpus={"s1": [0]}), B))
    outcome = invoke("verify", instance, wrong, "--json")
    assert outcome.code == 1
    (violation,) = outcome.json()["violations"]
    assert (violation["constraint"], violation["job"], violation["slot"]) == ("gang", "a", 3)
    plain = write(tmp_path / "plain.json", instance_data())
    outcome = invoke("verify", plain, sound)
    assert outcome.code == 1
    assert (
        "job 'a' goes on at slot 3 after an interruption; the instance allows none" in outcome.out
    )


def test_fault_of_a_segment_file_is_one_line_with_its_place(
    invoke: Invoke, tmp_path: Path, instance_file: Path
) -> None:
    late = write(tmp_path / "late.json", schedule_data(B, interrupted(start=0)))
    outcome = invoke("verify", instance_file, late)
    assert outcome.code == 2
    (line,) = outcome.lines
    assert line.endswith(
        "assignments[1].segments[1].start: 0; the segment before it ends at slot 1"
    )
