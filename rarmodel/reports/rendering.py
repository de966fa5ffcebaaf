"""Pages from templates, with charts, scripts and styles inside, and formats of numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rarmodel.duration import duration
from rarmodel.errors import UsageError
from rarmodel.model.objectives import Value, in_digits

from .embed import embedded
from .frames import Chart
from .rows import Level
from .words import counted

TEMPLATES = Path(__file__).parent / "templates"
SCRIPTS = ("words.js", "frames.js", "page.js")
EXTRA = "pip install 'rarmodel[report]'"


def require_report_extra() -> None:
    """Check that the libraries for pages are installed.

    Raises
    ------
    UsageError
        If a library is not installed.
    """
    try:
        import bokeh  # noqa: F401, PLC0415
        import jinja2  # noqa: F401, PLC0415
    except ImportError as error:
        message = f"reports need {error.name}, which is not installed; install it with: {EXTRA}"
        raise UsageError(message) from error


def rendered(
    template: str,
    groups: Mapping[str, Mapping[str, Chart]],
    rows: Mapping[str, Sequence[Level]],
    **values: Any,
) -> str:
    """Render a page from its template, with charts, scripts and styles inside.

    Parameters
    ----------
    template
        Name of the template.
    groups
        Groups of charts that are drawn together; each chart by the id of its element.
    rows
        Labels of rows, by their name in the frames.
    **values
        Values for the template.
    """
    from bokeh.resources import Resources  # noqa: PLC0415
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        whole=_whole,
        counted=counted,
        decimal=_decimal,
        mean=_mean,
        significant=_significant,
        percent=_percent,
        duration=duration,
        digits=_digits,
    )
    scripts = Resources(mode="inline", components=["bokeh"]).js_raw
    # Every frame of the page begins at the same place, whatever its own labels are.
    labels = (name for found in rows.values() for level in found for name in level.names)
    longest = max(map(len, labels), default=0)
    return environment.get_template(template).render(
        version=version("rarmodel"),
        css=_text("page.css"),
        js="\n".join(_text(name) for name in SCRIPTS),
        bokeh="\n".join(scripts),
        groups={
            name: _script_data(
                {
                    **embedded({key: chart.figure for key, chart in charts.items()}),
                    "frames": {key: chart.frame for key, chart in charts.items()},
                }
            )
            for name, charts in groups.items()
        },
        rows=_script_data(rows),
        letters=max(longest, 5),
        **values,
    )


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _script_data(data: object) -> str:
    """JSON in which no name can end the script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _whole(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _decimal(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _digits(value: Value | None) -> str:
    return "–" if value is None else in_digits(value)


def _mean(value: float | None) -> str:
    """A mean of whole numbers."""
    return _whole(value) if value is None or value == round(value) else _decimal(value, 1)


def _significant(value: float | None) -> str:
    """A number with two significant digits, or all digits before the point."""
    if not value:
        return _whole(value)
    return _decimal(value, max(0, 1 - math.floor(math.log10(abs(value)))))


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
