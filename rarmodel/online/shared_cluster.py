"""The cluster at work where jobs share GPUs: who is on which GPU, and how fast they all are.

Counts by server do not describe such a state, so this has the GPUs of each job. It is the same to
policies as `WorkingCluster`, whose engine serves instances in which nobody shares. Between two
events speeds are constant: they are computed anew, by the plain functions of the model, when
somebody begins or ends to work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.model.gpu_sharing import fraction_held
from rarmodel.model.interruptions import checkpoint_interval, kept_iterations
from rarmodel.model.link_shares import bandwidths
from rarmodel.model.lone import within_gbps
from rarmodel.model.ring_rates import Pace, Paces, paces_of, slowest_pace
from rarmodel.model.sharing_rule import RingOnLinks
from rarmodel.model.timing import restore_slots
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from .arriving_jobs import Jobs
from .cluster_at_work import NOT_HELD, Stay
from .idle_capacity import Ring
from .occupation import Gpu, Gpus, Occupation, each_gpu
from .supplies import Supplies

Floats = npt.NDArray[np.float64]


@dataclass(slots=True)
class SharedStay(Stay):
    """A job holds certain GPUs.

    Attributes
    ----------
    gpus
        Their indices by server.
    """

    gpus: Gpus | None = None


class Room(NamedTuple):
    """GPUs as policies see them.

    Attributes
    ----------
    idle
        (servers) GPUs on which nobody is, and that are not reserved.
    capacity
        (servers) GPUs that are not reserved.
    """

    idle: Ints
    capacity: Ints


class SharedCluster:
    """Jobs that hold GPUs, by number in order of arrival; time goes on by `advance`.

    Attributes
    ----------
    now, restore, stays, stopped, past, holds, held, since, served, completion, lost_work
        As of `WorkingCluster`; `held` counts workers.
    gpus
        Who is on which GPU.
    """

    def __init__(self, instance: Instance, jobs: Jobs, lending: Collection[str] = ()) -> None:
        self.instance, self.jobs = instance, jobs
        self.tree = topology(instance.cluster)
        self.restore = restore_slots(instance)
        self.now = 0
        self._supplies = Supplies(instance)
        self.gpus = Occupation(instance, jobs, self._supplies)
        self.stays: dict[int, SharedStay] = {}
        self.stopped: dict[int, SharedStay] = {}
        self.past: list[Stay] = []
        count = len(jobs.index)
        self.holds: npt.NDArray[np.bool_] = np.zeros(count, np.bool_)
        self.held: Ints = np.zeros(count, np.int64)
        self.since: Ints = np.full(count, NOT_HELD, np.int64)
        self.completion: Ints = np.full(count, NEVER, np.int64)
        self.lost_work: Ints = np.zeros(count, np.int64)
        self._job = [instance.jobs[j] for j in jobs.index.tolist()]
        self.served: Floats = np.zeros(count)
        self._served = [Fraction(0)] * count
        self._ran = [False] * count
        self._left = [job.iterations_left for job in self._job]
        self._over: list[SharedStay] = []
        self._speed: dict[int, int] | None = None
        self._paces: dict[int, Paces] = {}
        index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
        for k, job in enumerate(self._job):
            if job.running is not None:
                gpus = {index[name]: tuple(sorted(g)) for name, g in job.running.gpus.items()}
                exempt = job.name not in lending
                self._hold(SharedStay(k, 0, _counts(gpus), 0, kept=True, exempt=exempt, gpus=gpus))

    @property
    def room(self) -> Room:
        """GPUs as policies see them."""
        servers = range(len(self.instance.cluster.servers))
        idle = np.array([self.gpus.idle(s) for s in servers], np.int64)
        return Room(idle, self._supplies.there[: len(servers)])

    def next_event(self) -> int:
        """The next completion or end of a restoration; NEVER if nobody makes progress."""
        speeds = self._speeds()
        ends = [self.now - -self._left[k] // speed for k, speed in speeds.items() if speed]
        ups = [stay.up for stay in self.stays.values() if stay.up > self.now]
        return min((*ends, *ups), default=NEVER)

    def next_change(self) -> int:
        """The next change of a capacity, as by a reservation; NEVER if there is none."""
        return self._supplies.next_change()

    def advance(self, slot: int) -> list[int]:
        """Go to a slot that is no later than the next event; the jobs that complete in it."""
        if slot > self.now:
            for k, speed in self._speeds().items():
                self._left[k] = max(0, self._left[k] - speed * (slot - self.now))
            if any(self.now < stay.up <= slot for stay in self.stays.values()):
                self._speed = None
        self.now = slot
        self.gpus.go_to(slot)
        completed = sorted(k for k in self.stays if self._left[k] == 0)
        for k in completed:
            self.completion[k] = slot
            self.past.append(self._leave(k))
            self._paces.pop(k, None)
        return completed

    def reserve(self) -> bool:
        """Change the capacities that change in this slot; whether there are any.

        Where more GPUs of a server are in use than is left, all jobs of a GPU give way, and first
        of the GPU whose first job began last. A job that runs at slot 0 keeps its GPUs; those that
        joined it there may have to leave when it is complete. Where more of a resource is in use,
        its users that began last give way.
        """
        changed = len([*self._supplies.changes(self.now)]) > 0
        for server in range(len(self.instance.cluster.servers)):
            while self.gpus.too_many(server):
                groups = [*self.gpus.may_leave(server)]
                for k in max(groups, key=lambda some: min(map(self._begun, some))):
                    self.stop(k)
        for limit in range(len(self._supplies.there) - len(self.instance.cluster.servers)):
            for k in sorted(self.gpus.users_of(limit), key=self._begun, reverse=True):
                if self.gpus.left(limit) < 0:
                    self.stop(k)
        return changed

    def _begun(self, k: int) -> tuple[int, int]:
        return self.stays[k].start, k

    def start(self, k: int, gpus: Gpus) -> None:
        """A job takes GPUs; it is restored first if it ran before.

        Where it stopped in this slot, it goes on as if it had not. Elsewhere it goes on with what
        its last checkpoint keeps.
        """
        stay = self.stopped.get(k)
        if stay is not None and stay.gpus == gpus:
            del self.stopped[k]
            self._serve(k, -self._service(stay))
        else:
            if stay is not None:
                self._lose(k)
            up = self.now + self.restore if self._ran[k] else self.now
            stay = SharedStay(k, self.now, _counts(gpus), up, gpus=gpus)
        self._hold(stay)

    def stop(self, k: int) -> None:
        """A job gives its GPUs back without being complete.

        A stay that began in this slot counts as if it had not been. But whoever left another place
        for it in this slot has left that for good.
        """
        if k in self.stopped:
            self._over.append(self.stopped[k])
        self.stopped[k] = self._leave(k)
        self._ran[k] = self._served[k] > 0 or self._job[k].running is not None

    def settle(self) -> int:
        """Nothing more happens in this slot; how many jobs were interrupted in it."""
        for k in self.stopped:
            if not self.holds[k]:
                self._lose(k)
        over = [stay for stay in (*self._over, *self.stopped.values()) if stay.end > stay.start]
        self.past += over
        self._over.clear()
        self.stopped.clear()
        return len(over)

    def kept(self, some: Ints) -> Ints:
        """Iterations that some jobs would keep if they stopped now."""
        return np.array([self._kept(k) for k in some.tolist()], np.int64)

    def left(self, some: Ints) -> Ints:
        """Iterations that some jobs have to do."""
        return np.array([self._left[k] for k in some.tolist()], np.int64)

    def attained(self, some: Ints) -> Floats:
        """GPU slots that some jobs held so far; a worker of some slices holds a part of a GPU."""
        return np.array([float(self._attained(k)) for k in some.tolist()])

    def speed_among(self, k: int, gpus: Gpus, beside: Occupation) -> int:
        """Iterations per slot of a job on some GPUs beside others."""
        ring = _counts(gpus)
        rate = within_gbps(self.instance.cluster, next(iter(ring)))
        if own := self._on_links(k, ring):
            linked = {
                o: one for o, at in beside.at.items() if (one := self._on_links(o, _counts(at)))
            }
            rate = self._rates({**linked, k: own})[k]
        load = max(beside.load(k, beside.on(gpu)) for gpu in each_gpu(gpus))
        return self._pace(k, ring).beside(load).speed(len(ring), rate)

    def types_of_all(self, some: Sequence[int]) -> set[str | None]:
        """Types of GPU on which workers of some jobs fit together onto one."""
        allowed = self.jobs.allowed[self.jobs.row[[*some]]].all(axis=0)
        servers = self.instance.cluster.servers
        there = np.flatnonzero(allowed).tolist()
        return {servers[s].gpu_type for s in there if self.gpus.fit_together(some, s)}

    def mates(self, k: int) -> set[int]:
        """The other jobs on some of a job's GPUs; none if it has none."""
        return self.gpus.beside(self.gpus.at[k]) - {k} if k in self.gpus.at else set()

    def rings_on_links(self, at: Mapping[int, Gpus]) -> Ints:
        """(servers) Rings on the link of each server, of jobs on their GPUs."""
        link_of = {link.node: i for i, link in enumerate(self.tree.links)}
        used = Counter(link for gpus in at.values() for link in self.tree.links_used(_counts(gpus)))
        names = [server.name for server in self.instance.cluster.servers]
        return np.array([used[link_of.get(name, -1)] for name in names], np.int64)

    def lost(self, k: int, ring: Ring, at: Mapping[int, Gpus]) -> tuple[float, float]:
        """What a ring would take from others on its links, and have; see `Site.lost`."""
        linked = {o: own for o, gpus in at.items() if (own := self._on_links(o, _counts(gpus)))}
        before = self._rates(linked)
        new = self._on_links(k, ring)
        after = self._rates({**linked, k: new} if new else linked)
        lost = 0.0
        for o, rate in before.items():
            pace, servers = self._pace(o, _counts(at[o])), len(at[o])
            if speed := pace.speed(servers, rate):
                lost += 1.0 - pace.speed(servers, after[o]) / speed
        gbps = after[k] if new else within_gbps(self.instance.cluster, next(iter(ring)))
        return lost, self._pace(k, ring).speed(len(ring), gbps) / int(self.jobs.speed[k])

    def _attained(self, k: int) -> Fraction:
        stay = self.stays.get(k)
        now = Fraction(0) if stay is None else self._held_by(stay) * (self.now - stay.start)
        return self._served[k] + now

    def _speeds(self) -> dict[int, int]:
        """Iterations per slot of the jobs that work now."""
        if self._speed is None:
            working = {k: stay.gpus or {} for k, stay in self.stays.items() if stay.up <= self.now}
            self._speed = self._speeds_of(working)
        return self._speed

    def _speeds_of(self, working: dict[int, Gpus]) -> dict[int, int]:
        """Speeds of jobs on GPUs; nobody else works."""
        users: dict[Gpu, list[int]] = {}
        for k, gpus in working.items():
            for gpu in each_gpu(gpus):
                users.setdefault(gpu, []).append(k)
        rings = {k: own for k, gpus in working.items() if (own := self._on_links(k, _counts(gpus)))}
        gbps = self._rates(rings)
        found = {}
        for k, gpus in working.items():
            load = max(self.gpus.load(k, users[gpu]) for gpu in each_gpu(gpus))
            rate = gbps.get(k) or within_gbps(self.instance.cluster, next(iter(gpus)))
            found[k] = self._pace(k, _counts(gpus)).beside(load).speed(len(gpus), rate)
        return found

    def _rates(self, rings: Mapping[int, RingOnLinks]) -> dict[int, float]:
        """Bandwidth of each ring between servers in Gbit/s; no others are there."""
        links = [link.gbps for link in self.tree.links]
        rates = bandwidths(self.instance.contention, links, [*rings.values()])
        return dict(zip(rings, rates, strict=True))

    def _on_links(self, k: int, ring: Ring) -> RingOnLinks | None:
        links = self.tree.links_used(ring) if len(ring) > 1 else ()
        if not links:
            return None
        return self._pace(k, ring).on_links(links, len(ring), self.tree.cards_gbps(ring))

    def _pace(self, k: int, ring: Ring) -> Pace:
        job = self._job[k]
        if k not in self._paces:
            self._paces[k] = paces_of(self.instance, job)
        types = [self.instance.cluster.servers[s].gpu_type for s in ring]
        return slowest_pace(self._paces[k], job, sum(ring.values()), types)

    def _hold(self, stay: SharedStay) -> None:
        k = stay.job
        self.stays[k] = stay
        stay.end = NEVER
        self.gpus.take(k, stay.gpus or {}, kept=stay.exempt)
        self.held[k], self.since[k] = sum(stay.ring.values()), stay.start
        self.holds[k] = self._ran[k] = True
        self._speed = None

    def _leave(self, k: int) -> SharedStay:
        stay = self.stays.pop(k)
        stay.end = self.now
        self.gpus.give(k)
        self._serve(k, self._service(stay))
        self.holds[k], self.held[k], self.since[k] = False, 0, NOT_HELD
        self._speed = None
        return stay

    def _serve(self, k: int, gpu_slots: Fraction) -> None:
        self._served[k] += gpu_slots
        self.served[k] = float(self._served[k])

    def _service(self, stay: SharedStay) -> Fraction:
        return self._held_by(stay) * (stay.end - stay.start)

    def _held_by(self, stay: SharedStay) -> Fraction:
        return self.gpus.gpus_held(stay.job, stay.gpus or {})

    def _kept(self, k: int) -> int:
        job = self._job[k]
        done = job.iterations - self._left[k]
        return kept_iterations(done, checkpoint_interval(job))

    def _lose(self, k: int) -> None:
        """A job that has stopped in this slot loses what it did since its last checkpoint."""
        left = self._job[k].iterations - self._kept(k)
        self.lost_work[k] += left - self._left[k]
        self._left[k] = left


def _counts(gpus: Gpus) -> Ring:
    """Workers on each server."""
    return {server: len(some) for server, some in gpus.items()}


def gpu_slots(instance: Instance, jobs: Jobs, stay: Stay, slots: int) -> Fraction | int:
    """GPUs times slots that a stay holds in some slots; a worker of slices holds a part of one."""
    if not isinstance(stay, SharedStay):
        return slots * sum(stay.ring.values())
    return slots * sum(gpus_held(instance, jobs, stay, server) for server in stay.ring)


def gpus_held(instance: Instance, jobs: Jobs, stay: Stay, server: int) -> Fraction | int:
    """GPUs of a server that a stay holds."""
    count = stay.ring[server]
    if not isinstance(stay, SharedStay):
        return count
    return count * fraction_held(instance, int(jobs.index[stay.job]), server)
