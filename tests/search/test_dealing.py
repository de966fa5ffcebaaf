"""Servers dealt anew: no ring ends too late, by the engine, and starts stay."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np
import pytest
from documents import instance_of, job_data

from rarmodel.engine import Engine, placements_of
from rarmodel.schema import Instance
from rarmodel.search.block_program import Packed
from rarmodel.search.block_sizes import kinds_of
from rarmodel.search.dealing import MOVES, NEVER, ROUND, dealt, slots_by_spread
from rarmodel.search.layout import layout_of

HARD, EASY = 20.0, 0.0
"""Gradients in MB with which jobs of 85 ms are slower on two servers, and are not."""


def rings(*gradients_mb: float, servers: tuple[int, ...] = (2, 2)) -> Instance:
    """Jobs of 2 GPUs, all of the same slots on one server."""
    jobs = (
        job_data(f"job-{j}", 2, gradient_mb=gradient, iterations=110, backward_ms=85.0)
        for j, gradient in enumerate(gradients_mb)
    )
    return instance_of(*jobs, servers=list(servers), horizon=200)


def deal(instance: Instance, starts: list[int], *workers: dict[int, int]) -> Packed | None:
    """The packing dealt anew, by the last slot at which a job ends on one server."""
    slots, packed = slots_by_spread(instance), Packed(np.array(starts), list(workers))
    gpus = [server.gpus for server in instance.cluster.servers]
    target = int(max(packed.starts + slots[:, 1, 1]))
    again = dealt(gpus, packed, slots, target, np.random.default_rng(0), lambda: False)
    if again is not None:
        assert again.starts is packed.starts
        makespan, _ = Engine(instance).evaluate(again.starts, placements_of(again.workers))
        assert 0 < makespan <= target
    return again


def test_hard_jobs_get_one_server() -> None:
    both, instance = {0: 1, 1: 1}, rings(HARD, HARD, HARD, HARD)
    slots = kinds_of(layout_of(instance))[0].slots
    again = deal(instance, [0, 0, slots, slots], both, both, both, both)
    assert again is not None
    assert [list(workers.values()) for workers in again.workers] == [[2]] * 4


def test_easy_jobs_spread_where_hard_ones_need_the_server() -> None:
    instance = rings(EASY, HARD, EASY, HARD, servers=(2, 1, 1))
    slots = kinds_of(layout_of(instance))[0].slots
    one, two = {0: 2}, {1: 1, 2: 1}
    again = deal(instance, [0, 0, slots, slots], one, two, one, two)
    assert again is not None
    assert [len(workers) for workers in again.workers] == [2, 1, 2, 1]


def test_a_hard_job_spreads_only_where_nobody_waits_for_its_gpus() -> None:
    instance = rings(HARD, HARD, HARD, HARD, servers=(2, 1, 1))
    slots = slots_by_spread(instance)[0]
    one, two = {0: 2}, {1: 1, 2: 1}
    assert slots[2, 1] > slots[1, 1]
    assert deal(instance, [0, 0, 100, int(slots[2, 1])], one, two, one, one) is not None
    assert deal(instance, [0, 0, int(slots[1, 1]), int(slots[1, 1])], one, two, one, two) is None


def test_dealing_ends_when_it_is_told_to_or_after_all_rounds() -> None:
    """Only one of two hard jobs can have the server with room for it."""
    instance = rings(HARD, HARD, servers=(2, 1, 1))
    slots, packed = slots_by_spread(instance), Packed(np.array([0, 0]), [{0: 2}, {1: 1, 2: 1}])
    for most in (0, 3, MOVES):
        asked = count()

        def stop(most: int = most, asked: Iterator[int] = asked) -> bool:
            return next(asked) == most

        target = int(slots[0, 1, 1])
        assert dealt([2, 1, 1], packed, slots, target, np.random.default_rng(0), stop) is None
        assert next(asked) == min(most + 1, MOVES // ROUND)


def test_times_by_spread_are_those_of_the_model() -> None:
    """On two servers, with one to three rings on a link; a job of 2 GPUs has no three servers."""
    instance = rings(HARD, HARD, HARD, servers=(3, 3))
    slots = slots_by_spread(instance)
    assert slots[:, 1, 1].tolist() == [kind.slots for kind in kinds_of(layout_of(instance))]
    assert slots[0, 3, 1] == NEVER
    for many in (1, 2, 3):
        spread = placements_of([{0: 1, 1: 1} if job < many else {0: 2} for job in range(3)])
        starts = np.array([0 if job < many else 1000 * job for job in range(3)])
        _, ends = Engine(instance).evaluate(starts, spread)
        assert ends[:many].tolist() == [slots[0, 2, many]] * many


@pytest.mark.parametrize("seed", range(3))
def test_the_same_random_numbers_deal_alike(seed: int) -> None:
    instance = rings(HARD, EASY, HARD, EASY, servers=(4, 4))
    packed = Packed(np.array([0, 0, 0, 0]), [{0: 1, 1: 1}] * 4)
    slots = slots_by_spread(instance)
    first, second = (
        dealt([4, 4], packed, slots, 100, np.random.default_rng(seed), lambda: False)
        for _ in range(2)
    )
    assert first is not None
    assert second is not None
    assert first.workers == second.workers
