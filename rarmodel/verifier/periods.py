"""The simulation as a sequence of periods, computed on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import eq
from typing import overload

from rarmodel.model.topology import topology
from rarmodel.schema import Instance

from .report import Period, Ring
from .traffic import Placed, traffic_of


class Periods(Sequence[Period]):
    """The periods of a schedule; in each, the set of active jobs is constant.

    A period names every active ring, so all periods together would take memory in proportion to
    events times active rings. This sequence keeps only starts and completions. Each loop, slice or
    index replays the simulation from the start. To visit many periods, use one loop or one slice; a
    slice is a tuple.

    Parameters
    ----------
    instance
        The problem.
    rings
        The rings of the schedule.
    starts, completion
        Start slot and completion time of each ring; None if the ring never completes.
    stuck_since
        The slot after which nothing changes, if some ring never completes.
    """

    def __init__(
        self,
        instance: Instance,
        rings: Sequence[Placed],
        starts: Sequence[int],
        completion: Sequence[int | None],
        stuck_since: int | None = None,
    ) -> None:
        self._instance = instance
        self._rings = tuple(rings)
        self._starts = tuple(starts)
        self._completion = tuple(completion)
        self._stuck_since = stuck_since

    @cached_property
    def _length(self) -> int:
        return sum(running > 0 for *_, running in self._spans())

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Period]:
        return self._replay(range(self._length))

    def __reversed__(self) -> Iterator[Period]:
        return iter(self[::-1])

    @overload
    def __getitem__(self, key: int) -> Period: ...

    @overload
    def __getitem__(self, key: slice) -> tuple[Period, ...]: ...

    def __getitem__(self, key: int | slice) -> Period | tuple[Period, ...]:
        if isinstance(key, slice):
            wanted = range(self._length)[key]
            if wanted.step < 0:
                return tuple(self._replay(wanted[::-1]))[::-1]
            return tuple(self._replay(wanted))
        try:
            index = range(self._length)[key]
        except IndexError:
            raise IndexError(f"period {key} of {self._length}") from None
        return next(self._replay(range(index, index + 1)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Periods | tuple):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # Periods hold dicts, as a tuple of them would.

    def __repr__(self) -> str:
        return f"<{self._length} period{'' if self._length == 1 else 's'}>"

    def _spans(self) -> Iterator[tuple[int, int, list[int], list[int], int]]:
        """From event to event: start, end, rings ended and begun at the start, rings running.

        Rings that begin in the same slot are in reverse order of their index.
        """
        events = [(start, -i) for i, start in enumerate(self._starts)]
        events += [(end, i + 1) for i, end in enumerate(self._completion) if end is not None]
        events.sort()
        at, ended, begun, running = 0, list[int](), list[int](), 0
        for slot, here in groupby(events, key=lambda event: event[0]):
            yield at, slot, ended, begun, running
            changes = [change for _, change in here]
            at, ended = slot, [change - 1 for change in changes if change > 0]
            begun = [-change for change in changes if change <= 0]
            running += len(begun) - len(ended)
        if self._stuck_since is not None and at < self._stuck_since:
            yield at, self._stuck_since, ended, begun, running

    def _replay(self, wanted: range) -> Iterator[Period]:
        """The periods at ascending indices."""
        if not wanted:
            return
        traffic = traffic_of(self._instance, self._rings)
        nodes = [link.node for link in topology(self._instance.cluster).links]
        active: dict[int, None] = {}  # In the order in which they began.
        states: dict[int, Ring] = {}
        links: dict[str, int] = {}
        outdated: set[int] = set()
        index = -1
        for start, end, ended, begun, running in self._spans():
            changed = traffic.change(ended, begun)
            active.update(dict.fromkeys(begun))
            outdated.update(begun, *(traffic.rings_on[link] for link in changed))
            if traffic.gpus is not None:
                outdated |= traffic.gpus.beside(ended) | traffic.gpus.beside(begun)
            for i in ended:
                del active[i]
                states.pop(i, None)
                outdated.discard(i)
            for link in changed:
                links[nodes[link]] = len(traffic.rings_on[link])
                if not traffic.rings_on[link]:
                    del links[nodes[link]]
            if running == 0:
                continue
            index += 1
            if index in wanted:
                states.update((i, traffic.state(i)) for i in outdated)
                outdated.clear()
                rings = {self._rings[i].job.name: states[i] for i in active}
                yield Period(start, end, rings, dict(links))
            if index == wanted[-1]:
                return
