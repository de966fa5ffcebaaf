"""The search over buddy blocks: its sums are those of schedules, and less and less is late."""

from __future__ import annotations

from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from documents import instance_of, job_data
from random_instances import random_instance
from solutions import late, solution_to_start_from

from rarmodel.packing.buddy_annealing import anneal_blocks
from rarmodel.packing.buddy_blocks import BuddyBlocks, new_blocks, pack_blocks
from rarmodel.packing.layout import layout_of
from rarmodel.packing.server_orders import rings_alone, settle, solution_of
from rarmodel.verifier import verify

CHAIN, GAPS, ANYTHING = (1, 2, 4, 8), (2, 4, 6), tuple(range(1, 9))


def loads(
    blocks: BuddyBlocks, held: npt.NDArray[np.int64], packed: npt.NDArray[np.int64]
) -> list[int]:
    """Slots of each lane, from what its jobs need."""
    total = held.copy()
    for job in np.flatnonzero(blocks.home[0] >= 0):
        block = blocks.home[0, job]
        total[blocks.lane[block] :][: blocks.width[blocks.level[block]]] += packed[job]
    return [int(slots) for slots in total]


@pytest.mark.parametrize("sizes", [CHAIN, GAPS, ANYTHING])
@pytest.mark.parametrize("seed", range(25))
def test_buddy_blocks_are_a_schedule(seed: int, sizes: tuple[int, ...]) -> None:
    random = Random(seed)
    instance = random_instance(
        random, jobs=25, servers=4, tree=seed % 2 == 1, most_gpus=12, most_slots=20, sizes=sizes
    )
    layout = layout_of(instance)
    if not layout.packed.any():
        pytest.skip("all jobs of this instance spread")
    generator = np.array([seed], np.uint64)
    solution = solution_to_start_from(instance, random)
    skeleton, packing = rings_alone(layout, solution)
    blocks = new_blocks(layout, packing, generator)
    held = blocks.load - loads(blocks, np.zeros_like(blocks.load), layout.packed)
    assert held.min() >= 0
    longest = int(blocks.load.max())
    for target in (longest, int(longest * 0.9), int(longest * 0.8)):
        done = anneal_blocks(
            layout, blocks, target, 20_000, 0.5, 0.9998, generator, np.zeros(1, np.int64)
        )
        assert blocks.load.tolist() == loads(blocks, held, layout.packed)
        past = int(np.maximum(0, blocks.load - target).sum())
        assert blocks.total.tolist()[0] == past >= blocks.total[1]
        assert done == (blocks.total[1] == 0)
        pack_blocks(layout, blocks, packing)
        settle(layout, packing, target)
        made = solution_of(layout, skeleton, packing)
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
        solution = solution_to_start_from(instance, random)
        blocks = new_blocks(layout, rings_alone(layout, solution)[1], np.array([seed], np.uint64))
        assert ((blocks.home[0] >= 0) == (layout.packed > 0)).all()
        for job in np.flatnonzero(layout.packed > 0):
            block = blocks.home[0, job]
            lanes = slice(
                blocks.lane[block], blocks.lane[block] + blocks.width[blocks.level[block]]
            )
            assert (blocks.block[blocks.level[block], lanes] == block).all()


@pytest.mark.parametrize(
    ("sizes", "servers", "expected"),
    [((1, 2, 4, 12), [12, 4], True), ((1, 2, 3), [4], False), ((1, 2, 4, 8), [4, 4], False)],
    ids=["all fit, and divide one another", "not all divide one another", "one fits no server"],
)
def test_which_instances_nest(sizes: tuple[int, ...], servers: list[int], expected: bool) -> None:
    jobs = [job_data(f"job-{size}", size, iterations=10) for size in sizes]
    assert layout_of(instance_of(*jobs, servers=servers)).nests is expected


def test_told_to_stop_it_changes_nothing() -> None:
    random = Random(3)
    instance = random_instance(random, jobs=25, servers=4, tree=False, most_gpus=12, sizes=CHAIN)
    layout = layout_of(instance)
    generator, stop = np.zeros(1, np.uint64), np.ones(1, np.int64)
    packing = rings_alone(layout, solution_to_start_from(instance, random))[1]
    blocks = new_blocks(layout, packing, generator)
    home = blocks.home.copy()
    assert not anneal_blocks(layout, blocks, 1, 20_000, 1e9, 1.0, generator, stop)
    assert (blocks.home == home).all()
