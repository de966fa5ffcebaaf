r"""Formulation `time-indexed-compact`: a mixed-integer linear program equivalent to RAR-DDLS.

Indices: jobs j, servers s, links ℓ, slots t = 0 … H−1, shapes h, ring counts p. A shape is a number
of servers n, and where jobs differ in more, also a ring size and the slowest type of GPU allowed;
within one server it is the speed there.

Variables, by the names of their Pyomo components:

========================= ==========================================================================
`started[j,t]`            1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`              1 iff job j has completed before slot t: T_j ≤ t
`workers[j,s]`            workers of job j on server s, y_js
`on[j,s]`                 1 iff y_js ≥ 1
`spans[j,h]`              1 iff the ring of job j has shape h
`held[j,s,t]`             workers of job j on server s if active in slot t, else 0
`active_on[j,h,t]`        1 iff job j is active in slot t, in shape h
`below[j,l]`              1 if job j has a worker below link ℓ
`above[j,l]`              1 if job j has a worker that is not below link ℓ
`uses[j,l]`               1 if the ring of job j uses link ℓ
`on_link[j,l,t]`          1 if job j uses link ℓ and is active in slot t
`at_least[l,p,t]`         1 if at least p rings use link ℓ in slot t, p ≥ 2; by the count
`counts[j,l,t]`           what job j counts on link ℓ in slot t; by duty. With several sensitivities
                          it is `counts[j,l,k,t]`: to rings of sensitivity k, such as `0.5`
`reaches[j,i,t]`          1 if ring j does at least φ_ji iterations in slot t; by duty
`has[j,s,y]`              1 only if job j has at least y ≥ 2 workers on server s, which has several
                          network cards
`weighs[j]`               with several network cards, by duty: what job j counts on links with the
                          cards that its workers leave idle; or `weighs[j,k]`, as `counts`
`progress[j,h,t]`         iterations of job j in slot t, in shape h on n ≥ 2 servers
`makespan`                max_j T_j
========================= ==========================================================================

Expressions for your own constraints and objectives, as in `time_indexed`:

========================= ==========================================================================
`running[j,t]`            1 iff job j is active in slot t
`servers_used[j]`         number of servers that job j uses
`start[j]`                start slot a_j
`completion[j]`           completion T_j
========================= ==========================================================================

Speeds are data: `φ_j(h, ℓ, p) = ⌊slot/τ⌋` is the speed of a ring of shape h whose bandwidth is that
of p rings on link ℓ. B_j is the least over the links used (reading 4), and τ falls with B. So the
speed of a ring is the least φ_j(h, ℓ, p_ℓ) over the links it uses, floor included. By duty the
speeds have limits on the load of others instead (`compact_speeds`), where all links have one rate.
Network cards that a ring leaves idle limit its speed like links (`compact_cards`).

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: give each
variable the value of its meaning. Conversely take starts and workers of a solution. The model lets
a ring be slower than it is (by the count in the shape of a slower type, for one), or see more rings
on a link than there are, never the reverse. More speed and less contention only make jobs complete
earlier, and completions only take rings off links. By induction over slots, every job completes in
the simulation no later than in the model, and holds its GPUs no longer. So the schedule is
feasible, and its makespan is no greater; nor is any other objective.
"""

from __future__ import annotations

from collections import Counter

from rarmodel.model.features import ALL_BUT_PREEMPTION

from .aims import OBJECTIVES
from .arithmetic import too_fast
from .compact_cards import SLOWED_BY_CARDS, WEIGHS_BY_CARDS, WORKERS_AT_CARDS
from .compact_placement import (
    ACTIVE_SHAPES,
    CAPACITY,
    HELD,
    LIMITS,
    LINK_USE,
    NEARNESS,
    PLACEMENT,
    RING_LINKS,
)
from .compact_speeds import (
    LOADS_ON_LINKS,
    ON_LINKS,
    RINGS_ON_LINKS,
    SLOWED_BY_LOADS,
    SLOWED_BY_RINGS,
    SPEED,
    WORK,
)
from .formulation import Formulation
from .latest import LATEST_COMPLETION
from .plan import plan_of_starts
from .scope import Scope
from .sharing_forms import most_rings, several_rates
from .starts_and_ends import STARTS_AND_ENDS

COMPONENTS = (
    STARTS_AND_ENDS,
    PLACEMENT,
    NEARNESS,
    WORKERS_AT_CARDS,  # where servers have several network cards
    ACTIVE_SHAPES,
    HELD,
    CAPACITY,
    LIMITS,
    LINK_USE,
    ON_LINKS,
    RINGS_ON_LINKS,  # where rings weigh alike
    LOADS_ON_LINKS,  # with weights
    WEIGHS_BY_CARDS,  # with weights, where servers have several network cards
    SPEED,
    SLOWED_BY_RINGS,  # where rings weigh alike
    SLOWED_BY_LOADS,  # with weights
    SLOWED_BY_CARDS,  # where servers have several network cards
    WORK,
    LATEST_COMPLETION,
    RING_LINKS,  # where links count
    OBJECTIVES,
)


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·J·(S + L·N·P)`.

    For H slots, J jobs, S servers, L links, rings of up to N shapes, and P rings on a link. Servers
    with several network cards count like links.
    """
    jobs, servers = scope.instance.jobs, len(scope.instance.cluster.servers)
    wide = Counter((job.sizes, len(job.times or "-")) for job in jobs if job.sizes[-1] > 1)
    rings = most_rings(scope)
    counts = sum(rings.values()) + 4 * len(rings)
    cards = [server.network_cards for server in scope.instance.cluster.servers]
    counts += sum(3 + few for few in cards if few > 1)
    spread = 0
    for (sizes, types), number in wide.items():
        shapes = types * sum(min(size, servers) - 1 for size in sizes)
        spread += number * ((4 + len(scope.sensitivities)) * len(rings) + shapes * counts)
    return scope.horizon * (len(jobs) * (11 * servers + 12) + spread)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: a job that is too fast, or with weights links of several rates."""
    return too_fast(scope) or several_rates(scope, "time-indexed-compact")


COMPACT = Formulation.composed(
    "time-indexed-compact",
    *COMPONENTS,
    description="a smaller and weaker program, where jobs have very many placements",
    plan=plan_of_starts,
    size=_size,
    unfit=_unfit,
    model_class="linear",
    reads=frozenset(),
    handles=ALL_BUT_PREEMPTION,
)
