"""Draw the schedule that each page of features ends with.

    python docs/feature_pictures.py

runs the examples of each page in `docs/features` that shows a picture, and draws the `result` that
they end with: `docs/images/features/*.svg`. Each picture carries its schedule; a test compares the
schedule with that of the page. Needs the extra `plot`.
"""

from __future__ import annotations

import contextlib
import doctest
import io
from pathlib import Path
from typing import Any

from gantt import drawn

from rarmodel.schema import Instance, Schedule

DOCS = Path(__file__).parent.resolve()
PICTURES = DOCS / "images" / "features"


def pages() -> list[Path]:
    """The pages that show a picture of their own."""
    found = sorted((DOCS / "features").glob("*.md"))
    return [page for page in found if picture_of(page).name in page.read_text(encoding="utf-8")]


def picture_of(page: Path) -> Path:
    """The file of a page's picture."""
    return PICTURES / f"{page.stem}.svg"


def result_of(page: Path) -> tuple[Instance, Schedule]:
    """The instance and the schedule that the examples of a page end with."""
    names: dict[str, Any] = {}
    with contextlib.chdir(DOCS / "examples"), contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
            expected = (Exception,) if example.exc_msg else ()
            with contextlib.suppress(*expected):
                exec(compile(example.source, str(page), "single"), names)  # noqa: S102 - our pages
    return names["instance"], names["result"].schedule


if __name__ == "__main__":
    PICTURES.mkdir(parents=True, exist_ok=True)
    for page in pages():
        instance, schedule = result_of(page)
        picture_of(page).write_text(drawn(instance, [schedule]), encoding="utf-8")
