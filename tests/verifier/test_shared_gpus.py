"""Shared GPUs in the verifier: each sentence of section 15, worked by hand, and random schedules.

Unless a test says otherwise, jobs alone do 10 iterations in a slot of 1 s and never share a link.
"""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from depth import examples, first
from documents import Data, assignment_data, instance_data, job_data, schedule_of
from hypothesis import given
from hypothesis import strategies as st
from segmented import random_schedule
from sharing_instances import random_sharing
from wide_instances import FEATURES

from rarmodel.files import parse_instance
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Schedule
from rarmodel.verifier import Report, verify


def worker(name: str, slices: int | None = 1, **fields: Any) -> Data:
    """A job of one GPU that takes 40 iterations, so 4 slots alone."""
    own = {} if slices is None else {"slices": slices}
    return job_data(name, **({"iterations": 40} | own | fields))


def report_of(
    *jobs: Data,
    at: dict[str, tuple[int, dict[str, list[int]]]] | None = None,
    slices: int = 4,
    top: Data | None = None,
    **cluster: Any,
) -> Report:
    """The report on jobs on GPU 0 of s0 from slot 0 on, or `at` other starts and GPUs."""
    data = instance_data(*jobs, horizon=99) | (top or {})
    data["cluster"] |= {"gpu_slices": slices, **cluster}
    instance = parse_instance(data)
    places = {job["name"]: (0, {"s0": [0]}) for job in jobs} | (at or {})
    schedule = schedule_of(
        *(assignment_data(name, start, **gpus) for name, (start, gpus) in places.items())
    )
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    return report


def kinds(report: Report) -> list[tuple[str, str, str | None, int | None]]:
    return [(v.constraint, v.job, v.server, v.slot) for v in report.violations]


# How jobs slow each other down.


def test_two_jobs_on_a_gpu_take_turns() -> None:
    report = report_of(worker("a"), worker("b"))
    assert report.feasible
    assert report.completion == {"a": 8, "b": 8}
    assert {ring.iteration_seconds for ring in report.periods[0].rings.values()} == {0.2}


def test_each_further_job_adds_the_same() -> None:
    report = report_of(worker("a"), worker("b"), worker("c"))
    assert report.completion == dict.fromkeys("abc", 14)  # 3 in a slot: 14 slots for 40.


def test_sensitivity_times_pressure_is_what_a_job_loses() -> None:
    report = report_of(
        worker("a", sensitivity=0.5, pressure=3.0), worker("b", sensitivity=0, pressure=0.5)
    )
    assert report.periods[0].rings["a"].iteration_seconds == pytest.approx(0.125)
    assert report.periods[0].rings["b"].iteration_seconds == 0.1


def test_a_measured_pair_holds_in_place_of_the_product_and_one_way_only() -> None:
    pair = {"colocation": [{"kind": "vision", "beside": "text", "slowdown": 1.25}]}
    report = report_of(worker("a", kind="vision"), worker("b", kind="text"), top=pair)
    seconds = {name: ring.iteration_seconds for name, ring in report.periods[0].rings.items()}
    assert seconds == {"a": 0.125, "b": 0.2}


def test_a_pair_with_itself_can_be_measured_and_jobs_without_a_kind_are_in_no_pair() -> None:
    pair = {"colocation": [{"kind": "vision", "beside": "vision", "slowdown": 1}]}
    jobs = worker("a", kind="vision"), worker("b", kind="vision"), worker("c")
    report = report_of(*jobs, top=pair)
    seconds = {name: ring.iteration_seconds for name, ring in report.periods[0].rings.items()}
    assert seconds["a"] == seconds["b"] == 0.2  # By c.
    assert seconds["c"] == pytest.approx(0.3)


def test_a_product_is_rounded_up_from_the_decimals_that_are_written() -> None:
    # 0.1·0.1 is 0.01, in units of 2^-20 10485.76, so 10486; as floats 0.1·0.1 is more than 0.01.
    report = report_of(worker("a", sensitivity=0.1), worker("b", pressure=0.1))
    seconds = report.periods[0].rings["a"].iteration_seconds
    assert seconds == 0.1 * (1 + 10486 / 2**20)


def test_a_ring_feels_the_fullest_of_its_gpus() -> None:
    ring = worker("a", gpus=2)
    others = worker("b"), worker("c"), worker("d")
    at = {"a": (0, {"s0": [0, 1]}), "d": (0, {"s0": [1]})}
    report = report_of(ring, *others, at=at)
    # b and c on GPU 0, d on GPU 1: the greatest sum counts, and not the sum over both.
    assert report.periods[0].rings["a"].iteration_seconds == pytest.approx(0.3)
    assert report.periods[0].rings["d"].iteration_seconds == 0.2


def test_only_the_passes_take_longer() -> None:
    ring = worker("a", gpus=2, gradient_mb=125.0)
    at = {"a": (0, {"s0": [0], "s1": [0]})}
    alone = report_of(ring, at=at, slices=2).periods[0].rings["a"].iteration_seconds
    beside = report_of(ring, worker("b"), at=at, slices=2).periods[0].rings["a"].iteration_seconds
    assert alone > 0.2  # 0.1 s of exchange.
    assert beside - alone == pytest.approx(0.1)


def test_a_job_speeds_up_when_the_other_ends() -> None:
    report = report_of(worker("a"), worker("b", iterations=10))
    assert report.completion == {"a": 5, "b": 2}  # 10 of 40 by slot 2, then 10 in a slot.


def test_the_passes_of_the_slowest_type_are_slowed_down() -> None:
    times = {
        "old": {"forward_ms_per_sample": 0.0, "backward_ms": 200.0},
        "new": {"forward_ms_per_sample": 0.0, "backward_ms": 100.0},
    }
    ring = worker("a", gpus=2, iterations=10)
    del ring["forward_ms_per_sample"], ring["backward_ms"]
    data_servers = [
        {"name": "s0", "gpus": 2, "gpu_type": "new"},
        {"name": "s1", "gpus": 2, "gpu_type": "old"},
    ]
    at = {"a": (0, {"s0": [0], "s1": [0]})}
    report = report_of(ring | {"times": times}, worker("b"), at=at, servers=data_servers)
    # b is beside the worker on the new GPU; both maxima are taken apart, so 2·200 ms.
    assert report.periods[0].rings["a"].iteration_seconds == 0.4


def test_overlapped_passes_are_slowed_down_within_the_power() -> None:
    ring = worker("a", gpus=2, gradient_mb=125.0)
    top = {"contention": instance_data()["contention"] | {"overlap": 2.0}}
    at = {"a": (0, {"s0": [0], "s1": [0]})}
    report = report_of(ring, worker("b"), at=at, slices=2, top=top)
    reduction = 125.0 * 8e6 / 2 / 400e9
    # Passes of 0.1 s take 0.2 s, and the exchange of 0.1 s hides behind them in part.
    expected = (0.2**2 + 0.1**2) ** 0.5 + reduction
    assert report.periods[0].rings["a"].iteration_seconds == pytest.approx(expected)


def test_duty_is_that_of_a_job_alone_on_its_gpus() -> None:
    rings = [worker(name, gpus=2, gradient_mb=125.0) for name in "ab"]
    top = {"contention": instance_data()["contention"] | {"model": "duty"}}
    at = {"a": (0, {"s0": [0], "s1": [0]}), "b": (0, {"s0": [1], "s1": [1]})}
    others = worker("c"), worker("d")
    apart = report_of(*rings, at=at, slices=4, top=top)
    at |= {"c": (0, {"s0": [1]}), "d": (0, {"s0": [1]})}
    beside = report_of(*rings, *others, at=at, slices=4, top=top)
    # c and d slow b down, so that it exchanges for less of its time; to a it counts as before.
    first, second = (report.periods[0].rings for report in (apart, beside))
    assert second["a"] == first["a"]
    assert second["b"].iteration_seconds > first["b"].iteration_seconds


def test_the_least_time_of_a_job_is_that_alone() -> None:
    report = report_of(worker("a"), worker("b"), top={"objective": "max-stretch"})
    assert report.objective == {"max-stretch": 2}


# Capacity.


def test_slices_of_a_gpu_add_up_to_at_most_its_own() -> None:
    report = report_of(worker("a", 2), worker("b", 1), worker("c", 2))
    assert kinds(report) == [("capacity", "c", "s0", 0)]
    assert report.violations[0].message == (
        "job 'c' takes GPU 0 of server 's0' at slot 0 beside 'a', 'b'; together they take 5 slices "
        "of a GPU that has 4"
    )


def test_a_gpu_may_be_full_and_slices_are_free_once_a_job_ends() -> None:
    ends = {"c": (4, {"s0": [0]})}
    isolated = {"sensitivity": 0}
    jobs = worker("a", 2, **isolated), worker("b", 2, **isolated), worker("c", 4, **isolated)
    assert report_of(*jobs, at=ends).feasible
    early = report_of(*jobs, at={"c": (3, {"s0": [0]})})
    assert kinds(early) == [("capacity", "c", "s0", 3)]


def test_a_job_without_slices_takes_the_whole_gpu() -> None:
    report = report_of(worker("a"), worker("b", None))
    assert [one.message for one in report.violations] == [
        "job 'b' takes GPU 0 of server 's0' at slot 0 while 'a' still holds it"
    ]


def test_a_server_whose_gpus_have_too_few_slices_cannot_be_used() -> None:
    servers = [{"name": "s0", "gpus": 2, "gpu_slices": 2}, {"name": "s1", "gpus": 2}]
    report = report_of(worker("a", 3), servers=servers)
    assert kinds(report) == [("capacity", "a", "s0", 0)]
    assert report.violations[0].message == (
        "job 'a' takes 3 slices of each of its GPUs; those of server 's0' have 2"
    )
    assert report_of(worker("a", 3), servers=servers, at={"a": (0, {"s1": [0]})}).feasible


def test_two_workers_of_one_job_never_share_a_gpu() -> None:
    report = report_of(worker("a", gpus=2), at={"a": (0, {"s0": [0, 0]})})
    assert kinds(report) == [("capacity", "a", "s0", 0)]


# Memory.


def test_memory_on_a_gpu_adds_up_exactly() -> None:
    jobs = worker("a", memory_gb=0.1), worker("b", memory_gb=0.2)
    assert report_of(*jobs, gpu_memory_gb=0.3).feasible  # As floats 0.1 + 0.2 is more.
    report = report_of(*jobs, gpu_memory_gb=0.29)
    assert kinds(report) == [("memory", "b", "s0", 0)]
    assert report.violations[0].message == (
        "job 'b' takes GPU 0 of server 's0' at slot 0 beside 'a'; together they need 0.3 GB of a "
        "GPU that has 0.29 GB"
    )


def test_a_server_has_its_own_memory_and_a_job_without_a_need_counts_nothing() -> None:
    servers = [{"name": "s0", "gpus": 2, "gpu_memory_gb": 16}, {"name": "s1", "gpus": 2}]
    report = report_of(worker("a", memory_gb=17), worker("b"), servers=servers)
    assert kinds(report) == [("memory", "a", "s0", 0)]
    there = {"a": (0, {"s1": [0]})}
    assert report_of(worker("a", memory_gb=17), worker("b"), servers=servers, at=there).feasible


def test_memory_limits_jobs_that_share_nothing_too() -> None:
    servers = [{"name": "s0", "gpus": 2, "gpu_memory_gb": 16}, {"name": "s1", "gpus": 2}]
    report = report_of(worker("a", None, memory_gb=17), slices=1, servers=servers)
    assert [one.message for one in report.violations] == [
        "job 'a' needs 17 GB on each of its GPUs; those of server 's0' have 16 GB"
    ]


# What is held.


def test_what_counts_gpus_counts_parts_of_them() -> None:
    at = {"b": (0, {"s1": [0]})}
    servers = [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 2, "gpu_slices": 3}]
    report = report_of(
        *(worker("a"), worker("b")),
        at=at,
        servers=servers,
        top={"objective": "cost"},
        prices_per_gpu_hour=3600.0,
    )
    assert report.objective == {"cost": Fraction(4, 4) + Fraction(4, 3)}
    assert report.utilisation == {"s0": 0.125, "s1": 1 / 6}


def test_a_cap_counts_parts_of_gpus() -> None:
    jobs = [worker(name, 2, tenant="t", sensitivity=0) for name in "abc"]
    at = {"b": (0, {"s0": [1]}), "c": (0, {"s0": [1]})}
    assert report_of(*jobs[:2], at={"b": at["b"]}, top=_tenant(1)).feasible
    report = report_of(*jobs, at=at, top=_tenant(1))
    assert kinds(report) == [("quota", "c", None, 0)]
    assert report.violations[0].message == (
        "at slot 0 jobs of tenant 't' hold 1.5 GPUs; its cap and its running jobs leave 1"
    )


def _tenant(gpus: int) -> Data:
    return {"tenants": [{"name": "t", "gpus": gpus}]}


def test_what_workers_use_of_a_resource_counts_parts_of_gpus() -> None:
    jobs = [worker(name, 1, resources_per_gpu={"power": 300}) for name in "abc"]
    ample, scarce = ({"resources": [{"name": "power", "capacity": most}]} for most in (225, 224))
    assert report_of(*jobs, top=ample).feasible
    assert kinds(report_of(*jobs, top=scarce)) == [("resource", "c", None, 0)]


def test_reservations_count_whole_gpus_each_once() -> None:
    one = [{"server": "s0", "gpus": 1, "from": 0, "to": 2}]
    jobs = worker("a"), worker("b")
    assert report_of(*jobs, reservations=one).feasible  # Both are on one GPU.
    report = report_of(*jobs, at={"b": (1, {"s0": [1]})}, reservations=one)
    assert kinds(report) == [("reservation", "b", "s0", 1)]
    assert report.violations[0].message == (
        "at slot 1 jobs hold 2 GPUs of server 's0'; reservations and running jobs leave 1"
    )


def test_a_job_may_join_a_running_one_whatever_is_reserved() -> None:
    running = {"gpus": {"s0": [0]}, "iterations_done": 0}
    both = [{"server": "s0", "gpus": 2, "from": 0, "to": 9}]
    jobs = worker("a", running=running), worker("b")
    assert report_of(*jobs, reservations=both).feasible
    report = report_of(*jobs, at={"b": (0, {"s0": [1]})}, reservations=both)
    assert kinds(report) == [("reservation", "b", "s0", 0)]


# Interruptions.


def test_a_job_that_restores_holds_but_neither_presses_nor_is_pressed() -> None:
    data = instance_data(worker("a", iterations=20), worker("b", iterations=20), horizon=99)
    data |= {"preemption": {"restore_seconds": 2.0}}
    data["cluster"]["gpu_slices"] = 2
    instance = parse_instance(data)
    halves = [
        {"start": 0, "end": 1, "gpus": {"s0": [0]}},
        {"start": 1, "gpus": {"s0": [1]}},
    ]
    there = {"job": "b", "start": 1, "gpus": {"s0": [1]}}
    schedule = schedule_of({"job": "a", "segments": halves}, there)
    report = verify(instance, schedule)
    assert report == verify(instance, schedule, slot_by_slot=True)
    assert report.feasible
    # a restores in slots 1 and 2, in which b does its 20 iterations.
    assert report.completion == {"a": 4, "b": 3}
    third = {**there, "job": "c"}
    data["jobs"].append(worker("c"))
    report = verify(parse_instance(data), schedule_of(*schedule.model_dump()["assignments"], third))
    assert [(one.constraint, one.slot) for one in report.violations] == [("capacity", 1)]


# Against each other.


@given(st.randoms(use_true_random=False), st.sets(st.sampled_from(FEATURES)), st.booleans())
@examples(60)
def test_events_and_slots_give_the_same_report(random: Random, some: set[str], stop: bool) -> None:
    features = {*some, *([PREEMPTION.name] if stop else [])}
    instance = random_sharing(random, features, jobs=random.randint(2, 5))
    schedule = random_schedule(instance, random, random.randint(0, 4))
    assert verify(instance, schedule) == verify(instance, schedule, slot_by_slot=True)


@pytest.mark.parametrize("seed", first(10, range(100)))
def test_a_job_more_makes_no_other_faster(seed: int) -> None:
    random = Random(seed)
    instance = random_sharing(random, jobs=4)
    schedule = random_schedule(instance, random, 3)
    fewer = instance.model_copy(update={"jobs": instance.jobs[:-1]})
    last = instance.jobs[-1].name
    kept = tuple(one for one in schedule.assignments if one.job != last)
    without = verify(fewer, Schedule.model_copy(schedule, update={"assignments": kept}))
    with_it = verify(instance, schedule)
    for name, end in without.completion.items():
        slower = with_it.completion[name]
        assert end is None or slower is None or slower >= end
        assert slower is None or end is not None
