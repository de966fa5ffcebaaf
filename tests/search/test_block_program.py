"""Programs over buddy blocks, and dives into them: packings are packings, and few are missed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from buddy_packings import Jobs, Problem, check, dive, fits, go_on, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from rarmodel.search.block_columns import Ring
from rarmodel.search.block_dive import BlockDive
from rarmodel.search.block_program import BlockProgram
from rarmodel.search.block_sizes import Kind, nested_sizes


@given(problem=problems())
@settings(deadline=None, max_examples=150)
def test_a_program_finds_a_packing_if_and_only_if_there_is_one(problem: Problem) -> None:
    gpus, jobs, target = problem
    packed, surely_none = BlockProgram(*problem).solve(60, 1, go_on)
    assert (packed is None) == surely_none == (not fits(*problem))
    if packed is not None:
        check(gpus, jobs, packed, target)


@given(problem=problems(), seed=st.integers(0, 2**20), last_jobs=st.integers(0, 8))
@settings(deadline=None, max_examples=150)
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
    def made() -> tuple[list[dict[int, int]], list[int]]:
        random = np.random.default_rng(seed)
        packed, _ = BlockDive(BlockProgram(*tight(1)), random, go_on).packing()
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
        BlockDive(program, np.random.default_rng(0), stop).packing(),
    ):
        assert packed is None
        assert not surely_none
    assert asked


def test_too_many_variables_are_not_written_down() -> None:
    jobs = [Kind(1, slots) for slots in range(1, 400)]
    assert BlockProgram([1], jobs, 50_000).too_large
    assert not BlockProgram([1], jobs[:9], 50).too_large


@pytest.mark.parametrize(
    ("gpus", "sizes", "expected"),
    [
        ([4, 8, 16], [1, 2, 4, 8, 12, 16], [16, 8, 4, 2, 1]),
        ([8], [1, 3, 3, 6], [6, 3, 1]),
        ([5, 4], [2, 2, 3], [4, 2]),
        ([6, 5], [2, 3], [3]),
        ([5], [2, 2, 3], []),
        ([4], [], []),
    ],
    ids=["an odd size", "most jobs", "a server's size", "neither divides", "no block", "no job"],
)
def test_nested_sizes(gpus: list[int], sizes: list[int], expected: list[int]) -> None:
    assert nested_sizes(gpus, sizes) == expected


def possible(gpus: list[int], jobs: Jobs, target: int) -> bool:
    """Whether any schedule ends by the target: each job on one server, in any slots."""

    @cache
    def put(index: int, free: tuple[tuple[int, ...], ...]) -> bool:
        """`free` has the free GPUs of each server in each slot."""
        if index == len(jobs):
            return True
        size, slots = jobs[index]
        for server in range(len(gpus)):
            for start in range(target - slots + 1):
                row = list(free[server])
                row[start : start + slots] = [one - size for one in row[start : start + slots]]
                if min(row) >= 0 and put(
                    index + 1, (*free[:server], tuple(row), *free[server + 1 :])
                ):
                    return True
        return False

    return put(0, tuple((many,) * target for many in gpus))


@st.composite
def odd_problems(draw: st.DrawFn) -> Problem:
    """Jobs of 1 to 4 GPUs: those of 3 run beside narrower ones."""
    gpus = draw(st.lists(st.sampled_from([4, 5, 8]), min_size=1, max_size=2))
    kinds = st.builds(Kind, st.sampled_from([1, 2, 3, 3, 4]), st.integers(1, 4))
    return gpus, draw(st.lists(kinds, min_size=1, max_size=6)), draw(st.integers(3, 7))


@given(problem=odd_problems(), seed=st.integers(0, 2**20))
@settings(deadline=None, max_examples=150)
def test_jobs_of_odd_sizes_run_on_blocks_of_greater_ones(problem: Problem, seed: int) -> None:
    gpus, jobs, target = problem
    program = BlockProgram(gpus, jobs, target)
    packed, surely_none = program.solve(60, 1, go_on)
    assert (packed is None) == surely_none
    if packed is not None:
        check(gpus, jobs, packed, target)
    dived, refuted = dive(program, seed)
    if dived is not None:
        assert packed is not None
        check(gpus, jobs, dived, target)
    assert not (refuted and packed)


def test_few_packings_with_odd_sizes_are_missed() -> None:
    """Beside all schedules of tiny instances, by enumeration."""
    random = np.random.default_rng(1)
    exist = found = 0
    for _ in range(300):
        gpus = [4] * int(random.integers(1, 3))
        jobs = [
            Kind(int(random.integers(1, 5)), int(random.integers(1, 5)))
            for _ in range(3 * len(gpus))
        ]
        area = sum(size * slots for size, slots in jobs)
        target = max(-(-area // sum(gpus)), *(slots for _, slots in jobs))
        exists = possible(gpus, jobs, target)
        packed, _ = BlockProgram(gpus, jobs, target).solve(60, 1, go_on)
        assert exists or packed is None
        exist, found = exist + exists, found + (packed is not None)
    assert exist > 50
    assert found >= 0.9 * exist


@st.composite
def ring_problems(draw: st.DrawFn) -> tuple[Problem, tuple[Ring, ...]]:
    """One to three jobs that may spread, most of which fit no server, beside others."""
    gpus = draw(st.lists(st.sampled_from([2, 4]), min_size=3, max_size=4))
    sizes = st.sampled_from([size for size in (1, 2, 3, 4) if size <= max(gpus)])
    jobs = draw(st.lists(st.builds(Kind, sizes, st.integers(1, 3)), min_size=1, max_size=5))
    rings = []
    for index in range(draw(st.integers(1, 3))):
        size = draw(st.integers(max(gpus) - 1, max(gpus) + 2))
        least = draw(st.integers(1, 3))
        spread = tuple(least + more // 2 for more in range(3))
        kind = Kind(size, least if size <= max(gpus) else 0)
        rings.append(Ring(len(jobs), kind, spread, last=index == 1))
        jobs.append(kind)
    return (gpus, jobs, draw(st.integers(4, 9))), tuple(rings)


@given(given_rings=ring_problems(), seed=st.integers(0, 2**20))
@settings(deadline=None, max_examples=150)
def test_rings_get_pieces_at_either_end(
    given_rings: tuple[Problem, tuple[Ring, ...]], seed: int
) -> None:
    (gpus, jobs, target), rings = given_rings
    program = BlockProgram(gpus, jobs, target, rings)
    packed, surely_none = program.solve(60, 1, go_on)
    assert (packed is None) == surely_none
    if packed is not None:
        check(gpus, jobs, packed, target, rings)
        for ring in rings:
            if len(packed.workers[ring.job]) > 1 and not ring.last:
                assert packed.starts[ring.job] == 0
    dived, refuted = dive(program, seed)
    if dived is not None:
        check(gpus, jobs, dived, target, rings)
    assert not (refuted and packed)


def test_a_ring_leaves_the_rest_of_its_servers_to_others() -> None:
    """12 GPUs for 5 slots, all busy: the ring on 4 + 2, and then another one the other way."""
    gpus, target = [4, 4, 4], 5
    first = Ring(0, Kind(6, 0), (3, 3, 3), last=False)
    last = Ring(1, Kind(6, 0), (2, 2, 2), last=True)
    jobs = [first.kind, last.kind, Kind(4, 3), Kind(2, 3), Kind(2, 2), Kind(4, 2)]
    packed, _ = BlockProgram(gpus, jobs, target, (first, last)).solve(60, 1, go_on)
    assert packed is not None
    check(gpus, jobs, packed, target, (first, last))
    assert (packed.starts[0], packed.starts[1]) == (0, 3)
    assert BlockProgram(gpus, [*jobs, Kind(1, 1)], target, (first, last)).solve(60, 1, go_on) == (
        None,
        True,
    )
