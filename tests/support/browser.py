"""A headless Chromium that opens pages from files, and notes whatever it should not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

VARIABLE = "RARMODEL_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
READY = "performance.getEntriesByName('rarmodel-ready')[0].startTime"


def chromium() -> str | None:
    """Where a Chromium is: the environment variable says it, or the path has it."""
    found = os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, NAMES)), None)
    return found if found and Path(found).exists() else None


class Opened(NamedTuple):
    """A page that is ready.

    Attributes
    ----------
    page
        Playwright's page.
    complaints
        Console errors and warnings, and exceptions.
    requests
        What it asked for beside itself.
    """

    page: Any
    complaints: list[str]
    requests: list[str]

    def hover(self, element: str, across: float, down: float) -> str:
        """Text of the tooltips after pointing at a place of a chart, by parts of its frame."""
        area = self.page.evaluate(FRAME, element)
        x, y = area["x"] + across * area["width"], area["y"] + down * area["height"]
        self.page.evaluate("y => window.scrollTo(0, y)", y - 300)
        top = self.page.evaluate("window.scrollY")
        self.page.mouse.move(x - 2, y - top)
        self.page.mouse.move(x, y - top)
        self.page.wait_for_timeout(200)
        return str(self.page.evaluate(TOOLTIPS, element))

    def zoom(self, element: str, first: tuple[float, float], last: tuple[float, float]) -> None:
        """Drag a box over a part of a chart."""
        area = self.page.evaluate(FRAME, element)
        self.page.evaluate("y => window.scrollTo(0, y)", area["y"] - 50)
        top = self.page.evaluate("window.scrollY")
        corners = [
            (area["x"] + x * area["width"], area["y"] - top + y * area["height"])
            for x, y in (first, last)
        ]
        self.page.mouse.move(*corners[0])
        self.page.mouse.down()
        self.page.mouse.move(*corners[1], steps=4)
        self.page.mouse.up()
        self.page.wait_for_timeout(400)


# The frame of a chart on the page, and the text of what Bokeh shows beside the pointer, which
# stands within shadow roots.
FRAME = """element => {
  const view = [...Bokeh.index].find((one) => document.getElementById(element).contains(one.el));
  const canvas = view.canvas_view.el.getBoundingClientRect();
  const box = view.frame.bbox;
  return {x: canvas.x + box.left, y: canvas.y + scrollY + box.top,
          width: box.width, height: box.height};
}"""
TOOLTIPS = """element => {
  const texts = [];
  const visit = (node) => {
    if (node.shadowRoot) visit(node.shadowRoot);
    for (const child of node.children ?? []) visit(child);
    const tip = node.classList?.contains("bk-Tooltip") || node.classList?.contains("bk-tooltip");
    if (tip && node.shadowRoot) {
      const style = getComputedStyle(node);
      if (style.display !== "none" && style.visibility !== "hidden") {
        texts.push([...node.shadowRoot.children]
          .filter((one) => one.tagName !== "STYLE").map((one) => one.textContent).join(" "));
      }
    }
  };
  visit(document.body);
  return texts.join("\\n");
}"""


@contextmanager
def launcher() -> Iterator[Callable[..., Any]]:
    """Start headless Chromiums, one for each set of variables; skip the test if there is none."""
    if (executable := chromium()) is None:
        pytest.skip(f"no Chromium: install one, or name it in {VARIABLE}")
    why = "needs Playwright: pip install 'rarmodel[browser]'"
    sync_api = pytest.importorskip("playwright.sync_api", reason=why)
    with sync_api.sync_playwright() as playwright:

        @cache
        def launch(**environment: str) -> Any:
            return playwright.chromium.launch(
                executable_path=executable, args=list(ARGUMENTS), env={**os.environ, **environment}
            )

        yield launch


@contextmanager
def opened(path: Path, browser: Any, width: int = 1280, **options: Any) -> Iterator[Opened]:
    """Open a page without a network, and wait until it says that it is ready.

    Parameters
    ----------
    path
        The page.
    browser
        The Chromium.
    width
        Of the window, in pixels.
    **options
        Of Playwright's context: a colour scheme.
    """
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
    try:
        page = context.new_page()
        complaints: list[str] = []
        requests: list[str] = []

        def note(message: Any) -> None:
            if message.type in {"error", "warning"}:
                complaints.append(f"{message.type}: {message.text}")

        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(f"exception: {error}"))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        yield Opened(page, complaints, [url for url in requests if url != path.as_uri()])
    finally:
        context.close()
