"""The component of the paper's program by duty: what rings count on links, instead of their number.

The links have one rate, so that the duty of a ring is a number of its servers.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.model.sharing_rule import UNITS, sharing_rule

from .formulation import Scope
from .placements import most_rings
from .rar_ddls_components import rings_of


def duties_of(scope: Scope, j: str) -> dict[int, float]:
    """By number of servers: the duty of a job's ring, where all links have one rate."""
    gbps = min(scope.links[l].gbps for l in most_rings(scope))
    rule = sharing_rule(scope.instance.contention)
    pace, most = scope.pace(j), min(scope.jobs[j].size, len(scope.servers))
    return {1: 0.0} | {n: pace.weight(rule, n, gbps) / UNITS for n in range(2, most + 1)}


def loads(m: Any, scope: Scope) -> None:
    """By duty: what rings count on links, with d_jn the duty of job j on n servers.

    ```
    Σ_n spans_jn = 1      Σ_n n·spans_jn = (servers used)
    counts_jℓ[t] ≥ Σ_n d_jn·spans_jn − (1 − crosses_jℓ[t])
    p_jℓ[t] ≥ crosses_jℓ[t] · Σ_{others} counts_j'ℓ[t]
    ```
    """
    slots, rings, links = range(scope.horizon), rings_of(scope), list(most_rings(scope))
    duty = {(j, n): own for j in rings for n, own in duties_of(scope, j).items()}
    m.spans = pyo.Var(list(duty), domain=pyo.Binary)
    m.counts = pyo.Var(rings, links, slots, bounds=(0, 1))
    m.spans_one = pyo.Constraint(
        rings, rule=lambda m, j: sum(m.spans[j, n] for n in duties_of(scope, j)) == 1
    )
    m.spans_servers = pyo.Constraint(
        rings,
        rule=lambda m, j: (
            sum(n * m.spans[j, n] for n in duties_of(scope, j))
            == sum(m.uses_server[j, s] for s in scope.servers)
        ),
    )
    m.counts_if_crosses = pyo.Constraint(
        rings,
        links,
        slots,
        rule=lambda m, j, l, t: (
            m.counts[j, l, t]
            >= sum(duty[j, n] * m.spans[j, n] for n in duties_of(scope, j))
            - (1 - m.crosses[j, l, t])
        ),
    )
    m.load_beside = pyo.Constraint(
        rings,
        links,
        slots,
        rule=lambda m, j, l, t: (
            m.p[j, l, t] >= m.crosses[j, l, t] * sum(m.counts[o, l, t] for o in rings if o != j)
        ),
    )
