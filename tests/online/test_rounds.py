"""Rounds are times: as many slots as begin within them, and no shorter than restoring needs."""

from __future__ import annotations

import pytest
from by_hand import worked

import rarmodel
from rarmodel import registry
from rarmodel.online import Decision, Policy
from rarmodel.online.policy import slots_of_round
from rarmodel.schema import Instance


def of_slots(seconds: float, restore_seconds: float | None = None) -> Instance:
    """An instance with slots of so many seconds."""
    instance = worked([{"slots": 1}], restore=restore_seconds)
    time = instance.time.model_copy(update={"slot_seconds": seconds})
    return instance.model_copy(update={"time": time})


@pytest.mark.parametrize(
    ("policy", "seconds", "restore", "slots"),
    [
        ("gavel-max-min", 60.0, 0.0, 6),
        ("gavel-cost", 10.0, 60.0, 36),
        ("gavel-fairness", 7.0, 0.0, 52),  # 51.4 slots.
        ("gavel-makespan", 3600.0, None, 1),
        ("gavel-makespan", 3600.0, 60.0, 2),  # A restoration takes a slot.
        ("gavel-makespan", 10.0, 300.0, 60),  # A restoration takes 30.
        ("finish-time-fairness", 60.0, 0.0, 20),
        ("optimus", 30.0, 0.0, 20),
        ("fifo", 30.0, 0.0, None),
        ("las", 30.0, 0.0, None),
    ],
)
def test_a_round_is_a_time(
    policy: str, seconds: float, restore: float | None, slots: int | None
) -> None:
    found = registry.find("policies", policy)
    assert slots_of_round(found, of_slots(seconds, restore)) == slots


def test_policies_may_say_slots_or_seconds_or_neither() -> None:
    def decide(_: object) -> Decision:
        return Decision()

    instance = of_slots(10.0, 60.0)
    assert slots_of_round(Policy("slots", decide, round_slots=5), instance) == 5
    assert slots_of_round(Policy("seconds", decide, round_seconds=95.0), instance) == 10
    interrupts = Policy("seconds", decide, round_seconds=95.0, interrupts=True)
    assert slots_of_round(interrupts, instance) == 12
    assert slots_of_round(Policy("neither", decide), instance) is None


@pytest.mark.parametrize("policy", ["gavel-max-min", "gavel-makespan", "finish-time-fairness"])
@pytest.mark.parametrize("seconds", [1.0, 10.0, 60.0, 3600.0])
def test_jobs_that_take_turns_complete_whatever_a_slot_is(policy: str, seconds: float) -> None:
    jobs = [{"slots": 50_000, "gpus": 2}, {"slots": 50_000, "gpus": 2}, {"slots": 50_000}]
    instance = worked(jobs, servers=[2], restore=60.0)
    time = instance.time.model_copy(update={"slot_seconds": seconds})
    found = rarmodel.simulate(instance.model_copy(update={"time": time}), policy)
    assert found.verified, found.reasons


def test_gavel_counts_what_jobs_really_had() -> None:
    """Both are limited to the first server of the type, which has room for one of them."""
    jobs = [{"slots": 40, "servers": ["s0"]}, {"slots": 40, "servers": ["s0"]}]
    instance = worked(jobs, servers=[1, 1], types=["fast", "fast"], restore=0.0)
    found = rarmodel.simulate(instance, "gavel-max-min", round_slots=4)
    assert found.verified, found.reasons
    assert found.report is not None
    ends = found.report.completion
    # They take turns by rounds: neither has to wait for the other to complete.
    assert {ends["a"], ends["b"]} == {76, 80}
