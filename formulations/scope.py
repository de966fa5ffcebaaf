"""The scope of a model: an instance, how many slots, and what the model may leave out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np

from rarmodel.culprits import shown
from rarmodel.errors import PartError, UsageError
from rarmodel.model import Extremes, Pace, Topology, Window, pace, plain_pace, windows
from rarmodel.model.interruptions import left_if_moved
from rarmodel.model.link_shares import sensitivities, sensitivity_classes
from rarmodel.model.objectives import Value
from rarmodel.model.sharing_rule import SharingRule, sharing_rule
from rarmodel.schema import Instance, Job, Link, Server

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Scope:
    """The scope of a model. Models are indexed by the names of jobs, servers and links.

    Attributes
    ----------
    instance
        The problem.
    tree
        Its network.
    extremes
        The range of each job's execution time, in job order.
    horizon
        Number of slots of the model: it leaves out schedules of greater makespan.
    lower_bound
        A proven lower bound on the makespan.
    data
        Data that a formulation needs beside the instance, by name: weights, deadlines, a pool.
        Plain JSON data; `--data FILE` on the command line.
    every_schedule
        Whether the model must contain every feasible schedule. If not, it may leave out a schedule
        if an equal or better one remains: one order of equal servers is enough, for example. A
        formulation with added constraints or another objective needs every schedule.
    allowed
        Rules that a placement must pass before it gets variables; see `Allows`.
    allowed_at
        Rules for the slots in which a job may be active in a placement; see `AllowsAt`.
    stage
        Place of the objective to minimise among those of the instance.
    at_most
        Greatest allowed values of the instance's objectives, the most important first. Constraints
        keep the values of objectives before the stage; all values limit when jobs may end.
    known_windows
        (jobs) Windows that every schedule with these values keeps, as bounds prove; None if none
        are known.
    interrupted
        Whether the model may interrupt jobs. A placement need not complete its job then, and a
        running job has others than the one that it holds.
    """

    instance: Instance
    tree: Topology
    extremes: tuple[Extremes, ...]
    horizon: int
    lower_bound: int
    data: Mapping[str, Any] = field(default_factory=dict)
    every_schedule: bool = False
    allowed: tuple[Allows, ...] = ()
    allowed_at: tuple[AllowsAt, ...] = ()
    stage: int = 0
    at_most: tuple[Value, ...] = ()
    known_windows: tuple[Window, ...] | None = None
    interrupted: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """The fields: what was made of them is made anew elsewhere."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    def allows(self, job: str, workers: Mapping[str, int], left: int) -> bool:
        """Whether every rule allows a job this placement, complete or partial; see `Allows`."""
        return all(_answer(rule(self, job, workers, left)) for rule in self.allowed)

    def allows_at(self, job: str, workers: Mapping[str, int], slot: int) -> bool:
        """Whether every rule allows a job to be active so in a slot; see `AllowsAt`."""
        answers = (rule(self, job, workers, slot) for rule in self.allowed_at)
        return all(_answer(allowed, "slots (allows_at)") for allowed in answers)

    @property
    def sharing(self) -> SharingRule:
        """How rings that share a link slow each other down."""
        return sharing_rule(self.instance.contention)

    @cached_property
    def sensitivities(self) -> tuple[int, ...]:
        """The different sensitivities of rings: a ring counts to each with a weight of its own."""
        return sensitivities(self.instance)

    def sensitivity(self, job: str) -> int:
        """Which of `sensitivities` a job's ring has."""
        return self.sensitivities[sensitivity_classes(self.instance)[self.index[job]]]

    @cached_property
    def index(self) -> dict[str, int]:
        """Index of each job by name."""
        return {job.name: j for j, job in enumerate(self.instance.jobs)}

    def pace(self, job: str) -> Pace:
        """What an iteration of a job is made of that has one ring size and one pace."""
        return plain_pace(self.instance, self.index[job])

    def pace_on(self, job: str, workers: Mapping[str, int]) -> Pace:
        """What an iteration is made of in a placement: workers by server.

        Where jobs may be interrupted, one that moves at slot 0 may have more to do than is left.
        """
        types = [self.servers[server].gpu_type for server in workers]
        found = pace(self.instance, self.index[job], sum(workers.values()), types)
        if not self.interrupted:
            return found
        return found._replace(iterations=left_if_moved(self.instance, self.jobs[job]))

    def lone_gbps(self, workers: Mapping[str, int]) -> float:
        """Bandwidth in Gbit/s of a ring on several servers that is alone: workers by server."""
        return self.tree.lone_gbps({self.server_index[s]: n for s, n in workers.items()})

    @cached_property
    def windows(self) -> dict[str, Window]:
        """By job: the slots in which it can be active."""
        found = windows(self.instance, self.horizon, self.at_most, self.known_windows)
        return dict(zip(self.jobs, found, strict=True))

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """Jobs by name, in input order."""
        return {job.name: job for job in self.instance.jobs}

    @cached_property
    def servers(self) -> dict[str, Server]:
        """Servers by name, in input order."""
        return {server.name: server for server in self.instance.cluster.servers}

    @cached_property
    def server_index(self) -> dict[str, int]:
        """Index of each server by name."""
        return {name: s for s, name in enumerate(self.servers)}

    @cached_property
    def links(self) -> dict[str, Link]:
        """Links by the name of the node below them: a server's link by the server's name."""
        return {link.node: link for link in self.tree.links}

    @cached_property
    def below(self) -> dict[str, tuple[str, ...]]:
        """By link: the servers below it."""
        below: dict[str, list[str]] = {node: [] for node in self.links}
        for server, path in zip(self.servers, self.tree.paths, strict=True):
            for link in path:
                below[self.tree.links[link].node].append(server)
        return {node: tuple(servers) for node, servers in below.items()}

    @cached_property
    def least_slots(self) -> dict[str, int]:
        """By job: least execution time in slots, ρ_j^min."""
        return {j: e.least_slots for j, e in zip(self.jobs, self.extremes, strict=True)}

    def read(self, name: str, default: Any = None) -> Any:
        """An entry of `data`.

        Raises
        ------
        UsageError
            If the entry is missing and there is no default.
        """
        if name not in self.data and default is None:
            raise UsageError(
                f"this formulation needs the entry {name!r} in its data (--data FILE, or data=…)"
            )
        return self.data.get(name, default)

    def check_jobs(self, names: Any, what: str) -> None:
        """Refuse names that no job has.

        Raises
        ------
        UsageError
            With the names; `what` names the entry in which they occur.
        """
        _check(names, self.jobs, "job", what)

    def check_servers(self, names: Any, what: str) -> None:
        """Refuse names that no server has; see `check_jobs`."""
        _check(names, self.servers, "server", what)


def _answer(allowed: object, about: str = "placements (allows)") -> bool:
    if isinstance(allowed, bool | np.bool_):
        return bool(allowed)
    raise PartError(f"a rule for {about} returned {shown(allowed)}; True or False is expected")


def _check(names: Any, known: Mapping[str, object], kind: str, what: str) -> None:
    if unknown := [str(name) for name in names if name not in known]:
        few = ", ".join(list(known)[:10]) + (", …" if len(known) > 10 else "")
        raise UsageError(f"{what}: no {kind} {', '.join(map(repr, unknown))}; choose from {few}")


Allows = Callable[[Scope, str, Mapping[str, int], int], bool]
"""Whether a job may be placed so: scope, job, workers by server, number of workers left to place.

rarmodel builds a placement server by server, in input order, and calls the rule at each step. A
rule that refuses a step refuses all placements that continue it. With 0 left the placement is
complete."""

AllowsAt = Callable[[Scope, str, Mapping[str, int], int], bool]
"""Whether a job may be active in a slot on workers by server: scope, job, workers, slot.

rarmodel asks it of complete placements, in each slot of the job's window."""


def once_per_scope(function: Callable[[Scope], _Made]) -> Callable[[Scope], _Made]:
    """Make a function call its body once for each scope, whose components share what it returns."""

    @wraps(function)
    def kept(scope: Scope) -> _Made:
        known = scope.__dict__.setdefault("_made", {})
        if function not in known:
            known[function] = function(scope)
        return known[function]  # type: ignore[no-any-return]

    return kept
