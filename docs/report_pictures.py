"""Take pictures of reports at four sizes, as the documentation shows them.

    python docs/report_pictures.py docs/images

Writes report-4.png, report-12.png, report-160.png and report-10000.png. Needs the extras `report`
and `plot` (Pillow comes with Matplotlib), Playwright and a Chromium; see CONTRIBUTING.md. Takes a
minute or two, as `search` runs for 30 s on the largest.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import rarmodel
from rarmodel.schema import Instance

SECONDS = 30
COLOURS = 256
"""In a picture, which keeps it small."""


def problems() -> list[tuple[Instance, tuple[str, ...], str]]:
    """Instances, the methods that solve them, and up to which heading the page is shown."""
    small = rarmodel.generate("contention", jobs=12, servers=4, slot_seconds=60, seed=1)
    large = rarmodel.generate(
        "paper", jobs=10_000, servers=1000, horizon=20_000, slot_seconds=60, seed=1
    )
    return [
        (rarmodel.load_instance("two-servers"), ("search", "sjf-bco"), "bounds"),
        (small, ("search", "sjf-bco", "first-fit"), "utilisation"),
        (rarmodel.load_instance("paper-160"), ("search", "sjf-bco"), "bounds"),
        (large, ("search", "first-fit"), "utilisation"),
    ]


def report_of(instance: Instance, methods: tuple[str, ...]) -> str:
    """The page that compares what the methods find."""
    results = [rarmodel.solve(instance, method=name, time_limit=SECONDS) for name in methods]
    return rarmodel.report(instance, [r.schedule for r in results if r.schedule is not None])


def picture_of(browser: Any, path: Path, heading: str) -> bytes:
    """A page as PNG of few colours, from its top to a heading."""
    page = browser.new_page(viewport={"width": 1240, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
    page.wait_for_timeout(500)
    end = page.evaluate("id => document.getElementById(id).getBoundingClientRect().top", heading)
    clip = {"x": 0, "y": 0, "width": 1240, "height": end - 20}
    image = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    found = io.BytesIO()
    method, dither = Image.Quantize.FASTOCTREE, Image.Dither.NONE
    few = image.convert("RGB").quantize(COLOURS, method=method, dither=dither)
    few.save(found, "png", optimize=True)
    return found.getvalue()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    chromium = os.environ.get("RARMODEL_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for instance, methods, heading in problems():
            path = Path(temporary, "report.html")
            path.write_text(report_of(instance, methods), encoding="utf-8")
            content = picture_of(browser, path, heading)
            target = folder / f"report-{len(instance.jobs)}.png"
            target.write_bytes(content)
            print(target, len(content))
        browser.close()
