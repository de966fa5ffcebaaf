"""The least price of each job: a bound on the cost."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from rarmodel.model import lone_options
from rarmodel.model.interruptions import may_stop
from rarmodel.model.objectives import Objective, Value, exact
from rarmodel.model.timing import slots_needed
from rarmodel.schema import Instance

from .arguments import of_each_job
from .bound import ALWAYS, Bound


def cheapest_placements(instance: Instance, objective: Objective) -> Value | None:
    """Each job pays at least for its cheapest placement, for as long as it takes alone.

    A ring of w GPUs whose slowest type is k uses servers of types that are no slower. So it takes
    no less than the best of `lone_options` for w and k, and pays no less than the w cheapest GPUs
    on those servers. A running job pays for the GPUs that it has.

    A worker that takes slices of a GPU pays that part of its price.

    A job that may be interrupted mixes placements. Then each iteration costs at least what it costs
    in the placement where a slot's price by its iterations is least.
    """
    if objective.prices is None:
        return None
    return exact(sum(least_prices(instance, objective), Fraction(0)))


def least_prices(instance: Instance, objective: Objective) -> list[Fraction]:
    """(jobs) What each pays at least."""
    prices = objective.prices_of(instance)
    servers = instance.cluster.servers
    index = {server.name: s for s, server in enumerate(servers)}
    known: dict[tuple[frozenset[int], int, int | None], Fraction] = {}

    @cache  # Few jobs differ here.
    def of_worker(slices: int | None) -> list[Fraction]:
        """What a worker pays on each server."""
        if slices is None:
            return [Fraction(price) for price in prices]
        each = map(instance.cluster.slices_of, servers)
        return [Fraction(price * slices, there) for price, there in zip(prices, each, strict=True)]

    @cache
    def by_price(slices: int | None) -> list[int]:
        return sorted(range(len(servers)), key=of_worker(slices).__getitem__)

    def price(allowed: frozenset[int], size: int, slices: int | None) -> Fraction:
        key = allowed, size, slices
        if key not in known:
            left, paid = size, Fraction(0)
            for s in by_price(slices):
                if s in allowed and left:
                    here = min(left, servers[s].gpus)
                    paid, left = paid + here * of_worker(slices)[s], left - here
            known[key] = paid
        return known[key]

    found = []
    for job, options in zip(instance.jobs, lone_options(instance), strict=True):
        costs = []
        for i, option in enumerate(options):
            if speed := option.pace.speed(option.servers, option.gbps):
                a_slot = price(option.allowed, option.pace.size, job.slices)
                if job.running is not None and i == 0:  # The GPUs that it has.
                    held = job.running.gpus.items()
                    own = of_worker(job.slices)
                    a_slot = sum((len(gpus) * own[index[s]] for s, gpus in held), Fraction(0))
                left = job.iterations_left
                slots = slots_needed(left, speed)
                mixes = may_stop(instance, job) and len(options) > 1
                costs.append(a_slot * (Fraction(left, speed) if mixes else slots))
        found.append(min(costs))
    return found


CHEAPEST_PLACEMENTS = Bound(
    "cheapest placements",
    "each job pays for its cheapest placement",
    cheapest_placements,
    handles=ALWAYS,
    rank=17,
    certify=lambda instance, objective, _: of_each_job(
        instance, dict(enumerate(least_prices(instance, objective)))
    ),
)
