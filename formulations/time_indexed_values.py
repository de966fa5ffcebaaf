"""What the components of `time-indexed` are worth in a given schedule, without the model.

The model of a large instance takes minutes to build, or does not fit memory at all. Constraints and
objectives of one's own mostly refer to little of it: completions, starts, servers. So here every
component that `time_indexed` documents is a mapping that makes a value when it is asked for: a
variable of Pyomo's that is fixed, so that expressions over it are those of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import pyomo.environ as pyo

from rarmodel.schema import Schedule
from rarmodel.verifier import Run, simulate

from .formulation import Scope
from .placements import label_of


class Known(Mapping[Any, Any]):
    """An indexed component whose members are fixed variables, made when they are asked for.

    Parameters
    ----------
    numbers
        Receives the variables: a `pyo.VarList`.
    keys
        The index set, made anew for each iteration over it.
    value
        The value at an index.
    """

    def __init__(
        self, numbers: Any, keys: Callable[[], Iterable[Any]], value: Callable[..., float]
    ) -> None:
        self._numbers, self._keys, self._value = numbers, keys, value
        self._made: dict[Any, Any] = {}

    def __getitem__(self, index: Any) -> Any:
        if index not in self._made:
            number = self._numbers.add()
            number.fix(self._at(index))
            self._made[index] = number
        return self._made[index]

    def _at(self, index: Any) -> float:
        return int(self._value(*index) if isinstance(index, tuple) else self._value(index))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys())

    def __len__(self) -> int:
        return sum(1 for _ in self._keys())

    def changed(self) -> list[Any]:
        """Indices at which somebody has fixed another value, which the schedule does not have."""
        return [i for i, number in self._made.items() if number.value != self._at(i)]


def evaluate(scope: Scope, schedule: Schedule) -> pyo.ConcreteModel:
    """A model of a schedule's values, for constraints and objectives to refer to.

    It has `started`, `ended`, `running`, `done`, `placed`, `active_in`, `workers`, `on`,
    `servers_used`, `held`, `start`, `completion` and `makespan`; of placements it knows the one
    that a job has. Its constraints say that the schedule keeps the rules on placements and the
    horizon; its objective is the makespan.
    """
    jobs, servers, horizon = list(scope.jobs), list(scope.servers), scope.horizon
    index = {name: s for s, name in enumerate(servers)}
    start = {a.job: a.start for a in schedule.assignments}
    placed = {
        a.job: {s: len(a.gpus[s]) for s in servers if a.gpus.get(s)} for a in schedule.assignments
    }
    runs = [
        Run(job, start[j], {index[s]: count for s, count in placed[j].items()})
        for j, job in scope.jobs.items()
    ]
    ends = simulate(scope.instance, runs).completion
    end = {j: horizon + 1 if e is None else e for j, e in zip(jobs, ends, strict=True)}
    label = {j: label_of(workers) for j, workers in placed.items()}

    def runs_at(j: str, t: int) -> bool:
        return start[j] <= t < end[j]

    m: Any = pyo.ConcreteModel("values of a schedule")
    m.numbers = pyo.VarList()
    slots, ways = range(horizon), [(j, label[j]) for j in jobs]

    def known(value: Callable[..., float], *sets: Iterable[Any]) -> Known:
        return Known(m.numbers, lambda: product(*sets) if len(sets) > 1 else sets[0], value)

    components = {
        "started": known(lambda j, t: t >= start[j], jobs, slots),
        "ended": known(lambda j, t: t >= end[j], jobs, range(horizon + 1)),
        "running": known(runs_at, jobs, slots),
        "done": known(lambda t: t >= max(end.values()), range(horizon)),
        "placed": Known(m.numbers, lambda: ways, lambda j, k: k == label[j]),
        "active_in": Known(
            m.numbers,
            lambda: ((j, k, t) for j, k in ways for t in slots),
            lambda j, k, t: k == label[j] and runs_at(j, t),
        ),
        "workers": known(lambda j, s: placed[j].get(s, 0), jobs, servers),
        "on": known(lambda j, s: s in placed[j], jobs, servers),
        "servers_used": known(lambda j: len(placed[j]), jobs),
        "held": known(lambda j, s, t: placed[j].get(s, 0) * runs_at(j, t), jobs, servers, slots),
        "start": known(lambda j: start[j], jobs),
        "completion": known(lambda j: end[j], jobs),
    }
    for name, component in components.items():
        setattr(m, name, component)
    m.known = components
    m.makespan = pyo.Var(initialize=max(end.values()))
    m.makespan.fix()
    refused = m.numbers.add()
    refused.fix(sum(not _keeps_rules(scope, j, placed[j]) for j in jobs))
    m.allowed = pyo.Constraint(expr=refused <= 0, doc="a rule on placements")
    m.within_horizon = pyo.Constraint(expr=m.makespan <= horizon, doc="the horizon")
    m.objective = pyo.Objective(expr=m.makespan)
    return m


def _keeps_rules(scope: Scope, job: str, workers: Mapping[str, int]) -> bool:
    """Whether each step of a placement, server by server, passes the scope's rules."""
    begun: dict[str, int] = {}
    left = scope.jobs[job].gpus
    for server, count in workers.items():
        begun[server] = count
        left -= count
        if not scope.allows(job, begun, left):
            return False
    return True
