"""Clusters where Slurm interrupts jobs to start others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.slurm import Profile, Rule, Rules
from rarmodel.slurm.program_outputs import live, record
from rarmodel.slurm.queue_choices import chosen
from rarmodel.slurm.queue_reading import read

Outputs = dict[str, str]
QUICK = Rules(profiles=(Rule(name="*", profile=Profile(seconds=60.0)),))


def tiers(outputs: Outputs, kind: str = "preempt/partition_prio", mode: str = "REQUEUE") -> Outputs:
    """The outputs with a partition of a higher tier on the same nodes, and jobs 10 and 5 in it."""
    (main, *_) = outputs["partition"].splitlines()
    main = re.sub(" PreemptMode=\\S+", "", re.sub(" PriorityTier=\\S+", "", main))
    low = f"{main} PriorityTier=1 PreemptMode={mode}"
    high = main.replace("PartitionName=main", "PartitionName=high")
    high = f"{high} PriorityTier=9 PreemptMode=OFF"
    config = f"{outputs['config']}PreemptType             = {kind}\n"
    made = {**outputs, "partition": f"{low}\n{high}\n", "config": config}
    return changed(changed(made, "10", Partition="high"), "5", Partition="high")


@pytest.mark.parametrize(
    ("kind", "mode", "told"),
    [
        ("preempt/partition_prio", "REQUEUE", "partition high before main"),
        ("preempt/partition_prio", "GANG,SUSPEND", "partition high before main"),
        ("preempt/partition_prio", "OFF", ""),
        ("preempt/partition_prio", "GANG", ""),
        ("preempt/none", "REQUEUE", ""),
        ("preempt/qos", "OFF", "PreemptType=preempt/qos"),
    ],
)
def test_preemption_is_read_as_slurm_does_it(
    queue: Replayed, kind: str, mode: str, told: str
) -> None:
    reading = read(tiers(queue.outputs, kind, mode))
    assert reading.queue.preempts == told
    assert any("by preemption" in line for line in reading.lines()) == bool(told)


def test_the_first_line_says_so_and_no_gap_is_claimed(queue: Replayed) -> None:
    reading = read(tiers(queue.outputs))
    made = slurm.plan(reading, iterations=20, threads=1)
    again = slurm.plan(reading.instance, iterations=20, threads=1)  # As of a file.
    for plan in (made, again):
        assert plan.head()[0].startswith("Slurm may start jobs earlier by preemption")
        assert "gap" not in plan.lines()
        assert not any("at least" in line for line in plan.lines().values())
        told = plan.summary()
        for part in (told["plan"], told["slurm"]):
            bounds = {part[key] for key in part if "bound" in key or key == "gap"}
            assert bounds == {None}
            assert part["status"] == "feasible"
        assert plan.schedule.bound is None
    assert "gap" in slurm.plan(read(queue.outputs), iterations=20, threads=1).lines()


def test_recordings_keep_how_slurm_preempts(queue: Replayed, tmp_path: Path) -> None:
    queue.outputs = {
        **queue.outputs,
        "config": queue.outputs["config"]
        + "PreemptMode             = REQUEUE\nPreemptType             = preempt/qos\nOther = 1\n",
    }
    record(live(queue), tmp_path / "again")
    assert slurm.read(tmp_path / "again").queue.preempts == "PreemptType=preempt/qos"
    assert "Other" not in (tmp_path / "again/config.txt").read_text()


def test_jobs_that_a_plan_could_interrupt_last_until_their_limits(queue: Replayed) -> None:
    before = {
        job.name: job.iterations_left
        for job in read(queue.outputs, chosen(profiles=QUICK)).instance.jobs
    }
    found = {
        job.name: job.iterations_left
        for job in read(tiers(queue.outputs), chosen(profiles=QUICK)).instance.jobs
    }
    assert before["1"] == 1
    assert found["1"] > 5
    # Waiting, in the partition of the lower tier: five minutes where the profile says one.
    assert found["4"] == 5 * before["4"]
    assert found["10"] == before["10"] == 1


def test_a_start_that_would_interrupt_a_job_is_left_out(queue: Replayed) -> None:
    """The profile of job 1 says a minute, so job 5 would start then; but job 1 has no limit."""
    endless = changed(tiers(queue.outputs), "1", TimeLimit="UNLIMITED")
    soon = re.sub(r"(:\d\d):\d\d$", r"\1:59", queue.outputs["config"].split()[4])
    pinned = changed(endless, "5", ReqNodeList="node1", EligibleTime=soon)
    queue.outputs = changed(pinned, "6", Dependency="afterok:5(unfulfilled)")
    made = slurm.plan(slurm.read(run=queue, profiles=QUICK), iterations=20, threads=1)
    assert {one.job: one.start for one in made.jobs}["5"] == 1
    applied = slurm.apply(made.schedule, run=queue, profiles=QUICK)
    assert not {"5", "6"} & {one.job for one in applied.plan}
    assert not {"5", "6"} & {one.job for one in applied.former}
    left, follower = applied.left
    assert follower == "job 6 waits for '5'"
    assert "'1' may still run on node1, and Slurm would preempt it" in left
    assert f"left held: {left}" in applied.lines()
    assert "jobid=5" not in applied.script()
    assert applied.caveats
