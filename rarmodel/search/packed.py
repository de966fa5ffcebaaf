"""Between plans and packings: the packed jobs of a plan, and the plan that a packing stands for."""

from __future__ import annotations

import numpy as np

from .draw import Draws
from .layout import Layout
from .plan import Plan
from .repack import Packing, balance, new_packing


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


def dealt_out(layout: Layout, plan: Plan, draws: Draws) -> tuple[Plan, Packing]:
    """A plan with every job that fits a server on one, dealt out anew, and its packing.

    The rings that stay spread keep their slots, though with fewer of them they may end earlier.
    Starts and completions of the others follow from the packing, in `plan_of`.
    """
    fits = layout.packed > 0
    used = np.where(fits, 1, plan.used)
    at = np.concatenate(([0], np.cumsum(used)))
    source = np.repeat(plan.at[:-1] - at[:-1], used) + np.arange(at[-1])
    workers = plan.workers[source]
    workers[at[:-1][fits]] = layout.size[fits]
    skeleton = plan._replace(at=at, server=plan.server[source], workers=workers)
    packing = packing_of(layout, skeleton)
    widest = np.lexsort((-layout.packed, -layout.size))
    balance(layout, packing, widest[fits[widest]], draws)
    return skeleton, packing


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
