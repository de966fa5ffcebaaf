"""Named entries of data for a formulation, and which of them it read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from rarmodel.errors import UsageError, listed


class Entries(Mapping[str, Any]):
    """A mapping that records which entries were read, so that misspelt ones can be reported."""

    def __init__(self, entries: Mapping[str, Any] | None = None) -> None:
        self._entries = dict(entries or {})
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        self.asked.update(self._entries)
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def require_read(entries: Collection[str], asked: Collection[str], reader: str) -> None:
    """Refuse entries that nothing reads.

    Parameters
    ----------
    entries
        Names of the given entries.
    asked
        Names that were read.
    reader
        Name of the formulation or formulations that read them.

    Raises
    ------
    UsageError
        With all such entries in one line, and suggestions.
    """
    parts = []
    for entry in entries:
        if entry not in asked:
            close = get_close_matches(entry, asked, 1)
            parts.append(repr(entry) + (f" (did you mean {close[0]!r}?)" if close else ""))
    if parts:
        reads = f"it reads {listed(sorted(asked))}" if asked else "it reads no entries"
        raise UsageError(f"data: {reader} does not read {', '.join(parts)}; {reads}")
