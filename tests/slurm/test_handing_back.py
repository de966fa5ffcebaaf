"""Plans of recorded queues, and what is handed back of them."""

from __future__ import annotations

import re
import shlex
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from recorded_slurm import changed

from rarmodel import slurm
from rarmodel.errors import InputError, UsageError
from rarmodel.slurm.counts import conflicts

RECORDED = Path(__file__).parent / "recorded/queue"
MINE = {"4", "5", "6", "7", "8", "9", "10", "11", "12"}
"""Held and marked jobs of the recorded queue; 13 is held, and not marked."""


@cache
def planned() -> slurm.Plan:
    """The plan of the recorded queue."""
    return slurm.plan(slurm.read(RECORDED), iterations=20, threads=1)


def ended(outputs: dict[str, str], *ids: str) -> dict[str, str]:
    """The outputs after these jobs are gone."""
    lines = outputs["job"].split("\n")
    gone = tuple(f"JobId={one} " for one in ids)
    left = "\n".join(line for line in lines if not line.startswith(gone))
    idle = outputs["node"]
    for job in {"1", "2", "3"} & {*ids}:  # Each is on the node of its number.
        idle = re.sub(rf"(NodeName=node{job} .*?GresUsed=)\S+", r"\1gpu:h100:0(IDX:N/A)", idle)
    return {**outputs, "job": left, "node": idle}


def test_a_plan_tells_each_waiting_job_beside_slurms_order(queue: Any) -> None:
    made = planned()
    assert {one.job for one in made.jobs} == MINE
    assert made.result.report is not None
    assert made.result.report.feasible
    goal = made.result.objective[0]
    assert made.slurm.objective[0].value >= goal.value >= goal.bound  # type: ignore[operator]
    assert [*made.rows()[0]] == [
        *("job", "name", "user", "GPUs", "starts", "ends", "by Slurm", "waits", "why it waits"),
    ]
    assert {row["user"] for row in made.rows()} == {"alice"}
    assert made.summary()["jobs"][0]["user"] == "alice"
    assert made.headline().startswith("The mean wait falls by ")
    assert made.summary()["mean_wait_seconds"] <= made.summary()["mean_wait_seconds_by_slurm"]


def test_plans_respect_processors_by_their_counts(queue: Any) -> None:
    reading = slurm.read(run=queue)
    alone = slurm.plan(reading.instance, iterations=20, threads=1)
    report = alone.result.report
    assert report is not None
    assert [*conflicts(reading.queue, alone.schedule, report.completion)]
    both = planned()
    assert both.result.report is not None
    assert not both.conflicts
    assert both.instance == slurm.read(RECORDED).instance
    goal, loose = both.result.objective[0], alone.result.objective[0]
    assert goal.bound == loose.bound  # Orders among jobs prove nothing about other plans.
    for result in (both.result, both.slurm):
        assert result.schedule is not None
        assert result.report is not None
        assert not [*conflicts(reading.queue, result.schedule, result.report.completion)]
    assert not [*conflicts(reading.queue, both.schedule, both.result.report.completion)]


def test_only_held_and_marked_jobs_are_touched_in_order_of_start(queue: Any) -> None:
    applied = slurm.apply(planned().schedule, run=queue)
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
    applied = slurm.apply(planned().schedule, run=queue)
    path = tmp_path / "plan.sh"
    path.write_text(f"scontrol() {{ printf '%s\\0' scontrol \"$@\"; echo; }}\n{applied.script()}")
    done = subprocess.run(["sh", path], capture_output=True, text=True, check=True)
    ran = [tuple(line.split("\0")[:-1]) for line in done.stdout.splitlines()]
    commands = [command for one in applied.plan for command in one.commands()]
    assert ran == commands
    assert shlex.join(commands[0]) in applied.script()


def test_refused_updates_are_reported_and_not_released(queue: Any) -> None:
    made = planned()
    queue.refused = {"jobid=5"}
    told: list[str] = []
    applied = slurm.apply(made.schedule, run=queue, carry_out=True, tell=told.append)
    assert [*applied.commands] == queue.changes
    assert told == [shlex.join(one) for one in queue.changes]
    assert ("scontrol", "release", "5") not in queue.changes
    assert ("scontrol", "release", "6") in queue.changes
    assert any("refused" in one for one in applied.differences)
    # The recorded queue never changes, so every other job differs from its plan.
    assert sum("is still held" in one for one in applied.differences) == len(MINE) - 1


def test_the_script_releases_no_job_that_was_refused_and_goes_on(
    queue: Any, tmp_path: Path
) -> None:
    applied = slurm.apply(planned().schedule, run=queue)
    first = applied.plan[0].job
    refusing = f'scontrol() {{ echo "$@"; [ "$2" != jobid={first} ]; }}\n'
    path = tmp_path / "plan.sh"
    path.write_text(refusing + applied.script())
    done = subprocess.run(["sh", path], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    released = {line.split()[1] for line in done.stdout.splitlines() if "release" in line}
    assert released == MINE - {first}


def test_a_plan_is_for_its_own_cluster(queue: Any) -> None:
    made = planned()
    other = queue.outputs["config"].replace("= lab", "= prod")
    queue.outputs = {**queue.outputs, "config": other}
    with pytest.raises(InputError, match="'lab'; this cluster is 'prod'"):
        slurm.apply(made.schedule, run=queue)


def test_of_jobs_at_slot_0_those_that_never_ran_are_missed(queue: Any) -> None:
    made = planned()
    first = next(one.job for one in made.jobs if one.start == 0)
    queue.outputs = changed(queue.outputs, first, JobState="CANCELLED", Reason="None")
    with pytest.raises(slurm.StaleError, match=f"^job {first} is gone$"):
        slurm.apply(made.schedule, run=queue)


def test_a_job_that_was_released_is_stale_unless_it_is_where_the_plan_has_it(queue: Any) -> None:
    made = planned()
    first = made.jobs[0]
    outputs = changed(queue.outputs, first.job, Priority="7", Reason="Priority")
    queue.outputs = outputs
    with pytest.raises(slurm.StaleError, match=f"job {first.job} can no longer .*: not held"):
        slurm.apply(made.schedule, run=queue)
    queue.outputs = changed(outputs, first.job, ReqNodeList=",".join(first.gpus))
    applied = slurm.apply(made.schedule, run=queue)
    assert {one.job for one in applied.plan} == MINE - {first.job}
    assert first.job in applied.untouched


def test_named_jobs_that_changed_are_missed_too(queue: Any) -> None:
    made = slurm.plan(slurm.read(run=queue, named=["13"]), iterations=20, threads=1)
    queue.outputs = changed(queue.outputs, "13", Switches="1@00:05:00")
    with pytest.raises(slurm.StaleError, match=r"job 13 can no longer be planned: .*--switches"):
        slurm.apply(made.schedule, run=queue, named=["13"])


def test_an_overrun_at_the_first_start_is_stale_though_the_plan_could_move(queue: Any) -> None:
    """A job that is past its estimate may last: what starts on its GPUs must not start now."""
    made = planned()
    behind = {one.job for one in made.jobs if one.start >= 10}  # Jobs 1 to 3 should end by then.
    rows = [one for one in made.schedule.assignments if one.job in {"1", "2", "3", *behind}]
    left = made.schedule.model_copy(update={"assignments": tuple(rows)})
    gone = ended(queue.outputs, *(MINE - behind))
    queue.outputs = {**gone, "config": gone["config"].replace("T05:36", "T05:47")}
    with pytest.raises(slurm.StaleError, match="node1"):
        slurm.apply(left, run=queue)
    queue.outputs = ended(queue.outputs, "1", "2", "3")
    assert {one.job for one in slurm.apply(left, run=queue).plan} == behind


def test_an_end_before_its_time_makes_nothing_stale(queue: Any) -> None:
    made = planned()
    queue.outputs = ended(queue.outputs, "1")
    assert {one.job for one in slurm.apply(made.schedule, run=queue).plan} == MINE


def test_what_changed_is_named(queue: Any) -> None:
    made = planned()
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
    made = planned()
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
    again = slurm.apply(
        made.schedule, run=queue, replan=True, limits={"iterations": 20, "threads": 1}
    )
    assert {one.job for one in again.plan} == MINE


def as_user(queue: Any, monkeypatch: pytest.MonkeyPatch, uid: int) -> None:
    """Run as the user of this number."""
    monkeypatch.setattr("os.geteuid", lambda: uid)


@pytest.mark.parametrize(("uid", "tasks"), [(0, True), (64030, True), (1000, False)])
def test_only_operators_set_the_tasks_on_each_node(
    queue: Any, monkeypatch: pytest.MonkeyPatch, uid: int, tasks: bool
) -> None:
    made = planned()
    as_user(queue, monkeypatch, uid)  # Slurm's user is 64030, and the jobs are those of 1000.
    applied = slurm.apply(made.schedule, run=queue)
    assert {one.job for one in applied.plan} == MINE
    assert tasks == ("taskspernode" in applied.script())
    assert tasks != bool(applied.divided)


def test_jobs_of_others_are_for_operators_and_that_is_said(
    queue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned()
    foreign = re.sub(r"(JobId=5 .*?)UserId=\S+", r"\1UserId=eve(1001)", queue.outputs["job"])
    held = re.sub(r"(JobId=6 .*?)JobHeldUser", r"\1JobHeldAdmin", foreign)
    queue.outputs = {**queue.outputs, "job": held}
    as_user(queue, monkeypatch, 1000)
    reading = slurm.read(run=queue)
    assert set(reading.mine) == MINE - {"5", "6"}
    said = "\n".join(reading.lines())
    assert "another user's; with --operator" in said
    assert "held by an operator of Slurm" in said
    assert set(slurm.read(run=queue, operator=True).mine) == MINE
    with pytest.raises(slurm.StaleError, match="job 5 can no longer be planned: held, and another"):
        slurm.apply(made.schedule, run=queue, carry_out=True)
    assert not queue.changes


def test_nothing_to_touch_is_refused(queue: Any) -> None:
    made = planned()
    queue.outputs = {**queue.outputs, "job": queue.outputs["job"].replace("=rarmodel", "=mine")}
    with pytest.raises(UsageError, match="no job of the plan may be touched"):
        slurm.apply(made.schedule, run=queue)


def test_the_way_back_restores_requests_in_an_order_that_slurm_takes(queue: Any) -> None:
    applied = slurm.apply(planned().schedule, run=queue)
    assert [one.job for one in applied.former] == [one.job for one in applied.plan]
    (first,) = [one for one in applied.former if one.job == "5"]  # --gpus=8 --ntasks=8
    wait, hold, request, processors = first.commands()
    assert wait == ("scontrol", "update", "jobid=5", "starttime=now+1hour")
    assert hold == ("scontrol", "uhold", "5")
    names = [word.partition("=")[0] for word in request[2:]]
    assert names.index("numnodes") < names.index("taskspernode") < names.index("TresPerJob")
    told = dict(word.split("=", 1) for word in request[2:])
    assert told["numnodes"] == "1-8"
    assert told["TresPerNode"] == told["TresPerTask"] == told["nodelist"] == ""
    assert told["TresPerJob"] == "gres:gpu:8"
    assert told["starttime"] == "now"
    assert processors == ("scontrol", "update", "jobid=5", "numcpus=8")
    undo = applied.undo()
    assert undo.count("scontrol uhold ") == len(MINE)
    jobs = re.findall(r"scontrol uhold (\d+)", undo)
    assert jobs == [one.job for one in reversed(applied.plan)]


def test_former_values_are_kept_as_they_were(queue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = changed(queue.outputs, "10", ReqNodeList="node[4-6]", NumNodes="3-3", NumTasks="3")
    outputs = changed(outputs, "10", EligibleTime="2026-11-22T05:40:00")
    small = outputs["partition"].replace("MaxNodes=UNLIMITED", "MaxNodes=3")
    queue.outputs = changed({**outputs, "partition": small}, "9", JobState="CANCELLED")
    held = re.sub(r"(JobId=5 .*?)JobHeldUser", r"\1JobHeldAdmin", queue.outputs["job"])
    queue.outputs = {**queue.outputs, "job": held}
    made = slurm.plan(slurm.read(run=queue), iterations=20, threads=1)
    former = {one.job: one for one in slurm.apply(made.schedule, run=queue).former}
    assert {"numnodes=3-3", "nodelist=node4,node5,node6", "starttime=2026-11-22T05:40:00"} <= {
        *former["10"].request
    }
    assert "numnodes=1-3" in former["5"].request  # No more than its partition lets it have.
    assert former["5"].commands()[1] == ("scontrol", "hold", "5")
    assert former["10"].commands()[1] == ("scontrol", "uhold", "10")


def test_a_job_that_was_half_changed_gets_its_request_back(queue: Any) -> None:
    made = planned()
    queue.refused = {"TresPerJob="}  # Slurm may have taken the settings before it.
    applied = slurm.apply(made.schedule, run=queue, carry_out=True)
    one, back = applied.plan[0], applied.former[0]
    ran = [command for command in queue.changes if command[-1] == one.job or one.job in command[2]]
    assert ran[:2] == [*one.commands()[:2]]
    assert one.release() not in queue.changes
    for command in back.commands()[:2]:
        assert command in queue.changes


def test_a_job_that_no_longer_waits_is_not_changed(queue: Any) -> None:
    made = planned()
    applied = slurm.apply(made.schedule, run=queue)
    first = applied.plan[0]
    queue.refused = {first.wait()[-1]}
    slurm.apply(made.schedule, run=queue, carry_out=True)
    starts = {one.job for one in applied.plan if one.start == first.start}
    own = [command for command in queue.changes if command[2].removeprefix("jobid=") in starts]
    assert {*own} == {one.wait() for one in applied.plan if one.job in starts}


def test_the_number_of_tasks_is_not_said_anew(queue: Any) -> None:
    """Slurm chooses it by the nodes; said by anyone, it binds the job for good."""
    applied = slurm.apply(planned().schedule, run=queue)
    assert "numtasks=" not in applied.script()
    assert "numtasks=" not in applied.undo()


def test_what_slurm_holds_after_a_requeue_is_left_alone(queue: Any) -> None:
    queue.outputs = changed(queue.outputs, "5", Reason="job_requeued_in_held_state")
    reading = slurm.read(run=queue)
    assert "5" not in reading.mine
    assert any(
        "held by Slurm after it was requeued" in n and "5" in i for n, i in reading.notes.items()
    )
