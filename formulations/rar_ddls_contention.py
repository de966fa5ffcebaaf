"""Components of `rar-ddls`: the equations (6) and (7), contention and bandwidth.

`rar_ddls` explains the variables. What a ring meets on its links depends on the form of the sharing
rule: a number of rings, or the load of the others. With loads the links have one rate, so that the
weight of a ring, such as its duty, is a number of its servers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.contention import linear_degradation
from rarmodel.model.link_shares import worst_share
from rarmodel.model.lone import within_gbps
from rarmodel.model.sharing_rule import UNITS

from .component import Component
from .outcome import ScheduleOutcome
from .ring_links import links_count, values_of_ring_links
from .scope import Scope
from .sharing_forms import column_of, most_rings
from .values import Values, over


def wide_jobs(scope: Scope) -> list[str]:
    """Jobs that may have workers on several servers."""
    if len(scope.servers) == 1:
        return []
    return [j for j, job in scope.jobs.items() if job.size > 1]


def inner_gbps(scope: Scope) -> dict[str, float]:
    """By server: the bandwidth of rings within it, b^i, in Gbit/s."""
    return {
        name: within_gbps(scope.instance.cluster, s) for s, name in enumerate(scope.server_index)
    }


def bandwidths(scope: Scope) -> tuple[float, float]:
    """The least and the greatest bandwidth that a ring can have, in Gbit/s."""
    instance = scope.instance
    inner, most = inner_gbps(scope).values(), most_rings(scope)
    rate = {l: scope.links[l].gbps for l in most}
    shares = (worst_share(instance, rate[l], most[l]) for l in rate)
    slowest = min([*inner, *shares, scope.tree.least_gbps])
    return slowest, max([*inner, *rate.values()])


def contention(m: Any, scope: Scope) -> None:
    """(6) The rings on each link that a ring uses.

    ```
    crosses_jℓ[t] = 1  iff  0 < Σ_{s below ℓ} y_js[t] < G_j
    p_jℓ[t] ≥ crosses_jℓ[t] · Σ_j' crosses_j'ℓ[t]
    ```

    As crosses_jℓ[t] = 0 is faster, one direction of the indicator suffices: with
    w = Σ_{s below ℓ} y_js[t] and v = G_j·x_j[t] − w, the workers above, the product w·v is above 0
    iff the ring uses the link, and then at most G_j²/4: w·v ≤ (G_j²/4)·crosses_jℓ[t].

    The second line is that of `rings_on_links` by count. By duty, p_jℓ[t] is the load of the other
    rings: see `loads_on_links`.
    """
    slots = range(scope.horizon)
    most = most_rings(scope)
    rings = wide_jobs(scope)
    m.crosses = pyo.Var(rings, list(most), slots, domain=pyo.Binary)
    m.p = pyo.Var(rings, list(most), slots, bounds=(0, _most_met(scope)))

    def indicator(m: Any, j: str, l: str, t: int) -> Any:
        size = scope.jobs[j].size
        below = sum(m.y[j, s, t] for s in scope.below[l])
        above = sum(m.y[j, s, t] for s in scope.servers if s not in scope.below[l])
        return below * above <= (size * size // 4) * m.crosses[j, l, t]

    m.indicator = pyo.Constraint(rings, list(most), slots, rule=indicator)


def _crosses(outcome: ScheduleOutcome, j: str, l: str, t: int) -> bool:
    return l in outcome.links[j] and outcome.runs(j, t)


def _over_links(outcome: ScheduleOutcome, at: Callable[[str, str, int], float]) -> Values:
    scope = outcome.scope
    return over(at, wide_jobs(scope), most_rings(scope), range(scope.horizon))


def _values_of_contention(outcome: ScheduleOutcome) -> dict[str, Values]:
    return {"crosses": _over_links(outcome, partial(_crosses, outcome))}


CONTENTION = Component(
    "contention", contention, needs=("y",), gives=("crosses", "p"), values=_values_of_contention
)


def ring_links(m: Any, scope: Scope) -> None:
    """The links that a ring uses, for objectives in which links count (section 18).

    ```
    linked_jℓ ≥ crosses_jℓ[t]
    ```
    """
    rings, links = wide_jobs(scope), list(most_rings(scope))
    m.linked = pyo.Var(rings, links, bounds=(0, 1))
    m.linked_if_crosses = pyo.Constraint(
        rings,
        links,
        range(scope.horizon),
        rule=lambda m, j, l, t: m.linked[j, l] >= m.crosses[j, l, t],
    )


RING_LINKS = Component(
    "ring_links",
    ring_links,
    needs=("crosses",),
    gives=("linked",),
    values=values_of_ring_links,
    when=links_count,
)


def rings_on_links(m: Any, scope: Scope) -> None:
    """The rings on each link that a ring uses, (6), by count.

    ```
    p_jℓ[t] ≥ crosses_jℓ[t] · Σ_j' crosses_j'ℓ[t]
    ```
    """
    rings = wide_jobs(scope)
    m.rings_on_link = pyo.Constraint(
        rings,
        list(most_rings(scope)),
        range(scope.horizon),
        rule=lambda m, j, l, t: (
            m.p[j, l, t] >= m.crosses[j, l, t] * sum(m.crosses[k, l, t] for k in rings)
        ),
    )


def _values_of_rings(outcome: ScheduleOutcome) -> dict[str, Values]:
    def rings(j: str, l: str, t: int) -> float:
        return outcome.rings_on(l, t) if _crosses(outcome, j, l, t) else 0

    return {"p": _over_links(outcome, rings)}


RINGS_ON_LINKS = Component(
    "on_links", rings_on_links, needs=("p", "crosses"), values=_values_of_rings, equal_weights=True
)


def bandwidth(m: Any, scope: Scope) -> None:
    """Bandwidth of a ring as if it were alone.

    ```
    B_j[t] ≤ b^i      within one server
    B_j[t] ≤ b_ℓ      on each link that the ring uses
    ```

    If the ring does not use ℓ, the right side of the second line is greater by b^i − b_ℓ.
    `uses_server` is 1 iff the job has workers there. If servers differ, b^i is the greatest, and
    slower ones have lines of their own.
    """
    slots = range(scope.horizon)
    rate = {l: scope.links[l].gbps for l in most_rings(scope)}
    own = inner_gbps(scope)
    inner = max(own.values())
    rings = wide_jobs(scope)
    slowest, fastest = bandwidths(scope)
    m.bandwidth = pyo.Var(rings, slots, bounds=(slowest, fastest))
    m.spread = pyo.Var(rings, domain=pyo.Binary)
    m.uses_server = pyo.Var(rings, list(scope.servers), domain=pyo.Binary)
    m.uses_server_if = pyo.Constraint(
        rings,
        list(scope.servers),
        slots,
        rule=lambda m, j, s, t: m.y[j, s, t] <= m.y[j, s, t].ub * m.uses_server[j, s],
    )
    m.uses_server_only_if = pyo.Constraint(
        rings,
        list(scope.servers),
        rule=lambda m, j, s: m.uses_server[j, s] <= sum(m.y[j, s, t] for t in slots),
    )
    m.spread_if = pyo.Constraint(
        rings,
        rule=lambda m, j: (
            sum(m.uses_server[j, s] for s in scope.servers)
            <= 1 + (len(scope.servers) - 1) * m.spread[j]
        ),
    )
    m.spread_only_if = pyo.Constraint(
        rings,
        rule=lambda m, j: sum(m.uses_server[j, s] for s in scope.servers) >= 1 + m.spread[j],
    )
    m.within_server = pyo.Constraint(
        rings,
        slots,
        rule=lambda m, j, t: m.bandwidth[j, t] <= inner + max(0.0, fastest - inner) * m.spread[j],
    )
    if slower := [s for s, gbps in own.items() if gbps < inner]:
        m.within_slower_server = pyo.Constraint(
            rings,
            slower,
            slots,
            rule=lambda m, j, s, t: (
                m.bandwidth[j, t]
                <= own[s] + (fastest - own[s]) * (1 - m.uses_server[j, s] + m.spread[j])
            ),
        )
    m.link_rate = pyo.Constraint(
        rings,
        list(rate),
        slots,
        rule=lambda m, j, l, t: (
            m.bandwidth[j, t] <= rate[l] + (fastest - rate[l]) * (1 - m.crosses[j, l, t])
        ),
    )


def values_of_bandwidth(outcome: ScheduleOutcome) -> dict[str, Values]:
    """The bandwidth of an inactive ring may have any value; here it is the least."""
    o, scope, rings = outcome, outcome.scope, wide_jobs(outcome.scope)
    low, _ = bandwidths(scope)
    inner = inner_gbps(scope)

    def bandwidth(j: str, t: int) -> float:
        if len(o.workers[j]) == 1:
            return inner[next(iter(o.workers[j]))]
        ring = o.ring(j, t)
        return ring.bandwidth_gbps if ring else low

    return {
        "bandwidth": over(bandwidth, rings, range(scope.horizon)),
        "spread": over(lambda j: len(o.workers[j]) > 1, rings),
        "uses_server": over(lambda j, s: s in o.workers[j], rings, scope.servers),
    }


BANDWIDTH = Component(
    "bandwidth",
    bandwidth,
    needs=("y", "crosses"),
    gives=("bandwidth", "spread", "uses_server"),
    values=values_of_bandwidth,
)


def network_cards(m: Any, scope: Scope) -> None:
    """A ring reaches no more of a link than the network cards that its workers feed (section 20).

    On each server with n_s > 1 cards that the ring uses, with b its link's rate:

    ```
    B_j[t] ≤ b·y_js[t]/n_s      for an active ring on several servers
    ```

    Otherwise the right side is greater by the greatest bandwidth. With y_js ≥ n_s the line is above
    that of the link.
    """
    carded = {
        name: server.network_cards
        for name, server in scope.servers.items()
        if server.network_cards > 1
    }
    rate = {s: scope.tree.links[scope.tree.paths[scope.server_index[s]][0]].gbps for s in carded}
    _, fastest = bandwidths(scope)
    m.cards = pyo.Constraint(
        wide_jobs(scope),
        list(carded),
        range(scope.horizon),
        rule=lambda m, j, s, t: (
            m.bandwidth[j, t]
            <= rate[s] / carded[s] * m.y[j, s, t]
            + fastest * (3 - m.x[j, t] - m.spread[j] - m.uses_server[j, s])
        ),
    )


NETWORK_CARDS = Component(
    "network_cards",
    network_cards,
    needs=("bandwidth", "spread", "uses_server", "x", "y"),
    equal_weights=True,
    when=lambda scope: scope.tree.has_cards and bool(wide_jobs(scope)),
)


def weights_of(scope: Scope, j: str, to: int) -> dict[int, float]:
    """By number of servers: what a job's ring counts to those of a sensitivity, as a duty.

    All links have one rate.
    """
    gbps = min(scope.links[l].gbps for l in most_rings(scope))
    pace, most = scope.pace(j), min(scope.jobs[j].size, len(scope.servers))
    counted = {n: pace.weight(scope.sharing, n, gbps, to) for n in range(2, most + 1)}
    return {1: 0.0} | {n: units / UNITS for n, units in counted.items()}


def _most_met(scope: Scope) -> float:
    """The most that a ring can meet on a link, or more."""
    rings = wide_jobs(scope)
    if scope.sharing.equal_weights or not rings:
        return len(rings)
    greatest = scope.sensitivities[-1]
    most = sum(max(1.0, *weights_of(scope, j, greatest).values()) for j in rings)
    return max(len(rings), most)


def loads_on_links(m: Any, scope: Scope) -> None:
    """What rings count on links, by duty (section 14), with d_jn the duty of job j on n servers.

    With pressures and sensitivities (section 20) d_jn is what it counts to those of a sensitivity,
    for each of them, and the last line has that of job j. D_j is the greatest, but at least 1.

    ```
    Σ_n spans_jn = 1      Σ_n n·spans_jn = (servers used)
    counts_jℓ[t] ≥ Σ_n d_jn·spans_jn − D_j·(1 − crosses_jℓ[t])
    p_jℓ[t] ≥ crosses_jℓ[t] · Σ_{others} counts_j'ℓ[t]
    ```
    """
    slots, rings, links = range(scope.horizon), wide_jobs(scope), list(most_rings(scope))
    columns = column_of(scope)
    duty = {(j, *column): weights_of(scope, j, to) for j in rings for to, column in columns.items()}
    numbers = {j: range(1, 1 + min(scope.jobs[j].size, len(scope.servers))) for j in rings}
    most = {key: max(1.0, *own.values()) for key, own in duty.items()}
    counted = [(j, l, *column) for j in rings for l in links for column in columns.values()]
    m.spans = pyo.Var([(j, n) for j in rings for n in numbers[j]], domain=pyo.Binary)
    m.counts = pyo.Var(counted, slots, bounds=lambda _, j, l, *column: (0, most[j, *column[:-1]]))
    m.spans_one = pyo.Constraint(
        rings, rule=lambda m, j: sum(m.spans[j, n] for n in numbers[j]) == 1
    )
    m.spans_servers = pyo.Constraint(
        rings,
        rule=lambda m, j: (
            sum(n * m.spans[j, n] for n in numbers[j])
            == sum(m.uses_server[j, s] for s in scope.servers)
        ),
    )

    def if_crosses(m: Any, j: str, l: str, *rest: Any) -> Any:
        *column, t = rest
        own = duty[j, *column]
        return m.counts[j, l, *rest] >= (
            sum(own[n] * m.spans[j, n] for n in numbers[j])
            - most[j, *column] * (1 - m.crosses[j, l, t])
        )

    def beside(m: Any, j: str, l: str, t: int) -> Any:
        column = columns[scope.sensitivity(j)]
        others = sum(m.counts[o, l, *column, t] for o in rings if o != j)
        return m.p[j, l, t] >= m.crosses[j, l, t] * others

    m.counts_if_crosses = pyo.Constraint(counted, slots, rule=if_crosses)
    m.load_beside = pyo.Constraint(rings, links, slots, rule=beside)


def _values_of_loads(outcome: ScheduleOutcome) -> dict[str, Values]:
    o, scope, rings = outcome, outcome.scope, wide_jobs(outcome.scope)
    columns = {column: to for to, column in column_of(scope).items()}

    def counts(to: int, j: str, l: str, t: int) -> float:
        return weights_of(scope, j, to)[len(o.workers[j])] if _crosses(o, j, l, t) else 0.0

    def counted(j: str, l: str, *rest: Any) -> float:
        *column, t = rest
        return counts(columns[(*column,)], j, l, t)

    def beside(j: str, l: str, t: int) -> float:
        if not _crosses(o, j, l, t):
            return 0.0
        to = scope.sensitivity(j)
        return sum(counts(to, other, l, t) for other in rings if other != j)

    numbers = range(1, 1 + len(scope.servers))
    names = [[name for (name,) in columns]] if len(columns) > 1 else []
    return {
        "spans": over(lambda j, n: n == len(o.workers[j]), rings, numbers),
        "counts": over(counted, rings, most_rings(scope), *names, range(scope.horizon)),
        "p": _over_links(o, beside),
    }


LOADS_ON_LINKS = Component(
    "on_links",
    loads_on_links,
    needs=("p", "crosses", "uses_server"),
    gives=("spans", "counts"),
    values=_values_of_loads,
    equal_weights=False,
)


def shared_by_rings(m: Any, scope: Scope) -> None:
    """Bandwidth of a ring beside others, (7), by count: k = ξ1·p and f = max(1, k + α(k−1)).

    ```
    B_j[t] ≤ b_ℓ / f(α, ξ1·p_jℓ[t])      on each link that the ring uses
    ```

    This becomes B_j·(k + α(k−1)) ≤ b_ℓ, as `bandwidth` has B_j ≤ b_ℓ. Where the ring does not use
    ℓ, p_jℓ is 0.
    """
    contention, most = scope.instance.contention, most_rings(scope)
    alpha, xi = contention.degradation.alpha, contention.concurrency
    links = [l for l in most if linear_degradation(alpha, xi * most[l]) > 1.0]
    _share_links(m, scope, links, lambda m, j, l, t: xi * m.p[j, l, t])


def shared_by_loads(m: Any, scope: Scope) -> None:
    """Bandwidth of a ring beside others, (7), by duty: k = 1 + ξ1·p, with p the load of the others.

    The constraint is that of `shared_by_rings`. A ring that is not on the link has no limit there.
    """
    xi = scope.instance.contention.concurrency
    links = list(most_rings(scope))
    _share_links(m, scope, links, lambda m, j, l, t: xi * m.p[j, l, t] + m.crosses[j, l, t])


def _share_links(
    m: Any, scope: Scope, links: list[str], level: Callable[[Any, str, str, int], Any]
) -> None:
    alpha = scope.instance.contention.degradation.alpha

    def shared(m: Any, j: str, l: str, t: int) -> Any:
        k = level(m, j, l, t)
        return m.bandwidth[j, t] * (k + alpha * (k - 1)) <= scope.links[l].gbps

    m.link_shared = pyo.Constraint(wide_jobs(scope), links, range(scope.horizon), rule=shared)


SHARED_BY_RINGS = Component("shared", shared_by_rings, needs=("bandwidth", "p"), equal_weights=True)
SHARED_BY_LOADS = Component(
    "shared", shared_by_loads, needs=("bandwidth", "p", "crosses"), equal_weights=False
)
