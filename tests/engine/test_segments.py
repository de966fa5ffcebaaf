"""Schedules with segments: the engine beside the verifier."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from depth import examples
from hypothesis import given
from naive_segments import carried_out
from segmented import random_schedule, segmented
from wide_instances import random_wide

from rarmodel.engine import NEVER, OVERFULL, STUCK, decisions, evaluate
from rarmodel.model.features import PREEMPTION
from rarmodel.schema import Instance, Schedule
from rarmodel.verifier import verify

Problem = tuple[Instance, Schedule]


def overfull(instance: Instance, schedule: Schedule) -> bool:
    """Whether jobs hold more GPUs of a server than it has, in some slot in which things change."""
    last = 2 + max((s.start for a in schedule.assignments for s in a.segments), default=0)
    for held in carried_out(instance, schedule, last).held:
        sums = Counter[str]()
        for one in held.values():
            sums.update({name: len(gpus) for name, gpus in one.gpus.items()})
        if any(sums[server.name] > server.gpus for server in instance.cluster.servers):
            return True
    return False


def check(problem: Problem) -> str:
    """The engine and the verifier agree on a schedule; says what came out."""
    instance, schedule = problem
    report, found = verify(instance, schedule), evaluate(instance, schedule)
    ends = [report.completion[job.name] for job in instance.jobs]
    if overfull(instance, schedule):
        assert found.makespan == OVERFULL
        return "overfull"
    assert found.completion.tolist() == [NEVER if end is None else end for end in ends]
    if None in ends:
        assert found.makespan == STUCK
        return "stuck"
    assert found.makespan == report.makespan
    return "done"


@examples(60)
@given(segmented())
def test_engine_gives_the_completions_of_the_verifier(problem: Problem) -> None:
    check(problem)


def test_random_schedules_end_in_every_way() -> None:
    """The property above would say little if no schedule were carried out to its end."""
    found = set()
    for seed in range(200):
        random = Random(seed)
        stall = random.random() < 0.5
        instance = random_wide(random, {PREEMPTION.name}, jobs=2, servers=2, stall=stall)
        found.add(check((instance, random_schedule(instance, random, 3))))
    assert found == {"overfull", "stuck", "done"}


def test_an_interrupted_job_has_no_one_start() -> None:
    random = Random(1)
    instance = random_wide(random, {PREEMPTION.name}, jobs=4, servers=2)
    schedule = random_schedule(instance, random, 3)
    assert any(len(one.segments) > 1 for one in schedule.assignments)
    with pytest.raises(ValueError, match="a job is interrupted"):
        decisions(instance, schedule)
