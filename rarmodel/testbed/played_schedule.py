"""Play a schedule: its jobs as real rings, in the order of the schedule, as fast as they are.

Rates of links and sizes of gradients are divided by one number, so that times stay those of the
instance. A job starts as soon as its GPUs are free. If the schedule lets it wait for longer, it
also waits for the jobs at whose completion it starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector

from rarmodel.defaults import TESTBED_BUFFER_MS
from rarmodel.errors import UsageError
from rarmodel.model import Pace, Topology, plain_pace, topology, unhandled
from rarmodel.model.features import PAPER, TERMS
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import require_feasible

from .measurement_plan import MOST_WORKERS
from .network import made
from .real_rings import RealRing, Work, ready

GOODPUT = 0.94
"""Part of a link's rate that TCP leaves for data, as measured; links are made faster by this."""
_LEAST_MB = 1e-6


@dataclass(frozen=True)
class Part:
    """A job of a schedule, as it is played.

    Attributes
    ----------
    job
        Its name.
    servers
        Index of the server of each worker, in the order of the ring.
    links
        Indices of the links that it uses.
    pace
        Bits and seconds of its iterations.
    rest
        Seconds of an iteration without its exchange over links.
    after
        Indices of the jobs that complete before it starts.
    """

    job: str
    servers: tuple[int, ...]
    links: tuple[int, ...]
    pace: Pace
    rest: float
    after: tuple[int, ...]

    def work(self, scale: float) -> Work:
        """What its real ring does; within a server one worker stands for all."""
        iterations = self.pace.iterations
        if not self.links:
            return Work(self.servers[:1], _LEAST_MB, self.rest, iterations)
        size = len(self.servers)
        megabytes = self.pace.bits * size / (2 * (size - 1) * 8e6)
        return Work(self.servers, max(megabytes / scale, _LEAST_MB), self.rest, iterations)


@dataclass(frozen=True)
class PlayedJob:
    """A job that was played.

    Attributes
    ----------
    job
        Its name.
    start, completion
        Seconds since the first jobs started.
    """

    job: str
    start: float
    completion: float


def parts_of(instance: Instance, schedule: Schedule) -> list[Part]:
    """The jobs of a schedule in the order of their starts.

    Raises
    ------
    UsageError
        If the instance is wider than the paper's problem.
    VerificationError
        If the schedule is not feasible.
    """
    if reason := unhandled(instance, PAPER - TERMS, "the testbed"):
        raise UsageError(reason)
    ends = require_feasible(instance, schedule).completion
    tree = topology(instance.cluster)
    index = {server.name: i for i, server in enumerate(instance.cluster.servers)}
    jobs = {job.name: i for i, job in enumerate(instance.jobs)}
    ordered = sorted(schedule.assignments, key=lambda one: one.start)
    holder: dict[tuple[str, int], int] = {}
    parts: list[Part] = []
    for number, one in enumerate(ordered):
        gpus = [(server, gpu) for server, held in one.gpus.items() for gpu in held]
        after = {holder[gpu] for gpu in gpus if gpu in holder}
        before = {i: ends[other.job] or 0 for i, other in enumerate(ordered[:number])}
        if one.start > max((before[i] for i in after), default=0):
            after |= {i for i, end in before.items() if end == one.start}
        holder.update(dict.fromkeys(gpus, number))
        workers = {index[server]: len(held) for server, held in one.gpus.items() if held}
        links, pace = tree.links_used(workers), plain_pace(instance, jobs[one.job])
        within = instance.cluster.intra_server_gbps
        rest = pace.rest(len(workers)) if links else pace.seconds(1, within)
        ring = tuple(s for s in _in_tree_order(tree) for _ in range(workers.get(s, 0)))
        parts.append(Part(one.job, ring, links, pace, rest, tuple(sorted(after))))
    return parts


def _in_tree_order(tree: Topology) -> list[int]:
    """The servers so that a ring crosses each link once each way (reading 4)."""
    return sorted(range(len(tree.paths)), key=lambda server: tree.paths[server][::-1])


def play(
    instance: Instance,
    schedule: Schedule,
    *,
    scale: float,
    progress: Callable[[str], None] = lambda _: None,
) -> list[PlayedJob]:
    """Play a schedule on a network of its own, with the links of the instance.

    Parameters
    ----------
    instance, schedule
        The problem, and a feasible schedule of it.
    scale
        The number by which rates and sizes are divided.
    progress
        Is told of each job that completes.

    Returns
    -------
    list
        The jobs in the order of their starts in the schedule.

    Raises
    ------
    UsageError
        If there can be no testbed, there is one already, or the jobs have too many workers.
    VerificationError
        If the schedule is not feasible.
    RarmodelError
        If a ring fails.
    """
    parts = parts_of(instance, schedule)
    works = [part.work(scale) for part in parts]
    if (workers := sum(len(work.servers) for work in works)) > MOST_WORKERS:
        raise UsageError(f"the jobs have {workers} workers between servers; at most {MOST_WORKERS}")
    links = [
        link.model_copy(update={"gbps": link.gbps / scale / GOODPUT})
        for link in topology(instance.cluster).links
    ]
    names = [server.name for server in instance.cluster.servers]
    with made(names, links, TESTBED_BUFFER_MS), ready(works) as rings:
        return _played(parts, rings, progress)


def _played(
    parts: Sequence[Part], rings: Sequence[RealRing], progress: Callable[[str], None]
) -> list[PlayedJob]:
    """Let each ring go when those that it waits for have stopped."""
    zero = time.monotonic()
    found: dict[int, PlayedJob] = {}
    waiting = dict(enumerate(parts))
    with DefaultSelector() as running:
        while len(found) < len(parts):
            for number, part in list(waiting.items()):
                if found.keys() >= set(part.after):
                    rings[number].go(time.monotonic())
                    running.register(rings[number], EVENT_READ, number)
                    del waiting[number]
            for key, _ in running.select():
                running.unregister(key.fileobj)
                done = rings[key.data].iterations()
                job = parts[key.data].job
                found[key.data] = PlayedJob(job, done[0].begin - zero, done[-1].end - zero)
                progress(f"{job} completed after {found[key.data].completion:.1f} s")
    return [found[number] for number in range(len(parts))]
