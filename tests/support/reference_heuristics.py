"""SJF-BCO and the baselines written naively from their description, with the verifier as clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rarmodel.model import horizon_of, job_extremes
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate

Gpu = tuple[int, int]
Placed = dict[int, tuple[int, list[Gpu]]]
Choice = Callable[["Naive", int], list[Gpu] | None]


class Naive:
    """State of the naive clock: accumulated time of each GPU, and what is placed."""

    def __init__(self, instance: Instance, limit: float) -> None:
        self.instance = instance
        self.limit = limit
        self.work = [extreme.least_slots for extreme in job_extremes(instance)]
        self.gpus: list[Gpu] = [
            (s, g) for s, server in enumerate(instance.cluster.servers) for g in range(server.gpus)
        ]
        self.load = dict.fromkeys(self.gpus, 0.0)
        self.clock = 0
        self.placed: Placed = {}

    def completions(self) -> dict[int, int | None]:
        runs = []
        for job, (start, gpus) in self.placed.items():
            servers = [s for s, _ in gpus]
            workers = {s: servers.count(s) for s in set(servers)}
            runs.append(Run(self.instance.jobs[job], start, workers))
        return dict(zip(self.placed, simulate(self.instance, runs).completion, strict=True))

    def busy(self) -> set[Gpu]:
        ends = self.completions()
        return {
            gpu
            for job, (_, gpus) in self.placed.items()
            if (end := ends[job]) is None or end > self.clock
            for gpu in gpus
        }

    def available(self, job: int) -> list[Gpu]:
        busy = self.busy()
        return [
            gpu
            for gpu in self.gpus
            if gpu not in busy and self.load[gpu] + self.work[job] <= self.limit
        ]

    def run(self, order: Iterable[int], choose: Choice) -> int | None:
        for job in order:
            while (chosen := choose(self, job)) is None:
                later = [e for e in self.completions().values() if e is not None and e > self.clock]
                if not later:
                    return None
                self.clock = min(later)
            for gpu in chosen:
                self.load[gpu] += self.work[job]
            self.placed[job] = (self.clock, chosen)
        ends = list(self.completions().values())
        return None if None in ends else max(end for end in ends if end is not None)


def fa_ffp(naive: Naive, job: int, *, occupied_first: bool = False) -> list[Gpu] | None:
    """Algorithm 2."""
    hosting = {server for server, _ in naive.busy()}

    def key(gpu: Gpu) -> tuple[object, ...]:
        empty = gpu[0] not in hosting
        return (empty, naive.load[gpu], gpu) if occupied_first else (naive.load[gpu], empty, gpu)

    size = naive.instance.jobs[job].size
    best = sorted(naive.available(job), key=key)[:size]
    return best if len(best) == size else None


def lbsgf(naive: Naive, job: int, servers_factor: float) -> list[Gpu] | None:
    """Algorithm 3."""
    servers = naive.instance.cluster.servers
    size = naive.instance.jobs[job].size
    share = [
        sum(naive.load[s, g] for g in range(server.gpus)) / server.gpus
        for s, server in enumerate(servers)
    ]
    chosen, capacity = list[int](), 0
    for s in sorted(range(len(servers)), key=lambda s: (share[s], s)):
        if capacity >= servers_factor * size:
            break
        chosen.append(s)
        capacity += servers[s].gpus
    best = sorted(
        (gpu for gpu in naive.available(job) if gpu[0] in chosen),
        key=lambda gpu: (naive.load[gpu], chosen.index(gpu[0]), gpu[1]),
    )[:size]
    return best if len(best) == size else None


def first_fit(naive: Naive, job: int) -> list[Gpu] | None:
    size = naive.instance.jobs[job].size
    first = naive.available(job)[:size]
    return first if len(first) == size else None


def list_scheduling(naive: Naive, job: int) -> list[Gpu] | None:
    size = naive.instance.jobs[job].size
    best = sorted(naive.available(job), key=lambda gpu: (naive.load[gpu], gpu))[:size]
    return best if len(best) == size else None


def bisect(
    instance: Instance, order: Iterable[int], choices: list[Choice]
) -> tuple[int, int, Placed] | None:
    """Algorithm 1, as printed: makespan, limit, and what is placed."""
    order = list(order)
    best: tuple[int, int, Placed] | None = None
    left, right = 1, horizon_of(instance)
    while left <= right:
        limit = (left + right) // 2
        improved = False
        for choose in choices:
            naive = Naive(instance, limit)
            makespan = naive.run(order, choose)
            to_beat = best[0] if best else horizon_of(instance) + 1
            if makespan is not None and makespan < to_beat:
                best = (makespan, limit, naive.placed)
                improved = True
        if improved:
            right = limit - 1
        else:
            left = limit + 1
    return best


def sjf_bco(
    instance: Instance, *, servers_factor: float = 1.0, occupied_first: bool = False
) -> tuple[int, int, Placed] | None:
    """SJF-BCO with every κ from 1 to the largest job."""

    def choice(kappa: int) -> Choice:
        def choose(naive: Naive, job: int) -> list[Gpu] | None:
            if instance.jobs[job].size <= kappa:
                return fa_ffp(naive, job, occupied_first=occupied_first)
            return lbsgf(naive, job, servers_factor)

        return choose

    order = sorted(range(len(instance.jobs)), key=lambda j: instance.jobs[j].size)
    largest = max(job.size for job in instance.jobs)
    return bisect(instance, order, [choice(kappa) for kappa in range(1, largest + 1)])
