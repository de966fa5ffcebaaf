"""Bundled instances: found by name, with the best values and bounds known."""

if __name__ != "rarmodel.instances":
    raise ImportError(
        f"this folder is imported as rarmodel.instances, not as {__name__}; "
        "install the project (pip install -e .) and import rarmodel.instances"
    )

from typing import TYPE_CHECKING

from rarmodel.lazy import exports

from .catalogue import EXAMPLES, LIBRARY, names, names_of_families, text_of

if TYPE_CHECKING:
    from .library import (
        Family,
        Generated,
        Known,
        Library,
        Listed,
        Recorded,
        bundled_library,
        changed,
        entries,
    )

__all__ = [
    "EXAMPLES",
    "LIBRARY",
    "Family",
    "Generated",
    "Known",
    "Library",
    "Listed",
    "Recorded",
    "bundled_library",
    "changed",
    "entries",
    "names",
    "names_of_families",
    "text_of",
]

_SCHEMA = ("Family", "Generated", "Known", "Library", "Listed", "Recorded")
__getattr__, __dir__ = exports(
    __name__, dict.fromkeys((*_SCHEMA, "bundled_library", "changed", "entries"), "library")
)
