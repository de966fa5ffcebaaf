"""The policies against naive versions of themselves, and the properties they promise."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
import reference_heuristics as naive
from depth import examples
from documents import instance_data
from hypothesis import given
from hypothesis import strategies as st
from random_instances import instances, random_instance

from rarmodel.engine.arrays import Floats, Ints
from rarmodel.errors import PartError, UsageError
from rarmodel.heuristics import (
    Found,
    IdleGpus,
    Policy,
    available,
    estimate,
    first_fit,
    list_scheduling,
    make_sjf_bco,
    random_placement,
    rule,
    run_policy,
    sjf_bco,
    sjf_bco_occupied_first,
    smallest_first,
)
from rarmodel.heuristics.policies import installed_policies
from rarmodel.limits import Limits
from rarmodel.schema import Instance
from rarmodel.verifier import verify

POLICIES = installed_policies()


def with_horizon(instance: Instance, horizon: int) -> Instance:
    time = instance.time.model_copy(update={"horizon": horizon})
    return instance.model_copy(update={"time": time})


def placed_by(instance: Instance, found: Found) -> naive.Placed:
    index = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    return {
        j: (a.start, sorted((index[name], gpu) for name, held in a.gpus.items() for gpu in held))
        for j, a in enumerate(found.schedule.assignments)
    }


def assert_same(
    instance: Instance, found: Found | None, expected: tuple[int, int, naive.Placed] | None
) -> None:
    assert (found is None) == (expected is None)
    if found and expected:
        assert (found.makespan, found.limit) == expected[:2]
        assert placed_by(instance, found) == {
            job: (start, sorted(gpus)) for job, (start, gpus) in expected[2].items()
        }


CASES = st.tuples(instances(jobs=5, servers=3), st.sampled_from([12, 30, 60]))


@examples(25)
@given(CASES, st.sampled_from([1.0, 2.0]))
def test_sjf_bco_is_what_its_algorithms_say(case: tuple[Instance, int], factor: float) -> None:
    instance = with_horizon(*case)
    found = run_policy(instance, make_sjf_bco(servers_factor=factor))
    assert_same(instance, found, naive.sjf_bco(instance, servers_factor=factor))


@examples(20)
@given(CASES)
def test_occupied_first_is_what_the_text_says(case: tuple[Instance, int]) -> None:
    instance = with_horizon(*case)
    found = run_policy(instance, sjf_bco_occupied_first)
    assert_same(instance, found, naive.sjf_bco(instance, occupied_first=True))


@examples(20)
@given(CASES)
def test_first_fit_takes_the_first(case: tuple[Instance, int]) -> None:
    instance = with_horizon(*case)
    order = range(len(instance.jobs))
    expected = naive.bisect(instance, order, [naive.first_fit])
    assert_same(instance, run_policy(instance, first_fit), expected)


@examples(20)
@given(CASES)
def test_list_scheduling_takes_the_least_busy(case: tuple[Instance, int]) -> None:
    instance = with_horizon(*case)
    order = range(len(instance.jobs))
    expected = naive.bisect(instance, order, [naive.list_scheduling])
    assert_same(instance, run_policy(instance, list_scheduling), expected)


@examples(25)
@given(instances(jobs=12, servers=4))
def test_distinct_kappas_give_what_all_kappas_give(instance: Instance) -> None:
    instance = with_horizon(instance, 200)
    largest = max(job.size for job in instance.jobs)
    everything = make_sjf_bco(kappas=lambda _: range(1, largest + 1))
    some, every = run_policy(instance, sjf_bco), run_policy(instance, everything)
    assert (some is None) == (every is None)
    if some and every:
        assert some.schedule == every.schedule
        assert (some.makespan, some.limit) == (every.makespan, every.limit)


@examples(25)
@given(instances(jobs=12, servers=4), st.sampled_from(POLICIES), st.integers(0, 5))
def test_every_schedule_passes_verification(instance: Instance, policy: Policy, seed: int) -> None:
    instance = with_horizon(instance, 500)
    found = run_policy(instance, policy, seed=seed)
    if found:
        report = verify(instance, found.schedule)
        assert report.feasible, report.violations
        assert report.makespan == found.makespan
        assert max(found.loads) <= found.limit  # Lemma 2


@pytest.mark.parametrize(
    "policy", [policy for policy in POLICIES if policy.bisect], ids=lambda policy: policy.name
)
def test_a_rule_runs_uncompiled_with_the_same_result(policy: Policy) -> None:
    instance = with_horizon(
        random_instance(Random(7), jobs=8, servers=3, tree=True, most_slots=4), 60
    )
    plain = Policy(
        policy.name,
        getattr(policy.rule, "py_func"),  # noqa: B009
        policy.order,
        policy.parameters,
        policy.bisect,
    )
    assert run_policy(instance, plain) == run_policy(instance, policy)


@examples(25)
@given(instances(jobs=8, servers=4), st.integers(0, 3))
def test_real_execution_times_are_within_the_estimates_factors(
    instance: Instance, seed: int
) -> None:
    found = run_policy(instance, random_placement, seed=seed)
    estimates = estimate(instance)
    assert estimates.upper == 1.0
    if found:
        completion = verify(instance, found.schedule).completion
        for guess, assignment in zip(estimates.slots, found.schedule.assignments, strict=True):
            end = completion[assignment.job]
            assert end is not None
            real = end - assignment.start
            assert estimates.lower * real <= guess + 1e-9
            assert guess <= estimates.upper * real
            assert real <= guess * estimates.spread


def test_random_placement_depends_on_the_seed_and_on_nothing_else() -> None:
    instance = with_horizon(
        random_instance(Random(3), jobs=10, servers=4, tree=False, most_slots=4), 300
    )
    found = [run_policy(instance, random_placement, seed=seed) for seed in (0, 0, 1, 2)]
    assert found[0] == found[1]
    assert len({str(f.schedule) for f in found if f}) == 3


def test_nothing_is_found_within_too_short_a_horizon() -> None:
    instance = random_instance(
        Random(1), jobs=6, servers=2, tree=False, least_slots=4, most_slots=6
    )
    for policy in POLICIES:
        assert run_policy(with_horizon(instance, 3), policy) is None


def test_a_makespan_equal_to_the_horizon_is_found() -> None:
    instance = random_instance(Random(2), jobs=1, servers=2, tree=False, least_slots=4)
    found = run_policy(instance, first_fit)
    assert found is not None
    assert run_policy(with_horizon(instance, found.makespan), first_fit) is not None


def busy_gpus(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    chosen[: room.size[job]] = 0
    return True


def test_a_rule_that_takes_what_is_not_available_is_refused() -> None:
    instance = random_instance(Random(5), jobs=4, servers=2, tree=False)
    with pytest.raises(UsageError, match="not available"):
        run_policy(instance, Policy("greedy", busy_gpus))


@rule
def allocating(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    chosen[: room.size[job]] = np.arange(room.size[job])
    return True


def test_a_rule_that_numba_refuses_is_refused_in_one_line() -> None:
    instance = random_instance(Random(5), jobs=4, servers=2, tree=False)
    with pytest.raises(UsageError, match=r"'allocating' cannot be compiled.*plain Python") as info:
        run_policy(instance, Policy("allocating", allocating))
    assert "\n" not in str(info.value)


@rule
def last_idle(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
    count = 0
    for gpu in range(len(room.idle) - 1, -1, -1):
        if available(room, job, gpu):
            chosen[count] = gpu
            count += 1
            if count == room.size[job]:
                return True
    return False


def test_a_user_s_rule_gets_clock_limit_and_bisection_for_free() -> None:
    instance = random_instance(Random(7), jobs=9, servers=4, tree=True)
    policy = Policy("last-idle", last_idle, smallest_first)
    plain = Policy("last-idle", last_idle.py_func, smallest_first)  # type: ignore[attr-defined]
    found = run_policy(instance, policy)
    assert found is not None
    assert verify(instance, found.schedule).feasible
    assert found == run_policy(instance, plain)


def test_own_estimates_get_their_factors_from_the_model() -> None:
    instance = random_instance(Random(9), jobs=3, servers=2, tree=False, least_slots=2)
    least = estimate(instance).slots
    doubled = estimate(instance, [2 * slots for slots in least])
    assert doubled.upper == 2.0
    assert doubled.work == least
    with pytest.raises(ValueError, match="3 estimates above 0"):
        estimate(instance, [1.0, 0.0, 2.0])


def test_interrupt_keeps_the_best_so_far() -> None:
    instance = random_instance(Random(7), jobs=8, servers=3, tree=True)

    def press_ctrl_c(makespan: int | None) -> bool:
        if makespan is not None:
            raise KeyboardInterrupt
        return False

    found = run_policy(instance, sjf_bco, stop=press_ctrl_c)
    assert found is not None
    assert verify(instance, found.schedule).feasible


@pytest.mark.parametrize(
    ("order", "fault"),
    [
        ([0, 1, 2, 10**6], "has 1000000; jobs are numbered 0 to 3"),
        ([-1, 0, 1, 2], "has -1; jobs are numbered 0 to 3"),
        ([0.5, 1.2, 2.9, 3.1], "has 0.5; whole numbers are expected"),
        ([float("nan"), 1, 2, 3], "has nan; whole numbers are expected"),
        ([True, False, 2, 3], "has True; whole numbers are expected"),
        (["j0", "j1", "j2", "j3"], "has 'j0'; whole numbers are expected"),
        ([2**70, 1, 2, 3], "has 1180591620717411303424; whole numbers are expected"),
        (np.array([[0, 1], [2, 3]]), "has array([0, 1]); whole numbers are expected"),
        (np.array([0, 1, 2, 2]), "has 2, job 'j2', more than once"),
        ([0] * 50, "has 0, job 'j0', more than once"),
        ([0, 1], "leaves out 'j2', 'j3'"),
        (None, "is None; whole numbers are expected"),
    ],
)
def test_an_order_that_is_none_is_refused(order: Any, fault: str) -> None:
    instance = random_instance(Random(5), jobs=4, servers=2, tree=False)
    with pytest.raises(PartError, match=f"^the order of policy 'wrong' {re.escape(fault)}$"):
        run_policy(instance, Policy("wrong", first_fit.rule, order=lambda _: order))


@pytest.mark.parametrize("parameters", [None, 3, [3], [("a",)], [(None, [1])]])
def test_parameters_that_are_no_numbers_are_refused(parameters: Any) -> None:
    instance = random_instance(Random(5), jobs=4, servers=2, tree=False)
    wrong = Policy("wrong", first_fit.rule, parameters=lambda *_: parameters)
    with pytest.raises(PartError, match=r"^method 'wrong' returned .*; a list of tuples of numb"):
        run_policy(instance, wrong)


def test_an_order_of_whole_floats_is_one() -> None:
    instance = random_instance(Random(5), jobs=4, servers=2, tree=False)
    wanted = run_policy(instance, Policy("mine", first_fit.rule, order=lambda _: [3, 2, 1, 0]))
    floats: Any = np.arange(3.0, -1, -1)
    same = run_policy(instance, Policy("mine", first_fit.rule, order=lambda _: floats))
    assert wanted == same


def test_preparing_places_nothing() -> None:
    instance = random_instance(Random(5), jobs=4, servers=2, tree=False)
    called: list[int] = []

    def watching(job: int, room: IdleGpus, parameters: Floats, chosen: Ints) -> bool:
        called.append(job)
        return False

    Policy("watching", watching).prepare(instance)
    sjf_bco.prepare(instance)
    assert called == []


def test_ten_million_gpus_take_little() -> None:
    small = Instance.model_validate(instance_data())
    instance = Instance.model_validate(instance_data(servers=[99_999] * 100))
    for policy in (first_fit, sjf_bco):
        policy(small, Limits(time_limit=1))  # Compile.
        policy.prepare(instance)
        assert policy(instance, Limits(time_limit=1)).schedule is not None  # It took a minute.
