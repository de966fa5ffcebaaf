"""List schedules of wider instances as simply as possible: every job is tried at every event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

import numpy as np

from rarmodel.dispatch.facts import FEWEST_ALONE, PACK, facts_of
from rarmodel.dispatch.room import BITS
from rarmodel.engine.arrays import NEVER, Ints, State, arrays_of, new_state
from rarmodel.engine.kernel import (
    CLOCK,
    RUNNING,
    complete_next,
    next_completion,
    reset,
    start,
)
from rarmodel.engine.modes import mode_of, modes_of
from rarmodel.schema import Instance

Workers = dict[int, int]
Made = tuple[list[int], list[int], list[Workers]]
"""(jobs) Starts, completions, and workers by server."""


class SimpleDecoder:
    """Makes list schedules of one instance; the engine simulates them."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.facts = instance, facts_of(instance)
        self.arrays, self.modes = arrays_of(instance), modes_of(instance)
        self.compute = np.ascontiguousarray(self.arrays.modes["compute"])
        self.servers = range(len(instance.cluster.servers))
        index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
        self.running: dict[int, Workers] = {
            j: {index[name]: len(gpus) for name, gpus in job.running.gpus.items()}
            for j, job in enumerate(instance.jobs)
            if job.running is not None
        }
        self.pins: list[Workers] = []
        self.sets: dict[int, list[int]] = {}

    def __call__(self, order: Sequence[int], option: Ints, earliest: Ints) -> Made | None:
        """The schedule; None if some job can never start."""
        jobs = self.instance.jobs
        self.state = new_state(self.arrays)
        reset(self.arrays, self.state)
        self.held: dict[int, Workers] = {}
        starts, ends, rings = [0] * len(jobs), [NEVER] * len(jobs), [Workers() for _ in jobs]
        for j in order:
            if j in self.running:
                self._start(self.state, j, self.running[j])
                self.held[j] = rings[j] = self.running[j]
        if self.held and not self._kept(self.state, self.held, 0):
            return None
        waiting = [j for j in order if j not in self.running]
        now, done = 0, set[str]()
        while True:
            for j in [*waiting]:
                ready = set(jobs[j].after) <= done
                if ready and max(jobs[j].release, int(earliest[j])) <= now:
                    workers = self._placed(j, int(option[j]), now)
                    if not workers:
                        continue
                    state = State._make(array.copy() for array in self.state)
                    self._start(state, j, workers)
                    if self._kept(state, {**self.held, j: workers}, now):
                        self._start(self.state, j, workers)
                        self.held[j] = rings[j] = workers
                        starts[j] = now
                        waiting.remove(j)
            if not self.state.counters[RUNNING] and not waiting:
                return starts, ends, rings
            moments = [next_completion(self.arrays, self.state)]
            moments += [
                max(jobs[j].release, int(earliest[j]))
                for j in waiting
                if set(jobs[j].after) <= done
            ]
            moments += [int(slot) for slot in self.facts.change_slot]
            later = [int(slot) for slot in moments if slot > now]
            if not later or min(later) == NEVER:
                return None
            now = min(later)
            if next_completion(self.arrays, self.state) == now:
                for j in self._complete(self.state):
                    ends[j] = now
                    done.add(jobs[j].name)
                    del self.held[j]
            self.state.counters[CLOCK] = now

    def _start(self, state: State, j: int, workers: Workers) -> None:
        ring = np.array([*workers]), np.array([*workers.values()]), len(workers)
        start(self.arrays, state, j, mode_of(self.modes, self.compute, j, *ring), *ring)

    def _complete(self, state: State) -> list[int]:
        completed = np.zeros(len(self.instance.jobs), np.int64)
        count = complete_next(self.arrays, state, completed)
        return [int(j) for j in completed[:count]]

    def _rooms(self, servers: Iterable[int], slot: int, held: dict[int, Workers]) -> dict[int, int]:
        """GPUs of servers that are left in a slot; below 0 where jobs hold too many."""
        kept, others = Counter[int](), Counter[int]()
        for j, workers in held.items():
            (kept if j in self.running else others).update(workers)
        capacity = self.instance.cluster.capacity
        return {s: max(0, capacity(s, slot) - kept[s]) - others[s] for s in servers}

    def _placed(self, j: int, option: int, now: int) -> Workers:
        """Workers by server of a job that starts now; none if there is no room."""
        facts, job = self.facts, self.instance.jobs[j]
        chosen = facts.option_at[j] + option
        size = int(facts.option_size[chosen]) if option >= 0 else sum(self.pins[~option].values())
        caps = {one.name: one.gpus for one in self.instance.tenants if one.gpus is not None}
        if job.tenant in caps:
            of_tenant = [i for i in self.held if self.instance.jobs[i].tenant == job.tenant]
            ran = sum(sum(self.held[i].values()) for i in of_tenant if i in self.running)
            rest = sum(sum(self.held[i].values()) for i in of_tenant if i not in self.running)
            if rest + size > max(0, caps[job.tenant or ""] - ran):
                return {}
        if option < 0:
            pin = self.pins[~option]
            rooms = self._rooms(pin, now, self.held)
            return pin if all(rooms[s] >= pin[s] for s in pin) else {}
        first = int(facts.option_allowed[chosen])
        rows = range(first, first + int(facts.option_rows[chosen]))
        found = [self._within(j, int(chosen), row, size, now) for row in rows]
        return min((one for one in found if one), key=len, default={})

    def _allowed(self, row: int) -> list[int]:
        """The servers of a set."""
        if row not in self.sets:
            words = self.facts.allowed[row].tolist()
            self.sets[row] = [s for s in self.servers if words[s // BITS] >> s % BITS & 1]
        return self.sets[row]

    def _within(self, j: int, chosen: int, row: int, size: int, now: int) -> Workers:
        """The same on servers of a set."""
        facts, spread = self.facts, self.instance.jobs[j].spread
        style, allowed = facts.option_style[chosen], self._allowed(row)
        idle = self._rooms(allowed, now, self.held)
        if style == PACK:
            roomy = [s for s in allowed if idle[s] >= size]
            return {min(roomy, key=lambda s: (idle[s], s)): size} if roomy else {}
        link = facts.server_link
        usable = [s for s in allowed if idle[s] > 0]
        if style == FEWEST_ALONE:
            usable = [s for s in usable if link[s] < 0 or self.state.links[link[s]]["rings"] == 0]
        usable.sort(key=lambda s: (-idle[s], s))
        fewest = max(2, spread.min_servers) if spread else 2
        most = (spread.max_servers if spread else None) or len(usable)
        room = [0, *accumulate(idle[s] for s in usable)]
        for used in range(fewest, min(most, size, len(usable)) + 1):
            if spread and spread.equal:
                if size % used == 0 and idle[usable[used - 1]] >= size // used:
                    return dict.fromkeys(usable[:used], size // used)
            elif room[used] >= size:
                workers, left = dict.fromkeys(usable[:used], 1), size - used
                for s in usable[:used]:
                    more = min(left, idle[s] - 1)
                    workers[s] += more
                    left -= more
                return workers
        return {}

    def _kept(self, running: State, jobs: dict[int, Workers], now: int) -> bool:
        """Whether deadlines and reservations are kept if nothing starts any more."""
        if not self.facts.guarded:
            return True
        state = State._make(array.copy() for array in running)
        held = dict(jobs)
        while held:
            end = next_completion(self.arrays, state)
            for slot in self.facts.change_slot:
                if now < slot < end and min(self._rooms(self.servers, slot, held).values()) < 0:
                    return False
            if end == NEVER:
                return False
            now = max(now, end - 1)
            for i in self._complete(state):
                deadline = self.instance.jobs[i].deadline
                if deadline is not None and end > deadline:
                    return False
                del held[i]
        return True
