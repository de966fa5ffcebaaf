"""Policies where jobs share GPUs: what is played is what the verifier reads, and cases by hand."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import pytest
from depth import examples
from documents import Data, instance_data, job_data
from hypothesis import given
from hypothesis import strategies as st
from sharing_instances import random_sharing
from wide_instances import PLAYED, steady, with_interruptions

import rarmodel
from rarmodel import registry
from rarmodel.engine.arrays import NEVER
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.model.features import ALL, RESERVATIONS, SHARED_GPUS
from rarmodel.online.play import play
from rarmodel.online.policy import Decision, Policy
from rarmodel.online.state import State
from rarmodel.online.verified_play import LATE, schedule_of, unsuitable
from rarmodel.schema import Instance
from rarmodel.verifier import verify

SHARING = [one.name for one in registry.parts("policies") if SHARED_GPUS.name in one.handles]


def any_instance(random: Random, *, preemption: bool, changes: bool = False) -> Instance:
    """An instance whose jobs share GPUs, with some of all other features that go with that.

    With `changes` there are reservations, and perhaps capacities of resources that change.
    """
    features = [name for name in PLAYED if name != RESERVATIONS.name and random.random() < 0.4]
    if changes:
        features.append(RESERVATIONS.name)
    found = random_sharing(
        random, features, jobs=random.randint(1, 6), servers=random.randint(1, 3)
    )
    tenants = tuple(one.model_copy(update={"guaranteed": None}) for one in found.tenants)
    found = found.model_copy(update={"tenants": tenants})
    if not changes:
        found = steady(found)
    if not preemption:
        return found
    restore = random.choice([0.0, 1.0, 2.5]) * found.time.slot_seconds
    return with_interruptions(random, found, restore)


@pytest.mark.parametrize("policy", SHARING)
@examples(12)
@given(
    seed=st.integers(0, 2**32),
    placement=st.sampled_from(registry.names("placements")),
    kind=st.sampled_from([(False, False), (True, False), (True, True)]),
    rounds=st.sampled_from([None, 1, 3]),
)
def test_what_is_played_is_what_the_verifier_reads(
    policy: str, seed: int, placement: str, rounds: int | None, kind: tuple[bool, bool]
) -> None:
    rule = registry.find("policies", policy)
    preemption, changes = kind
    instance = any_instance(Random(seed), preemption=preemption, changes=changes)
    assert unsuitable(instance, rule) is None
    found = play(instance, rule, registry.find("placements", placement), round_slots=rounds, seed=1)
    assert (found.completion < NEVER).all() == (not found.causes)
    if found.causes:
        return
    schedule = schedule_of(instance, found.jobs, found.stays, "policy")
    report = verify(instance, schedule)
    assert [one for one in report.violations if one.constraint not in LATE] == []
    names = [instance.jobs[j].name for j in found.jobs.index.tolist()]
    assert report.completion == dict(zip(names, found.completion.tolist(), strict=True))
    assert report.lost == {
        name: lost for name, lost in zip(names, found.lost.tolist(), strict=True) if lost
    }


def worker(name: str, iterations: int = 40, **fields: Any) -> Data:
    """A job of one slice of a GPU that does 10 iterations in a slot alone."""
    return job_data(name, iterations=iterations, **({"slices": 1} | fields))


def on_one_gpu(*jobs: Data, gpus: int = 1, slices: int = 2, **top: Any) -> Instance:
    data: Any = instance_data(*jobs, horizon=999) | top
    data["cluster"]["servers"] = [{"name": "s0", "gpus": gpus}]
    data["cluster"]["gpu_slices"] = slices
    return parse_instance(data)


def completions(instance: Instance, policy: str = "fifo-backfill") -> dict[str, int | None]:
    found = rarmodel.simulate(instance, policy=policy)
    assert found.verified
    assert found.report is not None
    return dict(found.report.completion)


def pair(slowdown: float) -> list[Data]:
    return [{"kind": "k", "beside": "k", "slowdown": slowdown}]


def test_jobs_share_a_gpu_if_that_is_worth_it() -> None:
    """Together they do 2/1.25 = 1.6 times as much as one: 40 iterations in 5 slots each."""
    jobs = worker("a", kind="k"), worker("b", kind="k")
    assert completions(on_one_gpu(*jobs, colocation=pair(1.25))) == {"a": 5, "b": 5}
    # At 2.5 both would do 0.8 times as much: b waits.
    assert completions(on_one_gpu(*jobs, colocation=pair(2.5))) == {"a": 4, "b": 8}


def test_idle_gpus_come_first_and_then_those_of_least_loss() -> None:
    jobs = (
        worker("hard", kind="k", pressure=0.9, iterations=400),
        worker("soft", kind="k", pressure=0.1, sensitivity=0.1, iterations=400),
        worker("late", release=1, sensitivity=0.5, pressure=0.2),
    )
    found = rarmodel.simulate(on_one_gpu(*jobs, gpus=2), policy="fifo")
    assert found.schedule is not None
    places = {one.job: one.gpus for one in found.schedule.assignments}
    assert places["hard"] != places["soft"]
    assert places["late"] == places["soft"]


def test_memory_keeps_jobs_apart() -> None:
    jobs = worker("a", memory_gb=10.1, sensitivity=0.1), worker("b", memory_gb=6, sensitivity=0.1)
    data = on_one_gpu(*jobs).model_dump(mode="json", exclude_unset=True)
    for size, end in ((16.1, 5), (16.0, 8)):
        data["cluster"]["gpu_memory_gb"] = size
        assert completions(parse_instance(data))["b"] == end


def test_a_shorter_job_takes_the_room_of_longer_ones() -> None:
    """Whole GPUs: at slot 1 both sharers stop for `whole`, which has the least to do."""
    jobs = (
        worker("a", 100, sensitivity=0.25),
        worker("b", 100, sensitivity=0.25),
        worker("whole", 10, slices=None, release=1),
    )
    found = on_one_gpu(*jobs, preemption={"restore_seconds": 0.0})
    # a and b do 8 in a slot: one slot, then one of waiting, then 92 in 12 slots.
    assert completions(found, "srtf") == {"a": 14, "b": 14, "whole": 2}


def test_running_jobs_keep_their_places_and_others_join_them() -> None:
    running = {"gpus": {"s0": [1]}, "iterations_done": 20}
    jobs = (
        worker("a", running=running, sensitivity=0.25),
        worker("b", slices=2),
        worker("c", sensitivity=0.25),
    )
    found = rarmodel.simulate(on_one_gpu(*jobs, gpus=2), policy="fifo")
    assert found.report is not None
    assert found.report.completion == {"a": 3, "b": 4, "c": 5}


def test_figures_count_parts_of_gpus() -> None:
    prices = {"prices_per_gpu_hour": 3600.0}
    data = on_one_gpu(worker("a", sensitivity=0), slices=4, objective="cost").model_dump(
        mode="json", exclude_unset=True
    )
    data["cluster"] |= prices
    found = rarmodel.simulate(parse_instance(data), policy="fifo")
    assert found.metrics.utilisation == 0.25
    assert found.report is not None
    assert found.report.objective == {"cost": Fraction(1)}


def test_caps_of_tenants_count_parts_of_gpus() -> None:
    tenants = [{"name": "t", "gpus": 1}]
    jobs = [worker(name, tenant="t", sensitivity=0) for name in "abc"]
    assert completions(on_one_gpu(*jobs, gpus=2, tenants=tenants)) == {"a": 4, "b": 4, "c": 8}


def test_resources_count_parts_of_gpus() -> None:
    power = [{"name": "power", "capacity": 300}]
    jobs = [worker(name, resources_per_gpu={"power": 300}, sensitivity=0) for name in "abc"]
    assert completions(on_one_gpu(*jobs, gpus=2, resources=power)) == {"a": 4, "b": 4, "c": 8}


def reserved(*jobs: Data, gpus: int = 2, **when: int) -> Instance:
    """Jobs on the GPUs of a server, of which one is away for a while."""
    data: Any = on_one_gpu(*jobs, gpus=gpus).model_dump(mode="json", exclude_unset=True)
    data["cluster"]["reservations"] = [{"server": "s0", "gpus": 1, **when}]
    data["preemption"] = {"restore_seconds": 0.0}
    return parse_instance(data)


def segments(instance: Instance, policy: str = "fifo-backfill") -> dict[str, list[Any]]:
    """By job, the slots in which each segment begins, and its GPUs."""
    found = rarmodel.simulate(instance, policy=policy)
    assert found.verified
    assert found.schedule is not None
    return {
        one.job: [(part.start, list(part.gpus["s0"])) for part in one.segments]
        for one in found.schedule.assignments
    }


def test_all_jobs_of_the_gpu_that_began_last_give_way_to_a_reservation() -> None:
    """Jobs a and b fill GPU 0, c and d come later to GPU 1, which is away in slots 3 and 4."""
    quiet = {"sensitivity": 0, "iterations": 60}
    jobs = (
        *(worker("a", **quiet, slices=2), worker("b", **quiet, release=1)),
        worker("c", **quiet, release=2),
    )
    found = segments(reserved(*jobs, **{"from": 3, "to": 5}))
    assert found == {"a": [(0, [0])], "b": [(1, [1]), (5, [1])], "c": [(2, [1]), (5, [1])]}


def test_a_job_that_never_gives_way_waits_for_gpus_that_stay() -> None:
    """Job b takes 4 slots, and the GPU that a leaves to it is away from slot 3 on."""
    jobs = (
        worker("a", 100, slices=2, preemptible=False),
        worker("b", preemptible=False, sensitivity=0),
        worker("c", preemptible=False, sensitivity=0, iterations=30),
    )
    found = segments(reserved(*jobs, **{"from": 3, "to": 5}))
    assert found == {"a": [(0, [0])], "b": [(5, [1])], "c": [(0, [1])]}


def test_jobs_that_joined_a_running_one_leave_when_it_is_complete() -> None:
    """Job a keeps its GPU beside the reservation of both; b joins it there, and later waits."""
    running = {"gpus": {"s0": [0]}, "iterations_done": 20}
    jobs = worker("a", running=running, sensitivity=0), worker("b", sensitivity=0)
    data: Any = reserved(*jobs, gpus=1, **{"from": 0, "to": 6})
    assert segments(data) == {"a": [(0, [0])], "b": [(0, [0]), (6, [0])]}
    jobs[1]["preemptible"] = False
    assert segments(reserved(*jobs, gpus=1, **{"from": 0, "to": 6}))["b"] == [(6, [0])]


def test_a_capacity_that_falls_stops_the_jobs_that_began_last() -> None:
    windows = [{"from": 0, "to": 2, "capacity": 2}, {"from": 2, "to": 4, "capacity": 1}]
    power = [{"name": "power", "capacity": windows}]
    jobs = [worker(name, resources={"power": 1}, sensitivity=0) for name in "ab"]
    found = on_one_gpu(*jobs, resources=power, preemption={"restore_seconds": 0.0})
    assert segments(found) == {"a": [(0, [0])], "b": [(0, [0]), (4, [0])]}
    firm = [{**job, "preemptible": False} for job in jobs]
    found = on_one_gpu(*firm, resources=power, preemption={"restore_seconds": 0.0})
    assert segments(found) == {"a": [(0, [0])], "b": [(4, [0])]}


def test_what_goes_without_sharing_is_refused_in_a_line() -> None:
    tenants = [{"name": "t", "guaranteed": 1}]
    with pytest.raises(
        UsageError,
        match=r"simulate does not handle tenants\[0\].guaranteed where jobs share GPUs \(jobs\[0\]",
    ):
        rarmodel.simulate(on_one_gpu(worker("a"), tenants=tenants), policy="fifo")
    with pytest.raises(UsageError, match=r"policy 'gavel-max-min' does not handle shared GPUs"):
        rarmodel.simulate(on_one_gpu(worker("a")), policy="gavel-max-min")


def test_a_policy_by_exact_places_is_refused() -> None:
    rule = Policy("own", lambda _: Decision(places={0: {0: 1}}), handles=ALL)
    with pytest.raises(UsageError, match="decides by places by server, which jobs that share"):
        rarmodel.simulate(on_one_gpu(worker("a")), policy=rule)


@pytest.mark.parametrize("seed", [27, 697])
def test_a_displaced_job_that_stays_after_all_is_seen_by_those_after_it(seed: int) -> None:
    """Seeds on which a later job once took the room of one that had been displaced."""
    instance = any_instance(Random(seed), preemption=True)
    rule = registry.find("policies", "finish-time-fairness")
    found = play(instance, rule, registry.find("placements", "consolidate"), round_slots=1, seed=1)
    schedule = schedule_of(instance, found.jobs, found.stays, "policy")
    broken = [one.constraint for one in verify(instance, schedule).violations]
    assert set(broken) <= LATE


def test_a_state_says_who_is_together_and_how_much_jobs_keep() -> None:
    """Three quiet jobs on a GPU of four slices, and a fourth that waits for whole GPUs."""
    jobs = (
        worker("a", kind="k", sensitivity=9),
        worker("b", sensitivity=0.25, pressure=0.5),
        worker("c", kind="l", sensitivity=0.25, pressure=0.5),
        worker("d", slices=None, release=1),
    )
    measured = [
        {"kind": "k", "beside": "k", "slowdown": 2.0},
        {"kind": "k", "beside": "l", "slowdown": 1.25},
        {"kind": "l", "beside": "k", "slowdown": 1.0},
    ]
    seen = []

    def decide(state: State) -> Decision:
        if len(state) >= 3:
            kept = [round(one, 3) for one in state.kept_beside.tolist()]
            beside = [state.speeds_beside(1)[None], state.speeds_beside(1, 0, 2)[None]]
            seen.append((kept, beside, state.mates))
        return Decision(together=[[0, 1, 2]] if len(state) >= 3 else None)

    found = rarmodel.simulate(
        on_one_gpu(*jobs, slices=4, colocation=measured), Policy("own", decide, handles=ALL)
    )
    assert found.verified
    # b loses 0.25 by a, whose pressure is 1, and 0.125 by c: 10/1.375 = 7.3 iterations.
    assert seen[0] == ([0.65, 0.8, 1.0], [10, 7], (frozenset(),) * 3)
    kept, _, mates = seen[1]
    assert kept == [0.65, 0.8, 1.0, 0.5]
    assert mates == (frozenset({1, 2}), frozenset({0, 2}), frozenset({0, 1}), frozenset())
