"""The search over nested lanes: its sums are those of schedules, and less and less is late."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from plans import late, plan_to_start_from
from random_instances import random_instance

from rarmodel.search.layout import layout_of
from rarmodel.search.nest import Nest, divisible, new_nest, unnest
from rarmodel.search.packing import plan_of, rings_alone, settle
from rarmodel.search.renest import renest
from rarmodel.verifier import verify

CHAIN, GAPS, ANYTHING = (1, 2, 4, 8), (2, 4, 6), tuple(range(1, 9))


def loads(nest: Nest, held: npt.NDArray[np.int64], packed: npt.NDArray[np.int64]) -> list[int]:
    """Slots of each lane, from what its jobs need."""
    total = held.copy()
    for job in np.flatnonzero(nest.home[0] >= 0):
        block = nest.home[0, job]
        total[nest.lane[block] :][: nest.width[nest.level[block]]] += packed[job]
    return [int(slots) for slots in total]


@pytest.mark.parametrize("sizes", [CHAIN, GAPS, ANYTHING])
@pytest.mark.parametrize("seed", range(25))
def test_nested_lanes_are_a_schedule(seed: int, sizes: tuple[int, ...]) -> None:
    random = Random(seed)
    instance = random_instance(
        random, jobs=25, servers=4, tree=seed % 2 == 1, most_gpus=12, most_slots=20, sizes=sizes
    )
    layout = layout_of(instance)
    if not layout.packed.any():
        pytest.skip("all jobs of this instance spread")
    draws = np.array([seed], np.uint64)
    plan = plan_to_start_from(instance, random)
    skeleton, packing = rings_alone(layout, plan)
    nest = new_nest(layout, packing, draws)
    held = nest.load - loads(nest, np.zeros_like(nest.load), layout.packed)
    assert held.min() >= 0
    longest = int(nest.load.max())
    for target in (longest, int(longest * 0.9), int(longest * 0.8)):
        done = renest(layout, nest, target, 20_000, 0.5, 0.9998, draws, np.zeros(1, np.int64))
        assert nest.load.tolist() == loads(nest, held, layout.packed)
        past = int(np.maximum(0, nest.load - target).sum())
        assert nest.total.tolist()[0] == past >= nest.total[1]
        assert done == (nest.total[1] == 0)
        unnest(layout, nest, packing)
        settle(layout, packing, target)
        made = plan_of(layout, skeleton, packing)
        assert late(made, layout.size, target) == 0 or not done
        report = verify(instance, made.schedule(instance, "test"))
        assert not [v for v in report.violations if v.constraint not in {"horizon", "progress"}]
        # Without some of the spread rings the others can only be faster.
        assert report.makespan is None or report.makespan <= made.makespan


def test_every_size_has_blocks() -> None:
    random = Random(1)
    for seed in range(200):
        sizes = random.sample(range(1, 13), 4)
        instance = random_instance(
            random, jobs=12, servers=3, tree=False, most_gpus=12, sizes=(*sizes, 1)
        )
        layout = layout_of(instance)
        plan = plan_to_start_from(instance, random)
        nest = new_nest(layout, rings_alone(layout, plan)[1], np.array([seed], np.uint64))
        assert ((nest.home[0] >= 0) == (layout.packed > 0)).all()
        for job in np.flatnonzero(layout.packed > 0):
            block = nest.home[0, job]
            lanes = slice(nest.lane[block], nest.lane[block] + nest.width[nest.level[block]])
            assert (nest.block[nest.level[block], lanes] == block).all()


@pytest.mark.parametrize(("sizes", "expected"), [(CHAIN, True), (GAPS, False)])
def test_divisible(sizes: tuple[int, ...], expected: bool) -> None:
    random = Random(0)
    instance = random_instance(random, jobs=60, servers=9, tree=False, most_gpus=12, sizes=sizes)
    assert divisible(layout_of(instance)) is expected


def test_told_to_stop_it_changes_nothing() -> None:
    random = Random(3)
    instance = random_instance(random, jobs=25, servers=4, tree=False, most_gpus=12, sizes=CHAIN)
    layout = layout_of(instance)
    draws, stop = np.zeros(1, np.uint64), np.ones(1, np.int64)
    packing = rings_alone(layout, plan_to_start_from(instance, random))[1]
    nest = new_nest(layout, packing, draws)
    home = nest.home.copy()
    assert not renest(layout, nest, 1, 20_000, 1e9, 1.0, draws, stop)
    assert (nest.home == home).all()
