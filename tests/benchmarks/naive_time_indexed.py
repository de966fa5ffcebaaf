"""The textbook time-indexed model: the yardstick of `time_indexed.py`, and of nothing else.

A binary for each job and slot, whole numbers of workers, a big-M for the maximum over links, and a
binary for each level of contention and number of servers. It knows neither placements nor bounds,
and it is stated for stars with equal links only.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from rarmodel.formulations import Scope
from rarmodel.model import timing
from rarmodel.model.sharing_rule import COUNT
from rarmodel.schema import Job


def naive_model(scope: Scope) -> pyo.ConcreteModel:
    """State the instance of a scope within its horizon."""
    jobs, servers, slots = list(scope.jobs), list(scope.servers), range(scope.horizon)
    size = {j: job.size for j, job in scope.jobs.items()}
    gpus = {s: server.gpus for s, server in scope.servers.items()}
    big = len(jobs)
    counts = {j: range(1, min(size[j], len(servers)) + 1) for j in jobs}
    levels = [
        (j, n, p) for j in jobs for n in counts[j] for p in ([0] if n == 1 else range(1, big + 1))
    ]
    speeds = {(j, n, p): _speed(scope, scope.jobs[j], n, p) for j, n, p in levels}

    m: Any = pyo.ConcreteModel("naive")
    m.start = pyo.Var(jobs, slots, domain=pyo.Binary)
    m.x = pyo.Var(jobs, slots, domain=pyo.Binary)
    m.y = pyo.Var(
        jobs, servers, domain=pyo.Integers, bounds=lambda _, j, s: (0, min(size[j], gpus[s]))
    )
    m.held = pyo.Var(
        jobs,
        servers,
        slots,
        domain=pyo.Integers,
        bounds=lambda _, j, s, __: (0, min(size[j], gpus[s])),
    )
    m.on = pyo.Var(jobs, servers, domain=pyo.Binary)
    m.uses = pyo.Var([(j, n) for j in jobs for n in counts[j]], domain=pyo.Binary)
    m.on_link = pyo.Var(jobs, servers, slots, domain=pyo.Binary)
    m.p = pyo.Var(jobs, slots, domain=pyo.Integers, bounds=(0, big))
    m.level = pyo.Var(levels, slots, domain=pyo.Binary)
    m.makespan = pyo.Var(domain=pyo.Integers, bounds=(0, scope.horizon))
    m.c = pyo.ConstraintList()
    for j in jobs:
        m.c.add(sum(m.start[j, t] for t in slots) == 1)
        m.c.add(sum(m.y[j, s] for s in servers) == size[j])
        m.c.add(sum(m.uses[j, n] for n in counts[j]) == 1)
        m.c.add(sum(m.on[j, s] for s in servers) == sum(n * m.uses[j, n] for n in counts[j]))
        for s in servers:
            m.c.add(m.y[j, s] >= m.on[j, s])
            m.c.add(m.y[j, s] <= size[j] * m.on[j, s])
        mine = [(n, p) for k, n, p in levels if k == j]
        for t in slots:
            m.c.add(m.x[j, t] <= (m.x[j, t - 1] if t else 0) + m.start[j, t])
            m.c.add(m.x[j, t] >= m.start[j, t])
            m.c.add(m.makespan >= (t + 1) * m.x[j, t])
            for s in servers:
                m.c.add(m.held[j, s, t] <= m.y[j, s])
                m.c.add(m.held[j, s, t] <= gpus[s] * m.x[j, t])
                m.c.add(m.held[j, s, t] >= m.y[j, s] - gpus[s] * (1 - m.x[j, t]))
                m.c.add(m.on_link[j, s, t] >= m.on[j, s] + m.x[j, t] - 1 - m.uses[j, 1])
                sharing = sum(m.on_link[k, s, t] for k in jobs)
                m.c.add(m.p[j, t] >= sharing - big * (1 - m.on_link[j, s, t]))
            m.c.add(sum(m.level[j, n, p, t] for n, p in mine) == m.x[j, t])
            for n in counts[j]:
                m.c.add(sum(m.level[j, k, p, t] for k, p in mine if k == n) <= m.uses[j, n])
            m.c.add(
                sum(p * m.level[j, n, p, t] for n, p in mine) >= m.p[j, t] - big * (1 - m.x[j, t])
            )
        done = sum(speeds[j, n, p] * m.level[j, n, p, t] for n, p in mine for t in slots)
        m.c.add(done >= scope.jobs[j].iterations)
    for s in servers:
        for t in slots:
            m.c.add(sum(m.held[j, s, t] for j in jobs) <= gpus[s])
    m.objective = pyo.Objective(expr=m.makespan)
    return m


def _speed(scope: Scope, job: Job, servers: int, rings: int) -> int:
    instance = scope.instance
    gbps = instance.cluster.intra_server_gbps
    if servers > 1:
        gbps = COUNT.share(instance.contention, scope.tree.links[0].gbps, rings - 1)
    seconds = timing.iteration_seconds(
        timing.exchange_bits(job.gradient_mb, job.size),
        gbps,
        0.0,
        timing.reduction_seconds(job.gradient_mb, job.size, instance.cluster.reduction_gbps),
        timing.overhead_seconds(instance.contention.overhead_ms_per_server, servers),
        timing.compute_seconds(job, job.size),
        1.0,
    )
    return min(timing.speed(instance.time.slot_seconds, seconds), job.iterations)
