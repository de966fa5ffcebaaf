"""Rings are put where they make progress; whatever is started completes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from by_hand import worked
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from wide_instances import PLAYED, random_wide, steady

import rarmodel
from rarmodel import registry
from rarmodel.engine.arrays import NEVER
from rarmodel.model import bandwidths, never_complete
from rarmodel.model.features import RESERVATIONS
from rarmodel.online import Decision, Placement, Policy
from rarmodel.online.arriving_jobs import jobs_of
from rarmodel.online.carry_out import asked_for
from rarmodel.online.cluster_at_work import WorkingCluster
from rarmodel.online.moving import elsewhere
from rarmodel.online.play import play
from rarmodel.online.verified_play import unsuitable
from rarmodel.schema import Instance
from rarmodel.schema.instance import Preemption
from rarmodel.schema.tenants import Tenant

POLICIES = [
    one.name
    for one in registry.parts("policies")
    if not one.elastic and not one.packs and one.name != "replan"
]
SLOW = {"gradient_mb": 1500.0, "backward_ms": 100.0}
"""Of two GPUs: alone over links of 10 Gbit/s an iteration takes 1.3 s, and a slot has 1 s."""


def stuck(**options: Any) -> Instance:
    """Both servers have a GPU left when c comes, and over links c makes no progress."""
    jobs: list[dict[str, Any]] = [
        {"slots": 3, "servers": ["s0"]},
        {"slots": 5, "servers": ["s1"]},
        {"slots": 18, "gpus": 2, "release": 1, **SLOW},
    ]
    return worked(jobs, servers=[2, 2], **options)


@pytest.mark.parametrize("placement", registry.names("placements"))
@pytest.mark.parametrize("policy", [*POLICIES, "replan"])
def test_a_place_without_progress_does_not_fit(policy: str, placement: str) -> None:
    found = rarmodel.simulate(stuck(), policy, placement=placement)
    assert found.verified, found.reasons
    # It waits for the first server, and does 9 iterations in a slot there.
    assert found.metrics.makespan == 5
    assert found.schedule is not None
    assert {one.job: [*one.gpus] for one in found.schedule.assignments}["c"] == ["s0"]


@pytest.mark.parametrize("policy", ["srtf", "las", "edf", "gavel-max-min", "finish-time-fairness"])
def test_a_running_job_leaves_a_place_without_progress(policy: str) -> None:
    jobs = [
        {
            "slots": 18,
            "gpus": 2,
            **SLOW,
            "running": {"gpus": {"s0": [0], "s1": [0]}, "iterations_done": 0},
        }
    ]
    found = rarmodel.simulate(worked(jobs, servers=[2, 2], restore=1), policy)
    assert found.verified, found.reasons
    assert found.metrics.makespan == 3


RINGS = {"gradient_mb": 800.0, "backward_ms": 100.0, "spread": {"min_servers": 2}}
"""Of two GPUs: alone over links of 10 Gbit/s an iteration takes 0.74 s, beside another 1.38 s."""


def test_rings_that_would_stop_each_other_take_turns() -> None:
    jobs = [{"slots": 2, "gpus": 2, **RINGS}, {"slots": 3, "gpus": 2, **RINGS}]
    for policy in ("fifo", "srtf", "las", "sjf-bco", "gavel-makespan"):
        for restore in (None, 1):
            found = rarmodel.simulate(worked(jobs, servers=[2, 2], restore=restore), policy)
            assert found.verified, (policy, found.reasons)
            assert found.metrics.makespan == 5


def test_rings_go_where_links_have_room() -> None:
    jobs = [{"slots": 2, "gpus": 2, **RINGS}, {"slots": 3, "gpus": 2, **RINGS}]
    found = rarmodel.simulate(worked(jobs, servers=[2, 2, 1, 1]), "fifo", placement="first-fit")
    assert found.verified
    assert found.metrics.makespan == 3


def test_of_places_as_good_the_one_with_the_first_server_is_taken() -> None:
    """In whatever order the links of the network are listed."""
    racks = {"s3": "r1", "s1": "r1", "s2": "r0", "s0": "r0"}
    links = [{"node": node, "parent": rack, "gbps": 10.0} for node, rack in racks.items()]
    links += [{"node": rack, "parent": "core", "gbps": 1.0} for rack in ("r1", "r0")]
    network = {"kind": "tree", "links": links}
    instance = worked([{"slots": 2, "gpus": 2, **RINGS}], [1] * 4, cluster={"network": network})
    # Consolidated, it would be on s0 and s1, over the core, where an iteration takes too long.
    found = rarmodel.simulate(instance, "fifo")
    assert found.schedule is not None
    assert [*found.schedule.assignments[0].gpus] == ["s0", "s2"]


@examples(25)
@given(seed=st.integers(0, 2**32))
def test_speed_beside_others_is_that_of_the_model(seed: int) -> None:
    """And a place is found wherever some idle GPUs have one with progress."""
    random = Random(seed)
    features = [name for name in PLAYED if random.random() < 0.3 and name != RESERVATIONS.name]
    instance = random_wide(random, features, jobs=4, servers=random.randint(2, 4), stall=True)
    cluster = WorkingCluster(instance, jobs_of(instance))
    gbps = [link.gbps for link in cluster.tree.links]
    for k in range(len(instance.jobs)):
        if cluster.holds[k]:
            continue
        size = random.choice(instance.jobs[int(cluster.jobs.index[k])].sizes)
        asked = asked_for(instance, cluster.jobs, k, size, None)
        rings = [ring for ring in _every_ring(cluster, asked.size) if asked.kept_by(ring)]
        for ring in rings:
            linked = cluster._on_links(cluster._pace(k, ring), ring)
            if linked is not None:
                rates = bandwidths(instance.contention, gbps, [*cluster.linked.values(), linked])
                assert cluster.speed_in(k, ring) == cluster._pace(k, ring).speed(
                    len(ring), rates[-1]
                )
        found = elsewhere(cluster, k, asked)
        assert (found is None) == (not any(cluster.speed_in(k, ring) for ring in rings))
        if found is not None:
            assert asked.kept_by(found)
            assert cluster.has_room(k, found)
            cluster.start(k, found)


def _every_ring(cluster: WorkingCluster, size: int) -> list[dict[int, int]]:
    rings: list[dict[int, int]] = [{}]
    for s, idle in enumerate(cluster.room.idle.tolist()):
        rings = [
            one | ({s: count} if count else {})
            for one in rings
            for count in range(max(0, idle) + 1)
            if sum(one.values()) + count <= size
        ]
    return [one for one in rings if sum(one.values()) == size]


@pytest.mark.parametrize("policy", [*POLICIES, "replan"])
@pytest.mark.parametrize("beyond", ["cap", "reservation"])
def test_a_running_job_that_could_never_start_again_goes_on(policy: str, beyond: str) -> None:
    jobs: list[dict[str, Any]] = [
        {
            "slots": 9,
            "gpus": 3,
            "due": 90,
            "running": {"gpus": {"s0": [0, 1, 2]}, "iterations_done": 0},
        },
        {"slots": 1, "gpus": 2, "due": 1},
    ]
    away = [{"server": "s0", "gpus": 2, "from": 0}] if beyond == "reservation" else []
    instance = worked(jobs, restore=0, cluster={"reservations": away})
    if beyond == "cap":
        first, second = instance.jobs
        capped = first.model_copy(update={"tenant": "t"}), second
        tenants = (Tenant(name="t", gpus=2),)
        instance = instance.model_copy(update={"tenants": tenants, "jobs": capped})
    found = rarmodel.simulate(instance, policy)
    assert found.verified, found.reasons
    assert found.report is not None
    assert found.report.completion == {"a": 9, "b": 10}


@pytest.mark.parametrize("policy", POLICIES)
@examples(6)
@given(seed=st.integers(0, 2**32), preemption=st.booleans())
def test_whatever_can_complete_does_under_every_policy(
    policy: str, seed: int, *, preemption: bool
) -> None:
    """With rings that may stop each other, and any server lists, types, spreads and caps."""
    random = Random(seed)
    features = [name for name in PLAYED if random.random() < 0.5 and name != RESERVATIONS.name]
    instance = random_wide(
        random, features, jobs=random.randint(1, 5), servers=random.randint(1, 4), stall=True
    )
    instance = steady(instance)
    rule = registry.find("policies", policy)
    if preemption:
        restore = random.choice([0.0, 1.0, 2.5]) * instance.time.slot_seconds
        instance = instance.model_copy(update={"preemption": Preemption(restore_seconds=restore)})
    if never_complete(instance):
        return
    assert unsuitable(instance, rule) is None
    placement = registry.find("placements", random.choice(registry.names("placements")))
    found = play(instance, rule, placement, seed=1)
    held = [one for one in found.causes if " makes no progress on " in one]
    if preemption and not rule.interrupts and held:
        return  # It ran without progress at slot 0, and the policy leaves it there.
    assert (found.completion < NEVER).all(), found.causes


def test_a_livelock_names_jobs_placement_and_policy() -> None:
    jobs: list[dict[str, Any]] = [
        {"slots": 1, "gpus": 3},
        {"slots": 1, "gpus": 2},
        {"slots": 1, "after": ["a"]},
    ]
    instance = worked(jobs, servers=[2, 2])
    one = Placement("one", lambda asked, site: {0: asked.size} if asked.size < 3 else None)
    found = rarmodel.simulate(instance, "fifo", placement=one)
    assert found.reasons == (
        "nothing more happens; not complete: jobs 'a', 'b', 'c'",
        "job 'a' waits for 3 GPUs, which are idle: placement 'one' gives it no place",
        "job 'b' waits behind 'a', as policy 'fifo' wants it",
        "job 'c' waits for 'a', which is not complete",
    )
    nobody = Policy("nobody", lambda _: Decision(np.zeros(0, np.int64)))
    found = rarmodel.simulate(worked([{"slots": 1}]), nobody)
    assert found.reasons[1:] == ("policy 'nobody' gives job 'a' no GPUs",)


def test_a_livelock_names_the_type_that_a_policy_insists_on() -> None:
    wrong = Policy("wrong", lambda _: Decision(types={0: "slow"}))
    instance = worked([{"slots": 1, "servers": ["s0"]}], servers=[1, 1], types=["fast", "slow"])
    found = rarmodel.simulate(instance, wrong)
    assert found.reasons[1:] == (
        (
            "job 'a' waits for 1 GPU of type 'slow', for which the servers that it may use have no "
            "room"
        ),
    )


def test_a_livelock_names_rounds_that_are_too_short() -> None:
    jobs = [{"slots": 9, "gpus": 2}, {"slots": 9, "gpus": 2}]
    found = rarmodel.simulate(worked(jobs, servers=[2], restore=3), "gavel-max-min", round_slots=2)
    assert not found.verified
    assert any(
        "is restored on 's0' (2 GPUs) again and again: that takes 3 slots, and a round has 2; "
        "rounds of 6 slots or more leave time to work" in line
        for line in found.causes
    ), found.causes


def test_a_livelock_names_a_running_job_that_a_policy_leaves_without_progress() -> None:
    jobs = [
        {
            "slots": 18,
            "gpus": 2,
            **SLOW,
            "running": {"gpus": {"s0": [0], "s1": [0]}, "iterations_done": 0},
        }
    ]
    found = rarmodel.simulate(worked(jobs, servers=[2, 2], restore=1), "fifo")
    why = "job 'a' makes no progress on 's0' (1 GPU) and 's1' (1 GPU), also alone, and policy "
    assert found.reasons[1:] == (why + "'fifo' does not interrupt jobs",)
