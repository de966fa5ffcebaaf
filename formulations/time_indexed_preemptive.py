r"""Formulation `time-indexed-preemptive`: jobs may stop, move and be resized (sections 11, 18).

Every slot has a choice of its own for each job: one of its placements, or nothing. So it is for
tiny instances, and the measure of everything that is faster. The indices are those of
`time-indexed`. Variables, binary but for two, by the names of their Pyomo components; those of
contention and speed (`at_least`, `reaches`, `done`) are as in `time-indexed`:

======================= ============================================================================
`started[j,t]`          1 iff job j has started by slot t; 1 for a job that runs at slot 0
`ended[j,t]`            1 iff job j has completed before slot t
`holds[j,k,t]`          1 iff job j holds the GPUs of placement k in slot t
`active_in[j,k,t]`      1 iff it also exchanges gradients: it is not restored
`begins[j,k,t]`         1 iff a segment of job j in placement k begins with slot t
`first[j,k,t]`          1 iff this is the job's first segment, which needs no restoration
`kept[j,t]`             iterations that count for job j when slot t begins
`stops[j,t]`            1 iff a segment of job j ends before slot t, and the job is not complete
`checkpoints[j,t]`      checkpoints that job j has reached when slot t begins
======================= ============================================================================

The last three are there for jobs that lose work when they are interrupted; `kept` and `checkpoints`
are whole numbers.

Expressions for your own constraints and objectives are `running[j,t]` (started and not ended),
`held[j,s,t]`, `start[j]`, `completion[j]` and `makespan`.

Why it is equivalent. Every feasible schedule gives a solution of the same values: give each
variable the value of its meaning. Conversely take the segments of a solution, without those after
the completion in the simulation. The model lets a ring be slower than it is, or see more rings on a
link than there are, or lets a job keep less than its checkpoints do, never the reverse. A ring that
holds its GPUs and is not restored counts on its links. By induction over slots each job has done in
the simulation at least what it has done in the model, with the segments kept. So it completes no
later, and holds no more.

A segment that begins anew on the same GPUs costs a restoration, and takes the ring off its links
for that time. It can be worth that, so the model has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rarmodel.model.features import ALONE_ON_GPUS, PREEMPTION, SERVICES
from rarmodel.model.gpu_assignment import Stay
from rarmodel.model.timing import restore_slots

from .aims import OBJECTIVES
from .arithmetic import too_fast
from .formulation import Formulation
from .latest import MAKESPAN_BY_SLOTS
from .placements import MAX_PLACEMENTS, OWN, placements, ways_anywhere
from .plan import Plan, is_set
from .preemptive_components import (
    CAPACITY,
    HOLDING,
    LIMITS,
    LOST_WORK,
    RESTORATION,
    RING_LINKS,
    WORK,
)
from .scope import Scope
from .sharing_forms import most_rings
from .starts_and_ends import STARTS_AND_ENDS
from .time_indexed_components import RINGS_ON_LINKS, SLOWED_BY_LOADS, SLOWED_BY_RINGS, SPEED

if TYPE_CHECKING:
    import pyomo.environ as pyo

COMPONENTS = (
    STARTS_AND_ENDS,
    HOLDING,
    RESTORATION,
    CAPACITY,
    LIMITS,
    RINGS_ON_LINKS,  # where rings weigh alike
    SPEED,
    SLOWED_BY_RINGS,  # where rings weigh alike
    SLOWED_BY_LOADS,  # with weights
    WORK,
    LOST_WORK,  # where interruptions lose work
    MAKESPAN_BY_SLOTS,
    RING_LINKS,  # where links count
    OBJECTIVES,
)


def _unfit(scope: Scope) -> str | None:
    """Why the model is refused: a job with too many placements, or with too great a speed."""
    for j in scope.jobs:
        number, _ = ways_anywhere(scope, j)
        if number > MAX_PLACEMENTS:
            return f"job {j!r} can be placed in more than {MAX_PLACEMENTS:,} ways"
    return too_fast(scope)


def _size(scope: Scope) -> int:
    """Approximate number of terms in the constraints; as `time-indexed`, with restorations."""
    rings, wait = most_rings(scope), restore_slots(scope.instance)
    most = max(rings.values(), default=1)
    terms = 0
    for j in scope.jobs:
        number, servers = ways_anywhere(scope, j)
        levels = max(0, servers - 1) * (most if rings else 0)
        terms += 8 + number * (12 + 2 * servers + 6 * wait + levels * (1 + servers))
    return scope.horizon * terms


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read segments."""
    m: Any = model
    options = placements(replace(scope, interrupted=True))
    index = scope.server_index
    stays: list[tuple[Stay, ...]] = []
    for j, job in scope.jobs.items():
        found: list[tuple[int, str]] = []
        ends: list[int] = []
        before = None
        for t in range(scope.horizon + 1):
            held = (k for k in options[j] if t < scope.horizon and is_set(m.holds[j, k, t]))
            label = next(held, None)
            again = label not in {None, OWN} and _begins(m, j, label, t)
            if label != before or again:
                if before is not None:
                    ends.append(t)
                if label is not None:
                    found.append((t, label))
            before = label
        ways = [options[j][label] for _, label in found]
        stays.append(
            tuple(
                Stay(
                    start,
                    end,
                    {index[s]: count for s, count in way.workers.items()},
                    job.running.gpus if job.running is not None and label == OWN else None,
                )
                for (start, label), end, way in zip(found, ends, ways, strict=True)
            )
        )
    return Plan(
        tuple(one[0].start if one else -1 for one in stays),
        tuple(one[0].workers if one else {} for one in stays),
        stays=tuple(stays),
    )


def _begins(m: Any, j: str, k: str | None, t: int) -> bool:
    """Whether a segment begins here; without restorations nothing is won by that."""
    return m.component("first") is not None and is_set(m.begins[j, k, t])


TIME_INDEXED_PREEMPTIVE = Formulation.composed(
    "time-indexed-preemptive",
    *COMPONENTS,
    description="jobs may be interrupted, moved and resized; for tiny instances",
    interrupts=True,
    evaluates=False,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    lists_placements=True,
    reads=frozenset(),
    handles=ALONE_ON_GPUS - {SERVICES.name},  # Replicas are decided first.
    meant_for=frozenset({PREEMPTION.name}),
)
