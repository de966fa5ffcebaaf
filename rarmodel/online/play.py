"""Play a policy on arriving jobs: from one event to the next, until all jobs are complete."""

from __future__ import annotations

from collections.abc import Callable, Collection
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from rarmodel import registry
from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.interruptions import interrupts
from rarmodel.schema import Instance

from .arriving_jobs import Jobs, jobs_of
from .carry_out import Foreman
from .cluster_at_work import Stay, WorkingCluster
from .livelock import causes
from .placement import Placement
from .policy import Policy, slots_of_round
from .share_out import Sharer
from .shared_cluster import SharedCluster
from .sound import sound_decision
from .state import State
from .views import Views

TOLD_EVERY = 0.25
"""Seconds between two reports of progress."""
LOSING_ROUNDS = 1000
"""Rounds in which jobs may lose work before any of them reaches its next checkpoint."""


class Progress(NamedTuple):
    """How far a simulation is.

    Attributes
    ----------
    completed, jobs
        Jobs that are complete, and all.
    slot
        The slot that is played.
    """

    completed: int
    jobs: int
    slot: int


class Played(NamedTuple):
    """What came of a policy.

    Attributes
    ----------
    jobs
        The jobs in order of arrival.
    stays
        All stays; of jobs that are not complete, those so far.
    completion
        (jobs) Completion times; NEVER for jobs that are not complete.
    slot
        The last slot that was played.
    decisions, preemptions
        How often the policy was asked, and how often jobs were interrupted.
    interrupted
        Whether the user stopped the simulation.
    lost
        (jobs) Iterations that interruptions cost each.
    causes
        Why jobs are not complete, a line each, if nothing more happens.
    """

    jobs: Jobs
    stays: list[Stay]
    completion: Ints
    slot: int
    decisions: int
    preemptions: int
    interrupted: bool
    lost: Ints
    causes: tuple[str, ...] = ()


def play(
    instance: Instance,
    policy: Policy,
    placement: Placement,
    *,
    round_slots: int | None = None,
    reclaim: bool = True,
    seed: int = 0,
    progress: Callable[[Progress], None] | None = None,
    jobs: Jobs | None = None,
    lending: Collection[str] = (),
) -> Played:
    """Play a policy on the arriving jobs of an instance.

    It ends when all jobs are complete, or when nothing happens any more. A user who interrupts it
    gets what came of it so far.

    Parameters
    ----------
    instance, policy, placement
        What is played on, who decides, and where jobs are put.
    round_slots
        Ask the policy every so many slots as well; by default as the policy wants.
    reclaim
        Whether tenants take back what they are guaranteed.
    seed
        Seed of the random numbers of policy and placement.
    progress
        Is told how far it is, a few times a second.
    jobs
        The jobs laid out, if that is known.
    lending
        Names of jobs that run at slot 0, and give way to reservations all the same; all others keep
        their GPUs whatever is reserved.
    """
    every = round_slots or slots_of_round(policy, instance)
    laid_out = jobs or jobs_of(instance)
    game = _Game(instance, laid_out, policy, placement, every, seed, reclaim, lending)
    interrupted, told = False, perf_counter()
    try:
        while game.step():
            if progress is not None and perf_counter() - told > TOLD_EVERY:
                told = perf_counter()
                progress(game.progress)
    except KeyboardInterrupt:
        interrupted = True
    cluster = game.cluster
    return Played(
        jobs=game.jobs,
        stays=[*cluster.past, *cluster.stays.values()],
        completion=cluster.completion,
        slot=cluster.now,
        decisions=game.decisions,
        preemptions=game.preemptions,
        interrupted=interrupted,
        lost=cluster.lost_work,
        causes=() if interrupted or game.over else game.causes(),
    )


class _Game:
    """A simulation in progress."""

    def __init__(
        self,
        instance: Instance,
        jobs: Jobs,
        policy: Policy,
        placement: Placement,
        round_slots: int | None,
        seed: int,
        reclaim: bool,  # noqa: FBT001 - a long list of what `play` is given
        lending: Collection[str],
    ) -> None:
        self.jobs = jobs
        self.cluster: WorkingCluster | SharedCluster
        self.decisions = self.preemptions = 0
        self._policy, self._placement, self._round = policy, placement, round_slots
        self._random = np.random.default_rng(seed)
        self._foreman: Foreman | Sharer
        may_stop = policy.interrupts and interrupts(instance)
        if shares_gpus(instance):
            self.cluster = SharedCluster(instance, self.jobs, lending)
            self._foreman = Sharer(
                self.cluster, placement, interrupts=may_stop, random=self._random
            )
        else:
            self.cluster = WorkingCluster(instance, self.jobs, lending)
            self._foreman = Foreman(
                self.cluster,
                placement,
                interrupts=may_stop,
                reclaims=reclaim,
                random=self._random,
            )
        self._views = Views(self.cluster)
        self._memory: dict[str, Any] = {}
        self._waits_for = self.jobs.waits_for.copy()
        self._active: Ints = np.zeros(0, np.int64)
        self._arrived = 0
        self._done = 0
        self._service = np.zeros_like(self.cluster.served)
        self._slot = 0
        self._idle_rounds, self._left, self._lost = 0, 0, 0
        self._kept: Ints = np.full(len(self.jobs.index), -1, np.int64)
        self._there = (0, 0)

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(self._done, len(self.jobs.index), self.cluster.now)

    @property
    def over(self) -> bool:
        """Whether all jobs are complete."""
        return self._done == len(self.jobs.index)

    def causes(self) -> tuple[str, ...]:
        """Why jobs are not complete, a line each."""
        if isinstance(self._foreman, Sharer):
            return self._foreman.causes()
        return causes(self._foreman, self._policy, self._placement, self._round)

    def step(self) -> bool:
        """Play the present slot, and go to the next one in which something happens, if any."""
        cluster = self.cluster
        completed = cluster.advance(self._slot)
        for k in completed:
            self._service[self._done] = cluster.served[k]
            self._done += 1
        arrived = self._arrivals(completed)
        reserved = cluster.reserve()
        due = self._round is not None and self._slot % self._round == 0
        if (completed or arrived or reserved or due) and len(self._active):
            self._decide(is_round=due)
        if self.over:
            return False
        return self._go_on(due=due)

    def _arrivals(self, completed: list[int]) -> bool:
        """Take complete jobs out, and let jobs in whose slot has come; whether any came."""
        ready = list[int]()
        for k in completed:
            for follower in self.jobs.followers[k]:
                self._waits_for[follower] -= 1
                if self._waits_for[follower] == 0 and follower < self._arrived:
                    ready.append(follower)
        first, arrival = self._arrived, self.jobs.arrival
        while self._arrived < len(arrival) and arrival[self._arrived] <= self._slot:
            self._arrived += 1
        come = np.arange(first, self._arrived)
        come = come[self._waits_for[come] == 0]
        if completed:
            self._active = self._active[self.cluster.completion[self._active] == NEVER]
        if ready:
            self._active = np.union1d(self._active, ready)
        if len(come):
            self._active = np.concatenate([self._active, come])
        return bool(ready) or len(come) > 0

    def _decide(self, *, is_round: bool) -> None:
        """Ask the policy, and carry out what it says."""
        views = self._views.of(self._active, self._service[: self._done], is_round=is_round)
        state = State(self._policy.name, self._policy.knows, views, self._random, self._memory)
        self.decisions += 1
        when = f" at slot {self.cluster.now}"
        with registry.calling("policies", self._policy, when=when):
            decision = self._policy.decide(state)
            servers = len(self.cluster.instance.cluster.servers)
            sound = sound_decision(decision, self._policy, len(self._active), self._name, servers)
            self._foreman.carry_out(sound, self._active)
        self.preemptions += self.cluster.settle()

    def _name(self, position: int) -> str:
        """Name of a job in the state."""
        job = int(self.jobs.index[self._active[position]])
        return self.cluster.instance.jobs[job].name

    def _go_on(self, *, due: bool) -> bool:
        """Set the next slot; False if nothing happens any more."""
        following = min(self.cluster.next_event(), self.cluster.next_change())
        if self._arrived < len(self.jobs.arrival):
            following = min(following, int(self.jobs.arrival[self._arrived]))
        if self._round is not None and len(self._active):
            if due and self._goes_round_in_circles(self._round):
                return False
            following = min(following, (self._slot // self._round + 1) * self._round)
        self._slot = following
        return following < NEVER

    def _goes_round_in_circles(self, round_slots: int) -> bool:
        """Whether many rounds went by in which no job did an iteration that counts.

        Jobs that take turns may be interrupted each time before they are restored, or before they
        reach a checkpoint. A round in which a job is on its way to one says nothing.
        """
        cluster, active = self.cluster, self._active
        there, kept = (self._done, self._arrived), cluster.kept(active)
        left, lost = int(cluster.left(active).sum()), int(cluster.lost_work.sum())
        if there != self._there or (kept > self._kept[active]).any():
            self._idle_rounds = 0
        elif left == self._left or lost > self._lost:
            self._idle_rounds += 1
        self._kept[active] = np.maximum(self._kept[active], kept)
        self._there, self._left, self._lost = there, left, lost
        patience = 2 * len(active) + cluster.restore // round_slots + 2
        return self._idle_rounds > patience + (LOSING_ROUNDS if lost else 0)
