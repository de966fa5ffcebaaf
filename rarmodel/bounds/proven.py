"""All bounds, built in or of others: what they prove of an instance, and the best of that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, inf
from time import perf_counter
from typing import Any, NamedTuple

from rarmodel import registry
from rarmodel.counting import counted, nouns
from rarmodel.errors import VerificationError, listed
from rarmodel.model import horizon_of, never_complete, too_short
from rarmodel.model.caching import once_per_instance
from rarmodel.model.objectives import MAKESPAN, Objective, Value, objectives_of
from rarmodel.model.services import why_unanswerable
from rarmodel.schema import Instance
from rarmodel.schema.certificate import Argument, EachJob, GpuPrices, LastJob
from rarmodel.verifier import Report

from .arguments import of_each_job, of_jobs_alone
from .bound import (
    ALWAYS,
    CHECKED_PROOF,
    ENUMERATION,
    PROOF,
    Bound,
    LowerBound,
    ValueBound,
)
from .cheapest_replicas import least_cost_of_services
from .least_demands import works

EARLIEST = "earliest completions"
"""Name of the bound by which no job completes before it can."""


def bounds() -> list[Bound]:
    """All bounds, by rank."""
    return sorted(registry.parts("bounds"), key=lambda bound: (bound.rank, bound.name))


@once_per_instance
def _proofs(_: Instance) -> dict[tuple[Bound, Objective], Value | None]:
    """What is proven of an instance, by bound and objective."""
    return {}


def _value(bound: Bound, instance: Instance, objective: Objective) -> Value | None:
    """What a bound proves in milliseconds; None if nothing, or if it does not hold."""
    if bound.prove is None:
        return None
    if instance.services:
        return _beside_services(bound, instance, objective)
    proofs, key = _proofs(instance), (bound, objective)
    if key not in proofs:
        holds = _supports(bound, instance, objective)
        proofs[key] = _checked(bound, bound.prove, instance, objective) if holds else None
    return proofs[key]


@once_per_instance
def without_services(instance: Instance) -> Instance:
    """The instance with its jobs alone."""
    return instance.model_copy(update={"services": ()})


def _beside_services(bound: Bound, instance: Instance, objective: Objective) -> Value | None:
    """What a bound proves of the jobs alone, and what services cost at least beside them.

    Replicas leave jobs fewer GPUs, and hold GPUs or slices of their own.
    """
    of_jobs = _value(bound, without_services(instance), objective)
    return None if of_jobs is None else of_jobs + least_cost_of_services(instance, objective)


def _supports(bound: Bound, instance: Instance, objective: Objective) -> bool:
    with registry.calling("bounds", bound):
        return bound.supports(instance, objective)


def _checked(bound: Bound, prove: Callable[..., Value | None], *arguments: Any) -> Value | None:
    """The value that a bound returns, which may be anything: it may be a user's."""
    with registry.calling("bounds", bound):
        value: object = prove(*arguments)
    if value is None or (isinstance(value, int | Fraction) and not isinstance(value, bool)):
        return value
    raise registry.nonsense("bounds", bound, value, "a whole number, a fraction or None")


def _proven(
    instance: Instance, objective: Objective, *, of_limit: bool = False
) -> Iterator[ValueBound]:
    for bound in bounds():
        if bound.of_limit or not of_limit:
            value = _value(bound, instance, objective)
            if value is not None:
                yield ValueBound(value, bound.name)


def objective_bounds(instance: Instance, objective: Objective) -> tuple[ValueBound, ...]:
    """What is proven about an objective in milliseconds; `slow_bounds` can prove more."""
    return tuple(_proven(instance, objective))


def objective_bound(instance: Instance, objective: Objective) -> ValueBound | None:
    """The greatest of `objective_bounds`, of equal ones the first; None if there is none."""
    return max(objective_bounds(instance, objective), key=lambda one: one.value, default=None)


def all_bounds(instance: Instance) -> tuple[LowerBound, ...]:
    """The same of the makespan, in slots."""
    found = objective_bounds(instance, MAKESPAN)
    return tuple(LowerBound(ceil(bound.value), bound.name) for bound in found)


def best_bound(instance: Instance) -> LowerBound:
    """The greatest of `all_bounds`; of equal bounds the first."""
    return max(all_bounds(instance), key=lambda bound: bound.slots, default=LowerBound(1, "a job"))


def limit_bound(instance: Instance) -> LowerBound:
    """The greatest of the bounds that also hold for the limit θ_u on the work of each GPU.

    These bounds look at single GPUs, as (14)–(16) do. A limit concerns estimates only: it ignores
    that a job runs on all its GPUs at once, and it ignores contention.
    """
    bound = max(_proven(instance, MAKESPAN, of_limit=True), key=lambda bound: bound.value)
    return LowerBound(ceil(bound.value), bound.name)


def slow_bounds(instance: Instance, objective: Objective) -> list[Bound]:
    """Bounds that take seconds, and may prove more; see `tightened`."""
    return [one for one in bounds() if one.tighten and _supports(one, instance, objective)]


def tightened(
    bound: Bound,
    instance: Instance,
    objective: Objective,
    known: Value,
    upper: Value | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> ValueBound | None:
    """What a slow bound proves above what is known; None if nothing. See `Bound.tighten`."""
    if bound.tighten is None:
        return None
    value = _checked(bound, bound.tighten, instance, objective, known, upper, stop)
    return None if value is None or value <= known else ValueBound(value, bound.name)


def raised_slowly(
    instance: Instance,
    known: LowerBound,
    slow: list[Bound],
    upper: int | None = None,
    seconds: float = inf,
) -> LowerBound:
    """The greatest of a bound on the makespan and what slow bounds prove in some time.

    Parameters
    ----------
    instance, known, upper
        As above.
    slow
        The bounds; those that finish are taken off the list.
    seconds
        Time for all of them.
    """
    begun = perf_counter()
    over = False

    def stop() -> bool:
        nonlocal over
        over = perf_counter() - begun > seconds
        return over

    while slow and not over:
        found = tightened(slow[0], instance, MAKESPAN, known.slots, upper, stop)
        if found is not None:
            known = LowerBound(ceil(found.value), found.name)
        if not over:
            del slow[0]
    return known


def require_true(
    instance: Instance, report: Report, *others: LowerBound, aim: ValueBound | None = None
) -> None:
    """Refuse bounds that a verified schedule refutes.

    Parameters
    ----------
    instance, report
        The problem, and the verifier's report on a feasible schedule.
    others
        Bounds on the makespan that slow bounds or methods have proven.
    aim
        The same on the first objective.

    Raises
    ------
    VerificationError
        If a bound, proven in milliseconds or among the others, is above the schedule's value.
    """
    values = {MAKESPAN.name: report.makespan} | dict(report.objective or {})
    for one in {one.name: one for one in (MAKESPAN, *objectives_of(instance))}.values():
        found = objective_bounds(instance, one)
        if one is MAKESPAN:
            found = (*found, *(ValueBound(*other) for other in others))
        if aim is not None and one.name == instance.objectives[0]:
            found = (*found, aim)
        value = values.get(one.name)
        for bound in found:
            if value is not None and bound.value > value:
                raise VerificationError(
                    f"bound {bound.name!r} is false: it says that {one.name} is at least "
                    f"{bound.value}, and a verified schedule has {value}"
                )


class Impossible(NamedTuple):
    """Why there is no schedule.

    Attributes
    ----------
    stopped
        In few words.
    reasons
        The jobs and what keeps them from it, as lines.
    """

    stopped: str
    reasons: tuple[str, ...]


def impossible(instance: Instance, bound: LowerBound | None = None) -> Impossible | None:
    """Why there is no schedule, as far as nothing need be solved for that; None if there may be.

    Parameters
    ----------
    instance
        The problem.
    bound
        The best known bound; by default the best that needs no search.
    """
    if reasons := never_complete(instance):
        return Impossible("a job can never complete", reasons)
    if reasons := why_unanswerable(instance):
        return Impossible("a service can never answer as asked", reasons)
    bound = bound or best_bound(instance)
    if bound.slots > horizon_of(instance):
        return Impossible("the lower bound exceeds the horizon", why_infeasible(instance, bound))
    if reasons := too_short(instance):
        return Impossible("a job takes longer than its deadline allows", reasons)
    return None


def why_infeasible(instance: Instance, bound: LowerBound) -> tuple[str, ...]:
    """Why no schedule meets the horizon, as lines, if one of these bounds exceeds it."""
    horizon = horizon_of(instance)
    if bound.name == "longest job":
        needs = zip(instance.jobs, works(instance), strict=True)
        long = [job.name for job, work in needs if work.head + work.slots > horizon]
        of = "the horizon of" if instance.time.horizon is not None else "any schedule,"
        jobs = f"{nouns(len(long), 'job')} {listed(long)}"
        return (f"longer than {of} {counted(horizon, 'slot')} even alone: {jobs}",)
    need = f"all jobs together need at least {counted(bound.slots, 'slot')} of the whole cluster"
    if bound.name in {ENUMERATION, PROOF, CHECKED_PROOF}:
        need = f"of all schedules none ends before slot {bound.slots}"
    if instance.time.horizon is None:
        return (f"{need} ({bound.name}); {horizon} are enough for any schedule that there is",)
    return (f"{need} ({bound.name}); the horizon is {horizon}",)


def value_bounds(instance: Instance) -> tuple[ValueBound, ...]:
    """The best quick bound on each objective, the most important first.

    Where none holds: no job completes before its earliest start plus its least execution time, and
    no term of an objective falls with a completion. Prices and link weights are not below 0.
    """
    found = []
    for one in objectives_of(instance):
        proven = objective_bound(instance, one)
        if proven is None:
            soonest = [work.head + work.slots for work in works(instance)]
            least = one.value(instance, soonest) if one.of_completions else 0
            proven = ValueBound(least + least_cost_of_services(instance, one), EARLIEST)
        found.append(proven)
    return tuple(found)


def least_values(instance: Instance) -> tuple[Value, ...]:
    """What each objective is worth at least, the most important first: see `value_bounds`."""
    return tuple(bound.value for bound in value_bounds(instance))


def with_makespan(
    instance: Instance, bounds: Sequence[ValueBound], makespan: LowerBound
) -> tuple[ValueBound, ...]:
    """Bounds on the objectives, where one on the makespan is known: it holds at any place."""
    return tuple(
        _greater(bound, ValueBound(*makespan)) if one is MAKESPAN else bound
        for one, bound in zip(objectives_of(instance), bounds, strict=True)
    )


def with_aim(bounds: Sequence[ValueBound], aim: ValueBound | None) -> tuple[ValueBound, ...]:
    """Bounds on the objectives, where one more on the first is known."""
    first, *others = bounds
    return (first if aim is None else _greater(first, aim), *others)


def _greater(one: ValueBound, other: ValueBound) -> ValueBound:
    """The greater of two bounds; of equal ones the first."""
    return max(one, other, key=lambda bound: bound.value)


def last_job(instance: Instance, objective: Objective) -> Value | None:
    """Some job completes no earlier than the bound on the makespan, and its term counts."""
    terms = objective.terms(instance)
    if not objective.greatest or not terms or objective is MAKESPAN:
        return None
    slots = best_bound(instance).slots
    values = [term.at(slots) for term in terms if term is not None]
    return min(values) if len(values) == len(terms) else None


def _of_last_job(instance: Instance, objective: Objective, value: Value) -> Argument | None:
    """The argument of the bound on the makespan, if that proves the value."""
    bound = best_bound(instance)
    proven = last_job(instance, objective)
    if proven is None or proven < value:
        return None
    argument = certified(instance, MAKESPAN, ValueBound(*bound))
    if argument is None:
        return None
    return LastJob(kind="last-job", makespan=bound.slots, argument=argument)


def certified(instance: Instance, objective: Objective, bound: ValueBound) -> Argument | None:
    """What proves a bound, in numbers that another program can check; None if nothing does.

    The bound of this name is asked first, then the others that prove as much.
    """
    if bound.name == EARLIEST and not objective.of_completions:
        return of_each_job(instance, {})
    known = [one for one in bounds() if one.certify and _supports(one, instance, objective)]
    for one in sorted(known, key=lambda one: one.name != bound.name):
        if one.name != bound.name:
            value = _value(one, instance, objective)
            if value is None or value < bound.value:
                continue
        with registry.calling("bounds", one):
            argument = one.certify(instance, objective, bound.value)  # type: ignore[misc]
        if argument is not None:
            return argument
    return of_jobs_alone(instance, objective, bound.value)


def jobs_behind(instance: Instance, objective: Objective, bound: ValueBound) -> tuple[str, ...]:
    """Names of the jobs that make a bound, those that add most first; none if all jobs do."""
    argument = certified(instance, objective, bound)
    if isinstance(argument, LastJob):
        argument = argument.argument
    if not isinstance(argument, EachJob | GpuPrices):
        return ()
    amounts = {name: Fraction(least) for name, least in argument.least.items() if least}
    names = sorted(amounts, key=lambda name: -amounts[name])
    return tuple(names) if len(names) < len(instance.jobs) else ()


LAST_JOB = Bound(
    "makespan",
    "some job completes no earlier than the bound on the makespan",
    last_job,
    handles=ALWAYS,
    rank=11,
    certify=_of_last_job,
)
