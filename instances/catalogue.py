"""What comes with the package: names of instances and families, and the files of instances."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

LIBRARY = "library.json"
EXAMPLES = "examples"
"""The family of the instances that have files: each shows something."""
_FOLDER = files("rarmodel.instances")


@cache
def contents() -> dict[str, Any]:
    """The bundled library as it stands in its file."""
    text = (_FOLDER / LIBRARY).read_text(encoding="utf-8")
    return dict(json.loads(text))


def names_of_families() -> list[str]:
    """Names of the families of bundled instances, in the order of their listing."""
    return [family["name"] for family in contents()["families"]]


def names(family: str | None = None) -> list[str]:
    """Names of the bundled instances, of one family or of all; examples first."""
    return [
        instance["name"]
        for of in contents()["families"]
        if family in {None, of["name"]}
        for instance in of["instances"]
    ]


def text_of(name: str) -> str | None:
    """JSON text of an example; None if there is none of that name."""
    if name not in names(EXAMPLES):
        return None
    return (_FOLDER / f"{name}.json").read_text(encoding="utf-8")
