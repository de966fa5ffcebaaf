"""The catalogue of bundled instances: names, known optima, and how these were proven."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_FOLDER = files("rarmodel.instances")


class Entry(NamedTuple):
    """What is known of a bundled instance.

    Attributes
    ----------
    name
        Its name.
    optimum
        The optimal makespan in slots; None if none is proven.
    best_known
        The least makespan known in slots, by the method or solver named in `source`.
    source
        What proved the optimum, or found the best known makespan.
    """

    name: str
    optimum: int | None
    best_known: int | None
    source: str


@cache
def catalogue() -> tuple[Entry, ...]:
    """All bundled instances, in teaching order."""
    text = (_FOLDER / "catalogue.json").read_text(encoding="utf-8")
    return tuple(Entry(**entry) for entry in json.loads(text)["instances"])


def text_of(name: str) -> str | None:
    """JSON text of a bundled instance; None if there is none of that name."""
    if all(entry.name != name for entry in catalogue()):
        return None
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
