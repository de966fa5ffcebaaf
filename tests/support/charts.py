"""The charts on a page or of a call: their data, their texts, and how they look as SVG."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

from elements import Elements

from rarmodel.drawing import image_of

SVG = "{http://www.w3.org/2000/svg}"
Specification = dict[str, Any]


def charts_of(page: str) -> dict[str, Specification]:
    """The charts of a page by the ids of their elements."""
    data = Elements(page).data
    return {
        name.removeprefix("data-"): json.loads(text)
        for name, text in data.items()
        if name.startswith("data-")
    }


def data_of(chart: Specification) -> list[dict[str, Any]]:
    """The tables of a chart, by column."""
    return [json.loads(text)[0] for text in chart["datasets"].values()]


def table_with(chart: Specification, *columns: str) -> dict[str, Any]:
    """The only table of a chart that has some columns."""
    (found,) = [one for one in data_of(chart) if set(columns) <= one.keys()]
    return found


def tables_with(chart: Specification, *columns: str) -> list[dict[str, Any]]:
    """The tables of a chart that have some columns."""
    return [one for one in data_of(chart) if set(columns) <= one.keys()]


def specification_of(chart: Any) -> Specification:
    """A chart as Vega-Lite has it, checked against its schema."""
    found: Specification = chart.to_dict()
    return found


def drawn(chart: Any) -> ET.Element:
    """A chart as SVG."""
    root = ET.fromstring(image_of(chart, "svg"))  # noqa: S314 - our own
    assert root.tag == f"{SVG}svg"
    return root


def placed(root: ET.Element) -> list[tuple[ET.Element, float, float]]:
    """The elements of an SVG, and where they are moved to."""
    found = []

    def visit(element: ET.Element, x: float, y: float) -> None:
        if moved := re.match(r"translate\(([\d.e-]+),([\d.e-]+)", element.get("transform") or ""):
            x, y = x + float(moved[1]), y + float(moved[2])
        found.append((element, x, y))
        for child in element:
            visit(child, x, y)

    visit(root, 0.0, 0.0)
    return found


def texts(root: ET.Element) -> list[str]:
    """The texts in an SVG."""
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def text_of(chart: Any) -> str:
    """All text of a chart that is drawn."""
    return " ".join(texts(drawn(chart)))
