"""The cheapest mix of replicas by `cheapest-mix`, checked in exact numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil, gcd, lcm
from typing import Any, NamedTuple

from rarmodel.errors import UsageError
from rarmodel.formulations import Formulation, Scope
from rarmodel.formulations.cheapest_mix import CHEAPEST_MIX, ROOM_AND_QUOTAS
from rarmodel.formulations.cheapest_mix_numbers import Key, Mix, Numbers, mix_of
from rarmodel.formulations.replica_stays import stays
from rarmodel.limits import Limits
from rarmodel.methods.result import in_full
from rarmodel.model import topology
from rarmodel.model.services import asks, enough, why_unanswerable
from rarmodel.schema import Instance, Service, Variant
from rarmodel.solvers import Answer, Solver, first_answer
from rarmodel.solvers.choice import preferred, require_solvers

SECONDS = 30.0
"""Time for a mix, unless the limit is shorter."""
MARGIN = 1e-6
"""What is asked for beyond demand and accuracy if a solver kept them only nearly all the same."""


NO_ROOM = "the replicas that services need find no room on the servers, or by quotas"
"""Why there is no mix."""


class Wanted(NamedTuple):
    """A replica that is to be placed.

    Attributes
    ----------
    service, variant
        What it runs.
    servers
        Indices of the servers that may hold it.
    start, end
        The slots in which it holds GPUs.
    gpu
        If it holds slices, and that is decided: a GPU of its only server, by index. Those with whom
        it is there at once share its GPU.
    """

    service: Service
    variant: Variant
    servers: tuple[int, ...]
    start: int
    end: int
    gpu: int | None = None


class Chosen(NamedTuple):
    """A mix of replicas over time.

    Attributes
    ----------
    wanted
        The replicas.
    price
        What they cost by the instance's prices, in GPU-hours where there are none.
    """

    wanted: tuple[Wanted, ...]
    price: Fraction


def cheapest_mix(
    instance: Instance,
    limits: Limits,
    formulation: Formulation = CHEAPEST_MIX,
    solvers: Sequence[Solver] = (),
    numbers: Numbers = mix_of,
) -> Chosen | str:
    """The replicas that answer all services at the least cost; or why there are none, in a line.

    Parameters
    ----------
    instance
        The problem.
    limits
        Its time limit, threads and seed count.
    formulation, solvers
        `cheapest-mix` or an extension of it, and its solvers; by default those installed.
    numbers
        The numbers of the formulation: `singles_of` if it places each replica.

    Raises
    ------
    UsageError
        If the model is too large, or no solver is installed.
    """
    if reasons := why_unanswerable(instance):
        return "; ".join(reasons)
    if not asks(instance):
        return Chosen((), Fraction(0))
    for margin in (0.0, MARGIN):
        scope = _scope(instance, margin)
        model, answer = _solved(scope, limits, formulation, solvers)
        if not answer.has_solution:
            if answer.termination == "infeasible":
                return NO_ROOM
            return f"no mix of replicas was found: {answer.message}"
        mix = numbers(scope)
        counts = {c: [0] * len(mix.pieces) for c in mix.kinds}
        for index, variable in model.ready.items():
            counts[index[:3]][index[3]] = round(variable.value)
        if _answers(instance, mix, counts):
            _without_idle(instance, mix, counts)
            return Chosen(tuple(_stays(mix, counts)), _price(mix, counts))
    return "the solver's mix does not answer what is asked, in exact numbers"


def least_price(instance: Instance, limits: Limits) -> tuple[Fraction, str] | None:
    """What services cost at least, start-ups included, wherever there is room; and who proved it.

    It is by the prices of `cost`. What a solver proves is rounded up to what a mix can cost: prices
    of replicas have a common divisor, and a float is trusted to a millionth only.

    None if nothing is proven, or no service asks for anything.
    """
    if why_unanswerable(instance) or not asks(instance):
        return None
    free = CHEAPEST_MIX.with_components("cheapest-mix-anywhere", without=ROOM_AND_QUOTAS)
    scope = _scope(instance, 0.0)
    solvers = _solvers(scope, free)
    _, answer = _solved(scope, limits, free, solvers)
    if answer.bound is None:
        return None
    unit = _common_divisor(kind.price for kind in mix_of(scope).kinds.values())
    safe = Fraction(answer.bound) * (1 - Fraction(1, 10**6))
    value = unit * ceil(safe / unit) if unit else Fraction(0)
    return value, f"{CHEAPEST_MIX.name} by {in_full(solvers[0].name, solvers[0].version())}"


def _common_divisor(prices: Iterable[Fraction]) -> Fraction:
    """The greatest number of which all prices are multiples; 0 if all are 0."""
    known = [price for price in prices if price]
    divisor = lcm(*(price.denominator for price in known))
    return Fraction(gcd(*(int(price * divisor) for price in known)), divisor)


def _scope(instance: Instance, margin: float) -> Scope:
    return Scope(instance, topology(instance.cluster), (), 1, 0, {"margin": margin})


def _solvers(scope: Scope, formulation: Formulation) -> list[Solver]:
    """The installed solvers of the model, the preferred one first."""
    if unfit := formulation.unfit(scope):
        raise UsageError(f"{formulation.name}: {unfit}")
    kind = formulation.model_class
    return preferred(require_solvers(kind, formulation.name), kind, formulation.size(scope))


def _solved(
    scope: Scope, limits: Limits, formulation: Formulation, solvers: Sequence[Solver]
) -> tuple[Any, Answer]:
    """The model, and what a solver made of it in the time there is."""
    seconds = min(SECONDS, limits.time_limit or SECONDS)
    limits = replace(limits, time_limit=seconds, gap=0.0, log=None, progress=None, start=None)
    model = formulation.build(scope)
    return model, first_answer(list(solvers) or _solvers(scope, formulation), model, limits)


def _ready(mix: Mix, counts: Mapping[Key, Sequence[int]], service: str, k: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for c, of_pieces in counts.items():
        if c[0] == service:
            found[c[1]] += of_pieces[k]
    return found


def _answers(instance: Instance, mix: Mix, counts: Mapping[Key, Sequence[int]]) -> bool:
    """Whether replicas answer what is asked in each piece, exactly."""
    return all(
        enough(service, _ready(mix, counts, service.name, k), piece.rates[service.name])
        for service in instance.services
        for k, piece in enumerate(mix.pieces)
        if piece.rates.get(service.name)
    )


def _without_idle(instance: Instance, mix: Mix, counts: dict[Key, list[int]]) -> None:
    """Leave out replicas that cost nothing, and that nobody needs."""
    services = {service.name: service for service in instance.services}
    for c, kind in mix.kinds.items():
        if kind.price > 0 or kind.startup:
            continue
        for k, piece in enumerate(mix.pieces):
            rate = piece.rates.get(c[0], Fraction(0))
            while counts[c][k] > 0:
                counts[c][k] -= 1
                if not enough(services[c[0]], _ready(mix, counts, c[0], k), rate):
                    counts[c][k] += 1
                    break


def _price(mix: Mix, counts: Mapping[Key, Sequence[int]]) -> Fraction:
    total = Fraction(0)
    for c, kind in mix.kinds.items():
        for k, piece in enumerate(mix.pieces):
            begun = max(0, counts[c][k] - (counts[c][k - 1] if k else 0))
            total += kind.price * counts[c][k] * (piece.end - piece.start)
            total += kind.price * begun * mix.before(c, k)
    return total


def _stays(mix: Mix, counts: Mapping[Key, Sequence[int]]) -> list[Wanted]:
    """Replicas one by one, those that begin first, and of these the largest, first."""
    kinds = ((mix.kinds[one.kind], one) for one in stays(mix, counts))
    found = [
        Wanted(kind.service, kind.variant, kind.servers, one.start, one.end, kind.gpu)
        for kind, one in kinds
    ]
    return sorted(found, key=lambda one: (one.start, -one.variant.gpus, -one.end))
