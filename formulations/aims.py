"""What models minimise: the objectives of instances (section 10), as whole steps.

A sum of terms rises in multiples of one unit, and so do prices of what is held and what links
count; the greatest of terms takes one of finitely many values, which are counted. So models
minimise whole numbers, and a bound of theirs can be rounded up to the next value that there is. All
of this follows from the terms, prices and link weights of an objective; nothing asks which
objective it is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from math import ceil, floor, gcd, lcm
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.gpu_sharing import part_held
from rarmodel.model.objectives import Objective, Term, Value, exact, objectives_of

from .component import Component
from .composition import OBJECTIVE
from .outcome import ScheduleOutcome
from .replicas_beside_jobs import price_of_replicas
from .ring_links import most_links, weight_of_links
from .scope import Scope
from .values import Values, over


@dataclass(frozen=True)
class Aim:
    """The values that an objective can take in a scope.

    Attributes
    ----------
    objective
        The objective.
    terms
        By job that counts: what it adds; none where placements count.
    base, unit
        Values are the base and whole multiples of the unit beyond it.
    values
        Where the objective is the greatest of terms: its values, ascending. Base and unit are
        then those of their places in this list.
    """

    objective: Objective
    terms: dict[str, Term]
    base: Value
    unit: Fraction
    values: tuple[Value, ...] = ()

    @property
    def is_makespan(self) -> bool:
        """Whether it is the latest completion."""
        return self.objective.greatest and set(self.terms.values()) == {Term()}

    def value(self, steps: int) -> Value:
        """The value after so many steps."""
        if self.values:
            return self.values[min(steps, len(self.values) - 1)]
        return exact(self.base + self.unit * steps)

    def steps(self, value: Value) -> int:
        """How many steps lead to a value, or to the greatest one below it."""
        if self.values:
            return bisect_right(self.values, value) - 1
        return floor((value - self.base) / self.unit)

    @property
    def shift(self) -> float:
        """What is added to the steps, so that relative gaps are those of values if they can be."""
        return 0.0 if self.values else float(self.base / self.unit)

    def at_least(self, bound: float) -> Value:
        """The least value that a model's objective can stand for that is no less than a bound.

        Noise does not count: 8 is no less than 8.0000001.
        """
        steps = bound - self.shift
        return self.value(max(0, ceil(steps - 1e-6 * max(1.0, abs(bound)))))


def aim_of(scope: Scope, place: int) -> Aim:
    """The objective at a place among those of an instance, most important first."""
    instance = scope.instance
    one = objectives_of(instance)[place]
    if not one.of_completions:
        numbers = [*_prices(scope, one).values(), *one.link_weights_of(instance)]
        numbers += price_of_replicas(scope, one).values()
        return Aim(one, {}, 0, _unit(numbers))
    terms = dict(zip(scope.jobs, one.terms(instance), strict=True))
    counting = {j: term for j, term in terms.items() if term is not None}
    if one.greatest and set(counting.values()) == {Term()}:
        return Aim(one, counting, 0, Fraction(1))  # Slots are its steps.
    reached = {j: [term.at(t) for t in ends_of(scope, j)] for j, term in counting.items()}
    if not one.greatest:
        rises = [after - at for values in reached.values() for at, after in pairwise(values)]
        return Aim(one, counting, sum(values[0] for values in reached.values()), _unit(rises))
    least = max((values[0] for values in reached.values()), default=0)
    several = {value for values in reached.values() for value in values if value >= least}
    return Aim(one, counting, 0, Fraction(1), tuple(sorted(several or {0})))


def ends_of(scope: Scope, job: str) -> range:
    """The slots at which a job can complete."""
    window, least = scope.windows[job], scope.least_slots[job]
    return range(window.start + least, max(window.end, window.start + least) + 1)


def _unit(numbers: Iterable[Value]) -> Fraction:
    """The greatest number of which all are whole multiples; 1 if all are 0."""
    fractions = [Fraction(number) for number in numbers if number]
    if not fractions:
        return Fraction(1)
    below = reduce(lcm, (one.denominator for one in fractions))
    return Fraction(reduce(gcd, (int(one * below) for one in fractions)), below)


def steps_of(m: Any, scope: Scope, place: int, aim: Aim) -> Any:
    """The steps of an objective as an expression of a model.

    A term rises by what it adds at slot t + 1 beyond slot t, unless the job has completed by t. Of
    values v_0 < v_1 < … that the greatest of terms can take, the steps are those not reached:

    ```
    term_j = term_j(e) + Σ_{t ≥ e} (term_j(t+1) − term_j(t))·(1 − ended_jt)     e the first end
    greatest = Σ_i (1 − within_i)      within_i ≤ within_(i+1)
    within_i ≤ ended_jt                t the last slot with term_j(t) ≤ v_i
    cost = Σ_jst price_s·part_js·held_jst + Σ_ct price_c·up_ct
    ```

    with part_js the part of a GPU that a worker of job j holds on server s: 1 without slices; and
    price_c what replicas of kind c cost for a slot, where services are decided with the jobs.

    `weight_of_links` says what links count.
    """
    if aim.objective.link_weights is not None:
        return weight_of_links(m, scope, place, _weights(scope, aim))
    if aim.objective.prices is not None:
        prices = _prices(scope, aim.objective)
        steps = {key: int(price / aim.unit) for key, price in prices.items()}
        of_replicas = price_of_replicas(scope, aim.objective)
        rest = sum(
            int(of_replicas[i[:3]] / aim.unit) * m.up[i] for i in (m.up if of_replicas else ())
        )
        return rest + sum(
            steps[j, s] * m.held[j, s, t]
            for s in scope.servers
            for j in scope.jobs
            if steps.get((j, s))
            for t in range(scope.horizon)
        )
    if aim.is_makespan:
        return m.makespan
    if not aim.objective.greatest:
        return sum(
            int((term.at(t + 1) - term.at(t)) / aim.unit) * (1 - m.ended[j, t])
            for j, term in aim.terms.items()
            for t in ends_of(scope, j)[:-1]
            if term.at(t + 1) > term.at(t)
        )
    return steps_within(m, scope, place, aim, lambda m, within, j, t: within <= m.ended[j, t])


def steps_within(
    m: Any, scope: Scope, place: int, aim: Aim, kept: Callable[[Any, Any, str, int], Any]
) -> Any:
    """The steps of a greatest term: those of its values within which the terms do not all stay.

    Parameters
    ----------
    m, scope, place, aim
        The model, its scope, and the aim with its place among the objectives.
    kept
        Function `(m, within, job, slot)`: the constraint that the job ends by the slot if the
        binary `within` is 1.
    """
    places = range(len(aim.values) - 1)
    within = pyo.Var(places, domain=pyo.Binary)
    m.add_component(f"within_{place}", within)
    m.add_component(
        f"stays_within_{place}",
        pyo.Constraint(places[1:], rule=lambda _, i: within[i] >= within[i - 1]),
    )
    m.add_component(
        f"within_if_ended_{place}",
        pyo.Constraint(
            [(j, i, t) for j, term in aim.terms.items() for i, t in limits_of(scope, j, term, aim)],
            rule=lambda m, j, i, t: kept(m, within[i], j, t),
        ),
    )
    return sum(1 - within[i] for i in places)


def _prices(scope: Scope, one: Objective) -> dict[tuple[str, str], Value]:
    """By job and server: the price of a worker for a slot; none where prices do not count."""
    if one.prices is None:
        return {}
    priced = list(zip(scope.servers.items(), one.prices_of(scope.instance), strict=True))
    return {
        (j, s): exact(price * part_held(scope.instance, job, scope.server_index[s]))
        for j, job in scope.jobs.items()
        for (s, server), price in priced
        if job.slices is None or job.slices <= scope.instance.cluster.slices_of(server)
    }


def _weights(scope: Scope, aim: Aim) -> dict[str, int]:
    """By link: what it counts for a ring that uses it, in steps of an objective."""
    weights = zip(scope.links, aim.objective.link_weights_of(scope.instance), strict=True)
    return {l: int(weight / aim.unit) for l, weight in weights}


def limits_of(scope: Scope, job: str, term: Term, aim: Aim) -> Iterator[tuple[int, int]]:
    """The last of the values that ask a job to end by a slot, by its place, and that slot."""
    for t in ends_of(scope, job)[:-1]:
        place = bisect_left(aim.values, term.at(t + 1)) - 1
        if place >= 0 and term.at(t + 1) > term.at(t):
            yield place, t


def aims(scope: Scope) -> list[Aim]:
    """The objectives up to that of the scope's stage."""
    return [aim_of(scope, place) for place in range(scope.stage + 1)]


def needs_makespan(scope: Scope) -> bool:
    """Whether a model needs the makespan: for an objective, or as an addition may refer to it."""
    return scope.every_schedule or any(aim.is_makespan for aim in aims(scope))


def add_objectives(
    m: Any, scope: Scope, steps: Callable[[Any, Scope, int, Aim], Any] = steps_of
) -> None:
    """Minimise the objective of the scope's stage; keep the earlier ones at most where they are.

    ```
    steps_i ≤ steps of the value that objective i has      i before the stage
    ```

    Parameters
    ----------
    m, scope
        The model.
    steps
        Says the steps of an objective by the variables of the model.
    """
    found = aims(scope)
    counted = [steps(m, scope, place, aim) for place, aim in enumerate(found)]
    if scope.stage:
        m.keeps = pyo.Constraint(
            range(scope.stage),
            rule=lambda _, i: (
                pyo.Constraint.Skip
                if isinstance(counted[i], int)
                else counted[i] <= found[i].steps(scope.at_most[i])
            ),
        )
    m.objective = pyo.Objective(
        expr=counted[-1] if found[-1].shift == 0 else counted[-1] + found[-1].shift
    )


def values_of_aims(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The values of the variables that objectives add, in a schedule."""
    scope, found = outcome.scope, {}
    ends = [outcome.end[j] for j in scope.jobs]
    for place, aim in enumerate(aims(scope)):
        if aim.values:
            value = aim.objective.value(scope.instance, ends)
            limits = aim.values
            found[f"within_{place}"] = over(_within(value, limits), range(len(limits) - 1))
        if aim.objective.link_weights is not None:
            found[f"most_links_{place}"] = most_links(outcome, _weights(scope, aim))
    return found


def _within(value: Value, limits: tuple[Value, ...]) -> Callable[[int], bool]:
    return lambda i: value <= limits[i]


OBJECTIVES = Component(
    OBJECTIVE, add_objectives, needs=("ended", "held", "linked", "makespan"), inner=values_of_aims
)
"""Minimises what instances ask for. `makespan`, `held`, `linked`: only for objectives that do."""
