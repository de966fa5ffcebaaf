"""Bounds on objectives of completions: as good as none is better. `simple` has the makespan.

All numbers are whole or exact fractions. The cluster of N GPUs is no faster than one machine that
does N units of area, GPU times slot, in a slot: job j has an area of at least `A_j` (see
`least_areas`) and can have no part of it before `h_j`, its head: it was not released before, or
waits for others. Contention, servers, reservations and quotas only make schedules worse. So do
others on the same GPUs: a worker that takes slices of one counts with its part of that GPU.

Any `Machine` that is no slower does as well, such as the capacity of a resource. Jobs that use
nothing of it count as alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from math import ceil

from rarmodel.model import horizon_of
from rarmodel.model.objectives import MAKESPAN, Objective, Shape, Term, Value, exact
from rarmodel.schema import Instance
from rarmodel.schema.certificate import EachJob, OneMachine

from .arguments import (
    MOST_WORK,
    Rule,
    counted,
    of_jobs_alone,
    of_late_jobs,
    of_machine,
    of_overfull,
    on_machine,
)
from .bound import ALWAYS, Bound
from .least_demands import Machine, all_gpus, works


def jobs_alone(instance: Instance, objective: Objective) -> Value | None:
    """Each job completes no earlier than its head plus its least execution time.

    Terms do not fall when a completion grows, so neither does their sum or the greatest of them.
    """
    if not objective.of_completions or objective is MAKESPAN:
        return None
    ends = [work.head + work.slots for work in works(instance)]
    return objective.value(instance, ends)


def shortest_first(
    instance: Instance, objective: Objective, machine: Machine | None = None
) -> Value | None:
    """Shortest remaining area first on one machine, for sums of completions of equal weight.

    A cluster's schedule is one of that machine: it can do in each slot what the cluster does, and
    completes no job later. There, to go on with the job of the least remaining work minimises the
    sum of completion times, with releases and preemption (L. Schrage, "A proof of the optimality
    of the shortest remaining processing time discipline", Operations Research 16, 1968).
    """
    machine = machine or all_gpus(instance)
    terms, alone = _on_machine(instance, linear_terms(instance, objective), machine)
    if len({_weight(term) for term in terms.values()}) != 1:
        return None
    return _together(_with_offsets(terms, sum_by_remaining_area(machine, terms)), alone)


def sum_by_remaining_area(machine: Machine, jobs: Iterable[int]) -> Fraction:
    """Least sum of completion times of some jobs on one machine, in slots.

    Times are counted in N-ths of a slot, so that all of them are whole.
    """
    speed, known, _ = machine
    coming = sorted((known[j].head * speed, known[j].area) for j in jobs)
    remaining: list[int] = []
    now = total = at = 0
    while at < len(coming) or remaining:
        if not remaining:
            now = max(now, coming[at][0])
        while at < len(coming) and coming[at][0] <= now:
            heappush(remaining, coming[at][1])
            at += 1
        area = heappop(remaining)
        until = coming[at][0] if at < len(coming) else now + area
        done = min(area, until - now)
        now += done
        if done < area:
            heappush(remaining, area - done)
        else:
            total += now
    return Fraction(total, speed)


def mean_busy_times(
    instance: Instance, objective: Objective, machine: Machine | None = None
) -> Value | None:
    """The mean-busy-time relaxation, for sums of completions with weights.

    A job that holds w GPUs from s to T has done the first `A_j` of its area by `s + A_j/w ≤ T`,
    at the mean time `M_j = s + A_j/2w`. As `A_j/w` and `ρ_j^min` are both at most T − s,
    `T ≥ M_j + ρ_j^min/2`. A job that is interrupted, and has w GPUs at most, does the last of that
    area by T, and no part of it faster: `T ≥ M_j + A_j/2w`, which is the same if it keeps its ring
    size, as then `A_j = w·ρ_j^min`. The weighted sum of the M_j is least if one machine always goes
    on with the job of the greatest weight by area, as each unit of area counts with its time times
    that.
    (M. Goemans, M. Queyranne, A. Schulz, M. Skutella, Y. Wang, "Single machine scheduling with
    release dates", SIAM Journal on Discrete Mathematics 15, 2002, for one machine.)
    """
    machine = machine or all_gpus(instance)
    terms, alone = _on_machine(instance, linear_terms(instance, objective), machine)
    if not terms:
        return None
    return _together(_with_offsets(terms, sum_by_busy_time(machine, terms)), alone)


def sum_by_busy_time(machine: Machine, terms: dict[int, Term]) -> Fraction:
    """Bound on the weighted sum of completion times of some jobs, in slots."""
    speed, known, _ = machine
    weights = {j: _weight(term) for j, term in terms.items()}
    coming = sorted((known[j].head * speed, j) for j in terms)
    # The machine's unit of time is an N-th of a slot; twice the mean time is whole.
    remaining = {j: known[j].area for j in terms}
    twice = dict.fromkeys(terms, 0)
    alike = len(set(weights.values())) == 1  # Whole numbers are compared faster than fractions.
    waiting: list[tuple[Fraction | int, int]] = []
    now = at = 0
    while at < len(coming) or waiting:
        if not waiting:
            now = max(now, coming[at][0])
        while at < len(coming) and coming[at][0] <= now:
            j = coming[at][1]
            heappush(waiting, (known[j].area if alike else -weights[j] / known[j].area, j))
            at += 1
        _, j = waiting[0]
        until = coming[at][0] if at < len(coming) else now + remaining[j]
        done = min(remaining[j], until - now)
        twice[j] += done * (2 * now + done)
        remaining[j] -= done
        now += done
        if remaining[j] == 0:
            heappop(waiting)
    # Twice the sum, in N-ths of a slot: whole but for jobs that were done in parts.
    whole, rest = 0, Fraction(0)
    for j in terms:
        quotient, left = divmod(twice[j], known[j].area)
        count, divisor = (quotient + speed * known[j].span), weights[j].denominator
        if divisor == 1:
            whole += weights[j].numerator * count
        else:
            rest += weights[j] * count
        if left:
            rest += weights[j] * Fraction(left, known[j].area)
    return (whole + rest) / (2 * speed)


def earliest_due_sets(
    instance: Instance, objective: Objective, machine: Machine | None = None
) -> Value | None:
    """Sums of tardiness: of the jobs due first, all count as tardy, and the others as alone.

    A tardiness is at least `T − d`, also where that is below 0, so the two bounds above hold for
    the jobs of any set; and the rest of them is at least what `jobs_alone` says.
    """
    if not _tardy(instance, objective):
        return None
    machine = machine or all_gpus(instance)
    return max([0, *(value for *_, value in _due_sets(instance, objective, machine))])


def _tardy(instance: Instance, objective: Objective) -> bool:
    """Whether an objective is the sum of slots past due slots."""
    terms = counted(instance, objective)
    summed = objective.of_completions and not objective.greatest
    return summed and bool(terms) and all(t.shape is Shape.TARDY for t in terms.values())


def _due_sets(
    instance: Instance, objective: Objective, machine: Machine
) -> Iterator[tuple[list[int], Rule, Fraction, Value]]:
    """Sets of the jobs due first: how the machine does them, their completions, and the bound."""
    terms = counted(instance, objective)
    ends = [work.head + work.slots for work in works(instance)]
    alone = {j: term.at(ends[j]) for j, term in terms.items()}
    others = sum((Fraction(alone[j]) for j in terms if j not in machine.works), Fraction(0))
    order = sorted((j for j in terms if j in machine.works), key=lambda j: terms[j].offset)
    step = max(1, len(order) ** 2 // MOST_WORK)
    for number in range(len(order), 0, -step):
        some = {j: terms[j] for j in order[:number]}
        rest = sum((Fraction(alone[j]) for j in order[number:]), others)
        found: list[tuple[Rule, Fraction]] = [("heaviest-first", sum_by_busy_time(machine, some))]
        if len({_weight(term) for term in some.values()}) == 1:
            weight = _weight(next(iter(some.values())))
            found.append(("shortest-first", weight * sum_by_remaining_area(machine, some)))
        for rule, completions in found:
            value = exact(Fraction(_with_offsets(some, completions)) + rest)
            yield order[:number], rule, completions, value


def of_earliest_due(
    instance: Instance, objective: Objective, value: Value, machine: Machine | None = None
) -> EachJob | OneMachine | None:
    """The set of jobs due first that proves a value."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    machine = machine or all_gpus(instance)
    return next(
        (
            on_machine(instance, rule, some, completions, machine)
            for some, rule, completions, proven in _due_sets(instance, objective, machine)
            if proven >= value
        ),
        None,
    )


def intervals_overfull(
    instance: Instance, objective: Objective, machine: Machine | None = None
) -> Value | None:
    """The greatest of terms: from a slot on, jobs that come later need time for their area.

    For a value λ each job must complete by the last slot at which its term is at most λ. Jobs with
    a head of at least a, of which all must complete by b, need `N·(b − a)` of area: if they have
    more, λ is too small. Then the value is at least the next one that some term can have.
    """
    terms = counted(instance, objective)
    if not objective.greatest or not terms or objective is MAKESPAN:
        return None
    speed, of_jobs, _ = machine or all_gpus(instance)
    known = [of_jobs[j] for j in terms if j in of_jobs]
    begins = sorted({work.head for work in known})
    begins = begins[:: max(1, len(begins) * len(known) // MOST_WORK)]

    def refuted(value: Value) -> bool:
        latest = ((terms[work.job].latest(value), work) for work in known)
        by_end = sorted(((end, work.head, work.area) for end, work in latest if end is not None))
        for begin in begins:
            area = 0
            for end, head, one in by_end:
                if head >= begin:
                    area += one
                    if area > speed * (end - begin):
                        return True
        return False

    return least_not_refuted(instance, objective, refuted)


def least_not_refuted(
    instance: Instance, objective: Objective, refuted: Callable[[Value], bool]
) -> Value:
    """The least value that a greatest term can have, and that is not refuted, by bisection.

    Parameters
    ----------
    instance, objective
        The problem.
    refuted
        Whether no schedule has at most a value. If it says so of a value, that is also true of all
        smaller ones.
    """
    terms = counted(instance, objective)
    low = jobs_alone(instance, objective)
    value = Fraction(low if low is not None else 0)
    if not refuted(value):
        return exact(value)
    step = Fraction(1)
    horizon = horizon_of(instance)  # Some best schedule ends by then, if there is any.
    most = max(term.at(horizon) for term in terms.values())
    while value < most and refuted(value + step):
        value += step
        step *= 2
    finest = Fraction(1, max(term.divisor for term in terms.values()))
    while step > finest:
        step /= 2
        if refuted(value + step):
            value += step
    return next_value(terms.values(), value)


def next_value(terms: Iterable[Term], value: Fraction) -> Value:
    """The least value above another that some term can have."""
    above = (_next_value(term, value) for term in terms)
    return exact(min(found for found in above if found is not None))


def _next_value(term: Term, value: Fraction) -> Fraction | None:
    """The least value above another that a term can have."""
    unit = _weight(term)
    if term.shape is Shape.LATE:
        return unit if value < unit else None
    return (value // unit + 1) * unit


def late_by_area(
    instance: Instance, objective: Objective, machine: Machine | None = None
) -> Value | None:
    """Sums of late jobs: in an interval there is only so much room for jobs that are on time.

    Of the jobs with a head of at least a that are due by b, those on time have at most `N·(b − a)`
    of area. The least weight that must then be late is at least that of the linear knapsack:
    those of the least weight by area are late first, and the last of them in part. Jobs that are
    late even alone count in full, and take no room.
    """
    terms = counted(instance, objective)
    if objective.greatest or not terms:
        return None
    if any(term.shape is not Shape.LATE for term in terms.values()):
        return None
    speed, of_jobs, _ = machine or all_gpus(instance)
    known = [works(instance)[j] for j in terms]
    lost = {w.job for w in known if terms[w.job].at(w.head + w.slots)}
    base = sum((_weight(terms[j]) for j in terms if j in lost), Fraction(0))
    open_jobs = sorted(
        (of_jobs[j] for j in terms if j in of_jobs and j not in lost),
        key=lambda work: _weight(terms[work.job]) / work.area,
    )
    begins = sorted({work.head for work in open_jobs})
    ends = sorted({terms[work.job].offset for work in open_jobs})
    thinner = max(1, len(begins) * len(ends) * len(open_jobs) // MOST_WORK)
    most = Fraction(0)
    for begin in begins[::thinner]:
        for end in ends:
            inside = [w for w in open_jobs if w.head >= begin and terms[w.job].offset <= end]
            excess = sum(work.area for work in inside) - speed * (end - begin)
            late = Fraction(0)
            for work in inside:
                if excess <= 0:
                    break
                part = min(work.area, excess)
                late += _weight(terms[work.job]) * Fraction(part, work.area)
                excess -= part
            most = max(most, late)
    whole = all(term.divisor == 1 for term in terms.values())
    return exact(base + (ceil(most) if whole else most))


def linear_terms(instance: Instance, objective: Objective) -> dict[int, Term] | None:
    """By job, the terms of a sum that grow evenly with their completions; None if it has others."""
    terms: Sequence[Term | None] = objective.terms(instance)
    if objective.greatest or not terms:
        return None
    if any(term is None or term.shape is not Shape.LINEAR for term in terms):
        return None
    return {j: term for j, term in enumerate(terms) if term is not None}


def _on_machine(
    instance: Instance, terms: dict[int, Term] | None, machine: Machine
) -> tuple[dict[int, Term], Fraction]:
    """The terms of the jobs that use a machine, and the sum of what the others are worth alone."""
    if terms is None:
        return {}, Fraction(0)
    alone = Fraction(0)
    for j, term in terms.items():
        if j not in machine.works:
            work = works(instance)[j]
            alone += Fraction(term.at(work.head + work.slots))
    return {j: term for j, term in terms.items() if j in machine.works}, alone


def _together(some: Value, others: Fraction) -> Value:
    return exact(Fraction(some) + others) if others else some


def _weight(term: Term) -> Fraction:
    return Fraction(term.weight, term.divisor)


def _with_offsets(terms: dict[int, Term], completions: Fraction) -> Value:
    """A sum of terms from the weighted sum of completions; whole where all terms are."""
    value = completions - sum((_weight(t) * t.offset for t in terms.values()), Fraction(0))
    return ceil(value) if all(term.divisor == 1 for term in terms.values()) else exact(value)


of_shortest_first = of_machine(
    "shortest-first",
    lambda machine, terms: (
        sum_by_remaining_area(machine, terms) * _weight(next(iter(terms.values())))
    ),
)
of_mean_busy_times = of_machine("heaviest-first", sum_by_busy_time)


JOBS_ALONE = Bound(
    "each job alone",
    "each job completes no earlier than its earliest start plus its least time",
    jobs_alone,
    handles=ALWAYS,
    rank=10,
    certify=of_jobs_alone,
)
OVERFULL_INTERVALS = Bound(
    "overfull intervals",
    "jobs that must run between two slots need room for their area",
    intervals_overfull,
    handles=ALWAYS,
    rank=12,
    certify=of_overfull,
)
SHORTEST_REMAINING_AREA = Bound(
    "shortest remaining area",
    "one machine as fast as all GPUs together completes the smallest jobs first",
    shortest_first,
    handles=ALWAYS,
    rank=13,
    certify=of_shortest_first,
)
MEAN_BUSY_TIMES = Bound(
    "mean busy times",
    "the same machine, with weights",
    mean_busy_times,
    handles=ALWAYS,
    rank=14,
    certify=of_mean_busy_times,
)
EARLIEST_DUE_JOBS = Bound(
    "earliest due jobs",
    "the same machine, for the jobs that are due first",
    earliest_due_sets,
    handles=ALWAYS,
    rank=15,
    certify=of_earliest_due,
)
ROOM_BEFORE_DUE_SLOTS = Bound(
    "room before due slots",
    "jobs on time need room for their area",
    late_by_area,
    handles=ALWAYS,
    rank=16,
    certify=of_late_jobs,
)
