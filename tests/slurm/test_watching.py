"""Looks at a queue that changes between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from recorded_slurm import changed

from rarmodel import slurm
from rarmodel.errors import UsageError
from rarmodel.slurm.program_outputs import SlurmError
from rarmodel.slurm.queue_choices import chosen
from rarmodel.slurm.watching import Watch

NOW = datetime(2026, 11, 22, 5, 36, 2, tzinfo=UTC)
MINE = {"4", "5", "6", "7", "8", "9", "10", "11", "12"}


def watching(queue: Any, told: list[str], **options: Any) -> Watch:
    return Watch(
        plan=lambda reading: slurm.plan(reading, iterations=20, threads=1),
        choices=options.pop("choices", chosen()),
        run=queue,
        tell=told.append,
        clock=lambda: NOW,
        **options,
    )


def touched(commands: Sequence[Sequence[str]]) -> set[str]:
    return {command[2].removeprefix("jobid=") for command in commands}


def test_only_jobs_that_start_before_the_next_look_are_handed_back(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told, every=60.0)
    done = watch.look()
    assert done is not None
    assert {(one.start - NOW).total_seconds() for one in done.plan} == {2.0}
    assert touched(queue.changes) == {one.job for one in done.plan} < MINE
    assert [*watch.commands] == queue.changes
    assert len([line for line in told if "scontrol" in line]) >= len(queue.changes)


def test_at_most_so_many_jobs_change_at_once(queue: Any) -> None:
    watching(queue, [], every=86_400.0, most=2).look()
    assert len(touched(queue.changes)) == 2


def test_a_plan_that_still_holds_is_kept(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told, threshold=0.99)
    watch.look()
    watch.look()
    assert sum("new plan" in line for line in told) == 1


def test_a_plan_that_holds_no_longer_is_replaced(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told, threshold=0.99)
    watch.look()
    lines = queue.outputs["node"].replace("State=IDLE", "State=IDLE+DRAIN", 4)
    queue.outputs = {**queue.outputs, "node": lines}
    watch.look()  # What was released is held again, by nobody that the watch knows.
    watch.look()
    assert any("no longer holds" in line or "new plan" in line for line in told[1:])


def test_a_job_that_cannot_start_is_held_again(queue: Any) -> None:
    watch = watching(queue, [], every=60.0)
    done = watch.look()
    assert done is not None
    stuck = done.plan[0]
    queue.changes.clear()
    released = [
        line.replace("Priority=0 ", "Priority=5 ")
        .replace("ReqNodeList=(null)", f"ReqNodeList={stuck.nodes[0]}")
        .replace("JobHeldUser", "Resources")
        if line.startswith(f"JobId={stuck.job} ")
        else line
        for line in queue.outputs["job"].split("\n")
    ]
    later = queue.outputs["config"].replace("05:36:02", "05:38:02")
    queue.outputs = {**queue.outputs, "job": "\n".join(released), "config": later}
    assert watch.look() is None
    first, hold, request, processors = queue.changes
    assert first == ("scontrol", "update", f"jobid={stuck.job}", "starttime=now+1hour")
    assert hold == ("scontrol", "uhold", stuck.job)
    assert {"numnodes=1-1", "TresPerNode=gres:gpu:h100:2", "nodelist=", "starttime=now"} <= {
        *request
    }
    assert processors[-1].startswith("numcpus=")


def test_a_job_that_starts_as_it_is_held_ends_nothing(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told)
    done = watch.look()
    assert done is not None
    stuck = done.plan[0].job
    later = queue.outputs["config"].replace("05:36:02", "05:38:02")
    queue.outputs = {**changed(queue.outputs, stuck, Priority="5"), "config": later}
    queue.changes.clear()
    queue.refused = {"starttime=now+1hour"}  # As Slurm refuses for a job that runs.
    watch.look()
    assert any("starttime=now+1hour" in line and "refused" in line for line in told)
    assert queue.changes == [("scontrol", "update", f"jobid={stuck}", "starttime=now+1hour")]


def test_a_job_that_slurm_requeues_is_taken_back(queue: Any) -> None:
    """It is still bound to the nodes of its plan, of which one may have failed."""
    watch = watching(queue, [])
    done = watch.look()
    assert done is not None
    one = done.plan[0]
    recorded = queue.outputs
    freed = changed(recorded, one.job, Priority="5", ReqNodeList=",".join(one.nodes))
    row = changed(freed, one.job, JobState="RUNNING", NodeList=one.nodes[0])
    queue.outputs = {**row, "job": "\n".join(r for r in row["job"].split("\n") if r)}
    watch.look()
    queue.changes.clear()
    queue.outputs = changed(freed, one.job, Restarts="1", Reason="BeginTime")
    assert watch.look() is None
    assert touched(queue.changes) == {one.job}
    assert ("scontrol", "uhold", one.job) in queue.changes


def test_a_job_that_someone_holds_again_is_left_alone(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told)
    done = watch.look()  # The recorded queue never changes: all that was released is held.
    assert done is not None
    released = {one.job for one in done.plan}
    queue.changes.clear()
    assert watch.look() is None
    assert any(line.endswith("is held by someone since its release") for line in told)
    assert not queue.changes
    watch.look()
    assert touched(queue.changes)
    assert not touched(queue.changes) & released


def test_time_that_passes_is_no_gain_of_a_new_plan(queue: Any) -> None:
    """A makespan counts from slot 0, so each new plan seems shorter than the one before."""
    told: list[str] = []
    busy = queue.outputs["node"].replace("State=IDLE", "State=IDLE+DRAIN")
    queue.outputs = {**queue.outputs, "node": busy}  # Nothing starts before job 1 ends.
    watch = watching(queue, told, choices=chosen(objective="makespan"))
    watch.look()
    later = queue.outputs["config"].replace("05:36:02", "05:43:02")
    queue.outputs = {**queue.outputs, "config": later}
    watch.look()
    assert sum("new plan" in line for line in told) == 1


def test_an_interruption_ends_the_watch_and_leaves_no_job_half_changed(queue: Any) -> None:
    told: list[str] = []

    def interrupted(command: Sequence[str]) -> str:
        if command[1] == "release" and len(queue.changes) > 2:
            raise KeyboardInterrupt
        answer: str = queue(command)
        return answer

    watch = watching(interrupted, told)
    watch.watch()
    assert "stopped after" in told[-1]
    assert watch.commands[: len(queue.changes)] == queue.changes
    assert len({one[1] for one in queue.changes}) == 2


def test_a_queue_that_empties_while_it_is_planned_ends_nothing(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told)
    plan = watch.plan

    def released(reading: Any) -> slurm.Plan:
        made = plan(reading)
        free = re.sub("Priority=0 ", "Priority=9 ", queue.outputs["job"])
        queue.outputs = {**queue.outputs, "job": free}
        return made

    watch.plan = released
    assert watch.look() is None
    assert "stale at once" in told[-1]
    assert not queue.changes


def test_what_changed_while_it_was_planned_stops_no_other_job(queue: Any) -> None:
    told: list[str] = []
    watch = watching(queue, told)
    plan = watch.plan

    def drained(reading: Any) -> slurm.Plan:
        made = plan(reading)
        (node, *_) = made.jobs[0].gpus
        row = rf"(NodeName={node} .*?State=)IDLE"
        queue.outputs = {
            **queue.outputs,
            "node": re.sub(row, r"\1IDLE+DRAIN", queue.outputs["node"]),
        }
        watch.lost = {one.job for one in made.jobs if node in one.gpus}  # type: ignore[attr-defined]
        return made

    watch.plan = drained
    done = watch.look()
    assert done is not None
    handed = touched(queue.changes)
    assert handed
    assert not handed & watch.lost  # type: ignore[attr-defined]
    assert any("planned again at the next look: node" in line for line in told)


def test_a_slurm_that_does_not_answer_ends_nothing(queue: Any) -> None:
    def silent(command: Sequence[str]) -> str:
        raise SlurmError("no answer")

    told: list[str] = []
    watching(silent, told, every=0.001).watch(2)
    assert sum("no answer" in line for line in told) == 2


def test_limits_of_a_watch_are_checked() -> None:
    with pytest.raises(UsageError, match="most 0: at least 1 is expected"):
        watching(None, [], most=0)
