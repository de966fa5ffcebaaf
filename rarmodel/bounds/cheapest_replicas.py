"""The least that services cost, whatever the jobs do and however many GPUs there are (section 16).

In each slot of an entry of demand the replicas that are ready hold GPUs, on servers that can hold
them. So each slot costs at least as much as the cheapest mix of replicas that reaches the demand
and is accurate enough, each on the cheapest server that holds it. Replicas that start hold GPUs for
more slots, and caps leave fewer mixes: both only add. So the sum over the slots of the services is
a bound, and it is one also beside jobs, which hold other GPUs or slices.

A mix of n_v replicas of rates μ_v and accuracies y_v serves requests R with mean accuracy y iff

    Σ_v n_v·μ_v ≥ R,  and for each variant u  Σ_v max(0, y_v − y_u)·n_v·μ_v ≥ (y − y_u)·R

By duality of linear programs: rates filled from the most accurate variant on give
`min_λ λ·R + Σ_v max(0, y_v − λ)·n_v·μ_v`, a convex function of λ that is least at some y_u.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import ceil
from typing import NamedTuple

from rarmodel.model.objectives import Objective, Value, exact
from rarmodel.model.services import rate_of, servers_of, share_of_gpu, usable
from rarmodel.schema import Instance, Service
from rarmodel.schema.base import exactly

MOST_NODES = 1_000
"""Mixes that are tried before the bound of the relaxation has to do."""


class Column(NamedTuple):
    """A kind of replica.

    Attributes
    ----------
    price
        What a replica costs.
    rate
        Requests per second that it answers.
    accuracy
        How good its answers are; 0 where nobody asks.
    """

    price: Fraction
    rate: Fraction
    accuracy: Fraction


def least_cost_of_services(instance: Instance, objective: Objective) -> Value:
    """What services cost at least by the prices of an objective; 0 if it has none."""
    if objective.prices is None or not instance.services:
        return 0
    prices = objective.prices_of(instance)
    total = Fraction(0)
    for service in instance.services:
        columns = columns_of(instance, service, prices)
        least = service.min_accuracy
        for entry in service.demand:
            slot = least_price(columns, rate_of(entry), None if least is None else exactly(least))
            total += (entry.end - entry.start) * (slot or 0)
    return exact(total)


def columns_of(
    instance: Instance, service: Service, prices: Sequence[Fraction]
) -> tuple[Column, ...]:
    """The replicas of a service that answer in time, each at its least price.

    Parameters
    ----------
    instance, service
        The problem and one of its services.
    prices
        (servers) Price of a GPU.
    """
    rates = usable(service)
    found = []
    for variant in service.variants:
        held = [
            prices[s] * share_of_gpu(instance, variant, s)
            for s in servers_of(instance, service, variant)
        ]
        if held and variant.name in rates:
            accuracy = exactly(variant.accuracy or 0)
            found.append(Column(min(held), rates[variant.name], accuracy))
    return tuple(found)


@lru_cache(maxsize=10_000)
def least_price(
    columns: tuple[Column, ...], demand: Fraction, min_accuracy: Fraction | None
) -> Fraction | None:
    """The least price of a mix that serves a demand, or a bound below it; None if none serves it.

    All mixes are tried that may be cheaper than the best known; where they are too many, dual
    values of the constraints bound all of them.
    """
    if demand <= 0:
        return Fraction(0)
    needs = [demand]
    gives = [[one.rate for one in columns]]
    for level in sorted({one.accuracy for one in columns} if min_accuracy is not None else ()):
        if min_accuracy is not None and level < min_accuracy:
            needs.append((min_accuracy - level) * demand)
            gives.append([max(Fraction(0), one.accuracy - level) * one.rate for one in columns])
    prices = [one.price for one in columns]
    return _least(prices, gives, needs)


def _least(
    prices: Sequence[Fraction], gives: Sequence[Sequence[Fraction]], needs: Sequence[Fraction]
) -> Fraction | None:
    """`min Σ_v p_v·n_v` over whole `n ≥ 0` with `Σ_v g_rv·n_v ≥ b_r` for each row r.

    Columns are taken in the order of their price for what they give to the first row. Of the
    columns from one on, no mix is cheaper than what dual values of the rows say it must cost.
    """
    order = sorted(range(len(prices)), key=lambda v: prices[v] / gives[0][v])
    duals = [
        _duals(
            [prices[v] for v in order[place:]], [[row[v] for v in order[place:]] for row in gives]
        )
        for place in range(len(order) + 1)
    ]
    helped = [
        [any(row[v] > 0 for v in order[place:]) for row in gives] for place in range(len(duals))
    ]

    def at_least(place: int, left: Sequence[Fraction]) -> Fraction | None:
        lacking = [max(Fraction(0), need) for need in left]
        if any(need > 0 and not some for need, some in zip(lacking, helped[place], strict=True)):
            return None
        return max(
            (
                sum((d * need for d, need in zip(dual, lacking, strict=True)), Fraction(0))
                for dual in duals[place]
            ),
            default=Fraction(0),
        )

    root = at_least(0, needs)
    if root is None:
        return None
    found: Fraction | None = None
    nodes = 0
    stack: list[tuple[int, Fraction, tuple[Fraction, ...]]] = [(0, Fraction(0), tuple(needs))]
    while stack:
        place, paid, left = stack.pop()
        nodes += 1
        if nodes > MOST_NODES:
            return root
        rest = at_least(place, left)
        if rest is None or (found is not None and paid + rest >= found):
            continue
        if all(need <= 0 for need in left):
            found = paid
            continue
        v = order[place]
        enough = max(
            (ceil(need / row[v]) for need, row in zip(left, gives, strict=True) if row[v] > 0),
            default=0,
        )
        if enough > MOST_NODES:
            return root
        # The last on the stack is tried first: as many of the better column as are of use.
        for count in range(max(0, enough) + 1):
            after = tuple(need - count * row[v] for need, row in zip(left, gives, strict=True))
            stack.append((place + 1, paid + count * prices[v], after))
    return found


def _duals(
    prices: Sequence[Fraction], gives: Sequence[Sequence[Fraction]]
) -> list[tuple[Fraction, ...]]:
    """Values λ ≥ 0 of the rows with `Σ_r λ_r·g_rv ≤ p_v` for each column: no mix is below `λ·b`.

    Of all such values those of one row, and the corners of those of two rows.
    """
    rows, columns = range(len(gives)), range(len(prices))
    found: list[tuple[Fraction, ...]] = []
    for r in rows:
        ratios = [prices[v] / gives[r][v] for v in columns if gives[r][v] > 0]
        if ratios:
            found.append(tuple(min(ratios) if row == r else Fraction(0) for row in rows))
    for r, q in combinations(rows, 2):
        for v, w in combinations(columns, 2):
            slope = gives[r][v] * gives[q][w] - gives[r][w] * gives[q][v]
            if slope == 0:
                continue
            first = (prices[v] * gives[q][w] - prices[w] * gives[q][v]) / slope
            second = (gives[r][v] * prices[w] - gives[r][w] * prices[v]) / slope
            kept = all(first * gives[r][u] + second * gives[q][u] <= prices[u] for u in columns)
            if first > 0 and second > 0 and kept:
                values = {r: first, q: second}
                found.append(tuple(values.get(row, Fraction(0)) for row in rows))
    return found
