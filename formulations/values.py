"""Values of a model's components in a given schedule; each component states its own once.

A starting solution sets the model's variables to these values. They also let rarmodel judge your
own constraints and objectives without the model. The model of a large instance takes minutes to
build, or does not fit memory at all, and your functions mostly need little of it: completions,
starts, servers. So a component is a mapping that makes values on demand. A value is a fixed Pyomo
variable, so that expressions over it are those of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import pyomo.environ as pyo

from .outcome import ScheduleOutcome
from .plan import put
from .scope import Scope
from .sharing_forms import most_rings

GIVEN = "_given"
"""Attribute in which a model of values keeps its variables."""


class Values(NamedTuple):
    """The values of a component.

    Attributes
    ----------
    at
        The value at an index.
    keys
        Function that makes the index set, for each loop over it.
    has
        Whether an index belongs to the index set.
    """

    at: Callable[..., float]
    keys: Callable[[], Iterable[Any]]
    has: Callable[..., bool]


def over(
    at: Callable[..., float], *sets: Collection[Any], where: Callable[..., bool] | None = None
) -> Values:
    """Values on all indices from some sets, or only on those that satisfy a condition."""

    def has(*index: Any) -> bool:
        inside = len(index) == len(sets) and all(map(_is_in, index, sets))
        return inside and (where is None or where(*index))

    def keys() -> Iterable[Any]:
        chosen = (index for index in product(*sets) if where is None or where(*index))
        return chosen if len(sets) > 1 else (index for (index,) in chosen)

    return Values(at, keys, has)


def reached(
    outcome: ScheduleOutcome,
    levels: Mapping[str, Collection[int]],
    at: Callable[[str, int, int], bool],
) -> Values:
    """Values by job, each of its levels, and slot."""
    most = max(map(len, levels.values()), default=0)
    return over(
        at,
        levels,
        range(most),
        range(outcome.scope.horizon),
        where=lambda j, i, _: i < len(levels[j]),
    )


def _is_in(index: Any, names: Collection[Any]) -> bool:
    return index in names


def usual_values(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The values of components that have the same meaning in all formulations.

    `time_indexed` explains them. A job that runs at slot 0 has started there, wherever it goes on.
    """
    o, scope = outcome, outcome.scope
    jobs, servers, slots = scope.jobs, scope.servers, range(scope.horizon)
    links = most_rings(scope)

    def started(j: str, t: int) -> bool:
        return t >= o.start[j] or jobs[j].running is not None

    return {
        "started": over(started, jobs, slots),
        "ended": over(lambda j, t: t >= o.end[j], jobs, range(scope.horizon + 1)),
        "running": over(o.runs, jobs, slots),
        "start": over(lambda j: o.start[j], jobs),
        "completion": over(lambda j: o.end[j], jobs),
        "workers": over(lambda j, s: o.workers[j].get(s, 0), jobs, servers),
        "on": over(lambda j, s: s in o.workers[j], jobs, servers),
        "servers_used": over(lambda j: len(o.workers[j]), jobs),
        "held": over(lambda j, s, t: o.workers[j].get(s, 0) * o.runs(j, t), jobs, servers, slots),
        "at_least": over(
            lambda l, p, t: o.rings_on(l, t) >= p,
            links,
            range(2, max(links.values(), default=1) + 1),
            slots,
            where=lambda l, p, t: p <= links[l],
        ),
    }


def set_variables(m: Any, outcome: ScheduleOutcome, components: Mapping[str, Values]) -> None:
    """Set a model's variables to the values of a schedule, as a starting solution."""
    for name, values in components.items():
        component = m.component(name)
        # What only another objective or feature needs, the model may do without.
        if component is not None and component.ctype is pyo.Var:
            for index, variable in component.items():
                put(variable, _at(values, index))
    if (makespan := m.component("makespan")) is not None and makespan.ctype is pyo.Var:
        put(m.makespan, outcome.latest)


def _at(values: Values, index: Any) -> float:
    # A truth counts as 0 or 1.
    return +(values.at(*index) if isinstance(index, tuple) else values.at(index))


class Given(NamedTuple):
    """A variable with a value from a schedule."""

    name: str
    variable: Any
    value: float


class Known(Mapping[Any, Any]):
    """An indexed component whose members are fixed variables, made on demand.

    Parameters
    ----------
    name
        Name of the component.
    values
        Values of the component.
    numbers
        Receives the variables: a `pyo.VarList`.
    given
        Receives the members that were made.
    """

    def __init__(self, name: str, values: Values, numbers: Any, given: list[Given]) -> None:
        self._name, self._values, self._numbers, self._given = name, values, numbers, given
        self._made: dict[Any, Any] = {}

    def __getitem__(self, index: Any) -> Any:
        if index not in self._made:
            if not self._values.has(*(index if isinstance(index, tuple) else (index,))):
                raise KeyError(f"{self._name}[{index}]")
            number = self._numbers.add()
            number.fix(_at(self._values, index))
            self._made[index] = number
            self._given.append(Given(f"{self._name}[{index}]", number, number.value))
        return self._made[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values.keys())

    def __len__(self) -> int:
        return sum(1 for _ in self._values.keys())  # noqa: SIM118


def model_of(outcome: ScheduleOutcome, components: Mapping[str, Values]) -> Any:
    """A model without variables: a schedule's values, for your constraints and objectives.

    Its constraints ensure that the schedule keeps the rules on placements and the horizon; its
    objective is the makespan. Their names, and that of the variables, cannot clash with yours.
    """
    scope = outcome.scope
    numbers, given = pyo.VarList(), list[Given]()
    m: Any = pyo.ConcreteModel("values of a schedule")
    m.add_component("_numbers", numbers)
    setattr(m, GIVEN, given)
    for name, values in components.items():
        setattr(m, name, Known(name, values, numbers, given))
    m.makespan = pyo.Var(initialize=outcome.latest)
    m.makespan.fix()
    given.append(Given("makespan", m.makespan, outcome.latest))
    refused = numbers.add()
    refused.fix(sum(not keeps_rules(scope, j, outcome.workers[j]) for j in scope.jobs))
    m.add_component("_rules_on_placements", pyo.Constraint(expr=refused <= 0))
    m.add_component("_within_horizon", pyo.Constraint(expr=m.makespan <= scope.horizon))
    m.objective = pyo.Objective(expr=m.makespan)
    return m


def first_changed(model: Any) -> str | None:
    """The first component of such a model that somebody has fixed at another value."""
    given: list[Given] = getattr(model, GIVEN)
    return next((name for name, variable, value in given if variable.value != value), None)


def keeps_rules(scope: Scope, job: str, workers: Mapping[str, int]) -> bool:
    """Whether each step of a placement, server by server, passes the scope's rules."""
    begun: dict[str, int] = {}
    left = sum(workers.values())
    for server, count in workers.items():
        begun[server] = count
        left -= count
        if not scope.allows(job, begun, left):
            return False
    return True
