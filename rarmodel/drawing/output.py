"""Charts as files: SVG, PNG and PDF."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Any

import vl_convert

from rarmodel.errors import UsageError

from .extra import require_extra

FORMS = ("png", "svg", "pdf")
"""Formats of pictures."""
SCALE = 1.5
"""Pixels of a PNG for each pixel of a chart."""


def form_of(path: str) -> str:
    """The format of a picture, by the ending of a file's name.

    Raises
    ------
    UsageError
        If there is no such format, or Altair or vl-convert is not installed.
    """
    require_extra()
    form = PurePath(path).suffix.removeprefix(".").lower()
    if form not in FORMS:
        ends = ", ".join(f".{name}" for name in FORMS)
        raise UsageError(f"{path}: a picture's name ends in one of {ends}")
    return form


def image_of(chart: Any, form: str) -> bytes:
    """A chart as a picture.

    Parameters
    ----------
    chart
        A chart of Altair.
    form
        One of `png`, `svg`, `pdf`.

    Raises
    ------
    UsageError
        If there is no such form.
    """
    if form not in FORMS:
        raise UsageError(f"no form {form!r} of pictures; choose one of {', '.join(FORMS)}")
    svg = _renumbered(vl_convert.vegalite_to_svg(chart.to_dict(validate=False)))
    match form:
        case "png":
            return bytes(vl_convert.svg_to_png(svg, scale=SCALE))
        case "pdf":
            return bytes(vl_convert.svg_to_pdf(svg))
    return svg.encode()


def _renumbered(svg: str) -> str:
    """An SVG whose marks are numbered from 0: Vega counts over all that a process draws."""
    numbers: dict[str, str] = {}

    def renumber(match: re.Match[str]) -> str:
        return numbers.setdefault(match[0], f"{match[1]}{len(numbers)}")

    return re.sub(r'(?<=[#"])(clip|gradient_)\d+(?=["\)])', renumber, svg)
