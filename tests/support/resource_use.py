"""What jobs use of resources, and how much there is, slot by slot; by hand, in decimals."""

from __future__ import annotations

from decimal import Decimal

from rarmodel.schema import Job, Resource


def use(job: Job, name: str, gpus: int) -> Decimal:
    """What a job uses of a resource with so many GPUs."""
    each = Decimal(str((job.resources_per_gpu or {}).get(name, 0)))
    return Decimal(str((job.resources or {}).get(name, 0))) + gpus * each


def capacity(resource: Resource, slot: int) -> Decimal | None:
    """How much there is of a resource in a slot; None if there is no limit."""
    if not isinstance(resource.capacity, tuple):
        return Decimal(str(resource.capacity))
    for window in resource.capacity:
        if window.start <= slot and (window.end is None or slot < window.end):
            return Decimal(str(window.capacity))
    return None
