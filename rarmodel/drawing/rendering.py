"""Pages from templates, with charts, scripts and styles inside, and formats of numbers.

The templates are Jinja's, which Altair needs in any case; it escapes whatever text of the input
stands on a page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from rarmodel.counting import counted
from rarmodel.duration import duration
from rarmodel.model.objectives import Value, in_digits

TEMPLATES = Path(__file__).parent / "templates"
LETTER = 6.3
"""Width of a letter of a label, in pixels."""


def rendered(
    template: str, charts: Mapping[str, Any], labels: Sequence[str] = (), **values: Any
) -> str:
    """Render a page from its template, with charts, scripts and styles inside.

    Parameters
    ----------
    template
        Name of the template.
    charts
        Charts of Altair, each by the id of its element.
    labels
        Labels beside the charts, for which there must be room on the left.
    **values
        Values for the template.
    """
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
    longest = max(map(len, labels), default=0)
    return environment.get_template(template).render(
        version=version("rarmodel"),
        css=_text("page.css"),
        js=_text("page.js"),
        vega=_bundle(),
        charts={
            name: _script_data(chart.to_dict(validate=False)) for name, chart in charts.items()
        },
        margin=round(max(longest * LETTER, 44)) + 48,
        **values,
    )


def _bundle() -> str:
    """Vega with all that it needs; the type of vl-convert asks for a text that is optional."""
    return vl_convert.javascript_bundle()  # type: ignore[call-arg, unused-ignore]


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
