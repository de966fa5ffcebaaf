"""Who gives way to whom, slot by slot: by priority, and by what tenants are guaranteed.

Clusters of one server, so that it is numbers of GPUs alone that count; with plain loops over jobs.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, NamedTuple

import pytest
from by_hand import worked
from depth import examples
from hypothesis import example, given
from hypothesis import strategies as st
from tenant_trees import random_tenants, tenants_of

from rarmodel import registry
from rarmodel.online.cluster_at_work import Stay
from rarmodel.online.play import play
from rarmodel.online.verified_play import schedule_of
from rarmodel.schema import Instance
from rarmodel.verifier import verify


def drawn(random: Random, *, tenants: bool = False, preemption: bool = True) -> Instance:
    """Jobs of any priority on one server, of which some are not preemptible."""
    gpus = random.randint(2, 8)
    trees = random_tenants(random, gpus) if tenants else []
    for tenant in trees:
        tenant.pop("gpus", None)
    jobs: list[dict[str, Any]] = []
    for _ in range(random.randint(2, 9)):
        job: dict[str, Any] = {"slots": random.randint(1, 9), "gpus": random.randint(1, gpus)}
        job |= {"release": random.randint(0, 12), "priority": random.randint(-1, 2)}
        if random.random() < 0.25:
            job["preemptible"] = False
        if random.random() < 0.3:
            job["checkpoint_iterations"] = random.choice([None, 2, 4])
        if tenants and random.random() < 0.9:
            job["tenant"] = random.choice("tuv")
        jobs.append(job)
    restore = random.choice([0, 1, 2]) if preemption else None
    return worked(jobs, servers=[gpus], restore=restore, tenants=trees)


class Slot(NamedTuple):
    """Indices of jobs: who goes on, starts and stops at the beginning of a slot, and who waits.

    And since which slot each job holds its GPUs.
    """

    goes_on: set[int]
    starts: set[int]
    stops: set[int]
    waits: set[int]
    since: dict[int, int]


def slots(instance: Instance, policy: str, **options: Any) -> list[Slot]:
    """What a policy does in each slot; the schedule is verified."""
    placement = registry.find("placements", "consolidate")
    played = play(instance, registry.find("policies", policy), placement, **options)
    report = verify(instance, schedule_of(instance, played.jobs, played.stays, policy))
    assert report.feasible, report.violations
    ends = [report.completion[job.name] or 0 for job in instance.jobs]
    stays: list[Stay] = played.stays
    number = played.jobs.index.tolist()
    found = []
    for slot in range(max(ends)):
        held = {number[stay.job] for stay in stays if stay.start <= slot < stay.end}
        starts = {number[stay.job] for stay in stays if stay.start == slot}
        stops = {number[stay.job] for stay in stays if stay.end == slot}
        stops = {j for j in stops if ends[j] != slot}
        arrived = {j for j, job in enumerate(instance.jobs) if job.release <= slot < ends[j]}
        since = {number[stay.job]: stay.start for stay in stays if stay.start <= slot < stay.end}
        found.append(Slot(held - starts, starts, stops, arrived - held, since))
    return found


def size(instance: Instance, some: set[int]) -> int:
    return sum(instance.jobs[j].size for j in some)


def idle(instance: Instance, slot: Slot) -> int:
    return instance.cluster.total_gpus - size(instance, slot.goes_on | slot.starts)


@examples(25)
@given(seed=st.integers(0, 2**32))
def test_only_preemptible_jobs_give_way_and_only_to_greater_priorities(seed: int) -> None:
    instance = drawn(Random(seed))
    jobs = instance.jobs
    for slot in slots(instance, "priority"):
        for j in slot.stops:
            assert jobs[j].preemptible
            assert any(jobs[k].priority > jobs[j].priority for k in slot.starts)
        # Nobody stops whose GPUs are left over.
        spare = idle(instance, slot)
        assert all(jobs[j].size > spare for j in slot.stops - slot.starts)


@examples(25)
@given(seed=st.integers(0, 2**32), preemption=st.booleans())
def test_nobody_waits_who_would_fit_without_lower_priorities(seed: int, preemption: bool) -> None:
    instance = drawn(Random(seed), preemption=preemption)
    jobs = instance.jobs
    for slot in slots(instance, "priority"):
        held = slot.goes_on | slot.starts
        for k in slot.waits:
            lower = {j for j in held if jobs[j].priority < jobs[k].priority}
            may_stop = {j for j in lower if preemption and jobs[j].preemptible}
            assert jobs[k].size > idle(instance, slot) + size(instance, may_stop)


class Tree:
    """What tenants are guaranteed and hold, read as plainly as possible."""

    def __init__(self, instance: Instance, held: set[int]) -> None:
        self.above = [tenants_of(instance, job) for job in instance.jobs]
        self.guaranteed = {one.name: one.guaranteed or 0 for one in instance.tenants}
        self.held = Counter(dict.fromkeys(self.guaranteed, 0))
        for j in held:
            for name in self.above[j]:
                self.held[name] += instance.jobs[j].size

    def lends(self, j: int, k: int) -> bool:
        """Whether every tenant of j that is none of k's is above its guarantee."""
        return all(self.held[t] > self.guaranteed[t] for t in self.above[j] - self.above[k])

    def rests(self, k: int, gpus: int, j: int | None = None) -> bool:
        """Whether some tenant of k, that is none of j's, has room within its guarantee."""
        some = self.above[k] - (set() if j is None else self.above[j])
        return any(self.held[t] + gpus <= self.guaranteed[t] for t in some)


PLAIN = ["fifo", "fifo-backfill", "sjf", "sjf-bco"]


@pytest.mark.parametrize("policy", PLAIN)
@examples(25)
@given(seed=st.integers(0, 2**32))
def test_only_who_borrows_gives_way_and_only_to_who_is_below(policy: str, seed: int) -> None:
    instance = drawn(Random(seed), tenants=True)
    jobs, before = instance.jobs, set[int]()
    for slot in slots(instance, policy):
        after = Tree(instance, slot.goes_on)
        held = Tree(instance, slot.goes_on | slot.stops)
        for j in slot.stops:
            assert jobs[j].preemptible
            assert j in before
            assert any(
                held.lends(j, k) and after.rests(k, jobs[k].size, j) for k in slot.starts - {j}
            )
        before = slot.goes_on | slot.starts


@pytest.mark.parametrize("policy", [*PLAIN, "srtf", "las", "priority", "gittins"])
@examples(12)
@given(seed=st.integers(0, 2**32))
@example(seed=2098838)  # A small job borrows as well, and stops first.
@example(seed=25347)
@example(seed=503550798)  # Where a job stops, one that came before may rest on a guarantee.
def test_nobody_below_waits_for_what_others_borrow(policy: str, seed: int) -> None:
    instance = drawn(Random(seed), tenants=True)
    jobs = instance.jobs
    for slot in slots(instance, policy):
        held = slot.goes_on | slot.starts
        for k in slot.waits:
            tree, room = Tree(instance, held), idle(instance, slot)
            if not tree.rests(k, jobs[k].size):
                continue
            assert jobs[k].size > room
            borrowed = {
                j
                for j in held
                if jobs[j].preemptible and tree.lends(j, k) and tree.rests(k, jobs[k].size, j)
            }
            for j in borrowed:
                # Those stop first that began last, and then a larger one may borrow no longer.
                later = {i for i in borrowed - {j} if slot.since[i] >= slot.since[j]}
                # One job that borrows is never enough; several might be, one after another.
                if Tree(instance, held - later).lends(j, k):
                    assert jobs[k].size > room + jobs[j].size


@examples(12)
@given(seed=st.integers(0, 2**32))
def test_without_guarantees_or_preemption_nothing_changes(seed: int) -> None:
    instance = drawn(Random(seed), tenants=True, preemption=False)
    assert all(not slot.stops for slot in slots(instance, "fifo-backfill"))
    bare = tuple(one.model_copy(update={"guaranteed": None}) for one in instance.tenants)
    plain = drawn(Random(seed), tenants=True).model_copy(update={"tenants": bare})
    for policy in ("fifo", "srtf"):
        assert slots(plain, policy) == slots(plain, policy, reclaim=False)
