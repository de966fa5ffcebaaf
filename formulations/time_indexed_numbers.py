"""The numbers of `time-indexed`: placements as data, and the speeds that links leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .caps import Holder
from .outcome import ScheduleOutcome, SimulatedSegment
from .placements import OWN, Placement, label_of, placements
from .scope import Scope, once_per_scope
from .sharing_forms import Loads, rings_of


@dataclass(frozen=True)
class Numbers:
    """The numbers of a scope that the constraints use.

    Attributes
    ----------
    options
        By job: its placements by label.
    rings
        By job: its placements on several servers, by label; only jobs that have some.
    levels
        By such a job: its possible speeds above 0 under contention, ascending.
    most_rings
        By link: the most rings on it at once.
    """

    options: Mapping[str, Mapping[str, Placement]]
    rings: Mapping[str, Mapping[str, Placement]]
    levels: Mapping[str, list[int]]
    most_rings: Mapping[str, int]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Jobs and their placements."""
        return [(j, k) for j, ways in self.options.items() for k in ways]

    def users(self, link: str) -> list[tuple[str, str]]:
        """Jobs and their placements that use a link."""
        return [
            (j, k)
            for j, spread in self.rings.items()
            for k, way in spread.items()
            if link in way.links
        ]

    @property
    def by_link(self) -> dict[tuple[str, str], list[str]]:
        """By job and link that its ring can use: the placements in which it does."""
        found: dict[tuple[str, str], list[str]] = {}
        for j, spread in self.rings.items():
            for k, way in spread.items():
                for link in way.links:
                    found.setdefault((j, link), []).append(k)
        return found

    def label(self, job: str, segment: SimulatedSegment) -> str | None:
        """The placement of a segment; None if it is not listed."""
        if OWN in self.options[job] and segment.own:
            return OWN
        ways = self.options[job].items()
        return next((k for k, way in ways if k != OWN and way.workers == segment.workers), None)


@once_per_scope
def numbers_of(scope: Scope) -> Numbers:
    """The numbers of a scope."""
    options = placements(scope)
    rings = {
        j: spread
        for j, ways in options.items()
        if (spread := {k: placement for k, placement in ways.items() if placement.links})
    }
    levels = {
        j: sorted({speed for way in spread.values() for speed in _speeds(scope, way)})
        for j, spread in rings.items()
    }
    users = {
        link: sum(any(link in way.links for way in spread.values()) for spread in rings.values())
        for link in scope.links
    }
    most = {link: min(most, users[link]) for link, most in rings_of(scope).most.items()}
    return Numbers(options, rings, levels, {l: most for l, most in most.items() if most > 0})


def _speeds(scope: Scope, way: Placement) -> Iterator[int]:
    """The speeds above 0 that the links of a placement may leave its ring."""
    servers = len(way.workers)
    for link in way.links:
        if scope.sharing.equal_weights:
            speeds: Iterable[int] = rings_of(scope).speeds(way.pace, servers, link)
        else:
            speeds = loads_of(scope).speeds(way.pace, servers, link)
        yield from (speed for speed in speeds if 0 < speed <= way.alone)


@once_per_scope
def loads_of(scope: Scope) -> Loads:
    """What rings may count on links by their weights."""
    weights: dict[str, dict[str, set[int]]] = {l: {} for l in scope.links}
    for j, ways in placements(scope).items():
        for way in ways.values():
            for l in way.links:
                weights[l].setdefault(j, set()).add(way.weight)
    return Loads(scope, weights)


def labels_in(outcome: ScheduleOutcome) -> dict[str, str]:
    """By job: the usual label of its one placement in a schedule, without a list of placements."""
    return {j: label_of(workers) for j, workers in outcome.workers.items()}


def holders(m: Any, scope: Scope) -> Iterator[Holder]:
    """Who holds GPUs: each job, and apart from it what a job that ran at slot 0 holds elsewhere.

    A job holds the GPUs of a placement in a slot by `active_in[j,k,t]`, or by `holds[j,k,t]` where
    it may be interrupted.
    """
    variable = m.holds if scope.interrupted else m.active_in
    for j, ways in numbers_of(scope).options.items():
        running = scope.jobs[j].running is not None
        own = {k: way for k, way in ways.items() if k == OWN or not scope.interrupted}
        elsewhere = {k: way for k, way in ways.items() if k not in own}
        for keeps, some in ((running, own), (False, elsewhere)) if running else ((False, ways),):
            if some:
                yield _holder(variable, j, keeps, some)


def _holder(variable: Any, j: str, keeps: bool, ways: Mapping[str, Placement]) -> Holder:  # noqa: FBT001
    servers = dict.fromkeys(s for way in ways.values() for s in way.workers)
    on = {s: [(k, way.workers[s]) for k, way in ways.items() if s in way.workers] for s in servers}
    sizes = [(k, sum(way.workers.values())) for k, way in ways.items()]
    return Holder(
        j,
        keeps,
        {s: max(count for _, count in some) for s, some in on.items()},
        lambda s, t: sum(count * variable[j, k, t] for k, count in on[s]),
        lambda amount, t: sum(amount(size) * variable[j, k, t] for k, size in sizes),
    )
