"""Optima of tiny instances with preemption: every choice in every slot, state by state.

A state is what each job has left, what it holds, and how long it is still restored. In each slot
each job holds nothing, goes on, or begins a segment in any placement; what then happens follows
`naive_segments`. Of all ways to a state only the least value of each objective is kept. Shares
nothing with engine, formulations and verifier.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from enumeration import count_vectors
from lone_placements import within_one
from naive_segments import kept, restore_slots, speeds
from resource_use import capacity, use
from tenant_trees import tenants_of
from wide_instances import has_memory

from rarmodel.model.objectives import Objective, Value, objective
from rarmodel.schema import Instance, Job

Workers = tuple[tuple[str, int], ...]


class State(NamedTuple):
    """Where a job is."""

    left: int
    """Iterations to do."""
    begun: bool
    """Whether it has held GPUs."""
    held: Workers | None
    """What it holds."""
    own: bool
    """Whether it has held that since before slot 0."""
    wait: int
    """Slots for which it is still restored."""
    linked: int = 0
    """The most links that its ring has used, if these count."""


class Choice(NamedTuple):
    """What a job holds in a slot."""

    held: Workers | None
    own: bool = False
    wait: int = 0
    """Slots of restoration, this one included."""
    goes_on: bool = False
    """Whether the segment before goes on."""


def optima(instance: Instance, latest: int) -> dict[str, Value] | None:
    """The least value of each of the instance's objectives by itself; None if it is infeasible.

    Jobs complete by a slot.
    """
    return _Search(instance).optima(latest)


class _Search:
    def __init__(self, instance: Instance) -> None:
        self.instance, self.jobs = instance, instance.jobs
        self.objectives: list[Objective] = [objective(name) for name in instance.objectives]
        self.terms = [
            one.terms(instance) if one.of_completions else None for one in self.objectives
        ]
        self.links = [i for i, one in enumerate(instance.objectives) if one == "total-links"]
        self.restore = restore_slots(instance)
        self.placements = [list(self._placements(job)) for job in self.jobs]
        self.known: dict[object, dict[str, int]] = {}
        self.ways: dict[Workers, int] = {}
        names = [server.name for server in instance.cluster.servers]
        self.prices = [
            None if one.prices is None else dict(zip(names, one.prices(instance), strict=True))
            for one in self.objectives
        ]

    def _placements(self, job: Job) -> Iterator[Workers]:
        """Every way to hold GPUs that a job may use."""
        servers = self.instance.cluster.servers
        for size in job.sizes:
            for counts in count_vectors([server.gpus for server in servers], size):
                used = [(servers[s], count) for s, count in counts.items()]
                if job.servers is not None and any(s.name not in job.servers for s, _ in used):
                    continue
                if not has_memory(self.instance, job, counts):
                    continue
                if job.times is not None and any(s.gpu_type not in job.times for s, _ in used):
                    continue
                if job.spread is not None:
                    most = job.spread.max_servers or len(used)
                    alike = len({count for _, count in used}) == 1
                    if not job.spread.min_servers <= len(used) <= most:
                        continue
                    if job.spread.equal and not alike:
                        continue
                    if job.spread.within and not within_one(
                        self.instance, job.spread.within, counts
                    ):
                        continue
                yield tuple(sorted((server.name, count) for server, count in used))

    def optima(self, latest: int) -> dict[str, Value] | None:
        first = []
        for job in self.jobs:
            held = None
            if job.running is not None:
                held = tuple(sorted((s, len(g)) for s, g in job.running.gpus.items()))
            begun = job.running is not None
            left = job.iterations_left
            first.append(State(left, begun, held, begun, 0))
        nothing: list[Value] = [0] * len(self.objectives)
        layer = {tuple(first): nothing}
        best: list[Value] | None = None
        for slot in range(latest):
            following: dict[tuple[State, ...], list[Value]] = {}
            for states, values in layer.items():
                for after, found in self._steps(slot, states, values):
                    if all(state.left == 0 for state in after):
                        best = found if best is None else list(map(min, found, best))
                        continue
                    other = following.get(after)
                    following[after] = found if other is None else list(map(min, found, other))
            layer = following
        return None if best is None else dict(zip(self.instance.objectives, best, strict=True))

    def _steps(
        self, slot: int, states: tuple[State, ...], values: list[Value]
    ) -> Iterator[tuple[tuple[State, ...], list[Value]]]:
        """Every way through a slot: the states after it, and the values so far."""
        for choices in product(*(self._choices(slot, j, states) for j in range(len(states)))):
            if not self._fits(slot, choices):
                continue
            up = tuple(
                (job.name, choice.held)
                for job, choice in zip(self.jobs, choices, strict=True)
                if choice.held is not None and choice.wait == 0
            )
            if up not in self.known:
                self.known[up] = speeds(self.instance, {name: dict(held) for name, held in up})
            speed = self.known[up]
            after, found = [], list(values)
            for j, (job, state, choice) in enumerate(zip(self.jobs, states, choices, strict=True)):
                before = state.left
                if state.held is not None and not choice.goes_on:
                    before = job.iterations - kept(job, job.iterations - state.left)
                left = max(0, before - speed.get(job.name, 0))
                if state.left and not left:
                    self._complete(found, j, slot + 1)
                held = choice.held if left else None
                begun = state.begun or choice.held is not None
                linked = max(state.linked, self._linked(choice.held))
                after.append(
                    State(left, begun, held, choice.own, max(0, choice.wait - 1), linked)
                    if left
                    else State(0, True, None, False, 0, linked)
                )
            for i in self.links:
                found[i] = sum(state.linked for state in after)
            for i, prices in enumerate(self.prices):
                if prices is not None:
                    found[i] += sum(
                        (prices[s] * n for one in choices for s, n in one.held or ()), Fraction(0)
                    )
            deadlines = (
                job.deadline is not None and state.left and job.deadline <= slot + 1
                for job, state in zip(self.jobs, after, strict=True)
            )
            if not any(deadlines):
                yield tuple(after), found

    def _linked(self, held: Workers | None) -> int:
        """Links of a ring, if they count: each has some of its servers below it, and some not."""
        if not self.links or held is None:
            return 0
        if held not in self.ways:
            network = self.instance.cluster.network
            parent = (
                {} if network.kind == "star" else {one.node: one.parent for one in network.links}
            )
            below: dict[str, set[str]] = {}
            for name, _ in held:
                node: str | None = name
                while node is not None:
                    below.setdefault(node, set()).add(name)
                    node = parent.get(node)
            self.ways[held] = sum(len(some) < len(held) for some in below.values())
        return self.ways[held]

    def _complete(self, values: list[Value], j: int, end: int) -> None:
        for i, (one, terms) in enumerate(zip(self.objectives, self.terms, strict=True)):
            term = None if terms is None else terms[j]
            if term is not None:
                at = term.at(end)
                values[i] = max(values[i], at) if one.greatest else values[i] + at

    def _choices(self, slot: int, j: int, states: tuple[State, ...]) -> Iterator[Choice]:
        """What a job may hold in a slot: nothing, what it has, or a new segment."""
        job, state = self.jobs[j], states[j]
        stays = not job.preemptible and state.held is not None
        if not stays:
            yield Choice(None)
        if state.left == 0:
            return
        if state.held is not None:
            yield Choice(state.held, state.own, state.wait, goes_on=True)
        if stays:
            return
        names = {other.name: k for k, other in enumerate(self.jobs)}
        waits = any(states[names[name]].left for name in job.after)
        if state.begun or (slot >= job.release and not waits):
            for held in self.placements[j]:
                yield Choice(held, wait=self.restore if state.begun else 0)

    def _fits(self, slot: int, choices: tuple[Choice, ...]) -> bool:
        """Whether servers, reservations, quotas and resources have room."""
        for server in self.instance.cluster.servers:
            away = sum(
                one.gpus
                for one in self.instance.cluster.reservations
                if one.server == server.name
                and one.start <= slot
                and (one.end is None or slot < one.end)
            )
            own, others = self._sums(choices, {server.name})
            if own + others > server.gpus or others > max(0, server.gpus - away - own):
                return False
        for tenant in self.instance.tenants:
            if tenant.gpus is not None:
                own, others = self._sums(choices, None, tenant.name)
                if others > max(0, tenant.gpus - own):
                    return False
        for resource in self.instance.resources:
            there = capacity(resource, slot)
            used = {True: Decimal(0), False: Decimal(0)}
            for job, choice in zip(self.jobs, choices, strict=True):
                if choice.held is not None:
                    gpus = sum(count for _, count in choice.held)
                    used[choice.own] += use(job, resource.name, gpus)
            if there is not None and used[False] > max(Decimal(0), there - used[True]):
                return False
        return True

    def _sums(
        self, choices: tuple[Choice, ...], servers: set[str] | None, tenant: str | None = None
    ) -> tuple[int, int]:
        """GPUs that jobs hold since before slot 0, and that others hold."""
        sums = {True: 0, False: 0}
        for job, choice in zip(self.jobs, choices, strict=True):
            if tenant is None or tenant in tenants_of(self.instance, job):
                counts: Mapping[str, int] = dict(choice.held or ())
                some = (n for s, n in counts.items() if servers is None or s in servers)
                sums[choice.own] += sum(some)
        return sums[True], sums[False]
