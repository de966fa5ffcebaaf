"""Bounds: what each of them proves, and that none of them ever proves too much."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from depth import examples
from documents import instance_data, job_data
from enumeration import optimal_makespan
from hypothesis import given
from hypothesis import strategies as st
from random_instances import random_instance, tiny_instance

from rarmodel.bounds import (
    LowerBound,
    all_bounds,
    area,
    best_bound,
    greatest_area,
    limit_bound,
    long_jobs,
    longest_job,
    shared_links,
    wide_gaps,
    wide_jobs,
)
from rarmodel.bounds.cutting_stock import cutting_stock, share_needed
from rarmodel.files import parse_instance
from rarmodel.model import job_extremes
from rarmodel.schema import Instance


def flat(jobs: list[tuple[int, int]], servers: list[int]) -> Instance:
    """Jobs of given GPUs and slots, to which neither placement nor contention matters."""
    rings = [job_data(f"j{i}", gpus, 10 * slots) for i, (gpus, slots) in enumerate(jobs)]
    return parse_instance(instance_data(*rings, servers=servers, horizon=10_000))


def exchanging(jobs: int, gpus: int, servers: list[int], gbps: float) -> Instance:
    """Equal jobs that exchange much over slow links."""
    rings = [job_data(f"j{i}", gpus, 10_000, gradient_mb=20.0) for i in range(jobs)]
    data = instance_data(*rings, servers=servers, horizon=100_000)
    data["cluster"]["network"]["gbps"] = gbps
    data["contention"]["degradation"]["alpha"] = 1.0
    data["time"]["slot_seconds"] = 100.0
    return parse_instance(data)


def every_bound(instance: Instance) -> list[LowerBound]:
    found = list(all_bounds(instance))
    # From nothing, so that it has to prove all of it by itself.
    own = cutting_stock(instance, 0)
    return [*found, LowerBound(own, "cutting stock")] if own else found


def check_against_enumeration(seed: int) -> None:
    random = Random(seed)
    instance = tiny_instance(random)
    optimum = optimal_makespan(instance)
    if optimum is not None:
        for bound in every_bound(instance):
            assert bound.slots <= optimum, (seed, bound, optimum)


@examples(40)
@given(st.integers(0, 10**9))
def test_no_bound_exceeds_the_optimum(seed: int) -> None:
    check_against_enumeration(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(40))
def test_no_bound_exceeds_any_of_thousands_of_optima(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        check_against_enumeration(10**9 + seed)


@examples(30)
@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 12)), min_size=1, max_size=7),
    st.integers(6, 8),
)
def test_flat_bounds_hold_for_list_schedules(jobs: list[tuple[int, int]], gpus: int) -> None:
    # Any list schedule is feasible, so no bound may exceed its makespan.
    free = [0] * gpus
    for size, slots in jobs:
        free.sort()
        end = free[size - 1] + slots
        free[:size] = [end] * size
    instance = flat(jobs, [gpus])
    assert max(bound.slots for bound in every_bound(instance)) <= max(free)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.integers(1, 12))
def test_counted_sizes_of_what_fits_fit(sizes: list[int], capacity: int) -> None:
    fitting: list[int] = []
    for size in sizes:
        if size + sum(fitting) <= capacity:
            fitting.append(size)
    assert greatest_area(Counter(fitting), capacity) <= capacity


@pytest.mark.parametrize("capacity", [2**53 + 1, 2**60 + 5])
def test_counted_sizes_of_what_fits_fit_where_floats_are_coarse(capacity: int) -> None:
    fitting = Counter([capacity // 2, capacity - capacity // 2])
    assert greatest_area(fitting, capacity) == capacity


def test_wide_jobs_run_one_after_another() -> None:
    instance = flat([(3, 5), (3, 5), (3, 5)], [4])
    assert area(instance) == 12
    assert wide_jobs(instance) == 15


def test_the_limit_on_work_can_be_less_than_any_makespan() -> None:
    # Any two of the rings share a GPU, but no GPU serves all three: 5 + 5 slots of work are enough.
    instance = flat([(3, 5), (3, 5), (3, 5)], [5])
    assert (limit_bound(instance).slots, best_bound(instance).slots) == (10, 15)


@examples(40)
@given(st.integers(0, 10**9))
def test_no_limit_below_its_bound_can_be_kept(seed: int) -> None:
    random = Random(seed)
    instance = random_instance(random, jobs=random.randint(1, 6), servers=3, tree=False)
    work: Counter[int] = Counter()
    for job, least in zip(instance.jobs, job_extremes(instance), strict=True):
        for gpu in random.sample(range(instance.cluster.total_gpus), job.size):
            work[gpu] += least.least_slots
    assert limit_bound(instance).slots <= max(work.values())


def test_long_jobs_need_gpus_of_their_own() -> None:
    # Three jobs on two GPUs: two of them share one.
    instance = flat([(1, 6), (1, 6), (1, 6)], [2])
    assert area(instance) == 9
    assert long_jobs(instance) == 12


def test_cutting_stock_see_what_execution_times_add_up_to() -> None:
    for slots in ([60] * 7, [9, 9, 9, 9, 7, 7, 7]):
        instance = flat([(1, each) for each in slots], [3])
        known = best_bound(instance).slots
        found = cutting_stock(instance, known)
        assert found is not None
        assert known < found == optimum_of_lanes(slots, 3)


def optimum_of_lanes(slots: list[int], count: int) -> int:
    best = sum(slots)

    def deal(job: int, loads: list[int]) -> None:
        nonlocal best
        if max(loads) >= best:
            return
        if job == len(slots):
            best = max(loads)
            return
        for lane in range(count):
            loads[lane] += slots[job]
            deal(job + 1, loads)
            loads[lane] -= slots[job]

    deal(0, [0] * count)
    return best


def test_cutting_stock_of_small_servers_hold_no_packed_wide_jobs() -> None:
    # Rings of 2 GPUs fit the one server of 2 one after another; spread they take far longer.
    instance = exchanging(3, 2, [2, 1, 1], gbps=0.01)
    one = longest_job(instance)
    found = cutting_stock(instance, one)
    assert found is not None
    assert found == wide_gaps(instance) == 3 * one
    assert area(instance) < 2 * one


def test_rings_wider_than_any_server_share_its_link() -> None:
    instance = exchanging(3, 5, [4, 4], gbps=1.0)
    bound = shared_links(instance)
    assert bound is not None
    assert bound == 3 * longest_job(instance)


def test_no_shared_links_where_every_job_fits_a_server() -> None:
    assert shared_links(flat([(2, 5)], [2, 2])) is None


def test_cutting_stock_prove_nothing_beyond_what_is_possible() -> None:
    instance = flat([(1, 9), (1, 9), (1, 7)], [2])
    assert cutting_stock(instance, 16, upper=16) is None


@pytest.mark.parametrize(("length", "share"), [(11, 1.5), (12, 0.75), (17, 0.75), (18, 0.5)])
def test_share_of_all_gpus_that_whole_jobs_need(length: int, share: float) -> None:
    """Twelve workers of 6 slots each: one, two or three of them fit a GPU, of eight."""
    instance = flat([(1, 6)] * 12, [4, 4])
    assert share_needed(instance, length) == pytest.approx(share)
    assert (cutting_stock(instance, length) is not None) == (share > 1)


def test_cutting_stock_stop_when_asked() -> None:
    assert cutting_stock(flat([(1, 6)] * 3, [2]), 1, stop=lambda: True) is None


def test_cutting_stock_stop_while_they_look_at_a_length() -> None:
    # One length can take half a minute with hundreds of kinds of jobs.
    instance = flat([(1, each) for each in (9, 9, 9, 9, 7, 7, 7)], [3])
    asked = iter([False, True])
    known = best_bound(instance).slots
    assert cutting_stock(instance, known) is not None
    assert cutting_stock(instance, known, stop=lambda: next(asked, True)) is None


def test_cutting_stock_trust_no_solver_that_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = flat([(1, each) for each in (9, 9, 9, 9, 7, 7, 7)], [3])
    monkeypatch.setattr("rarmodel.bounds.cutting_stock.ColumnProgram.solve", lambda _: None)
    assert cutting_stock(instance, best_bound(instance).slots) is None
    assert cutting_stock(instance, 0) == 9
