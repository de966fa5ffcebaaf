"""The file of the library: its format, all its problems at once, and the bundled one."""

from __future__ import annotations

import copy
from datetime import date
from importlib.resources import files
from typing import Any

import pytest

import rarmodel
from rarmodel.errors import InputError
from rarmodel.files import format_json, parse_instance, read_record, to_json, write_text
from rarmodel.instances import (
    EXAMPLES,
    Library,
    bundled_library,
    entries,
    names,
    names_of_families,
    text_of,
)

SHA = "0" * 64
RECORD = {"value": 3, "by": "search", "rarmodel": "0.1.0", "date": "2026-11-22"}
KNOWN: dict[str, Any] = {
    "objective": "makespan",
    "best": RECORD,
    "bound": {**RECORD},
    "schedule": [[0, {"s0": 2}]],
}
FILE: dict[str, Any] = {
    "schema_version": 1,
    "families": [
        {
            "name": "examples",
            "description": "Files.",
            "instances": [{"name": "one", "sha256": SHA, "known": [KNOWN]}],
        },
        {
            "name": "stars-6x3",
            "description": "Stars.",
            "generate": {"family": "stars", "parameters": {"jobs": 6}},
            "instances": [{"name": "stars-6x3-0", "seed": 0, "sha256": SHA}],
        },
    ],
}


def problems_of(data: object, tmp_path: Any) -> list[str]:
    path = tmp_path / "library.json"
    write_text(path, format_json(data))
    with pytest.raises(InputError) as refused:
        read_record(Library, path)
    return [": ".join(problem) for problem in refused.value.problems]


def test_file_has_values_bounds_and_days() -> None:
    library = Library.model_validate(FILE)
    (_, family, listed), (_, stars, _) = entries(library)
    (known,) = listed.known
    assert known.best.date == date(2026, 11, 22)
    assert known.optimal
    assert known.schedule == ((0, {"s0": 2}),)
    assert family.generate is None
    assert stars.generate is not None
    assert stars.generate.parameters == {"jobs": 6}


def test_all_problems_are_told_at_once_with_their_places(tmp_path: Any) -> None:
    data = copy.deepcopy(FILE)
    one, two = (family["instances"][0] for family in data["families"])
    one["seed"] = 1
    one["sha256"] = "abc"
    one["known"][0]["best"]["date"] = "22 November"
    one["known"][0]["bound"]["value"] = 1.5
    one["known"][0]["schedule"] = [[-1, {"s0": 0}], [0, {}], "text"]
    del two["seed"]
    data["families"][1]["generate"]["famly"] = "stars"
    place = "families[0].instances[0]"
    expected = "a whole number, or a fraction such as '17/3', is expected"
    assert problems_of(data, tmp_path) == [
        f"{place}.sha256: 'abc'; string should match pattern '^[0-9a-f]{{64}}$'",
        f"{place}.known[0].best.date: '22 November'; a day such as 2026-11-22 is expected",
        f"{place}.known[0].bound.value: 1.5; {expected}",
        f"{place}.known[0].schedule[0][0]: -1; it must be at least 0",
        f"{place}.known[0].schedule[0][1].s0: 0; it must be at least 1",
        f"{place}.known[0].schedule[1][1]: an empty object; at least one entry is expected",
        f"{place}.known[0].schedule[2]: 'text'; a list is expected",
        "families[1].generate.famly: unknown field; was 'family' meant?",
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"bound": {**RECORD, "value": 4}}, "bound.value: 4; it must be at most best.value, 3"),
        ({"claimed": {**RECORD, "value": "7/2"}}, "claimed.value: 7/2; it must be at most best"),
    ],
)
def test_no_bound_is_above_the_value(change: dict[str, Any], problem: str, tmp_path: Any) -> None:
    data = copy.deepcopy(FILE)
    data["families"][0]["instances"][0]["known"][0] |= change
    (found,) = problems_of(data, tmp_path)
    assert found.startswith(f"families[0].instances[0].known[0].{problem}")


def test_names_seeds_and_objectives_are_unique(tmp_path: Any) -> None:
    data = copy.deepcopy(FILE)
    data["families"][0]["instances"][0]["known"] *= 2
    assert problems_of(data, tmp_path) == [
        "families[0].instances[0].known[1].objective: 'makespan' is there already; keep one"
    ]
    data = copy.deepcopy(FILE)
    data["families"][1]["instances"] *= 2
    assert problems_of(data, tmp_path) == [
        "families[1].instances[1].name: 'stars-6x3-0' names another instance too; give each its own"
    ]
    data = copy.deepcopy(FILE)
    data["families"][1]["name"] = "examples"
    assert problems_of(data, tmp_path) == [
        "families[1].name: 'examples' is there already; keep one"
    ]


@pytest.mark.parametrize("name", ["../two-servers", "/x", ".hidden", "a b", ""])
def test_names_do_not_lead_files_elsewhere(name: str, tmp_path: Any) -> None:
    data = copy.deepcopy(FILE)
    data["families"][0]["instances"][0]["name"] = name
    (found,) = problems_of(data, tmp_path)
    assert found.startswith(f"families[0].instances[0].name: '{name}'; string should match")


def test_generated_instances_have_a_seed_and_no_others(tmp_path: Any) -> None:
    data = copy.deepcopy(FILE)
    del data["families"][1]["instances"][0]["seed"]
    (missing,) = problems_of(data, tmp_path)
    assert missing.startswith("families[1].instances[0].seed: missing")
    data = copy.deepcopy(FILE)
    data["families"][0]["instances"][0]["seed"] = 3
    (extra,) = problems_of(data, tmp_path)
    assert extra.startswith("families[0].instances[0].seed: it must not be here")


# The bundled library


def test_bundled_file_is_formatted_as_the_project_writes_it() -> None:
    text = (files("rarmodel.instances") / "library.json").read_text(encoding="utf-8")
    assert to_json(bundled_library()) == text
    assert len(text) < 400_000


def test_names_are_those_of_the_library_examples_first() -> None:
    assert names_of_families() == [family.name for family in bundled_library().families]
    assert names() == [listed.name for _, _, listed in entries(bundled_library())]
    assert names_of_families()[0] == EXAMPLES
    assert names(EXAMPLES)[0] == names()[0] == "two-servers"


def test_only_examples_have_files() -> None:
    assert text_of("stars-6x3-0") is None
    assert text_of("library") is None
    assert text_of("../instances/two-servers") is None
    assert parse_instance(text_of("two-servers") or "").name == "two-servers"


def test_every_instance_is_found_by_name_and_has_a_proven_bound() -> None:
    rows = rarmodel.list_instances()
    assert [row["name"] for row in rows] == names()
    for row in rows:
        assert row["bound"] <= row["best_known"], row["name"]
        assert row["found_by"]
        assert row["proven_by"]
        assert row["optimum"] in {None, row["best_known"]}
    assert rarmodel.load_instance("spread-3") == rarmodel.generate(
        "spread", seed=3, name="spread-3"
    )


def test_families_count_their_optima_and_average_their_gaps() -> None:
    all_rows = rarmodel.list_instances()
    for family in rarmodel.list_families():
        rows = [row for row in all_rows if row["family"] == family["family"]]
        assert family["instances"] == len(rows)
        assert family["optima"] == sum(row["gap"] == 0 for row in rows)
        assert family["greatest_gap"] == max(row["gap"] for row in rows)
        assert 0 <= family["mean_gap"] <= family["greatest_gap"]


def test_unknown_family_is_refused_with_those_there_are() -> None:
    with pytest.raises(rarmodel.UsageError, match="no family 'nope'; choose one of examples, sta"):
        rarmodel.list_instances("nope")


def test_one_family_is_listed_alone() -> None:
    assert [row["name"] for row in rarmodel.list_instances("spread")] == names("spread")
