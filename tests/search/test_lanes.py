"""Lanes: exchanges keep every job on as many GPUs, in the same slots, and can be undone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from buddy_packings import Problem, fits, problems
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rarmodel.engine.arrays import Ints
from rarmodel.search.block_sizes import Kind
from rarmodel.search.joined_dive import JoinedDive
from rarmodel.search.joined_program import JoinedProgram
from rarmodel.search.lanes import Lanes, exchange, lanes_of, place_at


def check(lanes: Lanes, jobs: list[Kind], starts: Ints, ends: Ints) -> None:
    """Jobs of a lane follow one another, and all counts agree."""
    of_job: Counter[tuple[int, int]] = Counter()
    for lane, many in enumerate(lanes.many.tolist()):
        row = lanes.job[lane, :many].tolist()
        assert all(ends[one] <= starts[next_] for one, next_ in pairwise(row))
        of_job.update((job, lane) for job in row)
    assert set(of_job.values()) == {1}
    for job, kind in enumerate(jobs):
        mine = lanes.of_job[job, : kind.size].tolist()
        assert sorted(mine) == sorted(lane for one, lane in of_job if one == job)
        workers = np.bincount(lanes.server[mine], minlength=lanes.workers.shape[1])
        assert lanes.workers[job].tolist() == workers.tolist()
        assert lanes.servers[job] == np.count_nonzero(workers)


REFUTED = [3], [Kind(1, 2), *[Kind(1, 3)] * 2, Kind(2, 2), Kind(2, 4)], 9
"""A packing by 9 exists. HiGHS 1.16 says that there is none, unless it must not enumerate."""


@given(problem=problems(), random=st.randoms(use_true_random=False))
@example(problem=REFUTED, random=Random(0))
@settings(deadline=None, max_examples=100)
def test_exchanges_keep_a_packing_and_can_be_undone(problem: Problem, random: Random) -> None:
    gpus, jobs, target = problem
    assume(fits(gpus, jobs, target))
    program = JoinedProgram(gpus, jobs, set(jobs), target, 4)
    packed = next(JoinedDive(program, np.random.default_rng(0), lambda: False).packings(), None)
    assert packed is not None
    starts = packed.starts
    ends = starts + np.array([kind.slots for kind in jobs])
    lanes = lanes_of(gpus, starts, ends, packed.workers)
    check(lanes, jobs, starts, ends)
    spare = np.zeros((2, len(jobs)), np.int64)
    for _ in range(10):
        one, other = random.randrange(sum(gpus)), random.randrange(sum(gpus))
        slot, until = sorted(random.randrange(target + 1) for _ in range(2))
        places = [place_at(lanes, lane, at) for lane in (one, other) for at in (slot, until)]
        if one == other or min(places) < 0:
            continue
        before = Lanes(*(array.copy() for array in lanes))
        swap = np.array([one, other, *places])
        exchange(lanes, swap, spare)
        check(lanes, jobs, starts, ends)
        if random.random() < 0.5:
            exchange(lanes, swap, spare)
            check(lanes, jobs, starts, ends)
            assert swap.tolist() == [one, other, *places]
            for lane, many in enumerate(lanes.many):
                assert lanes.job[lane, :many].tolist() == before.job[lane, :many].tolist()


@pytest.mark.parametrize(
    ("slot", "place"), [(0, 0), (1, -1), (2, 1), (3, 1), (4, 1), (5, -1), (6, 2), (9, 2)]
)
def test_a_place_is_that_of_the_first_job_from_a_slot_on(slot: int, place: int) -> None:
    starts, ends = np.array([0, 4]), np.array([2, 6])
    lanes = lanes_of([1], starts, ends, [{0: 1}, {0: 1}])
    assert place_at(lanes, 0, slot) == place
