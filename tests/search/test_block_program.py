"""Programs over buddy blocks, and dives into them: packings are packings, and few are missed."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarmodel.search.block_dive import BlockDive
from rarmodel.search.block_program import BlockProgram, Packed

SIZES = (1, 2, 4)
Jobs = list[tuple[int, int]]


def check(gpus: list[int], jobs: Jobs, packed: Packed, target: int) -> None:
    """No server ever holds more workers than it has GPUs, and no job ends past the target."""
    held: Counter[tuple[int, int]] = Counter()
    for (size, slots), server, start in zip(jobs, packed.server, packed.start, strict=True):
        assert 0 <= start <= target - slots
        for slot in range(start, start + slots):
            held[int(server), slot] += size
    assert all(count <= gpus[server] for (server, _), count in held.items())


def fits(gpus: list[int], jobs: Jobs, target: int) -> bool:
    """Whether all jobs end by the target, by enumeration of blocks: widest jobs first."""
    sorted_jobs = sorted(jobs, reverse=True)

    @cache
    def put(index: int, left: tuple[tuple[int, ...], ...]) -> bool:
        """`left` has the slots left on each GPU of each server."""
        if index == len(sorted_jobs):
            return True
        size, slots = sorted_jobs[index]
        for server, row in enumerate(left):
            for first in range(0, len(row) - size + 1, size):
                if min(row[first : first + size]) >= slots:
                    part = tuple(one - slots for one in row[first : first + size])
                    new = (*row[:first], *part, *row[first + size :])
                    if put(index + 1, (*left[:server], new, *left[server + 1 :])):
                        return True
        return False

    return put(0, tuple((target,) * count for count in gpus))


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], Jobs, int]:
    """GPUs of the servers, jobs, and a target that may or may not be met."""
    gpus = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    widest = 2 ** (max(gpus).bit_length() - 1)
    sizes = st.sampled_from(SIZES).map(lambda size: min(size, widest))
    jobs = draw(st.lists(st.tuples(sizes, st.integers(1, 6)), min_size=1, max_size=7))
    return gpus, jobs, draw(st.integers(3, 9))


def go_on() -> bool:
    return False


@given(problem=problems())
@settings(deadline=None, max_examples=150)
def test_a_program_finds_a_packing_if_and_only_if_there_is_one(
    problem: tuple[list[int], Jobs, int],
) -> None:
    gpus, jobs, target = problem
    packed, surely_none = BlockProgram(*problem).solve(60, 1, go_on)
    assert (packed is None) == surely_none == (not fits(*problem))
    if packed is not None:
        check(gpus, jobs, packed, target)


@given(problem=problems(), seed=st.integers(0, 2**20))
@settings(deadline=None, max_examples=150)
def test_a_dive_finds_packings_only_where_there_are_some(
    problem: tuple[list[int], Jobs, int], seed: int
) -> None:
    gpus, jobs, target = problem
    random = np.random.default_rng(seed)
    packed, surely_none = BlockDive(BlockProgram(*problem), random, go_on).packing()
    if packed is not None:
        assert not surely_none
        check(gpus, jobs, packed, target)
    if surely_none:
        assert not fits(*problem)


def tight(seed: int) -> tuple[list[int], Jobs, int]:
    """Jobs cut out of full servers, so that there is a packing without an idle slot."""
    random = np.random.default_rng(seed)
    jobs: Jobs = []
    for size, blocks in ((4, 8), (2, 12), (1, 16)):
        for _ in range(blocks):
            cut = int(random.integers(30, 71))
            jobs += [(size, cut), (size, 100 - cut)]
    return [4] * 18, jobs, 100


@given(seed=st.integers(0, 2**20))
@settings(deadline=None, max_examples=5)
def test_dives_find_packings_that_leave_no_slot_idle(seed: int) -> None:
    gpus, jobs, target = tight(seed)
    random = np.random.default_rng(seed)
    program = BlockProgram(gpus, jobs, target)
    dives = (BlockDive(program, random, go_on).packing() for _ in range(20))
    packed = next(packed for packed, _ in dives if packed is not None)
    check(gpus, jobs, packed, target)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_random_numbers_give_the_same_packing(seed: int) -> None:
    def made() -> tuple[list[int], list[int]]:
        random = np.random.default_rng(seed)
        packed, _ = BlockDive(BlockProgram(*tight(1)), random, go_on).packing()
        return ([], []) if packed is None else (packed.server.tolist(), packed.start.tolist())

    assert made() == made()


def test_a_dive_says_where_there_is_surely_no_packing() -> None:
    random = np.random.default_rng(0)
    program = BlockProgram([2], [(1, 5), (1, 5), (1, 5)], 9)
    assert BlockDive(program, random, go_on).packing() == (None, True)


def test_it_stops_when_it_is_told_to() -> None:
    gpus, jobs, target = tight(0)
    asked: list[None] = []

    def stop() -> bool:
        asked.append(None)
        return True

    program = BlockProgram(gpus, jobs, target)
    for packed, surely_none in (
        program.solve(600, 1, stop),
        BlockDive(program, np.random.default_rng(0), stop).packing(),
    ):
        assert packed is None
        assert not surely_none
    assert asked


def test_too_many_variables_are_not_written_down() -> None:
    jobs = [(1, slots) for slots in range(1, 400)]
    assert BlockProgram([1], jobs, 50_000).too_large
    assert not BlockProgram([1], jobs[:9], 50).too_large
