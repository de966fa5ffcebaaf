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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.usage_limits import UsageLimit

from .aims import OBJECTIVES
from .caps import LIMITS, limit_caps, limits_in, server_caps
from .formulation import Formulation
from .plan import Plan, is_set, put
from .restricted_components import RestrictedJobs, name_components
from .restriction import Choice, Restriction, is_fixed
from .scope import Scope


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


def _keep_caps(m: Any, jobs: RestrictedJobs) -> None:
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


def _wait(m: Any, jobs: RestrictedJobs) -> None:
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


def _makespan(m: Any, jobs: RestrictedJobs) -> None:
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


def _begun(
    scope: Scope, restriction: Restriction, *, variables: bool
) -> tuple[Any, RestrictedJobs]:
    """A model with its variables and the documented components."""
    m: Any = pyo.ConcreteModel("restricted")
    jobs = RestrictedJobs(m, scope, restriction, variables=variables)
    m.constants, m.slots = jobs.constants, scope.horizon
    name_components(m, jobs)
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
