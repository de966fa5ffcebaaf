"""The ways in which a list schedule may place each job: ring size, style and servers.

A ring on one server disturbs nobody, and one on several uses links. So the styles differ in how
many servers a ring takes, and in who else may use its links. A job that fits a server may also try
one server first, and spread only if there is no room: then it need not wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from rarmodel.engine.arrays import Ints
from rarmodel.model import lone_options
from rarmodel.model.lone import Lone
from rarmodel.schema import Instance

from .offsets import ints, offsets
from .server_bits import Words, as_words

PACK, EMPTIEST, ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED = range(6)
"""How a ring is placed.

PACK: on the one server on which it leaves the fewest idle GPUs.
EMPTIEST: on the emptiest servers of all, as few as take it now.
ANY: on the emptiest servers below one switch, the last one tight.
ANY_ALONE: the same, over links that no other ring uses while it runs.
FEWEST_ALONE: over such links, on the fewest servers that ever take it, the fullest that do.
FEWEST_PAIRED: the same, over links that at most one other ring uses when it starts.
"""
NEVER_PACKS, PACKS_FIRST, PACKS_LAST = range(3)
"""Whether a ring that spreads tries one server before that, or after it."""
SPREADING = (EMPTIEST, ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED)
PACKING_FIRST = (ANY, ANY_ALONE, FEWEST_ALONE, FEWEST_PAIRED)


class PlacementOptions(NamedTuple):
    """The options of all jobs, job by job; nothing here changes."""

    at: Ints
    """(jobs + 1) Offsets of each job's options in the next six."""
    size: Ints
    """Ring size."""
    style: Ints
    """PACK or one of the styles that spread."""
    packs: Ints
    """NEVER_PACKS, PACKS_FIRST or PACKS_LAST."""
    allowed: Ints
    """Row of `sets`: the servers among which it is placed."""
    fewest: Ints
    """The fewest servers that ever take it."""
    queue: Ints
    """Equal for options of jobs that ask for the same; the smaller rings have the lower ones."""
    queues: int
    """How many different ones there are."""
    queue_size: Ints
    """(queues) Ring size of each."""
    queue_style: Ints
    """(queues) Its style."""
    queue_packs: Ints
    """(queues) Whether it packs."""
    queue_allowed: Ints
    """(queues) Its servers."""
    queue_fewest: Ints
    """(queues) Its fewest servers."""
    sets: Words
    """(sets, words) Servers among which rings are placed, as bits."""


class _Option(NamedTuple):
    size: int
    slots: int
    """Slots that it takes alone, at best."""
    style: int
    packs: int
    allowed: int
    fewest: int

    @property
    def urgency(self) -> tuple[int, ...]:
        """What comes first: the least area, then the least time."""
        return self.size * self.slots, self.slots, self.style


def placement_options(instance: Instance, capped_by: Sequence[int]) -> PlacementOptions:
    """The options of the jobs of an instance.

    The first option of each job is the one of least area that packs or spreads, and no mixture.

    Parameters
    ----------
    instance
        The problem.
    capped_by
        (jobs) Tenant with a cap whose job it is; −1 for none.
    """
    servers = len(instance.cluster.servers)
    sets: dict[frozenset[int], int] = {}
    options = [[*_options(instance, lone, sets)] for lone in lone_options(instance)]
    allowed = np.zeros((max(1, len(sets)), servers), np.bool_)
    for some, row in sets.items():
        allowed[row, list(some)] = True
    flat = [option for each in options for option in each]
    asked = [
        (one.size, one.style, one.packs, one.allowed, one.fewest, job.spread, tenant)
        for each, job, tenant in zip(options, instance.jobs, capped_by, strict=True)
        for one in each
    ]
    # The smaller rings first.
    queues = {
        key: queue for queue, key in enumerate(sorted(dict.fromkeys(asked), key=itemgetter(0)))
    }
    return PlacementOptions(
        at=offsets(map(len, options)),
        size=ints(one.size for one in flat),
        style=ints(one.style for one in flat),
        packs=ints(one.packs for one in flat),
        allowed=ints(one.allowed for one in flat),
        fewest=ints(one.fewest for one in flat),
        queue=ints(queues[key] for key in asked),
        queues=len(queues),
        queue_size=ints(key[0] for key in queues),
        queue_style=ints(key[1] for key in queues),
        queue_packs=ints(key[2] for key in queues),
        queue_allowed=ints(key[3] for key in queues),
        queue_fewest=ints(key[4] for key in queues),
        sets=as_words(allowed),
    )


def option_of_style(options: PlacementOptions, style: int, packs: int) -> Ints:
    """(jobs) The first option of each job in a style; −1 if it has none."""
    rows = np.flatnonzero((options.style == style) & (options.packs == packs))[::-1]
    job = np.searchsorted(options.at, rows, side="right") - 1
    found = np.full(len(options.at) - 1, -1, np.int64)
    found[job] = rows - options.at[job]
    return found


def _options(
    instance: Instance, lone: Sequence[Lone], sets: dict[frozenset[int], int]
) -> Iterator[_Option]:
    """The options of a job: those that pack or spread by area, then those that may do either.

    Each is also there on just the servers that no faster way has: those of the slower types.
    """
    packed: dict[tuple[int, int], int] = {}
    spread: dict[tuple[int, int], tuple[int, int]] = {}
    for one in lone:
        slots = one.pace.slots(one.servers, one.gbps)
        if slots is None:
            continue
        of_size = {o.allowed for o in lone if o.pace.size == one.pace.size}
        faster = [some for some in of_size if some < one.allowed]
        rest = one.allowed.difference(*faster) if faster else one.allowed
        there = [rest] if faster and _has_room(instance, one, rest) else []
        for allowed in dict.fromkeys((one.allowed, *there)):
            key = one.pace.size, sets.setdefault(allowed, len(sets))
            if one.servers == 1:
                packed[key] = min(slots, packed.get(key, slots))
            else:
                least, fewest = spread.get(key, (slots, one.servers))
                spread[key] = min(slots, least), min(one.servers, fewest)
    pure = [
        _Option(size, slots, PACK, NEVER_PACKS, row, 1) for (size, row), slots in packed.items()
    ]
    pure += [
        _Option(size, slots, style, NEVER_PACKS, row, fewest)
        for (size, row), (slots, fewest) in spread.items()
        for style in SPREADING
    ]
    yield from sorted(pure, key=lambda one: one.urgency)
    for (size, row), (slots, fewest) in spread.items():
        within = packed.get((size, row))
        if within is None:
            continue
        for style in PACKING_FIRST:
            yield _Option(size, min(slots, within), style, PACKS_FIRST, row, fewest)
        if slots < within:  # Some networks are faster than what is within servers.
            yield _Option(size, slots, ANY, PACKS_LAST, row, fewest)


def _has_room(instance: Instance, one: Lone, allowed: frozenset[int]) -> bool:
    """Whether a ring may have room on some of its servers."""
    gpus = [instance.cluster.servers[s].gpus for s in allowed]
    size = one.pace.size
    if one.servers == 1:
        return max(gpus, default=0) >= size
    return len(gpus) > 1 and sum(gpus) >= size
