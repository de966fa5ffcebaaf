"""Who holds a server or uses a link, and when: spans of slots, and what of them meets others."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """From when until before when something is held, and how much by which job."""

    start: float
    end: float
    job: int
    gpus: int


class Spans:
    """Spans on a server or a link, in the order of their starts."""

    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._longest = 0.0

    def add(self, span: Span) -> None:
        """Add one."""
        insort(self._spans, span)
        self._longest = max(self._longest, span.end - span.start)

    def remove(self, span: Span) -> None:
        """Take one away."""
        del self._spans[bisect_left(self._spans, span)]

    def beside(self, one: Span) -> Iterator[Span]:
        """Those of other jobs that share a slot with a span."""
        first = bisect_left(self._spans, one.start - self._longest, key=lambda span: span.start)
        for span in self._spans[first:]:
            if span.start >= one.end:
                return
            if span.end > one.start and span.job != one.job:
                yield span

    def most_held(self, one: Span) -> int:
        """The most that others hold in one of the slots of a span."""
        changes: list[tuple[float, int]] = []
        for span in self.beside(one):
            changes += [(max(span.start, one.start), span.gpus), (span.end, -span.gpus)]
        most = held = 0
        for _, change in sorted(changes):  # What ends in a slot comes before what starts in it.
            held += change
            most = max(most, held)
        return most
