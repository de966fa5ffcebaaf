"""Search for the smallest instances on which claims of the paper fail for SJF-BCO's schedule.

    python docs/counterexamples.py all JOBS GPUS HORIZON
    python docs/counterexamples.py shrink INSTANCE CLAIM TRIES SEED

`all` tries every instance of a family up to so many jobs, GPUs and slots, and shows the first on
which each claim fails: the fewest jobs, of these the fewest GPUs, then servers, the shortest
horizon, the least work, and the smallest gradient. `shrink` changes a counter-example at random
for as long as it stays one, and shows ever smaller ones in the same order.

In the family slots are a second long, the network is a star of 10 Gbit/s, servers are 1000 times
as fast, there is no overhead and α = 0. Alone within a server a job does 10 iterations in a slot
and takes 1, 2, … slots. Across servers its gradient decides how many it does: 10 with 0 MB; of a
ring of two GPUs alone 4, 2 and 1 with 150, 500 and 1000 MB; less beside others, down to none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import inf
from random import Random
from typing import Any, NamedTuple

import numpy as np

import rarmodel
from rarmodel.files import parse_instance
from rarmodel.heuristics import estimate, smallest_first
from rarmodel.heuristics.clock import ListScheduler
from rarmodel.heuristics.policies import distinct_kappas
from rarmodel.heuristics.rules import BREAK_TIES, sjf_bco_rule
from rarmodel.verifier import Run, simulate

SLOTS, GRADIENTS = (1, 2), (0, 150, 500, 1000)
BEYOND_ONE_GPU = "theorem-5, with n_g above 1,"
"""A claim of its own, since Theorem 5 fails first where all jobs need one GPU."""

Job = tuple[int, int, int]
"""GPUs, slots alone within a server, and MB of the gradient."""


class Case(NamedTuple):
    """An instance of the family without its horizon; cases compare by size."""

    servers: tuple[int, ...]
    jobs: tuple[Job, ...]

    def size(self, horizon: int) -> tuple[Any, ...]:
        """What the smallest is the least of."""
        work = sum(slots for _, slots, _ in self.jobs)
        gradient = max(mb for *_, mb in self.jobs)
        gpus, servers = sum(self.servers), len(self.servers)
        return len(self.jobs), gpus, servers, horizon, work, gradient, self.servers, self.jobs


class Listed(NamedTuple):
    """A list schedule: makespan, and the busiest GPU's time by estimates and in fact."""

    makespan: int
    estimated: int
    real: int


def instance_of(case: Case, horizon: int) -> rarmodel.Instance:
    """The instance that a case stands for.

    Raises
    ------
    InputError
        If some job makes no progress even at its best.
    """
    jobs = [
        {
            "name": f"j{i}",
            "gpus": gpus,
            "iterations": 10 * slots,
            "gradient_mb": float(mb),
            "batch_size": 1,
            "forward_ms_per_sample": 0.0,
            "backward_ms": 98.0,
        }
        for i, (gpus, slots, mb) in enumerate(case.jobs)
    ]
    return parse_instance(
        {
            "schema_version": 1,
            "name": "case",
            "time": {"slot_seconds": 1.0, "horizon": horizon},
            "cluster": {
                "servers": [{"name": f"s{s}", "gpus": n} for s, n in enumerate(case.servers)],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 10000.0,
                "reduction_gbps": 10000.0,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.0},
                "overhead_ms_per_server": 0.0,
            },
            "jobs": jobs,
        }
    )


def listed(instance: rarmodel.Instance) -> dict[tuple[int, int], Listed]:
    """What Algorithms 2 and 3 make of each limit and each κ, up to the limit that never binds."""
    work = estimate(instance).work
    scheduler = ListScheduler(instance, work)
    order = np.array(smallest_first(instance), np.int64)
    found = {}
    for limit in range(1, int(sum(work)) + 1):
        for kappa in distinct_kappas(instance):
            parameters = np.array([kappa, 1.0, BREAK_TIES])
            makespan = scheduler.run(sjf_bco_rule, parameters, order, float(limit))
            if makespan >= 0:
                loads = int(max(scheduler.loads()))
                found[limit, kappa] = Listed(makespan, loads, _busiest(instance, scheduler))
    return found


def _busiest(instance: rarmodel.Instance, scheduler: ListScheduler) -> int:
    """The busiest GPU's real time."""
    of = [s for s, server in enumerate(instance.cluster.servers) for _ in range(server.gpus)]
    runs, held = [], []
    for job, (start, gpus) in zip(instance.jobs, scheduler.assignments(), strict=True):
        on = [of[gpu] for gpu in gpus.tolist()]
        runs.append(Run(job, start, {s: on.count(s) for s in set(on)}))
        held.append(gpus.tolist())
    busy = [0] * len(of)
    for run, gpus, end in zip(runs, held, simulate(instance, runs).completion, strict=True):
        for gpu in gpus:
            busy[gpu] += (end or 0) - run.start
    return max(busy)


def bisected(found: dict[tuple[int, int], Listed], horizon: int) -> tuple[int, Listed] | None:
    """Algorithm 1: the limit that it returns, and the schedule."""
    most = max(limit for limit, _ in found)
    best: tuple[int, Listed] | None = None
    low, high = 1, horizon
    while low <= high:
        limit, improved = (low + high) // 2, False
        for kappa in sorted({kappa for _, kappa in found}):
            schedule = found.get((min(limit, most), kappa))
            to_beat = best[1].makespan if best else horizon + 1
            if schedule and schedule.makespan < to_beat:
                best, improved = (limit, schedule), True
        low, high = (low, limit - 1) if improved else (limit + 1, high)
    return best


@cache
def least_limit(gpus: int, jobs: tuple[tuple[int, int], ...]) -> int:
    """θ*_u by trying all choices of GPUs; jobs are pairs of G_j and slots."""
    loads = {(0,) * gpus}
    for size, slots in jobs:
        loads = {
            tuple(sorted(load[g] + slots * (g in chosen) for g in range(gpus)))
            for load in loads
            for chosen in combinations(range(gpus), size)
        }
    return min(map(max, loads))


def failing(case: Case, horizons: range) -> Iterator[tuple[int, str]]:
    """Each horizon and claim that fails there.

    Theorem 5 with θ*_u for T*: a necessary condition, since `θ*_u ≤ T*`. `check` sees to the rest.
    """
    try:
        instance = instance_of(case, horizons[-1])
        extremes = estimate(instance)
    except rarmodel.InputError:
        return
    found = listed(instance)
    if not found:
        return
    sizes = [gpus for gpus, *_ in case.jobs]
    work = [int(slots) for slots in extremes.work]
    least = least_limit(sum(case.servers), tuple(sorted(zip(sizes, work, strict=True))))
    wide = max(sizes)
    factor = inf
    if extremes.spread < inf:  # Execution times are below 1000 slots.
        factor = Fraction(extremes.spread).limit_denominator(1000) ** 2
    for horizon in horizons:
        if (outcome := bisected(found, horizon)) is None:
            continue
        limit, schedule = outcome
        fails = {
            "lemma-2": schedule.estimated > limit,
            "lemma-2-equality": schedule.estimated != limit,
            "lemma-3": schedule.makespan > wide * schedule.estimated,
            "lemma-3-real": schedule.makespan > wide * schedule.real,
            "lemma-4": limit > factor * least,
            "lemma-4-load": schedule.estimated > factor * least,
            "theorem-5": schedule.makespan > wide * factor * least,
        }
        fails[BEYOND_ONE_GPU] = fails["theorem-5"] and wide > 1
        yield from ((horizon, claim) for claim, fail in fails.items() if fail)


def check(case: Case, horizon: int, claim: str) -> bool:
    """Whether the audit finds that the claim fails; it computes everything anew."""
    audit = rarmodel.audit(instance_of(case, horizon))
    name = "theorem-5" if claim == BEYOND_ONE_GPU else claim
    return next(c for c in audit.claims if c.claim == name).holds is False


def cases(jobs: int, gpus: int, servers: int) -> Iterator[Case]:
    """All cases of a size. Gradients matter only between servers."""
    for cuts in combinations(range(1, gpus), servers - 1):
        ends = (0, *cuts, gpus)
        cluster = tuple(after - before for before, after in pairwise(ends))
        sizes = range(1, min(gpus, 3) + 1)
        kinds = [
            (g, slots, mb)
            for g, slots, mb in product(sizes, SLOTS, GRADIENTS)
            if mb == 0 or (g > 1 and servers > 1)
        ]
        for chosen in product(kinds, repeat=jobs):
            yield Case(cluster, chosen)


def search_all(most_jobs: int, most_gpus: int, horizon: int) -> None:
    """Show the smallest case on which each claim fails, size by size, and how many were tried."""
    known: set[str] = set()
    tried = 0
    for jobs, gpus in product(range(1, most_jobs + 1), range(1, most_gpus + 1)):
        for servers in range(1, gpus + 1):
            hits: dict[str, list[tuple[int, Case]]] = {}
            for case in cases(jobs, gpus, servers):
                tried += 1
                for slots, claim in failing(case, range(1, horizon + 1)):
                    if claim not in known:
                        hits.setdefault(claim, []).append((slots, case))
            for claim, failures in sorted(hits.items()):
                for slots, case in sorted(failures, key=lambda hit: hit[1].size(hit[0])):
                    if check(case, slots, claim):
                        print(f"{claim} fails: horizon {slots}, {case}", flush=True)
                        known.add(claim)
                        break
    print(f"{tried} cases, each with horizons of 1 to {horizon} slots")


def case_of(instance: rarmodel.Instance) -> Case:
    """The case of an instance of the family."""
    return Case(
        tuple(server.gpus for server in instance.cluster.servers),
        tuple((job.gpus, job.iterations // 10, int(job.gradient_mb)) for job in instance.jobs),
    )


def changed(case: Case, random: Random) -> Case:
    """A case with a few changes: jobs and servers taken away, added, exchanged or made anew."""
    servers, jobs = list(case.servers), list(case.jobs)

    def new_job() -> Job:
        gpus = random.choice([1, 2, 2, 2])
        return gpus, random.randint(1, 6), random.choice(GRADIENTS) if gpus > 1 else 0

    for _ in range(random.choice([1, 1, 2, 3])):
        job = random.randrange(len(jobs))
        server = random.randrange(len(servers))
        match random.randrange(8):
            case 0 if len(jobs) > 1:
                jobs.pop(job)
            case 1:
                jobs.insert(job, new_job())
            case 2:
                jobs.insert(random.randrange(len(jobs)), jobs.pop(job))
            case 3 if len(servers) > 1:
                servers.pop(server)
            case 4:
                servers.insert(server, random.choice([1, 2]))
            case 5:
                servers[server] = random.choice([1, 2, 3])
            case _:
                jobs[job] = new_job()
    return Case(tuple(servers), tuple(jobs))


def shrink(name: str, claim: str, tries: int, seed: int) -> None:
    """Show ever smaller cases on which the claim fails, beginning with a bundled instance."""
    random = Random(seed)  # noqa: S311 - for a search
    instance = rarmodel.load_instance(name)
    current, slots = case_of(instance), instance.time.horizon
    least = current.size(slots)
    for _ in range(tries):
        case = changed(current, random)
        if sum(case.servers) < max(gpus for gpus, *_ in case.jobs):
            continue
        if case.size(1)[:3] > current.size(1)[:3]:
            continue
        hits = [horizon for horizon, fails in failing(case, range(1, slots + 1)) if fails == claim]
        if not hits or case.size(hits[0])[:4] > current.size(slots)[:4]:
            continue
        current, slots = case, hits[0]
        if current.size(slots) < least and check(current, slots, claim):
            least = current.size(slots)
            print(f"{claim} fails: horizon {slots}, {current}", flush=True)
    print(f"{tries} changes tried")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "all":
        search_all(*map(int, rest))
    else:
        shrink(rest[0], rest[1], int(rest[2]), int(rest[3]))
