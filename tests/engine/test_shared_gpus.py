"""GPUs that jobs share: the engine beside the verifier."""

from __future__ import annotations

from random import Random

import pytest
from depth import examples
from hypothesis import given
from hypothesis import strategies as st
from segmented import random_schedule
from sharing_instances import random_sharing
from wide_instances import FEATURES

from rarmodel.engine import NEVER, OVERFULL, STUCK, evaluate
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Assignment, Instance, Schedule
from rarmodel.verifier import Report, verify


def schedule_of(instance: Instance, random: Random, latest: int) -> Schedule:
    """A random schedule, in one piece where jobs are not interrupted; sparse, as GPUs are few."""
    found = random_schedule(instance, random, latest)
    if instance.preemption is not None:
        return found
    whole = tuple(
        Assignment(job=one.job, start=one.segments[0].start, gpus=one.segments[0].gpus)
        for one in found.assignments
    )
    return found.model_copy(update={"assignments": whole})


def ended(report: Report, job: str | None, slot: int) -> bool:
    """Whether a job is complete at a slot."""
    end = report.completion[str(job)]
    return end is not None and end <= slot


def check(instance: Instance, schedule: Schedule) -> str:
    """The engine and the verifier agree on a schedule; says what came out."""
    report, found = verify(instance, schedule), evaluate(instance, schedule)
    full = [one for one in report.violations if one.constraint == "capacity"]
    if found.makespan == OVERFULL:
        assert full
        return "overfull"
    # A server whose GPUs have too few slices for a job is named also where the job is never there:
    # then without a slot, or at one after its completion.
    assert all(one.slot is None or ended(report, one.job, one.slot) for one in full)
    ends = [report.completion[job.name] for job in instance.jobs]
    assert found.completion.tolist() == [NEVER if end is None else end for end in ends]
    assert found.makespan == (STUCK if None in ends else report.makespan)
    return "stuck" if None in ends else "done"


@given(st.randoms(use_true_random=False), st.sets(st.sampled_from(FEATURES)), st.booleans())
@examples(60)
def test_engine_gives_the_completions_of_the_verifier(
    random: Random, some: set[str], stop: bool
) -> None:
    features = {*some, *([PREEMPTION.name] if stop else [])}
    stall = random.random() < 0.3
    instance = random_sharing(random, features, jobs=random.randint(2, 5), stall=stall)
    check(instance, schedule_of(instance, random, random.randint(0, 5)))


@pytest.mark.parametrize("stop", [False, True])
def test_random_schedules_end_in_every_way(stop: bool) -> None:
    """The property above would say little if no schedule were carried out to its end."""
    found = set()
    for seed in range(60):
        random = Random(seed)
        some = {PREEMPTION.name} if stop else set[str]()
        instance = random_sharing(random, some, jobs=3, servers=2, stall=seed % 2 == 0)
        found.add(check(instance, schedule_of(instance, random, 3)))
    assert found == {"overfull", "stuck", "done"}
