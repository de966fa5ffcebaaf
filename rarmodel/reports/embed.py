"""Bokeh's charts as data for a page: equal charts give equal bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bokeh.model import Model

_ID = re.compile(r"p\d+")


def embedded(charts: Mapping[str, Model]) -> dict[str, Any]:
    """The data that BokehJS needs to draw charts; each key is the id of a chart's element.

    Charts that share ranges stay linked. Bokeh numbers its models over the life of a process; here
    they are numbered from 0, in the order in which they occur.
    """
    from bokeh import __version__  # noqa: PLC0415 - an extra
    from bokeh.document import Document  # noqa: PLC0415

    document = Document()
    document.title = ""
    for chart in charts.values():
        document.add_root(chart)
    found = document.to_json(deferred=False)
    numbers: dict[str, str] = {}
    renumbered = _renumbered(found, numbers)
    roots = {numbers[chart.id]: element for element, chart in charts.items()}
    document.clear()
    return {"version": __version__, "doc": renumbered, "roots": roots}


def _renumbered(value: Any, numbers: dict[str, str]) -> Any:
    """A copy in which each model has a new number everywhere."""
    if isinstance(value, dict):
        return {
            key: numbers.setdefault(part, f"m{len(numbers)}")
            if key == "id" and isinstance(part, str) and _ID.fullmatch(part)
            else _renumbered(part, numbers)
            for key, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [_renumbered(part, numbers) for part in value]
    return value
