"""Draw the schedule that each page of features ends with.

    python docs/feature_pictures.py

runs the examples of `docs/features/*.md` and writes `docs/images/features/*.svg`. Needs the extra
`plot`.
"""

from __future__ import annotations

import contextlib
import doctest
from pathlib import Path
from typing import Any

import rarmodel

DOCS = Path(__file__).parent.resolve()

if __name__ == "__main__":
    pictures = DOCS / "images" / "features"
    pictures.mkdir(parents=True, exist_ok=True)
    for page in sorted((DOCS / "features").glob("*.md")):
        names: dict[str, Any] = {}
        with contextlib.chdir(DOCS / "examples"):
            for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
                exec(compile(example.source, str(page), "single"), names)  # noqa: S102 - our pages
        if "result" in names:
            drawn = rarmodel.plot(
                names["instance"], [names["result"].schedule], form="svg", parts=["gantt"]
            )
            (pictures / f"{page.stem}.svg").write_bytes(drawn)
