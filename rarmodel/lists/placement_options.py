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
from rarmodel.model.gpu_sharing import shares_gpus
from rarmodel.model.lone import Lone
from rarmodel.model.usage_limits import Use, limits_of_jobs
from rarmodel.schema import Instance, Spread

from .network_parts import NetworkParts
from .offsets import ints, offsets
from .server_bits import Words, as_words
from .server_groups import ServerGroups

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
NARROWED = (EMPTIEST, ANY_ALONE)
"""Styles of rings that stay within a part of the network that they need not stay in."""
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
    queue_switches: Ints
    """(queues) Row of the next two, if it spreads."""
    switch_at: Ints
    """(rows + 1) Offsets into `switch`."""
    switch: Ints
    """Groups of servers, as in `ServerGroups`, within one of which rings are placed; by turns."""
    sets: Words
    """(sets, words) Servers among which rings are placed, as bits."""


class _Option(NamedTuple):
    size: int
    slots: int
    """Slots that it takes alone, at best."""
    style: int
    packs: int
    allowed: frozenset[int]
    fewest: int
    switches: int = -1

    @property
    def urgency(self) -> tuple[int, ...]:
        """What comes first: the least area, then the least time."""
        return self.size * self.slots, self.slots, self.style


def placement_options(instance: Instance, groups: ServerGroups) -> PlacementOptions:
    """The options of the jobs of an instance.

    The first option of each job is the one of least area that packs or spreads, and no mixture.

    Parameters
    ----------
    instance, groups
        The problem, and its groups of servers.
    """
    network = NetworkParts(instance, groups)
    options = [
        [*_options(instance, job.spread, lone, network)]
        for job, lone in zip(instance.jobs, lone_options(instance), strict=True)
    ]
    flat = [option for each in options for option in each]
    sets = {some: row for row, some in enumerate(dict.fromkeys(one.allowed for one in flat))}
    allowed = np.zeros((max(1, len(sets)), len(instance.cluster.servers)), np.bool_)
    for some, row in sets.items():
        allowed[row, list(some)] = True
    asked = [
        (
            *(one.size, one.style, one.packs, sets[one.allowed], one.fewest, one.switches),
            *(job.spread, tuple(_use(*item) for item in uses.items())),
        )
        for each, job, uses in zip(options, instance.jobs, limits_of_jobs(instance), strict=True)
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
        allowed=ints(sets[one.allowed] for one in flat),
        fewest=ints(one.fewest for one in flat),
        queue=ints(queues[key] for key in asked),
        queues=len(queues),
        queue_size=ints(key[0] for key in queues),
        queue_style=ints(key[1] for key in queues),
        queue_packs=ints(key[2] for key in queues),
        queue_allowed=ints(key[3] for key in queues),
        queue_fewest=ints(key[4] for key in queues),
        queue_switches=ints(key[5] for key in queues),
        switch_at=offsets(map(len, network.rows)),
        switch=ints(group for row in network.rows for group in row),
        sets=as_words(allowed),
    )


def _use(limit: int, use: Use) -> tuple[object, ...]:
    """What a job uses of a limit, as something to compare."""
    return limit, use.of_job, use.of_gpu, tuple((use.by_server or {}).items())


def option_of_style(options: PlacementOptions, style: int, packs: int) -> Ints:
    """(jobs) The first option of each job in a style; −1 if it has none."""
    rows = np.flatnonzero((options.style == style) & (options.packs == packs))[::-1]
    job = np.searchsorted(options.at, rows, side="right") - 1
    found = np.full(len(options.at) - 1, -1, np.int64)
    found[job] = rows - options.at[job]
    return found


def _options(
    instance: Instance, spread: Spread | None, lone: Sequence[Lone], network: NetworkParts
) -> Iterator[_Option]:
    """The options of a job: those that pack or spread by area, then those that may do either.

    Each is also there on just the servers that no faster way has: those of the slower types.
    """
    packed: dict[tuple[int, frozenset[int]], int] = {}
    spreads: dict[tuple[int, frozenset[int]], tuple[int, int]] = {}
    for one in lone:
        slots = one.pace.slots(one.servers, one.gbps)
        if slots is None:
            continue
        of_size = {o.allowed for o in lone if o.pace.size == one.pace.size}
        faster = [some for some in of_size if some < one.allowed]
        rest = one.allowed.difference(*faster) if faster else one.allowed
        there = [rest] if faster and _has_room(instance, spread, one, rest, network) else []
        for allowed in dict.fromkeys((one.allowed, *there)):
            key = one.pace.size, allowed
            if one.servers == 1:
                packed[key] = min(slots, packed.get(key, slots))
            else:
                least, fewest = spreads.get(key, (slots, one.servers))
                spreads[key] = min(slots, least), min(one.servers, fewest)
    pure = [
        _Option(size, slots, PACK, NEVER_PACKS, allowed, 1)
        for (size, allowed), slots in packed.items()
    ]
    for (size, allowed), (slots, fewest) in spreads.items():
        if packed.get((size, allowed), slots + 1) <= slots and not shares_gpus(instance):
            # It packs first: to spread while a server has room gains nothing. Where jobs share
            # GPUs, it may meet others elsewhere.
            continue
        parts = network.widest(allowed, spread)
        for style in SPREADING:
            row = network.switches(parts, nearest=style != EMPTIEST)
            pure.append(_Option(size, slots, style, NEVER_PACKS, allowed, fewest, row))
        for some in network.narrower(parts, size):
            among = frozenset[int]().union(*some)
            for style in NARROWED:
                row = network.switches(some, nearest=style != EMPTIEST)
                pure.append(_Option(size, slots, style, NEVER_PACKS, among, fewest, row))
    yield from sorted(pure, key=lambda one: one.urgency)
    for (size, allowed), (slots, fewest) in spreads.items():
        within = packed.get((size, allowed))
        if within is None:
            continue
        row = network.switches(network.widest(allowed, spread), nearest=True)
        for style in PACKING_FIRST:
            yield _Option(size, min(slots, within), style, PACKS_FIRST, allowed, fewest, row)
        if slots < within:  # Some networks are faster than what is within servers.
            yield _Option(size, slots, ANY, PACKS_LAST, allowed, fewest, row)


def _has_room(
    instance: Instance,
    spread: Spread | None,
    one: Lone,
    allowed: frozenset[int],
    network: NetworkParts,
) -> bool:
    """Whether a ring may have room on some of its servers."""
    size = one.pace.size
    if one.servers == 1:
        return max((instance.cluster.servers[s].gpus for s in allowed), default=0) >= size
    return any(network.takes(part, size) for part in network.widest(allowed, spread))
