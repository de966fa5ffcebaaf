"""Checks of packings on buddy blocks, and an enumeration of them."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st

from rarmodel.packing.block_program import BlockProgram, Kind
from rarmodel.packing.dive import NUMBERS, Dive
from rarmodel.packing.solution import Packed

Jobs = list[Kind]
Problem = tuple[list[int], Jobs, int]
SIZES = (1, 2, 4)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """GPUs of the servers, jobs, and a target that may or may not be met."""
    gpus = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    widest = 2 ** (max(gpus).bit_length() - 1)
    sizes = st.sampled_from(SIZES).map(lambda size: min(size, widest))
    jobs = draw(st.lists(st.builds(Kind, sizes, st.integers(1, 6)), min_size=1, max_size=7))
    return gpus, jobs, draw(st.integers(3, 9))


def check(gpus: list[int], jobs: Jobs, packed: Packed, target: int) -> None:
    """No server ever holds more workers than it has GPUs, and no job ends past the target."""
    held: Counter[tuple[int, int]] = Counter()
    for job, (kind, workers) in enumerate(zip(jobs, packed.workers, strict=True)):
        assert list(workers.values()) == [kind.size]
        start, slots = packed.starts[job], kind.slots
        assert 0 <= start <= target - slots
        for server, many in workers.items():
            for slot in range(start, start + slots):
                held[server, slot] += many
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


def go_on() -> bool:
    return False


def dive(program: BlockProgram, seed: int, last_jobs: int = 0) -> tuple[Packed | None, bool]:
    """The outcome of a dive that leaves at most so many jobs to the integer program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rarmodel.packing.dive.NUMBERS", NUMBERS._replace(last_jobs=last_jobs))
        return Dive(program, np.random.default_rng(seed), go_on).packing()
