"""What a simulation says, refuses and does for reservations, deadlines and users' own parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from by_hand import worked

import rarmodel
from rarmodel.errors import PartError, UsageError
from rarmodel.online import Asked, Decision, Placement, Policy, Simulation, Site, State, ranked
from rarmodel.online import play as playing

KEYS = [
    *("policy", "verified", "makespan", "mean_flow", "median_flow", "p95_flow", "p99_flow"),
    *("max_flow", "mean_queueing", "utilisation", "preemptions", "restore_slots"),
    *("lost_iterations", "lost_slots", "late_jobs"),
    *("total_tardiness", "max_stretch", "finish_time_fairness", "seconds", "decisions"),
    *("bounds", "bounds_assume", "ratios"),
    *("stopped", "unfinished", "causes", "notes", "tenants", "priorities", "services"),
]


def test_figures_of_tenants_with_all_below_and_of_priorities() -> None:
    jobs: list[dict[str, Any]] = [
        {"slots": 4, "gpus": 4, "tenant": "x"},
        {"slots": 1, "gpus": 2, "tenant": "y", "priority": 3},
        {"slots": 2, "gpus": 1, "release": 1},
    ]
    tenants: list[dict[str, Any]] = [
        {"name": "x"},
        {"name": "y", "parent": "x"},
        {"name": "z", "parent": "y"},
    ]
    found = rarmodel.simulate(worked(jobs, tenants=tenants), "priority")
    # b from 0 to 1; a from 1 to 5; c from 5 to 7, having waited since 1.
    assert found.summary()["tenants"] == {
        "x": {
            "jobs": 2,
            "completed": 2,
            "mean_flow": 3.0,
            "mean_queueing": 0.5,
            "gpu_slots": 18,
        },
        "y": {
            "jobs": 1,
            "completed": 1,
            "mean_flow": 1.0,
            "mean_queueing": 0.0,
            "gpu_slots": 2,
        },
    }
    assert list(found.summary()["priorities"]) == ["3", "0"]
    assert found.priorities[0] == (2, 2, 5.5, 2.5, 18)
    assert found.lines()["priority 0"].startswith("2 jobs, mean flow 5.50 slots")
    same = rarmodel.simulate(worked([{"slots": 2}]), "fifo")
    assert (same.tenants, same.priorities) == ({}, {})


def test_summary_has_the_keys_that_programs_read() -> None:
    found = rarmodel.simulate(worked([{"slots": 2}]), "fifo").summary()
    assert list(found) == KEYS
    assert found["bounds"].keys() == found["bounds_assume"].keys() == found["ratios"].keys()


def test_figures_are_those_worked_by_hand() -> None:
    # On one GPU a runs 0 to 2, b 2 to 3 and c 6 to 10: flows 2, 3 and 4; b waits 2 slots.
    jobs = [
        {"slots": 2, "due": 1, "weight": 2},
        {"slots": 1, "due": 9},
        {"slots": 4, "release": 6},
    ]
    one = rarmodel.simulate(worked(jobs, servers=[1]), "fifo").metrics
    assert (one.makespan, one.mean_flow, one.median_flow, one.max_flow) == (10, 3.0, 3.0, 4)
    assert (one.p95_flow, one.p99_flow) == pytest.approx((3.9, 3.98))
    assert one.mean_queueing == pytest.approx(2 / 3)
    assert one.utilisation == pytest.approx(0.7)
    assert (one.late_jobs, one.total_tardiness) == (2, 2)
    assert one.max_stretch == 3.0
    # b is there from 0 to 3, with a until 2: 5/3 jobs in the mean, of 1 GPU: 1 · 5/3 slots alone.
    assert one.finish_time_fairness == pytest.approx(3 / (5 / 3))


def test_bounds_are_proven_and_ratios_are_value_by_bound() -> None:
    jobs = [{"slots": 4, "gpus": 3}, {"slots": 2, "gpus": 4}, {"slots": 3, "gpus": 1}]
    found = rarmodel.simulate(worked(jobs), "fifo")
    exact = rarmodel.solve(worked(jobs), formulation="time-indexed")
    assert exact.makespan == 6
    assert found.proven["makespan"].bound <= 6
    assert found.proven["makespan"].ratio == pytest.approx(9 / found.proven["makespan"].bound)
    assert "known from the start" in found.proven["makespan"].assumes


def test_bounds_that_assume_no_preemption_are_left_out_where_there_is_some() -> None:
    found = rarmodel.simulate(worked([{"slots": 2}], restore=0), "srtf")
    assumed = (one.assumes for one in found.proven.values())
    assert all("jobs may be interrupted" in one for one in assumed)


def test_several_policies_give_several_results() -> None:
    found = rarmodel.simulate(worked([{"slots": 2}]), ["fifo", "srtf"])
    assert [one.policy for one in found] == ["fifo", "srtf"]


def test_missed_deadline_is_a_violation_and_no_error() -> None:
    jobs = [{"slots": 3}, {"slots": 3, "deadline": 5}]
    found = rarmodel.simulate(worked(jobs, servers=[1]), "fifo")
    assert not found.verified
    assert "past its deadline 5" in found.reasons[0]


def test_job_that_can_never_start_is_named() -> None:
    found = rarmodel.simulate(
        worked([{"slots": 1, "gpus": 3}, {"slots": 1}], servers=[2, 2], restore=0).model_copy(
            update={"cluster": reserved()}
        ),
        "fifo-backfill",
    )
    # Nothing is played: b is not complete either.
    assert (found.verified, found.unfinished) == (False, ("a", "b"))
    assert found.metrics.makespan is None
    assert [line.split(":")[0] for line in found.causes] == ["job 'a' can never run"]


def reserved() -> Any:
    """Two servers of 2 GPUs, one of which is away for ever."""
    away = [{"server": "s0", "gpus": 2, "from": 0}]
    return worked([{"slots": 1}], servers=[2, 2], cluster={"reservations": away}).cluster


def test_urgent_job_gets_its_own_server_though_gpus_are_idle_elsewhere() -> None:
    # By numbers both fit. But b may use s0 only, where a is: a moves to s1, restored until 2.
    jobs: list[dict[str, Any]] = [
        {"slots": 9, "gpus": 2},
        {"slots": 2, "gpus": 2, "release": 1, "servers": ["s0"]},
    ]
    found = rarmodel.simulate(worked(jobs, servers=[2, 2], restore=1), "srtf")
    assert found.report is not None
    assert found.report.completion == {"a": 10, "b": 3}
    assert found.preemptions == 1


def test_job_that_stops_for_an_urgent_one_goes_before_less_urgent_ones() -> None:
    # At 1, b needs s0, so a stops. a comes next, and goes to s1, restored until 2; c takes s2.
    jobs: list[dict[str, Any]] = [
        {"slots": 6, "gpus": 2, "due": 9, "servers": ["s0", "s1"]},
        {"slots": 2, "gpus": 2, "due": 3, "release": 1, "servers": ["s0"]},
        {"slots": 4, "gpus": 2, "due": 20, "release": 1},
    ]
    found = rarmodel.simulate(worked(jobs, servers=[2, 2, 2], restore=1), "edf")
    assert found.report is not None
    assert found.report.completion == {"a": 7, "b": 3, "c": 5}


def test_job_that_finds_no_place_stops_nobody_in_vain() -> None:
    # c needs both GPUs of s0, which b, more urgent, holds in part; a goes on where it is.
    jobs: list[dict[str, Any]] = [
        {"slots": 9, "servers": ["s0"]},
        {"slots": 2, "servers": ["s0"]},
        {"slots": 3, "gpus": 2, "servers": ["s0"]},
    ]
    found = rarmodel.simulate(worked(jobs, servers=[2, 2], restore=1), "srtf")
    assert found.report is not None
    # At 2 b is complete, and c is before a: a waits from 2 to 5 and is restored until 6.
    assert found.report.completion == {"a": 13, "b": 2, "c": 5}
    assert found.preemptions == 1


def test_reservations_need_preemption() -> None:
    away = [{"server": "s0", "gpus": 1, "from": 2}]
    with pytest.raises(UsageError, match=r"cluster\.reservations\) without preemption"):
        rarmodel.simulate(worked([{"slots": 1}], cluster={"reservations": away}), "fifo")


def test_job_started_last_gives_way_to_a_reservation() -> None:
    # At 2, two of three GPUs go away for 3 slots: c and b give way, which began last. They go on
    # at 5, after a restoration of a slot.
    away = [{"server": "s0", "gpus": 2, "from": 2, "to": 5}]
    jobs = [{"slots": 6}, {"slots": 6}, {"slots": 6, "release": 1}]
    found = rarmodel.simulate(worked(jobs, [3], restore=1, cluster={"reservations": away}), "fifo")
    assert found.verified
    assert found.report is not None
    assert found.report.completion == {"a": 6, "b": 10, "c": 11}
    assert found.preemptions == 2


def test_running_job_keeps_its_gpus_without_preemption() -> None:
    jobs: list[dict[str, Any]] = [
        {"slots": 5, "gpus": 2, "running": {"gpus": {"s0": [1, 3]}, "iterations_done": 2}},
        {"slots": 1, "gpus": 4},
    ]
    found = rarmodel.simulate(worked(jobs), "sjf")
    assert found.report is not None
    assert found.report.completion == {"a": 3, "b": 4}


def test_job_that_waits_for_another_is_not_there_before() -> None:
    seen = []

    def watch(state: State) -> Decision:
        seen.append((state.now, state.number.tolist()))
        return Decision()

    jobs: list[dict[str, Any]] = [{"slots": 3}, {"slots": 1, "after": ["a"]}]
    found = rarmodel.simulate(worked(jobs), Policy("watch", watch))
    assert seen == [(0, [0]), (3, [1])]
    assert found.verified


def test_policy_is_asked_at_events_and_rounds() -> None:
    seen = []

    def watch(state: State) -> Decision:
        seen.append((state.now, state.is_round))
        return Decision()

    jobs = [{"slots": 5}, {"slots": 4, "release": 2}]
    rarmodel.simulate(worked(jobs), Policy("watch", watch), round_slots=4)
    assert seen == [(0, True), (2, False), (4, True), (5, False)]


@pytest.mark.parametrize("view", ["remaining", "length", "iterations", "problem"])
def test_state_refuses_durations_that_were_not_declared(view: str) -> None:
    with pytest.raises(UsageError) as refused:
        rarmodel.simulate(
            worked([{"slots": 1}]), Policy("curious", lambda s: Decision(getattr(s, view)))
        )
    assert str(refused.value) == (
        f"policy 'curious' asks its state for {view!r}, but has not declared that it knows "
        "'durations'"
    )


def test_state_has_no_job_that_was_not_released() -> None:
    def curious(state: State) -> Decision:
        return Decision(np.array([state.position(1)]))

    jobs = [{"slots": 1}, {"slots": 1, "release": 5}]
    with pytest.raises(UsageError, match="asks its state for job number 1, which is not there"):
        rarmodel.simulate(worked(jobs), Policy("curious", curious))


def test_position_of_a_job_that_was_not_released_fails_in_one_line() -> None:
    jobs = [{"slots": 1}, {"slots": 1, "release": 5}]
    with pytest.raises(
        UsageError, match=r"^the order of policy 'curious' has 1; jobs are numbered 0 to 0$"
    ):
        rarmodel.simulate(worked(jobs), Policy("curious", lambda _: Decision(np.array([1]))))


def test_state_has_nothing_that_it_does_not_name() -> None:
    with pytest.raises(UsageError, match="'instance', which no policy sees"):
        rarmodel.simulate(
            worked([{"slots": 1}]),
            Policy("curious", lambda s: Decision(s.instance)),
        )


def test_nobody_can_write_to_a_state() -> None:
    def vandal(state: State) -> Decision:
        state.weight[0] = 9
        return Decision()

    with pytest.raises(UsageError, match="read-only"):
        rarmodel.simulate(worked([{"slots": 1}]), Policy("vandal", vandal))


@pytest.mark.parametrize(
    ("decision", "fault"),
    [
        (Decision(np.array([-1])), "the order of policy 'mine' has -1; jobs are numbered 0 to 1"),
        (Decision([0.5]), "the order of policy 'mine' has 0.5; whole numbers are expected"),  # type: ignore[arg-type]
        (Decision(np.array([1, 0, 1])), "the order of policy 'mine' has 1, job 'b', more than"),
        (Decision(np.array([True, False])), "the order of policy 'mine' has .*True"),
        (Decision(3), "the order of policy 'mine' is 3; whole numbers are expected"),  # type: ignore[arg-type]
        (
            Decision(gpus=np.array([1])),
            "the list of ring sizes of policy 'mine' has 1 num",
        ),
        (
            Decision(gpus=np.array([1, -1])),
            "the list of ring sizes of policy 'mine' has -1; 0",
        ),
        (
            Decision(gpus=np.array([1, 0.5])),
            "the list of ring sizes of policy 'mine' has .*0.5",
        ),
        (Decision(types={2: "a"}), "the types of policy 'mine' have position 2; positions are 0"),
        (Decision(types={0: 1}), "the types of policy 'mine' have 1; a type of GPU is expected"),  # type: ignore[dict-item]
        (Decision(types=[0]), r"the types of policy 'mine' are \[0\]; a mapping"),  # type: ignore[arg-type]
        (Decision(places={-1: {0: 1}}), "the places of policy 'mine' have position -1; positions"),
        (Decision(places={0: {-1: 1}}), "policy 'mine' returned {-1: 1} as a place; whole numbers"),
        (Decision(places={0: {0: 0.5}}), "policy 'mine' returned {0: 0.5} as a place; whole num"),  # type: ignore[dict-item]
    ],
)
def test_decision_that_makes_no_sense_is_refused(decision: Decision, fault: str) -> None:
    instance = worked([{"slots": 1}, {"slots": 2}])
    with pytest.raises(PartError, match=f"^{fault}"):
        rarmodel.simulate(instance, Policy("mine", lambda _: decision))


@pytest.mark.parametrize("ring", [{-1: 1}, {9: 1}, {0: 0.5}, {0.5: 1}, {"s0": 1}, [0], 1])
def test_place_that_makes_no_sense_is_refused(ring: Any) -> None:
    mine = Placement("mine", lambda *_: ring)
    with pytest.raises(PartError, match=r"^placement 'mine' returned .* as a place; whole number"):
        rarmodel.simulate(worked([{"slots": 1}]), "fifo", placement=mine)


def test_placement_that_fails_is_named_with_its_line() -> None:
    mine = Placement("mine", lambda *_: 1 // 0)  # type: ignore[arg-type]
    fault = r"^placement 'mine' failed at slot 0, at \S*test_simulate\.py:\d+: ZeroDivisionError"
    with pytest.raises(PartError, match=fault) as caught:
        rarmodel.simulate(worked([{"slots": 1}]), "fifo", placement=mine)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_decision_of_another_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="returned None, and not a Decision"):
        rarmodel.simulate(worked([{"slots": 1}]), Policy("lazy", lambda _: None))  # type: ignore[arg-type,return-value]


def test_ring_size_that_a_job_does_not_have_is_refused() -> None:
    greedy = Policy("greedy", lambda _: Decision(gpus=np.array([3])))
    with pytest.raises(UsageError, match="gives job 'a' 3 GPUs; its ring needs 1"):
        rarmodel.simulate(worked([{"slots": 1}]), greedy)


def test_policy_of_ones_own_with_a_placement_of_ones_own() -> None:
    def last_server(asked: Asked, site: Site) -> Mapping[int, int] | None:
        roomy = np.flatnonzero(site.idle >= asked.size)
        return {int(roomy[-1]): asked.size} if len(roomy) else None

    widest = Policy("widest", lambda state: Decision(ranked(-state.gpus)))
    jobs = [{"slots": 1, "gpus": 1}, {"slots": 1, "gpus": 2}]
    found = rarmodel.simulate(
        worked(jobs, servers=[2, 2]), widest, placement=Placement("last", last_server)
    )
    assert found.schedule is not None
    placed = {one.job: [*one.gpus] for one in found.schedule.assignments}
    assert placed == {"a": ["s0"], "b": ["s1"]}


def test_placement_outside_of_what_is_idle_is_refused() -> None:
    wrong = Placement("wrong", lambda asked, site: {0: asked.size})
    with pytest.raises(UsageError, match=r"placement .wrong. gives it \{0: 3\}"):
        rarmodel.simulate(
            worked([{"slots": 1, "gpus": 3}], servers=[2, 2]), "fifo", placement=wrong
        )


def test_jobs_that_take_turns_too_fast_end_in_no_endless_loop() -> None:
    # Each slot the other job is restored, for 2 slots: nobody ever makes progress again.
    def turns(state: State) -> Decision:
        return Decision(ranked((state.number + state.now) % 2))

    jobs = [{"slots": 9}, {"slots": 9}]
    found = rarmodel.simulate(
        worked(jobs, servers=[1], restore=2),
        Policy("turns", turns, interrupts=True, round_slots=1),
    )
    assert found.unfinished == ("a", "b")


def test_interrupted_simulation_gives_the_figures_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(how_far: playing.Progress) -> None:
        if how_far.completed == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(playing, "TOLD_EVERY", 0.0)
    jobs = [{"slots": 2}, {"slots": 9}]
    found: Simulation = rarmodel.simulate(
        worked(jobs, servers=[1]), "fifo", progress=lambda _, how_far: impatient(how_far)
    )
    assert (found.stopped, found.unfinished, found.verified) == ("interrupted", ("b",), False)
    assert (found.metrics.mean_flow, found.metrics.max_flow) == (2.0, 2)
    assert found.proven == {}
