"""Fit the iterations of jobs to their recorded durations, on the network where they were recorded.

A job's iterations are its greatest speed, that of its best placement without contention, times its
duration in slots. A trace that was recorded on another network than the instance's is fitted on
that one: so the work stays the same whatever rates the instance has, and only its time changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rarmodel.model import timing
from rarmodel.model.extremes import iteration_ranges
from rarmodel.model.sharing_rule import DUTY
from rarmodel.schema import Cluster, Contention, Instance, StarNetwork
from rarmodel.schema.network_pressures import FIELDS

from .candidates import Candidate
from .measured_pressures import with_pressures
from .timed import FORWARD_PART


class Fit(NamedTuple):
    """How fast the jobs of a shape are alone, and the fields that they share.

    Attributes
    ----------
    measured, here
        Iterations per slot on the network where the trace was recorded, and on the instance's.
    fields
        Fields of the job that are the same for all of the shape.
    """

    measured: int
    here: int
    fields: Mapping[str, Any]


class Fits:
    """The fit of each candidate; those of one shape share all but their work."""

    def __init__(
        self,
        found: Iterable[Candidate],
        cluster: Cluster,
        contention: Contention,
        slot_seconds: float,
        measured_gbps: float | None,
    ) -> None:
        self._slot_seconds = slot_seconds
        shapes: dict[tuple[object, ...], Candidate] = {}
        for candidate in found:
            shapes.setdefault(_shape(candidate), candidate)
        fields = [_fields(candidate) for candidate in shapes.values()]
        if contention.model == DUTY.name:
            models = [next(iter(one.profiles.values())).model for one in shapes.values()]
            fields = _with_pressures(fields, models, cluster, contention, slot_seconds)
        here = _speeds(fields, cluster, contention, slot_seconds)
        there = here
        if measured_gbps is not None:
            there = _speeds(fields, measured_on(cluster, measured_gbps), contention, slot_seconds)
        fits = map(Fit, there, here, fields)
        self._fits = dict(zip(shapes, fits, strict=True))

    def of(self, candidate: Candidate) -> Fit:
        """The fit of a candidate."""
        return self._fits[_shape(candidate)]

    def slots(self, candidate: Candidate) -> int:
        """Its recorded duration in slots, rounded to the nearest and at least 1."""
        return max(1, math.floor(candidate.seconds / self._slot_seconds + 0.5))

    def slots_here(self, candidate: Candidate) -> int:
        """Slots that it takes alone in its best placement on the instance's network."""
        fit = self.of(candidate)
        return timing.slots_needed(fit.measured * self.slots(candidate), fit.here)


def measured_on(cluster: Cluster, gbps: float) -> Cluster:
    """The same servers on a star with links of this rate: no switch above them is slower."""
    return cluster.model_copy(update={"network": StarNetwork(kind="star", gbps=float(gbps))})


def told_network(cluster: Cluster, measured_gbps: float | None) -> str:
    """The network on which the jobs are fitted, in a sentence for the instance's description."""
    if measured_gbps is not None:
        return f"Iterations are fitted to a network of {measured_gbps:g} Gbit/s."
    if isinstance(cluster.network, StarNetwork):
        return f"Iterations are fitted to the network of {cluster.network.gbps:g} Gbit/s."
    return "Iterations are fitted to the network of the cluster."


def _shape(candidate: Candidate) -> tuple[object, ...]:
    place = candidate.place
    # Places are made once for all rows that name the same one: comparing long lists is slow.
    shape = candidate.gpus, candidate.slices, id(place.servers), id(place.types)
    return *shape, *candidate.profiles.items()


def _fields(candidate: Candidate) -> Mapping[str, Any]:
    (kind, first), *_ = candidate.profiles.items()
    times = {
        name: {
            "forward_ms_per_sample": round(
                FORWARD_PART * profile.compute_ms / profile.batch_size, 6
            ),
            "backward_ms": round((1 - FORWARD_PART) * profile.compute_ms, 4),
        }
        for name, profile in candidate.profiles.items()
    }
    fields: dict[str, Any] = {
        "gpus": candidate.gpus,
        "gradient_mb": first.gradient_mb,
        "batch_size": first.batch_size,
        **(times[None] if kind is None else {"times": times}),
    }
    if candidate.place.servers is not None:
        fields["servers"] = candidate.place.servers
    if candidate.slices is not None:
        fields |= {"slices": candidate.slices, "sensitivity": 0.0}
    return fields


def _with_pressures(
    shapes: list[Mapping[str, Any]],
    models: list[str],
    cluster: Cluster,
    contention: Contention,
    slot_seconds: float,
) -> list[Mapping[str, Any]]:
    """The fields with the network pressure and sensitivity of each model that was measured."""
    draft = _draft(shapes, cluster, contention, slot_seconds)
    known = with_pressures(draft, {str(i): model for i, model in enumerate(models)})
    return [
        {**fields, **{name: value for name in FIELDS if (value := getattr(job, name)) is not None}}
        for fields, job in zip(shapes, known.jobs, strict=True)
    ]


def _speeds(
    shapes: list[Mapping[str, Any]], cluster: Cluster, contention: Contention, slot_seconds: float
) -> list[int]:
    """Greatest speed of a job of each shape, alone in the cluster; 0 if it makes no progress."""
    draft = _draft(shapes, cluster, contention, slot_seconds)
    return [timing.speed(slot_seconds, best) for best, _ in iteration_ranges(draft)]


def _draft(
    shapes: list[Mapping[str, Any]], cluster: Cluster, contention: Contention, slot_seconds: float
) -> Instance:
    """An instance with a job of each shape."""
    jobs = [{"name": str(i), "iterations": 1, **fields} for i, fields in enumerate(shapes)]
    return Instance.model_validate(
        {
            "schema_version": 1,
            "name": "draft",
            "time": {"slot_seconds": float(slot_seconds), "horizon": 1},
            "cluster": cluster,
            "contention": contention,
            "jobs": jobs,
        }
    )
