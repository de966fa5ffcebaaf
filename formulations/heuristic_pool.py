"""The schedules of the heuristics over all limits θ_u and all their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from math import ceil
from time import perf_counter
from typing import NamedTuple

import numpy as np

from rarmodel.bounds import limit_bound
from rarmodel.engine.arrays import Floats
from rarmodel.heuristics import Policy, estimate, installed_policies
from rarmodel.heuristics.clock import ListScheduler
from rarmodel.heuristics.idle_gpus import TOLERANCE
from rarmodel.model import horizon_of
from rarmodel.schema import Instance
from rarmodel.search import one_after_another

SECONDS = 5.0
"""After this time, no further limit is tried."""

SEEDS = range(10)
"""Seeds of the random policies."""

Held = dict[int, tuple[int, ...]]


class Made(NamedTuple):
    """A schedule of a heuristic.

    Attributes
    ----------
    starts
        (jobs) Start slots.
    gpus
        (jobs) GPU indices held, by server index.
    """

    starts: tuple[int, ...]
    gpus: tuple[Held, ...]


def heuristic_schedules(instance: Instance, horizon: int) -> Iterator[Made]:
    """All different schedules of the installed policies within a horizon, as they are made.

    Every policy, with each of its parameters κ, runs with every limit θ_u from the instance's
    horizon T down to the lower bound; below that, the jobs' least execution times do not fit.
    Limits that would repeat a schedule are left out. A limit only forbids GPUs. So if a run with
    limit θ puts at most W on a GPU, no limit from W to θ forbids a GPU that the run chose, and no
    rule chooses differently because another GPU is forbidden. The next limit worth trying is the
    greatest whole number below W. This also holds for a run that was given up, with its loads until
    then. Tens of runs stand for a thousand limits.

    Random policies run with the limit T only, with seeds 0 to 9. The last schedule runs all jobs
    one after another, each alone in its best placement.

    The policies take turns, one limit each, for at most 5 seconds; only instances with thousands of
    jobs reach this time.
    """
    scheduler = ListScheduler(instance, estimate(instance).work)
    runs = [
        _over_limits(instance, horizon, scheduler, policy, np.array(parameters, np.float64))
        for policy in installed_policies()
        for parameters in sorted({p for seed in SEEDS for p in policy.parameters(instance, seed)})
    ]
    deadline = perf_counter() + SECONDS
    known: set[object] = set()
    for turn in zip_longest(*runs):
        for made in turn:
            if made is not None and (key := _key(made)) not in known:
                known.add(key)
                yield made
        if perf_counter() > deadline:
            break
    alone = one_after_another(instance)
    if alone.makespan <= horizon:
        gpus = tuple(
            {s: tuple(range(count)) for s, count in workers.items()} for workers in alone.rings
        )
        made = Made(tuple(alone.starts.tolist()), gpus)
        if _key(made) not in known:
            yield made


def _key(made: Made) -> object:
    return made.starts, tuple(tuple(sorted(held.items())) for held in made.gpus)


def _over_limits(
    instance: Instance, horizon: int, scheduler: ListScheduler, policy: Policy, parameters: Floats
) -> Iterator[Made | None]:
    """The schedules of a policy, limit after limit; None for a limit without a schedule in time."""
    order = np.array(policy.order(instance), np.int64)
    limit = horizon_of(instance)
    lowest = limit_bound(instance).slots if policy.bisect else limit
    while limit >= lowest:
        makespan = scheduler.run(policy.rule, parameters, order, float(limit), horizon + 1)
        limit = min(limit, ceil(scheduler.loads().max() - TOLERANCE)) - 1
        yield _made(instance, scheduler) if makespan >= 0 else None


def _made(instance: Instance, scheduler: ListScheduler) -> Made:
    """The schedule of the last run."""
    places = [(s, g) for s, o in enumerate(instance.cluster.servers) for g in range(o.gpus)]
    starts, gpus = [], []
    for start, numbers in scheduler.assignments():
        held: dict[int, list[int]] = {}
        for server, index in (places[number] for number in numbers.tolist()):
            held.setdefault(server, []).append(index)
        starts.append(int(start))
        gpus.append({server: tuple(indices) for server, indices in held.items()})
    return Made(tuple(starts), tuple(gpus))
