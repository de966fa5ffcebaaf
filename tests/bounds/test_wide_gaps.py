"""Gaps between wide jobs: beside all schedules of tiny instances, and what they add."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from documents import instance_of, job_data
from enumeration import optimal_makespan
from hypothesis import given
from hypothesis import strategies as st

from rarmodel import generate
from rarmodel.bounds import area, longest_job, wide_gaps
from rarmodel.schema import Instance


def job(name: str, gpus: int, slots: int, gradient_mb: float = 0.0) -> dict[str, object]:
    """A job of so many slots on one server; on several it takes longer, by its gradient."""
    return job_data(name, gpus, 10 * slots, gradient_mb=gradient_mb)


def wide_instance(random: Random) -> Instance:
    """One or two servers of 4 GPUs, most of whose time jobs of 3 and 4 GPUs take."""
    wide = [(random.choice([3, 3, 4]), random.randint(1, 4)) for _ in range(random.randint(1, 3))]
    narrow = [(random.choice([1, 1, 2]), random.randint(2, 6)) for _ in range(random.randint(1, 2))]
    rings = [
        job(f"j{j}", gpus, slots, random.choice([0.0, 10.0, 40.0, 160.0]))
        for j, (gpus, slots) in enumerate([*wide, *narrow])
    ]
    servers = random.choice([[4], [4, 1], [4, 2], [4, 2, 2], [4, 3]])
    return instance_of(*rings, servers=servers, horizon=10_000)


def check_against_enumeration(seed: int) -> bool:
    """Check one instance; return whether this bound is above `area` and `longest job`."""
    instance = wide_instance(Random(seed))
    bound = wide_gaps(instance)
    if bound is None:
        return False
    assert bound > max(area(instance), longest_job(instance))
    # Fewer starts to try: only schedules that are shorter than the bound.
    assert optimal_makespan(instance, bound) == bound
    return True


@examples(40)
@given(st.integers(0, 10**9))
def test_it_never_exceeds_the_optimum(seed: int) -> None:
    check_against_enumeration(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_it_never_exceeds_any_of_hundreds_of_optima(block: int) -> None:
    assert sum(check_against_enumeration(100 * block + seed) for seed in range(100)) >= 5


def test_gaps_too_short_for_other_jobs_are_partly_idle() -> None:
    """11 slots have 44 GPU slots, and the jobs need 43, but 2 more are idle in the gap of 1."""
    jobs = [(3, 5), (3, 5), (1, 6), (1, 7)]
    instance = instance_of(
        *(job(f"j{j}", *one) for j, one in enumerate(jobs)), servers=[4], horizon=100
    )
    assert area(instance) == 11
    assert wide_gaps(instance) == optimal_makespan(instance) == 12


def test_other_jobs_that_fit_the_gaps_leave_nothing_idle() -> None:
    jobs = [(3, 5), (3, 5), (1, 6), (1, 6), (1, 1)]
    instance = instance_of(
        *(job(f"j{j}", *one) for j, one in enumerate(jobs)), servers=[4], horizon=100
    )
    assert area(instance) == 11
    assert wide_gaps(instance) is None


def test_a_job_spreads_with_all_of_its_slots() -> None:
    """Wide jobs need 633 slots where there are 544, and few of them can spread in time."""
    instance = generate("contention", seed=6)
    assert area(instance) == 270
    assert wide_gaps(instance) == 273


def test_rings_that_spread_take_too_long() -> None:
    """Rings of 6, 6 and 5 slots on the one wide server; spread they take 13, 13 and 10."""
    jobs = [job(name, 3, slots, 100.0) for name, slots in (("a", 5), ("b", 5), ("c", 4))]
    instance = instance_of(*jobs, servers=[4, 2], horizon=1_000)
    assert area(instance) == 9
    assert wide_gaps(instance) == optimal_makespan(instance) == 12


def test_jobs_without_wide_servers_say_nothing() -> None:
    assert wide_gaps(instance_of(job("j", 3, 5), servers=[2, 2], horizon=100)) is None
    assert wide_gaps(instance_of(job("j", 2, 5), servers=[4, 4], horizon=100)) is None
