"""What the terms of real networks change: makespans, order of methods, plans that go astray.

    python docs/terms_that_change.py

prints the table of `docs/how-true.md`, in about a minute. For each instance and method, one
schedule is made with the paper's terms, and one with those of real networks. Both are then played
in the world with these terms: jobs keep their GPUs and their order on them, and start when these
are free.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import rarmodel
from rarmodel.model import bandwidths, topology
from rarmodel.model.lone import within_gbps
from rarmodel.model.ring_rates import Pace, plain_pace

INSTANCES = ("paper-160", "philly-2869ce", "rack-tree", "fragmented-uneven", "start-later")
METHODS = ("first-fit", "list-scheduling", "sjf-bco", "search")
ITERATIONS = 20
"""Of the search: the same on every machine."""
WORLD: Mapping[str, float] = {"overlap": 2.3, "latency_ms": 0.1}
"""γ as fitted on the cluster `aws`, and λ as on `dgx`."""
CARDS = 3
"""Network cards of a server, as fitted to all-reduces between A100 servers."""


def real(instance: rarmodel.Instance) -> rarmodel.Instance:
    """The instance with the terms of real networks."""
    servers = tuple(
        server.model_copy(update={"network_cards": CARDS}) for server in instance.cluster.servers
    )
    return instance.model_copy(
        update={
            "contention": instance.contention.model_copy(update=dict(WORLD)),
            "cluster": instance.cluster.model_copy(update={"servers": servers}),
        }
    )


def solved(instance: rarmodel.Instance, method: str) -> rarmodel.Schedule | None:
    """A method's schedule; None if it finds none within the horizon."""
    iterations = ITERATIONS if method == "search" else None
    found = rarmodel.solve(instance, method=method, iterations=iterations, threads=1)
    return found.schedule


def waits(
    planned: rarmodel.Instance, schedule: rarmodel.Schedule
) -> list[tuple[int, dict[int, int], set[int]]]:
    """The jobs in the order of their starts: job, workers by server, and jobs that they wait for.

    A job waits for those that held its GPUs, and for those at whose end it starts if its GPUs were
    free before.
    """
    ends = rarmodel.verify(planned, schedule).completion
    server = {one.name: s for s, one in enumerate(planned.cluster.servers)}
    number = {job.name: j for j, job in enumerate(planned.jobs)}
    holder: dict[tuple[str, int], int] = {}
    found: list[tuple[int, dict[int, int], set[int]]] = []
    begun: list[tuple[int, int]] = []
    for one in sorted(schedule.assignments, key=lambda one: one.start):
        gpus = [(name, gpu) for name, held in one.gpus.items() for gpu in held]
        after = {holder[gpu] for gpu in gpus if gpu in holder}
        if one.start > max((ends[planned.jobs[j].name] or 0 for j in after), default=0):
            after |= {j for j, end in begun if end == one.start}
        job = number[one.job]
        holder.update(dict.fromkeys(gpus, job))
        begun.append((job, ends[one.job] or 0))
        workers = {server[name]: len(held) for name, held in one.gpus.items() if held}
        found.append((job, workers, after))
    return found


def played(
    planned: rarmodel.Instance, schedule: rarmodel.Schedule, world: rarmodel.Instance
) -> float:
    """Makespan in slots of a schedule of one instance, carried out in another one."""
    tree = topology(world.cluster)
    gbps = [link.gbps for link in tree.links]
    jobs = waits(planned, schedule)
    left = {job: float(world.jobs[job].iterations) for job, _, _ in jobs}
    placed = {job: workers for job, workers, _ in jobs}
    running: dict[int, tuple[Pace, Any]] = {}
    done: set[int] = set()
    now = 0.0
    while len(done) < len(jobs):
        for job, workers, after in jobs:
            if job not in running and job not in done and after <= done:
                links, pace = tree.links_used(workers), plain_pace(world, job)
                ring = pace.on_links(links, len(workers), tree.cards_gbps(workers))
                running[job] = pace, ring
        seconds = {
            job: pace.seconds(1, within_gbps(world.cluster, next(iter(placed[job]))))
            for job, (pace, ring) in running.items()
            if not ring.links
        }
        linked = [job for job, (_, ring) in running.items() if ring.links]
        shares = bandwidths(world.contention, gbps, [running[job][1] for job in linked])
        for job, share in zip(linked, shares, strict=True):
            seconds[job] = running[job][0].seconds(len(placed[job]), share)
        step = min(left[job] * seconds[job] for job in running)
        now += step
        for job in [*running]:
            left[job] -= step / seconds[job]
            if left[job] * seconds[job] <= 1e-9 * now:
                del running[job]
                done.add(job)
    return now / world.time.slot_seconds


def cell(paper: rarmodel.Instance, world: rarmodel.Instance, method: str) -> str:
    """Both makespans, and what the plan with the paper's terms loses if it is 0.5 % at least."""
    first, second = solved(paper, method), solved(world, method)
    if first is None or second is None:
        return "none"
    found = f"{rarmodel.verify(paper, first).makespan} / {rarmodel.verify(world, second).makespan}"
    lost = played(paper, first, world) / played(world, second, world) - 1.0
    return f"{found} ({lost:+.1%})" if abs(lost) >= 0.005 else found


def main() -> None:
    """Print the table."""
    print(f"| instance | {' | '.join(f'`{method}`' for method in METHODS)} |")
    print(f"|---|{'---|' * len(METHODS)}")
    for name in INSTANCES:
        paper = rarmodel.load_instance(name)
        world = real(paper)
        cells = (cell(paper, world, method) for method in METHODS)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
