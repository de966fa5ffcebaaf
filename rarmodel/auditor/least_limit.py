"""The least limit θ*_u of (14)–(16): the number itself, or a range that it lies in."""

from __future__ import annotations

import math
from typing import NamedTuple

from rarmodel.bounds import limit_bound
from rarmodel.errors import UsageError
from rarmodel.formulations import Scope
from rarmodel.formulations.busy_time import BUSY_TIME, busiest_gpu, simple_bounds
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.model import job_extremes, topology
from rarmodel.schema import Instance
from rarmodel.solvers import Solver, first_answer

from .claims import Range


class LeastLimit(NamedTuple):
    """The least limit, and why it is not known any better.

    Attributes
    ----------
    slots
        θ*_u, from a proven lower bound to what some way to share jobs out has.
    stopped
        Why the search ended, in words.
    """

    slots: Range
    stopped: str


def least_limit(instance: Instance, solvers: list[Solver], limits: Limits) -> LeastLimit:
    """θ*_u, by simple bounds if these meet, and else by `busy-time` within the time limit.

    No solver's word is taken for a way to share jobs out: its busiest GPU is found from who serves
    whom. Of its bounds, one that exceeds that is ignored.
    """
    extremes = job_extremes(instance)
    # With all jobs on the same GPUs a limit of this many slots is kept, so there always is one.
    enough = sum(extreme.least_slots for extreme in extremes)
    scope = Scope(instance, topology(instance.cluster), extremes, enough, 0)
    low, high = simple_bounds(scope)
    low = max(low, limit_bound(instance).slots)
    if low == high:
        return LeastLimit(Range(low, high), "simple bounds meet")
    if unfit := BUSY_TIME.unfit(scope):
        return LeastLimit(Range(low, high), unfit)
    model = BUSY_TIME.build(scope)
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
