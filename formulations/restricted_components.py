"""The components that formulations document, in a restricted model: expressions of its variables.

Jobs j have choices i, and variables `begun` and `chosen`: see `restricted`. Most jobs are fixed, so
that most components are constants. They are made when somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from math import prod
from operator import contains
from typing import Any

import pyomo.environ as pyo

from .constants import Constant, Constants
from .placements import label_of
from .restriction import Choice, Restriction
from .ring_links import links_count
from .scope import Scope


class Lazy(dict[Any, Any]):
    """A component whose members are made on demand: expressions, or constants.

    A dictionary finds what was made without a call in Python: loops over all jobs, servers and
    slots are the most of the time in which additions are built.

    Parameters
    ----------
    name
        Name of the component.
    at
        Makes the member of an index.
    sets
        The sets of its indices.
    """

    def __init__(self, name: str, at: Callable[..., Any], *sets: Any) -> None:
        super().__init__()
        self._name, self._at, self._sets = name, at, sets

    def __missing__(self, index: Any) -> Any:
        if index not in self:
            raise KeyError(f"{self._name}[{index}]")
        made = self._at(*index) if index.__class__ is tuple else self._at(index)
        if made.__class__ is not Constant:
            self[index] = made
        return made

    def __contains__(self, index: object) -> bool:
        parts = index if isinstance(index, tuple) else (index,)
        return len(parts) == len(self._sets) and all(map(contains, self._sets, parts))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sets[0]) if len(self._sets) == 1 else product(*self._sets)

    def __len__(self) -> int:
        return prod(map(len, self._sets))

    def get(self, index: Any, default: Any = None) -> Any:
        """The member of an index, or something else if there is none."""
        try:
            return self[index]
        except KeyError:
            return default

    keys, values, items = Mapping.keys, Mapping.values, Mapping.items  # type: ignore[assignment]


class Held(Lazy):
    """GPUs of servers that jobs hold in slots, `held[j,s,t]`: for most of them none.

    Parameters
    ----------
    jobs
        The jobs, and what they may choose from.
    """

    def __init__(self, jobs: RestrictedJobs) -> None:
        scope = jobs.scope
        super().__init__("held", self._on, scope.jobs, scope.servers, range(scope.horizon))
        self._jobs, self._zero, self._slots = jobs, jobs.zero, scope.horizon
        # By job and server: when the job may be there, and with how many workers in which choices.
        self._there: dict[str, dict[str, tuple[int, int, list[tuple[int, int]]]]] = {}
        for j, choices in jobs.restriction.items():
            there = self._there[j] = dict.fromkeys(scope.servers, (0, 0, []))
            for i, choice in enumerate(choices):
                for s, count in choice.workers.items():
                    low, high, parts = there[s]
                    if not parts:
                        low, high = choice.starts[0], choice.end
                    span = min(low, choice.starts[0]), max(high, choice.end)
                    there[s] = *span, [*parts, (i, count)]

    def __missing__(self, index: Any) -> Any:
        try:
            j, s, t = index
            low, high, _ = self._there[j][s]
        except (KeyError, TypeError, ValueError):
            raise KeyError(f"held[{index}]") from None
        return (
            self._zero
            if 0 <= t < self._slots and not low <= t < high
            else (super().__missing__(index))
        )

    def _on(self, j: str, s: str, t: int) -> Any:
        parts = self._there[j][s][2]
        return sum((count * self._jobs.active(j, i, t) for i, count in parts), self._zero)


class RestrictedJobs:
    """The variables of a restricted model, and what they say of each job in each slot."""

    def __init__(self, m: Any, scope: Scope, restriction: Restriction, *, variables: bool) -> None:
        self.scope, self.restriction = scope, restriction
        self.constants = Constants(m, variables=variables)
        self.zero, self.one = self.constants.of(0), self.constants.of(1)
        several = [j for j in scope.jobs if len(restriction[j]) > 1]
        pairs = [(j, i) for j in scope.jobs for i in range(len(restriction[j]))]
        m.chosen = pyo.Var([(j, i) for j, i in pairs if j in set(several)], domain=pyo.Binary)
        m.begun = pyo.Var(
            [(j, i, t) for j, i in pairs for t in restriction[j][i].allowed[:-1]],
            domain=pyo.Binary,
        )
        self._begun = dict(m.begun.items())
        self._chosen = dict(m.chosen.items())
        m.one_choice = pyo.Constraint(
            several,
            rule=lambda _, j: sum(self.chosen(j, i) for i in range(len(restriction[j]))) == 1,
        )
        m.stays_begun = pyo.Constraint(
            list(self._begun),
            rule=lambda _, j, i, t: self._begun[j, i, t] <= self.begun(j, i, self._next(j, i, t)),
        )

    def choices(self, job: str) -> tuple[Choice, ...]:
        """What a job may choose from."""
        return self.restriction[job]

    def chosen(self, job: str, i: int) -> Any:
        """Whether a job takes a choice."""
        return self._chosen.get((job, i), self.one)

    def begun(self, job: str, i: int, t: int) -> Any:
        """Whether a job has started by a slot in a choice."""
        choice = self.restriction[job][i]
        if t < choice.starts[0]:
            return self.zero
        if t >= choice.last:
            return self.chosen(job, i)
        while t in choice.refused:
            t -= 1
        return self._begun[job, i, t]

    def _next(self, job: str, i: int, t: int) -> int:
        """The next slot at which a job may start in a choice."""
        t += 1
        while t in self.restriction[job][i].refused:
            t += 1
        return t

    def active(self, job: str, i: int, t: int) -> Any:
        """Whether a job is active in a slot in a choice."""
        choice = self.restriction[job][i]
        if not choice.starts[0] <= t < choice.end:
            return self.zero
        now, before = self.begun(job, i, t), self.begun(job, i, t - choice.slots)
        return self.zero if now is before else now - before

    def total(self, job: str, at: Callable[[int, Choice], Any]) -> Any:
        """A sum over a job's choices."""
        parts = (at(i, choice) for i, choice in enumerate(self.restriction[job]))
        return sum(parts, self.zero)

    def started(self, job: str, t: int) -> Any:
        """Whether a job has started by a slot."""
        if all(t >= choice.last for choice in self.restriction[job]):
            return self.one
        return self.total(job, lambda i, _: self.begun(job, i, t))

    def ended(self, job: str, t: int) -> Any:
        """Whether a job has completed before a slot."""
        if all(t >= choice.end for choice in self.restriction[job]):
            return self.one
        return self.total(job, lambda i, choice: self.begun(job, i, t - choice.slots))

    def running(self, job: str, t: int) -> Any:
        """Whether a job is active in a slot."""
        return self.total(job, lambda i, _: self.active(job, i, t))

    def start(self, job: str) -> Any:
        """The start of a job."""
        return self.total(
            job,
            lambda i, choice: (
                choice.last * self.chosen(job, i)
                - sum((self.begun(job, i, t) for t in choice.starts[:-1]), self.zero)
            ),
        )

    def completion(self, job: str) -> Any:
        """The completion of a job."""
        return self.start(job) + self.total(
            job, lambda i, choice: choice.slots * self.chosen(job, i)
        )

    def workers(self, job: str, server: str) -> Any:
        """Workers of a job on a server."""
        return self.total(
            job, lambda i, choice: choice.workers.get(server, 0) * self.chosen(job, i)
        )

    def on(self, job: str, server: str) -> Any:
        """Whether a job uses a server."""
        return self.total(
            job, lambda i, choice: int(server in choice.workers) * self.chosen(job, i)
        )

    def servers_used(self, job: str) -> Any:
        """The number of servers that a job uses."""
        return self.total(job, lambda i, choice: len(choice.workers) * self.chosen(job, i))


def name_components(m: Any, jobs: RestrictedJobs) -> None:
    """The components that formulations document, by their names."""
    scope = jobs.scope
    names, servers, slots = scope.jobs, scope.servers, range(scope.horizon)
    labels = {
        (j, label_of(choice.workers)): i
        for j, choices in jobs.restriction.items()
        for i, choice in enumerate(choices)
    }
    pairs = list(labels)

    def listed(name: str, at: Callable[..., Any], *sets: Any) -> None:
        setattr(m, name, Lazy(name, at, *sets))

    listed("started", jobs.started, names, slots)
    listed("ended", jobs.ended, names, range(scope.horizon + 1))
    listed("running", jobs.running, names, slots)
    listed("start", jobs.start, names)
    listed("completion", jobs.completion, names)
    listed("workers", jobs.workers, names, servers)
    listed("on", jobs.on, names, servers)
    listed("servers_used", jobs.servers_used, names)
    m.held = Held(jobs)
    m.placed = {pair: jobs.chosen(pair[0], labels[pair]) for pair in pairs}
    m.linked = {}
    if links_count(scope):
        for j, choices in jobs.restriction.items():
            for i, choice in enumerate(choices):
                used = scope.tree.links_used(
                    {scope.server_index[s]: count for s, count in choice.workers.items()}
                )
                for link in used:
                    node = scope.tree.links[link].node
                    m.linked[j, node] = m.linked.get((j, node), jobs.zero) + jobs.chosen(j, i)
