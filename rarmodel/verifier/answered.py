"""What the replicas of a service answer over time, as the verifier reports it (section 16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from rarmodel.model.objectives import number


@dataclass(frozen=True)
class Answered:
    """A range of slots `start … end−1` of an entry of demand in which replicas stay the same.

    Attributes
    ----------
    start, end
        First slot, and the slot after the last.
    demand
        Requests that arrive in a second, R.
    capacity
        Requests that the replicas which are ready answer in a second.
    accuracy
        Mean accuracy of the answers; None where requests are not reached, where none arrive, or
        where a variant has no accuracy.
    ready
        Number of replicas that are ready, by variant.
    """

    start: int
    end: int
    demand: Fraction
    capacity: Fraction
    accuracy: Fraction | None
    ready: Mapping[str, int]

    def summary(self) -> dict[str, object]:
        """It as plain data."""
        return {
            "from": self.start,
            "to": self.end,
            "requests_per_second": number(self.demand),
            "capacity": number(self.capacity),
            "accuracy": number(self.accuracy),
            "ready": dict(self.ready),
        }
