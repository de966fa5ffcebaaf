"""Take pictures of reports at four sizes, as the documentation shows them.

    python docs/report_pictures.py docs/images
    python docs/report_pictures.py docs/images figure-7
    python docs/report_pictures.py docs/images --simulations study

The first writes report-4.png, report-12.png, report-160.png and report-10000.png; the second
campaign.png, and the third simulations.png, of a campaign's folder:

    rarmodel campaign run rarmodel/campaigns/figures/figure-7.yaml --output figure-7
    rarmodel campaign run docs/study/study.yaml --output study

Needs the extra `plot`, Pillow, Playwright and a Chromium; see CONTRIBUTING.md. Takes a minute or
two, as `search` runs for 30 s on the largest.
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
import rarmodel.campaigns
from rarmodel.schema import Instance

SECONDS = 30


def problems() -> list[tuple[Instance, tuple[str, ...], str]]:
    """Instances, the methods that solve them, and up to which heading the page is shown."""
    small = rarmodel.generate("contention", jobs=12, servers=4, slot_seconds=60, seed=1)
    large = rarmodel.generate(
        "paper", jobs=10_000, servers=1000, horizon=20_000, slot_seconds=60, seed=1
    )
    return [
        (rarmodel.load_instance("two-servers"), ("search", "sjf-bco"), "#bounds"),
        (small, ("search", "sjf-bco", "first-fit"), "#bounds"),
        (rarmodel.load_instance("paper-160"), ("search", "sjf-bco"), "#bounds"),
        (large, ("search", "first-fit"), "#bounds"),
    ]


def report_of(instance: Instance, methods: tuple[str, ...]) -> str:
    """The page that compares what the methods find."""
    results = [rarmodel.solve(instance, method=name, time_limit=SECONDS) for name in methods]
    return rarmodel.report(instance, [r.schedule for r in results if r.schedule is not None])


def take(browser: Any, report: str, heading: str, target: Path, part: str = "") -> None:
    """Write a page as PNG of few colours, from its top to a heading, with a part opened."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary, "report.html")
        path.write_text(report, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1240, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        if part:
            page.locator(part).click()
        page.wait_for_timeout(500)
        clip = {"x": 0, "y": 0, "width": 1240, "height": page.locator(heading).bounding_box()["y"]}
        image = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip))).convert("RGB")
    few = image.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(target, optimize=True)
    print(target, target.stat().st_size)


if __name__ == "__main__":
    folder, *campaigns = (Path(one) for one in sys.argv[1:] if one != "--simulations")
    simulations = "--simulations" in sys.argv
    chromium = os.environ.get("RARMODEL_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for campaign in campaigns:
            if simulations:
                page = rarmodel.campaigns.simulations_report(campaign)
                target = folder / "simulations.png"
                take(browser, page, "#group-8-time", target, "#panel-8 > summary")
                continue
            page = rarmodel.campaigns.campaign_report(campaign)
            take(browser, page, "h3:text-is('Gap')", folder / "campaign.png")
        for instance, methods, heading in [] if campaigns else problems():
            page = report_of(instance, methods)
            take(browser, page, heading, folder / f"report-{len(instance.jobs)}.png")
        browser.close()
