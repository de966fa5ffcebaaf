"""Jobs that are not preemptible, and what interruptions cost (model, section 18), by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from by_hand import worked

import rarmodel
from rarmodel.files import parse_instance
from rarmodel.online import Decision, Policy, Simulation, State, ranked
from rarmodel.schema import Instance


def played(instance: Instance, policy: str | Policy = "srtf", **options: Any) -> Simulation:
    """The simulation, verified."""
    found = rarmodel.simulate(instance, policy, **options)
    assert found.verified, found.reasons
    return found


def ends(found: Simulation) -> dict[str, int | None]:
    assert found.report is not None
    return dict(found.report.completion)


LONG_AND_SHORT = [{"slots": 9, "gpus": 4}, {"slots": 3, "gpus": 4, "release": 4}]


@pytest.mark.parametrize(
    ("checkpoint", "end", "lost"), [(1, 12, 0), (4, 12, 0), (3, 13, 1), (5, 16, 4), (None, 16, 4)]
)
def test_a_job_that_gives_way_loses_what_it_did_since_its_last_checkpoint(
    checkpoint: int | None, end: int, lost: int
) -> None:
    long, short = LONG_AND_SHORT
    found = played(worked([long | {"checkpoint_iterations": checkpoint}, short], restore=0))
    assert ends(found) == {"a": end, "b": 7}
    assert found.preemptions == 1
    assert (found.metrics.lost_iterations, found.metrics.lost_slots) == (lost, float(lost))
    told = found.lines().get("lost work")
    assert told == (f"{lost} iteration{'s' * (lost > 1)}, {lost}.0 slots of work" if lost else None)


def test_a_job_that_is_not_preemptible_does_not_give_way() -> None:
    long, short = LONG_AND_SHORT
    found = played(worked([long | {"preemptible": False}, short], restore=0))
    assert ends(found) == {"a": 9, "b": 12}
    assert found.preemptions == 0


def test_one_of_two_gives_way_for_a_job_that_comes_before_both() -> None:
    jobs: list[Mapping[str, Any]] = [
        {"slots": 9, "gpus": 2, "preemptible": False},
        {"slots": 8, "gpus": 2},
        {"slots": 2, "gpus": 2, "release": 3},
    ]
    assert ends(played(worked(jobs, restore=0))) == {"a": 9, "b": 10, "c": 5}


def test_a_running_job_that_is_not_preemptible_goes_on() -> None:
    running = {"gpus": {"s0": [0, 1, 2, 3]}, "iterations_done": 2}
    first: Mapping[str, Any] = {"slots": 9, "gpus": 4, "preemptible": False, "running": running}
    jobs = [first, {"slots": 3}]
    assert ends(played(worked(jobs, restore=0))) == {"a": 7, "b": 10}


def test_a_running_job_that_gives_way_at_slot_0_loses_what_it_did_before() -> None:
    running = {"gpus": {"s0": [0, 1, 2, 3]}, "iterations_done": 5}
    first: Mapping[str, Any] = {"slots": 9, "gpus": 4, "running": running}
    jobs = [{**first, "checkpoint_iterations": 4}, {"slots": 3}]
    found = played(worked(jobs, restore=0))
    assert ends(found) == {"a": 8, "b": 3}
    assert found.metrics.lost_iterations == 1


def reserved(*jobs: Mapping[str, Any], servers: tuple[int, ...] = (2, 2)) -> Instance:
    """Both GPUs of the first server are away in slots 5 and 6."""
    away = {"server": "s0", "gpus": 2, "from": 5, "to": 7}
    return worked(jobs, servers=servers, restore=0, cluster={"reservations": [away]})


@pytest.mark.parametrize("policy", ["fifo", "srtf", "replan"])
def test_a_job_that_never_gives_way_starts_where_it_meets_no_reservation(policy: str) -> None:
    firm = {"slots": 6, "gpus": 2, "preemptible": False}
    assert ends(played(reserved(firm), policy)) == {"a": 6}
    # On one server it waits until the reservation is over.
    assert ends(played(reserved(firm, servers=(2,)), policy)) == {"a": 13}


def test_two_that_never_give_way_share_the_server_without_a_reservation() -> None:
    firm = {"slots": 6, "gpus": 2, "preemptible": False}
    assert ends(played(reserved(firm, firm), "fifo")) == {"a": 6, "b": 12}


def test_a_job_that_is_over_by_then_starts_before_a_reservation() -> None:
    firm = {"slots": 5, "gpus": 2, "preemptible": False}
    assert ends(played(reserved(firm, servers=(2,)), "fifo")) == {"a": 5}


def test_jobs_beside_one_that_never_gives_way_do_so_for_a_reservation() -> None:
    away = {"server": "s0", "gpus": 2, "from": 2, "to": 4}
    firm, other = {"slots": 6, "gpus": 2, "preemptible": False}, {"slots": 6, "gpus": 2}
    instance = worked([firm, other], restore=0, cluster={"reservations": [away]})
    found = played(instance, "fifo")
    assert ends(found) == {"a": 6, "b": 8}
    assert found.preemptions == 1


def test_a_job_that_never_gives_way_uses_no_resource_of_which_there_will_be_less() -> None:
    instance = worked([{"slots": 6, "preemptible": False}], restore=0)
    data = instance.model_dump(mode="json", exclude_unset=True)
    windows = [{"from": 3, "to": 5, "capacity": 0}]
    data["resources"] = [{"name": "licence", "capacity": windows}]
    data["jobs"][0]["resources"] = {"licence": 1}
    assert ends(played(parse_instance(data), "fifo")) == {"a": 11}


def _in_turn(state: State) -> Decision:
    """Another job first in each round."""
    return Decision(ranked((state.number + state.now) % len(state)))


def test_jobs_that_never_reach_a_checkpoint_are_named() -> None:
    jobs = [{"slots": 3, "gpus": 4, "checkpoint_iterations": None}] * 2
    policy = Policy("in-turn", _in_turn, interrupts=True, round_slots=1)
    found = rarmodel.simulate(worked(jobs, restore=0), policy)
    assert not found.verified
    assert any("before it reaches a checkpoint" in line for line in found.causes)


def test_policies_see_which_jobs_may_be_interrupted() -> None:
    seen: list[list[bool]] = []

    def decide(state: State) -> Decision:
        seen.append(state.preemptible.tolist())
        return Decision()

    played(
        worked([{"slots": 1, "preemptible": False}, {"slots": 1}], restore=0), Policy("p", decide)
    )
    assert seen[0] == [False, True]


def test_preemption_of_which_no_job_takes_part_is_none() -> None:
    jobs = [{"slots": 9, "gpus": 4, "preemptible": False}, {"slots": 3, "gpus": 4, "release": 1}]
    jobs[1]["preemptible"] = False
    found = played(worked(jobs, restore=0))
    assert ends(found) == {"a": 9, "b": 12}
    (note,) = found.notes
    assert "here no job is preemptible" in note
    assert "preemptions" not in found.lines()
