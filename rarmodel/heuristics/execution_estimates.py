"""Estimates of execution times, ρ̂_j, fixed per job before anything is placed (section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from rarmodel.model import job_extremes
from rarmodel.schema import Instance


@dataclass(frozen=True)
class Estimate:
    """Estimated execution times, and how far they are from what is possible.

    Attributes
    ----------
    slots
        Estimate ρ̂_j of each job in slots.
    work
        ρ̂_j/u of each job in slots: never more than its real execution time.
    lower, upper
        `l ≤ 1 ≤ u` such that ρ̂_j ∈ [l·ρ_j, u·ρ_j] for every job in every schedule; `lower` is 0
        if the speed of some job can fall to 0.
    spread
        `φ = max_j ρ_j^max / ρ_j^min`; infinite if the speed of some job can fall to 0.
    """

    slots: tuple[float, ...]
    work: tuple[float, ...]
    lower: float
    upper: float
    spread: float


def estimate(instance: Instance, slots: Sequence[float] | None = None) -> Estimate:
    """Estimates with their factors `l`, `u` and `φ`, computed from the model and not assumed.

    Parameters
    ----------
    instance
        The problem.
    slots
        Estimated execution time of each job in slots, above 0; by default the execution time in
        the job's best placement without contention, so that `u` is 1.
    """
    extremes = job_extremes(instance)
    least = [float(extreme.least_slots) for extreme in extremes]
    most = [inf if e.most_slots is None else float(e.most_slots) for e in extremes]
    chosen = least if slots is None else [float(value) for value in slots]
    if len(chosen) != len(least) or not all(0 < value < inf for value in chosen):
        raise ValueError(f"{len(least)} estimates above 0 are expected, one for each job")
    upper = max(1.0, *(c / low for c, low in zip(chosen, least, strict=True)))
    lower = min(1.0, *(c / high for c, high in zip(chosen, most, strict=True)))
    return Estimate(
        slots=tuple(chosen),
        work=tuple(c / upper for c in chosen),
        lower=lower,
        upper=upper,
        spread=max(high / low for low, high in zip(least, most, strict=True)),
    )
