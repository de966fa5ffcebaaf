"""Prices of GPUs over time in whole numbers, and the argument of a certificate from them."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from rarmodel.model.objectives import Shape, Value
from rarmodel.schema import Instance
from rarmodel.schema.certificate import GpuPrices as Argument
from rarmodel.schema.certificate import PricedServers

from .arguments import in_file

if TYPE_CHECKING:
    from .capacity_relaxation import Kinds
    from .subgradient import CapacityRelaxation, Prices


class PriceProof(NamedTuple):
    """What proves a bound: a relaxation at prices in whole numbers.

    Attributes
    ----------
    kinds
        (servers) Which kind each is.
    relaxed
        The relaxation, with terms in the units of the prices.
    prices
        The prices, and what is cheapest for each job at these.
    scale
        What a unit of the objective is in these numbers.
    below
        The value that is refuted; None where the prices prove a value.
    """

    kinds: Kinds
    relaxed: CapacityRelaxation
    prices: Prices
    scale: int
    below: Value | None = None

    def argument(self, instance: Instance) -> Argument:
        """The prices, what each job pays and adds at the least, and what all GPUs cost."""
        relaxed, rows = self.relaxed, self._rows
        # Where prices stay, pieces of time are one; after the last price GPUs cost nothing.
        columns = [*zip(*rows, strict=True)]
        begins = [i for i, column in enumerate(columns) if i == 0 or column != columns[i - 1]]
        end = len(columns)
        if len(begins) > 1 and not any(columns[begins[-1]]):
            end = begins.pop()
        members: list[list[str]] = [[] for _ in rows]
        for server, kind in zip(instance.cluster.servers, self.kinds, strict=True):
            members[kind].append(server.name)
        refuted: dict[str, Any] = {"scale": self.scale}
        if self.below is not None:
            refuted = {"below": in_file(self.below)}
        return Argument(
            kind="prices",
            edges=tuple(i * relaxed.width for i in [*begins, end]),
            kinds=tuple(
                PricedServers(servers=tuple(some), prices=tuple(row[i] for i in begins))
                for some, row in zip(members, rows, strict=True)
            ),
            least={
                job.name: one for job, one in zip(instance.jobs, self.least, strict=True) if one
            },
            room=self.room,
            **refuted,
        )

    @property
    def _rows(self) -> list[list[int]]:
        """(kinds, blocks) The prices."""
        return [[int(price) for price in row[:-1]] for row in self.prices.now]

    @property
    def room(self) -> int:
        """What all GPUs cost."""
        return sum(
            price * int(number)
            for row, there in zip(self._rows, self.relaxed.capacity, strict=True)
            for price, number in zip(row, there, strict=True)
        )

    @property
    def least(self) -> list[int]:
        """(jobs) What each pays and adds at the least."""
        relaxed, width, rows = self.relaxed, self.relaxed.width, self._rows
        until = [[0, *accumulate(price * width for price in row)] for row in rows]

        def cost(kind: int, slot: int) -> int:
            block = min(slot // width, len(rows[kind]))
            inside = slot - block * width if block < len(rows[kind]) else 0
            return until[kind][block] + (rows[kind][block] * inside if inside else 0)

        paid = []
        for j, (offer, begun) in enumerate(zip(self.prices.offer, self.prices.begun, strict=True)):
            kind, start = int(relaxed.kind[offer]), int(begun)
            end = start + int(relaxed.slots[offer])
            slots = end - int(relaxed.offset[j])
            if relaxed.shape[j] == Shape.TARDY:
                slots = max(0, slots)
            elif relaxed.shape[j] == Shape.LATE:
                slots = int(slots > 0)
            held = int(relaxed.size[offer]) * (cost(kind, end) - cost(kind, start))
            paid.append(int(relaxed.weight[j]) * slots + held)
        return paid
