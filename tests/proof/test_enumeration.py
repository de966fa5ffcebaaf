"""All schedules of tiny instances: the optimum is found and proven, and no bound is false."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from documents import instance_data, job_data
from enumeration import optimal_makespan
from hypothesis import assume, given
from hypothesis import strategies as st
from random_instances import instances, random_instance

from rarmodel import load_instance, solve
from rarmodel.bounds import best_bound
from rarmodel.engine import NEVER, arrays_of
from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.model import check_instance, horizon_of
from rarmodel.packing.solution import solution_of_plan
from rarmodel.proof import enumeration
from rarmodel.proof.enumeration import Enumeration, enumeration_of
from rarmodel.schema import Instance
from rarmodel.verifier import verify

MOST_SLOTS = 40
"""Greatest bound of instances of which all schedules are tried; longer ones take too long."""


def made(instance: Instance) -> Enumeration:
    found = enumeration_of(instance, arrays_of(instance))
    assert found is not None
    return found


def proven(instance: Instance, makespan: int = NEVER) -> tuple[int, int]:
    """Makespan and bound in the end; each solution is verified on the way."""
    search, bound = made(instance), best_bound(instance).slots
    horizon = horizon_of(instance)
    while bound <= min(makespan - 1, horizon) and not search.over:
        plan, better = search.step(makespan, bound)
        if plan is not None:
            solution = solution_of_plan(instance, plan)
            report = verify(instance, solution.schedule(instance, "enumeration"))
            assert report.feasible
            assert report.makespan == solution.makespan < makespan
            makespan = solution.makespan
        if better is not None:
            assert better.name == "enumeration"
            assert better.slots > bound
            bound = better.slots
    return makespan, bound


def with_likes(instance: Instance, random: Random) -> Instance:
    """Some jobs and servers become like others, where that makes an instance."""
    jobs, servers = list(instance.jobs), list(instance.cluster.servers)
    for i in range(1, len(jobs)):
        if random.random() < 0.5:
            jobs[i] = jobs[random.randrange(i)].model_copy(update={"name": jobs[i].name})
    for i in range(1, len(servers)):
        if random.random() < 0.7:
            servers[i] = servers[i].model_copy(update={"gpus": servers[0].gpus})
    cluster = instance.cluster.model_copy(update={"servers": tuple(servers)})
    if cluster.total_gpus < max(job.size for job in jobs):
        cluster = instance.cluster
    alike = instance.model_copy(update={"jobs": tuple(jobs), "cluster": cluster})
    try:
        check_instance(alike)
    except InputError:
        assume(False)
    return alike


def check(instance: Instance) -> None:
    makespan, bound = proven(instance)
    assert makespan == bound == optimal_makespan(instance, known=makespan)


@examples(20)
@given(instances(jobs=4, servers=3))
def test_the_optimum_is_found_and_proven(instance: Instance) -> None:
    check(instance)


def with_cards(instance: Instance, random: Random) -> Instance:
    """Servers have one to three network cards, those of equal GPUs most often as many."""
    cards = {server.gpus: random.randint(1, 3) for server in instance.cluster.servers}
    servers = tuple(
        one.model_copy(update={"network_cards": random.choice([2, *[cards[one.gpus]] * 2])})
        for one in instance.cluster.servers
    )
    cluster = instance.cluster.model_copy(update={"servers": servers})
    return instance.model_copy(update={"cluster": cluster})


def check_with_likes(seed: int, most_jobs: int) -> None:
    random = Random(seed)
    instance = random_instance(
        random, jobs=random.randint(2, most_jobs), servers=random.randint(2, 3), tree=seed % 2 == 1
    )
    if seed % 4 >= 2:
        instance = with_cards(instance, random)
    instance = with_likes(instance, random)
    assume(best_bound(instance).slots <= MOST_SLOTS)
    check(instance)


@examples(12)
@given(st.integers(0, 2**32))
def test_what_is_alike_hides_no_schedule(seed: int) -> None:
    check_with_likes(seed, most_jobs=3)


@pytest.mark.slow
@examples(40)
@given(st.integers(0, 2**32))
def test_what_is_alike_hides_no_schedule_of_four_jobs(seed: int) -> None:
    check_with_likes(seed, most_jobs=4)


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_model_agrees(seed: int) -> None:
    random = Random(seed)
    instance = random_instance(random, jobs=5, servers=3, tree=seed % 2 == 1, most_slots=3)
    exact = solve(instance, formulation="time-indexed", solver="cpsat", time_limit=60.0)
    assert exact.status == "optimal"
    assert proven(instance) == (exact.makespan, exact.makespan)


def test_a_job_that_does_better_to_start_late_does_so() -> None:
    assert best_bound(load_instance("start-later")).slots == 8
    assert proven(load_instance("start-later")) == (9, 9)


def test_a_bound_that_the_makespan_meets_is_all_there_is_to_prove() -> None:
    assert proven(load_instance("start-later"), makespan=9) == (9, 9)
    assert proven(load_instance("start-later"), makespan=8) == (8, 8)  # As it is told.


def test_past_the_horizon_nothing_is_tried() -> None:
    instance = load_instance("start-later")
    short = instance.model_copy(update={"time": instance.time.model_copy(update={"horizon": 8})})
    assert proven(short) == (NEVER, 9)


def test_many_small_steps_end_as_few_large_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance(Random(1), jobs=6, servers=3, tree=True, most_slots=20)
    whole = proven(instance)
    monkeypatch.setattr(enumeration, "NODES", 37)
    assert proven(instance) == whole


def test_it_gives_up_with_what_is_proven_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance(Random(0), jobs=12, servers=4, tree=True, most_slots=20)
    monkeypatch.setattr(enumeration, "MOST_NODES", 30_000)
    monkeypatch.setattr(enumeration, "TARGET_NODES", 5_000)
    monkeypatch.setattr(enumeration, "NODES", 2_000)
    search = made(instance)
    bound = best_bound(instance).slots
    for _ in range(100):
        if search.over:
            break
        _, better = search.step(NEVER, bound)
        bound = bound if better is None else better.slots
    assert search.over
    assert search.step(NEVER, bound) == (None, None)
    found = solve(instance, method="search", iterations=10, threads=1).makespan
    assert found is not None
    assert bound <= found


@pytest.mark.parametrize("name", ["paper-160", "philly-2869ce"])
def test_large_instances_are_left_alone(name: str) -> None:
    instance = load_instance(name)
    assert enumeration_of(instance, arrays_of(instance)) is None


def test_as_large_as_numbers_get_no_bound_is_false() -> None:
    slots = 2**53 - 1
    jobs = [job_data(f"j{i}", 1, slots // 8 - i, backward_ms=1000.0) for i in range(5)]
    instance = parse_instance(instance_data(*jobs, servers=[1, 2], horizon=slots))
    # The longest alone, and the others in pairs.
    optimum = 2 * (slots // 8) - 1 - 4
    assert proven(instance) == (optimum, optimum)


def test_more_than_can_be_counted_is_left_alone() -> None:
    jobs = [job_data(f"j{i}", 5, 2**53 - 1, backward_ms=1000.0) for i in range(2)]
    data = instance_data(*jobs, servers=[2] * 9, horizon=2**53 - 1)
    instance = parse_instance(data)
    assert enumeration_of(instance, arrays_of(instance)) is None
