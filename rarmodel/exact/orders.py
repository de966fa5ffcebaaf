"""Search over orders of jobs for your own objectives and constraints.

`search` minimises only the makespan. Here its decoder makes a schedule from each order, and the
formulation judges the schedule, some hundred per second. The search is late acceptance hill
climbing: it keeps a change that is no worse than the current solution some trials ago (E. Burke, Y.
Bykov, "The late acceptance hill-climbing heuristic", European Journal of Operational Research 258,
2017).
"""

from __future__ import annotations

from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.model import horizon_of, job_extremes
from rarmodel.model.objectives import Value
from rarmodel.search.decoder import Decoder

from .admission import ModelNeeded, judge
from .known import Known

HISTORY = 20
"""Number of trials between a change and the value with which it is compared."""
MODE_SHARE, DELAY_SHARE = 0.15, 0.1
"""Shares of the changes to how a job spreads, and to its earliest start."""


class _Genes(NamedTuple):
    """An order with its modes and earliest starts; see `Decoder.solution`."""

    order: Ints
    mode: Ints
    earliest: Ints


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
    random = np.random.default_rng(known.limits.seed)
    decoder = Decoder(known.instance)
    starts = sorted((_value(known, decoder, genes), i) for i, genes in enumerate(_first(known)))
    current, value = list(_first(known))[starts[0][1]], starts[0][0]
    recent, trials = [value] * HISTORY, len(starts)
    while perf_counter() < deadline and not known.closed:
        trial = _changed(current, decoder.most_modes, known, random)
        found = _value(known, decoder, trial)
        if found <= max(value, recent[trials % HISTORY]):
            current, value = trial, found
        recent[trials % HISTORY] = value
        trials += 1
    return trials


def _first(known: Known) -> list[_Genes]:
    """The orders from which the search starts."""
    jobs = len(known.instance.jobs)
    nothing = np.zeros(jobs, np.int64)
    least = np.array([extreme.least_slots for extreme in job_extremes(known.instance)], np.int64)
    size = np.array([job.size for job in known.instance.jobs], np.int64)
    orders = [np.argsort(least, kind="stable"), np.argsort(least * size, kind="stable")]
    if known.schedule is not None:
        start = {assignment.job: assignment.start for assignment in known.schedule.assignments}
        begun = np.array([start[job.name] for job in known.instance.jobs], np.int64)
        orders.append(np.argsort(begun, kind="stable"))
    return [_Genes(order, nothing, nothing) for order in orders]


def _value(known: Known, decoder: Decoder, genes: _Genes) -> tuple[Value | float, ...]:
    """The values of an order's schedule, kept if it is the best; infinite if not admissible."""
    solution = decoder.solution(*genes)
    if solution is None or solution.makespan > horizon_of(known.instance):
        return (inf,)
    schedule = solution.schedule(known.instance, "orders")
    scope = known.scope(horizon_of(known.instance))
    verdict = judge(known.formulation, scope, schedule, known.solvers, known.brief())
    if isinstance(verdict, ModelNeeded) or verdict.broken is not None:
        return (inf,)
    report = known.checked(schedule)
    known.improve(schedule, report, verdict.value)
    return known.values_of(report, verdict.value)


def _changed(genes: _Genes, most_modes: Ints, known: Known, random: np.random.Generator) -> _Genes:
    """Move a job in the order, or change how it spreads or its earliest start."""
    order, mode, earliest = (gene.copy() for gene in genes)
    jobs = len(order)
    one, other = random.integers(jobs, size=2).tolist()
    kind = random.random()
    if kind < MODE_SHARE:
        mode[one] = random.integers(most_modes[one])
    elif kind < MODE_SHARE + DELAY_SHARE:
        ends = list(known.report.completion.values()) if known.report else []
        later = ends[other] if ends else random.integers(horizon_of(known.instance))
        earliest[one] = 0 if earliest[one] else later or 0
    else:
        job = order[one]
        order = np.insert(np.delete(order, one), other, job)
    return _Genes(order, mode, earliest)
