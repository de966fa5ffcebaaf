"""The same against a real slurmctld, with a slurmd for each node and faked GPUs."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from threading import Thread

import pytest
from fake_slurm import SHAPES, FakeSlurm, missing

from rarmodel import slurm
from rarmodel.slurm.program_outputs import COMMANDS
from rarmodel.slurm.records import lines
from rarmodel.slurm.slurm_values import moment
from rarmodel.workloads.slurm import expand

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.xdist_group("slurm"),
]


@pytest.fixture
def cluster() -> Iterator[FakeSlurm]:
    """Eight nodes of 8 GPUs."""
    with FakeSlurm(8) as running:
        yield running


def marked(seconds: float) -> str:
    return f'--comment=rarmodel {{"seconds": {seconds:g}}}'


def states(cluster: FakeSlurm) -> dict[str, dict[str, str]]:
    """What Slurm says of every job, by the id of its task, also of those that have ended."""
    found = {}
    for line in lines(cluster.run(COMMANDS["job"]), "JobId"):
        task = f"{line.values.get('ArrayJobId')}_{line.values.get('ArrayTaskId')}"
        found[task if "ArrayJobId" in line.values else line.name] = dict(line.values)
    return found


def all_done(cluster: FakeSlurm, jobs: list[str], seconds: float) -> dict[str, dict[str, str]]:
    """The jobs after the last of them has ended."""
    over = {"COMPLETED", "CANCELLED", "TIMEOUT"}
    cluster.wait(
        lambda: {states(cluster)[job]["JobState"] for job in jobs} <= over, seconds, "their end"
    )
    return states(cluster)


TIERS = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=low Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 PreemptMode=OFF State=UP
"""


def test_slurm_interrupts_the_jobs_that_give_way_in_the_plan() -> None:
    with FakeSlurm(3, extra=TIERS) as cluster:
        low = ["--partition=low", "--gres=gpu:8", "--nodes=1", "--requeue", "--time=60"]
        running = [cluster.submit(*low, f"--nodelist=node{n}", held=False) for n in (1, 2, 3)]
        cluster.wait(
            lambda: {states(cluster)[job]["JobState"] for job in running} == {"RUNNING"}, 20, "runs"
        )
        wanted = ["--partition=urgent", "--gres=gpu:8", "--nodes=2", "--time=60"]
        urgent = cluster.submit(*wanted, "--comment=rarmodel")
        reading = slurm.read(run=cluster.run)
        assert {one.to for one in reading.given.values()} == {urgent}
        made = slurm.plan(reading, iterations=20, threads=1)
        (planned,) = [one for one in made.jobs if one.job == urgent]
        assert planned.start == planned.by_slurm == 0
        applied = slurm.apply(made.schedule, carry_out=True, run=cluster.run)
        assert not applied.differences
        cluster.wait(lambda: states(cluster)[urgent]["JobState"] == "RUNNING", 30, "urgent start")
        found = states(cluster)
        interrupted = {job for job in running if found[job]["JobState"] != "RUNNING"}
        assert interrupted == {*reading.given}
        assert set(expand(found[urgent]["NodeList"])) == {*planned.gpus}


@pytest.mark.skipif(bool(missing(accounting=True)), reason=missing(accounting=True))
@pytest.mark.parametrize("asked", ["gpu", "gpu:h100"])
def test_a_limit_of_a_qos_lets_a_job_wait_as_in_the_plan(asked: str) -> None:
    """Job 1 names no type, and its 8 h100 count against a limit on the type as well."""
    with FakeSlurm(2, accounting=True) as cluster:
        cluster.run(
            ["sacctmgr", "-i", "modify", "qos", "normal", "set", f"GrpTRES=gres/{asked}=11"]
        )
        first = cluster.submit("-N1", "--gres=gpu:8", marked(25), seconds=25, held=False)
        cluster.wait(lambda: states(cluster)[first]["JobState"] == "RUNNING", 20, "the first")
        three = cluster.submit("-N1", f"--gres={asked}:3", marked(3), seconds=2)
        four = cluster.submit("-N1", f"--gres={asked}:4", marked(3), seconds=2)
        reading = slurm.read(run=cluster.run, slot_seconds=1.0)
        made = slurm.plan(reading, iterations=50, threads=1)
        start = {one.job: one.start for one in made.jobs}
        assert start[three] == 0 < start[four]
        cluster.run(["scontrol", "release", f"{three},{four}"])
        cluster.wait(lambda: states(cluster)[three]["JobState"] != "PENDING", 15, "the small one")
        cluster.wait(lambda: states(cluster)[four]["Reason"] == "QOSGrpGRES", 15, "the reason")
        found = all_done(cluster, [first, three, four], 60)
        # Moments as Slurm writes them are in order as text.
        assert found[four]["StartTime"] >= found[first]["EndTime"] > found[three]["StartTime"]


def test_unequal_parts_of_gpus_alone_start_on_the_nodes_of_the_plan() -> None:
    with FakeSlurm(3) as cluster:
        mine = cluster.submit("--gpus=12", "--time=60", marked(5))
        reading = slurm.read(run=cluster.run, slot_seconds=1.0)
        made = slurm.plan(reading, iterations=20, threads=1)
        applied = slurm.apply(made.schedule, carry_out=True, run=cluster.run, slot_seconds=1.0)
        assert not applied.differences
        (one,) = applied.plan
        assert sum(one.gpus) == 12
        cluster.wait(lambda: states(cluster)[mine]["JobState"] == "RUNNING", 30, "start")
        assert set(expand(states(cluster)[mine]["NodeList"])) == {*one.nodes}


def test_jobs_run_where_and_when_they_were_planned(cluster: FakeSlurm) -> None:
    running = [
        cluster.submit("-N1", "--gres=gpu:8", marked(seconds), seconds=seconds, held=False)
        for seconds in (3, 5, 7)
    ]
    other = cluster.submit("-N1", "--gres=gpu:2")
    mine = [cluster.submit(*shape, marked(2), seconds=1) for shape in (*SHAPES, *SHAPES)]
    cluster.wait(
        lambda: all(states(cluster)[job]["JobState"] != "PENDING" for job in running), 20, "starts"
    )
    reading = slurm.read(run=cluster.run, slot_seconds=1.0)
    assert set(reading.mine) == set(mine)
    plan = slurm.plan(reading, time_limit=1)
    applied = slurm.apply(plan.schedule, carry_out=True, run=cluster.run, slot_seconds=1.0)
    assert not applied.differences
    assert {one.job for one in applied.plan} == set(mine)
    handed = slurm.read(run=cluster.run, slot_seconds=1.0, whose="all")
    assert not {*mine} & {*handed.mine}
    found = all_done(cluster, mine, 60)
    for one in applied.plan:
        assert set(expand(found[one.job]["NodeList"])) == set(one.nodes)
        start = moment(found[one.job]["StartTime"])
        assert start is not None
        assert start >= one.start.replace(microsecond=0)
        if one.tasks_per_node:
            assert found[one.job]["NtasksPerN:B:S:C"].startswith(f"{one.tasks_per_node}:")
    assert found[other]["Reason"] == "JobHeldUser"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can also be another user")
def test_an_ordinary_user_hands_back_their_own_jobs(
    cluster: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = 65534
    roots = cluster.submit("--gpus=4", marked(3))
    shapes = [
        ["--gpus=4", "--ntasks=4"],
        ["--gpus=8", "--ntasks=8", "--ntasks-per-node=4"],
        ["--nodes=1-2", "--ntasks-per-node=2", "--gpus-per-node=2"],
        ["--array=0-6:3", "--gpus=8", "--ntasks=8"],
    ]
    for shape in shapes:
        cluster.submit(*shape, marked(3), seconds=2, user=nobody)
    record = cluster.run(COMMANDS["job"]).splitlines()[-1]
    forged = re.sub(r"^JobId=\d+ ArrayJobId=\d+ ArrayTaskId=\S+", "JobId=77777", record)
    cluster.submit("--gpus=1", f"--job-name=x\n{forged}\ny", user=nobody)
    monkeypatch.setattr("os.geteuid", lambda: nobody)
    run = partial(cluster.run, user=nobody)
    reading = slurm.read(run=run, slot_seconds=1.0)
    assert len(reading.mine) == 6
    assert roots not in reading.mine
    assert "77777" in reading.queue.unreadable
    plan = slurm.plan(reading, time_limit=1)
    applied = slurm.apply(plan.schedule, carry_out=True, run=run, slot_seconds=1.0)
    assert not applied.differences
    found = all_done(cluster, [*reading.mine], 60)
    for one in applied.plan:
        job = found[one.job]
        assert set(expand(job["NodeList"])) == set(one.nodes)
        if (each := job["NtasksPerN:B:S:C"].split(":")[0]) != "0":
            assert int(job["NumTasks"]) == int(each) * len(one.nodes)
    assert found[roots]["Reason"] == "JobHeldUser"


def test_a_watch_replans_and_touches_nothing_else(cluster: FakeSlurm) -> None:
    late = cluster.submit("-N2", "--gres=gpu:8", marked(3), seconds=9, held=False)
    others = [cluster.submit("-N1", "--gres=gpu:4"), cluster.submit("--gpus=4", "--comment=mine")]
    sizes = [16, 8, 32, 4, 16, 8, 32, 2]
    mine = [cluster.submit(f"--gpus={g}", f"--ntasks={g}", marked(2), seconds=1) for g in sizes]

    def disturb() -> None:
        time.sleep(4)
        cluster.run(["scontrol", "update", "nodename=node8", "state=drain", "reason=a fan"])
        cluster.run(["scancel", mine[2]])
        mine.append(cluster.submit("--gpus=8", "--ntasks=8", marked(3), seconds=2))

    disturbance = Thread(target=disturb)
    disturbance.start()
    told: list[str] = []
    watch = slurm.watch(
        every=1.5,
        looks=1,
        run=cluster.run,
        tell=told.append,
        slot_seconds=1.0,
        limits={"time_limit": 0.3},
    )
    while disturbance.is_alive():
        watch.watch(1)
    over = {"COMPLETED", "CANCELLED", "TIMEOUT"}

    def ended() -> bool:
        watch.watch(2)
        return {states(cluster)[job]["JobState"] for job in (late, *mine)} <= over

    cluster.wait(ended, 90, "the end of all jobs")
    touched = {command[2].removeprefix("jobid=") for command in watch.commands}
    assert touched <= set(mine)
    assert {command[:2] for command in watch.commands} <= {
        ("scontrol", "update"),
        ("scontrol", "release"),
        ("scontrol", "uhold"),
    }
    assert sum("new plan" in line for line in told) > 1
    assert all(any(" ".join(one[:2]) in line for line in told) for one in watch.commands)
    found = states(cluster)
    ends = [found[job]["JobState"] for job in mine]
    assert ends.count("COMPLETED") >= len(mine) - 1  # All but the one that was cancelled.
    for job in others:
        assert found[job]["Reason"] == "JobHeldUser"
        assert found[job]["Comment" if "Comment" in found[job] else "JobId"] in {"mine", job}


def test_a_large_cluster_is_read_planned_and_written() -> None:
    with FakeSlurm(128) as cluster:
        for _ in range(5):
            cluster.submit("-N16", "--gres=gpu:8", "-t60", held=False, seconds=600)
        for size in (1, 2, 4, 8):
            cluster.submit("--array=0-24", f"--gres=gpu:{size}", "-t30", "--comment=rarmodel")
        reading = slurm.read(run=cluster.run)
        assert len(reading.mine) == 100
        plan = slurm.plan(reading, time_limit=2)
        applied = slurm.apply(plan.schedule, run=cluster.run)
        assert len(applied.plan) == 100


def test_jobs_take_turns_with_a_licence() -> None:
    """Slurm's own output of licences, and starts at which Slurm has the licence free again."""
    with FakeSlurm(1, extra="Licenses=matlab:1,fluent:30") as cluster:
        mine = [
            cluster.submit("-N1", "--gres=gpu:2", "--licenses=matlab", marked(4), seconds=1)
            for _ in range(3)
        ]
        reading = slurm.read(run=cluster.run, slot_seconds=1.0)
        assert reading.queue.licences is not None
        assert {name: one.usable for name, one in reading.queue.licences.items()} == {
            "fluent": 30,
            "matlab": 1,
        }
        plan = slurm.plan(reading, time_limit=1)
        applied = slurm.apply(plan.schedule, carry_out=True, run=cluster.run, slot_seconds=1.0)
        assert not applied.differences
        assert {one.job for one in applied.plan} == set(mine)
        found = all_done(cluster, mine, 60)
    starts = sorted(one.start for one in applied.plan)
    assert all((b - a).total_seconds() >= 4 for a, b in pairwise(starts))
    for one in applied.plan:
        start, ready = moment(found[one.job]["StartTime"]), one.start.replace(microsecond=0)
        assert start is not None
        assert start >= ready


def test_shards_start_as_planned_with_their_requests() -> None:
    with FakeSlurm(2, gpus=2, shards=8) as cluster:
        running = cluster.submit("--gres=shard:3", "--time=60", "--nodelist=node1", held=False)
        cluster.wait(lambda: states(cluster)[running]["JobState"] == "RUNNING", 20, "runs")
        asked = {
            cluster.submit(*options, "--time=60", marked(3600)): slices
            for options, slices in (
                (["--gres=shard:1"], 1),
                (["--nodes=2", "--gres=shard:2"], 2),
                (["--gres=shard:2"], 2),
                (["--gres=gpu:1"], None),
            )
        }
        reading = slurm.read(run=cluster.run)
        jobs = {job.name: job for job in reading.instance.jobs}
        assert {server.gpu_slices for server in reading.instance.cluster.servers} == {4}
        assert jobs[running].running is not None
        assert {name: jobs[name].slices for name in asked} == asked
        made = slurm.plan(reading, iterations=50, threads=1)
        assert {one.start for one in made.jobs} == {0}
        applied = slurm.apply(made.schedule, carry_out=True, run=cluster.run)
        assert not applied.differences
        cluster.wait(
            lambda: {states(cluster)[job]["JobState"] for job in asked} == {"RUNNING"}, 30, "starts"
        )
        now = {job.name: job for job in slurm.read(run=cluster.run).instance.jobs}
        assert {name: now[name].slices for name in asked} == asked
        planned = {one.job: {*one.gpus} for one in made.jobs}
        found = {name: one.running for name, one in now.items() if name in asked}
        assert {name: {*one.gpus} for name, one in found.items() if one} == planned
