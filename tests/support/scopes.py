"""What a model is to cover, made from an instance and a horizon."""

from __future__ import annotations

from typing import Any

from rarmodel.bounds import best_bound
from rarmodel.formulations import Scope
from rarmodel.model import job_extremes, topology
from rarmodel.schema import Instance


def scope_of(instance: Instance, horizon: int, **data: Any) -> Scope:
    """A scope of the instance, with the data that formulations read."""
    return Scope(
        instance,
        topology(instance.cluster),
        job_extremes(instance),
        horizon,
        best_bound(instance).slots,
        data,
    )
