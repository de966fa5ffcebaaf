"""Compact rings: of schedules that are equal in time, the one whose rings use the fewest links.

Methods for the makespan scatter rings where this slows nobody. Here such a ring moves to servers
nearer to each other. All starts and all completions stay, so nothing that counts completions can
get worse. A ring that shares a link with another, where it is or where it would go, stays where it
is: moving it would change how fast others are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from heapq import heappop, heappush
from itertools import groupby
from math import inf

import numpy as np
from numpy.typing import NDArray

from rarmodel.model import pace, topology
from rarmodel.model.gpu_assignment import Stay, number_gpus
from rarmodel.model.interruptions import interrupts
from rarmodel.model.lone import allowed_servers, within_gbps
from rarmodel.model.objectives import TOTAL_LINKS, ties_of
from rarmodel.schema import Assignment, Instance, Schedule, Spread
from rarmodel.verifier import Report, verify

from .spans import Span, Spans

MOST_NODES = 8
"""Nodes of one height below which a ring is tried, those with the least room first."""
MOST_TRIES = 64
"""Sets of servers that are tried below one node."""
MOST_PASSES = 3
"""Passes over all rings: one that moves makes room for another."""

Workers = Mapping[int, int]
Ints = NDArray[np.int64]


def move_to_fewer_links(
    instance: Instance, schedule: Schedule, report: Report, stop: Callable[[], bool] = lambda: False
) -> tuple[Schedule, Report]:
    """Move rings to fewer links, if links decide between equal schedules of the instance.

    Parameters
    ----------
    instance
        The problem.
    schedule, report
        A feasible schedule of it, with the verifier's report.
    stop
        Asked again and again; rings that were not yet considered then stay where they are.

    Returns
    -------
    tuple
        The schedule, with all starts and completions as before, and its report. Where jobs may be
        interrupted it is the schedule that was given.
    """
    if TOTAL_LINKS not in ties_of(instance) or interrupts(instance):
        return schedule, report
    stays = _stays(instance, schedule, report)
    placing = _Placing(instance, stays)
    if not placing.improve(stop):
        return schedule, report
    gpus = number_gpus(
        instance.cluster,
        [stay._replace(workers=placing.workers[j]) for j, stay in enumerate(stays)],
    )
    moved = schedule.model_copy(
        update={
            "assignments": tuple(
                Assignment(job=job.name, start=stay.start, gpus=held)
                for job, stay, held in zip(instance.jobs, stays, gpus, strict=True)
            )
        }
    )
    checked = verify(instance, moved)
    # By construction it is so; the verifier has the last word on every schedule.
    equal = checked.feasible and checked.completion == report.completion
    return (moved, checked) if equal else (schedule, report)


def _stays(instance: Instance, schedule: Schedule, report: Report) -> list[Stay]:
    """(jobs) When each job holds how many GPUs of which servers."""
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    by_job = {assignment.job: assignment for assignment in schedule.assignments}
    stays = []
    for job in instance.jobs:
        assignment, end = by_job[job.name], report.completion[job.name]
        workers = {index[name]: len(gpus) for name, gpus in assignment.gpus.items() if gpus}
        held = None if job.running is None else job.running.gpus
        stays.append(Stay(assignment.start, end or assignment.start, workers, held))
    return stays


class _Placing:
    """Where rings are while some of them move.

    Parameters
    ----------
    instance
        The problem, whose jobs are not interrupted.
    stays
        (jobs) Where and when they are.

    Attributes
    ----------
    workers
        (jobs) Workers on each server, by server index.
    """

    def __init__(self, instance: Instance, stays: Sequence[Stay]) -> None:
        self._instance, self._stays = instance, stays
        self._tree, cluster = topology(instance.cluster), instance.cluster
        self._gpus: Ints = np.array([server.gpus for server in cluster.servers], np.int64)
        self._allowed = allowed_servers(instance)
        self._exchanges = [job.gradient_mb > 0 for job in instance.jobs]
        self._fewest = cache(self._fewest_servers)
        self._heights = cache(self._heights_among)
        self._sizes = [sum(stay.workers.values()) for stay in stays]
        self.workers: list[Workers] = [stay.workers for stay in stays]
        self._links = [self._tree.links_used(workers) for workers in self.workers]
        self._on_server: dict[int, Spans] = {}
        self._on_link: dict[int, Spans] = {}
        index = {server.name: s for s, server in enumerate(cluster.servers)}
        self._reserved = [
            (index[one.server], Span(one.start, inf if one.end is None else one.end, -1, one.gpus))
            for one in cluster.reservations
        ]
        for server, span in self._reserved:
            self._on_server.setdefault(server, Spans()).add(span)
        for j in range(len(stays)):
            self._put(j)

    def improve(self, stop: Callable[[], bool]) -> bool:
        """Move rings to fewer links as long as there are some; return whether any moved."""
        moved = self._place_anew(stop)
        for _ in range(MOST_PASSES):
            if not self._pass(stop):
                break
            moved = True
        return moved

    def _place_anew(self, stop: Callable[[], bool]) -> bool:
        """Take all rings away that may move, and place them one by one; return whether that gains.

        It does so only if there is a place for each, and all use fewer links than before.
        """
        before = list(zip(self.workers, self._links, strict=True))
        lifted = {j for j in range(len(before)) if self._may_move(j)}
        if not any(map(self._worth_a_look, lifted)):
            return False
        for j in lifted:
            self._put(j, away=True)
        there: list[int] = []
        for j, free in self._starting(lifted):
            if j in lifted:
                if stop() or not self._move(j, free, inf):
                    break
                there.append(j)
        links = sum(map(len, self._links))
        if len(there) == len(lifted) and links < sum(len(used) for _, used in before):
            return True
        for j in there:
            self._put(j, away=True)
        for j in lifted:
            self.workers[j], self._links[j] = before[j]
            self._put(j)
        return False

    def _pass(self, stop: Callable[[], bool]) -> bool:
        """Consider each ring once, in the order of starts."""
        moved = False
        for j, free in self._starting():
            if self._worth_a_look(j) and not stop():
                moved |= self._move(j, free, len(self._links[j]))
        return moved

    def _starting(self, lifted: Collection[int] = ()) -> Iterator[tuple[int, Ints]]:
        """Each job when it starts, with the GPUs of each server that are free then without it.

        Parameters
        ----------
        lifted
            Jobs that hold nothing until they were given. The larger ones of a slot come first.
        """
        order = sorted(
            range(len(self._stays)),
            key=lambda j: (self._stays[j].start, j in lifted, -self._sizes[j]),
        )
        reserved = sorted((span.start, server, span) for server, span in self._reserved)[::-1]
        held = np.zeros(len(self._gpus), np.int64)
        ends: list[tuple[float, int, int]] = []
        for start, group in groupby(order, key=lambda j: self._stays[j].start):
            some = list(group)
            while reserved and reserved[-1][0] <= start:
                _, server, span = reserved.pop()
                held[server] += span.gpus
                heappush(ends, (span.end, server, span.gpus))
            while ends and ends[0][0] <= start:
                _, server, gpus = heappop(ends)
                held[server] -= gpus
            for j in some:
                if j not in lifted:
                    _hold(held, self.workers[j], 1)
            for j in some:
                if j not in lifted:
                    _hold(held, self.workers[j], -1)
                yield j, self._gpus - held
                _hold(held, self.workers[j], 1)
                for server, count in self.workers[j].items():
                    heappush(ends, (self._stays[j].end, server, count))

    def _may_move(self, j: int) -> bool:
        """Whether a job did not run at slot 0, and its ring meets no other that it matters to."""
        return self._instance.jobs[j].running is None and self._quiet(j, self._links[j])

    def _worth_a_look(self, j: int) -> bool:
        """Whether a ring may move, and may be on fewer links."""
        size, spread = self._sizes[j], self._instance.jobs[j].spread
        return len(self._links[j]) > self._fewest(
            self._allowed[j], size, spread
        ) and self._may_move(j)

    def _fewest_servers(self, allowed: frozenset[int], size: int, spread: Spread | None) -> int:
        """No ring of a size uses fewer links: 0 on one server, else as many as servers."""
        left, servers = size, 0
        for gpus in sorted(self._gpus[[*allowed]].tolist(), reverse=True):
            if left <= 0:
                break
            left, servers = left - gpus, servers + 1
        servers = max(servers, 1 if spread is None else spread.min_servers)
        return 0 if servers == 1 else servers

    def _quiet(self, j: int, links: Collection[int]) -> bool:
        """Whether no ring uses any of these links, while a job runs, that changes its speed.

        Nor may the job change theirs. Rings that exchange nothing do not matter to each other.
        """
        span = self._span(j, 0)
        return not any(
            self._exchanges[j] or self._exchanges[other.job]
            for link in links
            if link in self._on_link
            for other in self._on_link[link].beside(span)
        )

    def _move(self, j: int, free: Ints, links: float) -> bool:
        """Move a ring to the fewest links that there are for it, less than so many, if it can."""
        best, fewest = None, links
        for workers in self._places(j, free):
            used = self._tree.links_used(workers)
            if len(used) < fewest and self._as_fast(j, workers) and self._quiet(j, used):
                best, fewest = workers, len(used)
        if best is None:
            return False
        if links < inf:
            self._put(j, away=True)
        self.workers[j], self._links[j] = best, self._tree.links_used(best)
        self._put(j)
        return True

    def _places(self, j: int, free: Ints) -> Iterator[Workers]:
        """Servers with room for a ring: one, or some that lie below one node, lower nodes first.

        Parameters
        ----------
        j
            The job.
        free
            (servers) GPUs that are free when it starts, without its own. Where less is free later,
            this is written here as it becomes known.
        """
        job, size = self._instance.jobs[j], self._sizes[j]
        spread, known = job.spread or Spread(), set[int]()
        one_server, *heights = self._heights(self._allowed[j], spread.within)
        if spread.min_servers == 1:
            yield from self._with_room(j, one_server[0], free, Spread(max_servers=1), known)
        for height in heights:
            room = [int(free[below].sum()) for below in height]
            enough = [node for node in range(len(height)) if room[node] >= size]
            for node in sorted(enough, key=lambda node: room[node])[:MOST_NODES]:
                yield from self._with_room(j, height[node], free, spread, known)

    def _with_room(
        self, j: int, servers: Ints, free: Ints, spread: Spread, known: set[int]
    ) -> Iterator[Workers]:
        """The first way to spread a ring over some servers for which there is room."""
        size = self._sizes[j]
        for _ in range(MOST_TRIES):
            workers = _filled(servers, free[servers], size, spread)
            if workers is None:
                return
            for s in workers.keys() - known:
                free[s] = self._room(s, j)
            known |= workers.keys()
            if all(free[s] >= count for s, count in workers.items()):
                yield workers
                return

    def _heights_among(self, allowed: frozenset[int], level: str | None) -> list[list[Ints]]:
        """Servers that a job may use: all, then those below each node, lower nodes first."""
        heights: list[Sequence[frozenset[int]]] = [[allowed], *reversed(self._tree.layers())]
        if level is None:
            heights.append([allowed])
        else:
            inside = self._tree.below_each(level)
            heights[1:] = [[a for a in some if any(a <= b for b in inside)] for some in heights[1:]]
            heights.append(inside)
        usable = [[np.array(sorted(one & allowed), np.int64) for one in some] for some in heights]
        return [[one for one in some if len(one)] for some in usable]

    def _as_fast(self, j: int, workers: Workers) -> bool:
        """Whether a ring that meets no other is as fast there as where it was at first."""
        return self._speed(j, workers) == self._speed(j, self._stays[j].workers)

    def _speed(self, j: int, workers: Workers) -> int:
        """Iterations a slot of a ring that meets no other."""
        cluster, gbps = self._instance.cluster, self._tree.lone_gbps(workers)
        if len(workers) == 1:
            gbps = within_gbps(cluster, next(iter(workers)))
        types = [cluster.servers[s].gpu_type for s in workers]
        own = pace(self._instance, j, sum(workers.values()), types)
        return own.speed(len(workers), gbps)

    def _room(self, server: int, j: int) -> int:
        """GPUs of a server that are free in all slots of a job."""
        spans = self._on_server.get(server)
        held = 0 if spans is None else spans.most_held(self._span(j, 0))
        return int(self._gpus[server]) - held

    def _span(self, j: int, gpus: int) -> Span:
        return Span(self._stays[j].start, self._stays[j].end, j, gpus)

    def _put(self, j: int, *, away: bool = False) -> None:
        """Note where a job is, or take that away."""
        for s, count in self.workers[j].items():
            spans = self._on_server.setdefault(s, Spans())
            (spans.remove if away else spans.add)(self._span(j, count))
        for link in self._links[j]:
            spans = self._on_link.setdefault(link, Spans())
            (spans.remove if away else spans.add)(self._span(j, 0))


def _hold(held: Ints, workers: Workers, times: int) -> None:
    """Add what a ring holds, so many times."""
    for server, count in workers.items():
        held[server] += times * count


def _filled(servers: Ints, free: Ints, size: int, spread: Spread) -> dict[int, int] | None:
    """Workers on the fewest of some servers; None if a ring cannot be spread so.

    The servers with the most room are filled. The rest goes where it leaves the least room.
    """
    most = min(size, len(servers), spread.max_servers or size)
    if spread.equal:
        for number in range(spread.min_servers, most + 1):
            each, rest = divmod(size, number)
            fitting = np.flatnonzero(free >= each)
            if rest == 0 and len(fitting) >= number:
                tightest = fitting[np.argsort(free[fitting], kind="stable")[:number]]
                return dict.fromkeys(servers[tightest].tolist(), each)
        return None
    order = np.argsort(-free, kind="stable")
    number = int(np.searchsorted(np.cumsum(np.maximum(free[order], 0)), size)) + 1
    number = max(number, spread.min_servers)
    if number > most or free[order[number - 1]] < 1:
        return None
    full = order[: number - 1]
    workers: dict[int, int] = {}
    left = size
    for place, s in enumerate(full.tolist()):
        workers[int(servers[s])] = count = min(int(free[s]), left - (number - 1 - place))
        left -= count
    others = order[number - 1 :]
    last = others[free[others] >= left][-1]
    workers[int(servers[last])] = left
    return workers
