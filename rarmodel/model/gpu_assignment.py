"""Assign GPU indices to jobs whose starts, completions and workers per server are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple, TypeVar

from rarmodel.errors import InputError, Problem
from rarmodel.schema import Assignment, Cluster, Instance


class Stay(NamedTuple):
    """A job holds GPUs from one slot until before another.

    Attributes
    ----------
    start, end
        The slots.
    workers
        Workers on each server, by server index.
    gpus
        The GPUs that it holds from slot 0 on, where it runs already; None for others.
    """

    start: int
    end: int
    workers: Mapping[int, int]
    gpus: Mapping[str, tuple[int, ...]] | None = None


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
    held = [job.running.gpus if job.running else None for job in instance.jobs]
    stays = [Stay(*one) for one in zip(starts, completions, workers, held, strict=True)]
    gpus = number_gpus(instance.cluster, stays)
    return tuple(
        Assignment(job=job.name, start=starts[j], gpus=gpus[j])
        for j, job in enumerate(instance.jobs)
    )


def number_gpus(cluster: Cluster, stays: Sequence[Stay]) -> list[dict[str, tuple[int, ...]]]:
    """GPU indices of each stay, by server name: at its start it takes the lowest free ones.

    Raises
    ------
    InputError
        If a server holds more workers than it has GPUs.
    """
    free = [Free(server.gpus) for server in cluster.servers]
    held: list[tuple[int, int, list[int]]] = []
    gpus: list[dict[str, tuple[int, ...]]] = [{} for _ in stays]
    index = {server.name: s for s, server in enumerate(cluster.servers)}
    same: dict[tuple[int, ...], tuple[int, ...]] = {}  # Of a million stays few differ.
    for i, stay in enumerate(stays):
        for name, indices in (stay.gpus or {}).items():
            gpus[i][name] = indices
            server = index[name]
            free[server].hold(indices)
            heappush(held, (stay.end, server, list(indices)))
    coming = (i for i, stay in enumerate(stays) if stay.gpus is None)
    for i in sorted(coming, key=lambda i: (stays[i].start, i)):
        start = stays[i].start
        while held and held[0][0] <= start:
            _, server, released = heappop(held)
            free[server].release(released)
        for server, count in sorted(stays[i].workers.items()):
            name = cluster.servers[server].name
            if free[server].many < count:
                message = f"server {name!r} has {free[server].many} free GPUs, {count} are needed"
                raise InputError([Problem(f"jobs[{i}]", f"at slot {start} {message}")])
            taken = [free[server].take() for _ in range(count)]
            gpus[i][name] = same.setdefault(tuple(taken), tuple(taken))
            heappush(held, (stays[i].end, server, taken))
    return gpus


T = TypeVar("T")


def overlapping(some: Iterable[T], span: Callable[[T], tuple[int, int]]) -> Iterator[list[T]]:
    """What is on one GPU, put together wherever it is there at once with others.

    Parameters
    ----------
    some
        All that is on the GPU at any time.
    span
        From which slot until before which one something is there.
    """
    together: list[T] = []
    last = 0
    for one in sorted(some, key=span):
        start, end = span(one)
        if together and start >= last:
            yield together
            together = []
        last = max(last, end) if together else end
        together.append(one)
    if together:
        yield together


class Free:
    """The free GPUs of a server: the work is by those that are taken, however many there are.

    Parameters
    ----------
    gpus
        GPUs of the server, all free.
    """

    def __init__(self, gpus: int) -> None:
        self.many = gpus
        self._fresh = 0  # No GPU from this one on was ever taken, but for those held.
        self._held: set[int] = set()
        self._returned: list[int] = []  # A heap of free ones below.

    def hold(self, gpus: Iterable[int]) -> None:
        """Take these, which are free."""
        for gpu in gpus:
            self.many -= 1
            self._held.add(gpu)

    def take(self) -> int:
        """Take the lowest free one."""
        self.many -= 1
        if self._returned:
            return heappop(self._returned)
        while self._fresh in self._held:
            self._held.discard(self._fresh)
            self._fresh += 1
        self._fresh += 1
        return self._fresh - 1

    def release(self, gpus: Iterable[int]) -> None:
        """Give back some that were taken."""
        for gpu in gpus:
            self.many += 1
            if gpu < self._fresh:
                heappush(self._returned, gpu)
            else:
                self._held.discard(gpu)
