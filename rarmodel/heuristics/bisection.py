"""Algorithm 1: bisection on the limit θ_u, with every parameter set tried for each limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np

from rarmodel import registry
from rarmodel.bounds import best_bound
from rarmodel.engine.arrays import Floats, Ints
from rarmodel.limits import INTERRUPTED, TIME_LIMIT, Limits
from rarmodel.methods import Attempt, order_of
from rarmodel.model import horizon_of
from rarmodel.model.features import BY_DUTY, CARDS
from rarmodel.model.part import part_of
from rarmodel.schema import Assignment, Instance, Schedule

from .clock import ListScheduler
from .execution_estimates import Estimate, estimate
from .idle_gpus import Rule

Parameters = tuple[float, ...]


def input_order(instance: Instance) -> list[int]:
    """The jobs as the instance lists them."""
    return list(range(len(instance.jobs)))


def nothing_to_try(instance: Instance, seed: int) -> Sequence[Parameters]:
    """One try, without parameters."""
    return [()]


@dataclass(frozen=True)
class Policy(registry.Part):
    """A list-scheduling policy; the clock, the limit and the bisection over it come for free.

    Attributes
    ----------
    name
        What `--method` calls it, and schedules say they were made by.
    rule
        Picks GPUs for a job; see `idle_gpus`.
    order
        Gives the order of placement, as job indices.
    parameters
        Gives, for an instance and a seed, the parameter sets tried for each limit.
    bisect
        Whether the limit θ_u is bisected; otherwise it is the horizon.
    vary
        Gives the policy with other parameters, by keyword; None if it has none to set.
    description
        What it does, in a line.
    handles
        Names of the features that it handles: it is the clock that knows how rings share links.
    """

    kind = "methods"

    name: str
    rule: Rule
    order: Callable[[Instance], Sequence[int]] = input_order
    parameters: Callable[[Instance, int], Sequence[Parameters]] = nothing_to_try
    bisect: bool = True
    vary: Callable[..., Policy] | None = None
    description: str = ""
    handles: frozenset[str] = BY_DUTY | {CARDS.name}

    def prepare(self, instance: Instance) -> None:
        """Compile what the policy needs, so that this does not count as its time."""
        scheduler = ListScheduler(part_of(instance), (1.0,))
        scheduler.run(self.rule, np.empty(0), np.empty(0, np.int64), limit=0.0)  # places nothing

    def __call__(self, instance: Instance, limits: Limits) -> Attempt:
        """Best schedule within the time limit; see `run_policy`.

        Stops early when the best makespan meets a lower bound.
        """
        stopped = "finished"
        deadline = perf_counter() + (inf if limits.time_limit is None else limits.time_limit)
        bound = best_bound(instance).slots

        def stop(makespan: int | None) -> bool:
            nonlocal stopped
            if limits.progress:
                limits.progress(makespan, bound)
            if makespan is not None and makespan <= bound:
                stopped = "the makespan meets the lower bound"
                return True
            if perf_counter() >= deadline:
                stopped = TIME_LIMIT
                return True
            return False

        found = run_policy(instance, self, seed=limits.seed, stop=stop)
        if found is None:
            nothing = "no schedule found within the horizon"
            return Attempt(None, nothing if stopped == "finished" else stopped)
        return Attempt(found.schedule, INTERRUPTED if found.interrupted else stopped)


@dataclass(frozen=True)
class Found:
    """The best schedule that a policy found, and how.

    Attributes
    ----------
    schedule
        The schedule.
    makespan
        Its makespan in slots, by the engine.
    limit
        The limit it was found with in slots: the tightest that improved, θ̃_u.
    parameters
        The parameters it was found with.
    load
        (GPUs) Accumulated time of each GPU in slots; the greatest is Ŵ_max.
    interrupted
        Whether Ctrl-C ended the search for a better one.
    """

    schedule: Schedule
    makespan: int
    limit: int
    parameters: Parameters
    load: Floats = field(repr=False, compare=False)
    interrupted: bool = False

    @property
    def loads(self) -> tuple[float, ...]:
        """The same as a tuple."""
        return tuple(self.load.tolist())


def run_policy(
    instance: Instance,
    policy: Policy,
    *,
    seed: int = 0,
    estimates: Estimate | None = None,
    stop: Callable[[int | None], bool] = lambda _: False,
) -> Found | None:
    """The best schedule of a policy over all limits that the bisection visits.

    The limit goes from the middle of `[1, T]` down if the best makespan so far improved, and up
    if not, as printed. A makespan equal to the horizon is feasible.

    Parameters
    ----------
    instance
        The problem.
    policy
        Rule, order of jobs and parameters.
    seed
        Seed, for policies that draw at random.
    estimates
        Execution times to accumulate; by default the least possible ones.
    stop
        Asked after each list schedule with the best makespan so far (None if there is none).

    Returns
    -------
    Found or None
        None if no limit and parameters gave a schedule within the horizon. After Ctrl-C, the best
        so far; if there is none, the interrupt goes on.
    """
    work = (estimates or estimate(instance)).work
    scheduler = ListScheduler(instance, work)
    order, tries = _decisions(instance, policy, seed)
    horizon = horizon_of(instance)
    best: _Best | None = None
    low, high = (1, horizon) if policy.bisect else (horizon, horizon)
    try:
        while low <= high:
            limit = (low + high) // 2
            improved = False
            for parameters, values in tries:
                cutoff = best.makespan if best else horizon + 1
                makespan = scheduler.run(policy.rule, values, order, float(limit), cutoff)
                if 0 <= makespan < cutoff:
                    best = _best(scheduler, makespan, limit, parameters)
                    improved = True
                if stop(best.makespan if best else None):
                    return None if best is None else _found(instance, policy, best)
            low, high = (low, limit - 1) if improved else (limit + 1, high)
    except KeyboardInterrupt:
        if best is None:
            raise
        return _found(instance, policy, best, interrupted=True)
    return None if best is None else _found(instance, policy, best)


def _decisions(
    instance: Instance, policy: Policy, seed: int
) -> tuple[Ints, list[tuple[Parameters, Floats]]]:
    """The order of a policy, and its parameters, if they are such."""
    with registry.calling("methods", policy):
        order = policy.order(instance)
        parameters = policy.parameters(instance, seed)
    jobs, what = instance.jobs, f"the order of policy {policy.name!r}"
    numbers = order_of(order, len(jobs), lambda j: jobs[j].name, what)
    try:
        return numbers, [(tuple(p), np.array(p, np.float64)) for p in parameters]
    except (TypeError, ValueError):
        expected = "a list of tuples of numbers"
        raise registry.nonsense("methods", policy, parameters, expected) from None


class _Best(NamedTuple):
    """The best list schedule so far, as it comes from the clock: little work for each better one.

    Attributes
    ----------
    makespan, limit, parameters
        As of `Found`.
    starts, gpus
        (jobs) Start and GPU numbers of each job.
    loads
        (GPUs) Accumulated time.
    """

    makespan: int
    limit: int
    parameters: Parameters
    starts: list[int]
    gpus: list[Ints]
    loads: Floats


def _best(scheduler: ListScheduler, makespan: int, limit: int, parameters: Parameters) -> _Best:
    starts, gpus = zip(*scheduler.assignments(), strict=True)
    return _Best(makespan, limit, parameters, list(starts), list(gpus), scheduler.loads())


def _found(instance: Instance, policy: Policy, best: _Best, *, interrupted: bool = False) -> Found:
    """The schedule of the best one; GPUs are numbered server by server."""
    servers = instance.cluster.servers
    ends = np.cumsum([server.gpus for server in servers])
    assignments = []
    for job, start, gpus in zip(instance.jobs, best.starts, best.gpus, strict=True):
        held: dict[str, list[int]] = {}
        on = np.searchsorted(ends, gpus, side="right")
        for server, gpu in zip(on.tolist(), gpus.tolist(), strict=True):
            first = int(ends[server]) - servers[server].gpus
            held.setdefault(servers[server].name, []).append(gpu - first)
        assignments.append(
            Assignment(job=job.name, start=start, gpus={s: tuple(g) for s, g in held.items()})
        )
    return Found(
        schedule=Schedule(
            schema_version=1,
            instance=instance.name,
            method=policy.name,
            assignments=tuple(assignments),
        ),
        makespan=best.makespan,
        limit=best.limit,
        parameters=best.parameters,
        load=best.loads,
        interrupted=interrupted,
    )
