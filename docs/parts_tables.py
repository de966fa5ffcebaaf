"""Write who handles what into docs/parts.md: every part, by objectives and by features.

    python docs/parts_tables.py

The docs build does the same, so the website is never behind; a test compares the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rarmodel
from rarmodel.model.features import WIDER, in_words
from rarmodel.registry import names

PAGE = Path(__file__).parent / "parts.md"
KINDS = {
    "Methods": "methods",
    "Formulations": "formulations",
    "Bounds": "bounds",
    "Neighbourhoods of search": "neighbourhoods",
    "Reports": "reports",
}
"""The parts, by the heading of their table."""


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table: a row for each part, in the words of `rarmodel list`."""
    lines = ["| name | objectives | features |", "|---|---|---|"]
    for row in rows:
        objectives = in_words(row["objectives"], names("objectives"))
        features = in_words(row["handles"], WIDER)
        lines.append(f"| `{row['name']}` | {objectives} | {features} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """The page with its tables made anew, each below its heading."""
    for heading, kind in KINDS.items():
        found = re.compile(rf"(?s)(\n## {heading}\n\n(?:(?!\|)[^\n]+\n\n)*)\|.*?\n(?=\n|\Z)")
        page, times = found.subn(lambda match: match[1] + table(rarmodel.parts(kind)) + "\n", page)  # noqa: B023
        if times != 1:
            raise ValueError(f"{PAGE.name}: no table below the heading {heading!r}")
    return page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
