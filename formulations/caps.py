"""How much jobs may hold at once, slot by slot: GPUs of servers, quotas of tenants, resources.

A formulation says who holds how much by which variables; the caps are the same in all of them. Jobs
that run at slot 0 keep their GPUs whatever is reserved; the others hold at most what a cap and
those jobs leave, and nothing where they leave less than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.usage_limits import UsageLimit, Use, usage_limits

from .component import Component
from .outcome import ScheduleOutcome
from .scope import Scope
from .values import Values, over


@dataclass(frozen=True)
class Cap:
    """A cap on GPUs of a server, or on what jobs use of a limit.

    Attributes
    ----------
    room
        (slots) How much jobs may hold; infinite where there is no limit.
    running
        By job that runs at slot 0: how much of it the job holds until it completes.
    """

    room: Sequence[int | float]
    running: Mapping[str, int]

    def left(self, t: int, runs: Callable[[str, int], bool]) -> int | float:
        """What the running jobs leave in a slot; below 0 if they hold more than the cap."""
        return self.room[t] - sum(amount for j, amount in self.running.items() if runs(j, t))


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


def limits_in(scope: Scope, *, of_tenants: bool) -> dict[str, UsageLimit]:
    """By name: the limits that are caps of tenants, or the resources."""
    limits = usage_limits(scope.instance)
    return {limit.name: limit for limit in limits if limit.of_tenant == of_tenants}


def limit_caps(scope: Scope, *, of_tenants: bool) -> dict[str, Cap]:
    """By tenant or resource: how much of it jobs may use."""
    return {
        name: Cap(
            [inf if (most := limit.capacity(t)) is None else most for t in range(scope.horizon)],
            {
                j: limit.uses[scope.index[j]].on(
                    {scope.server_index[s]: len(gpus) for s, gpus in job.running.gpus.items()}
                )
                for j, job in scope.jobs.items()
                if job.running is not None and scope.index[j] in limit.uses
            },
        )
        for name, limit in limits_in(scope, of_tenants=of_tenants).items()
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
    amount
        How much it uses in a slot of what it uses by its number of GPUs: a function of that
        number, and the slot.
    uses
        How much it uses of a limit in a slot, where that rests on its servers: there workers take
        slices of GPUs.
    """

    job: str
    keeps: bool
    most: Mapping[str, int]
    on: Callable[[str, int], Any]
    amount: Callable[[Callable[[int], int], int], Any]
    uses: Callable[[Use, int], Any] | None = None


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


def keep_limits(holders: Holders, m: Any, scope: Scope) -> None:
    """Quotas and resources: what jobs use of each at once, but for jobs that run at slot 0.

    With u_cj(w) what job j uses of limit c while it holds w GPUs (of a tenant's cap: w, if it is a
    job of the tenant or of one below it) and C_ct the capacity, if there is one in slot t:

    ```
    Σ_j u_cj(Σ_s held_jst) ≤ C_ct
    ```

    `keep_caps` says what holds where running jobs exceed a capacity.
    """
    found: list[Holder] = []
    for name, of_tenants in LIMITS:
        limits = limits_in(scope, of_tenants=of_tenants)
        if not limits:
            continue
        found = found or list(holders(m, scope))
        users = {
            c: [one for one in found if scope.index[one.job] in limit.uses]
            for c, limit in limits.items()
        }
        caps = limit_caps(scope, of_tenants=of_tenants)

        def used(one: Holder, c: str, t: int, limits: Mapping[str, UsageLimit] = limits) -> Any:
            use = limits[c].uses[scope.index[one.job]]
            return one.uses(use, t) if one.uses is not None else one.amount(use.at, t)

        keep_caps(m, name, {c: cap for c, cap in caps.items() if users[c]}, users, used)


LIMITS = (("quota", True), ("resource", False))
"""Names of constraints, and whether they are on caps of tenants."""


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
    index = [(c, t) for c, cap in caps.items() for t, room in enumerate(cap.room) if room < inf]
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


def limits_of(holders: Holders, *needs: str) -> Component:
    """The component that keeps the quotas of tenants, and resources."""
    return Component(
        "limits",
        partial(keep_limits, holders),
        needs=needs,
        gives=tuple(f"{name}_yields" for name, _ in LIMITS),
        values=_yields_of_limits,
    )


def _yields_of_limits(outcome: ScheduleOutcome) -> dict[str, Values]:
    found: dict[str, Values] = {}
    for name, of_tenants in LIMITS:
        found |= _yields(f"{name}_yields", partial(limit_caps, of_tenants=of_tenants), outcome)
    return found
