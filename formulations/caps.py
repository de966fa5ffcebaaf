"""How much jobs may hold at once, slot by slot: GPUs of servers, and quotas of tenants (section 9).

A formulation says who holds how much by which variables; the caps are the same in all of them. Jobs
that run at slot 0 keep their GPUs whatever is reserved; the others hold at most what a cap and
those jobs leave, and nothing where they leave less than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyomo.environ as pyo

from .component import Component
from .outcome import ScheduleOutcome
from .scope import Scope
from .values import Values, over


@dataclass(frozen=True)
class Cap:
    """A cap on GPUs.

    Attributes
    ----------
    room
        (slots) GPUs that jobs may hold.
    running
        By job that runs at slot 0: how many of them it holds until it completes.
    """

    room: Sequence[int]
    running: Mapping[str, int]

    def left(self, t: int, runs: Callable[[str, int], bool]) -> int:
        """What the running jobs leave in a slot; below 0 if they hold more than the cap."""
        return self.room[t] - sum(gpus for j, gpus in self.running.items() if runs(j, t))


def server_caps(scope: Scope) -> dict[str, Cap]:
    """By server: its GPUs, without those that are reserved."""
    cluster, slots = scope.instance.cluster, range(scope.horizon)
    reserved = {one.server for one in cluster.reservations}
    running = {j: job.running.gpus for j, job in scope.jobs.items() if job.running is not None}
    return {
        name: Cap(
            [cluster.capacity(s, t) for t in slots]
            if name in reserved
            else [server.gpus] * scope.horizon,
            {j: len(gpus[name]) for j, gpus in running.items() if name in gpus},
        )
        for s, (name, server) in enumerate(scope.servers.items())
    }


def tenant_caps(scope: Scope) -> dict[str, Cap]:
    """By tenant that has a quota: that many GPUs."""
    return {
        tenant.name: Cap(
            [tenant.gpus] * scope.horizon,
            {
                j: job.running.size
                for j, job in scope.jobs.items()
                if job.running is not None and job.tenant == tenant.name
            },
        )
        for tenant in scope.instance.tenants
        if tenant.gpus is not None
    }


@dataclass(frozen=True)
class Holder:
    """Who holds GPUs in a model: a job, or what it holds apart from the GPUs that it had at slot 0.

    Attributes
    ----------
    job
        The job.
    keeps
        Whether it holds what it had at slot 0, which it keeps whatever the cap.
    most
        By server: the most GPUs that it can hold there; servers where it holds none may be left
        out.
    on
        The GPUs of a server that it holds in a slot, as an expression of the model.
    gpus
        All GPUs that it holds in a slot.
    """

    job: str
    keeps: bool
    most: Mapping[str, int]
    on: Callable[[str, int], Any]
    gpus: Callable[[int], Any]


Holders = Callable[[Any, Scope], Iterable[Holder]]
"""Function `(model, scope)`: who holds GPUs in a model, by which variables."""


def keep_servers(holders: Holders, m: Any, scope: Scope) -> None:
    """Capacity, (2) and (4): active jobs hold at most O_s GPUs of server s; other jobs hold none.

    ```
    Σ_j held_jst ≤ O_s − (reserved in slot t)
    ```

    Servers that cannot be overfull need no constraint. `keep_caps` says what holds where jobs that
    run at slot 0 are in the way of a reservation.
    """
    found = list(holders(m, scope))
    users = {s: [one for one in found if one.most.get(s)] for s in scope.servers}
    caps = {
        s: cap
        for s, cap in server_caps(scope).items()
        if sum(one.most[s] for one in users[s]) > min(cap.room)
    }
    keep_caps(m, "capacity", caps, users, lambda one, s, t: one.on(s, t))


def keep_quotas(holders: Holders, m: Any, scope: Scope) -> None:
    """Quotas: jobs of tenant c hold at most its q_c GPUs at once, but for jobs that run at slot 0.

    ```
    Σ_{j of c} Σ_s held_jst ≤ q_c
    ```

    `keep_caps` says what holds where running jobs exceed a quota.
    """
    if not (caps := tenant_caps(scope)):
        return
    found = list(holders(m, scope))
    users = {c: [one for one in found if scope.jobs[one.job].tenant == c] for c in caps}
    caps = {c: cap for c, cap in caps.items() if users[c]}
    keep_caps(m, "quota", caps, users, lambda one, _, t: one.gpus(t))


def keep_caps(
    m: Any,
    name: str,
    caps: Mapping[str, Cap],
    users: Mapping[str, Sequence[Holder]],
    held: Callable[[Holder, str, int], Any],
) -> None:
    """Keep caps in every slot.

    With R_t the cap, h_jt what job j holds of it, and Q what the jobs that run at slot 0 hold of
    it then:

    ```
    Σ_j h_jt ≤ R_t                                 if Q ≤ R_t; otherwise
    Σ_j h_jt ≤ R_t + (Q − R_t)·yields_t
    Σ_{j not running at 0} h_jt ≤ R_t·(1 − yields_t)
    ```

    Parameters
    ----------
    m
        The model.
    name
        Name of the constraints.
    caps, users
        The caps, and for each who can hold something of it, one at least.
    held
        What one of them holds of a cap in a slot.
    """
    most = {c: sum(cap.running.values()) for c, cap in caps.items()}
    index = [(c, t) for c, cap in caps.items() for t in range(len(cap.room))]
    tight = [(c, t) for c, t in index if most[c] > caps[c].room[t]]
    if not index:
        return

    def kept(m: Any, c: str, t: int) -> Any:
        used, room = sum(held(one, c, t) for one in users[c]), caps[c].room[t]
        if most[c] <= room:
            return used <= room
        return used <= room + (most[c] - room) * m.component(f"{name}_yields")[c, t]

    def others_kept(m: Any, c: str, t: int) -> Any:
        others = [held(one, c, t) for one in users[c] if not one.keeps]
        if not others:
            return pyo.Constraint.Skip
        return sum(others) <= caps[c].room[t] * (1 - m.component(f"{name}_yields")[c, t])

    if tight:
        m.add_component(f"{name}_yields", pyo.Var(tight, domain=pyo.Binary))
        m.add_component(f"{name}_of_others", pyo.Constraint(tight, rule=others_kept))
    m.add_component(name, pyo.Constraint(index, rule=kept))


def _yields(
    name: str, caps: Callable[[Scope], Mapping[str, Cap]], outcome: ScheduleOutcome
) -> dict[str, Values]:
    """The values of `…_yields`: whether running jobs hold more than a cap."""
    found = caps(outcome.scope)
    at = over(
        lambda c, t: found[c].left(t, outcome.keeps) < 0,
        found,
        range(outcome.scope.horizon),
        where=lambda c, t: sum(found[c].running.values()) > found[c].room[t],
    )
    return {name: at}


def capacity_of(holders: Holders, *needs: str) -> Component:
    """The component that keeps the capacities of servers."""
    return Component(
        "capacity",
        partial(keep_servers, holders),
        needs=needs,
        gives=("capacity_yields",),
        values=partial(_yields, "capacity_yields", server_caps),
    )


def quotas_of(holders: Holders, *needs: str) -> Component:
    """The component that keeps the quotas of tenants."""
    return Component(
        "quotas",
        partial(keep_quotas, holders),
        needs=needs,
        gives=("quota_yields",),
        values=partial(_yields, "quota_yields", tenant_caps),
    )
