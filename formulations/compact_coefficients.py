"""The numbers of the compact formulation: ranges, and speeds with their floor, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import NamedTuple

from rarmodel.model import Pace, pace
from rarmodel.model.contention import cards_gbps
from rarmodel.model.lone import allowed_servers, within_gbps
from rarmodel.schema import Job

from .scope import Scope, once_per_scope
from .sharing_forms import Loads, capped_speed, rings_of

Label = int | str
"""Of a shape, by job: the number of servers, or words if that is not all that tells them apart."""


class Shape(NamedTuple):
    """A shape that a job's ring can have: (8) is a number for each bandwidth.

    Attributes
    ----------
    pace
        What an iteration is made of, in one ring size and on GPUs of the slowest type allowed.
    servers
        Number of servers, n.
    on
        Names of the servers that the ring may use: those on which it is no slower.
    together
        Speed φ_j within one server; 0 for several.
    """

    pace: Pace
    servers: int
    on: frozenset[str]
    together: int = 0

    @property
    def size(self) -> int:
        """GPUs of the ring, w_j."""
        return self.pace.size


class Coefficients:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    links
        Links that a ring can use.
    shapes, spread
        By job: the shapes in which it can make progress, by label; labels of those on several
        servers. Shapes of one size and number of servers are in the order of their paces.
    size
        By job that has one ring size: its GPUs G_j.
    workers
        By job and server: the fewest and the most workers that the job can have there.
    rings
        Jobs that can use links: those that can use more than one server.
    spread_shapes
        These jobs and their shapes on several servers.
    lone
        By job and shape on n ≥ 2 servers: the greatest φ_j(h, ℓ, 1) over all links.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.links = list(rings_of(scope).most)
        self.shapes = {j: self._labelled(job) for j, job in scope.jobs.items()}
        sizes = {j: {shape.size for shape in shapes.values()} for j, shapes in self.shapes.items()}
        self.size = {j: max(several) for j, several in sizes.items() if len(several) == 1}
        self.spread = {
            j: [h for h, shape in shapes.items() if shape.servers > 1]
            for j, shapes in self.shapes.items()
        }
        self.rings = [j for j in scope.jobs if self.spread[j]]
        self.spread_shapes = [(j, h) for j in self.rings for h in self.spread[j]]
        self.workers = {
            (j, s): self._workers(job, s) for j, job in scope.jobs.items() for s in scope.servers
        }
        self.lone = {(j, h): self._alone(self.shapes[j][h]) for j, h in self.spread_shapes}

    def speeds(self, j: str, h: Label, link: str) -> tuple[int, ...]:
        """φ_j(h, ℓ, p) for p = 1, 2, … rings on a link, in a shape on n ≥ 2 servers."""
        shape = self.shapes[j][h]
        return rings_of(self._scope).speeds(shape.pace, shape.servers, link)

    def weight(self, j: str, h: Label, to: int, reached: float = inf) -> int:
        """What the ring counts in such a shape to those of a sensitivity; links have one rate.

        Its network cards reach so many Gbit/s.
        """
        shape = self.shapes[j][h]
        gbps = min(reached, *(self._scope.links[l].gbps for l in self.links))
        return shape.pace.weight(self._scope.sharing, shape.servers, gbps, to)

    def weights(self, j: str, h: Label, to: int) -> set[int]:
        """All that the ring may count in such a shape, by the workers at network cards."""
        return {self.weight(j, h, to, rate) for rate in (inf, *self.rates_below(j, h))}

    def rates_below(self, j: str, h: Label) -> set[float]:
        """The rates in Gbit/s that a ring may reach in a shape with network cards idle."""
        return {
            rate for s in self.shapes[j][h].on for rate in self.card_rates(s, self.workers[j, s][1])
        }

    def card_rates(self, server: str, most: int) -> tuple[float, ...]:
        """The rates in Gbit/s that 1, 2, … and up to so many workers reach on a server's cards."""
        cards, s = self._scope.servers[server].network_cards, self._scope.server_index[server]
        if cards == 1:
            return ()
        gbps = self._scope.tree.links[self._scope.tree.paths[s][0]].gbps
        return tuple(cards_gbps(gbps, y, cards) for y in range(1, min(most, cards) + 1))

    def reached(self, workers: Mapping[str, int]) -> float:
        """The most in Gbit/s that the network cards of a placement let its ring have."""
        index = self._scope.server_index
        return self._scope.tree.cards_gbps({index[s]: count for s, count in workers.items()})

    def slowest_on(self, j: str, shape: Shape) -> list[str]:
        """Servers of the slowest type that a shape allows."""
        own = dict(self._paces(self._scope.jobs[j]))[shape.size]
        return [s for s in self._scope.servers if s in shape.on and own[s] == shape.pace]

    def label(self, j: str, workers: Mapping[str, int]) -> Label | None:
        """The shape of a placement: of those that allow it the fastest; None if there is none."""
        like = len(workers), sum(workers.values()), set(workers)
        for h, shape in self.shapes[j].items():
            if (shape.servers, shape.size) == like[:2] and shape.on >= like[2]:
                return h
        return None

    def _workers(self, job: Job, server: str) -> tuple[int, int]:
        if job.running is not None:
            held = len(job.running.gpus.get(server, ()))
            return held, held
        sizes = [shape.size for shape in self.shapes[job.name].values() if server in shape.on]
        return 0, min(self._scope.servers[server].gpus, max(sizes, default=0))

    def _labelled(self, job: Job) -> dict[Label, Shape]:
        """The shapes of a job, by label: the number of servers if this is enough."""
        shapes = [*self._within(job), *self._several(job)]
        if len({shape.servers for shape in shapes}) == len(shapes):
            labelled: dict[Label, Shape] = {shape.servers: shape for shape in shapes}
        else:
            labelled = {self._words(job, shape): shape for shape in shapes}
        return {h: shape for h, shape in labelled.items() if self._moves(shape)}

    def _words(self, job: Job, shape: Shape) -> str:
        if shape.servers == 1:
            return f"{shape.size} on 1 at {shape.together}"
        words = f"{shape.size} on {shape.servers}"
        if job.times is None:
            return words
        return f"{words} {self._scope.servers[self.slowest_on(job.name, shape)[0]].gpu_type}"

    def _paces(self, job: Job) -> Iterator[tuple[int, dict[str, Pace]]]:
        """By ring size: the pace of the ring on each server that the job may use."""
        scope, servers = self._scope, self._scope.servers
        every = list(servers)
        j = scope.index[job.name]
        if job.running is not None:
            own = scope.pace_on(job.name, {s: len(g) for s, g in job.running.gpus.items()})
            yield job.running.size, dict.fromkeys(job.running.gpus, own)
            return
        names = [every[s] for s in sorted(allowed_servers(scope.instance)[j])]
        for size in job.sizes:
            of_type = {
                kind: pace(scope.instance, j, size, [kind])
                for kind in dict.fromkeys(servers[s].gpu_type for s in names)
            }
            yield size, {s: of_type[servers[s].gpu_type] for s in names}

    def _within(self, job: Job) -> Iterator[Shape]:
        """Shapes in one server: by ring size, one for each speed that servers give."""
        cluster = self._scope.instance.cluster
        running = job.running is not None and len(job.running.gpus) > 1
        if running or (job.spread is not None and job.spread.min_servers > 1):
            return
        for size, paces in self._paces(job):
            speeds: dict[str, int] = {}
            for s, own in paces.items():
                if self._scope.servers[s].gpus >= size:
                    gbps = within_gbps(cluster, self._scope.server_index[s])
                    speeds[s] = capped_speed(own, 1, gbps)
            for speed in sorted(set(speeds.values()), reverse=True):
                # Servers that are too small need no word here: there the ring has no room.
                on = frozenset(s for s in paces if speeds.get(s, speed) == speed)
                first = next(s for s in speeds if speeds[s] == speed)
                yield Shape(paces[first], 1, on, speed)

    def _several(self, job: Job) -> Iterator[Shape]:
        """Shapes on several servers: by ring size, their number, and the slowest type allowed."""
        for size, paces in self._paces(job):
            least, most = 2, min(size, len(paces))
            if job.running is not None:
                least, most = max(2, len(paces)), len(paces)
            elif job.spread is not None:
                least = max(least, job.spread.min_servers)
                most = min(most, job.spread.max_servers or most)
            for own in sorted(set(paces.values()), key=lambda one: one.compute):
                on = frozenset(s for s in paces if paces[s].compute <= own.compute)
                largest = sorted((self._scope.servers[s].gpus for s in on), reverse=True)
                for n in range(least, min(most, len(largest)) + 1):
                    if self._has_room(job, size, largest[:n]):
                        yield Shape(own, n, on)

    def _has_room(self, job: Job, size: int, gpus: list[int]) -> bool:
        """Whether a ring has room on servers with so many GPUs."""
        if job.running is None and job.spread is not None and job.spread.equal:
            return size % len(gpus) == 0 and min(gpus) >= size // len(gpus)
        return sum(gpus) >= size

    def _alone(self, shape: Shape) -> int:
        """The greatest speed φ_j(h, ℓ, 1) on any link."""
        scope = self._scope
        alone = (
            scope.sharing.share(scope.instance.contention, scope.links[l].gbps, 0)
            for l in self.links
        )
        return max(capped_speed(shape.pace, shape.servers, gbps) for gbps in alone)

    def _moves(self, shape: Shape) -> bool:
        """Whether a job makes progress in a shape."""
        return (shape.together if shape.servers == 1 else self._alone(shape)) > 0


@once_per_scope
def coefficients(scope: Scope) -> Coefficients:
    """The numbers of a scope."""
    return Coefficients(scope)


@once_per_scope
def loads_of(scope: Scope) -> dict[int, Loads]:
    """By sensitivity: what rings may count to those who have it, where all links have one rate."""
    data, found = coefficients(scope), {}
    for to in scope.sensitivities:
        weights = {
            j: {weight for h in data.spread[j] for weight in data.weights(j, h, to)}
            for j in data.rings
        }
        found[to] = Loads(scope, dict.fromkeys(data.links, weights))
    return found
