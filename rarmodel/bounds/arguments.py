"""Arguments of certificates for the bounds that look at jobs, areas and one machine.

Each function gives what proves that no schedule is below a value, as `rarmodel.checker` reads it;
None if its bound does not prove that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import ceil, lcm
from typing import Any, Literal, Protocol

from rarmodel.model.objectives import Objective, Shape, Term, Value, exact
from rarmodel.schema import Instance
from rarmodel.schema.certificate import (
    EachJob,
    GpuPrices,
    OneMachine,
    PricedServers,
    Rounded,
    Shared,
)

from .least_demands import Machine, Work, all_gpus, works

MOST_WORK = 100_000
"""Jobs times intervals, or jobs times sets of jobs, that a bound looks at."""
Rule = Literal["shortest-first", "heaviest-first"]
"""Which job the machine goes on with."""


class CertifyOnMachine(Protocol):
    """A function that gives what one machine proves."""

    def __call__(
        self,
        instance: Instance,
        objective: Objective,
        value: Value,
        machine: Machine | None = None,
        /,
    ) -> EachJob | GpuPrices | OneMachine | None:
        """As `Bound.certify`; by default the machine is all GPUs."""


def in_file(value: Value) -> int | str:
    """A value as a file has it."""
    return int(value) if value.denominator == 1 else str(value)


def value_below(terms: Iterable[Term], value: Value) -> Value | None:
    """The greatest value below another that some term can have; None if none has any."""
    found = []
    for term in terms:
        unit = Fraction(term.weight, term.divisor)
        if term.shape is Shape.LATE:
            below = unit if value > unit else Fraction(0)
        else:
            below = (ceil(value / unit) - 1) * unit
        if below < value and (below >= 0 or term.shape is Shape.LINEAR):
            found.append(below)
    return exact(max(found)) if found else None


def counted(instance: Instance, objective: Objective) -> dict[int, Term]:
    """By job, the terms of those that count."""
    return {j: term for j, term in enumerate(objective.terms(instance)) if term is not None}


def of_jobs_alone(instance: Instance, objective: Objective, value: Value) -> EachJob | None:
    """Each job completes no earlier than alone; where the greatest counts, one job is enough."""
    if not objective.of_completions:
        return None
    terms = counted(instance, objective)
    ends = {j: work.head + work.slots for j, work in enumerate(works(instance)) if j in terms}
    values = {j: term.at(ends[j]) for j, term in terms.items()}
    if objective.greatest:
        last = max(values, key=lambda j: values[j], default=None)
        if (0 if last is None else values[last]) < value:
            return None
        ends = {} if last is None else {last: ends[last]}
    elif sum(values.values()) < value:
        return None
    return of_each_job(instance, ends)


def of_each_job(instance: Instance, least: Mapping[int, Value]) -> EachJob:
    """What each job needs at least, whatever the others do."""
    named = {instance.jobs[j].name: in_file(value) for j, value in least.items()}
    return EachJob(kind="each-job", least=named)


def of_interval(
    instance: Instance,
    below: Value,
    begin: int,
    end: int,
    least: Mapping[int, int],
    room: int,
    *,
    rounded: tuple[Literal["gpus", "slots"], int] | None = None,
    of: Shared | None = None,
) -> GpuPrices | None:
    """Jobs that must run from one slot to another need more than there is room for.

    Parameters
    ----------
    instance
        The problem.
    below
        The value that is refuted.
    begin, end
        The slots: GPUs, or what is shared, have the price 1 there.
    least
        The area that jobs need in between, by index.
    room
        The area that there is.
    rounded
        Which numbers count as more than they are, and the threshold for that.
    of
        What jobs share instead of GPUs.
    """
    if begin >= end or sum(least.values()) <= room:
        return None
    how: dict[str, Any] = shared(of)
    if rounded is not None:
        how["rounded"] = Rounded(what=rounded[0], threshold=rounded[1])
    return GpuPrices(
        kind="prices",
        below=in_file(below),
        edges=(begin, end),
        kinds=(PricedServers(prices=(1,)),),
        least={instance.jobs[j].name: area for j, area in least.items() if area},
        room=room,
        **how,
    )


def of_area(instance: Instance, objective: Objective, value: Value) -> EachJob | GpuPrices | None:
    """The jobs that need their area from some slot on; or the longest job."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    speed = all_gpus(instance).speed
    return of_late_area(instance, works(instance), value, lambda begin, end: speed * (end - begin))


def of_late_area(
    instance: Instance,
    some: Iterable[Work],
    value: Value,
    room: Callable[[int, int], int | None],
    of: Shared | None = None,
) -> GpuPrices | None:
    """The jobs that cannot start before a slot, and need more area than there is until the end.

    `room` says how much there is from a slot to another; None if there is no limit.
    """
    below = int(value) - 1
    late, area = dict[int, int](), 0
    for work in sorted(some, key=lambda work: -work.head):
        area += work.area
        late[work.job] = work.area
        if below > work.head:
            most = room(work.head, below)
            if most is not None and area > most:
                return of_interval(instance, below, work.head, below, late, most, of=of)
    return None


def of_overfull(
    instance: Instance, objective: Objective, value: Value, machine: Machine | None = None
) -> EachJob | GpuPrices | None:
    """The jobs that have too little room between two slots, if no term is above a value."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    terms = counted(instance, objective)
    below = value_below(terms.values(), value)
    if below is None:
        return None
    speed, of_jobs, of = machine or all_gpus(instance)
    latest = [(terms[j].latest(below), work) for j, work in of_jobs.items() if j in terms]
    known = sorted(((end, work) for end, work in latest if end is not None), key=lambda one: one[0])
    begins = sorted({work.head for _, work in known})
    for begin in begins[:: max(1, len(begins) * len(known) // MOST_WORK)]:
        area, inside = 0, dict[int, int]()
        for end, work in known:
            if work.head >= begin:
                area += work.area
                inside[work.job] = work.area
                room = speed * (end - begin)
                if area > room:
                    return of_interval(instance, below, begin, end, inside, room, of=of)
    return None


def of_late_jobs(
    instance: Instance, objective: Objective, value: Value, machine: Machine | None = None
) -> EachJob | GpuPrices | None:
    """A price between two slots at which jobs are on time or late, whichever costs less."""
    if (alone := of_jobs_alone(instance, objective, value)) is not None:
        return alone
    terms = counted(instance, objective)
    weights = {j: Fraction(term.weight, term.divisor) for j, term in terms.items()}
    speed, of_jobs, of = machine or all_gpus(instance)
    ends = [work.head + work.slots for work in works(instance)]
    lost = {j for j, term in terms.items() if term.at(ends[j])}
    waiting = [work for j, work in of_jobs.items() if j in terms and j not in lost]
    by_weight = sorted(waiting, key=lambda work: weights[work.job] / work.area)
    divisor = lcm(*(term.divisor for term in terms.values()))
    begins = sorted({work.head for work in waiting})
    ends = sorted({terms[work.job].offset for work in waiting})
    thinner = max(1, len(begins) * len(ends) * len(waiting) // MOST_WORK)
    for begin in begins[::thinner]:
        for end in ends:
            inside = [w for w in by_weight if w.head >= begin and terms[w.job].offset <= end]
            room = speed * (end - begin)
            excess = sum(work.area for work in inside) - room
            last = None
            for work in inside:
                if excess > 0:
                    last, excess = work, excess - work.area
            if last is None:
                continue
            scale = divisor * last.area
            price = int(weights[last.job] * divisor)
            least = {j: int(scale * weights[j]) for j in terms if j in lost}
            for work in inside:
                least[work.job] = min(int(scale * weights[work.job]), price * work.area)
            proven = Fraction(sum(least.values()) - price * room, scale)
            if (ceil(proven) if divisor == 1 else proven) >= value:
                return GpuPrices(
                    kind="prices",
                    edges=(begin, end),
                    kinds=(PricedServers(prices=(price,)),),
                    scale=scale,
                    least={instance.jobs[j].name: paid for j, paid in least.items()},
                    room=price * room,
                    **shared(of),
                )
    return None


def of_machine(
    rule: Rule,
    completions: Callable[[Machine, dict[int, Term]], Fraction],
) -> CertifyOnMachine:
    """A bound on sums of completions on one machine; see `on_machine`."""

    def certify(
        instance: Instance, objective: Objective, value: Value, machine: Machine | None = None
    ) -> EachJob | OneMachine | None:
        if (alone := of_jobs_alone(instance, objective, value)) is not None:
            return alone
        machine = machine or all_gpus(instance)
        counts = counted(instance, objective)
        terms = {j: term for j, term in counts.items() if j in machine.works}
        return on_machine(instance, rule, terms, completions(machine, terms), machine)

    return certify


def on_machine(
    instance: Instance,
    rule: Rule,
    some: Iterable[int],
    completions: Fraction,
    machine: Machine,
) -> OneMachine:
    """The sum of completions of some jobs, by weight, on one machine; the others are alone."""
    names = tuple(instance.jobs[j].name for j in some)
    total = in_file(exact(completions))
    return OneMachine(
        kind="one-machine", rule=rule, jobs=names, completions=total, **shared(machine.of)
    )


def shared(of: Shared | None) -> dict[str, Any]:
    """The field that names what jobs share; none for GPUs, so that the file does not have it."""
    return {} if of is None else {"of": of}
