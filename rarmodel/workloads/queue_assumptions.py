"""What the reading of a live queue assumes, whoever manages the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rarmodel.defaults import SLOT_SECONDS
from rarmodel.errors import UsageError
from rarmodel.schema import Contention

from .cluster_rates import Rates

OBJECTIVE = "total-flow"
"""Objective of a queue: people count the time from submission to the end."""
DEFAULT_SECONDS = 86_400.0
"""Duration of a job about which nothing is known: a day."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the reading of a live queue assumes.

    Attributes
    ----------
    slot_seconds
        Length of a slot in seconds.
    default_seconds
        Duration in seconds of a job about which nothing is known.
    rates, contention
        Rates of the network, and how rings slow each other down.
    objective
        Objective of the instance.
    """

    slot_seconds: float = SLOT_SECONDS
    default_seconds: float = DEFAULT_SECONDS
    rates: Rates = field(default_factory=Rates)
    contention: Contention | None = None
    objective: str | tuple[str, ...] = OBJECTIVE

    def __post_init__(self) -> None:
        for name in ("slot_seconds", "default_seconds"):
            if not 1e-3 <= getattr(self, name) <= 1e9:
                raise UsageError(f"{name} {getattr(self, name)}: 0.001 to 1e9 is expected")


def objective_of(asked: str | Sequence[str] | None) -> str | tuple[str, ...]:
    """The objective that is asked for, or that of a queue."""
    if asked is None:
        return OBJECTIVE
    return asked if isinstance(asked, str) else tuple(asked)
