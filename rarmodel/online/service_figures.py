"""What a simulation is worth to services: how much of their demand is met, and at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from rarmodel.bounds.cheapest_replicas import least_cost_of_services
from rarmodel.model.objectives import COST, Value, number
from rarmodel.model.services import cost_of_replicas
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import Report


class ServiceFigures(NamedTuple):
    """Figures of a service.

    Attributes
    ----------
    slots, met
        Slots in which requests arrive, and those of them in which replicas that are ready reach
        the demand.
    most_replicas
        The most replicas that are ready at once.
    cost
        Price of what its replicas hold, start-ups included; in GPU-hours where there are no prices.
    bound
        No replicas that meet the demand cost less.
    """

    slots: int
    met: int
    most_replicas: int
    cost: Value
    bound: Value

    @property
    def ratio(self) -> float | None:
        """Cost by bound; 1 if both are 0, None if the bound alone is."""
        if self.bound == 0:
            return 1.0 if self.cost == 0 else None
        return float(Fraction(self.cost) / Fraction(self.bound))

    def told(self) -> str:
        """The figures in words."""
        met = f"demand is met in {self.met:,} of {self.slots:,} slots"
        ratio = self.ratio
        if ratio is None:
            return f"{met}; replicas cost {float(self.cost):,.6g}"
        limit = "the least" if ratio <= 1 else f"at most {ratio:.3f} times the least"
        return f"{met}; replicas cost {float(self.cost):,.6g}, {limit}"

    def summary(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "slots": self.slots,
            "met": self.met,
            "most_replicas": self.most_replicas,
            "cost": number(self.cost),
            "bound": number(self.bound),
            "ratio": self.ratio,
        }


def figures_of_services(
    instance: Instance, schedule: Schedule, report: Report
) -> Mapping[str, ServiceFigures]:
    """The figures of each service, by its name.

    Parameters
    ----------
    instance
        The problem, with services.
    schedule, report
        A schedule with replicas, and the verifier's report on it.
    """
    found = {}
    for service in instance.services:
        periods = [one for one in report.services[service.name] if one.demand > 0]
        own = [one for one in schedule.services if one.service == service.name]
        alone = instance.model_copy(update={"services": (service,)})
        found[service.name] = ServiceFigures(
            slots=sum(one.end - one.start for one in periods),
            met=sum(one.end - one.start for one in periods if one.capacity >= one.demand),
            most_replicas=max((sum(one.ready.values()) for one in periods), default=0),
            cost=cost_of_replicas(instance, own, COST),
            bound=least_cost_of_services(alone, COST),
        )
    return found
