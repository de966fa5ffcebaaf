"""List schedules as simply as possible: every job is tried at every event."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from resource_use import capacity, use
from tenant_trees import tenants_of

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
from rarmodel.lists.instance_arrays import instance_arrays
from rarmodel.lists.placement_options import (
    ANY,
    ANY_ALONE,
    EMPTIEST,
    FEWEST_ALONE,
    FEWEST_PAIRED,
    NEVER_PACKS,
    PACK,
    PACKS_FIRST,
)
from rarmodel.lists.server_bits import BITS
from rarmodel.model import topology
from rarmodel.model.contention import cards_gbps
from rarmodel.schema import Instance

Workers = dict[int, int]
Made = tuple[list[int], list[int], list[Workers]]
"""(jobs) Starts, completions, and workers by server."""


class SimpleDecoder:
    """Makes list schedules of one instance; the engine simulates them."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.facts = instance, instance_arrays(instance)
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
        tree = topology(instance.cluster)
        self.paths = tree.paths
        below: dict[str, dict[int, int]] = {}  # Servers below each switch, and links up to it.
        for server, path in enumerate(self.paths):
            for hops, link in enumerate(path, 1):
                below.setdefault(tree.links[link].parent, {})[server] = hops
        below.setdefault("", {server: len(path) for server, path in enumerate(self.paths)})
        self.hops: dict[frozenset[int], dict[int, int]] = {}
        for up in below.values():  # Of switches with the same servers below, the lowest counts.
            known = self.hops.get(frozenset(up), up)
            self.hops[frozenset(up)] = min(known, up, key=lambda one: min(one.values()))
        groups = (group for group in self.hops if len(group) > 1)
        self.groups = sorted(groups, key=lambda group: (len(group), min(group)))
        self.alone: dict[int, set[int]] = {}

    def __call__(self, order: Sequence[int], option: Ints, earliest: Ints) -> Made | None:
        """The schedule; None if some job can never start."""
        jobs = self.instance.jobs
        self.state = new_state(self.arrays)
        reset(self.arrays, self.state)
        self.held: dict[int, Workers] = {}
        self.alone = {}
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
                    state = _copied(self.state)
                    self._start(state, j, workers)
                    if self._kept(state, {**self.held, j: workers}, now):
                        self._start(self.state, j, workers)
                        self.held[j] = rings[j] = workers
                        if self._style(j, int(option[j])) in (ANY_ALONE, FEWEST_ALONE):
                            self.alone[j] = self._links(workers)
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
            moments += [int(slot) for slot in self.facts.supplies.slot]
            later = [int(slot) for slot in moments if slot > now]
            if not later or min(later) == NEVER:
                return None
            now = min(later)
            if next_completion(self.arrays, self.state) == now:
                for j in self._complete(self.state):
                    ends[j] = now
                    done.add(jobs[j].name)
                    del self.held[j]
                    self.alone.pop(j, None)
            self.state.counters[CLOCK] = now

    def _start(self, state: State, j: int, workers: Workers) -> None:
        ring = np.array([*workers]), np.array([*workers.values()]), len(workers)
        start(self.arrays, state, j, mode_of(self.modes, self.compute, j, *ring), *ring)

    def _complete(self, state: State) -> list[int]:
        completed = np.zeros(len(self.instance.jobs), np.int64)
        count = complete_next(self.arrays, state, completed)
        return [int(j) for j in completed[:count]]

    def _room(self, server: int, slot: int, held: dict[int, Workers]) -> int:
        """GPUs of a server that are left in a slot; below 0 if jobs hold too many."""
        kept = sum(w.get(server, 0) for j, w in held.items() if j in self.running)
        others = sum(w.get(server, 0) for j, w in held.items() if j not in self.running)
        return max(0, self.instance.cluster.capacity(server, slot) - kept) - others

    def _exceeded(self, slot: int, held: dict[int, Workers], used_by: set[int]) -> bool:
        """Whether jobs use too much of what some of them use: a tenant's cap, or a resource."""
        jobs = self.instance.jobs
        gpus = {j: sum(workers.values()) for j, workers in held.items()}
        limits: list[tuple[Decimal | None, dict[int, Decimal]]] = [
            (
                None if one.gpus is None else Decimal(one.gpus),
                {
                    j: Decimal(gpus[j])
                    for j in held
                    if one.name in tenants_of(self.instance, jobs[j])
                },
            )
            for one in self.instance.tenants
        ]
        limits += [
            (capacity(one, slot), {j: use(jobs[j], one.name, gpus[j]) for j in held})
            for one in self.instance.resources
        ]
        for most, uses in limits:
            ran, rest = Decimal(0), Decimal(0)
            for j, amount in uses.items():
                ran += amount if j in self.running else 0
                rest += 0 if j in self.running else amount
            mine = any(uses.get(j) for j in used_by)
            if most is not None and mine and rest > max(Decimal(0), most - ran):
                return True
        return False

    def _placed(self, j: int, option: int, now: int) -> Workers:
        """Workers by server of a job that starts now; none if there is no room."""
        facts = self.facts
        chosen = facts.options.at[j] + option
        size = int(facts.options.size[chosen]) if option >= 0 else sum(self.pins[~option].values())
        if self._exceeded(now, {**self.held, j: {0: size}}, {j}):
            return {}
        if option < 0:
            pin = self.pins[~option]
            return pin if all(self._room(s, now, self.held) >= pin[s] for s in pin) else {}
        words = facts.options.sets[facts.options.allowed[chosen]]
        allowed = [s for s in self.servers if int(words[s // BITS]) >> s % BITS & 1]
        idle = {s: self._room(s, now, self.held) for s in allowed}
        style, packs = facts.options.style[chosen], facts.options.packs[chosen]
        packed = self._packed(idle, size)
        if style == PACK or (packs == PACKS_FIRST and packed):
            return packed
        spread = self._spread(j, int(chosen), idle)
        return spread or ({} if packs == NEVER_PACKS else packed)

    def _style(self, j: int, option: int) -> int:
        return (
            -1 if option < 0 else int(self.facts.options.style[self.facts.options.at[j] + option])
        )

    def _links(self, workers: Workers) -> set[int]:
        """The links that a ring uses: those with some of its servers below, but not all."""
        links = [link for server in workers for link in self.paths[server]]
        return {link for link in links if links.count(link) < len(workers)}

    def _packed(self, idle: Workers, size: int) -> Workers:
        roomy = [s for s in idle if idle[s] >= size]
        return {min(roomy, key=lambda s: (idle[s], s)): size} if roomy else {}

    def _spread(self, j: int, chosen: int, idle: Workers) -> Workers:
        """Workers of a ring on several servers, below the first switch that has room.

        Or, in the style EMPTIEST, below the one where they are the fewest.
        """
        options = self.facts.options
        row = options.queue_switches[options.queue[chosen]]
        below = options.switch[options.switch_at[row] : options.switch_at[row + 1]].tolist()
        found = (self._below(j, chosen, idle, self.groups[number]) for number in below)
        rings = (ring for ring in found if ring)
        if options.style[chosen] == EMPTIEST:
            return min(rings, key=len, default={})
        return next(rings, {})

    def _below(self, j: int, chosen: int, idle: Workers, group: frozenset[int]) -> Workers:
        """The same below a switch."""
        options, spread = self.facts.options, self.instance.jobs[j].spread
        style, size = int(options.style[chosen]), int(options.size[chosen])
        fewest = max(2, spread.min_servers) if spread else 2
        most = (spread.max_servers if spread else None) or len(idle)
        equal = spread is not None and spread.equal
        if style in (FEWEST_ALONE, FEWEST_PAIRED):
            fewest = most = int(options.fewest[chosen])
        others = {ANY_ALONE: 0, FEWEST_ALONE: 0, FEWEST_PAIRED: 1}.get(style, len(self.held))
        taken = set().union(*self.alone.values())
        rings = [self._links(workers) for workers in self.held.values()]
        usable = []
        for s in sorted(group & idle.keys(), key=lambda s: (-idle[s], s)):
            links = set(self.paths[s][: self.hops[group][s]])
            full = any(sum(link in ring for ring in rings) > others for link in links)
            if idle[s] > 0 and not full and not links & taken:
                usable.append(s)
        for used in range(fewest, min(most, size, len(usable)) + 1):
            first = usable[:used]
            share = size // used
            if not equal and sum(idle[s] for s in first) >= size:
                return self._filled(style, idle, size, first, usable)
            if equal and size % used == 0 and idle[first[-1]] >= share:
                if style in (FEWEST_ALONE, FEWEST_PAIRED):
                    roomy = [s for s in usable if idle[s] >= share]
                    first = self._tight(first, roomy, idle, dict.fromkeys(usable, share), 0)
                return dict.fromkeys(first, share)
        return {}

    def _tight(
        self, first: list[int], usable: list[int], idle: Workers, least: Workers, spare: int
    ) -> list[int]:
        """Servers in place of the first ones: the fullest that do, from the last place on."""
        chosen = [*first]
        for p in reversed(range(len(chosen))):
            own = chosen[p]
            need = least.get(own) or max(1, idle[own] - spare)
            fuller = [s for s in usable if need <= idle[s] < idle[own] and s not in chosen]
            if fuller:
                chosen[p] = min(fuller, key=lambda s: (idle[s], s))
                spare -= idle[own] - idle[chosen[p]]
        return chosen

    def _filled(
        self, style: int, idle: Workers, size: int, first: list[int], usable: list[int]
    ) -> Workers:
        """Workers on the emptiest servers, or on the fullest that do."""
        workers, left = Workers(), size
        cards = [server.network_cards for server in self.instance.cluster.servers]
        if style not in (FEWEST_ALONE, FEWEST_PAIRED) and max(cards) > 1:
            workers = Workers(dict.fromkeys(first, 1))
            for _ in range(size - len(first)):
                reach = {
                    s: cards_gbps(float(self.arrays.gbps[self.paths[s][0]]), workers[s], cards[s])
                    for s in first
                    if workers[s] < idle[s]
                }
                workers[min(reach, key=lambda s: reach[s])] += 1
            return workers
        if style in (FEWEST_ALONE, FEWEST_PAIRED):
            spare = sum(idle[s] for s in first) - size
            first = self._tight(first, usable, idle, {}, spare)[::-1]
        for p, emptiest in enumerate(first):
            s, others = emptiest, len(first) - 1 - p
            if others == 0 and style in (ANY, ANY_ALONE):
                fuller = [t for t in usable if left <= idle[t] < idle[s] and t not in workers]
                s = min(fuller, key=lambda t: (idle[t], t), default=s)
            workers[s] = min(left - others, idle[s])
            left -= workers[s]
        return workers

    def _kept(self, running: State, jobs: dict[int, Workers], now: int) -> bool:
        """Whether deadlines and capacities are kept if nothing starts any more."""
        if not self.facts.guarded:
            return True
        state = _copied(running)
        held = dict(jobs)
        while held:
            end = next_completion(self.arrays, state)
            for slot in self.facts.supplies.slot:
                if now < slot < end and (
                    min(self._room(s, slot, held) for s in self.servers) < 0
                    or self._exceeded(int(slot), held, set(held))
                ):
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


def _copied(state: State) -> State:
    """A copy; no GPU is shared."""
    assert state.gpus is None
    return State._make([*(array.copy() for array in state[:-1]), None])
