"""How much jobs may hold at once, slot by slot: GPUs of servers, and quotas of tenants (section 9).

Jobs that run at slot 0 keep their GPUs whatever is reserved; the others hold at most what a cap and
those jobs leave, and nothing where they leave less than nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from .formulation import Scope
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


def keep_caps(
    m: Any,
    name: str,
    caps: Mapping[str, Cap],
    users: Mapping[str, Sequence[Hashable]],
    held: Callable[[Any, str, int], Any],
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
        The caps, and for each the jobs that can hold something of it, one at least. Who is not
        among the jobs that run at slot 0 holds what the others leave.
    held
        What a job holds of a cap in a slot.
    """
    most = {c: sum(cap.running.values()) for c, cap in caps.items()}
    index = [(c, t) for c, cap in caps.items() for t in range(len(cap.room))]
    tight = [(c, t) for c, t in index if most[c] > caps[c].room[t]]
    if not index:
        return

    def kept(m: Any, c: str, t: int) -> Any:
        used, room = sum(held(j, c, t) for j in users[c]), caps[c].room[t]
        if most[c] <= room:
            return used <= room
        return used <= room + (most[c] - room) * m.component(f"{name}_yields")[c, t]

    def others_kept(m: Any, c: str, t: int) -> Any:
        others = [held(j, c, t) for j in users[c] if j not in caps[c].running]
        if not others:
            return pyo.Constraint.Skip
        return sum(others) <= caps[c].room[t] * (1 - m.component(f"{name}_yields")[c, t])

    if tight:
        m.add_component(f"{name}_yields", pyo.Var(tight, domain=pyo.Binary))
        m.add_component(f"{name}_of_others", pyo.Constraint(tight, rule=others_kept))
    m.add_component(name, pyo.Constraint(index, rule=kept))


def yields(
    caps: Mapping[str, Cap], slots: Sequence[int], runs: Callable[[str, int], bool]
) -> Values:
    """The values of `…_yields`: whether running jobs hold more than a cap."""
    return over(
        lambda c, t: caps[c].left(t, runs) < 0,
        caps,
        slots,
        where=lambda c, t: sum(caps[c].running.values()) > caps[c].room[t],
    )
