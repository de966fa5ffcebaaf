"""Explain why a model has no solution: the jobs and constraints in conflict.

This is a deletion filter: it removes jobs and families of constraints one at a time, and drops each
whose removal leaves the model infeasible. The rest is infeasible together, and feasible without any
one part, as far as the time allows to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any

import pyomo.environ as pyo

from rarmodel.counting import counted, nouns
from rarmodel.errors import listed
from rarmodel.formulations import Formulation, Scope
from rarmodel.limits import Limits
from rarmodel.solvers import Solver

from .building import OutOfTime, built_until

SECONDS = 60.0
"""Time for a diagnosis without a time limit."""


def explain(
    formulation: Formulation, scope: Scope, solver: Solver, limits: Limits
) -> tuple[str, ...]:
    """Jobs and families of constraints of a model that are infeasible together.

    Parameters
    ----------
    formulation, scope
        The model; it is known to be infeasible.
    solver, limits
        The solver, and the time for all its calls together.

    Returns
    -------
    tuple of str
        Lines that name the jobs and constraints in conflict; none if there is no time for that.
    """
    end = perf_counter() + (SECONDS if limits.time_limit is None else limits.time_limit)
    try:
        model = built_until(end, lambda: formulation.build(scope))
        plain = built_until(end, lambda: _plain(formulation, scope))
    except OutOfTime:
        return ()
    families = [c for c in model.component_objects(pyo.Constraint, active=True) if len(c)]
    base = set()
    if formulation.restricts:
        # What the user added is left out first, and named first.
        base = {c.local_name for c in plain}
    families.sort(key=lambda family: family.local_name in base)
    added = [family for family in families if family.local_name not in base]
    stated = [family for family in families if family.local_name in base]
    complete = True

    def needed(constraints: Iterable[Any]) -> bool:
        """Deactivate constraints; activate them again if the model is then feasible."""
        nonlocal complete
        chosen = [constraint for constraint in constraints if constraint.active]
        for constraint in chosen:
            constraint.deactivate()
        left = end - perf_counter()
        if left > 0:
            quiet = replace(limits, time_limit=left, gap=0.0, log=None, progress=None)
            ended = solver.solve(model, quiet).termination
            if ended == "infeasible":
                return False
            complete = complete and ended == "finished"
        else:
            complete = False
        for constraint in chosen:
            constraint.activate()
        return True

    kept = _filter(added, lambda family: needed(family.values()))
    jobs = _filter(list(scope.jobs), lambda job: needed(_of_job(families, job)))
    kept += _filter(stated, lambda family: needed(family.values()))
    lines = [
        f"no schedule within {counted(scope.horizon, 'slot')} satisfies all of this"
        + ("" if complete else " (and perhaps less is enough for that)")
        + ":"
    ]
    if jobs:
        lines.append(f"  {nouns(len(jobs), 'job')} {listed(jobs)}")
    lines += [f"  {_words(family)}" for family in kept]
    return tuple(lines)


def _plain(formulation: Formulation, scope: Scope) -> Iterable[Any]:
    """Families of constraints of the formulation that was extended."""
    base = formulation.base
    if base is None or not formulation.restricts:
        return []
    return list(base.build(scope).component_objects(pyo.Constraint, active=True))


def _filter(parts: list[Any], needed: Callable[[Any], bool]) -> list[Any]:
    return [part for part in parts if needed(part)]


def _of_job(families: list[Any], job: str) -> Iterable[Any]:
    """Constraints about one job: those with the job in their index."""
    for family in families:
        for index in list(family):
            if index == job or (isinstance(index, tuple) and job in index):
                yield family[index]


def _words(family: Any) -> str:
    return str(family.doc or f"constraint {family.local_name}")
