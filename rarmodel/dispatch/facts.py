"""What a list schedule of a wider instance must know, laid out for compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rarmodel.engine import Placements
from rarmodel.engine.arrays import NEVER, Floats, Ints
from rarmodel.model import job_extremes, lone_options, topology
from rarmodel.model.lone import Lone, groups_of
from rarmodel.model.objectives import Objective, objectives_of
from rarmodel.schema import Instance, Spread

from .room import Words, as_words

PACK, FEWEST, FEWEST_ALONE = range(3)
"""How a ring is placed: on one server; on as few servers as possible; on as few as possible whose
links no other ring uses."""
MOST_GROUPS = 8
"""Parts of the network within one of which a ring must be, at most, of which it may choose one."""


class Facts(NamedTuple):
    """A wider instance; nothing here changes."""

    release: Ints
    """(jobs) First slot in which each may start."""
    least_slots: Ints
    """(jobs) Slots that each takes alone, at best."""
    deadline: Ints
    """(jobs) Slot by which each must complete; NEVER if there is none."""
    follower_at: Ints
    """(jobs + 1) Offsets into `follower`."""
    follower: Ints
    """Jobs that wait for each job."""
    waits_for: Ints
    """(jobs) How many jobs each waits for."""
    tenant: Ints
    """(jobs) Whose job it is, of those with a cap; −1 for others."""
    tenant_cap: Ints
    """(tenants with a cap) GPUs that their jobs may hold at once."""
    server_gpus: Ints
    """(servers) GPUs of each server, O_s."""
    server_link: Ints
    """(servers) Each server's own link; −1 if it has none."""
    path_at: Ints
    """(servers + 1) Offsets into `path`."""
    path: Ints
    """Links from each server up to the root."""
    change_slot: Ints
    """(changes) Slots at which reservations begin or end, ascending."""
    change_server: Ints
    """(changes) Server of each."""
    change_gpus: Ints
    """(changes) By how much the GPUs of the server grow then."""
    change_left: Ints
    """(changes) GPUs that are left of the server in that slot."""
    change_floor: Ints
    """(changes) The fewest GPUs that are left of the server from then on."""
    first_floor: Ints
    """(servers) And from slot 0 on."""
    last_begin: int
    """The last change by which a server loses GPUs; −1 if there is none."""
    option_at: Ints
    """(jobs + 1) Offsets of each job's options in the next four."""
    option_size: Ints
    """Ring size."""
    option_style: Ints
    """PACK, FEWEST or FEWEST_ALONE."""
    option_allowed: Ints
    """Row of `allowed`: the servers among which it is placed."""
    option_rows: Ints
    """How many rows there are from that one on: it is placed within one of them."""
    option_slots: Ints
    """Slots that it takes alone, at best."""
    option_line: Ints
    """Equal for options of jobs that ask for the same."""
    lines: int
    """How many different ones there are."""
    allowed: Words
    """(sets, words) Servers among which rings are placed, as bits."""
    fewest: Ints
    """(jobs) Fewest servers of a ring that spreads, at least 2."""
    most: Ints
    """(jobs) Most servers."""
    equal: npt.NDArray[np.bool_]
    """(jobs) Whether each server has as many of the ring's GPUs."""
    running_at: Ints
    """(jobs + 1) Offsets into the next two; empty for jobs that do not run at slot 0."""
    running_server: Ints
    """Servers of each running job."""
    running_workers: Ints
    """GPUs held there."""
    place_at: Ints
    """(jobs + 1) Offsets of each job's servers in `Work.server` and `Work.workers`."""
    alike: Ints
    """(jobs) Equal for jobs that may take each other's places: same sizes, servers and types."""
    pin_at: Ints
    """(pins + 1) Offsets into the next two: exact places of rings; see `pinned`."""
    pin_server: Ints
    """Servers of each pin."""
    pin_workers: Ints
    """Workers on each of them."""
    guarded: int
    """1 if a start may break what was promised: a deadline, or room for a reservation."""
    can_stall: int
    """1 if, besides, the speed of some ring may be 0."""


class Goals(NamedTuple):
    """The objectives as numbers for compiled code, the most important first."""

    greatest: Ints
    """(objectives) 1 if the value is the greatest of the terms, 0 if it is their sum."""
    weight: Floats
    """(objectives, jobs) Weight over divisor of each term; 0 for a job that does not count."""
    offset: Ints
    """(objectives, jobs) Offset of each term in slots."""
    shape: Ints
    """(objectives, jobs) Shape of each term."""
    price: Floats
    """(objectives, servers) Price of a GPU for a slot on each server."""
    link: Floats
    """(objectives, links) What each link counts for a ring that uses it."""
    links: Ints
    """(objectives) 1 if links count."""
    floor: Floats
    """(objectives) The least by which values are scaled."""


def facts_of(instance: Instance) -> Facts:
    """Lay a wider instance out."""
    jobs, cluster = instance.jobs, instance.cluster
    servers = len(cluster.servers)
    index = {job.name: j for j, job in enumerate(jobs)}
    number = {server.name: s for s, server in enumerate(cluster.servers)}
    followers: list[list[int]] = [[] for _ in jobs]
    for j, job in enumerate(jobs):
        for name in set(job.after):
            followers[index[name]].append(j)
    capped = [tenant for tenant in instance.tenants if tenant.gpus is not None]
    tenants = {tenant.name: i for i, tenant in enumerate(capped)}
    changes = sorted(_changes(instance, number))
    sets = _Sets(instance)
    options = [_options(instance, j, lone, sets) for j, lone in enumerate(lone_options(instance))]
    held = [job.running.gpus if job.running else {} for job in jobs]
    tree = topology(cluster)
    allowed = np.zeros((max(1, len(sets.rows)), servers), np.bool_)
    for row, some in enumerate(sets.rows):
        allowed[row, list(some)] = True
    spread = [job.spread for job in jobs]
    capped_by = [tenants.get(job.tenant or "", -1) for job in jobs]
    lines: dict[tuple[_Way, Spread | None, int], int] = {}
    option_line = [
        lines.setdefault((option.way, spread[j], capped_by[j]), len(lines))
        for j, each in enumerate(options)
        for option in each
    ]
    change_left, change_floor, first_floor = _left(instance, changes)
    guarded = bool(changes) or any(job.deadline is not None for job in jobs)
    flat = [option for each in options for option in each]
    kinds: dict[object, int] = {}
    alike = [
        kinds.setdefault((job.sizes, job.servers, job.spread, tuple(job.times or ())), len(kinds))
        for job in jobs
    ]
    return Facts(
        release=_ints(max(0, job.release) for job in jobs),
        least_slots=_ints(one.least_slots for one in job_extremes(instance)),
        deadline=_ints(NEVER if job.deadline is None else job.deadline for job in jobs),
        follower_at=_offsets(map(len, followers)),
        follower=_ints(job for each in followers for job in each),
        waits_for=_ints(len(set(job.after)) for job in jobs),
        tenant=_ints(capped_by),
        tenant_cap=_ints(tenant.gpus or 0 for tenant in capped),
        server_gpus=_ints(server.gpus for server in cluster.servers),
        server_link=_ints(path[0] if path else -1 for path in tree.paths),
        path_at=_offsets(map(len, tree.paths)),
        path=_ints(link for path in tree.paths for link in path),
        change_slot=_ints(slot for slot, _, _ in changes),
        change_server=_ints(server for _, server, _ in changes),
        change_gpus=_ints(gpus for _, _, gpus in changes),
        change_left=_ints(change_left),
        change_floor=_ints(change_floor),
        first_floor=_ints(first_floor),
        last_begin=max((i for i, (_, _, gpus) in enumerate(changes) if gpus < 0), default=-1),
        option_at=_offsets(map(len, options)),
        option_size=_ints(option.way.size for option in flat),
        option_style=_ints(option.way.style for option in flat),
        option_allowed=_ints(option.way.row for option in flat),
        option_rows=_ints(option.way.rows for option in flat),
        option_slots=_ints(option.slots for option in flat),
        option_line=_ints(option_line),
        lines=len(lines),
        allowed=as_words(allowed),
        fewest=_ints(max(2, one.min_servers) if one else 2 for one in spread),
        most=_ints((one.max_servers if one else None) or servers for one in spread),
        equal=np.array([one is not None and one.equal for one in spread], np.bool_),
        running_at=_offsets(map(len, held)),
        running_server=_ints(number[name] for each in held for name in each),
        running_workers=_ints(len(gpus) for each in held for gpus in each.values()),
        place_at=_offsets(min(job.sizes[-1], servers) for job in jobs),
        alike=_ints(alike),
        pin_at=np.zeros(1, np.int64),
        pin_server=np.zeros(0, np.int64),
        pin_workers=np.zeros(0, np.int64),
        guarded=int(guarded),
        can_stall=int(guarded and any(one.worst_speed == 0 for one in job_extremes(instance))),
    )


def pinned(facts: Facts, places: Placements) -> Facts:
    """The same with a pin for each job: choice −1 − j then puts a ring where job j's ring is.

    Parameters
    ----------
    facts
        The instance.
    places
        Where each job's ring is in some schedule. It may go to any job that is `alike`.
    """
    return facts._replace(pin_at=places.at, pin_server=places.server, pin_workers=places.workers)


def goals_of(instance: Instance, objectives: Sequence[Objective] | None = None) -> Goals:
    """Lay objectives out, by default those of the instance."""
    found = objectives_of(instance) if objectives is None else objectives
    shape = len(found), len(instance.jobs)
    goals = Goals(
        greatest=_ints(one.greatest for one in found),
        weight=np.zeros(shape),
        offset=np.zeros(shape, np.int64),
        shape=np.zeros(shape, np.int64),
        price=np.zeros((shape[0], len(instance.cluster.servers))),
        link=np.zeros((shape[0], len(topology(instance.cluster).links))),
        links=_ints(one.link_weights is not None for one in found),
        floor=np.full(shape[0], 1e-9),
    )
    for i, one in enumerate(found):
        if one.prices is not None:
            goals.price[i] = [float(price) for price in one.prices_of(instance)]
        if one.link_weights is not None:
            goals.link[i] = [float(weight) for weight in one.link_weights_of(instance)]
            # Most rings often use none: a single link is not to count as much as all values.
            goals.floor[i] = max(1e-9, goals.link[i].max(initial=0.0) * len(instance.jobs))
        for j, term in enumerate(one.terms(instance)):
            if term is not None:
                goals.weight[i, j] = term.weight / term.divisor
                goals.offset[i, j], goals.shape[i, j] = term.offset, term.shape
    return goals


class _Way(NamedTuple):
    """Ring size and style of an option, and the rows of `allowed` within one of which it is."""

    size: int
    style: int
    row: int
    rows: int


class _Option(NamedTuple):
    """A way to place a job, and the slots that it takes then, alone, at best."""

    way: _Way
    slots: int


class _Sets:
    """Sets of servers as rows, and of which of them each option takes one.

    Where links count in an objective, rings may also stay within a part of the network that they
    need not stay in: below one node of those that are as far from the root.
    """

    def __init__(self, instance: Instance) -> None:
        self.rows: list[frozenset[int]] = []
        self._tree = topology(instance.cluster)
        self._first: dict[tuple[frozenset[int], ...], int] = {}
        links_count = any(one.link_weights is not None for one in objectives_of(instance))
        self._layers = self._tree.layers() if links_count else ()

    def ways(self, servers: frozenset[int], spread: Spread | None) -> Iterator[tuple[int, int]]:
        """First row and number of rows of each choice of sets that a spread ring has."""
        groups = groups_of(self._tree, spread, servers)
        choices = [groups]
        for layer in self._layers:
            parts = [group & below for group in groups for below in layer]
            choices.append([part for part in parts if len(part) > 1])
        if 1 < len(groups) <= MOST_GROUPS:
            choices += [[group] for group in groups]
        for choice in dict.fromkeys(map(tuple, choices)):
            if choice:
                yield self.row(choice), len(choice)

    def row(self, sets: tuple[frozenset[int], ...]) -> int:
        """The first row of some sets, which follow each other."""
        if sets not in self._first:
            self._first[sets] = len(self.rows)
            self.rows += sets
        return self._first[sets]


def _options(instance: Instance, j: int, lone: Sequence[Lone], sets: _Sets) -> list[_Option]:
    """Ways to place a job, the least area first.

    Each is also there on just the servers that no faster way has: those of the slower types.
    """
    best: dict[_Way, int] = {}
    for one in lone:
        slots = one.pace.slots(one.servers, one.gbps)
        if slots is None:
            continue
        of_size = {o.allowed for o in lone if o.pace.size == one.pace.size}
        faster = [some for some in of_size if some < one.allowed]
        rest = one.allowed.difference(*faster) if faster else one.allowed
        there = [rest] if faster and _room(instance, one, rest) else []
        for allowed in dict.fromkeys((one.allowed, *there)):
            if one.servers == 1:
                ways = [_Way(one.pace.size, PACK, sets.row((allowed,)), 1)]
            else:
                ways = [
                    _Way(one.pace.size, style, *rows)
                    for rows in sets.ways(allowed, instance.jobs[j].spread)
                    for style in (FEWEST, FEWEST_ALONE)
                ]
            for way in ways:
                best[way] = min(slots, best.get(way, slots))
    found = [_Option(way, slots) for way, slots in best.items()]
    return sorted(found, key=lambda one: (one.way.size * one.slots, one.slots, one.way.style))


def _room(instance: Instance, one: Lone, allowed: frozenset[int]) -> bool:
    """Whether a ring may have room on some of its servers."""
    gpus = [instance.cluster.servers[s].gpus for s in allowed]
    size = one.pace.size
    if one.servers == 1:
        return max(gpus, default=0) >= size
    return len(gpus) > 1 and sum(gpus) >= size


def _changes(instance: Instance, number: dict[str, int]) -> Iterable[tuple[int, int, int]]:
    """Slot, server and change of its GPUs for each begin and end of a reservation."""
    for one in instance.cluster.reservations:
        yield one.start, number[one.server], -one.gpus
        if one.end is not None:
            yield one.end, number[one.server], one.gpus


def _left(
    instance: Instance, changes: Sequence[tuple[int, int, int]]
) -> tuple[list[int], list[int], list[int]]:
    """GPUs left of the server of each change in its slot, and the fewest from then on.

    The last list has the fewest of each server from slot 0 on.
    """
    left = [server.gpus for server in instance.cluster.servers]
    after = []
    for _, server, gpus in changes:
        left[server] += gpus
        after.append(left[server])
    fewest, floors = left, [0] * len(changes)
    then = {(slot, server): gpus for (slot, server, _), gpus in zip(changes, after, strict=True)}
    in_slot = [then[slot, server] for slot, server, _ in changes]
    for i, (_, server, gpus) in reversed([*enumerate(changes)]):
        floors[i] = fewest[server] = min(fewest[server], after[i])
        fewest[server] = min(fewest[server], after[i] - gpus)
    return in_slot, floors, fewest


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _offsets(lengths: Iterable[int]) -> Ints:
    return np.array([0, *accumulate(lengths)], np.int64)
