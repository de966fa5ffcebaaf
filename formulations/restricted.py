r"""Restricted models: each job has a few placements and a window of starts, most jobs are fixed.

Such a model is small whatever the instance is, and what a user has added to a formulation stands in
it unchanged: it has the components that formulations document, by the same names and indices. Where
the windows leave a component one value, it is a constant; see `constants`. Indices: jobs j, choices
i of job j, that is a placement with an expected execution time d_ji and starts a_ji … b_ji.

======================= ============================================================================
`begun[j,i,t]`          1 iff job j has started by slot t in choice i, t = a_ji … b_ji − 1; one
                        variable for t − 1 and t where rules refuse the start t
`chosen[j,i]`           1 iff job j takes choice i
======================= ============================================================================

```
Σ_i chosen_ji = 1      begun_jit ≤ begun_ji(t+1)      begun_ji(b−1) ≤ chosen_ji
active_jit = begun_jit − begun_ji(t−d)                begun is 0 before a_ji, chosen_ji from b_ji on
Σ_{j, i on s} y_jis·active_jit ≤ O_s                  likewise quotas and resources
Σ_i begun_jit ≤ Σ_i begun_ki(t−d)                     for jobs k that job j waits for
```

Execution times are expected ones: a solution is a plan, whose schedule is simulated and judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod
from operator import contains
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.usage_limits import UsageLimit

from .aims import OBJECTIVES
from .caps import LIMITS, limit_caps, limits_in, server_caps
from .constants import Constant, Constants
from .formulation import Formulation
from .placements import label_of
from .plan import Plan, is_set, put
from .restriction import Choice, Restriction, is_fixed
from .ring_links import links_count
from .scope import Scope


class Lazy(dict[Any, Any]):
    """A component whose members are made on demand: expressions, or constants.

    A dictionary finds what was made without a call in Python: loops over all jobs, servers and
    slots are the most of the time in which additions are built.

    Parameters
    ----------
    name
        Name of the component.
    at
        Makes the member of an index.
    sets
        The sets of its indices.
    """

    def __init__(self, name: str, at: Callable[..., Any], *sets: Any) -> None:
        super().__init__()
        self._name, self._at, self._sets = name, at, sets

    def __missing__(self, index: Any) -> Any:
        if index not in self:
            raise KeyError(f"{self._name}[{index}]")
        made = self._at(*index) if index.__class__ is tuple else self._at(index)
        if made.__class__ is not Constant:
            self[index] = made
        return made

    def __contains__(self, index: object) -> bool:
        parts = index if isinstance(index, tuple) else (index,)
        return len(parts) == len(self._sets) and all(map(contains, self._sets, parts))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sets[0]) if len(self._sets) == 1 else product(*self._sets)

    def __len__(self) -> int:
        return prod(map(len, self._sets))

    def get(self, index: Any, default: Any = None) -> Any:
        """The member of an index, or something else if there is none."""
        try:
            return self[index]
        except KeyError:
            return default

    keys, values, items = Mapping.keys, Mapping.values, Mapping.items  # type: ignore[assignment]


class Held(Lazy):
    """GPUs of servers that jobs hold in slots, `held[j,s,t]`: for most of them none.

    Parameters
    ----------
    jobs
        The jobs, and what they may choose from.
    """

    def __init__(self, jobs: _Jobs) -> None:
        scope = jobs.scope
        super().__init__("held", self._on, scope.jobs, scope.servers, range(scope.horizon))
        self._jobs, self._zero, self._slots = jobs, jobs.zero, scope.horizon
        # By job and server: when the job may be there, and with how many workers in which choices.
        self._there: dict[str, dict[str, tuple[int, int, list[tuple[int, int]]]]] = {}
        for j, choices in jobs.restriction.items():
            there = self._there[j] = dict.fromkeys(scope.servers, (0, 0, []))
            for i, choice in enumerate(choices):
                for s, count in choice.workers.items():
                    low, high, parts = there[s]
                    if not parts:
                        low, high = choice.starts[0], choice.end
                    span = min(low, choice.starts[0]), max(high, choice.end)
                    there[s] = *span, [*parts, (i, count)]

    def __missing__(self, index: Any) -> Any:
        try:
            j, s, t = index
            low, high, _ = self._there[j][s]
        except (KeyError, TypeError, ValueError):
            raise KeyError(f"held[{index}]") from None
        return (
            self._zero
            if 0 <= t < self._slots and not low <= t < high
            else (super().__missing__(index))
        )

    def _on(self, j: str, s: str, t: int) -> Any:
        parts = self._there[j][s][2]
        return sum((count * self._jobs.active(j, i, t) for i, count in parts), self._zero)


class _Jobs:
    """The variables of a restricted model, and what they say of each job in each slot."""

    def __init__(self, m: Any, scope: Scope, restriction: Restriction, *, variables: bool) -> None:
        self.scope, self.restriction = scope, restriction
        self.constants = Constants(m, variables=variables)
        self.zero, self.one = self.constants.of(0), self.constants.of(1)
        several = [j for j in scope.jobs if len(restriction[j]) > 1]
        pairs = [(j, i) for j in scope.jobs for i in range(len(restriction[j]))]
        m.chosen = pyo.Var([(j, i) for j, i in pairs if j in set(several)], domain=pyo.Binary)
        m.begun = pyo.Var(
            [(j, i, t) for j, i in pairs for t in restriction[j][i].allowed[:-1]],
            domain=pyo.Binary,
        )
        self._begun = dict(m.begun.items())
        self._chosen = dict(m.chosen.items())
        m.one_choice = pyo.Constraint(
            several,
            rule=lambda _, j: sum(self.chosen(j, i) for i in range(len(restriction[j]))) == 1,
        )
        m.stays_begun = pyo.Constraint(
            list(self._begun),
            rule=lambda _, j, i, t: self._begun[j, i, t] <= self.begun(j, i, self._next(j, i, t)),
        )

    def choices(self, job: str) -> tuple[Choice, ...]:
        """What a job may choose from."""
        return self.restriction[job]

    def chosen(self, job: str, i: int) -> Any:
        """Whether a job takes a choice."""
        return self._chosen.get((job, i), self.one)

    def begun(self, job: str, i: int, t: int) -> Any:
        """Whether a job has started by a slot in a choice."""
        choice = self.restriction[job][i]
        if t < choice.starts[0]:
            return self.zero
        if t >= choice.last:
            return self.chosen(job, i)
        while t in choice.refused:
            t -= 1
        return self._begun[job, i, t]

    def _next(self, job: str, i: int, t: int) -> int:
        """The next slot at which a job may start in a choice."""
        t += 1
        while t in self.restriction[job][i].refused:
            t += 1
        return t

    def active(self, job: str, i: int, t: int) -> Any:
        """Whether a job is active in a slot in a choice."""
        choice = self.restriction[job][i]
        if not choice.starts[0] <= t < choice.end:
            return self.zero
        now, before = self.begun(job, i, t), self.begun(job, i, t - choice.slots)
        return self.zero if now is before else now - before

    def total(self, job: str, at: Callable[[int, Choice], Any]) -> Any:
        """A sum over a job's choices."""
        parts = (at(i, choice) for i, choice in enumerate(self.restriction[job]))
        return sum(parts, self.zero)

    def started(self, job: str, t: int) -> Any:
        """Whether a job has started by a slot."""
        if all(t >= choice.last for choice in self.restriction[job]):
            return self.one
        return self.total(job, lambda i, _: self.begun(job, i, t))

    def ended(self, job: str, t: int) -> Any:
        """Whether a job has completed before a slot."""
        if all(t >= choice.end for choice in self.restriction[job]):
            return self.one
        return self.total(job, lambda i, choice: self.begun(job, i, t - choice.slots))

    def running(self, job: str, t: int) -> Any:
        """Whether a job is active in a slot."""
        return self.total(job, lambda i, _: self.active(job, i, t))

    def start(self, job: str) -> Any:
        """The start of a job."""
        return self.total(
            job,
            lambda i, choice: (
                choice.last * self.chosen(job, i)
                - sum((self.begun(job, i, t) for t in choice.starts[:-1]), self.zero)
            ),
        )

    def completion(self, job: str) -> Any:
        """The completion of a job."""
        return self.start(job) + self.total(
            job, lambda i, choice: choice.slots * self.chosen(job, i)
        )

    def workers(self, job: str, server: str) -> Any:
        """Workers of a job on a server."""
        return self.total(
            job, lambda i, choice: choice.workers.get(server, 0) * self.chosen(job, i)
        )

    def on(self, job: str, server: str) -> Any:
        """Whether a job uses a server."""
        return self.total(
            job, lambda i, choice: int(server in choice.workers) * self.chosen(job, i)
        )

    def servers_used(self, job: str) -> Any:
        """The number of servers that a job uses."""
        return self.total(job, lambda i, choice: len(choice.workers) * self.chosen(job, i))


def _name_components(m: Any, jobs: _Jobs) -> None:
    """The components that formulations document, by their names."""
    scope = jobs.scope
    names, servers, slots = scope.jobs, scope.servers, range(scope.horizon)
    labels = {
        (j, label_of(choice.workers)): i
        for j, choices in jobs.restriction.items()
        for i, choice in enumerate(choices)
    }
    pairs = list(labels)

    def listed(name: str, at: Callable[..., Any], *sets: Any) -> None:
        setattr(m, name, Lazy(name, at, *sets))

    listed("started", jobs.started, names, slots)
    listed("ended", jobs.ended, names, range(scope.horizon + 1))
    listed("running", jobs.running, names, slots)
    listed("start", jobs.start, names)
    listed("completion", jobs.completion, names)
    listed("workers", jobs.workers, names, servers)
    listed("on", jobs.on, names, servers)
    listed("servers_used", jobs.servers_used, names)
    m.held = Held(jobs)
    m.placed = {pair: jobs.chosen(pair[0], labels[pair]) for pair in pairs}
    m.linked = {}
    if links_count(scope):
        for j, choices in jobs.restriction.items():
            for i, choice in enumerate(choices):
                used = scope.tree.links_used(
                    {scope.server_index[s]: count for s, count in choice.workers.items()}
                )
                for link in used:
                    node = scope.tree.links[link].node
                    m.linked[j, node] = m.linked.get((j, node), jobs.zero) + jobs.chosen(j, i)


def _on_server(server: str, job: str, choice: Choice) -> int:
    return choice.workers.get(server, 0)


def _of_limit(scope: Scope, limit: UsageLimit, job: str, choice: Choice) -> int:
    use = limit.uses.get(scope.index[job])
    return 0 if use is None else use.at(sum(choice.workers.values()))


def caps_of_choices(
    scope: Scope,
) -> dict[tuple[str, str], tuple[Sequence[float], Callable[[str, Choice], int]]]:
    """Servers, quotas and resources: their room by slot, and how much of it a choice takes."""
    caps: dict[tuple[str, str], tuple[Sequence[float], Callable[[str, Choice], int]]] = {}
    for s, cap in server_caps(scope).items():
        caps["server", s] = cap.room, partial(_on_server, s)
    for name, of_tenants in LIMITS:
        limits = limits_in(scope, of_tenants=of_tenants)
        for c, cap in limit_caps(scope, of_tenants=of_tenants).items():
            caps[name, c] = cap.room, partial(_of_limit, scope, limits[c])
    return caps


def _keep_caps(m: Any, jobs: _Jobs) -> None:
    """Capacities of servers, quotas and resources, in slots in which there is a choice."""
    scope, restriction = jobs.scope, jobs.restriction
    fixed = [j for j, choices in restriction.items() if is_fixed(choices)]
    free = [j for j in scope.jobs if j not in set(fixed)]
    caps = caps_of_choices(scope)
    rows: dict[tuple[str, str, int], tuple[Any, float]] = {}
    for key, (room, of) in caps.items():
        left = list(room)
        for j in fixed:
            (choice,) = restriction[j]
            for t in range(choice.last, min(choice.end, scope.horizon)) if of(j, choice) else ():
                left[t] -= of(j, choice)
        users = [
            (j, i, choice, of(j, choice))
            for j in free
            for i, choice in enumerate(restriction[j])
            if of(j, choice)
        ]
        for t in range(scope.horizon):
            here = [one for one in users if one[2].starts[0] <= t < one[2].end]
            most: dict[str, int] = {}
            for j, _, _, count in here:
                most[j] = max(most.get(j, 0), count)
            if sum(most.values()) > left[t]:
                used = sum((n * jobs.active(j, i, t) for j, i, _, n in here), jobs.zero)
                # Jobs that run at slot 0 may hold more than there is; others then hold nothing.
                rows[*key, t] = used, max(0, left[t])
    m.capacity = pyo.Constraint(
        list(rows), rule=lambda _, *key: rows[key][0] <= rows[key][1], doc="capacity"
    )


def _wait(m: Any, jobs: _Jobs) -> None:
    """A job starts when those have ended that it waits for."""
    scope, restriction = jobs.scope, jobs.restriction
    waits = {
        (j, k, t): (jobs.started(j, t), jobs.ended(k, t))
        for j, job in scope.jobs.items()
        for k in dict.fromkeys(job.after)
        if not (is_fixed(restriction[j]) and is_fixed(restriction[k]))
        for t in range(
            min(choice.starts[0] for choice in restriction[j]),
            max(choice.end for choice in restriction[k]),
        )
    }
    m.waits = pyo.Constraint(
        list(waits), rule=lambda _, *key: waits[key][0] <= waits[key][1], doc="jobs that wait"
    )


def _makespan(m: Any, jobs: _Jobs) -> None:
    """The latest completion."""
    scope, restriction = jobs.scope, jobs.restriction
    ends = [c[0].end for c in restriction.values() if is_fixed(c)]
    free = [j for j, choices in restriction.items() if not is_fixed(choices)]
    low = max([*ends, *(min(c.starts[0] + c.slots for c in restriction[j]) for j in free)])
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(low, scope.horizon))
    m.is_latest = pyo.Constraint(free, rule=lambda m, j: m.makespan >= m.completion[j])


def restricted_model(
    formulation: Formulation, scope: Scope, restriction: Restriction, *, variables: bool = False
) -> Any:
    """A restricted model with what a user has added to a formulation.

    Parameters
    ----------
    formulation, scope
        The formulation, and a scope of as many slots as jobs may need.
    restriction
        The choices of each job.
    variables
        Whether constants are fixed variables: see `constants`.

    Returns
    -------
    pyo.ConcreteModel
        The model; its attribute `stated` names the constraints that are not the user's.
    """
    m, jobs = _begun(scope, restriction, variables=variables)
    _makespan(m, jobs)
    _keep_caps(m, jobs)
    _wait(m, jobs)
    return _with_additions(m, formulation, scope)


def judged_model(
    formulation: Formulation, scope: Scope, restriction: Restriction, *, variables: bool = False
) -> Any:
    """The same of a schedule: every job is fixed, and only what was added is there to be kept.

    It judges a schedule as `Formulation.evaluate` does, and sooner.
    """
    m, jobs = _begun(scope, restriction, variables=variables)
    m.makespan = jobs.constants.of(max(one.end for (one,) in restriction.values()))
    return _with_additions(m, formulation, scope)


def additions_alone(
    formulation: Formulation, scope: Scope, restriction: Restriction, *, variables: bool = False
) -> Any:
    """The same of jobs with a choice: what was added, and nothing of what a schedule must keep."""
    m, _ = _begun(scope, restriction, variables=variables)
    m.makespan = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, scope.horizon))
    return _with_additions(m, formulation, scope)


def _begun(scope: Scope, restriction: Restriction, *, variables: bool) -> tuple[Any, _Jobs]:
    """A model with its variables and the documented components."""
    m: Any = pyo.ConcreteModel("restricted")
    jobs = _Jobs(m, scope, restriction, variables=variables)
    m.constants, m.slots = jobs.constants, scope.horizon
    _name_components(m, jobs)
    return m, jobs


def _with_additions(m: Any, formulation: Formulation, scope: Scope) -> Any:
    whole = replace(scope, every_schedule=True)
    OBJECTIVES.build(m, whole)
    m.stated = frozenset(c.local_name for c in m.component_objects(pyo.Constraint))
    add_to(formulation, m, whole)
    return m


def add_to(formulation: Formulation, m: Any, scope: Scope) -> None:
    """Add to a model what a formulation, and those that it extends, add to rarmodel's."""
    if formulation.extension is not None:
        add_to(formulation.extension.base, m, scope)
        formulation.extension.add(m, scope)
    elif formulation.composition is not None:
        composition = formulation.composition
        for component in composition.chosen(scope):
            if component.name in composition.added:
                component.build(m, scope)


def rules_of(formulation: Formulation) -> tuple[Any, ...]:
    """The rules on placements of a formulation, and of those that it extends."""
    extension = getattr(formulation, "extension", None)  # Others' formulations may do without.
    if extension is None:
        return ()
    own = () if extension.allows is None else (extension.allows,)
    return (*own, *rules_of(extension.base))


def slot_rules_of(formulation: Formulation) -> tuple[Any, ...]:
    """The same of rules on placements at slots."""
    extension = getattr(formulation, "extension", None)
    if extension is None:
        return ()
    own = () if extension.allows_at is None else (extension.allows_at,)
    return (*own, *slot_rules_of(extension.base))


def load(
    m: Any,
    scope: Scope,
    restriction: Restriction,
    starts: Mapping[str, int],
    workers: Mapping[str, Mapping[str, int]],
) -> None:
    """Set the variables to starts and placements that are among the choices."""
    taken = {
        j: next((i for i, c in enumerate(choices) if c.workers == workers[j]), -1)
        for j, choices in restriction.items()
    }
    for (j, i), variable in m.chosen.items():
        put(variable, int(taken[j] == i))
    for (j, i, t), variable in m.begun.items():
        put(variable, int(taken[j] == i and t >= starts[j]))
    latest = max(starts[j] + restriction[j][max(0, taken[j])].slots for j in scope.jobs)
    put(m.makespan, latest)


def plan(m: Any, scope: Scope, restriction: Restriction) -> Plan:
    """The starts and placements of a solution."""
    starts, workers = [], []
    for j in scope.jobs:
        choices = restriction[j]
        i = (
            0
            if len(choices) == 1
            else next(i for i in range(len(choices)) if is_set(m.chosen[j, i]))
        )
        choice = choices[i]
        begun = (t for t in choice.allowed[:-1] if is_set(m.begun[j, i, t]))
        start = next(begun, choice.last)
        starts.append(start)
        workers.append({scope.server_index[s]: n for s, n in choice.workers.items()})
    return Plan(tuple(starts), tuple(workers))
