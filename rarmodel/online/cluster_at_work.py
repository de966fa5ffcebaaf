"""The cluster at work: jobs hold GPUs, and their rings go on under contention."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt

from rarmodel.engine.arrays import NEVER, Ints, arrays_of, new_state
from rarmodel.engine.kernel import CLOCK
from rarmodel.engine.modes import Modes, modes_of
from rarmodel.engine.segmented_runs import within_speeds, work_of
from rarmodel.model.link_shares import bandwidths, sensitivities, sensitivity_classes
from rarmodel.model.lone import within_gbps
from rarmodel.model.ring_rates import Pace, Paces, paces_of, slowest_pace
from rarmodel.model.sharing_rule import RingOnLinks, sharing_rule
from rarmodel.model.timing import restore_slots
from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from . import interruptible_rings as rings
from .arriving_jobs import Jobs
from .idle_capacity import Ring, Room
from .supplies import Supplies

NOT_HELD = -1
"""Of a job that holds no GPUs: the slot from which on it does."""
_NOTHING = np.zeros(0, np.int64)
_ONE_MODE_EACH = Modes(
    *(_NOTHING, _NOTHING, _NOTHING, _NOTHING), np.zeros((0, 0), np.int64), _NOTHING, _NOTHING, 1
)


@dataclass(slots=True)
class Stay:
    """A job holds GPUs from one slot until before another.

    Attributes
    ----------
    job
        Its number.
    start, end
        The slots; the end is NEVER as long as it goes on.
    ring
        Workers on each server.
    up
        The slot from which on the ring exchanges gradients; before, the job is restored.
    kept
        Whether it ran there at slot 0 already.
    exempt
        Whether reservations leave its GPUs to it.
    """

    job: int
    start: int
    ring: Ring
    up: int
    kept: bool = False
    end: int = NEVER
    exempt: bool = False


class WorkingCluster:
    """Jobs that hold GPUs, by number in order of arrival; time goes on by `advance`.

    Attributes
    ----------
    now
        The slot.
    restore
        Slots for which a job that goes on is restored.
    room
        Idle GPUs.
    tree
        The network.
    linked
        Of each job with a ring between servers: its ring, also while it is restored.
    stays
        The stay of each job that holds GPUs.
    stopped
        Stays that ended in this slot before their jobs were complete; `settle` makes this final.
    past
        All stays that are over, in order of their ends.
    holds, held, since, served
        (jobs) Whether each holds GPUs; how many; from which slot on, or NOT_HELD; GPU slots that it
        held in stays that are over.
    completion
        (jobs) Completion times; NEVER for jobs that are not complete.
    lost_work
        (jobs) Iterations that interruptions cost each.
    """

    def __init__(self, instance: Instance, jobs: Jobs, lending: Collection[str] = ()) -> None:
        self.instance, self.jobs = instance, jobs
        self.tree = topology(instance.cluster)
        self.linked: dict[int, RingOnLinks] = {}
        count = len(jobs.index)
        self.now = 0
        self._supplies = Supplies(instance)
        self.room = Room(self._supplies.first, jobs)
        self.stays: dict[int, Stay] = {}
        self.stopped: dict[int, Stay] = {}
        self.past: list[Stay] = []
        self.holds: npt.NDArray[np.bool_] = np.zeros(count, np.bool_)
        self.held: Ints = np.zeros(count, np.int64)
        self.since: Ints = np.full(count, NOT_HELD, np.int64)
        self.served: Ints = np.zeros(count, np.int64)
        self.completion: Ints = np.full(count, NEVER, np.int64)
        self.lost_work: Ints = np.zeros(count, np.int64)
        self._number = np.empty(count, np.int64)
        self._number[jobs.index] = np.arange(count)
        self.restore = restore_slots(instance)
        self._ran = np.zeros(count, np.bool_)
        running = [instance.jobs[j].running is not None for j in jobs.index.tolist()]
        self._runs_at_0 = np.array(running, np.bool_)
        self._left: list[Stay] = []
        self._paces: dict[int, Paces] = {}  # Of jobs that are not complete, as they are asked for.
        self._same: dict[tuple[tuple[int, int], ...], Ring] = {}  # Of a million rings few differ.
        self._restored: list[tuple[int, int]] = []  # A heap of (slot, job); stale if `up` differs.
        self._arrays = arrays_of(instance)
        self._state = new_state(self._arrays)
        many = len(self._arrays.modes) > count
        self._modes = modes_of(instance) if many else _ONE_MODE_EACH
        self._compute = np.ascontiguousarray(self._arrays.modes["compute"])
        self._within = within_speeds(instance)
        self._scratch = np.zeros(count), np.zeros(count, np.int64)
        self._completed = np.zeros(count, np.int64)
        self._work = work_of(instance)
        left = np.array([job.iterations_left for job in instance.jobs], np.int64)
        rings.empty(self._arrays, self._state, left)
        index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
        for k, job in enumerate(instance.jobs[j] for j in jobs.index.tolist()):
            if job.running is not None:
                held = {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
                self._hold(Stay(k, 0, held, 0, kept=True, exempt=job.name not in lending))

    def next_event(self) -> int:
        """The next completion or end of a restoration; NEVER if no ring makes progress."""
        while self._restored and not self._is_up(*self._restored[0]):
            heappop(self._restored)
        following = rings.next_completion(self._arrays, self._state)
        return min(following, self._restored[0][0]) if self._restored else following

    def next_change(self) -> int:
        """The next change of a capacity, as by a reservation; NEVER if there is none."""
        return self._supplies.next_change()

    def advance(self, slot: int) -> list[int]:
        """Go to a slot that is no later than the next event; the jobs that complete in it."""
        completed = list[int]()
        if rings.next_completion(self._arrays, self._state) == slot:
            count = rings.complete(self._arrays, self._state, self._completed)
            completed = sorted(self._number[self._completed[:count]].tolist())
        self.now = self._state.counters[CLOCK] = slot
        for k in completed:
            self.completion[k] = slot
            self.past.append(self._leave(k))
            self._paces.pop(k, None)
        while self._restored and self._restored[0][0] == slot:
            at, k = entry = heappop(self._restored)
            while self._restored and self._restored[0] == entry:  # It was interrupted meanwhile.
                heappop(self._restored)
            if self._is_up(at, k):
                self._exchange(k, self.stays[k].ring)
        return completed

    def reserve(self) -> bool:
        """Change the capacities that change in this slot; whether there are any.

        Where one falls, the jobs that began last on the server, or of those that use the resource,
        give way. Those that may not be interrupted never do: there is room for them.
        """
        changed, room = False, self.room
        for supply, growth in self._supplies.changes(self.now):
            room.grow(supply, growth)
            changed = True
        for server in np.flatnonzero(room.idle < 0).tolist():
            there = [one for one in self._able_to_stop() if server in one.ring]
            self._give_way(there, room.idle, server)
        for limit in np.flatnonzero(room.left < 0).tolist():
            users = [
                one
                for one in self._able_to_stop()
                if self.jobs.uses.amounts(one.job, sum(one.ring.values())).get(limit)
            ]
            self._give_way(users, room.left, limit)
        return changed

    def _able_to_stop(self) -> list[Stay]:
        """Stays of jobs that give way to reservations."""
        may = self.jobs.may_stop
        return [one for one in self.stays.values() if not one.exempt and may[one.job]]

    def room_for(self, k: int) -> tuple[Ints, Ints]:
        """Idle GPUs of servers that a job may take now, and what it may use of each limit.

        A job that may not be interrupted takes nothing that might be away before it completes.
        """
        supplies, room = self._supplies, self.room
        if self.jobs.may_stop[k] or not supplies.may_fall:
            return room.idle, room.left
        return room.for_good(supplies.least(self.now + int(self.jobs.most[k])))

    def has_room(self, k: int, ring: Ring) -> bool:
        """Whether a job may take a ring's GPUs now."""
        idle, _ = self.room_for(k)
        return all(idle[server] >= count for server, count in ring.items())

    def _give_way(self, some: list[Stay], left: Ints, supply: int) -> None:
        """Stop those of some jobs that began last, as long as less than nothing is left."""
        for stay in sorted(some, key=lambda one: (-one.start, -one.job)):
            if left[supply] < 0:
                self.stop(stay.job)

    def start(self, k: int, ring: Ring) -> None:
        """A job takes GPUs that are idle; it is restored first if it ran before.

        Where it stopped in this slot, it goes on as if it had not. Elsewhere it goes on with what
        its last checkpoint keeps.
        """
        stay = self.stopped.get(k)
        if stay is not None and stay.ring == ring:
            del self.stopped[k]
            self.served[k] -= self._service(stay)
        else:
            if stay is not None:
                self._lose(k)
            up = self.now + self.restore if self._ran[k] else self.now
            stay = Stay(k, self.now, self._alike(ring), up)
        self._hold(stay)

    def stop(self, k: int) -> None:
        """A job gives its GPUs back without being complete.

        A stay that began in this slot counts as if it had not been. But whoever left another place
        for it in this slot has left that for good.
        """
        if self.stays[k].up <= self.now:
            rings.stop(self._arrays, self._state, int(self.jobs.index[k]))
        if k in self.stopped:
            self._left.append(self.stopped[k])
        self.stopped[k] = self._leave(k)
        self._ran[k] = self.served[k] > 0 or self._runs_at_0[k]

    def settle(self) -> int:
        """Nothing more happens in this slot; how many jobs were interrupted in it."""
        for k in self.stopped:
            if not self.holds[k]:
                self._lose(k)
        stopped = (*self._left, *self.stopped.values())
        over = [stay for stay in stopped if stay.end > stay.start]
        self.past += over
        self._left.clear()
        self.stopped.clear()
        return len(over)

    def _lose(self, k: int) -> None:
        """A job that has stopped in this slot loses what it did since its last checkpoint."""
        self.lost_work[k] += rings.lose(self._state, self._work, int(self.jobs.index[k]))

    def kept(self, some: Ints) -> Ints:
        """Iterations that some jobs would keep if they stopped now."""
        index = self.jobs.index[some]
        done, every = self._work.iterations[index] - self.left(some), self._work.interval[index]
        return np.where(every > 0, done - done % np.maximum(every, 1), 0)

    def left(self, some: Ints) -> Ints:
        """Iterations that some jobs have to do."""
        found = np.empty(len(some), np.int64)
        rings.left_of(self._state, self.jobs.index[some], found)
        return found

    def attained(self, some: Ints) -> Ints:
        """GPU slots that some jobs held so far."""
        held = self.held[some]
        found: Ints = self.served[some] + held * (self.now - np.where(held, self.since[some], 0))
        return found

    def rings_on_links(self) -> Ints:
        """(servers) Rings on the link of each server; 0 for a server without one."""
        path_at = self._arrays.path_at.astype(np.int64)
        linked = path_at[1:] > path_at[:-1]
        found = np.zeros(len(linked), np.int64)
        links = self._arrays.path[path_at[:-1][linked]]
        found[linked] = self._state.links["rings"][links]
        return found

    def lost(self, k: int, ring: Ring) -> tuple[float, float]:
        """What a ring would take from others, and what it would have; see `Site.lost`."""
        servers, workers = _columns(ring)
        size = int(workers.sum())
        one = self._pace(k, ring)
        rule = sharing_rule(self.instance.contention)
        alone = self.tree.lone_gbps(ring)
        weights = [one.weight(rule, len(ring), alone, to) for to in sensitivities(self.instance)]
        weight = np.array(weights, np.int64)
        column = sensitivity_classes(self.instance)[int(self.jobs.index[k])]
        lost, gbps = rings.part_lost(
            *(self._arrays, self._state, servers, workers, size, weight, column),
            *self._scratch,
        )
        return lost, one.speed(len(ring), gbps) / int(self.jobs.speed[k])

    def speed_in(self, k: int, ring: Ring) -> int:
        """Iterations per slot of a job in a ring, beside all other rings that hold GPUs."""
        one = self._pace(k, ring)
        linked = self._on_links(one, ring)
        if linked is None:
            return one.speed(1, within_gbps(self.instance.cluster, next(iter(ring))))
        own = set(linked.links)
        contention = self.instance.contention
        others = [
            other
            for number, other in self.linked.items()
            if number != k and not own.isdisjoint(other.links)
        ]
        rates = bandwidths(contention, [link.gbps for link in self.tree.links], [*others, linked])
        return one.speed(len(ring), rates[-1])

    def _pace(self, k: int, ring: Ring) -> Pace:
        job = self.instance.jobs[self.jobs.index[k]]
        known = self._paces.get(k)
        if known is None:
            known = self._paces[k] = paces_of(self.instance, job)
        types = [self.instance.cluster.servers[s].gpu_type for s in ring]
        return slowest_pace(known, job, sum(ring.values()), types)

    def _on_links(self, one: Pace, ring: Ring) -> RingOnLinks | None:
        links = self.tree.links_used(ring)
        return one.on_links(links, len(ring), self.tree.cards_gbps(ring)) if links else None

    def _hold(self, stay: Stay) -> None:
        k = stay.job
        self.stays[k] = stay
        if len(stay.ring) > 1 and (linked := self._on_links(self._pace(k, stay.ring), stay.ring)):
            self.linked[k] = linked
        stay.end = NEVER
        self.room.take(k, stay.ring, kept=stay.exempt)
        self.held[k], self.since[k] = sum(stay.ring.values()), stay.start
        self.holds[k] = True
        self._ran[k] = True
        if stay.up > self.now:
            heappush(self._restored, (stay.up, k))
        else:
            self._exchange(k, stay.ring)

    def _alike(self, ring: Ring) -> Ring:
        """A ring that never changes; those within one server share it with others."""
        if len(ring) > 1:
            return dict(ring)
        key = tuple(ring.items())
        return self._same.setdefault(key, dict(ring))

    def _leave(self, k: int) -> Stay:
        stay = self.stays.pop(k)
        self.linked.pop(k, None)
        stay.end = self.now
        self.room.give(k, stay.ring, kept=stay.exempt)
        self.served[k] += self._service(stay)
        self.holds[k], self.held[k], self.since[k] = False, 0, NOT_HELD
        return stay

    @staticmethod
    def _service(stay: Stay) -> int:
        return sum(stay.ring.values()) * (stay.end - stay.start)

    def _exchange(self, k: int, ring: Ring) -> None:
        job = int(self.jobs.index[k])
        rings.begin(
            *(self._arrays, self._state, self._modes, self._compute, self._within),
            *(job, *_columns(ring)),
        )

    def _is_up(self, slot: int, k: int) -> bool:
        """Whether an entry of the heap of restorations is up to date."""
        stay = self.stays.get(k)
        return stay is not None and stay.up == slot


def _columns(ring: Ring) -> tuple[Ints, Ints]:
    """Servers and workers of a ring."""
    return np.array([*ring], np.int64), np.array([*ring.values()], np.int64)
