"""What the jobs of an instance name elsewhere in it, and whether that is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from rarmodel.errors import FEW, Problem, listed

from .cluster import Cluster, Server
from .gpu_parts import WHOLE_GPU, PartOfGpu, RunningOnGpus, holds, lacking, none_holds
from .job import Job
from .problems import place_of


def problems_among_jobs(jobs: Sequence[Job], others: Collection[str] = ()) -> Iterator[Problem]:
    """Jobs that wait for others which do not exist, or for each other; `others` exist, too."""
    waiting = [(i, job) for i, job in enumerate(jobs) if job.after]
    if not waiting:
        return
    index = {job.name: i for i, job in enumerate(jobs)}
    for i, job in waiting:
        for k, name in enumerate(job.after):
            if name not in index and name not in others:
                yield Problem(f"[{i}].after[{k}]", f"{name!r}; there is no such job")
    yield from _cycles(jobs, index)


def _cycles(jobs: Sequence[Job], index: Mapping[str, int]) -> Iterator[Problem]:
    """One line for each cycle of jobs that wait for each other."""
    begun, done = set[int](), set[int]()

    def waited_for(job: int) -> Iterator[int]:
        return iter(dict.fromkeys(index[name] for name in jobs[job].after if name in index))

    for first in range(len(jobs)):
        # Depth first, without recursion: chains may be as long as there are jobs.
        path: list[tuple[int, Iterator[int]]] = []
        if first not in done:
            begun.add(first)
            path.append((first, waited_for(first)))
        while path:
            here, rest = path[-1]
            job = next(rest, None)
            if job is None:
                done.add(here)
                path.pop()
                continue
            if job in done:
                continue
            if job in begun:
                cycle = [i for i, _ in path]
                names = [jobs[i].name for i in cycle[cycle.index(job) :]] + [jobs[job].name]
                waits = " → ".join(map(repr, names))
                yield Problem(f"[{here}].after", f"a cycle, {waits}; jobs would wait for ever")
                continue
            begun.add(job)
            path.append((job, waited_for(job)))


def problems_with_cluster(jobs: Sequence[Job], cluster: Cluster) -> Iterator[Problem]:
    """Jobs that ask for servers, GPUs, or types, slices or memory of GPUs that it has not."""
    gpus = {server.name: server.gpus for server in cluster.servers}
    types = {server.gpu_type for server in cluster.servers}
    typeless = [server.name for server in cluster.servers if server.gpu_type is None]

    nodes_at = cache(cluster.nodes_at)

    @cache  # Few jobs differ here, and servers may be many.
    def allowed(
        names: tuple[str, ...] | None, kinds: frozenset[str] | None, level: str | None
    ) -> dict[str, list[Server]]:
        """The servers that a job may use; by node of the level within which it stays."""
        named = None if names is None else set(names)
        found: dict[str, list[Server]] = {}
        for server in cluster.servers:
            node = "" if level is None else nodes_at(level).get(server.name)
            if (
                node is not None
                and (named is None or server.name in named)
                and (kinds is None or server.gpu_type in kinds)
            ):
                found.setdefault(node, []).append(server)
        return found

    @cache
    def capacities(
        names: tuple[str, ...] | None,
        kinds: frozenset[str] | None,
        level: str | None,
        part: PartOfGpu,
    ) -> list[list[int]]:
        """GPUs of those of them that can hold such a worker."""
        found = [
            [one.gpus for one in some if holds(cluster, one, part)]
            for some in allowed(names, kinds, level).values()
        ]
        return found or [[]]

    total, levels = cluster.total_gpus, cluster.levels()
    for i, job in enumerate(jobs):
        part = PartOfGpu(job.slices, job.memory_gb)
        plain = job.spread is None and job.servers is None and job.times is None
        if plain and part == WHOLE_GPU and job.sizes[-1] <= total:
            continue  # It fits anywhere.
        sound = True
        for k, name in enumerate(job.servers or ()):
            if name not in gpus:
                sound = False
                yield Problem(f"[{i}].servers[{k}]", f"{name!r}; the cluster has no such server")
        if job.times is not None and typeless:
            sound = False
            message = f"they need the gpu_type of every server; without one: {listed(typeless)}"
            yield Problem(f"[{i}].times", message)
        elif job.times is not None:
            for name in job.times:
                if name not in types:
                    sound = False
                    place = f"[{i}].{place_of(('times', name))}"
                    yield Problem(place, "no server has GPUs of this type")
        level = job.spread and job.spread.within
        if level is not None and level not in levels:
            sound = False
            among = f"; their levels are {listed(levels)}" if levels else ", as no link has a level"
            message = f"{level!r}; no link has this level{among}"
            yield Problem(f"[{i}].spread.within", message)
        if sound:
            kinds = None if job.times is None else frozenset(job.times)
            places = job.servers, kinds, level
            lacks = list(none_holds(i, part, cluster, allowed(*places).values()))
            yield from lacks or _too_large(i, job, total, capacities(*places, part))
    yield from _running(jobs, cluster)


def _too_large(i: int, job: Job, total: int, groups: Sequence[Sequence[int]]) -> Iterator[Problem]:
    """Ring sizes for which no group of servers that the job may use together has room."""
    allowed = [gpus for group in groups for gpus in group]
    room = sum(allowed)
    for k, size in enumerate(job.sizes):
        place = f"[{i}].gpus" if isinstance(job.gpus, int) else f"[{i}].gpus[{k}]"
        if size > total:
            message = f"job {job.name!r} asks for {size} GPUs; the cluster has {total}"
            yield Problem(place, message)
        elif not (job.spread is None and size <= room) and not any(
            has_room(job, size, group) for group in groups
        ):
            spread = f" on {job.spread.told()}" if job.spread else ""
            message = (
                f"job {job.name!r} asks for {size} GPUs{spread}; the servers that it may use, with "
                f"{', '.join(map(str, allowed[:FEW]))}{', …' * (len(allowed) > FEW)} GPUs, have no "
                "room for it"
            )
            yield Problem(place, message)


def has_room(job: Job, size: int, capacities: Sequence[int]) -> bool:
    """Whether a ring of a size, spread as the job asks for, fits servers with so many GPUs."""
    spread = job.spread
    if spread is None:
        return sum(capacities) >= size
    largest = sorted(capacities, reverse=True)
    least = spread.min_servers
    most = min(size, len(largest), spread.max_servers or size)
    if spread.equal:
        return any(
            size % servers == 0 and largest[servers - 1] >= size // servers
            for servers in range(least, most + 1)
        )
    return least <= most and sum(largest[:most]) >= size


def _running(jobs: Sequence[Job], cluster: Cluster) -> Iterator[Problem]:
    """Jobs that run on GPUs which do not exist, are held already, or are none of theirs."""
    servers = {server.name: server for server in cluster.servers}
    levels, nodes_at = cluster.levels(), cache(cluster.nodes_at)
    on_gpus = RunningOnGpus(cluster)
    for i, job in enumerate(jobs):
        if job.running is None:
            continue
        place = f"[{i}].running.gpus"
        for name, indices in job.running.gpus.items():
            server = servers.get(name)
            if server is None:
                yield Problem(place, f"{name!r}; the cluster has no such server")
                continue
            if job.servers is not None and name not in job.servers:
                yield Problem(place, f"{name!r}; it is none of the servers that the job may use")
            if job.times is not None and server.gpu_type not in job.times:
                yield Problem(place, f"{name!r}; times has no entry for its type of GPU")
            if lacks := lacking(cluster, server, PartOfGpu(job.slices, job.memory_gb)):
                yield Problem(place, f"{name!r}; {lacks}")
            for gpu in indices:
                if gpu >= server.gpus:
                    message = f"GPU {gpu} of {name!r}; it has GPUs 0 to {server.gpus - 1}"
                    yield Problem(place, message)
                elif fault := on_gpus.put(server, gpu, job):
                    yield Problem(place, fault)
        if job.spread and not job.spread.kept(map(len, job.running.gpus.values())):
            servers_used = f"{len(job.running.gpus)} server{'s' * (len(job.running.gpus) > 1)}"
            yield Problem(place, f"on {servers_used}; the job asks for {job.spread.told()}")
        if job.spread and (level := job.spread.within):
            nodes = {nodes_at(level).get(name) for name in job.running.gpus}
            if level in levels and (len(nodes) > 1 or None in nodes):
                message = f"on servers that do not lie within one {level}, as the job asks for"
                yield Problem(place, message)
        if job.release > 0:
            message = f"{job.release}; a running job was released by slot 0"
            yield Problem(f"[{i}].release", message)
        if job.after:
            yield Problem(f"[{i}].after", "a running job has nothing left to wait for")
