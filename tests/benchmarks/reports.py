"""Reports in a browser: time to make a page, its size, and the time to open it.

`python tests/benchmarks/reports.py` for a small instance, the paper's, and one of 10,000 jobs.
The time to open goes from the start of the navigation to the page's own mark that its charts are
drawn: the median of several. A Chromium must be there; see CONTRIBUTING.md.

`python tests/benchmarks/reports.py --libraries` draws one bar for each of 10,000 jobs with each
plotting library instead, as a page that needs nothing else:
`pip install bokeh plotly altair vl-convert-python` first.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from browser import ARGUMENTS, READY, chromium

import rarmodel
from rarmodel.drawing import draw_all
from rarmodel.schema import Instance, Schedule

TIMES = 5
JOBS = 10_000
COLOURS = ("#5b8fd1", "#f08e39", "#5fad56", "#e06464")
# When a library's chart has been painted: two frames after it said so, or was there.
PAINTED = (
    "requestAnimationFrame(() => requestAnimationFrame(() => performance.mark('rarmodel-ready')))"
)


def problem_of(name: str, method: str) -> tuple[Instance, Schedule]:
    """An instance and a schedule; `many` is the one of 10,000 jobs."""
    instance = (
        rarmodel.generate("paper", jobs=JOBS, servers=1000, horizon=20_000, seed=1)
        if name == "many"
        else rarmodel.load_instance(name)
    )
    schedule = rarmodel.solve(instance, method=method).schedule
    assert schedule is not None
    return instance, schedule


def milliseconds_to_open(path: Path, page: Any) -> float:
    """Median time to open a page."""
    times = []
    for _ in range(TIMES):
        page.goto("about:blank")
        page.goto(path.as_uri())
        page.wait_for_function("performance.getEntriesByName('rarmodel-ready').length > 0")
        times.append(page.evaluate(READY))
    return float(statistics.median(times))


def with_plotly(bars: list[tuple[float, float, float, float, str]]) -> str:
    """A page with a bar for each."""
    import plotly.graph_objects as go

    left, right, top, bottom, names = map(list, zip(*bars, strict=True))
    figure = go.Figure(
        go.Bar(
            base=left,
            x=[r - l for l, r in zip(left, right, strict=True)],  # noqa: E741
            y=[(t + b) / 2 for t, b in zip(top, bottom, strict=True)],
            width=[b - t for t, b in zip(top, bottom, strict=True)],
            orientation="h",
            hovertext=names,
            marker_color=[COLOURS[i % 4] for i in range(len(bars))],
        )
    )
    return str(figure.to_html(include_plotlyjs=True, full_html=True, post_script=PAINTED))


def with_bokeh(bars: list[tuple[float, float, float, float, str]]) -> str:
    """A page with a bar for each."""
    from bokeh.embed import file_html
    from bokeh.models import HoverTool
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    left, right, top, bottom, names = map(list, zip(*bars, strict=True))
    colours = [COLOURS[i % 4] for i in range(len(bars))]
    chart = figure(width=1200, height=700)
    data = {
        "left": left,
        "right": right,
        "top": top,
        "bottom": bottom,
        "name": names,
        "c": colours,
    }
    chart.quad(left="left", right="right", top="top", bottom="bottom", color="c", source=data)
    chart.add_tools(HoverTool(tooltips=[("job", "@name")]))
    page = str(file_html(chart, INLINE))
    return watched(page, "Bokeh.documents[0]?.is_idle")


def with_altair(bars: list[tuple[float, float, float, float, str]]) -> str:
    """A page with a bar for each."""
    import altair as alt

    alt.data_transformers.disable_max_rows()
    rows = [
        {"left": l, "right": r, "top": t, "bottom": b, "name": name, "c": COLOURS[i % 4]}
        for i, (l, r, t, b, name) in enumerate(bars)  # noqa: E741
    ]
    chart = (
        alt.Chart({"values": rows}, width=1100, height=650)
        .mark_rect()
        .encode(
            x="left:Q",
            x2="right:Q",
            y="top:Q",
            y2="bottom:Q",
            color=alt.Color("c:N", scale=None),
            tooltip="name:N",
        )
    )
    page = chart.to_html(inline=True, embed_options={"renderer": "canvas"})
    # There is a canvas before anything is on it.
    return watched(
        str(page),
        "document.querySelector('canvas')?.getContext('2d')"
        ".getImageData(0, 0, 1200, 700).data.some((part) => part > 0)",
    )


def watched(page: str, drawn: str) -> str:
    """A page that makes its mark once something is true of it."""
    watch = f"<script>const wait = () => {drawn} ? {PAINTED} : setTimeout(wait, 5); wait()</script>"
    before, _, after = page.rpartition("</body>")  # Another one may be in the library's code.
    return f"{before}{watch}</body>{after}"


def pages(*, libraries: bool) -> list[tuple[str, Callable[[], str]]]:
    """What to open: names, and what makes each page."""
    if libraries:
        instance, schedule = problem_of("many", "first-fit")
        (drawing,) = draw_all(instance, [schedule])
        bars = []
        for bar in drawing.bars[:JOBS]:
            run, row = drawing.runs[bar.run], drawing.offsets[bar.server] + bar.first
            end = drawing.shown_until(run, drawing.end)
            bars.append((float(run.start), float(end), float(row), float(row + bar.gpus), run.job))
        return [
            ("plotly", partial(with_plotly, bars)),
            ("altair", partial(with_altair, bars)),
            ("bokeh", partial(with_bokeh, bars)),
        ]
    found: list[tuple[str, Callable[[], str]]] = []
    for name, method in (
        ("two-servers", "sjf-bco"),
        ("paper-160", "sjf-bco"),
        ("many", "first-fit"),
    ):
        instance, schedule = problem_of(name, method)
        label = f"{len(instance.jobs):,} jobs, {instance.cluster.total_gpus:,} GPUs"
        found.append((label, partial(rarmodel.report, instance, schedule)))
    return found


def main(*, libraries: bool) -> None:
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
        for name, make in pages(libraries=libraries):
            path = Path(folder, "page.html")
            make()  # Loads what it imports, and what is remembered of the instance.
            begun = perf_counter()
            text = make()
            seconds = perf_counter() - begun
            path.write_text(text, encoding="utf-8")
            size = path.stat().st_size / 1e6
            opens = milliseconds_to_open(path, page) / 1000
            print(f"| {name} | {seconds:.1f} | {size:.1f} | {opens:.2f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", action="store_true")
    main(libraries=parser.parse_args().libraries)
