"""The numbers of `time-indexed`: placements as data, and the speeds that links leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .caps import Holder
from .outcome import SimulatedSegment
from .placement_classes import are_all_anywhere, placement_classes
from .placements import OWN, Placement
from .scope import Scope, once_per_scope
from .sharing_forms import Loads, rings_are_slowed, rings_of


@dataclass(frozen=True)
class Numbers:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    options
        By job: its placements by label, as classes of those that are alike.
    rings
        By job: its placements on several servers, by label, where rings can slow others; only jobs
        that have some.
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
        return next((k for k, way in ways if k != OWN and way.contains(segment.workers)), None)


@once_per_scope
def numbers_of(scope: Scope) -> Numbers:
    """The numbers of a scope."""
    options = placement_classes(scope)
    links_matter = scope.interrupted or rings_are_slowed(scope)
    rings = {
        j: spread
        for j, ways in options.items()
        if links_matter and (spread := {k: way for k, way in ways.items() if way.links})
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
    yield way.alone
    servers = len(way.workers)
    for link in way.links:
        if scope.sharing.equal_weights:
            speeds: Iterable[int] = rings_of(scope).speeds(way.pace, servers, link)
        else:
            speeds = loads_of(scope)[scope.sensitivity(job)].speeds(way.pace, servers, link)
        yield from (speed for speed in speeds if 0 < speed <= way.alone)


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
                yield _holder(m, variable, j, keeps, some)


def _holder(m: Any, variable: Any, j: str, keeps: bool, ways: Mapping[str, Placement]) -> Holder:  # noqa: FBT001
    servers = dict.fromkeys(s for way in ways.values() for s in (*way.workers, *way.more))
    on = {s: [(k, way.workers[s]) for k, way in ways.items() if s in way.workers] for s in servers}
    most = {
        s: max(way.workers.get(s, 0) + way.more.get(s, 0) for way in ways.values()) for s in servers
    }
    beyond = {s for way in ways.values() for s in way.more}

    def held(s: str, t: int) -> Any:
        least = sum(count * variable[j, k, t] for k, count in on[s])
        return least + m.extra_in[j, s, t] if s in beyond else least

    return Holder(
        j,
        keeps,
        most,
        held,
        lambda amount, t: sum(amount(way.size) * variable[j, k, t] for k, way in ways.items()),
    )
