"""Schedules on joined blocks of an instance, where some of its jobs are easy.

Joined blocks are as wide as the narrowest of the jobs that are packed first. All narrower jobs run
on them as well: dealing finds one server for almost all of those that are not easy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from rarmodel.engine.arrays import Ints
from rarmodel.model import topology
from rarmodel.schema import Instance

from .block_program import Packed
from .block_sizes import Kind, kinds_of, nested_sizes
from .dealing import dealt, slots_by_spread
from .joined_dive import first_size, idle
from .joined_program import JoinedProgram
from .layout import layout_of

if TYPE_CHECKING:
    import numpy as np

RINGS = 2
"""Rings on each link beside which an easy job is no slower, itself included."""
DEALS = 4
"""How often the servers of a packing are dealt, unless it keeps to the target before."""
FEW_IDLE = 0.35
"""Where the linear program leaves less than this of the smallest blocks idle, buddy blocks seldom
have a packing."""


class ByTarget(NamedTuple):
    """A program by a target."""

    program: JoinedProgram
    """The program; it may be too large."""
    tight: bool
    """Whether buddy blocks seldom have a packing by the target, but joined blocks may."""


class JoinedPacking:
    """Programs of joined blocks of an instance, and packings of theirs with servers dealt anew.

    Parameters
    ----------
    instance
        All of its jobs fit a server and have one ring size and one pace.
    nested
        Sizes of blocks, descending.
    slots
        Execution times, see `slots_by_spread`.
    easy
        The kinds whose jobs are easy.
    """

    def __init__(self, instance: Instance, nested: list[int], slots: Ints, easy: set[Kind]) -> None:
        layout = layout_of(instance)
        self._gpus, self._kinds = layout.server_gpus.tolist(), kinds_of(layout)
        self._slots, self._making = slots, Lock()
        # The smallest blocks are not joined from others.
        self._widest = nested[min(nested.index(first_size(nested, self._kinds)), len(nested) - 2)]
        self._joinable = easy | {kind for kind in self._kinds if kind.size < self._widest}
        self._made = cache(self._make)

    def by(self, target: int) -> ByTarget:
        """The program by a target; the same one each time."""
        # Threads ask for the same program at the same time, and `cache` would let each make it.
        with self._making:
            return self._made(target)

    def _make(self, target: int) -> ByTarget:
        program = JoinedProgram(self._gpus, self._kinds, self._joinable, target, self._widest)
        return ByTarget(program, tight=not program.too_large and 0 < idle(program) < FEW_IDLE)

    def dealt(
        self,
        packed: Packed,
        target: int,
        random: np.random.Generator,
        stop: Callable[[], bool],
    ) -> Iterator[Packed]:
        """The packing as it is, and then with servers dealt anew, until it is to stop."""
        yield packed
        for _ in range(DEALS):
            again = dealt(self._gpus, packed, self._slots, target, random, stop)
            if again is not None:
                yield again


def joined_packing_of(instance: Instance) -> JoinedPacking | None:
    """The packing of an instance whose jobs have one ring size and one pace.

    None if a job fits no server, if sizes do not divide one another, if no job is easy, or if there
    is nothing to join.
    """
    layout = layout_of(instance)
    gpus, kinds = layout.server_gpus.tolist(), kinds_of(layout)
    if not topology(instance.cluster).links or not all(kind.slots for kind in kinds):
        return None
    nested = nested_sizes(gpus, [kind.size for kind in kinds])
    slots = slots_by_spread(instance)
    hard = {
        kind for kind, many in zip(kinds, slots[:, 2, RINGS], strict=True) if many != kind.slots
    }
    easy = set(kinds) - hard
    if not easy or len(nested) < 2 or any(kind.size not in nested for kind in kinds):
        return None
    return JoinedPacking(instance, nested, slots, easy)
