"""The changelog: a dated section for each version, which a user reads in three minutes."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
PARTS = re.split(r"(?m)^## (.+)$", TEXT)
SECTIONS = dict(zip(PARTS[1::2], PARTS[2::2], strict=True))
"""Text below each heading, by heading."""
WORDS = 850
"""What a user reads in three minutes."""


def test_version_of_the_package_is_the_newest_dated_section() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    unreleased, newest, *_ = SECTIONS
    version, _, day = newest.partition(" - ")
    assert unreleased == "Unreleased"
    assert version == project["version"]
    assert date.fromisoformat(day).isoformat() == day


def test_section_of_a_version_is_read_in_three_minutes() -> None:
    # A merge that keeps the lines of both sides can bring back what a release has summed up.
    assert {
        heading: len(text.split())
        for heading, text in SECTIONS.items()
        if heading != "Unreleased" and len(text.split()) > WORDS
    } == {}


def test_no_change_is_told_twice() -> None:
    lines = [line for line in TEXT.splitlines() if line.startswith("- ")]
    assert len(set(lines)) == len(lines)
