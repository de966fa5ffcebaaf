"""What a restricted model may choose from: a few placements of each job, and when it may start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A placement of a job, and when it may start in it.

    Attributes
    ----------
    workers
        By server, in the order of servers: workers, if above 0.
    slots
        Expected execution time in slots. Rings that share links may take longer or less, so a
        solution is simulated before it counts.
    starts
        The slots at which the job may start, one at least.
    refused
        Slots between the first and the last of these at which it may not.
    """

    workers: Mapping[str, int]
    slots: int
    starts: range
    refused: frozenset[int] = frozenset()

    @classmethod
    def within(cls, workers: Mapping[str, int], slots: int, starts: Sequence[int]) -> Choice:
        """A choice of some starts, ascending, which may leave slots out in between."""
        window = range(starts[0], starts[-1] + 1)
        return cls(workers, slots, window, frozenset(window) - frozenset(starts))

    @property
    def allowed(self) -> list[int]:
        """The slots at which the job may start."""
        return [t for t in self.starts if t not in self.refused]

    @property
    def last(self) -> int:
        """The latest start."""
        return self.starts[-1]

    @property
    def end(self) -> int:
        """The latest completion."""
        return self.last + self.slots


Restriction = Mapping[str, tuple[Choice, ...]]
"""By job: what a restricted model may choose from. A job with one choice and one start is fixed."""


def is_fixed(choices: tuple[Choice, ...]) -> bool:
    """Whether there is nothing to choose."""
    return len(choices) == 1 and len(choices[0].starts) == 1
