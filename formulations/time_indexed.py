r"""Formulation `time-indexed`: an integer linear program equivalent to RAR-DDLS, made strong.

A job's placement is one choice among all ways to put its workers on servers. So the links of its
ring, its speed for each contention, and its least execution time are data. Indices: jobs j,
servers s, links ℓ, slots t = 0 … H−1, placements k of job j, speed levels i, ring counts p.

Variables, all binary, by the names of their Pyomo components:

======================= ============================================================================
`started[j,t]`          1 iff job j has started by slot t: a_j ≤ t
`ended[j,t]`            1 iff job j has completed before slot t: T_j ≤ t
`placed[j,k]`           1 iff job j has placement k
`active_in[j,k,t]`      1 iff job j is active in slot t, in placement k
`at_least[l,p,t]`       1 if at least p rings use link ℓ in slot t, p ≥ 2; not by duty
`reaches[j,i,t]`        1 if ring j does at least φ_ji iterations in slot t: its i-th speed
`done[t]`               1 if all jobs have completed before slot t
======================= ============================================================================

Expressions for your own constraints and objectives:

======================= ============================================================================
`running[j,t]`          1 iff job j is active in slot t
`workers[j,s]`          workers of job j on server s, y_js
`on[j,s]`               1 iff job j uses server s
`servers_used[j]`       number of servers that job j uses
`held[j,s,t]`           GPUs of server s that job j holds in slot t, y_js[t]
`start[j]`              start slot a_j
`completion[j]`         completion T_j
`makespan`              max_j T_j
======================= ============================================================================

Why it is equivalent. Every feasible schedule gives a solution of the same makespan: give each
variable the value of its meaning. Conversely take the starts and placements of a solution. The
model lets a ring be slower than it is, end later, or see more rings on a link than there are, never
the reverse. More speed and less contention only make jobs complete earlier, and completions only
take rings off links. By induction over slots, every job completes in the simulation no later than
in the model, and holds its GPUs no longer. So the schedule is feasible, and its makespan is no
greater. By duty the same holds: a ring counts on its links with a number that its placement gives,
and only by the rings that are there.

Unless the scope asks for every schedule, equal jobs start in input order, and equal servers are
ordered by the workers of the longest jobs on them. Exchanging equals changes nothing else.
"""

from __future__ import annotations

from rarmodel.model.features import ALL_BUT_PREEMPTION

from .aims import OBJECTIVES
from .arithmetic import too_fast
from .formulation import Formulation
from .latest import MAKESPAN_BY_SLOTS
from .placements import MAX_PLACEMENTS, number_of_placements
from .plan import plan_of_starts
from .scope import Scope
from .sharing_forms import most_rings
from .starts_and_ends import STARTS_AND_ENDS
from .symmetry import SYMMETRY, in_order
from .time_indexed_components import (
    CAPACITY,
    LIMITS,
    PLACEMENT,
    RING_LINKS,
    RINGS_ON_LINKS,
    SLOWED_BY_LOADS,
    SLOWED_BY_RINGS,
    SPEED,
    WHERE_THEY_ARE,
    WORK,
)

COMPONENTS = (
    STARTS_AND_ENDS,
    PLACEMENT,
    WHERE_THEY_ARE,
    CAPACITY,
    LIMITS,
    RINGS_ON_LINKS,  # where rings weigh alike
    SPEED,
    SLOWED_BY_RINGS,  # where rings weigh alike
    SLOWED_BY_LOADS,  # with weights
    WORK,
    SYMMETRY,
    MAKESPAN_BY_SLOTS,
    RING_LINKS,  # where links count
    OBJECTIVES,
)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: a job with too many placements, or with too great a speed."""
    ways = number_of_placements(scope)
    for j, (number, _) in ways.items():
        if number > MAX_PLACEMENTS:
            return (
                f"job {j!r} can be placed in {number:.3g} ways{' or more' * bool(scope.allowed)}, "
                f"and up to {MAX_PLACEMENTS:,} are listed; time-indexed-compact lists none"
            )
    return too_fast(scope)


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints: of order `H·Σ_j K_j·(S_j + L_j·N_j·P)`.

    For H slots and K_j placements of job j, on up to S_j servers and L_j links, with up to N_j
    numbers of servers and P rings on a link.
    """
    ways = number_of_placements(scope)
    rings = most_rings(scope)
    most = max(rings.values(), default=1)
    terms = 0
    for number, servers in ways.values():
        levels = max(0, servers - 1) * (most if rings else 0)
        terms += 8 + number * (5 + 2 * servers + levels * (1 + servers))
    return scope.horizon * terms


TIME_INDEXED = Formulation.composed(
    "time-indexed",
    *COMPONENTS,
    description="a strong program over slots and placements: use it first",
    in_order=in_order,
    plan=plan_of_starts,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    lists_placements=True,
    reads=frozenset(),
    handles=ALL_BUT_PREEMPTION,
)
