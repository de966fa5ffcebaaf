"""Sets of jobs on servers: exchanges keep jobs, keys, areas and excesses together."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from depth import first
from random_instances import random_instance

from rarmodel.packing.layout import layout_of
from rarmodel.packing.least_excess import Items, least_excess
from rarmodel.packing.server_sets import Servers, Sets, new_sets, servers_of, try_exchange

TARGET = 12


def started(seed: int, entries: int) -> tuple[Servers, Sets, Random]:
    """Jobs anywhere, and pieces of two rings on a server each."""
    random = Random(seed)
    instance = random_instance(random, jobs=14, servers=4, tree=False, most_slots=9)
    layout = layout_of(instance)
    gpus, number = layout.server_gpus, len(layout.size)
    rings = np.array([0, 0, 0, 1, 1, 1])
    widest = np.argsort(-gpus)[rings]
    size = np.minimum([1, 1, 2, 1, 1, 2], gpus[widest])
    starts = np.array([0, 4])[rings]
    items = Items(
        np.concatenate((layout.size, size)),
        np.concatenate((layout.packed, np.full(6, 6))),
        np.concatenate((np.zeros(number, np.int64), starts)),
        np.concatenate((np.full(number, TARGET), starts + 6)),
    )
    ring = np.concatenate((np.full(number, -1), rings))
    kind = np.concatenate((np.arange(number), number + 2 * rings + size - 1))
    servers = servers_of(layout, items, ring, kind, np.random.default_rng(seed))
    members: list[list[int]] = [[] for _ in gpus]
    for piece, server in enumerate(widest, number):
        members[server].append(piece)
    for job in np.flatnonzero(layout.packed).tolist():
        members[random.choice(np.flatnonzero(gpus >= layout.size[job]).tolist())].append(job)
    servers = servers._replace(table=np.zeros((entries, 2), np.int64))
    return servers, new_sets(servers, members, TARGET), random


def check(servers: Servers, sets: Sets) -> None:
    """Everything about sets is as if they were new."""
    members = [row[:count].tolist() for row, count in zip(sets.members, sets.counts, strict=True)]
    again = new_sets(servers, members, TARGET)
    for one, other in ((sets.home, again.home), (sets.key, again.key), (sets.area, again.area)):
        assert (one == other).all()
    assert sets.total[0] == sets.excess.sum()
    late = sets.overfull[: sets.overfull_count[0]]
    assert sorted(late) == np.flatnonzero(sets.excess).tolist()
    for server, row in enumerate(members):
        gpus = servers.layout.server_gpus[server]
        jobs, most = np.array(row, np.int64), 10**6
        least = least_excess(
            servers.items, jobs, len(row), gpus, TARGET, most, 10**4, servers.stack
        )
        assert least <= sets.excess[server] <= again.excess[server]
        assert len({servers.ring[item] for item in row} - {-1}) < 2


@pytest.mark.parametrize("entries", [1, 2**10])
@pytest.mark.parametrize("seed", first(8, range(30)))
def test_exchanges_keep_sets_and_their_limit(seed: int, entries: int) -> None:
    """A table of one place knows almost nothing; that changes no result."""
    servers, sets, random = started(seed, entries)
    check(servers, sets)
    changed, generator = 0, np.array([seed], np.uint64)
    gpus, size = servers.layout.server_gpus, servers.items.size
    for _ in range(300):
        server, other = random.sample(range(len(sets.counts)), 2)
        own = sets.members[server, : sets.counts[server]].tolist()
        theirs = sets.members[other, : sets.counts[other]].tolist()
        given = random.sample(own, min(len(own), random.randint(0, 2)))
        taken = random.sample(theirs, min(len(theirs), random.randint(0, 3)))
        if (size[given] > gpus[other]).any() or (size[taken] > gpus[server]).any():
            continue
        servers.lists[0, : len(given)], servers.lists[1, : len(taken)] = given, taken
        before, limit = sets.home.copy(), int(sets.total[0]) + random.randint(-3, 6)
        try_exchange(servers, sets, server, other, len(given), len(taken), TARGET, limit, generator)
        if (sets.home != before).any():
            changed += 1
            assert sets.total[0] <= limit
            assert (sets.home[given] == other).all()
            assert (sets.home[taken] == server).all()
    check(servers, sets)
    assert changed > 0
