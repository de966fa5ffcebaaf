"""Replan: the known jobs are solved again, with running jobs given, and the plan is followed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from rarmodel import registry
from rarmodel.limits import INTERRUPTED, Limits
from rarmodel.methods import attempt
from rarmodel.schema import Instance, Schedule

from ..policy import Decision, Policy
from ..state import DURATIONS, State

ITERATIONS, PATIENCE = 50, 10
"""Iterations of `search` for each plan, and so many without a better one are enough: with numbers
and not a time, plans can be repeated."""


class _Plan(NamedTuple):
    """What starts when, and where: by the number of the job."""

    jobs: frozenset[int]
    starts: Mapping[int, tuple[int, dict[int, int]]]


def make_replan(
    name: str = "replan",
    *,
    method: str = "search",
    formulation: str | None = None,
    solver: str | None = None,
    iterations: int | None = ITERATIONS,
    patience: int | None = PATIENCE,
    time_limit: float | None = None,
    description: str = "",
) -> Policy:
    """A policy that solves the known jobs again when one arrives, and follows the plan.

    Running jobs are given to the method as `running`, and go on; jobs that wait start where and
    when the plan says. The plan is for the instance's objectives. A plan lasts until a job arrives
    that it does not know, a job gives way to a reservation, or a round begins. Reading: where jobs
    may be interrupted, replanning does not do so by itself. Where no plan is found, jobs start in
    order of arrival, each that fits.

    Parameters
    ----------
    name, description
        Of the policy.
    method, formulation, solver
        What solves: a method, or a formulation with its solver.
    iterations, patience, time_limit
        Limits of each solve: iterations for methods that count them, and seconds.
    """
    solved = partial(_solved, method, formulation, solver, iterations, patience, time_limit)
    return Policy(name, partial(_by_plan, solved), description, DURATIONS)


def _by_plan(solved: Callable[[Instance, int], Schedule | None], state: State) -> Decision:
    plan: _Plan | None = state.memory.get("plan")
    numbers = state.number.tolist()
    waiting = {n for n, runs in zip(numbers, state.running.tolist(), strict=True) if not runs}
    if not waiting:
        return Decision()
    if plan is None or state.is_round or not waiting <= plan.jobs:
        plan = _plan(state, solved(state.problem, int(state.random.integers(2**31))))
        state.memory["plan"] = plan
    if plan is None:
        return Decision()
    planned = sorted(
        (plan.starts[number][0], position)
        for position, number in enumerate(numbers)
        if number in waiting
    )
    # With nothing running, nobody would ask again when the first one is to start.
    first = state.now if state.running.any() else max(state.now, planned[0][0])
    due = [one for one in planned if one[0] <= first]
    # What starts is no longer to be started if it gives way later.
    state.memory["plan"] = plan._replace(
        jobs=plan.jobs - {numbers[position] for _, position in due}
    )
    places = {position: plan.starts[numbers[position]][1] for _, position in due}
    return Decision(np.array([*places], np.int64), places=places)


def _solved(
    method: str,
    formulation: str | None,
    solver: str | None,
    iterations: int | None,
    patience: int | None,
    time_limit: float | None,
    problem: Instance,
    seed: int,
) -> Schedule | None:
    # A list of objectives: what decides between equal plans is not worth the time of a decision.
    problem = problem.model_copy(update={"objective": problem.objectives})
    if formulation is None:
        found = registry.find("methods", method)
        counts = getattr(found, "counts_iterations", False)
        limits = Limits(
            time_limit,
            threads=1,
            seed=seed,
            iterations=iterations if counts else None,
            patience=patience if counts else None,
        )
        made = attempt(found, problem, limits)
        if made.stopped == INTERRUPTED:  # The method heard the user's Ctrl-C, which meant us.
            raise KeyboardInterrupt
        return made.schedule
    from rarmodel.exact import solve_formulation  # noqa: PLC0415 - loads Pyomo
    from rarmodel.solvers.choice import require_solvers  # noqa: PLC0415

    stated = registry.find("formulations", formulation)
    solvers = (
        require_solvers(stated.model_class, stated.name)
        if solver is None
        else [registry.find("solvers", solver)]
    )
    result = solve_formulation(problem, stated, solvers, Limits(time_limit, seed=seed))
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return result.schedule


def _plan(state: State, schedule: Schedule | None) -> _Plan | None:
    """A schedule from now on, by the numbers of jobs."""
    if schedule is None:
        return None
    server = {one.name: s for s, one in enumerate(state.cluster.servers)}
    numbers = {
        job.name: number
        for job, number in zip(state.problem.jobs, state.number.tolist(), strict=True)
    }
    starts = {
        numbers[one.job]: (
            state.now + one.start,
            {server[name]: len(gpus) for name, gpus in one.gpus.items() if gpus},
        )
        for one in schedule.assignments
    }
    return _Plan(frozenset(starts), starts)


REPLAN = make_replan(description="solves the known jobs again by search, and follows the plan")
