"""`rarmodel instances` and its commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from small_library import FIRST, SEEDS, searched, small_library

import rarmodel
from rarmodel.files import format_json, read_record, to_json, write_text
from rarmodel.instances import Library, changed, names

if TYPE_CHECKING:
    from invocation import Invoke


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "library.json"
    write_text(path, to_json(small_library()))
    return path


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    path = tmp_path / "schedule.json"
    write_text(path, to_json(searched()))
    return path


def test_examples_are_listed_before_the_families(invoke: Invoke) -> None:
    examples, families = invoke("instances").out.split("\n\n")
    assert [line.split()[0] for line in examples.splitlines()[2:]] == names("examples")
    assert [line.split()[:2] for line in families.splitlines()[2:]] == [
        [row["family"], str(row["instances"])] for row in rarmodel.list_families()
    ]


def test_family_is_listed_alone_with_values_bounds_and_gaps(invoke: Invoke) -> None:
    outcome = invoke("instances", "--family", "stars-8x4")
    head, _, *lines = outcome.out.splitlines()
    rows = rarmodel.list_instances("stars-8x4")
    assert [line.split()[0] for line in lines] == [row["name"] for row in rows]
    assert "best known" in head
    for line, row in zip(lines, rows, strict=True):
        assert f"{row['best_known']}   " in line
        assert f"{row['gap']:.2%}" in line
        assert row["proven_by"] in line


def test_family_as_json_has_every_field(invoke: Invoke) -> None:
    outcome = invoke("instances", "--family", "spread", "--json")
    assert outcome.json() == rarmodel.list_instances("spread")


def test_unknown_family_exits_2_with_a_line(invoke: Invoke, tmp_path: Path) -> None:
    for words in (
        ["instances", "--family", "x"],
        ["instances", "write", tmp_path, "--family", "x"],
    ):
        outcome = invoke(*words)
        assert outcome.code == 2
        (line,) = outcome.lines
        assert line.startswith("no family 'x'; choose one of examples, ")


def test_instances_and_schedules_are_written(invoke: Invoke, library: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    outcome = invoke("instances", "write", folder, "--library", library, "--schedules")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.lines == [f"{folder}: {len(SEEDS)} instances"]
    made = {f"small-{seed}{end}" for seed in SEEDS for end in (".json", ".schedule.json")}
    assert {path.name for path in folder.iterdir()} == made
    assert invoke("verify", folder / f"{FIRST}.json", folder / f"{FIRST}.schedule.json").code == 0


def test_sound_library_is_checked(invoke: Invoke, library: Path) -> None:
    outcome = invoke("instances", "check", "--library", library)
    assert (outcome.code, outcome.err) == (0, "")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert ["instances", "2"] in lines
    assert ["schedules", "2"] in lines
    assert ["problems", "0"] in lines
    outcome = invoke("instances", "check", "--library", library, "--bounds", "--json")
    found = outcome.json()
    assert [one["instance"] for one in found["bounds"]] == [f"small-{seed}" for seed in SEEDS]
    assert all(one["reproduced"] for one in found["bounds"])


def test_recomputed_bounds_are_a_table(invoke: Invoke, library: Path) -> None:
    words = ["--library", library, "--bounds", "--time-limit", 5]
    table, lines = invoke("instances", "check", *words).out.split("\n\n")
    assert table.splitlines()[2].split()[0] == FIRST
    assert "bounds reproduced  2 of 2" in lines


def test_unsound_library_exits_1_and_a_malformed_one_2(invoke: Invoke, library: Path) -> None:
    sound = read_record(Library, library)
    other = changed(sound, lambda one: one.model_copy(update={"sha256": "0" * 64}))
    write_text(library, to_json(other))
    outcome = invoke("instances", "check", "--library", library)
    assert outcome.code == 1
    assert len(outcome.lines) == 2
    assert outcome.lines[0].startswith("families[0].instances[0].sha256: 000")
    write_text(library, format_json({"schema_version": 1}))
    outcome = invoke("instances", "check", "--library", library)
    assert outcome.code == 2
    assert outcome.lines == [f"{library}: families: missing; this field is required"]


def test_improvements_are_told_line_by_line_and_written(
    invoke: Invoke, library: Path, schedule: Path
) -> None:
    words = ["instances", "improve", schedule, "--library", library, "--output", library]
    outcome = invoke(*words)
    assert outcome.code == 0
    best, bound = outcome.out.splitlines()
    assert best == f"{FIRST}: makespan: best 15 → 11, by search"
    assert bound.startswith(f"{FIRST}: makespan: bound 10 → 11, by ")
    assert outcome.lines == [f"{library}: 2 changes"]
    assert invoke("instances", "check", "--library", library).code == 0
    outcome = invoke(*words, "--json")
    assert (outcome.code, outcome.json()) == (0, [])


def test_improvements_as_json(invoke: Invoke, library: Path, schedule: Path) -> None:
    words = ["instances", "improve", schedule, "--library", library, "--output", library]
    first, _ = invoke(*words, "--json").json()
    assert first == {
        "instance": FIRST,
        "objective": "makespan",
        "what": "best",
        "before": 15,
        "after": 11,
        "by": "search",
    }


def test_improved_library_goes_to_stdout(invoke: Invoke, library: Path, schedule: Path) -> None:
    outcome = invoke("instances", "improve", schedule, "--library", library, "--output", "-")
    assert outcome.lines[0] == f"{FIRST}: makespan: best 15 → 11, by search"
    assert '"by": "search"' in outcome.out
    assert invoke("instances", "improve", schedule, "--output", "-", "--json").code == 2


def test_schedules_of_no_use_exit_1_and_malformed_ones_2(
    invoke: Invoke, library: Path, schedule: Path, tmp_path: Path
) -> None:
    before = library.read_bytes()
    stranger = searched().model_copy(update={"instance": "nope", "bound": None})
    write_text(schedule, to_json(stranger))
    words = ["--library", library, "--output", library]
    outcome = invoke("instances", "improve", schedule, *words)
    assert outcome.code == 1
    assert outcome.lines[-1] == f"{schedule}: the library does not have its instance, 'nope'"
    assert library.read_bytes() == before
    outcome = invoke("instances", "improve", tmp_path, *words)
    assert outcome.code == 2
    assert outcome.lines[0].startswith(f"{library}: ")
    assert library.read_bytes() == before
