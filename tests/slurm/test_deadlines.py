"""Deadlines, and the time limits that end a job."""

from __future__ import annotations

import re
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.errors import NoScheduleError
from rarmodel.model.extremes import job_extremes
from rarmodel.slurm import Profile, Rule, Rules
from rarmodel.slurm.end_times import overruns
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_choices import chosen
from rarmodel.slurm.queue_reading import read

Outputs = dict[str, str]


def job_of(reading: Reading, name: str) -> object:
    return next((one for one in reading.instance.jobs if one.name == name), None)


def why(reading: Reading, name: str) -> str:
    return "; ".join(note for note, ids in reading.notes.items() if name in ids)


def test_a_deadline_bounds_the_start_by_the_time_limit(shapes: Outputs) -> None:
    """At 05:14:41, with slots of a minute: limit and slack leave 29 minutes to start in."""
    due = changed(shapes, "6", Deadline="2026-11-22T05:50:00", TimeLimit="00:05:00")
    (job,) = [one for one in read(due).instance.jobs if one.name == "6"]
    assert job.deadline == 29 + 5
    taught = read({**due, "sacct": "60|root||wrap\n" * 3})  # It is expected to run for a minute.
    (job,) = [one for one in taught.instance.jobs if one.name == "6"]
    assert job.deadline == 29 + 1  # And must start by then all the same.


def test_a_job_that_slurm_would_end_at_its_start_is_left_out(shapes: Outputs) -> None:
    late = changed(shapes, "6", Deadline="2026-11-22T05:20:00", TimeLimit="00:05:00")
    assert job_of(read(late), "6") is None
    assert "past its deadline" in why(read(late), "6")
    assert "duration" not in why(read(late), "6")


def test_a_job_that_may_wait_for_licences_past_its_deadline_is_left_out(shapes: Outputs) -> None:
    due = changed(shapes, "6", Deadline="2026-11-22T05:50:00", Licenses="matlab:1")
    assert job_of(read(due), "6") is None
    assert "licences" in why(read(due), "6")
    assert job_of(read(changed(shapes, "6", Licenses="matlab:1")), "6") is not None


def test_jobs_that_cannot_keep_deadlines_together_are_left_out_of_the_plan(queue: Replayed) -> None:
    """Five jobs of an hour have room for one after the other at most, on 64 GPUs."""
    outputs = queue.outputs
    wide = [name for name in ("5", "6", "7", "8", "9") if "JobId=" + name in outputs["job"]]
    for name in wide:
        outputs = changed(
            outputs, name, Deadline="2026-11-22T07:08:00", TimeLimit="01:00:00", Comment="rarmodel"
        )
    made = slurm.plan(read(outputs), iterations=20, threads=1)
    assert {one.job for one in made.jobs} | {*made.left} == {*read(outputs).mine}
    assert made.left == ("8", "9")  # Of 8, 16, 16, 32 and 64 GPUs the first three fit.
    assert "cannot keep their deadlines" in made.head()[0]
    assert made.summary()["left_out"] == [*made.left]
    ends = {one.job: one.end for one in made.jobs}
    assert all(ends[name] <= 91 for name in wide if name in ends)


def test_a_start_past_the_deadline_is_refused(queue: Replayed) -> None:
    made = slurm.plan(read(queue.outputs), iterations=20, threads=1)
    last = made.jobs[-1]
    close = changed(queue.outputs, last.job, Deadline="2026-11-22T06:00:00", TimeLimit="00:20:00")
    queue.outputs = close
    with pytest.raises(slurm.StaleError, match=rf"job {last.job}\b.* deadline"):
        slurm.apply(made.schedule, run=queue, carry_out=True)
    assert not queue.changes


def test_a_script_that_is_run_too_late_releases_no_job_to_its_deadline(
    queue: Replayed, tmp_path: Path
) -> None:
    """The limit of 20 minutes, and one to spare, leave until 05:37."""
    first = slurm.plan(read(queue.outputs), iterations=20, threads=1).jobs[0].job
    queue.outputs = changed(
        queue.outputs, first, Deadline="2026-11-22T05:58:00", TimeLimit="00:20:00"
    )
    made = slurm.plan(read(queue.outputs), iterations=20, threads=1)
    applied = slurm.apply(made.schedule, run=queue)
    path = tmp_path / "plan.sh"
    for clock, released in (("05:36:59", True), ("05:37:01", False)):
        now = datetime.fromisoformat(f"2026-11-22T{clock}+00:00").timestamp()
        fakes = f'scontrol() {{ echo "$@"; }}\ndate() {{ echo {now:.0f}; }}\n'
        path.write_text(fakes + applied.script())
        done = subprocess.run(["sh", path], capture_output=True, text=True, check=False)
        assert (f"release {first}" in done.stdout.splitlines()) == released
        assert done.returncode == (not released)
        assert ("too late for the deadline" in done.stderr) != released
        assert done.stdout.count("release ") == len(applied.plan) - (not released)


def test_no_plan_lets_a_job_run_past_its_time_limit_unsaid(queue: Replayed) -> None:
    rules = Rules(profiles=(Rule(name="*", profile=Profile(seconds=60.0)),))
    reading = read(queue.outputs, chosen(profiles=rules))  # Limits are 5 minutes.
    schedule = slurm.plan(reading, iterations=20, threads=1).schedule
    five = {one.job: one.start + 6 for one in schedule.assignments}  # Part of the last one, maybe.
    assert not [*overruns(reading.instance, schedule, five, reading.queue)]
    told = [*overruns(reading.instance, schedule, five | {"5": five["5"] + 1}, reading.queue)]
    assert told == [("5", "job 5 would run 360 s in this plan, and Slurm ends it after 300 s")]
    known = read(queue.outputs)  # All that is known of these is the limit.
    late = {one.job: one.start + 9 for one in schedule.assignments}
    assert not [*overruns(known.instance, schedule, late, known.queue)]


def test_a_plan_that_moves_past_a_deadline_is_refused(queue: Replayed) -> None:
    first = slurm.plan(read(queue.outputs), iterations=20, threads=1).jobs[0].job
    soon = changed(queue.outputs, first, Deadline="2026-11-22T05:58:00", TimeLimit="00:20:00")
    queue.outputs = soon
    made = slurm.plan(read(soon), iterations=20, threads=1)
    assert first in {one.job for one in slurm.apply(made.schedule, run=queue).plan}
    later = re.sub("05:36:02", "05:37:30", soon["config"])
    queue.outputs = {**soon, "config": later}
    with pytest.raises(slurm.StaleError, match=f"job {first}.* deadline"):
        slurm.apply(made.schedule, run=queue)


def test_slurms_order_is_shown_with_the_jobs_that_it_would_end(queue: Replayed) -> None:
    """Slurm's order starts job 8 after five minutes; its deadline leaves one."""
    due = changed(queue.outputs, "8", Deadline="2026-11-22T05:58:00", TimeLimit="00:20:00")
    made = slurm.plan(read(due), iterations=20, threads=1)
    assert {one.job: one.start for one in made.jobs}["8"] == 0
    assert made.ended == ("8",)
    assert "Slurm would end them ('8')" in made.lines()["by Slurm's order"]
    assert made.summary()["ended_by_slurm"] == ["8"]


def test_only_jobs_that_are_in_the_way_are_left_out(queue: Replayed) -> None:
    """Job 9 has no room before its deadline; without it the later ones have."""
    outputs = queue.outputs
    for name, limit, deadline in (("8", "01:00", "06:40"), ("9", "01:00", "07:30")):
        outputs = changed(
            outputs, name, Deadline=f"2026-11-22T{deadline}:00", TimeLimit=f"{limit}:00"
        )
    outputs = changed(outputs, "6", Deadline="2026-11-22T08:30:00", TimeLimit="01:30:00")
    made = slurm.plan(read(outputs), iterations=20, threads=1)
    assert made.left == ("9",)
    assert {"6", "8"} <= {one.job for one in made.jobs}


def test_a_plan_of_which_every_job_is_left_out_says_so(queue: Replayed) -> None:
    gone = "\n".join(
        row for row in queue.outputs["job"].split("\n") if re.match(r"JobId=([123]|9) ", row)
    )
    outputs = changed(
        {**queue.outputs, "job": gone}, "9", Deadline="2026-11-22T06:00:00", TimeLimit="00:20:00"
    )
    made = slurm.plan(read(outputs), iterations=20, threads=1)  # It needs the GPUs of 1, 2 and 3.
    assert made.left == ("9",)
    assert not made.jobs
    assert "left out ('9')" in made.head()[0]
    assert made.lines()["gain"] == "-"
    assert made.summary()["mean_wait_seconds"] is None
    alone = read(outputs).instance
    (place,) = [j for j, job in enumerate(alone.jobs) if job.name == "9"]
    least = job_extremes(alone)[place].least_slots
    early = alone.jobs[place].model_copy(update={"deadline": least - 1})
    with pytest.raises(NoScheduleError, match="no job can keep its deadline"):
        slurm.plan(alone.model_copy(update={"jobs": (early,)}), iterations=20, threads=1)
