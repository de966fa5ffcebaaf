"""Values of a model's components in a given schedule; each formulation states them once.

A starting solution sets the model's variables to these values. They also let rarmodel judge your
own constraints and objectives without the model. The model of a large instance takes minutes to
build, or does not fit memory at all, and your functions mostly need little of it: completions,
starts, servers. So a component is a mapping that makes values on demand. A value is a fixed Pyomo
variable, so that expressions over it are those of the model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import pyomo.environ as pyo

from rarmodel.schema import Schedule
from rarmodel.verifier import Period, Ring, Run, simulate

from .formulation import Scope, put

GIVEN = "_given"
"""Attribute in which a model of values keeps its variables."""


class Outcome:
    """A simulated schedule, by the names of jobs, servers and links.

    Attributes
    ----------
    scope
        The scope of its models.
    start, end
        By job: start slot, and completion; without a completion, the slot after the horizon's end.
    workers
        By job: workers by server, if above 0, in the order of servers.
    latest
        The latest completion.
    """

    def __init__(
        self, scope: Scope, start: Mapping[str, int], workers: Mapping[str, Mapping[str, int]]
    ) -> None:
        index = {name: s for s, name in enumerate(scope.servers)}
        self.scope, self.start = scope, start
        self.workers = {
            j: dict(sorted(placed.items(), key=lambda pair: index[pair[0]]))
            for j, placed in workers.items()
        }
        self._runs = [
            Run(job, start[j], {index[s]: count for s, count in self.workers[j].items()})
            for j, job in scope.jobs.items()
        ]
        self._course = simulate(scope.instance, self._runs)
        late = scope.horizon + 1
        ends = self._course.completion
        self.end = {j: late if e is None else e for j, e in zip(scope.jobs, ends, strict=True)}
        self.latest = max(self.end.values())

    @cached_property
    def links(self) -> dict[str, frozenset[str]]:
        """By job: the links that its ring uses."""
        tree = self.scope.tree
        return {
            run.job.name: frozenset(tree.links[l].node for l in tree.links_used(run.workers))
            for run in self._runs
        }

    @property
    def segments(self) -> dict[str, list[Mapping[int, int]]]:
        """By job: the workers by server index that it has, one set after another."""
        return {run.job.name: [run.workers] for run in self._runs}

    @cached_property
    def _periods(self) -> list[Period]:
        return list(self._course.periods)

    @cached_property
    def _begins(self) -> list[int]:
        return [period.start for period in self._periods]

    def _period(self, t: int) -> Period | None:
        at = bisect_right(self._begins, t) - 1
        return self._periods[at] if at >= 0 and t < self._periods[at].end else None

    def runs(self, j: str, t: int) -> bool:
        """Whether a job is active in a slot."""
        return self.start[j] <= t < self.end[j]

    def ring(self, j: str, t: int) -> Ring | None:
        """The state of a job's ring in a slot; None if the job is inactive."""
        period = self._period(t) if self.runs(j, t) else None
        return period.rings[j] if period else None

    def rings_on(self, l: str, t: int) -> int:
        """The number of rings on a link in a slot."""
        period = self._period(t)
        return period.links.get(l, 0) if period else 0


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


def _is_in(index: Any, names: Collection[Any]) -> bool:
    return index in names


def placed_of(schedule: Schedule) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Starts, and workers by server, of each job of a schedule."""
    starts = {a.job: a.start for a in schedule.assignments}
    workers = {
        a.job: {server: len(gpus) for server, gpus in a.gpus.items() if gpus}
        for a in schedule.assignments
    }
    return starts, workers


def shared(outcome: Outcome, *names: str) -> dict[str, Values]:
    """The values of components that have the same meaning in all formulations.

    These are `started[j,t]`, `ended[j,t]`, `running[j,t]`, `workers[j,s]`, `on[j,s]`,
    `servers_used[j]`, `held[j,s,t]`, `start[j]` and `completion[j]`, as `time_indexed` explains
    them. By default the result has all of them.
    """
    o, scope = outcome, outcome.scope
    jobs, servers, slots = scope.jobs, scope.servers, range(scope.horizon)
    found = {
        "started": over(lambda j, t: t >= o.start[j], jobs, slots),
        "ended": over(lambda j, t: t >= o.end[j], jobs, range(scope.horizon + 1)),
        "running": over(o.runs, jobs, slots),
        "workers": over(lambda j, s: o.workers[j].get(s, 0), jobs, servers),
        "on": over(lambda j, s: s in o.workers[j], jobs, servers),
        "servers_used": over(lambda j: len(o.workers[j]), jobs),
        "held": over(lambda j, s, t: o.workers[j].get(s, 0) * o.runs(j, t), jobs, servers, slots),
        "start": over(lambda j: o.start[j], jobs),
        "completion": over(lambda j: o.end[j], jobs),
    }
    return {name: found[name] for name in names} if names else found


def set_variables(m: Any, outcome: Outcome, components: Mapping[str, Values]) -> None:
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


def model_of(outcome: Outcome, components: Mapping[str, Values]) -> Any:
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
    refused.fix(sum(not _keeps_rules(scope, j, outcome.workers[j]) for j in scope.jobs))
    m.add_component("_rules_on_placements", pyo.Constraint(expr=refused <= 0))
    m.add_component("_within_horizon", pyo.Constraint(expr=m.makespan <= scope.horizon))
    m.objective = pyo.Objective(expr=m.makespan)
    return m


def first_changed(model: Any) -> str | None:
    """The first component of such a model that somebody has fixed at another value."""
    given: list[Given] = getattr(model, GIVEN)
    return next((name for name, variable, value in given if variable.value != value), None)


def _keeps_rules(scope: Scope, job: str, workers: Mapping[str, int]) -> bool:
    """Whether each step of a placement, server by server, passes the scope's rules."""
    begun: dict[str, int] = {}
    left = sum(workers.values())
    for server, count in workers.items():
        begun[server] = count
        left -= count
        if not scope.allows(job, begun, left):
            return False
    return True
