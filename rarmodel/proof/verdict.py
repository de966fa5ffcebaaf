"""Answers to the question whether a schedule is as short as a target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine import Placements, placements_of
from rarmodel.engine.arrays import Ints

from .tree import Options, Tree


class Plan(NamedTuple):
    """Starts and placements of all jobs."""

    starts: Ints
    placements: Placements


class Verdict(NamedTuple):
    """The answer to the question.

    Attributes
    ----------
    impossible
        Whether it is proven that no schedule is that short.
    plan
        A schedule that is; None if none was found.
    """

    impossible: bool
    plan: Plan | None = None


NOT_KNOWN = Verdict(impossible=False)


def plan_of(starts: npt.ArrayLike, workers: npt.ArrayLike) -> Plan:
    """A plan from starts, and from workers by job and server."""
    rings = (
        {int(server): int(ring[server]) for server in np.flatnonzero(ring)}
        for ring in np.asarray(workers)
    )
    return Plan(np.asarray(starts, np.int64), placements_of(rings))


def plan_in(tree: Tree, options: Options) -> Plan:
    """The schedule that `branch` has found, of the jobs that it was asked for."""
    back = np.argsort(options.job)
    return plan_of(tree.start[back], options.workers[tree.choice][back])
