"""Schedules with segments: the engine beside the verifier."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from naive_segments import carried_out
from segmented import segmented

from rarmodel.engine import NEVER, OVERFULL, STUCK, evaluate
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


@settings(max_examples=500, deadline=None)
@given(segmented())
def test_engine_gives_the_completions_of_the_verifier(problem: Problem) -> None:
    check(problem)
