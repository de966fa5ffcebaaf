"""Between plans and packings: the packed jobs of a plan, and the plan that a packing stands for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import Ints

from .layout import Layout
from .plan import Plan
from .repack import Packing, new_packing

Bools = npt.NDArray[np.bool_]


def packing_of(layout: Layout, plan: Plan) -> Packing:
    """The packing of a plan: its packed jobs by server, in the order of their starts."""
    jobs_of: list[list[int]] = [[] for _ in layout.server_gpus]
    rings: list[list[tuple[int, int, int]]] = [[] for _ in layout.server_gpus]
    used = plan.used.tolist()
    at, server, workers = plan.at.tolist(), plan.server.tolist(), plan.workers.tolist()
    starts, completions = plan.starts.tolist(), plan.completions.tolist()
    for job in np.argsort(plan.starts, kind="stable").tolist():
        if used[job] == 1:
            jobs_of[server[at[job]]].append(job)
        else:
            for place in range(at[job], at[job + 1]):
                rings[server[place]].append((starts[job], completions[job], workers[place]))
    return new_packing(layout, jobs_of, rings)


def rings_alone(layout: Layout, plan: Plan) -> tuple[Plan, Packing]:
    """What is left of a plan if every job that fits a server is to be packed anew.

    The rings that stay spread keep their order, but the time in which none of them runs is taken
    out, so that they begin at slot 0. With fewer of them they may also end earlier.

    Returns
    -------
    tuple
        The plan, in which servers, starts and completions of the jobs to be packed have no meaning
        (`plan_of` gives them one), and the packing without these jobs.
    """
    fits = layout.packed > 0
    used = np.where(fits, 1, plan.used)
    at = np.concatenate(([0], np.cumsum(used)))
    source = np.repeat(plan.at[:-1] - at[:-1], used) + np.arange(at[-1])
    workers = plan.workers[source]
    workers[at[:-1][fits]] = layout.size[fits]
    starts, completions = _pressed(plan, ~fits)
    skeleton = plan._replace(
        starts=starts, completions=completions, at=at, server=plan.server[source], workers=workers
    )
    packing = packing_of(layout, skeleton)
    packing.first[:] = -1
    return skeleton, packing


def _pressed(plan: Plan, rings: Bools) -> tuple[Ints, Ints]:
    """Starts and completions without the slots in which none of the rings runs."""
    changes = np.unique(np.concatenate((plan.starts[rings], plan.completions[rings], [0])))
    running = np.zeros(len(changes), np.int64)
    np.add.at(running, np.searchsorted(changes, plan.starts[rings]), 1)
    np.add.at(running, np.searchsorted(changes, plan.completions[rings]), -1)
    lengths = np.where(np.cumsum(running)[:-1] > 0, np.diff(changes), 0)
    before = np.concatenate(([0], np.cumsum(lengths)))
    starts, completions = plan.starts.copy(), plan.completions.copy()
    starts[rings] = before[np.searchsorted(changes, starts[rings])]
    completions[rings] = before[np.searchsorted(changes, completions[rings])]
    return starts, completions


def plan_of(layout: Layout, skeleton: Plan, packing: Packing) -> Plan:
    """The plan that a settled packing stands for, with spread rings as in the skeleton."""
    alone = skeleton.used == 1
    starts = np.where(alone, packing.starts, skeleton.starts)
    completions = np.where(alone, starts + layout.packed, skeleton.completions)
    server = skeleton.server.copy()
    first, after = packing.first[0].tolist(), packing.after[0].tolist()
    at = skeleton.at.tolist()
    for index, job in enumerate(first):
        here = job
        while here >= 0:
            server[at[here]] = index
            here = after[here]
    return skeleton._replace(
        makespan=int(completions.max()), starts=starts, completions=completions, server=server
    )
