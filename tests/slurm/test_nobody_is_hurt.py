"""On a real Slurm: no job is ended, interrupted, shrunk or forgotten for a plan."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from fake_slurm import FakeSlurm, missing

from rarmodel import slurm
from rarmodel.slurm.program_outputs import COMMANDS, SlurmError, record
from rarmodel.slurm.records import lines
from rarmodel.slurm.slurm_values import moment
from rarmodel.workloads.slurm import expand

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.xdist_group("slurm"),
]

MARKED = "--comment=rarmodel"
HOUR = timedelta(hours=1)
NOBODY = 65534
ASKED = (
    *("NumNodes", "NumTasks", "NumCPUs", "NtasksPerN:B:S:C", "CPUs/Task", "MinCPUsNode"),
    *("TresPerNode", "TresPerJob", "TresPerTask", "ReqNodeList", "ExcNodeList", "Dependency"),
    *("Priority", "Reason", "Nice", "TimeLimit", "Deadline", "Comment", "MemPerTres"),
)
"""What a held job asks for."""
REQUESTS = (
    ["--gpus=6", "--ntasks=6"],
    ["--gpus=6"],
    ["-N2", "--gres=gpu:4"],
    ["-N1", "--gres=gpu:h100:2", "--mem=4000", "-c2"],
    ["--nodes=2-4", "--gpus-per-node=2"],
    ["-N1", "--gpus-per-task=1", "--ntasks=4"],
    ["--gpus=8", "--ntasks=8", "--ntasks-per-node=4"],
    ["-N2", "--gpus=4", "-w", "node[2-3]"],
    ["--gpus=6", "--ntasks=6", "--begin=now+1hour"],
    ["--gpus=4", "--ntasks=4", "-x", "node1", "--mem-per-gpu=1000", "--nice=50"],
    ["--array=0-2", "--gpus=3", "--ntasks=3"],
)
"""Requests whose way back differs."""


def jobs(cluster: FakeSlurm) -> dict[str, Mapping[str, str]]:
    """What Slurm says of every job, by the id of its task."""
    found = dict[str, Mapping[str, str]]()
    for line in lines(cluster.run(COMMANDS["job"]), "JobId"):
        array = line.values.get("ArrayJobId")
        name = line.name if array is None else f"{array}_{line.values['ArrayTaskId']}"
        found[name] = line.values
    return found


def asked(values: Mapping[str, str]) -> dict[str, str]:
    """What a job asks for, as far as Slurm tells it."""
    told = {key: text for key in ASKED if (text := values.get(key, "")) not in {"", "(null)"}}
    if "ReqNodeList" in told:
        told["ReqNodeList"] = ",".join(expand(told["ReqNodeList"]))
    return told


def run_script(cluster: FakeSlurm, path: Path, user: int | None = None) -> int:
    """Run a script as a user; its exit code."""
    done = subprocess.run(
        ["sh"],
        input=path.read_bytes(),
        env=cluster.environment,
        capture_output=True,
        check=False,
        cwd="/",
        user=user,
    )
    return done.returncode


def runs(cluster: FakeSlurm, job: str) -> bool:
    return jobs(cluster)[job]["JobState"] == "RUNNING"


def never_starts(cluster: FakeSlurm, job: str) -> bool:
    return jobs(cluster)[job]["Reason"] == "BadConstraints"


def has_completed(cluster: FakeSlurm, job: str) -> bool:
    return jobs(cluster)[job]["JobState"] == "COMPLETED"


def test_no_job_is_told_to_start_too_late_for_its_deadline(tmp_path: Path) -> None:
    with FakeSlurm(2) as cluster:
        limit = ["-N1", "--gres=gpu:8", "-t1", MARKED]
        first = cluster.submit(*limit, "--deadline=now+4minutes", seconds=5)
        late = cluster.submit(*limit, "--deadline=now+90seconds", seconds=5)
        read = partial(slurm.read, run=cluster.run, slot_seconds=5.0)
        reading = read()
        assert {*reading.mine} == {first}
        assert any(
            "past its deadline" in note and late in ids for note, ids in reading.notes.items()
        )
        made = slurm.plan(reading, time_limit=1)
        (row,) = [one for one in made.schedule.assignments if one.job == first]
        later = row.model_copy(
            update={"start": 36}
        )  # In 3 minutes; the limit ends at the deadline.
        delayed = made.schedule.model_copy(update={"assignments": (later,)})
        apply = partial(slurm.apply, run=cluster.run, carry_out=True)
        with pytest.raises(slurm.StaleError, match=r"for its deadline .* or else Slurm ends it"):
            apply(delayed)
        assert jobs(cluster)[first]["Reason"] == "JobHeldUser"
        assert not apply(made.schedule).differences
        cluster.wait(lambda: jobs(cluster)[first]["JobState"] == "COMPLETED", 30, "its end")
        # So would it have ended, had it been told to start then.
        cluster.run(["scontrol", "update", f"jobid={late}", "deadline=now+70"])
        cluster.run(["scontrol", "update", f"jobid={late}", "starttime=now+14"])
        cluster.run(["scontrol", "release", late])
        cluster.wait(lambda: jobs(cluster)[late]["JobState"] == "DEADLINE", 30, "its deadline")


@pytest.mark.parametrize("user", [None, NOBODY])
def test_the_way_back_restores_the_very_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int | None
) -> None:
    if user is not None and os.getuid() != 0:
        pytest.skip("only root can also be another user")
    with FakeSlurm(4) as cluster:
        monkeypatch.setattr("os.geteuid", lambda: os.getuid() if user is None else user)
        run = partial(cluster.run, user=user)
        for request in REQUESTS:
            cluster.submit(*request, "-t30", MARKED, user=user)
        first = cluster.submit("--gpus=6", "--ntasks=6", "-t30", MARKED, user=user)
        reading = slurm.read(run=run)
        before = {job: asked(reading.queue.jobs[job].record) for job in reading.mine}
        assert len(before) == len(REQUESTS) + 3
        (row,) = [job for job in reading.instance.jobs if job.name == first]
        assert row.spread is not None
        spread = row.spread.model_copy(update={"min_servers": 2, "max_servers": 2})
        two = row.model_copy(update={"servers": ("node3", "node4"), "spread": spread})
        others = tuple(two if job.name == first else job for job in reading.instance.jobs)
        made = slurm.plan(reading.instance.model_copy(update={"jobs": others}), time_limit=2)
        undo, script = tmp_path / "undo.sh", tmp_path / "plan.sh"
        applied = slurm.apply(made.schedule, run=run, undo=undo)
        script.write_text(applied.script())
        assert {one.job for one in applied.plan} == {*before}
        assert {one.job: one.nodes for one in applied.plan}[first] == ("node3", "node4")
        # All wait for an hour more, so that none starts meanwhile.
        text = script.read_text()
        for one in applied.plan:
            text = text.replace(one.wait()[-1], "starttime=now+1hour")
        script.write_text(text)
        assert run_script(cluster, script, user) == 0
        assert jobs(cluster)[first]["NumNodes"] == "2-2"
        assert jobs(cluster)[first]["Priority"] != "0"
        assert run_script(cluster, undo, user) == 0
        back = {job: asked(values) for job, values in jobs(cluster).items() if job in before}
        for job, values in before.items():
            if "-" not in values["NumNodes"]:  # It can have all nodes, as before.
                least, most = back[job].pop("NumNodes").split("-")
                assert least == values.pop("NumNodes")
                assert int(most) == 4 or int(most) == int(values["NumTasks"]) > 1
            assert back[job] == values
        begun = {job: moment(values["EligibleTime"]) for job, values in jobs(cluster).items()}
        assert [
            job
            for job in before
            if (begun[job] or reading.queue.now) > reading.queue.now + HOUR / 2
        ] == [job for job in before if reading.queue.jobs[job].moment("EligibleTime")]


def test_jobs_on_their_way_back_run_as_if_nothing_had_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = NOBODY if os.getuid() == 0 else None  # An operator's change of nodes lifts limits.
    shapes = [request for request in REQUESTS if "--begin=now+1hour" not in request][:-1]
    with FakeSlurm(4) as cluster:
        monkeypatch.setattr("os.geteuid", lambda: user or os.getuid())
        run = partial(cluster.run, user=user)
        for request in shapes:
            job = cluster.submit(*request, "-t30", MARKED, user=user)
            made = slurm.plan(slurm.read(run=run), time_limit=0.5)
            undo = tmp_path / f"{job}.sh"
            applied = slurm.apply(made.schedule, run=run, undo=undo)
            for command in (*applied.plan[0].commands()[:2],):
                run(command)
            assert run_script(cluster, undo, user) == 0
            run(["scontrol", "release", job])
            cluster.wait(partial(runs, cluster, job), 10, "its start")
            found = jobs(cluster)[job]
            cluster.run(["scancel", job])
            fresh = cluster.submit(*request, "-t30", held=False, user=user)
            cluster.wait(partial(runs, cluster, fresh), 10, "its start")
            for key in ("NumNodes", "NumTasks", "NumCPUs", "JOB_GRES"):
                assert found[key] == jobs(cluster)[fresh][key], (request, key)
            cluster.run(["scancel", fresh])
            cluster.wait(lambda: not cluster.run(["squeue", "-h"]), 10, "its end")


def test_a_script_that_is_late_changes_no_job_that_runs(tmp_path: Path) -> None:
    with FakeSlurm(4) as cluster:
        job = cluster.submit("--nodes=2-4", "--gpus-per-node=2", "-t30", MARKED)
        reading = slurm.read(run=cluster.run)
        (row,) = reading.instance.jobs
        fewer = row.model_copy(update={"gpus": 4})
        one = reading.instance.model_copy(update={"jobs": (fewer,)})
        made = slurm.plan(one, time_limit=0.5)
        undo = tmp_path / "undo.sh"
        applied = slurm.apply(made.schedule, run=cluster.run, undo=undo)
        assert "numnodes=2-2" in applied.script()
        (tmp_path / "plan.sh").write_text(applied.script())
        cluster.run(["scontrol", "release", job])
        cluster.wait(partial(runs, cluster, job), 10, "its start")
        assert len(expand(jobs(cluster)[job]["NodeList"])) == 4
        keys = ("NodeList", "NumNodes", "JOB_GRES", "Priority", "Reason", "Restarts")
        before = {key: jobs(cluster)[job][key] for key in keys}
        assert run_script(cluster, tmp_path / "plan.sh") == 1
        assert run_script(cluster, undo) == 1
        assert {key: jobs(cluster)[job][key] for key in keys} == before
        # Slurm does shrink it for the one command of before, though it says that it refuses.
        with pytest.raises(SlurmError):
            cluster.run([*applied.plan[0].update(), "starttime=now+1hour"])
        assert len(expand(jobs(cluster)[job]["NodeList"])) == 2


def test_no_ring_crosses_trees_that_no_switch_joins(tmp_path: Path) -> None:
    switches = ["SwitchName=hallA Nodes=node[1-2]", "SwitchName=hallB Nodes=node[3-4]"]
    with FakeSlurm(5, switches=switches) as cluster:
        busy = [
            cluster.submit("-N1", "--gres=gpu:8", "-w", node, "-t1", seconds=8, held=False)
            for node in ("node1", "node3")
        ]
        cluster.wait(lambda: all(runs(cluster, job) for job in busy), 10, "their start")
        seconds = '--comment=rarmodel {"seconds": 3}'
        pairs = [cluster.submit("-N2", "--gres=gpu:8", seconds, "-t1", seconds=2) for _ in range(3)]
        single = cluster.submit("-N1", "--gres=gpu:8", seconds, "-t1", seconds=2)
        wide = cluster.submit("-N3", "--gres=gpu:8", seconds, "-t1", seconds=2)
        reading = slurm.read(run=cluster.run, slot_seconds=1.0)
        assert {*reading.mine} == {*pairs, single}
        assert any(
            "no tree of switches has room" in n and wide in i for n, i in reading.notes.items()
        )
        assert any("below no switch" in line and "node5" in line for line in reading.lines())
        made = slurm.plan(reading, time_limit=1)
        for one in made.jobs:
            assert {*one.gpus} in ({"node1", "node2"}, {"node3", "node4"}) or one.job == single
        applied = slurm.apply(made.schedule, run=cluster.run, carry_out=True)
        assert not applied.differences
        for job in (*pairs, single):
            cluster.wait(partial(has_completed, cluster, job), 90, f"the end of {job}")
        for count, nodes in ((2, "node1,node3"), (1, "node5")):  # Slurm never starts these.
            pinned = cluster.submit(f"-N{count}", "--gres=gpu:1")
            cluster.run(["scontrol", "update", f"jobid={pinned}", f"nodelist={nodes}"])
            cluster.run(["scontrol", "release", pinned])
            cluster.wait(partial(never_starts, cluster, pinned), 10, "that")


PREEMPTING = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=high Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=low Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=REQUEUE"""


def test_no_job_is_preempted_for_a_plan(tmp_path: Path) -> None:
    with FakeSlurm(2, extra=PREEMPTING) as cluster:
        low = [
            cluster.submit(
                "-plow", "-N1", "--gres=gpu:8", "-t2", '--comment={"seconds": 5}', held=False
            )
            for _ in range(2)
        ]
        cluster.wait(lambda: all(runs(cluster, job) for job in low), 10, "their start")
        record(slurm.program_outputs.live(cluster.run), tmp_path / "recorded")
        kept = (tmp_path / "recorded/config.txt").read_text()
        assert "PreemptType             = preempt/partition_prio" in kept
        assert "PreemptMode             = REQUEUE" in kept
        # It may not start yet, so none gives way to it.
        later = ["--begin=now+90", MARKED]
        high = cluster.submit("-phigh", "-N1", "--gres=gpu:8", "-t1", *later, seconds=2)
        rules = tmp_path / "rules.json"
        rules.write_text('{"profiles": [{"name": "*", "profile": {"seconds": 5}}]}')
        read = partial(slurm.read, run=cluster.run, slot_seconds=1.0, profiles=rules)
        reading = read()
        made = slurm.plan(reading, time_limit=1)
        assert "by preemption" in made.head()[0]
        assert "gap" not in made.lines()
        assert made.result.gap is None
        (planned,) = made.jobs
        assert planned.start >= 110  # When the limits of the others are over, not their estimates.
        (row,) = [one for one in made.schedule.assignments if one.job == high]
        others = [one for one in made.schedule.assignments if one.job != high]
        early = made.schedule.model_copy(
            update={"assignments": (*others, row.model_copy(update={"start": 8}))}
        )
        with pytest.raises(slurm.StaleError):
            slurm.apply(early, run=cluster.run, carry_out=True, profiles=rules)
        assert jobs(cluster)[high]["Reason"] == "JobHeldUser"
        # Slurm would have interrupted one of them.
        cluster.run(["scontrol", "update", f"jobid={high}", "nodelist=node1", "starttime=now"])
        cluster.run(["scontrol", "release", high])
        cluster.wait(lambda: not all(runs(cluster, job) for job in low), 15, "preemption")
