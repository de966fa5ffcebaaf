"""The numbers of `time-indexed`: placements as data, and the speeds that links leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rarmodel.model.gpu_sharing import losses

from .caps import Holder
from .gpu_placements import shares
from .outcome import SimulatedSegment
from .placement_classes import are_all_anywhere, placement_classes
from .placements import OWN, Placement, alone_gbps
from .scope import Scope, once_per_scope
from .sharing_forms import MOST_LOADS, Loads, capped_speed, rings_are_slowed, rings_of


@dataclass(frozen=True)
class Numbers:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    options
        By job: its placements by label, as classes of those that are alike.
    rings
        By job: its placements in which others can slow its ring, by label; only jobs that have
        some. On several servers rings do, and in all of them those who share its GPUs.
    levels
        By such a job: its possible speeds above 0 under contention, ascending.
    most_rings
        By link: the most rings on it at once.
    room
        By job and server: the most workers beyond the least of a class of placements there; none
        if servers follow from the starts.
    """

    options: Mapping[str, Mapping[str, Placement]]
    rings: Mapping[str, Mapping[str, Placement]]
    levels: Mapping[str, list[int]]
    most_rings: Mapping[str, int]
    room: Mapping[tuple[str, str], int]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Jobs and their placements."""
        return [(j, k) for j, ways in self.options.items() for k in ways]

    def users(self, link: str) -> list[tuple[str, str]]:
        """Jobs and their placements that use a link."""
        return [
            (j, k)
            for j, ways in self.options.items()
            for k, way in ways.items()
            if link in way.links
        ]

    @property
    def by_link(self) -> dict[tuple[str, str], list[str]]:
        """By job and link that its ring can use: the placements in which it does."""
        found: dict[tuple[str, str], list[str]] = {}
        for j, ways in self.options.items():
            for k, way in ways.items():
                for link in way.links:
                    found.setdefault((j, link), []).append(k)
        return found

    def label(self, job: str, segment: SimulatedSegment) -> str | None:
        """The placement of a segment; None if it is not listed."""
        if OWN in self.options[job] and segment.own:
            return OWN
        ways = self.options[job].items()
        return next(
            (
                k
                for k, way in ways
                if k != OWN
                and way.contains(segment.workers)
                and (not way.gpus or way.gpus == segment.gpus)
            ),
            None,
        )


@once_per_scope
def numbers_of(scope: Scope) -> Numbers:
    """The numbers of a scope."""
    options = placement_classes(scope)
    links_matter = scope.interrupted or shares(scope) or rings_are_slowed(scope)
    pressed = gpu_loads(scope)
    rings = {
        j: slowed
        for j, ways in options.items()
        if links_matter
        and (slowed := {k: w for k, w in ways.items() if w.links or len(pressed[j]) > 1})
    }
    levels = {
        j: sorted({speed for way in spread.values() for speed in _speeds(scope, j, way)})
        for j, spread in rings.items()
    }
    users = {
        link: sum(any(link in way.links for way in ways.values()) for ways in options.values())
        for link in (scope.links if links_matter or scope.every_schedule else ())
    }
    most = {link: min(most, users.get(link, 0)) for link, most in rings_of(scope).most.items()}
    most = {link: most for link, most in most.items() if most > 0}
    return Numbers(options, rings, levels, most, _room(scope, options))


def _room(
    scope: Scope, options: Mapping[str, Mapping[str, Placement]]
) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    if not are_all_anywhere(scope):
        for j, ways in options.items():
            for way in ways.values():
                for s, most in way.more.items():
                    found[j, s] = max(most, found.get((j, s), 0))
    return found


def _speeds(scope: Scope, job: str, way: Placement) -> Iterator[int]:
    """The speeds above 0 that the links of a job's placement may leave its ring.

    Alone it may have less than each of its links would leave it: what its network cards reach.
    """
    servers, gbps = len(way.workers), alone_gbps(scope, way.workers, way.links)
    for load in gpu_loads(scope)[job]:
        pace = way.pace.beside(load)
        alone = capped_speed(pace, servers, gbps)
        if alone == 0:
            return
        yield alone
        for link in way.links:
            if scope.sharing.equal_weights:
                speeds: Iterable[int] = rings_of(scope).speeds(pace, servers, link)
            else:
                speeds = loads_of(scope)[scope.sensitivity(job)].speeds(pace, servers, link)
            yield from (speed for speed in speeds if 0 < speed <= alone)


def able_ways(scope: Scope) -> dict[tuple[str, int], dict[str, Placement]]:
    """By job and level: the placements that reach it alone."""
    numbers = numbers_of(scope)
    return {
        (j, i): {k: way for k, way in numbers.rings[j].items() if way.alone >= level}
        for j, levels in numbers.levels.items()
        for i, level in enumerate(levels)
    }


@once_per_scope
def gpu_loads(scope: Scope) -> dict[str, tuple[int, ...]]:
    """By job: loads of others that its GPUs may have, ascending from 0; see `gpu_sharing`.

    They are the sums of what other jobs count to it that have slices enough beside it. Where there
    are too many, a few more than `MOST_LOADS` are listed.
    """
    if not shares(scope):
        return dict.fromkeys(scope.jobs, (0,))
    instance, lost = scope.instance, losses(scope.instance)
    slices = {instance.cluster.slices_of(server) for server in instance.cluster.servers}
    found = {}
    for j, job in enumerate(instance.jobs):
        left = max(slices) - job.slices if job.slices is not None else 0
        sums = [{0}, *(set[int]() for _ in range(left))]  # By slices of those that are there.
        for i, other in enumerate(instance.jobs):
            if i != j and other.slices is not None and lost.of(j, i):
                for used in range(left - other.slices, -1, -1):
                    sums[used + other.slices] |= {load + lost.of(j, i) for load in sums[used]}
                if sum(map(len, sums)) > (left + 1) * MOST_LOADS:
                    break
        found[job.name] = tuple(sorted(set().union(*sums)))
    return found


@once_per_scope
def loads_of(scope: Scope) -> dict[int, Loads]:
    """By sensitivity: what rings may count on links by their weights to those who have it."""
    found = {}
    for to in scope.sensitivities:
        weights: dict[str, dict[str, set[int]]] = {l: {} for l in scope.links}
        for j, ways in placement_classes(scope).items():
            for way in ways.values():
                for l in way.links:
                    weights[l].setdefault(j, set()).add(way.weights[to])
        found[to] = Loads(scope, weights)
    return found


def holders(m: Any, scope: Scope) -> Iterator[Holder]:
    """Who holds GPUs: each job, and apart from it what a job that ran at slot 0 holds elsewhere.

    A job holds the GPUs of a placement in a slot by `active_in[j,k,t]`, and those beyond the least
    of a class by `extra_in[j,s,t]`; or by `holds[j,k,t]` where it may be interrupted.
    """
    variable = m.holds if scope.interrupted else m.active_in
    for j, ways in numbers_of(scope).options.items():
        running = scope.jobs[j].running is not None
        own = {k: way for k, way in ways.items() if k == OWN or not scope.interrupted}
        elsewhere = {k: way for k, way in ways.items() if k not in own}
        for keeps, some in ((running, own), (False, elsewhere)) if running else ((False, ways),):
            if some:
                yield _holder(m, scope, variable, j, keeps, some)


def _holder(
    m: Any,
    scope: Scope,
    variable: Any,
    j: str,
    keeps: bool,  # noqa: FBT001
    ways: Mapping[str, Placement],
) -> Holder:
    servers = dict.fromkeys(s for way in ways.values() for s in (*way.workers, *way.more))
    on = {s: [(k, way.workers[s]) for k, way in ways.items() if s in way.workers] for s in servers}
    most = {
        s: max(way.workers.get(s, 0) + way.more.get(s, 0) for way in ways.values()) for s in servers
    }
    beyond = {s for way in ways.values() for s in way.more}
    index = scope.server_index
    places = {k: {index[s]: n for s, n in way.workers.items()} for k, way in ways.items()}

    def held(s: str, t: int) -> Any:
        least = sum(count * variable[j, k, t] for k, count in on[s])
        return least + m.extra_in[j, s, t] if s in beyond else least

    return Holder(
        j,
        keeps,
        most,
        held,
        lambda amount, t: sum(amount(way.size) * variable[j, k, t] for k, way in ways.items()),
        (lambda use, t: sum(use.on(where) * variable[j, k, t] for k, where in places.items()))
        if shares(scope)
        else None,
    )
