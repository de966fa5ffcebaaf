"""Parts of the network within one of which a ring is placed.

By `spread.within` a ring must stay below one node of a level. Where links count in an objective,
rings may also stay within a part that they need not stay in: below one node of those that are as
far from the root.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from rarmodel.model import topology
from rarmodel.model.lone import groups_of
from rarmodel.model.objectives import objectives_of
from rarmodel.schema import Instance, Spread

from .server_bits import as_truths
from .server_groups import ServerGroups

MOST_PARTS = 8
"""Parts of the network, at most, of which a ring that must stay within one may choose its own."""

Parts = tuple[frozenset[int], ...]
"""Sets of servers, no two with a common one: a ring is placed within one of them."""


class NetworkParts:
    """The choices of parts that rings have, and the switches below which these parts are.

    Parameters
    ----------
    instance, groups
        The problem, and its groups of servers.

    Attributes
    ----------
    rows
        Numbers of groups, in the order in which they are tried.
    """

    def __init__(self, instance: Instance, groups: ServerGroups) -> None:
        self.rows: list[tuple[int, ...]] = []
        self._row_of: dict[tuple[int, ...], int] = {}
        self._instance, self._tree = instance, topology(instance.cluster)
        members = as_truths(groups.words, len(instance.cluster.servers))
        self._groups = [frozenset(each.nonzero()[0].tolist()) for each in members]
        links_count = any(one.link_weights is not None for one in objectives_of(instance))
        self._layers = self._tree.layers() if links_count else ()
        self.narrower = cache(self._narrower)
        self.switches = cache(self._switches)

    def widest(self, allowed: frozenset[int], spread: Spread | None) -> Parts:
        """The parts within one of which a ring on some servers must stay; all if it need not."""
        return tuple(groups_of(self._tree, spread, allowed))

    def _narrower(self, parts: Parts, size: int) -> tuple[Parts, ...]:
        """Other choices of parts for a ring of a size that may be within any of some parts."""
        choices: list[Parts] = [
            tuple(part & below for part in parts for below in layer) for layer in self._layers
        ]
        if 1 < len(parts) <= MOST_PARTS:
            choices += [(part,) for part in parts]
        own, *roomy = (
            tuple(part for part in some if self.takes(part, size)) for some in (parts, *choices)
        )
        return tuple(some for some in dict.fromkeys(roomy) if some and some != own)

    def takes(self, part: frozenset[int], size: int) -> bool:
        """Whether a ring that spreads may have room within a part."""
        servers = self._instance.cluster.servers
        return len(part) > 1 and sum(servers[s].gpus for s in part) >= size

    def _switches(self, parts: Parts, *, nearest: bool) -> int:
        """The row of the switches that a ring within one of some parts tries.

        Parameters
        ----------
        parts
            The parts.
        nearest
            Whether it goes below the nearest switch that has room; if not, it is spread over a
            whole part.
        """
        return self._row(tuple(self._nearest(parts) if nearest else self._above(parts)))

    def _nearest(self, parts: Parts) -> Iterator[int]:
        """The groups that have no servers of two parts."""
        everywhere = frozenset[int]().union(*parts)
        for number, group in enumerate(self._groups):
            there = group & everywhere
            if len(there) > 1 and any(there <= part for part in parts):
                yield number

    def _above(self, parts: Parts) -> Iterator[int]:
        """The smallest group around each part; the whole cluster's if there is one part only."""
        if len(parts) == 1:
            yield len(self._groups) - 1
            return
        for part in parts:
            if len(part) > 1:
                yield next(number for number, group in enumerate(self._groups) if part <= group)

    def _row(self, groups: tuple[int, ...]) -> int:
        if groups not in self._row_of:
            self._row_of[groups] = len(self.rows)
            self.rows.append(groups)
        return self._row_of[groups]
