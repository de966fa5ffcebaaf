"""The states of rings: how a job can run in a slot, as far as the configuration bound sees it.

A state of job j is a ring size w, a number of servers n, and the most rings p (its own included)
that share a server's link with it. Its speed is an upper bound on that of every ring which the
state stands for; by the count it is exact on a star:

- a ring on one server has no rings beside it, and at most the greatest bandwidth within a server;
- a ring on n ≥ 2 servers uses the link of each of them. On the one that most rings share it gets at
  most `best_share` of the fastest link of any server with p rings; and of n links the slowest is at
  most the n-th fastest. Links further up can only slow it down;
- with several types of GPU it is as fast as on the fastest.

More rings never make a ring faster. So of the numbers p that give one speed, only the greatest
counts: a ring beside fewer others is in that state too. Rings at speed 0 are in no state.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from rarmodel.model import Pace, best_share, paces, topology
from rarmodel.model.lone import within_gbps
from rarmodel.schema import Instance, Job


class RingState(NamedTuple):
    """A way in which a job runs in a slot.

    Attributes
    ----------
    size
        GPUs, w.
    servers
        Servers, n.
    rings
        Most rings on a link of these servers, p.
    speed
        Most iterations in the slot; never more than the job has.
    """

    size: int
    servers: int
    rings: int
    speed: int


Spreading = tuple[RingState, ...]
"""The states of one ring size on one number of servers, fast ones first: a job keeps to it."""


def ring_states(
    instance: Instance, most_rings: int | None = None
) -> Iterator[tuple[Spreading, ...]]:
    """(jobs) The states that each job can be in, apart for each size and number of servers.

    Parameters
    ----------
    instance
        The problem.
    most_rings
        Beside more rings than this, a ring counts as beside so many; None for no limit.
    """
    cluster = instance.cluster
    capacities = sorted((server.gpus for server in cluster.servers), reverse=True)
    within = max(within_gbps(cluster, s) for s in range(len(capacities)))
    tree = topology(cluster)
    gbps = sorted((tree.links[path[0]].gbps for path in tree.paths if path), reverse=True)
    most = min(len(instance.jobs), capacities[0], most_rings or capacities[0])
    fastest = max(gbps, default=within)

    @cache
    def shares(sensitivity: int) -> list[float]:
        return [best_share(instance, fastest, p, sensitivity) for p in range(1, most + 1)]

    def states(pace: Pace, servers: int) -> Iterator[RingState]:
        rates = [within]
        if servers > 1:
            rates = [min(share, gbps[servers - 1]) for share in shares(pace.sensitivity)]
        for p, rate in enumerate(rates, 1):
            speed = min(pace.speed(servers, rate), pace.iterations)
            if speed > 0 and not (
                p < len(rates) and min(pace.speed(servers, rates[p]), pace.iterations) == speed
            ):
                yield RingState(pace.size, servers, p, speed)

    def spreadings(j: int, job: Job) -> Iterator[Spreading]:
        for size, servers in _forms(job, capacities):
            kinds = [pace for (w, _), pace in paces(instance)[j].items() if w == size]
            found = tuple(states(min(kinds, key=lambda pace: pace.compute), servers))
            if found:
                yield found

    return (tuple(spreadings(j, job)) for j, job in enumerate(instance.jobs))


def _forms(job: Job, capacities: list[int]) -> Iterator[tuple[int, int]]:
    """Sizes of a job's ring, and numbers of servers that can hold it."""
    if job.running is not None:
        held = [len(gpus) for gpus in job.running.gpus.values()]
        yield sum(held), len(held)
        return
    for size in job.sizes:
        for servers in range(1, min(size, len(capacities)) + 1):
            if sum(capacities[:servers]) < size:
                continue
            spread = job.spread
            if spread is not None:
                most = spread.max_servers or servers
                if not spread.min_servers <= servers <= most:
                    continue
                if spread.equal and size % servers:
                    continue
            yield size, servers
