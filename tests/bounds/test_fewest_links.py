"""The bound on the links of rings, against every placement of every job."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from lone_placements import placements, slots_alone_at
from tenant_trees import tenants_of
from wide_instances import random_wide

from rarmodel.bounds import fewest_links as module
from rarmodel.bounds import objective_bounds
from rarmodel.bounds.fewest_links import fewest_links
from rarmodel.model import topology
from rarmodel.model.features import (
    GPU_TYPES,
    LEVELS,
    QUOTAS,
    RING_SIZES,
    RUNNING_JOBS,
    SERVER_LISTS,
    SPREADS,
)
from rarmodel.model.objectives import COST, MAKESPAN, TOTAL_LINKS, Objective
from rarmodel.schema import Instance

FEATURES = [
    one.name for one in (GPU_TYPES, LEVELS, QUOTAS, RING_SIZES, RUNNING_JOBS, SERVER_LISTS, SPREADS)
]


def drawn(seed: int, stall: bool = False) -> Instance:
    random = Random(seed)
    some = random.sample(FEATURES, random.randint(0, 4))
    return random_wide(random, some, jobs=3, servers=4, stall=stall)


def by_enumeration(instance: Instance, weights: list[int]) -> int:
    """The least weight of the links of each job, over placements in which it makes progress."""
    tree, total = topology(instance.cluster), 0
    caps = {tenant.name: tenant.gpus for tenant in instance.tenants}
    for job in instance.jobs:
        most = min([99, *(cap for one in tenants_of(instance, job) if (cap := caps[one]))])
        ways = [
            workers
            for workers in placements(instance, job)
            if slots_alone_at(instance, job, workers) is not None
            and (job.running or sum(workers.values()) <= most)
        ]
        used = [sum(weights[link] for link in tree.links_used(workers)) for workers in ways]
        total += min(used, default=0)
    return total


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_least_over_all_placements(seed: int) -> None:
    instance = drawn(seed)
    ones = [1] * len(topology(instance.cluster).links)
    assert fewest_links(instance, TOTAL_LINKS) == by_enumeration(instance, ones)


@pytest.mark.parametrize("seed", range(30))
def test_links_may_count_differently(seed: int) -> None:
    instance, random = drawn(seed), Random(seed)
    weights = [random.randint(0, 5) for _ in topology(instance.cluster).links]
    thirds = Objective("own", "", "", link_weights=lambda _: [Fraction(w, 3) for w in weights])
    assert fewest_links(instance, thirds) == Fraction(by_enumeration(instance, weights), 3)


@pytest.mark.parametrize("seed", range(40))
def test_where_sets_are_too_many_or_rings_stand_still_it_is_no_more(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = drawn(seed, stall=True)
    least = by_enumeration(instance, [1] * len(topology(instance.cluster).links))
    found = fewest_links(instance, TOTAL_LINKS)
    assert found is not None
    assert found <= least
    monkeypatch.setattr(module, "MOST_PAIRS", Random(seed).choice([0, 4]))
    fewer = fewest_links(instance, TOTAL_LINKS)
    assert fewer is not None
    assert fewer <= found


def test_it_says_nothing_of_other_objectives_and_is_the_one_of_this() -> None:
    instance = drawn(0)
    assert fewest_links(instance, MAKESPAN) is None
    assert fewest_links(instance, COST) is None
    assert {one.name for one in objective_bounds(instance, TOTAL_LINKS)} == {"fewest links"}
