"""Network pressures and sensitivities of jobs, beside each other and the model of contention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rarmodel.errors import Problem

from .base import exactly
from .job import Job

FIELDS = ("network_pressure", "network_sensitivity")
MOST_TOGETHER = 2**31
"""Upper limit of the load of a link: loads are counted in multiples of 2^-20, as floats too."""


def problems_with_contention(jobs: Sequence[Job], model: str) -> Iterator[Problem]:
    """Network pressures and sensitivities without duty, and those that are too great together."""
    given = [
        (i, field, value)
        for i, job in enumerate(jobs)
        for field in FIELDS
        if (value := getattr(job, field)) is not None
    ]
    if model != "duty":
        for i, field, value in given:
            message = f'{value:g}; it needs contention.model "duty", and the model is {model!r}'
            yield Problem(f"[{i}].{field}", message)
    elif given:
        rings = [job for job in jobs if job.sizes[-1] > 1]
        # A duty is at most 1, and so is what stands for a sensitivity.
        pressure = sum(_or_one(job.network_pressure) for job in rings)
        sensitivity = max((_or_one(job.network_sensitivity) for job in rings), default=Fraction(1))
        if sensitivity * pressure >= MOST_TOGETHER:
            i, field, value = max(given, key=lambda one: one[2])
            message = (
                f"{value:g}; the sum of all pressures times the greatest sensitivity, "
                f"{float(sensitivity * pressure):.4g}, must be below 2^31"
            )
            yield Problem(f"[{i}].{field}", message)


def _or_one(factor: float | None) -> Fraction:
    return Fraction(1) if factor is None else exactly(factor)
