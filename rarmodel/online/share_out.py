"""Carry a decision out where jobs may share GPUs: who stops, who goes on, and who joins whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from rarmodel import registry
from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.errors import UsageError

from .carry_out import asked_for, without_return
from .idle_capacity import Ring
from .occupation import Gpu, Gpus, Occupation, each_gpu
from .placement import Asked, Placement, Site
from .policy import Decision
from .shared_cluster import SharedCluster
from .sound import sound_ring

WORTH_IT = 1.0
"""Cost from which on a job does not join others on a GPU; see `Occupation.cost`."""


class Sharer:
    """Carries decisions out on a cluster whose GPUs are shared.

    Jobs are gone through in the order of the decision; each that fits gets its GPUs. A job joins
    others on a GPU only if it would have more of its speed there than they lose of theirs; else it
    waits, as it will have an idle GPU at last. Of all GPUs it gets those of least cost that the
    placement finds enough of, idle ones first; the placement says how many on each server. Of equal
    cost are first those with the fewest free slices. Where a decision says who is together, jobs
    are with nobody else.

    If jobs may be interrupted, it is first settled who is where, as if nobody held anything:
    running jobs stay on their GPUs if those before them in the order leave them room. A waiting job
    goes where it displaces nobody, if there is such a place. Then the others stop, and the new ones
    start.

    Parameters
    ----------
    cluster, placement
        What is worked on, and how many GPUs of which servers a job gets.
    interrupts
        Whether running jobs stop if the decision says so.
    random
        Random numbers for the placement.

    Attributes
    ----------
    order, blocks
        The last decision's, as of `Foreman`.
    """

    def __init__(
        self,
        cluster: SharedCluster,
        placement: Placement,
        *,
        interrupts: bool,
        random: np.random.Generator,
    ) -> None:
        self.cluster = cluster
        self.order: Ints = np.zeros(0, np.int64)
        self.blocks = False
        self._placement, self._interrupts, self._random = placement, interrupts, random
        self._jobs = cluster.jobs
        self._may_stop = self._jobs.may_stop.copy()
        if interrupts:
            self._may_stop[without_return(cluster.instance, cluster.jobs)] = False
        self._wanted: Ints = self._jobs.size.copy()
        self._types: Mapping[int, str] = {}
        self._asked: dict[tuple[int, int, str | None], Asked] = {}
        self._mates: Mapping[int, frozenset[int]] | None = None
        self._count = len(cluster.instance.cluster.servers)

    def carry_out(self, decision: Decision, active: Ints) -> None:
        """Make it so; `active` are the numbers of the jobs in the state.

        Raises
        ------
        UsageError
            If the decision has priorities or exact places, which are for GPUs that nobody shares.
        """
        if decision.priority is not None or decision.places is not None:
            what = "priorities" if decision.places is None else "places by server"
            raise UsageError(f"a policy decides by {what}, which jobs that share GPUs do not have")
        cluster = self.cluster
        order = active if decision.order is None else active[np.asarray(decision.order, np.int64)]
        self.order, self.blocks = order, decision.blocks
        self._types = {int(active[at]): one for at, one in (decision.types or {}).items()}
        self._wanted[active] = self._jobs.size[active]
        if self._interrupts:
            held = cluster.held[active]
            self._wanted[active] = np.where(held > 0, held, self._wanted[active])
        if decision.gpus is not None:
            self._wanted[active] = decision.gpus
        order = order[self._wanted[order] > 0]
        self._mates = _mates(decision, active)
        if self._interrupts:
            self._move(order, active, blocks=decision.blocks)
        else:
            self._fill(order, blocks=decision.blocks)

    def wanted(self, k: int) -> int:
        """GPUs that a job is to have by the last decision."""
        return int(self._wanted[k])

    def _fill(self, order: Ints, *, blocks: bool) -> None:
        """Start each waiting job of the order that fits."""
        for k in order.tolist():
            if self.cluster.holds[k]:
                continue
            gpus = self._place(k, self.cluster.gpus)
            if gpus is not None:
                self.cluster.start(k, gpus)
            elif blocks:
                return

    def _move(self, order: Ints, active: Ints, *, blocks: bool) -> None:
        """Settle who is where, and stop and start jobs accordingly."""
        cluster = self.cluster
        bound = active[cluster.holds[active] & ~self._may_stop[active]]
        order = np.concatenate([bound, order[~np.isin(order, bound)]])
        plan, both = self._without_stoppable(order)
        for k in order.tolist():
            if k in plan.at:
                continue
            gpus = self._stays(k, plan)
            if gpus is None:
                if k in both.at:
                    both.give(k)
                gpus = self._place(k, both)
                # Running jobs may use more GPUs than are left, which then are none that k opens.
                if gpus is None or not plan.fit(k, gpus):
                    gpus = self._place(k, plan)
                if gpus is None:
                    if blocks:
                        break
                    continue
            if k not in both.at:  # It is placed, or was displaced and finds room there after all.
                self._displace(k, gpus, plan, both)
                both.take(k, gpus, kept=self._is_kept(k, gpus))
            plan.take(k, gpus, kept=self._is_kept(k, gpus))
        for k, stay in [*cluster.stays.items()]:
            if plan.at.get(k) != stay.gpus:
                cluster.stop(k)
        for k, gpus in plan.at.items():
            if not cluster.holds[k]:
                cluster.start(k, gpus)

    def _without_stoppable(self, order: Ints) -> tuple[Occupation, Occupation]:
        """GPUs with the jobs that never stop alone, and with all running jobs of an order."""
        cluster = self.cluster
        firm, both = cluster.gpus.copy(), cluster.gpus.copy()
        listed = set(order.tolist())
        for k in cluster.stays:
            if self._may_stop[k]:
                firm.give(k)
            if k not in listed:
                both.give(k)
        return firm, both

    def _stays(self, k: int, plan: Occupation) -> Gpus | None:
        """The GPUs of a running job, if it may stay there beside those before it."""
        cluster = self.cluster
        stay = cluster.stays.get(k)
        if stay is None or stay.gpus is None or cluster.held[k] != self._wanted[k]:
            return None
        servers = cluster.instance.cluster.servers
        if k in self._types and any(servers[s].gpu_type != self._types[k] for s in stay.gpus):
            return None
        fits = plan.fit(k, stay.gpus, kept=stay.exempt) and self._may_be(k, stay.gpus, plan)
        return stay.gpus if fits else None

    def _is_kept(self, k: int, gpus: Gpus) -> bool:
        """Whether reservations leave these GPUs to a job that is there from slot 0 on."""
        stay = self.cluster.stays.get(k)
        return stay is not None and stay.exempt and stay.gpus == gpus

    def _displace(self, k: int, gpus: Gpus, plan: Occupation, both: Occupation) -> None:
        """Take running jobs out that are not placed yet, where a job before them takes their room.

        They find another place in their turn.
        """
        if both.fit(k, gpus) and self._may_be(k, gpus, both):
            return
        for other in both.beside(gpus) - plan.at.keys():
            both.give(other)

    def _place(self, k: int, gpus: Occupation) -> Gpus | None:
        """GPUs for a job beside those who are there; None if it waits."""
        asked = self.asks(k)
        stopped = self.cluster.stopped.get(k)
        if stopped is not None and stopped.gpus is not None and asked.kept_by(stopped.ring):
            before = stopped.gpus
            if gpus.fit(k, before) and self._may_be(k, before, gpus):
                return before
        if there_is := [gpus.at[mate] for mate in self._mates_of(k) if mate in gpus.at]:
            return self._with_mates(k, asked, there_is[0], gpus)
        costs = {
            (s, g): cost
            for s in np.flatnonzero(asked.allowed[-1]).tolist()
            for g in range(self.cluster.instance.cluster.servers[s].gpus)
            if gpus.fits(k, (s, g)) and (cost := self._cost(k, (s, g), gpus)) < WORTH_IT
        }
        ranked = sorted(costs, key=lambda gpu: (costs[gpu], gpus.spare(gpu), gpu))
        for level in sorted(set(costs.values())):
            there = gpus.unreserved(k, (gpu for gpu in ranked if costs[gpu] <= level))
            idle = np.bincount([s for s, _ in there], minlength=self._count).astype(np.int64)
            ring = self._ring(k, asked, idle, gpus)
            if ring is None:
                continue
            found = {
                s: tuple(sorted([g for server, g in there if server == s][:count]))
                for s, count in ring.items()
            }
            if gpus.within_limits(k, found) and self.cluster.speed_among(k, found, gpus) > 0:
                return found
        return None

    def _mates_of(self, k: int) -> frozenset[int]:
        """Those with whom a job must share its GPUs."""
        return frozenset() if self._mates is None else self._mates.get(k, frozenset())

    def _cost(self, k: int, gpu: Gpu, beside: Occupation) -> float:
        """What a job on a GPU costs; too much if the decision lets nobody there share with it."""
        if self._mates is None:
            return beside.cost(k, gpu)
        return 0.0 if self._mates_of(k).issuperset(beside.on(gpu)) else WORTH_IT

    def _may_be(self, k: int, gpus: Gpus, beside: Occupation) -> bool:
        """Whether a job may be on some GPUs beside others, and on those of whom it must join."""
        joins = (beside.at[mate] for mate in self._mates_of(k) if mate in beside.at)
        return all(self._cost(k, gpu, beside) < WORTH_IT for gpu in each_gpu(gpus)) and all(
            gpus == others for others in joins
        )

    def _with_mates(self, k: int, asked: Asked, at: Gpus, beside: Occupation) -> Gpus | None:
        """The GPUs of whom a job must join, if they are as it asks for."""
        counts = {server: len(some) for server, some in at.items()}
        fits = asked.kept_by(counts) and beside.fit(k, at) and self._may_be(k, at, beside)
        return at if fits and self.cluster.speed_among(k, at, beside) > 0 else None

    def _ring(self, k: int, asked: Asked, idle: Ints, gpus: Occupation) -> Ring | None:
        """How many GPUs of which servers the placement gives a job, of some that it may take."""
        cluster = self.cluster
        site = Site(
            cluster=cluster.instance.cluster,
            idle=idle,
            rings=lambda: cluster.rings_on_links(gpus.at),
            lost=lambda ring: cluster.lost(k, ring, gpus.at),
            random=self._random,
        )
        when = f" at slot {cluster.now}"
        with registry.calling("placements", self._placement, when=when):
            found = self._placement.place(asked, site)
        if found is None:
            return None
        found = sound_ring(found, f"placement {self._placement.name!r}", self._count)
        if not asked.kept_by(found) or any(idle[s] < count for s, count in found.items()):
            name = cluster.instance.jobs[self._jobs.index[k]].name
            raise UsageError(
                f"job {name!r} at slot {cluster.now}: placement {self._placement.name!r} gives it "
                f"{dict(found)} (workers by server), which is not idle, or not {asked.size} GPUs "
                "on servers as it asks for"
            )
        return found

    def asks(self, k: int) -> Asked:
        """What a job asks for, with the GPUs and the type that it is to have."""
        key = k, int(self._wanted[k]), self._types.get(k)
        if key not in self._asked:
            self._asked[key] = asked_for(self.cluster.instance, self._jobs, *key)
        return self._asked[key]

    def causes(self) -> tuple[str, ...]:
        """A line for each job that is not complete."""
        return tuple(self._causes())

    def _causes(self) -> Iterator[str]:
        instance, cluster = self.cluster.instance, self.cluster
        for k, end in enumerate(cluster.completion.tolist()):
            job = instance.jobs[int(self._jobs.index[k])]
            stay = cluster.stays.get(k)
            if end < NEVER:
                continue
            if stay is not None and stay.gpus is not None:
                yield f"job {job.name!r} holds GPUs, and makes no progress there or does not go on"
            else:
                yield f"job {job.name!r} holds no GPUs, and finds none as it asks for"


def _mates(decision: Decision, active: Ints) -> Mapping[int, frozenset[int]] | None:
    """By number, those with whom a job is to share its GPUs; None if it may join anybody."""
    if decision.together is None:
        return None
    groups = [frozenset(int(active[at]) for at in group) for group in decision.together]
    return {k: group - {k} for group in groups for k in group}
