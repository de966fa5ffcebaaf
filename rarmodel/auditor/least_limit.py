"""The least limit θ*_u of (14)–(16), or a range in which it lies."""

from __future__ import annotations

import math
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

from rarmodel.bounds import limit_bound
from rarmodel.errors import UsageError
from rarmodel.formulations import Scope
from rarmodel.formulations.busy_time import BUSY_TIME, busiest_gpu
from rarmodel.formulations.shared_out import simple_bounds
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits
from rarmodel.model import job_extremes, topology
from rarmodel.schema import Instance
from rarmodel.solvers import Solver, first_answer

from .claims import Range


class LeastLimit(NamedTuple):
    """The least limit, and why the solve ended.

    Attributes
    ----------
    slots
        θ*_u, from a proven lower bound to the limit of a known way to share the jobs out.
    stopped
        Why the search ended, in words.
    """

    slots: Range
    stopped: str


def least_limit(instance: Instance, solvers: list[Solver], limits: Limits) -> LeastLimit:
    """θ*_u: by simple bounds if they meet, otherwise by `busy-time` within the time limit.

    The limit of a solver's solution is recomputed from the jobs on each GPU. A solver's bound above
    this limit is ignored.
    """
    extremes = job_extremes(instance)
    # With all jobs on the same GPUs a limit of this many slots is kept, so there always is one.
    enough = sum(extreme.least_slots for extreme in extremes)
    scope = Scope(instance, topology(instance.cluster), extremes, enough, 0)
    deadline = perf_counter() + (math.inf if limits.time_limit is None else limits.time_limit)
    low, high = simple_bounds(scope, lambda: perf_counter() >= deadline)
    low = max(low, limit_bound(instance).slots)
    if low == high:
        return LeastLimit(Range(low, high), "simple bounds meet")
    if perf_counter() >= deadline:
        return LeastLimit(Range(low, high), TIME_LIMIT)
    if unfit := BUSY_TIME.unfit(scope):
        return LeastLimit(Range(low, high), unfit)
    model = BUSY_TIME.build(scope)
    left = deadline - perf_counter()
    if left <= 0:
        return LeastLimit(Range(low, high), TIME_LIMIT)
    if limits.time_limit is not None:
        limits = replace(limits, time_limit=left)
    try:
        answer = first_answer(solvers, model, limits)
    except UsageError as error:
        return LeastLimit(Range(low, high), str(error))
    except KeyboardInterrupt:
        return LeastLimit(Range(low, high), INTERRUPTED)
    found = busiest_gpu(model, scope) if answer.has_solution else None
    high = high if found is None else min(high, found)
    if answer.bound is not None:
        # A limit is whole, so a bound of 7.2 means 8; noise must not make 8 of 7.0000001.
        bound = math.ceil(answer.bound - 1e-6 * max(1.0, abs(answer.bound)))
        low = max(low, bound) if bound <= high else low
    return LeastLimit(
        Range(low, high), INTERRUPTED if answer.termination == INTERRUPTED else answer.message
    )
