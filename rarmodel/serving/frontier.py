"""What services trade: latency, accuracy and cost (model, section 16)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rarmodel.limits import Limits
from rarmodel.model.objectives import in_digits, number
from rarmodel.schema import Instance, Service
from rarmodel.tabular import NONE, frame, html_rows

from .mix import Chosen, cheapest_mix

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

STEPS = 4
"""Accuracies that are asked for between those of two variants."""


@dataclass(frozen=True)
class Point:
    """The cheapest way to run a service with some latency and accuracy.

    Attributes
    ----------
    service
        Name of the service.
    latency_ms
        Time within which requests are answered.
    min_accuracy
        Least mean accuracy; None if any will do.
    cost
        Price of all replicas over all of the demand, in GPU-hours without prices; None if no
        replicas answer so.
    replicas, gpus
        The most that are up at once, and the GPUs that they hold.
    why
        Why there is no cost, in words; empty if there is one.
    efficient
        Whether no other point is as fast, as accurate and as cheap, and better in one of them.
    """

    service: str
    latency_ms: float
    min_accuracy: float | None
    cost: Fraction | None
    replicas: int
    gpus: Fraction
    why: str = ""
    efficient: bool = False

    def better_than(self, other: Point) -> bool:
        """Whether it is as good in all, and better in something."""
        if self.cost is None or other.cost is None or self.service != other.service:
            return False
        mine, others = self.min_accuracy or 0.0, other.min_accuracy or 0.0
        fast, good = self.latency_ms <= other.latency_ms, mine >= others
        same = (self.latency_ms, mine, self.cost) == (other.latency_ms, others, other.cost)
        return fast and good and self.cost <= other.cost and not same


@dataclass(frozen=True)
class Frontier:
    """Latency, accuracy and cost of services.

    Attributes
    ----------
    instance
        Name of the instance.
    points
        Every point that was asked for: by service, latency and accuracy.
    priced
        Whether costs are prices; if not, GPU-hours.
    """

    instance: str
    points: tuple[Point, ...]
    priced: bool

    @property
    def efficient(self) -> tuple[Point, ...]:
        """The points that no other one improves on."""
        return tuple(one for one in self.points if one.efficient)

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain data for each point."""
        return [
            {
                "service": one.service,
                "latency_ms": one.latency_ms,
                "min_accuracy": one.min_accuracy,
                "cost": number(one.cost),
                "replicas": one.replicas,
                "gpus": number(one.gpus),
                "efficient": one.efficient,
                "why": one.why,
            }
            for one in self.points
        ]

    def table(self) -> list[dict[str, str]]:
        """The efficient points as rows of formatted values."""
        unit = "cost" if self.priced else "GPU-hours"
        return [
            {
                "service": one.service,
                "latency, ms": f"{one.latency_ms:g}",
                "accuracy": NONE if one.min_accuracy is None else f"{one.min_accuracy:.4g}",
                unit: in_digits(one.cost),
                "replicas": f"{one.replicas:,}",
                "GPUs": in_digits(one.gpus),
            }
            for one in self.efficient
        ]

    def summary(self) -> dict[str, Any]:
        """It as plain data: the output of `frontier --json`."""
        unit = "price units" if self.priced else "GPU-hours"
        return {"instance": self.instance, "cost_unit": unit, "points": self.rows()}

    def to_frame(self) -> pd.DataFrame:
        """The points as a pandas data frame, with the columns of `rows`."""
        return frame(self.rows())

    def plot(self) -> alt.VConcatChart:
        """A chart: cost by latency, a line for each accuracy, a frame for each service."""
        from rarmodel.drawing import frontier_chart  # noqa: PLC0415 - an extra

        return frontier_chart(self.rows(), "price units" if self.priced else "GPU-hours")

    def _repr_html_(self) -> str:
        return html_rows(f"Frontier of {self.instance}", self.table(), len(self.efficient))


def frontier(
    instance: Instance,
    limits: Limits,
    services: Sequence[str] = (),
    latencies_ms: Sequence[float] = (),
    accuracies: Sequence[float] = (),
) -> Frontier:
    """The cheapest mix of each service for each latency and accuracy, each service alone.

    Jobs are left out, but GPUs of those that run at slot 0 are held, and reservations hold.

    Parameters
    ----------
    instance
        The problem.
    limits
        Its time limit counts for each point.
    services
        Names of the services; by default all.
    latencies_ms
        By default those at which another batch of a variant is short enough, and the service's own.
    accuracies
        By default those of the variants, some between them, and what the service asks for.
    """
    points: list[Point] = []
    for service in instance.services:
        if services and service.name not in services:
            continue
        for latency in sorted(set(latencies_ms or _latencies(service))):
            points += (
                _point(instance, service, latency, accuracy, limits)
                for accuracy in _sorted(accuracies or _accuracies(service))
            )
    efficient = {
        i
        for i, one in enumerate(points)
        if one.cost is not None and not any(other.better_than(one) for other in points)
    }
    made = tuple(
        Point(**{**one.__dict__, "efficient": i in efficient}) for i, one in enumerate(points)
    )
    return Frontier(instance.name, made, instance.cluster.prices_per_gpu_hour is not None)


def _latencies(service: Service) -> Iterator[float]:
    yield service.latency_ms
    for variant in service.variants:
        for batch in variant.batches:
            yield float(2 * Fraction(str(batch.latency_ms)))


def _accuracies(service: Service) -> Iterator[float | None]:
    known = sorted({one.accuracy for one in service.variants if one.accuracy is not None})
    if len(known) == 0 or any(one.accuracy is None for one in service.variants):
        yield None
        return
    if service.min_accuracy is not None:
        yield service.min_accuracy
    yield from known
    for low, high in pairwise(known):
        for step in range(1, STEPS):
            between = Fraction(str(low)) * (STEPS - step) + Fraction(str(high)) * step
            yield float(between / STEPS)


def _sorted(accuracies: Iterable[float | None]) -> list[float | None]:
    return sorted(set(accuracies), key=lambda one: -1.0 if one is None else one)


def _point(
    instance: Instance, service: Service, latency: float, accuracy: float | None, limits: Limits
) -> Point:
    asked = service.model_copy(update={"latency_ms": latency, "min_accuracy": accuracy})
    chosen = cheapest_mix(instance.model_copy(update={"services": (asked,)}), limits)
    if not isinstance(chosen, Chosen):
        return Point(service.name, latency, accuracy, None, 0, Fraction(0), chosen)
    replicas, gpus = _most(instance, chosen)
    return Point(service.name, latency, accuracy, chosen.price, replicas, gpus)


def _most(instance: Instance, chosen: Chosen) -> tuple[int, Fraction]:
    """The most replicas, and the most GPUs, that are up at once."""
    cluster = instance.cluster
    replicas: Counter[int] = Counter()
    gpus: dict[int, Fraction] = {}
    for one in chosen.wanted:
        slices, there = one.variant.slices, cluster.servers[one.servers[0]]
        part = Fraction(one.variant.gpus)
        if slices is not None:
            part = Fraction(slices, cluster.slices_of(there))
        for slot, sign in ((one.start, 1), (one.end, -1)):
            replicas[slot] += sign
            gpus[slot] = gpus.get(slot, Fraction(0)) + sign * part
    most, held = 0, Fraction(0)
    up, now = 0, Fraction(0)
    for slot in sorted(replicas):
        up, now = up + replicas[slot], now + gpus[slot]
        most, held = max(most, up), max(held, now)
    return most, held
