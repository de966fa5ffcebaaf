"""Programs over buddy blocks: their packings are packings, and no excess is missed."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rarmodel.search.block_program import BlockProgram, Packed

SIZES = (1, 2, 4)
Jobs = list[tuple[int, int]]


def excess(jobs: Jobs, packed: Packed, target: int) -> int:
    ends = zip(jobs, packed.start.tolist(), strict=True)
    return sum(size * max(0, start + slots - target) for (size, slots), start in ends)


def check(gpus: list[int], jobs: Jobs, packed: Packed) -> None:
    """No server ever holds more workers than it has GPUs."""
    held: Counter[tuple[int, int]] = Counter()
    for (size, slots), server, start in zip(jobs, packed.server, packed.start, strict=True):
        assert start >= 0
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


@given(
    gpus=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    sizes=st.lists(st.sampled_from(SIZES), min_size=1, max_size=7),
    slots=st.lists(st.integers(1, 6), min_size=7, max_size=7),
    target=st.integers(3, 9),
)
@settings(deadline=None, max_examples=150)
def test_a_program_finds_a_packing_by_the_target_if_there_is_one(
    gpus: list[int], sizes: list[int], slots: list[int], target: int
) -> None:
    widest = 2 ** (max(gpus).bit_length() - 1)
    jobs = [(min(size, widest), n) for size, n in zip(sizes, slots, strict=False)]
    packed, proven = BlockProgram(gpus, jobs, target, 60).solve(None, 60, 1, lambda: False)
    assert proven
    if packed is None:  # More than one job would have to end past the target on some block.
        assert not fits(gpus, jobs, target)
        return
    check(gpus, jobs, packed)
    assert (excess(jobs, packed, target) == 0) == fits(gpus, jobs, target)


@given(seed=st.integers(0, 2**20), room=st.integers(0, 12))
@settings(deadline=None, max_examples=40)
def test_a_packing_to_start_from_is_never_lost(seed: int, room: int) -> None:
    """Whatever packing one program finds, another one takes it as it is."""
    random = np.random.default_rng(seed)
    gpus = random.choice([2, 4, 8], 3).tolist()
    most = int(max(gpus))
    jobs = [(int(random.choice([1, 2, most])), int(random.integers(1, 9))) for _ in range(9)]
    target = -(-sum(size * slots for size, slots in jobs) // sum(gpus))
    first, _ = BlockProgram(gpus, jobs, target, 60).solve(None, 60, 1, lambda: False)
    assume(first is not None)
    assert first is not None
    late = max(0, int((first.start + np.array([slots for _, slots in jobs])).max()) - target)
    program = BlockProgram(gpus, jobs, target, max(room, late))
    assert program._flow(first) is not None
    again, _ = program.solve(first, 60, 2, lambda: False)
    assert again is not None
    check(gpus, jobs, again)
    assert excess(jobs, again, target) <= excess(jobs, first, target)


def test_without_room_there_may_be_no_packing() -> None:
    jobs = [(1, 5), (1, 5), (1, 5)]
    assert BlockProgram([2], jobs, 9, 0).solve(None, 60, 1, lambda: False) == (None, True)
    packed, proven = BlockProgram([2], jobs, 10, 0).solve(None, 60, 1, lambda: False)
    assert packed is not None
    assert proven
    assert excess(jobs, packed, 10) == 0


def test_a_packing_of_another_form_is_no_start() -> None:
    """On a block the longest jobs are first; the other order is left out."""
    jobs = [(2, 3), (2, 4)]
    program = BlockProgram([2], jobs, 8, 0)
    assert program._flow(Packed(np.array([0, 0]), np.array([4, 0]))) is not None
    assert program._flow(Packed(np.array([0, 0]), np.array([0, 3]))) is None
    assert program._flow(Packed(np.array([0, 0]), np.array([0, 0]))) is None


def test_it_stops_when_it_is_told_to() -> None:
    random = np.random.default_rng(0)
    jobs = [(2 ** int(random.integers(3)), int(random.integers(50, 250))) for _ in range(60)]
    target = -(-sum(size * slots for size, slots in jobs) // 40)
    program = BlockProgram([4] * 10, jobs, target, 5)
    asked: list[None] = []

    def stop() -> bool:
        asked.append(None)
        return True

    assert not program.solve(None, 600, 1, stop)[1]
    assert asked


def test_too_many_variables_are_not_written_down() -> None:
    jobs = [(1, slots) for slots in range(1, 400)]
    assert BlockProgram([1], jobs, 50_000, 0).too_large
    assert not BlockProgram([1], jobs[:9], 50, 0).too_large
