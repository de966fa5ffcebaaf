"""Search over orders of jobs for your own objectives and constraints.

`search` knows the objectives of the model. Here a list schedule is made of each order, and the
formulation judges the schedule, some hundred per second. The changes are those of `search`. What is
kept is decided by late acceptance, as values of a formulation have no scale for a temperature: a
change that is no worse than the current order some trials ago (E. Burke, Y. Bykov, "The late
acceptance hill-climbing heuristic", European Journal of Operational Research 258, 2017).
"""

from __future__ import annotations

from math import inf
from time import perf_counter

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.objective_arrays import objective_arrays
from rarmodel.lists.order_annealing import OrderAnnealing
from rarmodel.lists.order_moves import CURRENT, Numbers
from rarmodel.model import horizon_of, job_extremes
from rarmodel.model.objectives import Value
from rarmodel.schema import Instance

from .admission import ModelNeeded
from .known import Known

HISTORY = 20
"""Number of trials between a change and the value with which it is compared."""
NUMBERS = Numbers(most_changes=1, delay_share=0.1, near_share=0.0, hurry_share=0.0)


def search_orders(known: Known, deadline: float) -> int:
    """Look for better schedules until a reading of `perf_counter`, or until the gap is closed.

    The search starts from the order of starts in the best schedule, and from shortest jobs first.

    Returns
    -------
    int
        Number of orders tried; 0 if only the model can judge a schedule.
    """
    if getattr(known.formulation, "evaluate", None) is None or known.unjudged:
        return 0
    orders = _orders_of(known.instance, known.limits.seed)
    lists, starts = orders.lists, []
    for order in _first(known):
        orders.begin(order, 0)
        starts.append((_value(known, lists, made=orders.decode(CURRENT)), order))
    value, order = min(starts, key=lambda start: start[0])
    orders.begin(order, 0)
    orders.decode(CURRENT)
    recent, trials = [value] * HISTORY, len(starts)
    while perf_counter() < deadline and not known.closed:
        found = _value(known, lists, made=orders.propose())
        if found <= max(value, recent[trials % HISTORY]):
            orders.accept()
            value = found
        recent[trials % HISTORY] = value
        trials += 1
    return trials


def prepare_orders(instance: Instance) -> None:
    """Compile what changes orders."""
    orders = _orders_of(instance, 0)
    orders.begin(np.arange(len(instance.jobs)), 0)
    orders.propose()


def _orders_of(instance: Instance, seed: int) -> OrderAnnealing:
    """Orders of the jobs, and their list schedules."""
    generator = np.array([seed], np.uint64)
    objectives = objective_arrays(instance)
    return OrderAnnealing(ListSchedules(instance), objectives, NUMBERS, generator)


def _first(known: Known) -> list[Ints]:
    """The orders from which the search starts."""
    least = np.array([extreme.least_slots for extreme in job_extremes(known.instance)], np.int64)
    size = np.array([job.size for job in known.instance.jobs], np.int64)
    orders = [np.argsort(least, kind="stable"), np.argsort(least * size, kind="stable")]
    if known.schedule is not None:
        start = {assignment.job: assignment.start for assignment in known.schedule.assignments}
        begun = np.array([start[job.name] for job in known.instance.jobs], np.int64)
        orders.append(np.argsort(begun, kind="stable"))
    return orders


def _value(known: Known, lists: ListSchedules, *, made: bool) -> tuple[Value | float, ...]:
    """The values of the last list schedule, kept if it is the best; infinite if not admissible."""
    makespan = int(lists.partial.state.rings["finish"].max())
    if not made or makespan > horizon_of(known.instance):
        return (inf,)
    schedule = lists.schedule("orders")
    report = known.checked(schedule)
    verdict = known.judged(schedule, report)
    if isinstance(verdict, ModelNeeded) or verdict.broken is not None:
        return (inf,)
    known.improve(schedule, report, verdict.value)
    return known.values_of(report, verdict.value)
