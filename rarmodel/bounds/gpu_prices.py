"""Bounds from prices: what a schedule is worth at least if GPUs cost something in each slot.

Give every GPU of every kind of server a price for every slot. In a schedule all jobs together pay
at most for all the GPUs that there are. So the sum of the terms of an objective is at least the sum
over the jobs of term plus payment, less the price of all the room. Each job's part of that is at
least its least over all starts and all ways to place it, whatever the others do. This holds for any
prices, and those that prove most give the bound of the time-indexed linear program with a row for
each kind and slot, without its size (A. Geoffrion, "Lagrangean relaxation for integer programming",
Mathematical Programming Study 2, 1974).

A job with a ring of w GPUs on servers that include one of kind k takes no less than the least time
of `lone_options` with w and k. Terms do not fall with the completion, and prices are not negative,
so to hold w GPUs of the cheapest of its kinds for that time costs no more than the ring does. A
job that runs at slot 0 starts there.

Subgradient steps find the prices (see `price_ascent`). No float is trusted for the bound: prices
are rounded to whole numbers, small enough for floats to be exact, and the sum is formed again.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, inf, lcm, log2
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rarmodel.model import horizon_of, windows
from rarmodel.model.caching import once_per_instance
from rarmodel.model.features import plain
from rarmodel.model.objectives import MAKESPAN, Objective, Term, Value, exact, objectives_of
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Argument

from .arguments import counted, of_jobs_alone
from .bound import UNINTERRUPTED, Bound
from .least_demands import works
from .price_proof import PriceProof
from .relaxations import least_not_refuted, next_value
from .time_for_bounds import seconds_left

if TYPE_CHECKING:
    from .capacity_relaxation import Kinds
    from .subgradient import CapacityRelaxation, Prices

ASCENT_WORK = 200_000_000
"""Offers times blocks in all steps of an ascent, about: less than a second."""
WORK_PER_SECOND = 150_000_000
"""The same in a second, on a slow machine."""
MOST_TRIED = 20_000
"""Offers, at most, for the greatest of terms; with more, one ascent takes too long."""
FEWEST_STEPS, MOST_STEPS = 40, 800
FAILED_WORK = 2 * ASCENT_WORK
"""Work, at most, on values that are not refuted; those that are take a step or few."""
MOST_LENGTHS = 3
"""So often the time in which GPUs cost something is doubled, at most."""
FIRST_EXCESS, LEAST_EXCESS = 0.02, 1e-9
"""By which part jobs might pay more than all room costs, as a first guess; and what is enough."""
EXACT = 2**52
"""Whole numbers below it are exact as floats, and so are their sums."""


class Plan(NamedTuple):
    """What each job does at the best prices, lately and on average; a guide, and no proof.

    Attributes
    ----------
    kinds
        (servers) Which kind each is.
    starts
        (jobs) Start in slots.
    offers
        (jobs) Kind of servers, and size of the ring.
    """

    kinds: Kinds
    starts: tuple[float, ...]
    offers: tuple[tuple[int, int], ...]


class Known(NamedTuple):
    """The best prices of a relaxation, of kinds of servers in blocks of so many slots."""

    kinds: Kinds
    width: int
    prices: Prices


class Outcome(NamedTuple):
    """A bound on the value of an objective, the plan that comes with it, and what proves it."""

    value: Value
    plan: Plan
    proof: PriceProof | None = None


def gpu_prices(instance: Instance, objective: Objective) -> Value | None:
    """Bound from prices of GPUs over time, on sums of terms and on the greatest of them.

    It is only for objectives that the instance asks for, as it takes up to some seconds. It says
    nothing of the greatest term of instances with many jobs.
    """
    found = outcome(instance, objective) if objective in objectives_of(instance) else None
    return None if found is None else found.value


def outcome(instance: Instance, objective: Objective) -> Outcome | None:
    """Bound and plan for an objective; None if the bound is not for it, or needs too much."""
    known = _outcomes(instance)
    return known[objective.name] if objective.name in known else _outcome(instance, objective)


@once_per_instance
def _outcomes(instance: Instance) -> dict[str, Outcome | None]:
    """Those of the instance's own objectives."""
    return {one.name: _outcome(instance, one) for one in objectives_of(instance)}


def _outcome(instance: Instance, objective: Objective) -> Outcome | None:
    terms = counted(instance, objective)
    # On the makespan of a plain instance other bounds prove more, and sooner.
    if not terms or (objective is MAKESPAN and plain(instance)):
        return None
    return _greatest(instance, objective, terms) if objective.greatest else _sum(instance, terms)


def _sum(instance: Instance, terms: dict[int, Term]) -> Outcome | None:
    """Bound on sums of terms: what all jobs cost at least, less the price of all the room."""
    from .capacity_relaxation import partitions, relaxation_of  # noqa: PLC0415 - takes a while to load

    common = lcm(*(term.divisor for term in terms.values()))
    latest = [window.end for window in windows(instance, horizon_of(instance))]
    length = _length(instance)
    most = max(latest)
    best: Fraction | None = None
    plan: Plan | None = None
    proof: PriceProof | None = None
    last: Known | None = None
    for one in partitions(instance):
        for _ in range(MOST_LENGTHS):
            relaxed = with_terms(relaxation_of(instance, one, latest, length), terms, common)
            prices = _carried(last, relaxed, one.kinds)
            last = Known(one.kinds, relaxed.width, prices)
            hope = _hope(instance, terms) * common
            if (steps := steps_for(relaxed)) == 0:
                break  # Time is over.
            if ascended(relaxed, prices, steps, hope, inf) == inf:
                return None
            whole = proven_at(one.kinds, relaxed, prices)
            if whole is not None and (best is None or whole.value > best):
                best, plan = whole.value, _plan(one.kinds, relaxed, prices)
                proof = whole.proof._replace(scale=whole.proof.scale * common)
            if length >= most or not prices.best[:, -2].any():
                break
            length = min(most, 2 * length)
    if best is None or plan is None:
        return None
    value = ceil(best / common) if common == 1 else exact(best / common)
    return Outcome(value, plan, proof)


def _greatest(instance: Instance, objective: Objective, terms: dict[int, Term]) -> Outcome | None:
    """Bound on the greatest of terms: below it the jobs would pay more than all GPUs cost.

    For a value λ each job must complete by the last slot at which its term is at most λ. If then
    all jobs together pay more, at the least, than there is room for, λ is too small.
    """
    from .capacity_relaxation import partitions, relaxation_of  # noqa: PLC0415 - takes a while to load

    horizon = horizon_of(instance)
    ends = [window.end for window in windows(instance, horizon)]
    partition = partitions(instance)[-1]
    kinds, offers = partition.kinds, sum(map(len, partition.offers))
    if offers > MOST_TRIED:
        return None
    widest = MOST_LENGTHS * _length(instance)
    known: Known | None = None
    plan: Plan | None = None
    proof: PriceProof | None = None
    work = FAILED_WORK

    def latest(value: Value) -> list[int]:
        """(jobs) Slots by which all complete if no term is greater."""
        last = list(ends)
        for j, term in terms.items():
            end = term.latest(value)
            if end is not None:
                last[j] = min(last[j], end)
        return last

    def too_late(last: list[int]) -> bool:
        return any(one.head + one.slots > last[one.job] for one in works(instance))

    def refuted(value: Value, most_steps: int) -> bool:
        nonlocal known, plan, proof, work
        last = latest(value)
        if too_late(last):
            return True
        relaxed = relaxation_of(instance, partition, last, min(widest, max(last)))
        prices = _carried(known, relaxed, kinds)
        if known is None:
            prices.now[:, :-1] = 1.0
        steps = min(most_steps, steps_for(relaxed))
        if steps > 0 and ascended(relaxed, prices, steps, FIRST_EXCESS, LEAST_EXCESS) > 0:
            known = Known(kinds, relaxed.width, prices)
            whole = proven_at(kinds, relaxed, prices)
            if whole is not None and whole.value > 0:
                proof = whole.proof._replace(below=value)
                return True
        plan = _plan(kinds, relaxed, prices)
        work -= steps * offers * relaxed.capacity.shape[1]
        return False

    finest = Fraction(1, max(term.divisor for term in terms.values()))
    most = max(term.at(horizon) for term in terms.values())
    value: Value = least_not_refuted(instance, objective, lambda one: too_late(latest(one)))
    while value < most and refuted(value, MOST_STEPS):
        # Prices that refute a value refute most of the next ones too, or nearly so.
        step = finest
        while step >= finest and work > 0 and value < most:
            if refuted(value + step, FEWEST_STEPS):
                value += step
                step *= 2
            else:
                step /= 4
        value = next_value(terms.values(), Fraction(value))
        if work <= 0:
            break
    return None if plan is None else Outcome(value, plan, proof)


def _plan(kinds: Kinds, relaxed: CapacityRelaxation, prices: Prices) -> Plan:
    """What jobs do on average: the offers that they take most often."""
    offers = []
    for begin, end in pairwise(relaxed.offer_at.tolist()):
        best = begin + int(prices.taken[begin:end].argmax())
        offers.append((int(relaxed.kind[best]), int(relaxed.size[best])))
    return Plan(kinds, tuple(prices.mean.tolist()), tuple(offers))


def _length(instance: Instance) -> int:
    """About as many slots as a good schedule has."""
    area = sum(work.area for work in works(instance))
    last = max(work.head + work.slots for work in works(instance))
    return last + -(-area // instance.cluster.total_gpus)


def _hope(instance: Instance, terms: dict[int, Term]) -> float:
    """How much more than each job alone all might cost, as a first guess."""
    area = sum(work.area for work in works(instance))
    wait = area / instance.cluster.total_gpus
    weights = sum(term.weight / term.divisor for term in terms.values())
    return max(1.0, weights * wait / 8)


def with_terms(
    relaxed: CapacityRelaxation, terms: dict[int, Term], common: int
) -> CapacityRelaxation:
    """With terms times a common multiple of their divisors."""
    for j, term in terms.items():
        relaxed.weight[j] = term.weight * (common // term.divisor)
        relaxed.offset[j], relaxed.shape[j] = term.offset, term.shape
    return relaxed


def _carried(known: Known | None, relaxed: CapacityRelaxation, kinds: Kinds) -> Prices:
    """Prices to start from: each kind has those of the kind that its servers had, at each time."""
    from .subgradient import new_prices  # noqa: PLC0415

    carried = new_prices(relaxed)
    if known is not None:
        best, blocks = known.prices.best, carried.now.shape[1] - 1
        middles = np.arange(blocks) * relaxed.width + relaxed.width // 2
        at = np.minimum(middles // known.width, best.shape[1] - 1)
        for old, new in zip(known.kinds, kinds, strict=True):
            carried.now[new, :-1] = best[old, at]
    return carried


def steps_for(relaxed: CapacityRelaxation) -> int:
    """As many steps as an ascent may take, also by the time that is left; all prices are valid."""
    work: int = len(relaxed.size) * relaxed.capacity.shape[1]
    steps = max(FEWEST_STEPS, min(MOST_STEPS, ASCENT_WORK // work))
    return int(min(steps, seconds_left() * WORK_PER_SECOND / work))


def ascended(
    relaxed: CapacityRelaxation, prices: Prices, steps: int, hope: float, enough: float
) -> float:
    """The greatest value of so many steps; its prices are then `best`. See `ascend`."""
    from .subgradient import ascend  # noqa: PLC0415

    return float(ascend(relaxed, prices, steps, hope, enough))


class _Whole(NamedTuple):
    """The value at prices in whole numbers, and these."""

    value: Fraction
    proof: PriceProof


def proven_at(kinds: Kinds, relaxed: CapacityRelaxation, prices: Prices) -> _Whole | None:
    """The value at the best prices, exactly: these and the weights become whole numbers.

    None if the numbers are too great for that.
    """
    from .subgradient import worth  # noqa: PLC0415

    length = relaxed.width * relaxed.capacity.shape[1]
    reach = max(length, int(relaxed.start.max())) + int(relaxed.slots.max())
    offsets = abs(relaxed.offset).max()
    dearest = prices.best.sum(axis=1).max() * relaxed.width
    most = (
        relaxed.weight.sum() * (reach + offsets)
        + int(relaxed.size.max()) * len(relaxed.start) * dearest
        + (prices.best[:, :-1] * relaxed.capacity).sum()
        + 1.0
    )
    if most > EXACT:
        return None
    scale = 2 ** int(log2(EXACT / most))
    prices.now[:] = (prices.best * scale) // 1
    whole = relaxed._replace(weight=relaxed.weight * scale)
    value = Fraction(int(worth(whole, prices)), scale)
    kept = prices._replace(
        now=prices.now.copy(), offer=prices.offer.copy(), begun=prices.begun.copy()
    )
    return _Whole(value, PriceProof(kinds, whole, kept, scale))


def certify(instance: Instance, objective: Objective, value: Value) -> Argument | None:
    """The prices that prove a value; or jobs that cannot do it alone. See `Bound.certify`."""
    found = outcome(instance, objective)
    if found is not None and found.proof is not None:
        below, proven = found.proof.below, found.value
        if below is not None:
            proven = next_value(counted(instance, objective).values(), Fraction(below))
        if proven >= value:
            return found.proof.argument(instance)
    return of_jobs_alone(instance, objective, value)


GPU_PRICES = Bound(
    "prices of GPUs",
    "GPUs that cost something in each slot take in no more than all the room is worth",
    gpu_prices,
    handles=UNINTERRUPTED,
    rank=18,
    cost="up to some seconds",
    certify=certify,
)
