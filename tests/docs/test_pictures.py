"""Pictures of schedules show what the pages beside them print."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest

import rarmodel
from rarmodel.schema import Instance, Schedule

DOCS = Path(__file__).parents[2] / "docs"
FEATURES = sorted(page.stem for page in (DOCS / "features").glob("*.md"))
WITHOUT = {"contention-by-duty", "hybrid-clusters", "real-networks", "shared-gpus", "sweeps"}
"""Pages that compare values, and show no schedule."""


@pytest.fixture(scope="module")
def scripts() -> dict[str, Any]:
    """The names in both scripts that draw pictures."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(DOCS)  # One imports the other.
        names = {script: runpy.run_path(str(DOCS / script)) for script in SCRIPTS}
    return names["gantt.py"] | names["feature_pictures.py"]


SCRIPTS = ("gantt.py", "feature_pictures.py")


def test_pages_that_show_a_picture_are_those_that_are_drawn(scripts: dict[str, Any]) -> None:
    assert {page.stem for page in scripts["pages"]()} == {*FEATURES} - WITHOUT
    drawn = {file.stem for file in (DOCS / "images" / "features").iterdir()}
    assert drawn == {*FEATURES} - WITHOUT


@pytest.mark.parametrize("name", [name for name in FEATURES if name not in WITHOUT])
def test_picture_of_a_feature_shows_the_result_of_its_page(
    name: str, scripts: dict[str, Any]
) -> None:
    page = DOCS / "features" / f"{name}.md"
    _, schedule = scripts["result_of"](page)
    picture = scripts["picture_of"](page).read_text(encoding="utf-8")
    stale = "run: python docs/feature_pictures.py"
    assert scripts["carried"](picture) == scripts["told"]([schedule]), stale


def test_a_picture_carries_what_it_shows(scripts: dict[str, Any]) -> None:
    instance = rarmodel.load_instance("two-servers")
    schedules = scripts["schedules_of"](instance, ["first-fit", "sjf-bco"])
    picture = scripts["drawn"](instance, schedules)
    assert scripts["carried"](picture) == scripts["told"](schedules)
    for schedule in schedules:
        for assignment in schedule.assignments:
            assert f">{assignment.job}<" in picture
    assert [one.method for one in schedules] == ["first-fit", "sjf-bco"]
    assert scripts["carried"]("<svg></svg>") == []


@pytest.mark.parametrize(
    ("picture", "source", "makespans"),
    [
        ("lab", "lab.json", [34, 13, 10]),
        ("lemma-3-real-fails", "lemma-3-real-fails", [25, 7]),
    ],
)
def test_pictures_of_methods_show_the_values_that_the_pages_name(
    picture: str, source: str, makespans: list[int], scripts: dict[str, Any]
) -> None:
    file = DOCS / "examples" / source
    instance = rarmodel.load_instance(file if file.exists() else source)
    shown = scripts["carried"]((DOCS / "images" / f"{picture}.svg").read_text(encoding="utf-8"))
    reports = [rarmodel.verify(instance, schedule_with(instance, data)) for data in shown]
    assert all(report.feasible for report in reports)
    assert [report.makespan for report in reports] == makespans


def test_picture_of_the_pitch_shows_the_values_that_the_readme_names(
    scripts: dict[str, Any],
) -> None:
    instance = rarmodel.load_instance("paper-160")
    picture = (DOCS / "images" / "paper-160.svg").read_text(encoding="utf-8")
    shown = scripts["carried"](picture)
    reports = [rarmodel.verify(instance, schedule_with(instance, data)) for data in shown]
    assert all(report.feasible for report in reports)
    values = [402, 357, 273]
    assert [report.makespan for report in reports] == values
    bound = rarmodel.solve(instance, method="sjf-bco").lower_bound
    assert f"no schedule can be shorter: {bound} slots" in picture
    assert bound == values[-1]
    for page in (DOCS.parent / "README.md", DOCS / "index.md"):
        text = page.read_text(encoding="utf-8")
        assert [value for value in values if str(value) not in text] == []


def test_badges_say_what_the_package_says() -> None:
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python = "Programming Language :: Python :: "
    versions = [
        one.removeprefix(python) for one in project["classifiers"] if one.startswith(python + "3.")
    ]
    said = {
        "python": " | ".join(versions),
        "licence": project["license"],
        "status": "alpha" if "Development Status :: 3 - Alpha" in project["classifiers"] else "",
    }
    for name, value in said.items():
        badge = (DOCS / "images" / "badges" / f"{name}.svg").read_text(encoding="utf-8")
        assert f'aria-label="{name}: {value}"' in badge
        assert f">{value}</text>" in badge


def test_picture_of_a_wider_instance_shows_what_search_and_fifo_find(
    scripts: dict[str, Any],
) -> None:
    instance = rarmodel.load_instance(DOCS / "examples" / "cluster-at-work.json")
    found = [
        rarmodel.solve(instance, iterations=40),
        rarmodel.solve(instance, method="fifo-backfill"),
    ]
    shown = scripts["carried"]((DOCS / "images" / "wide.svg").read_text(encoding="utf-8"))
    reports = [rarmodel.verify(instance, schedule_with(instance, data)) for data in shown]
    values = [goal.value for result in found for goal in result.objective]
    assert [value for one in reports for value in (one.objective or {}).values()] == values


def schedule_with(instance: Instance, assignments: list[Any]) -> Schedule:
    """A schedule of plain data."""
    return Schedule.model_validate(
        {
            "schema_version": 1,
            "instance": instance.name,
            "method": "picture",
            "assignments": assignments,
        }
    )
