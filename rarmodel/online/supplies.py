"""How much there is of each supply while a simulation goes on, and how little there will be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rarmodel.engine.arrays import NEVER, Ints
from rarmodel.lists.capacity_profile import capacity_profile
from rarmodel.schema import Instance


class Supplies:
    """GPUs of each server that are not reserved, and capacities of limits behind them, by slot.

    Attributes
    ----------
    first, there
        (supplies) How much there is of each before the first change, and now.
    """

    def __init__(self, instance: Instance) -> None:
        self._profile = capacity_profile(instance)
        self.first: Ints = self._profile.first
        self.there: Ints = self.first.copy()
        self._change = 0

    def next_change(self) -> int:
        """The slot of the next change; NEVER if there is none."""
        slots = self._profile.slot
        return int(slots[self._change]) if self._change < len(slots) else NEVER

    def changes(self, slot: int) -> Iterator[tuple[int, int]]:
        """Make the changes up to a slot; each is a supply, and by how much that grows."""
        while self.next_change() <= slot:
            supply = int(self._profile.supply[self._change])
            growth = int(self._profile.growth[self._change])
            self.there[supply] += growth
            self._change += 1
            yield supply, growth

    @property
    def may_fall(self) -> bool:
        """Whether there will be less of something than there is before."""
        return self._change <= self._profile.last_fall

    def least(self, until: int) -> Ints:
        """(supplies) The least that there is of each from now on until before a slot."""
        profile, found = self._profile, self.there.copy()
        some = slice(self._change, int(np.searchsorted(profile.slot, until)))
        np.minimum.at(found, profile.supply[some], profile.left[some])
        return found
