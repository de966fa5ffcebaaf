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
        return str(self.page.evaluate(TOOLTIPS))

    def zoom(self, element: str, across: float, down: float, turns: int = -300) -> None:
        """Turn the wheel with Ctrl over a place of a chart, by parts of its frame."""
        self.hover(element, across, down)
        self.page.keyboard.down("Control")
        self.page.mouse.wheel(0, turns)
        self.page.keyboard.up("Control")
        self.page.wait_for_timeout(300)

    def domain(self, element: str, selection: str = "slots", field: str = "slot") -> Any:
        """The part of an axis in view; None if it is all."""
        name = element.partition("/")[0]
        return self.page.evaluate(
            "([id, name, field]) => rarmodelViews[id].signal(name)[field] ?? null",
            [name, selection, field],
        )

    def frame(self, element: str) -> Any:
        """Where the frame of a chart is on the page: x, y, width, height."""
        return self.page.evaluate(FRAME, element)

    def texts(self, element: str) -> list[str]:
        """What is written in and beside the charts of an element."""
        found = self.page.evaluate(TEXTS, element)
        return [str(text) for text in found]


# The frame of a chart: of the group with the unit that is named after a slash. The page's element
# comes before.
FRAME = """name => {
  const [id, unit] = name.split("/");
  const view = rarmodelViews[id];
  const find = (mark) => {
    if (mark.name?.startsWith(unit) && mark.name.endsWith("marks")) return mark.group;
    for (const item of mark.items ?? []) {
      for (const child of item.items ?? []) {
        const found = child.marktype && find(child);
        if (found) return found;
      }
    }
    return null;
  };
  const group = find(view.scenegraph().root);
  const box = document.querySelector(`#${id} canvas`).getBoundingClientRect();
  const { left, top } = view.padding();
  const [x, y] = view.origin();
  const at = { x: box.x + left + x, y: box.y + scrollY + top + y,
               width: group.width, height: group.height };
  for (let one = group; one; one = one.mark.group) {
    at.x += one.x ?? 0;
    at.y += one.y ?? 0;
  }
  return at;
}"""
TOOLTIPS = """() => [...document.querySelectorAll("#vg-tooltip-element.visible")]
  .map((one) => one.textContent).join(" ")"""
TEXTS = """id => {
  const found = [];
  const visit = (mark) => {
    for (const item of mark.items ?? []) {
      if (mark.marktype === "text") found.push([item.text].flat().join(" "));
      for (const child of item.items ?? []) visit(child);
    }
  };
  visit(rarmodelViews[id].scenegraph().root);
  return found;
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
    context.set_default_timeout(180_000)  # Many programs may share the machine.
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
