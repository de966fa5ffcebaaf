"""A search whose gap is to be closed, as those see it who close it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from rarmodel.bounds import LowerBound
from rarmodel.packing import Solution
from rarmodel.schema import Instance


class OpenGap(Protocol):
    """A search for one instance; see `Session`."""

    instance: Instance
    solution: Solution | None
    bound: LowerBound

    @property
    def makespan(self) -> int:
        """Makespan of the shortest solution in slots."""

    def take(self, found: Solution | None) -> bool:
        """Keep a solution if it is shorter; return whether it is."""

    def raise_bound(self, bound: LowerBound | None) -> bool:
        """Keep a lower bound if it is greater; return whether it is."""

    def over(self, deadline: float) -> str:
        """The reason to stop; empty if there is none."""

    def report(self) -> None:
        """Tell makespan and bound."""

    def searching_on(self) -> AbstractContextManager[None]:
        """Let one thread search until the block ends, if there are several."""
