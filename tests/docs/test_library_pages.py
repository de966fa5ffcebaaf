"""How the docs fill and extend the library of instances: their script and their campaign."""

from __future__ import annotations

import runpy
from pathlib import Path

from rarmodel.campaigns import read_campaigns
from rarmodel.instances import Library, bundled_library, names

DOCS = Path(__file__).parents[2] / "docs"


def test_script_of_the_docs_adds_what_is_missing_and_changes_nothing_else() -> None:
    renewed = runpy.run_path(str(DOCS / "library_families.py"))["renewed"]
    assert renewed(bundled_library()) == bundled_library()
    examples, stars, *others = bundled_library().families
    fewer = stars.model_copy(update={"instances": stars.instances[1:]})
    added = renewed(Library(schema_version=1, families=(examples, fewer, *others)))
    unknown = stars.instances[0].model_copy(update={"known": ()})
    assert added.families[1].instances == (unknown, *stars.instances[1:])


def test_campaign_of_the_docs_solves_every_instance() -> None:
    ((campaign, _, _),) = read_campaigns(DOCS / "examples" / "library.yaml")
    assert [source.instance for source in campaign.instances] == names()
