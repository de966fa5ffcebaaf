r"""Formulation `time-indexed-preemptive`: jobs may stop, move and be resized (section 11).

Every slot has a choice of its own for each job: one of its placements, or nothing. So it is for
tiny instances, and the measure of everything that is faster. The indices are those of
`time-indexed`. Variables, all binary, by the names of their Pyomo components; those of contention
and speed (`at_least`, `reaches`, `done`) are as in `time-indexed`:

======================= ============================================================================
`started[j,t]`          1 iff job j has started by slot t; 1 for a job that runs at slot 0
`ended[j,t]`            1 iff job j has completed before slot t
`holds[j,k,t]`          1 iff job j holds the GPUs of placement k in slot t
`active_in[j,k,t]`      1 iff it also exchanges gradients: it is not restored
`begins[j,k,t]`         1 iff a segment of job j in placement k begins with slot t
`first[j,k,t]`          1 iff this is the job's first segment, which needs no restoration
======================= ============================================================================

Expressions for your own constraints and objectives are `running[j,t]` (started and not ended),
`held[j,s,t]`, `start[j]`, `completion[j]` and `makespan`.

Why it is equivalent. Every feasible schedule gives a solution of the same values: give each
variable the value of its meaning. Conversely take the segments of a solution, without those after
the completion in the simulation. The model lets a ring be slower than it is, or see more rings on a
link than there are, never the reverse; and a ring that holds its GPUs and is not restored counts on
its links. By induction over slots each job has done in the simulation at least what it has done in
the model, with the segments kept. So it completes no later, and holds no more.

A segment that begins anew on the same GPUs costs a restoration, and takes the ring off its links
for that time. It can be worth that, so the model has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyomo.environ as pyo

from rarmodel.model.features import ALL, PREEMPTION
from rarmodel.model.gpu_assignment import Stay
from rarmodel.model.timing import restore_slots
from rarmodel.schema import Schedule
from rarmodel.verifier import Run, run_of, simulate

from .aims import add_objectives, needs_makespan, values_of_aims
from .arithmetic import too_fast
from .caps import server_caps, tenant_caps, yields
from .formulation import Formulation, Plan, Scope, is_set, put
from .placements import MAX_PLACEMENTS, label_of, most_rings, ways_anywhere
from .preemptive_components import (
    OWN,
    holding,
    preemptive_data,
    preemptive_work,
    restoration,
    room,
)
from .time_indexed_components import contention, makespan, speed

COMPONENTS = (holding, restoration, room, contention, speed, preemptive_work)
"""The components of the model, in order: a later one uses variables of earlier ones."""


def _build(scope: Scope) -> pyo.ConcreteModel:
    """Build the model; each component adds the variables and constraints of one idea."""
    model = pyo.ConcreteModel("time-indexed-preemptive")
    data = preemptive_data(scope)
    for component in COMPONENTS:
        component(model, data)
    if needs_makespan(scope):
        makespan(model, data)
    add_objectives(model, scope)
    return model


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


@dataclass(frozen=True)
class _Held:
    """A segment of a job, in the model's words."""

    start: int
    up: int
    end: int
    label: str
    first: bool


@dataclass(frozen=True)
class _Course:
    """A schedule carried out: completions, segments, and rings by slot."""

    scope: Scope
    end: Mapping[str, int]
    held: Mapping[str, list[_Held]]
    speed: Mapping[tuple[str, int], int]
    rings: Mapping[tuple[str, int], int]

    def at(self, j: str, t: int) -> _Held | None:
        """What a job holds in a slot."""
        return next((one for one in self.held[j] if one.start <= t < one.end), None)


def _course(scope: Scope, schedule: Schedule) -> _Course:
    index, restore = scope.server_index, restore_slots(scope.instance)
    runs: list[Run] = []
    labels = []
    for assignment in schedule.assignments:
        job, before = scope.jobs[assignment.job], None
        for segment in assignment.segments:
            workers = {s: len(gpus) for s, gpus in segment.gpus.items() if gpus}
            inside = {index[s]: count for s, count in workers.items()}
            run = run_of(job, segment, inside, restore, before)
            own = run.restore == 0 and job.running is not None and before is None
            own = own and job.running is not None and job.running.goes_on(run.start, segment.gpus)
            in_order = dict(sorted(workers.items(), key=lambda pair: index[pair[0]]))
            labels.append(OWN if own else label_of(in_order))
            before = len(runs)
            runs.append(run)
    found = simulate(scope.instance, runs)
    late = scope.horizon + 1
    end = dict.fromkeys(scope.jobs, late)
    held: dict[str, list[_Held]] = {j: [] for j in scope.jobs}
    for run, label, completed, until in zip(
        runs, labels, found.completion, found.ends, strict=True
    ):
        j, last = run.job.name, late if until is None else until
        first = run.follows is None and run.job.running is None
        held[j].append(_Held(run.start, run.start + run.restore, last, label, first))
        if completed is not None:
            end[j] = completed
    speeds, rings = {}, {}
    for period in found.periods:
        for t in range(period.start, min(period.end, scope.horizon)):
            speeds.update({(j, t): ring.speed for j, ring in period.rings.items()})
            rings.update({(link, t): count for link, count in period.links.items()})
    return _Course(scope, end, held, speeds, rings)


def _load(model: pyo.ConcreteModel, scope: Scope, schedule: Schedule) -> None:
    """Set every variable to its value in a feasible schedule."""
    m: Any = model
    course, data = _course(scope, schedule), preemptive_data(scope)

    def holds(j: str, k: str, t: int) -> bool:
        one = course.at(j, t)
        return one is not None and one.label == k

    def active(j: str, k: str, t: int) -> bool:
        one = course.at(j, t)
        return one is not None and one.label == k and t >= one.up

    def begins(j: str, k: str, t: int) -> bool:
        one = course.at(j, t)
        return one is not None and one.label == k and one.start == t

    def first(j: str, k: str, t: int) -> bool:
        one = course.at(j, t)
        return begins(j, k, t) and one is not None and one.first

    def started(j: str, t: int) -> bool:
        return scope.jobs[j].running is not None or t >= course.held[j][0].start

    def reaches(j: str, i: int, t: int) -> bool:
        spread = any(active(j, k, t) for k in data.rings[j])
        return spread and course.speed.get((j, t), 0) >= data.levels[j][i]

    def stays(j: str, t: int) -> bool:
        return holds(j, OWN, t)

    slots = range(scope.horizon)
    values: dict[str, Callable[..., float]] = {
        "started": started,
        "ended": lambda j, t: t >= course.end[j],
        "holds": holds,
        "active_in": active,
        "begins": begins,
        "first": first,
        "at_least": lambda l, p, t: course.rings.get((l, t), 0) >= p,
        "reaches": reaches,
        "done": lambda t: t >= max(course.end.values()),
        "capacity_yields": yields(server_caps(scope), slots, stays).at,
        "quota_yields": yields(tenant_caps(scope), slots, stays).at,
        **{name: one.at for name, one in values_of_aims(course).items()},
    }
    for name, at in values.items():
        component = m.component(name)
        if component is not None:
            for key, variable in component.items():
                put(variable, +(at(*key) if isinstance(key, tuple) else at(key)))


def _plan(model: pyo.ConcreteModel, scope: Scope) -> Plan:
    """Read segments."""
    m: Any = model
    options = preemptive_data(scope).options
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
    """Whether a segment begins here; without restorations it makes no difference."""
    return m.component("begins") is not None and is_set(m.begins[j, k, t])


TIME_INDEXED_PREEMPTIVE = Formulation(
    name="time-indexed-preemptive",
    description="jobs may be interrupted, moved and resized; for tiny instances",
    build=_build,
    load=_load,
    plan=_plan,
    size=_size,
    unfit=_unfit,
    model_class="integer",
    lists_placements=True,
    reads=frozenset(),
    handles=ALL,
    meant_for=frozenset({PREEMPTION.name}),
)
