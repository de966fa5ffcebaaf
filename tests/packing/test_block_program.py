"""Programs over buddy blocks, and dives into them: packings are packings, and few are missed."""

from __future__ import annotations

import numpy as np
import pytest
from buddy_packings import Jobs, Problem, check, dive, fits, go_on, problems
from depth import examples
from hypothesis import given
from hypothesis import strategies as st

from rarmodel.packing.block_program import BlockProgram, Kind
from rarmodel.packing.dive import Dive


@given(problem=problems())
@examples(50)
def test_a_program_finds_a_packing_if_and_only_if_there_is_one(problem: Problem) -> None:
    gpus, jobs, target = problem
    packed, surely_none = BlockProgram(*problem).solve(60, 1, go_on)
    assert (packed is None) == surely_none == (not fits(*problem))
    if packed is not None:
        check(gpus, jobs, packed, target)


@given(problem=problems(), seed=st.integers(0, 2**20), last_jobs=st.integers(0, 8))
@examples(50)
def test_a_dive_finds_packings_only_where_there_are_some(
    problem: Problem, seed: int, last_jobs: int
) -> None:
    gpus, jobs, target = problem
    packed, surely_none = dive(BlockProgram(*problem), seed, last_jobs)
    if packed is not None:
        assert not surely_none
        check(gpus, jobs, packed, target)
    if surely_none:
        assert not fits(*problem)


def tight(seed: int) -> Problem:
    """Jobs cut out of full servers, so that there is a packing without an idle slot."""
    random = np.random.default_rng(seed)
    jobs: Jobs = []
    for size, blocks in ((4, 8), (2, 12), (1, 16)):
        for _ in range(blocks):
            cut = int(random.integers(30, 71))
            jobs += [Kind(size, cut), Kind(size, 100 - cut)]
    return [4] * 18, jobs, 100


@given(seed=st.integers(0, 2**20))
@examples(5)
def test_dives_find_packings_that_leave_no_slot_idle(seed: int) -> None:
    gpus, jobs, target = tight(seed)
    random = np.random.default_rng(seed)
    program = BlockProgram(gpus, jobs, target)
    dives = (Dive(program, random, go_on).packing() for _ in range(20))
    packed = next(packed for packed, _ in dives if packed is not None)
    check(gpus, jobs, packed, target)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_random_numbers_give_the_same_packing(seed: int) -> None:
    def made() -> tuple[list[dict[int, int]], list[int]]:
        random = np.random.default_rng(seed)
        packed, _ = Dive(BlockProgram(*tight(1)), random, go_on).packing()
        return ([], []) if packed is None else (packed.workers, packed.starts.tolist())

    assert made() == made()


def test_a_dive_says_where_there_is_surely_no_packing() -> None:
    program = BlockProgram([2], [Kind(1, 5)] * 3, 9)
    assert dive(program, 0) == dive(program, 0, last_jobs=3) == (None, True)


def test_it_stops_when_it_is_told_to() -> None:
    gpus, jobs, target = tight(0)
    asked: list[None] = []

    def stop() -> bool:
        asked.append(None)
        return True

    program = BlockProgram(gpus, jobs, target)
    for packed, surely_none in (
        program.solve(600, 1, stop),
        Dive(program, np.random.default_rng(0), stop).packing(),
    ):
        assert packed is None
        assert not surely_none
    assert asked


def test_too_many_variables_are_not_written_down() -> None:
    jobs = [Kind(1, slots) for slots in range(1, 400)]
    assert BlockProgram([1], jobs, 50_000).too_large
    assert not BlockProgram([1], jobs[:9], 50).too_large
