"""Instances and schedules of a library as files."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_library import SEEDS, instance_of, known_of, small_library

import rarmodel
from rarmodel.errors import InputError, UsageError
from rarmodel.files import read_instance
from rarmodel.instances import bundled_library
from rarmodel.library import improve, read_library, read_schedules, write_instances


def test_files_are_the_instances_under_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "folder"
    assert write_instances(small_library(), folder) == len(SEEDS)
    for seed in SEEDS:
        assert read_instance(folder / f"small-{seed}.json") == instance_of(seed)
    assert len(list(folder.iterdir())) == len(SEEDS)


def test_schedules_have_values_and_bounds_and_change_nothing(tmp_path: Path) -> None:
    write_instances(small_library(), tmp_path, schedules=True)
    schedules = read_schedules(sorted(tmp_path.glob("*.schedule.json")))
    for path, schedule in schedules.items():
        known = known_of(small_library(), schedule.instance)
        instance = Path(path.replace(".schedule.json", ".json"))
        report = rarmodel.verify(instance, schedule)
        assert report.feasible
        assert report.makespan == known.best.value
        assert schedule.bound is not None
        assert schedule.bound.slots == known.bound.value
    again = improve(small_library(), schedules)
    assert (again.library, again.changes, again.problems) == (small_library(), (), ())


def test_one_family_is_written_alone(tmp_path: Path) -> None:
    assert write_instances(bundled_library(), tmp_path, "stars-6x3") == 10
    assert {path.name for path in tmp_path.iterdir()} == {f"stars-6x3-{i}.json" for i in range(10)}
    with pytest.raises(UsageError, match="no family 'nope'; choose one of examples, stars-6x3"):
        write_instances(bundled_library(), tmp_path, "nope")


def test_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file: cannot be made: file exists"):
        write_instances(small_library(), tmp_path / "file")


def test_folder_of_schedules_is_read_with_the_problems_of_every_file(tmp_path: Path) -> None:
    write_instances(small_library(), tmp_path / "a", schedules=True)
    for seed in SEEDS:
        (tmp_path / "a" / f"small-{seed}.json").unlink()
    assert len(read_schedules([tmp_path / "a"])) == len(SEEDS)
    (tmp_path / "a" / "one.json").write_text("{}")
    (tmp_path / "a" / "two.json").write_text("text")
    with pytest.raises(InputError) as refused:
        read_schedules([tmp_path / "a", tmp_path / "nothing.json", tmp_path])
    sources = {line.split(":")[0].rpartition("/")[2] for line in refused.value.lines()}
    assert sources == {"one.json", "two.json", "nothing.json", tmp_path.name}


def test_bundled_library_is_read_by_default() -> None:
    assert read_library() is bundled_library()
