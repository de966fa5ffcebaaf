"""How much rings of models slow each other down on links, as fitted to measured pairs of jobs.

The table is `network_pressures.csv`; `NOTICE.md` beside it names its source, and the command that
made it. A pair's throughput is `1 / (1 + a_j·b_i)` of that alone. The form of the model is
`1 + d_j·a'_j·ξ1·Σ b'_i` (section 20 of the model), with the duty d_j of the ring in its placement.
So a pressure b is that of a job, and a sensitivity a is `d_j·a'_j`.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from rarmodel.model import Pace, topology
from rarmodel.model.ring_rates import paces
from rarmodel.model.sharing_rule import DUTY, UNITS
from rarmodel.schema import Cluster, Contention, Instance


class MeasuredPressure(NamedTuple):
    """What was measured of a model's rings beside others.

    Attributes
    ----------
    sensitivity
        How much others slow it down, a: the product of its duty and its network sensitivity.
    pressure
        How much it slows others down, b.
    error
        Mean relative error of its throughput in pairs that the fit had not seen.
    source
        Where the pairs are from.
    """

    sensitivity: float
    pressure: float
    error: float
    source: str


@cache
def measured_pressures() -> Mapping[str, MeasuredPressure]:
    """The table, by model. Few of the models have a profile, too."""
    text = (files("rarmodel.workloads") / "network_pressures.csv").read_text(encoding="utf-8")
    return {
        row["model"]: MeasuredPressure(
            float(row["sensitivity"]), float(row["pressure"]), float(row["error"]), row["source"]
        )
        for row in csv.DictReader(text.splitlines())
    }


def pressure_fields(
    model: str, pace: Pace, cluster: Cluster, contention: Contention
) -> dict[str, float]:
    """Fields of a job of a model: its network pressure and sensitivity, if they were measured.

    The sensitivity is the measured one as a part of the ring's duty over two servers, in two
    digits, so that few sensitivities differ. There are none where contention is not by duty, which
    has no such fields, and none for a ring that is never on links, or exchanges nothing.

    Parameters
    ----------
    model
        The model of the table of profiles.
    pace
        What an iteration of the job's ring is made of.
    cluster, contention
        The cluster, and how rings slow each other down on it.
    """
    known = measured_pressures().get(model)
    links = topology(cluster).links
    if known is None or contention.model != DUTY.name or pace.size == 1 or not links:
        return {}
    duty = pace.weight(DUTY, 2, min(link.gbps for link in links)) / UNITS
    if duty == 0.0:
        return {}
    return {
        "network_pressure": known.pressure,
        "network_sensitivity": float(f"{known.sensitivity / duty:.2g}"),
    }


def with_pressures(instance: Instance, models: Mapping[str, str]) -> Instance:
    """The instance whose jobs have what was measured of their models; see `pressure_fields`.

    Parameters
    ----------
    instance
        The instance.
    models
        Models of jobs by the jobs' names, as far as they are known.
    """
    cluster, contention = instance.cluster, instance.contention
    if contention.model != DUTY.name:
        return instance
    jobs = []
    for job, own in zip(instance.jobs, paces(instance), strict=True):
        slowest = max(own.values(), key=lambda one: (one.size, one.compute))
        model = models.get(job.name, "")
        fields = pressure_fields(model, slowest, cluster, contention)
        jobs.append(job.model_copy(update=fields) if fields else job)
    return instance.model_copy(update={"jobs": tuple(jobs)})
