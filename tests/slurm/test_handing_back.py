"""Plans of recorded queues, and what is handed back of them."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rarmodel import slurm
from rarmodel.errors import UsageError
from rarmodel.slurm.applying import needs_operator
from rarmodel.slurm.counts import conflicts
from rarmodel.slurm.queue import queue_of

MINE = {"4", "5", "6", "7", "8", "9", "10", "11", "12"}
"""Held and marked jobs of the recorded queue; 13 is held, and not marked."""


def planned(queue: Any) -> slurm.Plan:
    return slurm.plan(slurm.read(run=queue), iterations=20, threads=1)


def ended(outputs: dict[str, str], *ids: str) -> dict[str, str]:
    """The outputs after these jobs are gone."""
    lines = outputs["job"].split("\n")
    gone = tuple(f"JobId={one} " for one in ids)
    left = "\n".join(line for line in lines if not line.startswith(gone))
    held = outputs["node"]
    if "1" in ids:
        held = held.replace("GresUsed=gpu:h100:8(IDX:0-7)", "GresUsed=gpu:h100:0(IDX:N/A)", 1)
    return {**outputs, "job": left, "node": held}


def test_a_plan_tells_each_waiting_job_beside_slurms_order(queue: Any) -> None:
    made = planned(queue)
    assert {one.job for one in made.jobs} == MINE
    assert made.result.report is not None
    assert made.result.report.feasible
    goal = made.result.objective[0]
    assert made.slurm.objective[0].value >= goal.value >= goal.bound  # type: ignore[operator]
    assert [*made.rows()[0]] == ["job", "GPUs", "starts", "ends", "by Slurm", "why it waits"]
    assert made.summary()["mean_wait_seconds"] <= made.summary()["mean_wait_seconds_by_slurm"]


def test_plans_respect_processors_by_their_counts(queue: Any) -> None:
    reading = slurm.read(run=queue)
    alone = slurm.plan(reading.instance, iterations=20, threads=1)
    report = alone.result.report
    assert report is not None
    assert [*conflicts(reading.queue, alone.schedule, report.completion)]
    both = planned(queue)
    assert both.result.report is not None
    assert not [*conflicts(reading.queue, both.schedule, both.result.report.completion)]


def test_only_held_and_marked_jobs_are_touched_in_order_of_start(queue: Any) -> None:
    applied = slurm.apply(planned(queue).schedule, run=queue)
    assert not queue.changes
    assert {one.job for one in applied.plan} == MINE
    assert applied.untouched == ("13",)
    starts = [one.start for one in applied.plan]
    assert starts == sorted(starts)
    for one in applied.plan:
        assert one.update()[:3] == ("scontrol", "update", f"jobid={one.job}")
    wide = {one.job: one for one in applied.plan}["10"]
    assert "gres=gpu:h100:2" in wide.update()


def test_named_jobs_are_touched_too(queue: Any) -> None:
    made = slurm.plan(slurm.read(run=queue, named=["13"]), iterations=20, threads=1)
    applied = slurm.apply(made.schedule, run=queue, named=["13"])
    assert {one.job for one in applied.plan} == MINE | {"13"}


def test_the_script_is_the_commands_for_a_shell(queue: Any, tmp_path: Path) -> None:
    applied = slurm.apply(planned(queue).schedule, run=queue)
    path = tmp_path / "plan.sh"
    path.write_text(f"scontrol() {{ printf '%s\\0' scontrol \"$@\"; echo; }}\n{applied.script()}")
    done = subprocess.run(["sh", path], capture_output=True, text=True, check=True)
    ran = [tuple(line.split("\0")[:-1]) for line in done.stdout.splitlines()]
    commands = [one.update() for one in applied.plan] + [one.release() for one in applied.plan]
    assert ran == commands
    assert shlex.join(commands[0]) in applied.script()


def test_refused_updates_are_reported_and_not_released(queue: Any) -> None:
    made = planned(queue)
    queue.refused = {"jobid=5"}
    told: list[str] = []
    applied = slurm.apply(made.schedule, run=queue, carry_out=True, operator=True, tell=told.append)
    assert [*applied.commands] == queue.changes
    assert told == [shlex.join(one) for one in queue.changes]
    assert ("scontrol", "release", "5") not in queue.changes
    assert ("scontrol", "release", "6") in queue.changes
    assert any("refused" in one for one in applied.differences)
    # The recorded queue never changes, so every other job differs from its plan.
    assert sum("is still held" in one for one in applied.differences) == len(MINE) - 1


def test_an_end_before_its_time_makes_nothing_stale(queue: Any) -> None:
    made = planned(queue)
    queue.outputs = ended(queue.outputs, "1")
    assert {one.job for one in slurm.apply(made.schedule, run=queue).plan} == MINE


def test_what_changed_is_named(queue: Any) -> None:
    made = planned(queue)
    later = next(one for one in made.jobs if one.start > 0)
    first, outputs = made.jobs[0], queue.outputs

    def changes() -> str:
        with pytest.raises(slurm.StaleError) as error:
            slurm.apply(made.schedule, run=queue)
        return str(error.value)

    queue.outputs = ended(outputs, later.job)
    assert changes() == f"job {later.job} is gone"
    name = next(iter(first.gpus))
    lines = [
        line.replace("State=IDLE", "State=IDLE+DRAIN").replace("State=MIXED", "State=DOWN")
        if line.startswith(f"NodeName={name} ")
        else line
        for line in outputs["node"].split("\n")
    ]
    queue.outputs = {**outputs, "node": "\n".join(lines)}
    assert f"node {name} is lost" in changes()
    assert "job 9 can no longer be planned: left out: needs more GPUs" in changes()
    smaller = outputs["job"].replace("TresPerJob=gres:gpu:8 ", "TresPerJob=gres:gpu:6 ")
    queue.outputs = {**outputs, "job": smaller}
    assert "job 5 changed" in changes()


def test_gpus_that_are_still_held_make_a_plan_stale(queue: Any) -> None:
    made = planned(queue)
    behind = next(one for one in made.jobs if one.start > 0 and "node1" in one.gpus)
    late = queue.outputs["config"].replace("T05:36", "T05:59")  # Jobs 1 to 3 run all the same.
    queue.outputs = {**queue.outputs, "config": late}
    applied = slurm.apply(made.schedule, run=queue)  # The whole plan is late, so it moves.
    assert applied.late_seconds > 1000
    assert behind.job in {one.job for one in applied.plan}
    longer = queue.outputs["job"].replace("TimeLimit=00:10:00", "TimeLimit=02:00:00")
    queue.outputs = {**queue.outputs, "job": longer}
    with pytest.raises(slurm.StaleError, match="node1"):
        slurm.apply(made.schedule, run=queue)
    again = slurm.apply(made.schedule, run=queue, replan=True, limits={"iterations": 20})
    assert {one.job for one in again.plan} == MINE


def test_what_needs_an_operator_is_said_before_anything_is_done(queue: Any) -> None:
    applied = slurm.apply(planned(queue).schedule, run=queue)
    everything = queue_of(queue.outputs)
    assert not needs_operator(applied, everything, 1000)
    assert not needs_operator(applied, everything, 0)
    assert not needs_operator(applied, everything, 64030)
    assert len(needs_operator(applied, everything, 1001)) == len(MINE)


def test_nothing_to_touch_is_refused(queue: Any) -> None:
    made = planned(queue)
    queue.outputs = {**queue.outputs, "job": queue.outputs["job"].replace("=rarmodel", "=mine")}
    with pytest.raises(UsageError, match="nothing may be touched"):
        slurm.apply(made.schedule, run=queue)
