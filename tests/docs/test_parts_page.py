"""The page on who handles what is what the parts say, and has all of them."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from random import Random

import pytest
from segmented import random_schedule
from wide_instances import WIDE, random_wide

import rarmodel
from rarmodel import registry
from rarmodel.bounds import bounds
from rarmodel.kinds import Kind
from rarmodel.model.features import (
    CARDS,
    DUTY,
    FEATURES,
    LATENCY,
    NETWORK_PRESSURES,
    OBJECTIVES,
    OVERLAP,
    PREEMPTION,
    WIDER,
    in_words,
)

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "parts.md").read_text(encoding="utf-8")
SCRIPT = runpy.run_path(str(DOCS / "parts_tables.py"))


def test_the_page_is_that_of_the_parts() -> None:
    assert SCRIPT["renewed"](TEXT) == TEXT, "run: python docs/parts_tables.py"


def test_a_page_without_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="no table below the heading 'Bounds'"):
        SCRIPT["renewed"](TEXT.replace("## Bounds", "## Others"))


@pytest.mark.parametrize("kind", ["methods", "formulations", "bounds", "neighbourhoods"])
def test_the_page_has_every_part(kind: Kind) -> None:
    named = set(re.findall(r"(?m)^\| `(.+?)` \|", TEXT))
    assert {part.name for part in registry.parts(kind)} <= named


def test_the_page_names_every_feature() -> None:
    listed = re.search(r"(?m)^The features, by the names that parts use: (.+)\.$", TEXT)
    assert listed is not None
    assert listed[1].split(", ") == [one.name for one in FEATURES if one is not OBJECTIVES]


def test_each_row_has_the_features_of_its_part() -> None:
    for heading, kind in SCRIPT["KINDS"].items():
        below = TEXT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
        found = dict(re.findall(r"(?m)^\| `(.+?)` \| .+? \| (.+) \|$", below))
        assert found == {
            row["name"]: in_words(row["handles"], WIDER) for row in rarmodel.parts(kind)
        }


def test_rows_say_what_the_parts_say() -> None:
    rows = {row["name"]: row for row in rarmodel.parts("methods")}
    terms = DUTY, NETWORK_PRESSURES, LATENCY, OVERLAP, CARDS
    assert rows["first-fit"]["handles"] == [term.name for term in terms]
    assert rows["first-fit"]["objectives"] == ["makespan"]
    assert rows["search"]["handles"] == list(WIDER)
    assert rows["search"]["objectives"] == registry.names("objectives")
    of_bounds = {row["name"]: row["objectives"] for row in rarmodel.parts("bounds")}
    assert of_bounds["cheapest placements"] == ["cost"]
    assert of_bounds["mean busy times"] == ["total-completion", "total-flow"]
    assert list(of_bounds) == [bound.name for bound in bounds()]
    kinds = {row["name"]: row["kind"] for row in rarmodel.parts("objectives")}
    assert (kinds["cost"], kinds["max-flow"], kinds["total-flow"]) == ("price", "greatest", "sum")


def test_words_for_some_of_several_names() -> None:
    names = list("abcdefg")
    assert in_words([], names) == "none"
    assert in_words(names, names) == "all"
    assert in_words(names[:5], names) == "all but f and g"
    assert in_words(names[:3], names) == "a, b, c"


def test_what_reports_say_that_they_handle_they_do() -> None:
    rows = {row["name"]: row["handles"] for row in rarmodel.parts("reports")}
    for name in ("verify", "describe", "plot", "report"):
        assert set(rows[name]) == set(WIDER)
    names = [feature.name for feature in WIDE]
    seeds = (
        random_wide(Random(seed), names, jobs=4, servers=2, most_slots=3) for seed in range(50)
    )
    solved = ((one, rarmodel.solve(one, method="fifo-backfill").schedule) for one in seeds)
    instance, schedule = next((one, found) for one, found in solved if found is not None)
    assert rarmodel.verify(instance, schedule).feasible
    assert rarmodel.describe(instance).jobs
    assert rarmodel.plot(instance, schedule)
    assert rarmodel.report(instance, schedule)
    interrupted = random_wide(Random(1), [*names, PREEMPTION.name], jobs=4, servers=2)
    segments = random_schedule(interrupted, Random(1), 4)
    assert any(len(one.segments) > 1 for one in segments.assignments)
    assert rarmodel.describe(interrupted).jobs
    assert rarmodel.verify(interrupted, segments).periods
    assert rarmodel.plot(interrupted, segments)
    assert rarmodel.report(interrupted, segments)
