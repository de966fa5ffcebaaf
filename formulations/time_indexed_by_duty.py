"""The time-indexed formulation by duty: what rings count, and what that leaves them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyomo.environ as pyo

from .formulation import Scope
from .loads import Loads
from .placements import Placement

if TYPE_CHECKING:
    from .time_indexed_components import TimeIndexedData


def loads_of(scope: Scope, rings: Mapping[str, Mapping[str, Placement]]) -> Loads:
    """What rings may count on links by duty."""
    duties: dict[str, dict[str, set[int]]] = {l: {} for l in scope.links}
    for j, spread in rings.items():
        for way in spread.values():
            for l in way.links:
                duties[l].setdefault(j, set()).add(way.duty)
    return Loads(scope, duties)


def speeds_on_links(way: Placement, loads: Loads | None) -> Iterator[Iterable[int]]:
    """By link of a placement: the speeds that it may leave the ring."""
    if loads is None:
        return (speeds[1:] for speeds in way.speeds.values())
    return (loads.speeds(way.pace, len(way.workers), l) for l in way.links)


def slowed_by_load(
    m: Any, data: TimeIndexedData, loads: Loads, able: Mapping[tuple[str, int], Sequence[str]]
) -> None:
    """The last line of `time_indexed_components.speed`, by duty."""
    on_link = {
        l: [
            (j, k, way.duty)
            for j, spread in data.rings.items()
            for k, way in spread.items()
            if l in way.links
        ]
        for l in data.most_rings
    }
    slowed: dict[tuple[str, int, str, int], list[str]] = {}
    for (j, i), ways in able.items():
        for k in ways:
            way = data.rings[j][k]
            for l in way.links:
                limit = loads.limit(way.pace, len(way.workers), l, data.levels[j][i])
                if limit < loads.most_beside(j, l):
                    slowed.setdefault((j, i, l, limit), []).append(k)

    def rule(m: Any, j: str, i: int, l: str, limit: int, t: int) -> Any:
        load = sum(duty * m.active_in[o, k, t] for o, k, duty in on_link[l] if o != j)
        here = sum(m.active_in[j, k, t] for k in slowed[j, i, l, limit])
        slack = loads.most_beside(j, l) - limit
        return load <= limit + slack * (2 - m.reaches[j, i, t] - here)

    m.slowed = pyo.Constraint(list(slowed), range(data.scope.horizon), rule=rule)
