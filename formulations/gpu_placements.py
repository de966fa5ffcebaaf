"""Which GPUs of its servers a job's workers have, where jobs share GPUs (section 15).

Where they do, the speed of a job depends on who else is on its GPUs, so each set of GPUs is a
placement of its own. GPUs of one server on which no job runs at slot 0 can be exchanged. So a model
that may leave schedules out numbers them by the first job on each, in input order: the first job
has the first GPUs, and a later job has GPUs that earlier ones may have, or the next ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product

from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.schema import Schedule

from .scope import Scope, once_per_scope

Gpu = tuple[str, int]
"""Server and index of a GPU."""
Gpus = Mapping[str, tuple[int, ...]]
"""Indices of GPUs by server."""


@once_per_scope
def shares(scope: Scope) -> bool:
    """Whether jobs of a scope may share GPUs."""
    return shares_gpus(scope.instance)


def sets_of_gpus(scope: Scope, name: str, workers: Mapping[str, int]) -> Iterator[Gpus]:
    """All sets of GPUs for a job's workers on servers, but for those that others stand for.

    Parameters
    ----------
    scope
        The scope.
    name
        The job; one that runs at slot 0 has the GPUs that it holds.
    workers
        Its workers by server.
    """
    job = scope.jobs[name]
    if job.running is not None:
        yield {server: tuple(sorted(job.running.gpus[server])) for server in workers}
        return
    some = [list(_on_server(scope, name, server, count)) for server, count in workers.items()]
    for chosen in product(*some):
        yield dict(zip(workers, chosen, strict=True))


def _on_server(scope: Scope, name: str, server: str, count: int) -> Iterator[tuple[int, ...]]:
    gpus = range(scope.servers[server].gpus)
    if scope.every_schedule:
        yield from combinations(gpus, count)
        return
    alike = _alike(scope)[server]
    earlier = _before(scope)[name, server]
    others = [gpu for gpu in gpus if gpu not in set(alike)]
    seen, fresh = alike[:earlier], alike[earlier:]
    for new in range(min(count, len(fresh)) + 1):
        for old in combinations(sorted(others + seen), count - new):
            yield tuple(sorted((*old, *fresh[:new])))


@once_per_scope
def _alike(scope: Scope) -> dict[str, list[int]]:
    """By server: the GPUs on which no job runs at slot 0, ascending."""
    running = (job.running for job in scope.jobs.values() if job.running is not None)
    held = {(s, gpu) for one in running for s, gpus in one.gpus.items() for gpu in gpus}
    return {
        name: [gpu for gpu in range(server.gpus) if (name, gpu) not in held]
        for name, server in scope.servers.items()
    }


@once_per_scope
def _before(scope: Scope) -> dict[tuple[str, str], int]:
    """By job and server: on how many of the GPUs that are alike jobs before it can be, at most."""
    found: dict[tuple[str, str], int] = {}
    for server, alike in _alike(scope).items():
        many = 0
        for name, job in scope.jobs.items():
            found[name, server] = min(many, len(alike))
            if job.running is None:
                many += job.sizes[-1]
    return found


def numbered_in_order(scope: Scope, schedule: Schedule) -> Schedule:
    """The schedule with the GPUs of each server exchanged into the order of the model."""
    if scope.every_schedule or not shares(scope):
        return schedule
    by_job = {one.job: one for one in schedule.assignments}
    number: dict[tuple[str, int], int] = {}
    left = {server: list(alike) for server, alike in _alike(scope).items()}
    free = {(server, gpu) for server, alike in left.items() for gpu in alike}
    for name in scope.jobs:
        for server, gpus in by_job[name].gpus.items():
            for gpu in sorted(gpus):
                if (server, gpu) in free and (server, gpu) not in number:
                    number[server, gpu] = left[server].pop(0)
    # Replicas of services may be on GPUs without jobs, too.
    for server, alike in _alike(scope).items():
        for gpu in alike:
            if (server, gpu) not in number:
                number[server, gpu] = left[server].pop(0)

    def renamed(gpus: Gpus) -> dict[str, tuple[int, ...]]:
        return {
            server: tuple(sorted(number.get((server, gpu), gpu) for gpu in some))
            for server, some in gpus.items()
        }

    jobs = (one.model_copy(update={"gpus": renamed(one.gpus)}) for one in schedule.assignments)
    replicas = (one.model_copy(update={"gpus": renamed(one.gpus)}) for one in schedule.services)
    return schedule.model_copy(update={"assignments": tuple(jobs), "services": tuple(replicas)})


def label_of_gpus(gpus: Gpus) -> str:
    """Label of a placement by GPUs: `s0:0,1 s1:2`."""
    return " ".join(f"{server}:{','.join(map(str, some))}" for server, some in gpus.items())
