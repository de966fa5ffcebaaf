"""What users add to formulations and no file format knows: sensible additions, and hostile ones."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.formulations import Scope


def power_cap(model: Any, scope: Scope) -> None:
    """GPUs at work in each slot draw no more than a cap."""
    cap = scope.read("gpus_at_once")
    model.power_cap = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: sum(m.held[j, s, t] for j in scope.jobs for s in scope.servers) <= cap,
        doc="power cap",
    )


def exclusive(model: Any, scope: Scope) -> None:
    """Jobs of a pair never run at once."""
    pairs = [tuple(pair) for pair in scope.read("exclusive")]
    model.exclusive = pyo.Constraint(
        pairs,
        range(scope.horizon),
        rule=lambda m, j, k, t: m.running[j, t] + m.running[k, t] <= 1,
        doc="jobs that may not overlap",
    )


def few_switched_on(model: Any, scope: Scope) -> None:
    """At most k servers are switched on in each slot."""
    most = scope.read("servers_at_once")
    servers, slots = list(scope.servers), range(scope.horizon)
    model.switched_on = pyo.Var(servers, slots, domain=pyo.Binary)
    model.on_if_held = pyo.Constraint(
        servers,
        slots,
        rule=lambda m, s, t: (
            sum(m.held[j, s, t] for j in scope.jobs) <= scope.servers[s].gpus * m.switched_on[s, t]
        ),
    )
    model.few_switched_on = pyo.Constraint(
        slots, rule=lambda m, t: sum(m.switched_on[s, t] for s in servers) <= most
    )


def unfairness(model: Any, scope: Scope) -> None:
    """By how much jobs complete later than a multiple of their least execution times."""
    wish = {j: scope.read("stretch") * slots for j, slots in scope.least_slots.items()}
    model.unfair = pyo.Var(
        list(scope.jobs), domain=pyo.NonNegativeIntegers, bounds=(0, scope.horizon)
    )
    model.unfairness = pyo.Constraint(
        list(scope.jobs), rule=lambda m, j: m.unfair[j] >= m.completion[j] - wish[j]
    )


def makespan_and_fairness(model: Any, scope: Scope) -> Any:
    """The makespan, and a tenth of all unfairness."""
    return 10 * model.makespan + sum(model.unfair[j] for j in scope.jobs)


# Small ones, and such that are hard to keep or to read


def few_at_once(model: Any, scope: Scope) -> None:
    """GPUs at once, below what the cluster has."""
    most = max(job.size for job in scope.instance.jobs)
    model.few = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: sum(m.held[j, s, t] for j in scope.jobs for s in scope.servers) <= most,
    )


def apart(model: Any, scope: Scope) -> None:
    """The first two jobs never run at once."""
    one, other = list(scope.jobs)[:2]
    model.apart = pyo.Constraint(
        range(scope.horizon),
        rule=lambda m, t: m.running[one, t] + m.running[other, t] <= 1,
    )


def three_sides(model: Any, scope: Scope) -> None:
    """Completions within a range, as tuples, which Pyomo decides itself for constants."""
    model.sides = pyo.Constraint(
        list(scope.jobs), rule=lambda m, j: (0, m.completion[j] - m.start[j], scope.horizon)
    )


def not_at_once_in_a_row(model: Any, scope: Scope) -> None:
    """The last job starts exactly when the first one ends."""
    first, *_, last = scope.jobs
    model.in_a_row = pyo.Constraint(expr=model.start[last] == model.completion[first])


def slack_of_its_own(model: Any, scope: Scope) -> None:
    """Added variables that count servers switched on."""
    slots, servers = range(scope.horizon), list(scope.servers)
    model.lit = pyo.Var(servers, slots, domain=pyo.Binary)
    model.lit_if_held = pyo.Constraint(
        servers,
        slots,
        rule=lambda m, s, t: (
            sum(m.held[j, s, t] for j in scope.jobs) <= scope.servers[s].gpus * m.lit[s, t]
        ),
    )
    model.few_lit = pyo.Constraint(
        slots, rule=lambda m, t: sum(m.lit[s, t] for s in servers) <= max(1, len(servers) - 1)
    )


def work_after_the_end(model: Any, scope: Scope) -> None:
    """Something runs in the last slot of the model: short horizons can, all slots cannot."""
    model.busy_at_last = pyo.Constraint(
        expr=sum(model.running[j, scope.horizon - 1] for j in scope.jobs) >= 1
    )


def weighted(model: Any, scope: Scope) -> Any:
    return sum((1 + i % 3) * model.completion[j] for i, j in enumerate(scope.jobs))


def servers_and_end(model: Any, scope: Scope) -> Any:
    return model.makespan + 2 * sum(model.servers_used[j] for j in scope.jobs)


def nightly(scope: Scope, job: str, workers: Any, slot: int) -> bool:
    """A rule for slots: the first half of the servers is down in ten slots of 40."""
    servers = list(scope.servers)
    return slot % 40 < 30 or not set(servers[: max(1, len(servers) // 2)]) & set(workers)
