"""The result of a calibration: constants of the model, and how well they fit the measurements."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.schema import Contention, Instance, StarNetwork
from rarmodel.schema.base import LEAST_POSITIVE, MAX_NUMBER

from .bandwidth import Bandwidth

Status = Literal["fitted", "given", "held", "at limit"]
"""Status of a constant: `held` if the data do not determine it."""


@dataclass(frozen=True)
class Parameter:
    """A constant with its uncertainty.

    Attributes
    ----------
    name
        `concurrency`, `alpha` or `overhead_ms_per_server`, or `compute_ms[…]` of a job.
    value
        Value of the constant.
    status
        Why the constant has this value.
    standard_error
        Standard error; None unless the constant was fitted to more rows than constants.
    low, high
        Ends of the 95 % interval by Student's distribution, within the constant's range.
    """

    name: str
    value: float
    status: Status
    standard_error: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Residual:
    """A measured value beside the model's prediction.

    Attributes
    ----------
    source, line
        File and line of the measurement.
    label
        The job, or the size of an all-reduce.
    quantity
        `iteration_ms`, `completion_s`, `relative_time` or, of an all-reduce, `exchange_ms`.
    measured, predicted
        The measured and the predicted value.
    """

    source: str
    line: int
    label: str
    quantity: str
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Relative error: above 0 if the prediction is too high, below 0 if it is too low."""
        return self.predicted / self.measured - 1.0


@dataclass(frozen=True)
class Rates:
    """Rates in Gbit/s that predictions use; None for an unknown rate.

    Attributes
    ----------
    network_gbps, intra_server_gbps, reduction_gbps
        As in an instance: b^e, b^i and C.
    """

    network_gbps: float | None = None
    intra_server_gbps: float | None = None
    reduction_gbps: float | None = None

    def __post_init__(self) -> None:
        wrong = [
            f"{name} {value}: it must be above 0"
            for name, value in asdict(self).items()
            if value is not None and not LEAST_POSITIVE <= value <= MAX_NUMBER
        ]
        if wrong:
            raise UsageError("; ".join(wrong))

    def over(self, instance: Instance) -> Rates:
        """These rates, and the instance's where they are unknown."""
        own = {name: value for name, value in asdict(self).items() if value is not None}
        return Rates(**(rates_of(instance) | own))


def rates_of(instance: Instance) -> dict[str, float]:
    """Rates of an instance by name; a tree has no rate of its links."""
    cluster = instance.cluster
    found = {
        "intra_server_gbps": cluster.intra_server_gbps,
        "reduction_gbps": cluster.reduction_gbps,
    }
    if isinstance(cluster.network, StarNetwork):
        found["network_gbps"] = cluster.network.gbps
    return found


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration.

    Attributes
    ----------
    source
        The table of measurements; empty if there is none.
    contention
        ξ1, f and ξ2; None without a table.
    parameters
        The constants with their uncertainty, and fitted compute times.
    correlation
        Correlation of the estimates of ξ1 and α; None unless both were fitted.
    degrees_of_freedom
        Number of rows minus number of fitted constants.
    rates
        Rates that predictions use.
    bandwidths
        The rates that nccl-tests measured.
    given
        Names of the rates that were given or measured, and not taken from an instance.
    residuals
        Rows of the table.
    messages
        All-reduces of nccl-tests.
    notes
        Notes, one line each.
    """

    source: str
    contention: Contention | None
    parameters: tuple[Parameter, ...]
    correlation: float | None
    degrees_of_freedom: int
    rates: Rates
    bandwidths: tuple[Bandwidth, ...]
    given: tuple[str, ...]
    residuals: tuple[Residual, ...]
    messages: tuple[Residual, ...]
    notes: tuple[str, ...]

    @property
    def rms_error(self) -> float | None:
        """Root mean square of the rows' errors; None without a table."""
        if not self.residuals:
            return None
        squares = math.fsum(residual.error**2 for residual in self.residuals)
        return math.sqrt(squares / len(self.residuals))

    def sections(self) -> dict[str, Any]:
        """The calibrated sections of an instance, as far as known."""
        found: dict[str, Any] = {}
        rates = {name: getattr(self.rates, name) for name in self.given}
        if network := rates.pop("network_gbps", None):
            rates = {"network": {"kind": "star", "gbps": network}, **rates}
        if rates:
            found["cluster"] = rates
        if self.contention is not None:
            found["contention"] = self.contention.model_dump(mode="json", exclude_unset=True)
        return found

    def applied(self, instance: Instance) -> Instance:
        """A copy of an instance with the calibrated values; a tree's links keep their rates.

        Raises
        ------
        InputError
            If a job's speed is then 0 even alone in its best placement.
        """
        data = instance.model_dump(mode="json", exclude_unset=True)
        sections = self.sections()
        cluster = sections.pop("cluster", {})
        if not isinstance(instance.cluster.network, StarNetwork):
            cluster.pop("network", None)
        data["cluster"] |= cluster
        return parse_instance(data | sections, f"{instance.name}, calibrated")

    def summary(self) -> dict[str, Any]:
        """The whole result as plain data."""
        return {
            "source": self.source or None,
            "contention": self.contention
            and self.contention.model_dump(mode="json", exclude_unset=True),
            "parameters": [asdict(parameter) for parameter in self.parameters],
            "correlation": self.correlation,
            "degrees_of_freedom": self.degrees_of_freedom,
            "rms_error": self.rms_error,
            "rates": asdict(self.rates),
            "bandwidths": [
                {
                    "name": rate.name,
                    "gbps": rate.gbps,
                    "low": rate.low,
                    "high": rate.high,
                    "runs": list(dict.fromkeys(run.source for run, _ in rate.messages)),
                    "messages": len(rate.messages),
                }
                for rate in self.bandwidths
            ],
            "rows": [
                {**asdict(row), "error": row.error} for row in (*self.residuals, *self.messages)
            ],
            "notes": list(self.notes),
        }
