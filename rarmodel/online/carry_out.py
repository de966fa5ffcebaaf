"""Carry a decision out: who stops, who goes on, and where those are put who start."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rarmodel import registry
from rarmodel.engine.arrays import Ints
from rarmodel.errors import UsageError
from rarmodel.model.impossible import without_place_at_last
from rarmodel.model.lone import lone_options
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from . import walk
from .arriving_jobs import Jobs
from .cluster_at_work import WorkingCluster
from .guarantees import Guarantees
from .idle_capacity import Ring
from .moving import elsewhere, moves
from .placement import Asked, Placement, Site, fewest_servers
from .policy import Decision
from .sound import sound_ring

Truths = npt.NDArray[np.bool_]
T = TypeVar("T")


class Foreman:
    """Carries decisions out on a cluster.

    Jobs are gone through in the order of the decision; each that fits gets its GPUs. A running job
    that is to have as many GPUs as it has stays where it is. If jobs may be interrupted, it is
    first settled by numbers who holds GPUs; the other running jobs stop, and then those who start
    are placed. Where the servers that a job may use are taken all the same, jobs further down the
    order stop for it, the last ones first; they are placed in their turn. Room that is left goes to
    the rest of the order.

    Where the decision has priorities, running jobs stop one by one instead, for waiting ones of a
    greater priority; those whose GPUs are not needed go on.

    Where tenants are guaranteed something, an order that interrupts has those first who keep their
    tenants within that; and after each decision tenants take back what is theirs: see `guarantees`.

    A place in which a job would make no progress does not fit it: see `moving`. A job that runs at
    slot 0 with GPUs beyond a cap or a reservation is not interrupted if it could never start again.
    Nor is a job that is not preemptible, wherever the decision puts it; where it might meet a
    reservation, it does not start.

    Parameters
    ----------
    cluster, placement
        What is worked on, and where jobs are put.
    interrupts
        Whether running jobs stop if the decision says so.
    reclaims
        Whether tenants take back what they are guaranteed.
    random
        Random numbers for the placement.

    Attributes
    ----------
    order, blocks
        The last decision's: numbers of jobs, most urgent first, and whether one that does not fit
        keeps those after it from starting.
    """

    def __init__(
        self,
        cluster: WorkingCluster,
        placement: Placement,
        *,
        interrupts: bool,
        reclaims: bool,
        random: np.random.Generator,
    ) -> None:
        self.cluster = self._cluster = cluster
        self._placement, self._interrupts = placement, interrupts
        self.order: Ints = np.zeros(0, np.int64)
        self.blocks = False
        self._random = random
        self._jobs: Jobs = cluster.jobs
        self._asked: dict[tuple[int, int, str | None], Asked] = {}
        self._guarantees = Guarantees(cluster.instance, self._jobs)
        self._reclaims = reclaims and self._guarantees.any
        self._may_stop = self._jobs.may_stop.copy()
        if interrupts or self._reclaims:
            self._may_stop[without_return(cluster.instance, cluster.jobs)] = False
        self._spare: Ints = np.zeros(len(self._jobs.index), np.int64)
        self._wanted: Ints = self._jobs.size.copy()
        self._types: Mapping[int, str] = {}
        self._places: Mapping[int, Ring] = {}

    def carry_out(self, decision: Decision, active: Ints) -> None:
        """Make it so; `active` are the numbers of the jobs in the state.

        Raises
        ------
        UsageError
            If the decision says who shares GPUs, where no job does.
        """
        if decision.together is not None:
            raise UsageError("a policy decides who shares GPUs, and no job has slices")
        order = active if decision.order is None else active[np.asarray(decision.order, np.int64)]
        self.order, self.blocks = order, decision.blocks
        self._types = _by_number(decision.types, active)
        self._places = _by_number(decision.places, active)
        self._wanted[active] = self._jobs.size[active]
        if self._interrupts:
            held = self._cluster.held[active]
            self._wanted[active] = np.where(held > 0, held, self._wanted[active])
        if decision.gpus is not None:
            self._wanted[active] = decision.gpus
        for k, ring in self._places.items():
            self._wanted[k] = sum(ring.values())
        if self._interrupts:
            bound = active[self._cluster.holds[active] & ~self._may_stop[active]]
            order = np.concatenate([bound, order[~np.isin(order, bound)]])
            self._wanted[bound] = self._cluster.held[bound]
        priority = decision.priority
        if self._interrupts and priority is None:
            order = self._guaranteed_first(order)
            self._interrupt(order, active, blocks=decision.blocks)
        elif self._interrupts and priority is not None:
            self._reclaim(order, active)
            self._serve(order, active, priority, blocks=decision.blocks)
        self._reclaim(order, active)
        self._fill(order, blocks=decision.blocks)

    def wanted(self, k: int) -> int:
        """GPUs that a job is to have by the last decision."""
        return int(self._wanted[k])

    def type_of(self, k: int) -> str | None:
        """The type of GPU that a job is to have by the last decision, if it says so."""
        return self._types.get(k)

    def _fill(
        self, order: Ints, *, blocks: bool, others: Callable[[int], Iterable[int]] | None = None
    ) -> None:
        """Start each job of the order that fits, or that finds room if others stop for it."""
        cluster, jobs, at = self._cluster, self._jobs, 0
        while True:
            at = walk.next_fit(
                *(order, at, self._wanted, cluster.holds, jobs.row, cluster.room.free),
                *(jobs.uses, cluster.room.left, self._spare, int(blocks)),
            )
            if at == walk.NONE_FITS:
                return
            k = int(order[at])
            if not (self._start(k) or (others is not None and self._take(k, others(k)))) and blocks:
                return
            at += 1

    def _interrupt(self, order: Ints, active: Ints, *, blocks: bool) -> None:
        """Stop those who are not to go on, and place those who go before them in the order."""
        cluster, jobs = self._cluster, self._jobs
        chosen = np.zeros(len(jobs.index), np.bool_)
        free, left = cluster.room.without_jobs()
        walk.choose(
            *(order, self._wanted, jobs.row, jobs.within, free, jobs.uses, left, int(blocks)),
            chosen,
        )
        held = cluster.held[active]
        goes_on = chosen[active] & (held == self._wanted[active])
        for k in active[(held > 0) & ~goes_on].tolist():
            cluster.stop(k)
        for k in (*self._types, *self._places):
            if cluster.holds[k] and self._may_stop[k] and not self._stays(k):
                cluster.stop(k)
        self._stop_the_stuck(order[::-1])
        wait = deque(np.flatnonzero(chosen[order] & ~cluster.holds[order]).tolist())
        while wait:
            at = wait.popleft()
            k, later = int(order[at]), order[at + 1 :]
            running = later[cluster.holds[later]][::-1].tolist()
            if not self._start(k) and self._lacks_room(k) and self._make_room(k, running):
                # Those who stopped for it are placed in their turn.
                rest = np.flatnonzero(chosen[later] & ~cluster.holds[later])
                wait = deque((at + 1 + rest).tolist())

    def _stop_the_stuck(self, some: Ints) -> None:
        """Stop those of some running jobs that make no progress beside the others."""
        cluster = self._cluster
        stalls = self._jobs.stalls[some] & cluster.holds[some] & self._may_stop[some]
        for k in some[stalls].tolist():
            if not moves(cluster, k, cluster.stays[k].ring):
                cluster.stop(k)

    def _stays(self, k: int) -> bool:
        """Whether a running job has the place or the type that the decision gives it."""
        ring = self._cluster.stays[k].ring
        if k in self._places:
            return ring == self._places[k]
        servers = self._cluster.instance.cluster.servers
        return all(servers[s].gpu_type == self._types[k] for s in ring)

    def _start(self, k: int) -> bool:
        """Put a job somewhere if there is room; whether there is."""
        cluster = self._cluster
        if not self._within_limits(k):
            return False
        ring = self._ring(k)
        if ring is None:
            return False
        cluster.start(k, ring)
        return True

    def _ring(self, k: int) -> Ring | None:
        """Where a job is put; None if it waits."""
        cluster, asked = self._cluster, self.asks(k)
        idle, _ = cluster.room_for(k)
        if k in self._places:
            exact = self._places[k]
            if not asked.kept_by(exact):
                self._refuse(k, f"a policy gives it {dict(exact)}", asked)
            if cluster.has_room(k, exact):
                return self.with_progress(k, exact, asked)
            if not cluster.room.has(exact):
                return None
            # It might meet a reservation there: it is put elsewhere.
        before = cluster.stopped.get(k)
        if before is not None and cluster.has_room(k, before.ring) and asked.kept_by(before.ring):
            return self.with_progress(k, before.ring, asked)
        found = self._placed(k, asked, idle)
        if found is not None:
            return self.with_progress(k, found, asked)
        # A placement that would put it where it makes no progress is asked about another place.
        ring = fewest_servers(asked, idle)
        if ring is None or moves(cluster, k, ring):
            return None
        other = elsewhere(cluster, k, asked)
        if other is None:
            return None
        only = np.zeros_like(idle)
        only[[*other]] = [*other.values()]
        return other if self._placed(k, asked, only) is not None else None

    def _placed(self, k: int, asked: Asked, idle: Ints) -> Ring | None:
        """Where the placement puts a job on some idle GPUs; None if it is to wait."""
        cluster = self._cluster
        site = Site(
            cluster=cluster.instance.cluster,
            idle=idle,
            rings=cluster.rings_on_links,
            lost=lambda ring: cluster.lost(k, ring),
            random=self._random,
        )
        when = f" at slot {cluster.now}"
        with registry.calling("placements", self._placement, when=when):
            found = self._placement.place(asked, site)
        if found is None:
            return None
        found = sound_ring(found, f"placement {self._placement.name!r}", len(site.idle))
        if not asked.kept_by(found) or not cluster.has_room(k, found):
            self._refuse(k, f"placement {self._placement.name!r} gives it {dict(found)}", asked)
        return found

    def with_progress(self, k: int, ring: Ring, asked: Asked) -> Ring | None:
        """The ring, or another one if the job makes no progress there; None if it waits."""
        return ring if moves(self._cluster, k, ring) else elsewhere(self._cluster, k, asked)

    def _make_room(self, k: int, others: Iterable[int]) -> list[tuple[int, Ring]]:
        """Stop running jobs, one after another, until one that waits has a place.

        Those that stopped, with their rings, in order; if it is in vain, none.
        """
        cluster, asked, short = self._cluster, self.asks(k), self._short(k)
        stopped: list[tuple[int, Ring]] = []
        for other in others:
            ring = cluster.stays[other].ring
            uses = self._jobs.uses.amounts(other, int(cluster.held[other]))
            if short.isdisjoint(uses) and not any(asked.allowed[-1][server] for server in ring):
                continue
            cluster.stop(other)
            stopped.append((other, ring))
            if self._within_limits(k) and not self._lacks_room(k):
                if not self._start(k):
                    break
                return stopped
        for other, ring in reversed(stopped):
            cluster.start(other, ring)
        return []

    def _take(self, k: int, others: Iterable[int]) -> bool:
        """Start a job where others stop for it, and only for want of room; whether it started.

        Those whose GPUs are not needed after all go on.
        """
        if self._within_limits(k) and not self._lacks_room(k):
            return False
        stopped, cluster = self._make_room(k, others), self._cluster
        for other, ring in reversed(stopped):
            gpus = sum(ring.values())
            if cluster.has_room(other, ring) and not self._short(other, gpus):
                cluster.start(other, ring)
        return bool(stopped)

    def _serve(self, order: Ints, active: Ints, priority: Ints, *, blocks: bool) -> None:
        """Start jobs in order; running ones of a lower priority stop where that makes room."""
        cluster = self._cluster
        self._stop_the_stuck(order[::-1])
        own = np.zeros_like(self._spare)
        own[active] = priority

        def lower_than(k: int) -> Iterator[int]:
            """Those that give way to a job, the first to stop first."""
            lower = active[cluster.holds[active] & self._may_stop[active] & (priority < own[k])]
            some = sorted(lower.tolist(), key=lambda o: (own[o], -cluster.since[o], -o))
            return self._without_guarantee(some, k, active)

        held = active[cluster.holds[active] & self._may_stop[active]]
        ascending = held[np.argsort(own[held], kind="stable")]
        gpus = np.concatenate([[0], np.cumsum(cluster.held[ascending])])
        self._spare[order] = gpus[np.searchsorted(own[ascending], own[order])]
        try:
            self._fill(order, blocks=blocks, others=lower_than)
        finally:
            self._spare[order] = 0

    def _guaranteed_first(self, order: Ints) -> Ints:
        """The order of a decision; first come those who keep their tenants within guarantees."""
        if not self._reclaims:
            return order
        firm = self._cluster.holds[order] & ~self._may_stop[order]
        held = self._guarantees.held(order[firm], self._cluster.held[order[firm]])
        rest = order[~firm]
        return np.concatenate([order[firm], self._guarantees.first(rest, self._wanted[rest], held)])

    def _without_guarantee(self, some: list[int], k: int, active: Ints) -> Iterator[int]:
        """Those of some running jobs that are not within a guarantee where another would borrow."""
        cluster, gpus = self._cluster, int(self._wanted[k])
        if not self._reclaims:
            yield from some
            return
        running = active[cluster.holds[active]]
        held = self._guarantees.held(running, cluster.held[running])
        for other in some:
            if not self._guarantees.keeps(other, k, gpus, held):
                size = int(cluster.held[other])
                yield other
                if not cluster.holds[other]:
                    self._guarantees.without(other, size, held)

    def _reclaim(self, order: Ints, active: Ints) -> None:
        """Start jobs within the guarantees of their tenants; those who borrow give way."""
        cluster, guarantees = self._cluster, self._guarantees
        if not self._reclaims:
            return
        waiting = order[(self._wanted[order] > 0) & ~cluster.holds[order]]
        while len(waiting):
            running = active[cluster.holds[active]]
            held = guarantees.held(running, cluster.held[running])
            lent = running[self._may_stop[running] & guarantees.may_lend(running, held)]
            most = cluster.room.free[self._jobs.row[waiting]] + cluster.held[lent].sum()
            wanted = self._wanted[waiting]
            fits = (wanted <= guarantees.room(waiting, held)) & (wanted <= most)
            for at in np.flatnonzero(fits).tolist():
                k = int(waiting[at])
                if self._start(k):
                    waiting = waiting[at + 1 :]
                    break
                if self._take(k, self._borrowers(k, lent, held)):
                    waiting = np.delete(waiting, at)  # Now those before it may rest on guarantees.
                    break
            else:
                return

    def _borrowers(self, k: int, lent: Ints, held: Ints) -> Iterator[int]:
        """Those that give way to a job, as long as they borrow: the first to stop first."""
        cluster, gpus, left = self._cluster, int(self._wanted[k]), held.copy()
        urgency = self._jobs.priority

        def last(other: int) -> tuple[bool, int, int, int]:
            began = int(cluster.since[other])
            return began < cluster.now, int(urgency[other]), -began, -other

        for other in sorted(lent.tolist(), key=last):
            if self._guarantees.gives_way(other, k, gpus, left):
                size = int(cluster.held[other])
                yield other
                if not cluster.holds[other]:
                    self._guarantees.without(other, size, left)

    def _lacks_room(self, k: int) -> bool:
        """Whether a job waits for want of room, and not because the placement wants it to."""
        if not self._within_limits(k):
            return False
        cluster, asked = self._cluster, self.asks(k)
        idle, _ = cluster.room_for(k)
        ring = self._places.get(k) or fewest_servers(asked, idle)
        if ring is None or not cluster.has_room(k, ring):
            return True
        return self.with_progress(k, ring, asked) is None

    def _within_limits(self, k: int) -> bool:
        return not self._short(k)

    def _short(self, k: int, gpus: int | None = None) -> set[int]:
        """The limits of which a job uses more than is left for it, with the GPUs it is to have."""
        used = self._jobs.uses.amounts(k, int(self._wanted[k]) if gpus is None else gpus)
        _, left = self._cluster.room_for(k)
        return {limit for limit, amount in used.items() if amount > left[limit]}

    def asks(self, k: int) -> Asked:
        """What a job asks for, with the GPUs and the type that it is to have."""
        key = k, int(self._wanted[k]), self._types.get(k)
        if key not in self._asked:
            self._asked[key] = asked_for(self._cluster.instance, self._jobs, *key)
        return self._asked[key]

    def _refuse(self, k: int, what: str, asked: Asked) -> None:
        name = self._cluster.instance.jobs[self._jobs.index[k]].name
        raise UsageError(
            f"job {name!r} at slot {self._cluster.now}: {what} (workers by server), which is not "
            f"idle, or not {asked.size} GPUs on servers as it asks for"
        )


def without_return(instance: Instance, jobs: Jobs) -> list[int]:
    """Jobs that run at slot 0, and could not run anew at last."""
    found = without_place_at_last(instance)
    return [
        k
        for k, j in enumerate(jobs.index.tolist())
        if j in found and instance.jobs[j].running is not None
    ]


def asked_for(instance: Instance, jobs: Jobs, k: int, size: int, kind: str | None) -> Asked:
    """What a job asks for of its places, with a ring size and perhaps a type of GPU."""
    job = instance.jobs[jobs.index[k]]
    if size not in job.sizes:
        sizes = " or ".join(map(str, job.sizes))
        raise UsageError(f"a policy gives job {job.name!r} {size} GPUs; its ring needs {sizes}")
    allowed = [jobs.allowed[jobs.row[k]]]
    if job.times is not None and len(job.times) > 1:
        own = lone_options(jobs.unbegun)[jobs.index[k]]
        paces = sorted((one for one in own if one.pace.size == size), key=lambda o: o.pace.compute)
        sets = dict.fromkeys(one.allowed for one in paces)
        allowed = [_mask(some, len(allowed[0])) for some in sorted(sets, key=len)]
    if kind is not None:
        of_kind = np.array([server.gpu_type == kind for server in instance.cluster.servers])
        allowed = [allowed[-1] & of_kind]
    spread = job.spread
    servers = int(allowed[-1].sum())
    return Asked(
        size=size,
        allowed=tuple(allowed),
        fewest=spread.min_servers if spread else 1,
        most=min(size, servers, (spread.max_servers if spread else None) or servers),
        equal=bool(spread and spread.equal),
        parts=_parts(instance, spread.within) if spread and spread.within else (),
    )


def _parts(instance: Instance, level: str) -> tuple[Truths, ...]:
    """Servers at or below each node of a level."""
    tree, count = topology(instance.cluster), len(instance.cluster.servers)
    return tuple(_mask(some, count) for some in tree.below_each(level))


def _mask(servers: frozenset[int], count: int) -> Truths:
    mask = np.zeros(count, np.bool_)
    mask[list(servers)] = True
    return mask


def _by_number(chosen: Mapping[int, T] | None, active: Ints) -> dict[int, T]:
    """What is given by position in the state, by number."""
    return {int(active[position]): one for position, one in (chosen or {}).items()}
