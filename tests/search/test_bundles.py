"""Bundles of narrow jobs: beside a plain enumeration, and in programs over buddy blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product, zip_longest

import numpy as np
import pytest
from buddy_packings import Jobs, Problem, check, dive, fits, go_on
from hypothesis import given, settings
from hypothesis import strategies as st

from rarmodel.search.block_columns import Ring
from rarmodel.search.block_program import BlockProgram
from rarmodel.search.block_sizes import Kind
from rarmodel.search.bundles import Item, bundles_of

WIDE = Kind(4, 1)


def jobs_of(item: Item) -> Iterator[Kind]:
    """The jobs of an item."""
    if item.kind:
        yield item.kind
    for lane in item.lanes:
        for inner in lane:
            yield from jobs_of(inner)


def idle_of(item: Item, size: int) -> int:
    """Slots in which GPUs of an item are idle, from what its lanes run."""
    if item.kind:
        assert item.kind == (size, item.slots)
        return 0
    lengths = [sum(inner.slots for inner in lane) for lane in item.lanes]
    assert max(lengths) == item.slots
    inside = sum(idle_of(inner, size // 2) for lane in item.lanes for inner in lane)
    return inside + (max(lengths) - min(lengths)) * size // 2


def ways(slots: tuple[int, ...], target: int) -> dict[tuple[int, ...], int]:
    """Lengths of pairs of lanes, and the least idle time: each item in any lane."""
    found: dict[tuple[int, ...], int] = {}
    for lane_of in product(range(2 * len(slots)), repeat=len(slots)):
        lanes = [0] * 2 * len(slots)
        for lane, many in zip(lane_of, slots, strict=True):
            lanes[lane] += many
        if max(lanes, default=0) <= target:
            pairs = list(zip(lanes[::2], lanes[1::2], strict=True))
            key = tuple(sorted((max(pair) for pair in pairs if max(pair)), reverse=True))
            idle = sum(abs(one - other) for one, other in pairs)
            found[key] = min(idle, found.get(key, idle))
    return found


@st.composite
def narrow_problems(draw: st.DrawFn) -> Problem:
    """Servers of 4 and 8 GPUs, and jobs of 1, 2 and 4; some narrow, and one that is wide."""
    gpus = draw(st.lists(st.sampled_from([4, 8]), min_size=1, max_size=2))
    narrow = st.builds(Kind, st.sampled_from([1, 2]), st.integers(1, 6))
    wide = st.builds(Kind, st.just(4), st.integers(1, 6))
    jobs = draw(st.lists(narrow, min_size=1, max_size=6))
    return gpus, [*jobs, *draw(st.lists(wide, min_size=1, max_size=3))], draw(st.integers(3, 9))


@given(problem=narrow_problems())
@settings(deadline=None, max_examples=100)
def test_bundles_hold_each_narrow_job_once(problem: Problem) -> None:
    gpus, jobs, target = problem
    bundles = bundles_of(gpus, jobs, target)
    if bundles is None:
        assert sum(gpus) * target < sum(size * slots for size, slots in jobs) or not fits(*problem)
        return
    assert bundles.size == 4
    narrow = Counter(kind for kind in jobs if kind.size < 4)
    for items, idle in bundles.choices:
        assert Counter(kind for item in items for kind in jobs_of(item)) == narrow
        assert sum(idle_of(item, 4) for item in items) == idle
        lengths = [item.slots for item in items]
        assert lengths == sorted(lengths, reverse=True)
        assert lengths[0] <= target


def no_longer(some: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """Whether items are no longer than others, the longest beside the longest, and so on."""
    return all(one <= other for one, other in zip_longest(some, others, fillvalue=0))


@pytest.mark.parametrize("seed", range(20))
def test_bundles_have_all_shortest_lengths(seed: int) -> None:
    """One size of narrow jobs, beside each item in any lane."""
    random = np.random.default_rng(seed)
    slots = tuple(random.integers(1, 9, int(random.integers(1, 6))).tolist())
    target = int(random.integers(6, 16))
    bundles = bundles_of([2] * 20, [*(Kind(1, many) for many in slots), Kind(2, 1)], target)
    every = ways(slots, target) if max(slots) <= target else {}
    expected = {
        lengths: idle
        for lengths, idle in every.items()
        if not any(no_longer(other, lengths) for other in every if other != lengths)
    }
    found = bundles.choices if bundles else ()
    assert {tuple(item.slots for item in items): idle for items, idle in found} == expected
    assert [bundle.idle for bundle in found] == sorted(expected.values())


@given(problem=narrow_problems(), seed=st.integers(0, 2**20), last_jobs=st.integers(0, 8))
@settings(deadline=None, max_examples=150)
def test_a_program_with_all_bundles_misses_no_packing(
    problem: Problem, seed: int, last_jobs: int
) -> None:
    gpus, jobs, target = problem
    bundles = bundles_of(*problem)
    if bundles is None:
        assert not fits(*problem)
        return
    program = BlockProgram(gpus, jobs, target, bundles=bundles)
    assert program.bundled
    packed, surely_none = program.solve(60, 1, go_on)
    assert (packed is None) == surely_none == (not fits(*problem))
    dived, refuted = dive(program, seed, last_jobs)
    for found in (packed, dived):
        if found is not None:
            check(gpus, jobs, found, target)
    assert not (refuted and packed)


def test_bundles_run_beside_rings_that_spread() -> None:
    """24 GPU slots, all busy: the ring holds a block of each server, and a bundle fills others."""
    gpus, target = [4, 4, 4], 3
    ring = Ring(0, Kind(8, 0), (2, 2), last=False)
    jobs = [ring.kind, Kind(1, 3), Kind(1, 2), Kind(2, 3), Kind(1, 1), Kind(4, 1), Kind(4, 1)]
    bundles = bundles_of(gpus, jobs, target)
    assert bundles is not None
    packed, _ = BlockProgram(gpus, jobs, target, (ring,), bundles).solve(60, 1, go_on)
    assert packed is not None
    check(gpus, jobs, packed, target, (ring,))
    jobs += [Kind(1, 1)]
    bundles = bundles_of(gpus, jobs, target)
    assert bundles is not None
    outcome = BlockProgram(gpus, jobs, target, (ring,), bundles).solve(60, 1, go_on)
    assert outcome == (None, True)


@pytest.mark.parametrize(
    ("gpus", "jobs"),
    [
        ([4], [Kind(4, 3)] * 3),  # no narrow jobs
        ([4], [Kind(1, 3)] * 3),  # no wide ones
        ([6], [Kind(3, 3), Kind(1, 3)]),  # doubling 1 gives no 3
        ([5], [Kind(1, 3), WIDE]),  # blocks of 4 leave a GPU
        ([8], [Kind(1, 3), WIDE, Kind(6, 3)]),  # and so they do beside 6
        ([4], [*[Kind(1, 1)] * 25, WIDE]),  # too many
        ([4], [Kind(1, 5), WIDE]),  # too long
    ],
)
def test_some_jobs_have_no_bundles(gpus: list[int], jobs: Jobs) -> None:
    assert bundles_of(gpus, jobs, 4) is None


def test_blocks_are_as_wide_as_narrow_jobs_allow() -> None:
    """14 jobs of 1 GPU are few, and with 14 of 2 they are many."""
    ones, twos = [Kind(1, 2)] * 2, [Kind(2, 2)] * 2
    few = bundles_of([8], [*ones, *twos, WIDE], 4)
    many = bundles_of([80], [*ones, *twos * 12, WIDE], 4)
    assert few is not None
    assert many is not None
    assert (few.size, many.size) == (4, 2)


SOME_JOBS = [*(Kind(1, slots) for slots in (5, 6, 7, 8, 9, 11, 13)), WIDE]


def test_bundles_with_little_idle_time_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    every = bundles_of([4] * 9, SOME_JOBS, 20)
    monkeypatch.setattr("rarmodel.search.bundles.ENOUGH", 1)
    some = bundles_of([4] * 9, SOME_JOBS, 20)
    assert some is not None
    assert every is not None
    assert 1 <= len(some.choices) < len(every.choices)
    assert some.choices == every.choices[: len(some.choices)]


def test_a_list_of_bundles_that_takes_too_long_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = bundles_of([4] * 9, SOME_JOBS, 20)
    monkeypatch.setattr("rarmodel.search.bundles.STEPS", 5_000)
    some = bundles_of([4] * 9, SOME_JOBS, 20)
    assert some is not None
    assert every is not None
    assert some.choices == every.choices[: len(some.choices)] != every.choices


def test_bundles_by_a_late_target_contain_those_by_an_earlier_one() -> None:
    late, early = (bundles_of([4] * 9, SOME_JOBS, target) for target in (20, 15))
    assert late is not None
    assert early is not None
    assert late.by(15) == early
    assert late.by(20) == late != early
    assert late.by(12) is None
