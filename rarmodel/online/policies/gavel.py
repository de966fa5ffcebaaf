"""Gavel's policies: parts of time by linear programs, and rounds that give each job its parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints

from ..policy import Decision, Policy, listed_first
from ..state import ATTAINED, DURATIONS, State

if TYPE_CHECKING:
    from ..gavel_programs import Demand, Gavel

Floats = npt.NDArray[np.float64]

ROUND_SECONDS = 360.0
"""Seconds of a round: the paper's 6 minutes."""
CLOSE = 1.01
"""Where the bisection for finish-time fairness stops: greatest by least ratio."""


class Known(NamedTuple):
    """What all four programs read of a state."""

    kinds: list[str | None]
    speed: Floats
    gpus: Floats
    there: Floats
    price: Floats

    def demand(self, need: Floats) -> Demand:
        """The demand with a need of each job."""
        from ..gavel_programs import Demand  # noqa: PLC0415 - loads Pyomo

        return Demand(self.speed, self.gpus, need, self.there, self.price)


def known_of(state: State) -> Known:
    """What the programs read of a state."""
    servers = state.cluster.servers
    kinds = list(dict.fromkeys(server.gpu_type for server in servers))
    there = [
        sum(int(state.capacity[s]) for s, one in enumerate(servers) if one.gpu_type == kind)
        for kind in kinds
    ]
    speed = np.zeros((len(state), len(kinds)))
    for j, speeds in enumerate(state.type_speeds):
        speed[j] = [speeds[kind] for kind in kinds]
    prices = state.cluster.prices_per_gpu_hour
    given = [prices.get(kind or "") if isinstance(prices, dict) else prices for kind in kinds]
    price = np.array([1.0 if one is None else one for one in given])
    # What costs nothing is worth more than anything that does, but not without limit.
    price = np.maximum(price, 1e-3 * max(price.max(), 1e-9))
    return Known(kinds, speed, state.gpus.astype(np.float64), np.array(there, np.float64), price)


Parts = Callable[[State, Known, "Gavel"], Floats]
"""Gives (jobs, types) the parts of the time."""


def _solved(program: Gavel, known: Known, need: Floats) -> Floats:
    found = program(known.demand(need))
    return np.zeros_like(known.speed) if found is None else found.parts


def _max_min(state: State, known: Known, program: Gavel) -> Floats:
    """The greatest least share, by weight."""
    return _solved(program, known, state.weight * proportional(known) / known.gpus)


def proportional(known: Known) -> Floats:
    """(jobs) Iterations per slot in equal parts of the cluster."""
    equal: Floats = known.speed @ known.there / max(1.0, known.there.sum())
    return equal


def _makespan(state: State, known: Known, program: Gavel) -> Floats:
    """The least time until the last of the known jobs completes."""
    return _solved(program, known, state.iterations.astype(np.float64))


class Reached(NamedTuple):
    """An allocation for some needs.

    Attributes
    ----------
    answer
        It, as a program gives it.
    done
        (jobs) Iterations per slot.
    level
        The part of its needs that each job gets at least.
    """

    answer: Any
    done: Floats
    level: float


def _fairness(state: State, known: Known, program: Gavel) -> Floats:
    """The least of the greatest ratios of finish times."""

    def allocated(need: Floats) -> Reached | None:
        found = program(known.demand(need))
        if found is None:
            return None
        return Reached(found.parts, (found.parts * known.speed).sum(axis=1), found.level)

    found = least_ratio(state, known, allocated)
    return np.zeros_like(known.speed) if found is None else np.asarray(found.answer, np.float64)


def least_ratio(
    state: State, known: Known, allocated: Callable[[Floats], Reached | None]
) -> Reached | None:
    """The least of the greatest ratios of finish times, sharing and alone on an n-th.

    Alone, a job has been there for as long as what it did takes in its parts of the cluster, which
    change with n, and completes after what is left takes in its present part.

    Parameters
    ----------
    state, known
        The jobs and the cluster.
    allocated
        Gives the allocation of the greatest level for needs of the jobs, or None if there is none.
    """
    able = known.speed.max(axis=1) > 0
    left = np.where(able, state.iterations, 0).astype(np.float64)
    elapsed = (state.now - state.release).astype(np.float64)
    isolated = _isolated(state, known)

    def ratio(done: Floats) -> float:
        """The greatest ratio if jobs do so many iterations in a slot."""
        shared = elapsed + left / np.maximum(done, 1e-12)
        return float((shared / isolated)[able].max(initial=0.0))

    best = allocated(left / isolated)
    if best is None:
        return None
    # What any solution reaches is an upper bound, and a ratio that cannot be kept a lower one.
    high, low = ratio(best.done), ratio(known.speed.max(axis=1))
    while high > CLOSE * low:
        wanted = (low + high) / 2
        spare = wanted * isolated - elapsed
        found = None
        if (spare[able] > 0).all():
            found = allocated(left / np.where(able, spare, 1.0))
        if found is None:
            low = wanted
            continue
        if found.level < 1 - 1e-9:
            low = wanted
        reached = ratio(found.done)
        if reached < high:
            best, high = found, reached
        elif found.level >= 1 - 1e-9:  # Rounding keeps it from getting better.
            break
    return best


def _isolated(state: State, known: Known) -> Floats:
    """(jobs) Slots from submission to completion alone on an n-th of the cluster."""
    share = state.cluster.total_gpus / len(state)
    pace = np.maximum(proportional(known) / np.maximum(1.0, known.gpus / share), 1e-12)
    before: dict[int, tuple[float, int, float]] = state.memory.get("alone", {})
    alone = {}
    for k, left, now in zip(
        state.number.tolist(), state.iterations.tolist(), pace.tolist(), strict=True
    ):
        slots, had, then = before.get(k, (0.0, left, now))
        # Work that was lost meanwhile may have been done at a greater pace.
        alone[k] = (max(0.0, slots + (had - left) / then), left, now)
    state.memory["alone"] = alone
    return np.array([slots + left / now for slots, left, now in alone.values()])


def needs_by_due(state: State) -> Floats:
    """(jobs) Iterations per slot that keep due slots; 0 for jobs that have none to come."""
    slots = (state.due - state.now).astype(np.float64)
    kept = (state.due < NEVER) & (slots > 0)
    return np.where(kept, state.iterations / np.maximum(slots, 1.0), 0.0)


def _cost(state: State, known: Known, program: Gavel) -> Floats:
    """The greatest throughput for the price, with due slots kept where that is possible."""
    found = program(known.demand(needs_by_due(state)))
    if found is not None:
        return found.parts
    return _solved(program, known, np.zeros(len(state)))


def make_gavel(
    name: str, program: str, parts_of: Parts, description: str, *, durations: bool
) -> Policy:
    """A policy by one of Gavel's programs; see `rarmodel.online.gavel_programs`.

    The program is solved when the set of jobs changes. At each decision jobs are gone through by
    `X_jr` over the slots that they had on type r since they arrived; each that fits gets its GPUs
    of that type (section 5 of the paper). Readings: pairs that had nothing yet come first, the
    greater X first; jobs without a part, and those that did not fit, come after them in order of
    arrival. A ring has one type of GPU, of those with a place for it on the servers that the job
    may use; a ring that fits no type by itself comes last, and counts on each type in part.
    """
    return Policy(
        name,
        partial(_by_program, program, parts_of),
        description,
        DURATIONS if durations else ATTAINED,
        interrupts=True,
        round_seconds=ROUND_SECONDS,
    )


def _by_program(program: str, parts_of: Parts, state: State) -> Decision:
    from ..gavel_programs import Gavel  # noqa: PLC0415 - loads Pyomo

    memory, known = state.memory, known_of(state)
    numbers = tuple(state.number.tolist())
    _count_slots(state, known)
    if memory.get("numbers") != numbers:
        solver = memory.setdefault("program", Gavel(program))  # type: ignore[arg-type]
        memory["numbers"], memory["parts"] = numbers, parts_of(state, known, solver)
    return _round(state, known, memory["parts"])


def _count_slots(state: State, known: Known) -> None:
    """Add the slots since the last decision to what each job had on each type."""
    memory = state.memory
    had: dict[int, Floats] = memory.setdefault("had", {})
    before: dict[int, int] = memory.get("attained", {})
    kind_of = [known.kinds.index(server.gpu_type) for server in state.cluster.servers]
    numbers, attained = state.number.tolist(), state.attained.tolist()
    for j, (number, now) in enumerate(zip(numbers, attained, strict=True)):
        gpu_slots = now - before.get(number, now if number not in had else 0)
        slots = had.setdefault(number, np.zeros(len(known.kinds)))
        if gpu_slots == 0:
            continue
        ring = state.places[j]
        if ring:
            memory.setdefault("rings", {})[number] = ring
        else:  # It gave way in this slot.
            ring = memory.get("rings", {}).get(number, {})
        size = sum(ring.values())
        for server, count in ring.items():
            slots[kind_of[server]] += gpu_slots / size * count / size
    memory["attained"] = dict(zip(numbers, attained, strict=True))


class Free:
    """GPUs of each type that are left on the servers of each set that some job may use."""

    def __init__(self, state: State, known: Known) -> None:
        kinds = np.array([known.kinds.index(one.gpu_type) for one in state.cluster.servers])
        sets: dict[bytes, int] = {}
        masks = []
        self._row = []
        for asks in state.asks:
            key = asks.allowed[-1].tobytes()
            if key not in sets:
                sets[key] = len(sets)
                masks.append(asks.allowed[-1])
            self._row.append(sets[key])
        of_kind = [kinds == r for r in range(len(known.kinds))]
        there = [[mask & kind for kind in of_kind] for mask in masks]
        self._gpus = np.array([[int(state.capacity[one].sum()) for one in row] for row in there])
        # A ring on the servers of one set takes GPUs of all sets that have these servers.
        self._within = [
            [[bool((p[r] >= q[r]).all()) for r in range(len(of_kind))] for p in there]
            for q in there
        ]

    def has(self, j: int, r: int, size: float) -> bool:
        """Whether so many GPUs of a type are left for a job."""
        return bool(size <= self._gpus[self._row[j], r])

    def take(self, j: int, r: int, size: float) -> None:
        """A job takes so many."""
        for row, within in enumerate(self._within[self._row[j]]):
            if within[r]:
                self._gpus[row, r] -= int(size)


def _round(state: State, known: Known, parts: Floats) -> Decision:
    """Who has which type of GPU now."""
    had = state.memory["had"]
    slots = np.array([had[number] for number in state.number.tolist()])
    pairs = [
        (-parts[j, r] / slots[j, r] if slots[j, r] else -np.inf, -parts[j, r], j, r)
        for j, r in zip(*np.nonzero((parts > 1e-9) & (known.speed > 0)), strict=True)
    ]
    free, size = Free(state, known), known.gpus
    chosen: dict[int, int] = {}
    for _, _, j, r in sorted(pairs):
        if j not in chosen and free.has(j, r, size[j]):
            chosen[int(j)] = int(r)
            free.take(j, r, size[j])
    for j in range(len(state)):
        fits = [r for r in np.argsort(-known.speed[j], kind="stable") if free.has(j, r, size[j])]
        if j not in chosen and (there := [int(r) for r in fits if known.speed[j, r] > 0]):
            chosen[j] = there[0]
            free.take(j, there[0], size[j])
    order: Ints = listed_first([*chosen], len(state))
    types = {j: kind for j, r in chosen.items() if (kind := known.kinds[r]) is not None}
    return Decision(order, types=types)


MAX_MIN = make_gavel(
    "gavel-max-min",
    "shares",
    _max_min,
    "Gavel: the greatest least share of the cluster, by weight",
    durations=False,
)
MAKESPAN = make_gavel(
    "gavel-makespan",
    "shares",
    _makespan,
    "Gavel: the least time until the last known job completes",
    durations=True,
)
FAIRNESS = make_gavel(
    "gavel-fairness",
    "shares",
    _fairness,
    "Gavel: the least of the greatest ratios of finish times",
    durations=True,
)
COST = make_gavel(
    "gavel-cost",
    "cost",
    _cost,
    "Gavel: the greatest throughput for its price, with due slots",
    durations=True,
)
