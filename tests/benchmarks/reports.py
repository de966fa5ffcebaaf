"""Reports in a browser: time to make a page, its size, and the time to open it.

`python tests/benchmarks/reports.py` for 4, 12, 160 and 10,000 jobs. Times are of the processor, so
that other programs hardly matter: of Python, and of the browser's main thread from the start of
the navigation until the charts are drawn, the median of several. A Chromium must be there; see
CONTRIBUTING.md.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from browser import ARGUMENTS, chromium

import rarmodel
from rarmodel.schema import Instance, Schedule

TIMES = 3
JOBS = 10_000


def problem_of(name: str, method: str) -> tuple[Instance, Schedule]:
    """An instance and a schedule; `many` is the one of 10,000 jobs."""
    match name:
        case "many":
            instance = rarmodel.generate("paper", jobs=JOBS, servers=1000, horizon=20_000, seed=1)
        case "twelve":
            instance = rarmodel.generate("contention", jobs=12, servers=4, seed=1)
        case _:
            instance = rarmodel.load_instance(name)
    schedule = rarmodel.solve(instance, method=method).schedule
    assert schedule is not None
    return instance, schedule


def seconds_to_open(path: Path, page: Any) -> float:
    """Median processor time of the browser's main thread until a page is drawn."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})
    session.send("Performance.enable")

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))

    times = []
    for _ in range(TIMES):
        page.goto("about:blank")
        before = spent()
        page.goto(path.as_uri(), timeout=0)
        ready = "performance.getEntriesByName('rarmodel-ready').length > 0"
        page.wait_for_function(ready, timeout=0)
        times.append(spent() - before)
    return statistics.median(times)


def pages() -> Iterator[tuple[str, Callable[[], str]]]:
    """What to open: names, and what makes each page."""
    for name, method in (
        ("two-servers", "sjf-bco"),
        ("twelve", "sjf-bco"),
        ("paper-160", "sjf-bco"),
        ("many", "first-fit"),
    ):
        instance, schedule = problem_of(name, method)
        label = f"{len(instance.jobs):,} jobs, {instance.cluster.total_gpus:,} GPUs"
        yield label, partial(rarmodel.report, instance, schedule)


def main() -> None:
    """Print a row for each page."""
    from playwright.sync_api import sync_playwright

    executable = chromium()
    if executable is None:
        sys.exit("no Chromium")
    print("| page | made in (s) | size (MB) | opens in (s) |")
    print("|---|---|---|---|")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        for name, make in pages():
            path = Path(folder, "page.html")
            make()  # Loads what it imports, and what is remembered of the instance.
            begun = process_time()
            text = make()
            seconds = process_time() - begun
            path.write_text(text, encoding="utf-8")
            size = path.stat().st_size / 1e6
            opens = seconds_to_open(path, page)
            print(f"| {name} | {seconds:.1f} | {size:.1f} | {opens:.2f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
