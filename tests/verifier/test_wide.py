"""Violations and values of wider instances (model, sections 9 and 10), by hand.

Jobs do 10 iterations in a slot of 1 s and never share a link, unless a test says otherwise.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from documents import Data, assignment_data, instance_data, job_data, schedule_of

from rarmodel.files import parse_instance
from rarmodel.verifier import Report, verify

OBJECTIVES = [
    *("makespan", "total-completion", "total-flow", "max-flow", "total-tardiness"),
    *("max-tardiness", "late-jobs", "max-stretch", "cost"),
]


def report_of(data: Data, *assignments: Data) -> Report:
    """The report on a schedule, the same in both ways of stepping."""
    instance, schedule = parse_instance(data), schedule_of(*assignments)
    report = verify(instance, schedule)
    assert verify(instance, schedule, slot_by_slot=True) == report
    return report


def kinds(report: Report) -> list[tuple[str, str, str | None, int | None]]:
    assert report.feasible == (not report.violations)
    return [(v.constraint, v.job, v.server, v.slot) for v in report.violations]


def one_job(**fields: Any) -> Data:
    """Job a takes 2 slots; servers s0 and s1 have 2 GPUs, s2 has 4."""
    return instance_data(job_data("a", iterations=20, **fields), servers=(2, 2, 4))


@pytest.mark.parametrize(("start", "broken"), [(2, True), (3, False), (4, False)])
def test_start_before_the_release_is_a_violation(start: int, broken: bool) -> None:
    report = report_of(one_job(release=3), assignment_data("a", start, s0=[0]))
    assert kinds(report) == ([("release", "a", None, start)] if broken else [])
    if broken:
        (violation,) = report.violations
        assert violation.message == "job 'a' starts at slot 2; it is released at 3"


def test_release_before_slot_0_holds_nothing_up() -> None:
    assert report_of(one_job(release=-5), assignment_data("a", 0, s0=[0])).feasible


@pytest.mark.parametrize(("start", "broken"), [(2, False), (3, False), (4, True)])
def test_completion_past_the_deadline_is_a_violation(start: int, broken: bool) -> None:
    report = report_of(one_job(deadline=5), assignment_data("a", start, s0=[0]))
    assert kinds(report) == ([("deadline", "a", None, 5)] if broken else [])
    if broken:
        (violation,) = report.violations
        assert violation.message == "job 'a' completes at slot 6, past its deadline 5"


def test_due_slot_breaks_nothing() -> None:
    assert report_of(one_job(due=0), assignment_data("a", 9, s0=[0])).feasible


@pytest.mark.parametrize(("start", "broken"), [(0, True), (1, True), (2, False)])
def test_start_before_the_job_to_wait_for_completes_is_a_violation(
    start: int, broken: bool
) -> None:
    data = instance_data(job_data("a", iterations=20), job_data("b", after=["a"]))
    report = report_of(data, assignment_data("a", 0, s0=[0]), assignment_data("b", start, s1=[0]))
    assert kinds(report) == ([("after", "b", None, start)] if broken else [])
    if start == 1:
        (violation,) = report.violations
        assert violation.message == (
            "job 'b' starts at slot 1, after 'a', which completes at slot 2"
        )


def test_waiting_for_a_job_that_has_no_assignment_is_one_violation() -> None:
    data = instance_data(job_data("a"), job_data("b", after=["a"]))
    report = report_of(data, assignment_data("b", 0, s1=[0]))
    assert kinds(report) == [("assignment", "a", None, None)]


def test_servers_that_are_not_allowed_are_a_violation_each() -> None:
    data = one_job(gpus=3, servers=["s2"])
    assert report_of(data, assignment_data("a", 0, s2=[0, 1, 3])).feasible
    report = report_of(data, assignment_data("a", 1, s0=[0], s1=[0], s2=[0]))
    assert kinds(report) == [("servers", "a", "s0", 1), ("servers", "a", "s1", 1)]
    assert report.completion == {"a": 3}


@pytest.mark.parametrize(
    ("spread", "gpus", "broken"),
    [
        ({"min_servers": 2}, {"s2": [0, 1, 2, 3]}, 1),
        ({"min_servers": 2}, {"s0": [0, 1], "s1": [0, 1]}, 0),
        ({"max_servers": 2}, {"s0": [0], "s1": [0], "s2": [0, 1]}, 1),
        ({"max_servers": 2}, {"s0": [0], "s2": [0, 1, 2]}, 0),
        ({"equal": True}, {"s0": [0], "s2": [0, 1, 2]}, 1),
        ({"equal": True}, {"s0": [0, 1], "s2": [0, 1]}, 0),
        ({"equal": True}, {"s2": [0, 1, 2, 3]}, 0),
        ({"equal": True, "max_servers": 2}, {"s0": [0], "s1": [0], "s2": [0, 1]}, 2),
    ],
)
def test_spread_that_a_job_does_not_ask_for_is_a_violation(
    spread: Data, gpus: dict[str, list[int]], broken: int
) -> None:
    report = report_of(one_job(gpus=4, spread=spread), assignment_data("a", 0, **gpus))
    assert kinds(report) == [("spread", "a", None, 0)] * broken


def test_a_moldable_job_has_one_of_its_sizes() -> None:
    data = one_job(gpus=[1, 4], global_batch_size=8)
    del data["jobs"][0]["batch_size"]
    for gpus in ({"s0": [0]}, {"s2": [0, 1, 2, 3]}):
        assert report_of(data, assignment_data("a", 0, **gpus)).feasible
    report = report_of(data, assignment_data("a", 0, s0=[0, 1]))
    assert kinds(report) == [("gang", "a", None, 0)]
    assert report.violations[0].message == "job 'a' holds 2 GPUs; its ring needs 1 or 4"


def typed() -> Data:
    """Job a takes 1 slot on V100s, s0 and s2, half as long on A100s, s1; none on H100s, s3."""
    data = instance_data(job_data("a", gpus=2, iterations=10), servers=(2, 2, 2, 2))
    for server, kind in zip(
        data["cluster"]["servers"], ("V100", "A100", "V100", "H100"), strict=True
    ):
        server["gpu_type"] = kind
    job = data["jobs"][0]
    del job["forward_ms_per_sample"], job["backward_ms"]
    job["iterations"] = 40
    job["times"] = {
        "V100": {"forward_ms_per_sample": 0.0, "backward_ms": 100.0},
        "A100": {"forward_ms_per_sample": 0.0, "backward_ms": 50.0},
    }
    return data


@pytest.mark.parametrize(
    ("gpus", "completion"),
    [({"s0": [0, 1]}, 4), ({"s1": [0, 1]}, 2), ({"s0": [0], "s1": [0]}, 4)],
)
def test_ring_goes_at_the_pace_of_its_slowest_type(
    gpus: dict[str, list[int]], completion: int
) -> None:
    assert report_of(typed(), assignment_data("a", 0, **gpus)).completion == {"a": completion}


def test_type_that_a_job_has_no_times_for_is_a_violation_and_gives_no_time() -> None:
    report = report_of(typed(), assignment_data("a", 1, s0=[0], s3=[0]))
    assert kinds(report) == [("type", "a", "s3", 1)]
    assert report.completion == {"a": None}
    assert report.objective is None


def test_rates_within_servers_are_their_own() -> None:
    # 1 Gbit there and back, half of it each way: 10 ms at 100 Gbit/s, 1 s at 1 Gbit/s.
    job = job_data("a", gpus=2, iterations=10, gradient_mb=125.0, backward_ms=0.0)
    data = instance_data(job)
    data["cluster"].update(intra_server_gbps=10.0, reduction_gbps=1e30)
    assert report_of(data, assignment_data("a", 0, s0=[0, 1])).completion == {"a": 1}
    data["cluster"]["servers"][0]["intra_server_gbps"] = 1.0
    assert report_of(data, assignment_data("a", 0, s0=[0, 1])).completion == {"a": 10}
    assert report_of(data, assignment_data("a", 0, s1=[0, 1])).completion == {"a": 1}


def running() -> Data:
    """Job a runs on s0 with 10 of 30 iterations done; b waits."""
    run = {"gpus": {"s0": [1]}, "iterations_done": 10}
    return instance_data(job_data("a", iterations=30, running=run), job_data("b"))


def test_running_job_has_only_the_rest_to_do() -> None:
    report = report_of(running(), assignment_data("a", 0, s0=[1]), assignment_data("b", 2, s0=[1]))
    assert report.feasible
    assert report.completion == {"a": 2, "b": 3}


@pytest.mark.parametrize(("start", "gpus"), [(1, {"s0": [1]}), (0, {"s0": [0]}), (0, {"s1": [1]})])
def test_running_job_that_is_moved_is_a_violation(start: int, gpus: dict[str, list[int]]) -> None:
    report = report_of(
        running(), assignment_data("a", start, **gpus), assignment_data("b", 5, s1=[0])
    )
    assert kinds(report) == [("running", "a", None, start)]


def test_running_job_that_is_left_out_is_a_violation() -> None:
    report = report_of(running(), assignment_data("b", 5, s1=[0]))
    assert kinds(report) == [("assignment", "a", None, None)]


def reserved(*reservations: Data, **fields: Any) -> Data:
    """Jobs a of 2 slots and b of 3, of one GPU each, on s0 with 2 and s1 with 2 GPUs."""
    data = instance_data(
        job_data("a", iterations=20, **fields), job_data("b", iterations=30), servers=(2, 2)
    )
    data["cluster"]["reservations"] = [{"server": "s0", **one} for one in reservations]
    return data


@pytest.mark.parametrize(("start", "slot"), [(0, None), (1, 2), (2, 2), (3, 3), (4, None)])
def test_more_than_a_reservation_leaves_is_a_violation(start: int, slot: int | None) -> None:
    data = reserved({"gpus": 2, "from": 2, "to": 4})
    report = report_of(data, assignment_data("a", start, s0=[0]), assignment_data("b", 0, s1=[0]))
    assert kinds(report) == ([] if slot is None else [("reservation", "a", "s0", slot)])


def test_reservation_names_the_job_that_began_last_and_the_numbers() -> None:
    data = reserved({"gpus": 1, "from": 1})
    report = report_of(data, assignment_data("b", 0, s0=[0]), assignment_data("a", 1, s0=[1]))
    assert kinds(report) == [("reservation", "a", "s0", 1)]
    assert report.violations[0].message == (
        "at slot 1 jobs hold 2 GPUs of server 's0'; reservations and running jobs leave 1"
    )


def test_reservations_of_a_server_add_up() -> None:
    data = reserved({"gpus": 1, "from": 0, "to": 3}, {"gpus": 1, "from": 2, "to": 9})
    begun = [assignment_data("b", 9, s0=[1])]
    assert report_of(data, assignment_data("a", 0, s0=[0]), *begun).feasible
    report = report_of(data, assignment_data("a", 1, s0=[0]), *begun)
    assert kinds(report) == [("reservation", "a", "s0", 2)]


def test_reservation_kept_again_and_broken_again_is_two_violations() -> None:
    data = reserved({"gpus": 2, "from": 0, "to": 1}, {"gpus": 2, "from": 2, "to": 3})
    report = report_of(data, assignment_data("b", 0, s0=[0]), assignment_data("a", 0, s1=[0]))
    assert kinds(report) == [("reservation", "b", "s0", 0), ("reservation", "b", "s0", 2)]


def test_running_job_keeps_its_gpus_and_leaves_less_to_others() -> None:
    run = {"gpus": {"s0": [0]}, "iterations_done": 0}
    data = reserved({"gpus": 1, "from": 0}, running=run)
    mine = assignment_data("a", 0, s0=[0])
    assert kinds(report_of(data, mine, assignment_data("b", 1, s0=[1]))) == [
        ("reservation", "b", "s0", 1)
    ]
    assert report_of(data, mine, assignment_data("b", 2, s0=[1])).feasible
    data["cluster"]["reservations"][0]["gpus"] = 2
    assert report_of(data, mine, assignment_data("b", 0, s1=[0])).feasible


def test_gpu_held_twice_while_nothing_is_reserved_breaks_the_capacity_alone() -> None:
    data = reserved({"gpus": 1, "from": 50})
    data["jobs"].append(job_data("c"))
    held = [assignment_data(job, 0, s0=[0]) for job in "abc"]
    assert {constraint for constraint, *_ in kinds(report_of(data, *held))} == {"capacity"}


def quota(cap: int, **fields: Any) -> Data:
    data = instance_data(
        job_data("a", gpus=2, iterations=20, tenant="x", **fields),
        job_data("b", iterations=30, tenant="x"),
        job_data("c", tenant="y"),
    )
    data["tenants"] = [{"name": "x", "gpus": cap}, {"name": "y"}]
    return data


@pytest.mark.parametrize(("start", "broken"), [(0, True), (1, True), (2, False)])
def test_more_than_a_tenant_may_hold_is_a_violation(start: int, broken: bool) -> None:
    report = report_of(
        quota(2),
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", start, s1=[0]),
        assignment_data("c", 0, s1=[1]),
    )
    assert kinds(report) == ([("quota", "b", None, start)] if broken else [])
    if broken:
        assert report.violations[0].message == (
            f"at slot {start} jobs of tenant 'x' hold 3 GPUs; its cap and its running jobs leave 2"
        )


def test_running_job_above_its_tenants_cap_goes_on_alone() -> None:
    run = {"gpus": {"s0": [0, 1]}, "iterations_done": 0}
    held = [assignment_data("a", 0, s0=[0, 1]), assignment_data("c", 0, s1=[1])]
    report = report_of(quota(1, running=run), *held, assignment_data("b", 1, s1=[0]))
    assert kinds(report) == [("quota", "b", None, 1)]
    assert report_of(quota(1, running=run), *held, assignment_data("b", 2, s1=[0])).feasible


def powered(capacity: Any, **fields: Any) -> Data:
    """Job a draws 0.2 as a whole and 0.1 with each of two GPUs, job b 0.3, and job c nothing."""
    data = instance_data(
        job_data(
            *("a",),
            gpus=2,
            iterations=20,
            resources={"power": 0.2},
            **{"resources_per_gpu": {"power": 0.1}, **fields},
        ),
        job_data("b", iterations=30, resources={"power": 0.3}),
        job_data("c", iterations=90, resources={"power": 0}),
    )
    data["resources"] = [{"name": "power", "capacity": capacity}]
    return data


A, C = assignment_data("a", 0, s0=[0, 1]), assignment_data("c", 0, s1=[1])


@pytest.mark.parametrize(
    ("capacity", "start", "slot"),
    [
        (0.7, 0, None),  # In binary, 0.2 + 0.1 + 0.1 + 0.3 is more than 0.7.
        (0.6, 0, 0),
        (0.6, 1, 1),
        (0.6, 2, None),
        ([{"from": 2, "to": 4, "capacity": 0.2}], 0, 2),
        ([{"from": 2, "to": 4, "capacity": 0.2}], 4, None),
        ([{"from": 3, "capacity": 0.2}, {"from": 0, "to": 2, "capacity": 9}], 0, None),
        ([{"from": 3, "capacity": 0.2}, {"from": 0, "to": 2, "capacity": 9}], 1, 3),
    ],
)
def test_more_than_a_resource_has_is_a_violation(
    capacity: Any, start: int, slot: int | None
) -> None:
    report = report_of(powered(capacity), A, assignment_data("b", start, s1=[0]), C)
    assert kinds(report) == ([] if slot is None else [("resource", "b", None, slot)])


def test_violation_of_a_resource_states_use_and_capacity() -> None:
    (violation,) = report_of(powered(0.6), A, assignment_data("b", 0, s1=[0]), C).violations
    assert violation.message == (
        "at slot 0 jobs use 0.7 of resource 'power'; its capacity and running jobs leave 0.6"
    )


def test_running_job_above_a_capacity_goes_on_alone() -> None:
    run = {"gpus": {"s0": [0, 1]}, "iterations_done": 0}
    early = report_of(powered(0.3, running=run), A, assignment_data("b", 1, s1=[0]), C)
    assert kinds(early) == [("resource", "b", None, 1)]
    assert report_of(powered(0.3, running=run), A, assignment_data("b", 2, s1=[0]), C).feasible


def tree(**fields: Any) -> Data:
    """Jobs a, b and c of 2, 1 and 1 GPUs, of tenants x, y and z; x and y are parts of z."""
    data = instance_data(
        job_data("a", gpus=2, tenant="x", **fields),
        job_data("b", tenant="y"),
        job_data("c", tenant="z"),
    )
    del data["time"]["horizon"]
    data["cluster"]["servers"] = [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 2}]
    data["tenants"] = [
        {"name": "x", "parent": "z"},
        {"name": "y", "parent": "z", "gpus": 1},
        {"name": "z", "gpus": 3},
    ]
    return data


def test_what_is_held_below_a_tenant_counts_against_its_cap() -> None:
    b = assignment_data("b", 0, s1=[0])
    (violation,) = report_of(tree(), A, b, C).violations
    assert violation.constraint == "quota"
    assert violation.message == (
        "at slot 0 jobs of tenant 'z' and of those below it hold 4 GPUs; its cap and its running "
        "jobs leave 3"
    )
    alone = assignment_data("c", 40, s1=[1])
    assert report_of(tree(), A, b, alone).feasible
    # A part of z may be as large as z lets it, whatever the other parts may hold.
    later = assignment_data("b", 40, s1=[0])
    assert report_of(tree(), A, later, C).feasible


def test_running_job_below_a_tenant_leaves_less_of_its_cap() -> None:
    data = tree(running={"gpus": {"s0": [0, 1]}, "iterations_done": 0})
    data["tenants"][2]["gpus"] = 1
    b = assignment_data("b", 0, s1=[0])
    assert kinds(report_of(data, A, b, assignment_data("c", 40, s1=[1]))) == [
        ("quota", "b", None, 0)
    ]


def test_caps_of_all_tenants_above_count() -> None:
    data = tree()
    data["tenants"] = [
        {"name": "x", "gpus": 2, "parent": "y"},
        {"name": "y", "gpus": 2, "parent": "z"},
        {"name": "z", "gpus": 2},
    ]
    b, c = assignment_data("b", 0, s1=[0]), assignment_data("c", 40, s1=[1])
    assert kinds(report_of(data, A, b, c)) == [("quota", "a", None, 0)] * 2


def test_reservation_and_quota_hold_for_jobs_that_never_complete() -> None:
    # Alone an iteration takes 0.1 s; two rings on a link take 0.2 s and more.
    ring: Data = {"gpus": 2, "gradient_mb": 125.0, "backward_ms": 0.0}
    data = instance_data(job_data("a", **ring), job_data("b", **ring, tenant="x"))
    data["time"]["slot_seconds"] = 0.11
    data["tenants"] = [{"name": "x", "gpus": 1}]
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 2, "from": 70, "to": 71}]
    report = report_of(
        data, assignment_data("a", 0, s0=[0], s1=[0]), assignment_data("b", 0, s0=[1], s1=[1])
    )
    assert kinds(report) == [
        ("progress", "a", None, 0),
        ("progress", "b", None, 0),
        ("reservation", "b", "s0", 70),
        ("quota", "b", None, 0),
    ]
    assert report.objective is None


def test_without_a_horizon_no_schedule_is_too_long() -> None:
    data = one_job()
    assert not report_of(data, assignment_data("a", 100, s0=[0])).feasible
    del data["time"]["horizon"]
    assert report_of(data, assignment_data("a", 100, s0=[0])).feasible


def valued() -> Data:
    data = instance_data(
        job_data("a", gpus=2, iterations=20, release=-2, due=1, weight=3),
        job_data("b", iterations=30, release=1, due=9),
        job_data("c", iterations=10, weight=2, due=4),
    )
    data["objective"] = OBJECTIVES
    data["time"]["slot_seconds"] = 1.0
    return data


def test_values_of_all_objectives_by_hand() -> None:
    # a: 0 to 2; b: 2 to 5; c: 5 to 6. Alone a takes 2 slots, b 3, c 1.
    report = report_of(
        valued(),
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 2, s0=[0]),
        assignment_data("c", 5, s1=[0]),
    )
    assert report.feasible
    assert report.objective == {
        "makespan": 6,
        "total-completion": 3 * 2 + 5 + 2 * 6,
        "total-flow": 3 * 4 + 4 + 2 * 6,
        "max-flow": 6,
        "total-tardiness": 3 * 1 + 0 + 2 * 2,
        "max-tardiness": 2,
        "late-jobs": 3 + 2,
        "max-stretch": 6,
        "cost": Fraction(2 * 2 + 3 + 1, 3600),
    }
    assert list(report.objective) == OBJECTIVES
    assert report.summary()["objective"]["cost"] == 8 / 3600


def test_values_are_exact_fractions() -> None:
    data = valued()
    data["cluster"]["prices_per_gpu_hour"] = 0.1
    data["time"]["slot_seconds"] = 1.1
    for job in data["jobs"]:
        job["iterations"] = 11 * job["iterations"] // 10
    report = report_of(
        data,
        assignment_data("a", 0, s0=[0, 1]),
        assignment_data("b", 2, s0=[0]),
        assignment_data("c", 4, s1=[0]),
    )
    assert report.objective is not None
    assert report.objective["cost"] == Fraction(1, 10) * Fraction(11, 10) * 8 / 3600
    assert report.objective["max-stretch"] == 5
    assert all(isinstance(report.objective[name], int) for name in OBJECTIVES[:-1])


def test_stretch_counts_all_iterations_of_a_running_job() -> None:
    data = running()
    data["objective"] = "max-stretch"
    report = report_of(data, assignment_data("a", 0, s0=[1]), assignment_data("b", 0, s1=[0]))
    assert report.objective == {"max-stretch": 1}
    data["jobs"][0]["release"] = -2
    report = report_of(data, assignment_data("a", 0, s0=[1]), assignment_data("b", 0, s1=[0]))
    assert report.objective == {"max-stretch": Fraction(4, 3)}


def test_prices_are_those_of_the_servers_types() -> None:
    data = typed()
    data["objective"] = "cost"
    data["time"]["slot_seconds"] = 3600.0
    data["jobs"][0]["iterations"] = 4 * 36_000
    data["cluster"]["prices_per_gpu_hour"] = {"V100": 1.25, "A100": 3.0, "H100": 9.0}
    cost = {"s0": {"s0": [0, 1]}, "s1": {"s1": [0, 1]}, "both": {"s0": [0], "s1": [0]}}
    values = {
        name: report_of(data, assignment_data("a", 0, **gpus)).objective
        for name, gpus in cost.items()
    }
    assert values == {"s0": {"cost": 10}, "s1": {"cost": 12}, "both": {"cost": 17}}


def test_objectives_of_jobs_without_due_slots_are_zero() -> None:
    data = one_job()
    data["objective"] = ["total-tardiness", "max-tardiness", "late-jobs"]
    report = report_of(data, assignment_data("a", 3, s0=[0]))
    assert report.objective == {"total-tardiness": 0, "max-tardiness": 0, "late-jobs": 0}


def test_report_has_a_line_for_each_objective_but_the_makespan() -> None:
    data = one_job(due=1, weight=2)
    data["objective"] = ["makespan", "total-tardiness", "max-stretch", "cost"]
    data["cluster"]["prices_per_gpu_hour"] = 900.0
    lines = report_of(data, assignment_data("a", 1, s0=[0])).lines()
    assert lines["makespan"] == "3 slots (3 s)"
    assert lines["total-tardiness"] == "4 weighted slots"
    assert lines["max-stretch"] == "1.5 times its least time"
    assert lines["cost"] == "0.5 price units"
    assert list(lines).count("makespan") == 1
