"""Assign GPU indices to jobs whose starts, completions and workers per server are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Assignment, Instance


def assign_gpus(
    instance: Instance,
    starts: Sequence[int],
    completions: Sequence[int],
    workers: Sequence[Mapping[int, int]],
) -> tuple[Assignment, ...]:
    """Assign GPU indices: at its start, each job takes the lowest free ones of its servers.

    Running jobs keep theirs. As long as no server holds more workers than it has GPUs, there are
    always enough free ones.

    Parameters
    ----------
    instance
        The problem.
    starts, completions
        (jobs) Start and completion of each job; it holds its GPUs in between.
    workers
        (jobs) Workers on each server, by server index.

    Raises
    ------
    InputError
        If a server holds more workers than it has GPUs.
    """
    free = [list(range(server.gpus)) for server in instance.cluster.servers]
    held: list[tuple[int, int, list[int]]] = []
    gpus: list[dict[str, tuple[int, ...]]] = [{} for _ in instance.jobs]
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    for j, job in enumerate(instance.jobs):
        for name, indices in (job.running.gpus if job.running else {}).items():
            gpus[j][name] = indices
            server = index[name]
            free[server] = [gpu for gpu in free[server] if gpu not in indices]
            heappush(held, (completions[j], server, list(indices)))
    waiting = (j for j, job in enumerate(instance.jobs) if job.running is None)
    for j in sorted(waiting, key=lambda j: (starts[j], j)):
        while held and held[0][0] <= starts[j]:
            _, server, released = heappop(held)
            for gpu in released:
                heappush(free[server], gpu)
        for server, count in sorted(workers[j].items()):
            name = instance.cluster.servers[server].name
            if len(free[server]) < count:
                message = f"server {name!r} has {len(free[server])} free GPUs, {count} are needed"
                raise InputError([Problem(f"jobs[{j}]", f"at slot {starts[j]} {message}")])
            taken = [heappop(free[server]) for _ in range(count)]
            gpus[j][name] = tuple(taken)
            heappush(held, (completions[j], server, taken))
    return tuple(
        Assignment(job=job.name, start=starts[j], gpus=gpus[j])
        for j, job in enumerate(instance.jobs)
    )
