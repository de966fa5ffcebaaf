"""Licences as resources: the totals, what is left of them, and plans that keep to it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.errors import InputError
from rarmodel.model import instance_digest
from rarmodel.slurm.plans import Plan
from rarmodel.slurm.program_outputs import live, record, recorded
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_reading import read
from rarmodel.verifier import verify

Outputs = dict[str, str]
RECORDED = Path(__file__).parent / "recorded"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NONE = "No licenses configured in Slurm.\n"


def licensed(outputs: Outputs, totals: str, **asked: str) -> Outputs:
    """The outputs with licences, and with what jobs `j5` and so on ask for."""
    for name, licences in asked.items():
        outputs = changed(outputs, name.removeprefix("j"), Licenses=licences)
    return {**outputs, "license": totals}


def matlab(total: int, used: int = 0, *, more: str = "") -> str:
    free = max(0, total - used)
    numbers = f"Total={total} Used={used} Free={free} Reserved=0 Remote=no"
    return f"LicenseName=matlab {numbers} {more}\n"


def used_by(reading: Reading) -> dict[str, Mapping[str, float]]:
    return {job.name: job.resources for job in reading.instance.jobs if job.resources}


def capacities(reading: Reading) -> dict[str, list[tuple[int, int | None, float]]]:
    return {
        one.name: [(window.start, window.end, window.capacity) for window in one.windows]
        for one in reading.instance.resources
    }


def why(reading: Reading, job: str) -> str:
    return "; ".join(note for note, ids in reading.notes.items() if job in ids)


def starts(plan: Plan) -> dict[str, int]:
    return {one.job: one.start for one in plan.jobs}


@pytest.mark.parametrize("source", [*sorted(RECORDED.iterdir()), EXAMPLES / "slurm-lab"])
def test_recordings_without_licences_are_read_as_before(source: Path) -> None:
    outputs = recorded(source)
    assert "license" not in outputs
    before, after = read(outputs), read({**outputs, "license": NONE})
    assert "resources" not in before.instance.model_dump(exclude_unset=True)
    assert before.instance == after.instance
    assert instance_digest(before.instance) == instance_digest(after.instance)
    assert before.lines() == after.lines()
    assert before.summary().keys() == after.summary().keys() - {"licences"}


def test_licences_asked_for_say_nothing_where_the_totals_are_not_recorded(shapes: Outputs) -> None:
    asked = changed(shapes, "5", Licenses="matlab:1")
    assert read(asked).instance == read(shapes).instance
    assert read(asked).lines() == read(shapes).lines()


def test_licences_are_resources(shapes: Outputs) -> None:
    totals = matlab(4) + "LicenseName=fluent Total=30 Used=0 Free=30 Reserved=0 Remote=no\n"
    reading = read(
        licensed(shapes, totals, j5="matlab:2,fluent", j6="matlab*3", j7="matlab;matlab")
    )
    assert used_by(reading) == {
        "5": {"fluent": 1, "matlab": 2},
        "6": {"matlab": 3},
        "7": {"matlab": 2},
    }
    assert capacities(reading) == {"fluent": [(0, None, 30)], "matlab": [(0, None, 4)]}
    assert "licences that the jobs can use: fluent 30 of 30, matlab 4 of 4" in reading.lines()
    assert "their licences are resources of the instance" in why(reading, "5")
    assert reading.summary()["licences"]["matlab"] == {"total": 4, "used": 0, "set_aside": 0}


def test_what_reservations_and_others_elsewhere_hold_is_set_aside(shapes: Outputs) -> None:
    """As in Slurm's own page: 80 for this cluster, 10 of them missing; 5 are reserved."""
    totals = (
        "LicenseName=foobar@slurmdb Total=80 Used=0 Free=70 Reserved=5 Remote=yes "
        "LastConsumed=30 LastDeficit=10 LastUpdate=2023-02-28T16:39:27\n"
    )
    reading = read(licensed(shapes, totals, j5="foobar@slurmdb:7"))
    assert capacities(reading) == {"foobar@slurmdb": [(0, None, 65)]}
    assert "licences that the jobs can use: foobar@slurmdb 65 of 80" in reading.lines()


def test_running_jobs_keep_theirs(shapes: Outputs) -> None:
    reading = read(licensed(shapes, matlab(2, used=2), j1="matlab:2", j5="matlab:1"))
    assert used_by(reading) == {"1": {"matlab": 2}, "5": {"matlab": 1}}
    assert capacities(reading) == {"matlab": [(0, None, 2)]}
    chosen = changed(shapes, "1", Licenses="ansys:1|matlab:2", LicensesAlloc="matlab:2")
    assert used_by(read({**chosen, "license": matlab(2, used=2)})) == {"1": {"matlab": 2}}


def test_what_hidden_jobs_hold_is_away_for_the_default_time(shapes: Outputs) -> None:
    reading = read(licensed(shapes, matlab(4, used=3), j1="matlab:1", j5="matlab:1"))
    day = 86_400 // 60
    assert capacities(reading) == {"matlab": [(0, day, 2), (day, None, 4)]}
    assert "licences that the jobs can use: matlab 2 to 4 of 4" in reading.lines()


def test_what_jobs_without_gpus_hold_is_away_until_their_limits(shapes: Outputs) -> None:
    """Job 1 runs without GPUs here: its time limit ends at 05:30."""
    outputs = licensed(shapes, matlab(4, used=1), j1="matlab:1", j5="matlab:1")
    outputs = changed(outputs, "1", EndTime="2026-11-22T05:30:00")
    idle = outputs["job"].split("\n")
    place = next(i for i, row in enumerate(idle) if row.startswith("JobId=1 "))
    idle[place] = idle[place].replace("GRES=gpu", "GRES=shard")
    reading = read({**outputs, "job": "\n".join(idle)})
    assert "running without GPUs, left out" in why(reading, "1")
    ((_, end, left), last) = capacities(reading)["matlab"]
    assert (end, left, last) == (16, 3, (16, None, 4))  # The queue is of 05:14:41.


def test_a_licence_that_slurm_does_not_list_is_told(shapes: Outputs) -> None:
    reading = read(licensed(shapes, matlab(4), j5="ansys:1", j6="matlab:1|ansys:1"))
    assert used_by(reading) == {}
    assert not reading.instance.resources
    assert "licence 'ansys' is not one that Slurm lists" in why(reading, "5")
    assert "licence 'matlab:1|ansys:1' is not one that Slurm lists" in why(reading, "6")
    told = [line for line in reading.lines() if "'ansys'" in line]
    assert told == ["1 job: licence 'ansys' is not one that Slurm lists, so it is not planned (5)"]


def test_a_job_that_asks_for_more_than_there_is_is_left_out(shapes: Outputs) -> None:
    reading = read(licensed(shapes, matlab(4), j5="matlab:5", j6="matlab:4"))
    assert used_by(reading) == {"6": {"matlab": 4}}
    assert "asks for 5 of licence 'matlab', of which jobs can have 4" in why(reading, "5")


def test_with_planned_licences_a_deadline_is_kept(shapes: Outputs) -> None:
    due = changed(shapes, "6", Deadline="2026-11-22T05:50:00", TimeLimit="00:05:00")
    assert used_by(read(licensed(due, matlab(4), j6="matlab:1"))) == {"6": {"matlab": 1}}
    for unknown in ("ansys", "matlab,ansys"):
        assert "past its deadline" in why(read(licensed(due, matlab(4), j6=unknown)), "6")


def test_output_that_is_not_slurms_is_refused(shapes: Outputs) -> None:
    for text in ("LicenseName=matlab Total=many Used=0\n", "LicenseName=matlab Total=3\n"):
        with pytest.raises(InputError) as caught:
            read({**shapes, "license": text})
        (problem,) = caught.value.problems
        assert problem == ("license 'matlab'", "not as scontrol shows a licence")


def test_names_of_jobs_cannot_forge_totals(shapes: Outputs) -> None:
    forged = changed(shapes, "5", JobName="x Total=9 Used=0", Licenses="matlab")
    assert (
        read({**forged, "license": matlab(1)}).queue.licences
        == read(licensed(shapes, matlab(1))).queue.licences
    )


def test_a_plan_keeps_to_the_licences(queue: Replayed) -> None:
    waiting = [job.name for job in read(queue.outputs).instance.jobs if not job.running][:4]
    asked = {f"j{name}": "matlab:2" for name in waiting}
    reading = read(licensed(queue.outputs, matlab(3), **asked))
    made = slurm.plan(reading, iterations=20, threads=1)
    assert verify(reading.instance, made.schedule).feasible
    ends = {one.job: one.end for one in made.jobs}
    turns = sorted((starts(made)[name], ends[name]) for name in waiting)
    assert all(end <= start for (_, end), (start, _) in pairwise(turns))
    assert made.lines()["resources"] == "matlab: at most 2 of 3 at once"
    assert any(one.why.startswith("matlab of ") for one in made.jobs)
    assert made.slurm.schedule is not None
    assert verify(reading.instance, made.slurm.schedule).feasible


def test_jobs_that_slurm_places_keep_their_licences(queue: Replayed) -> None:
    """A job is not held; while it runs, the held job of the same licence waits."""
    mine, other, *_ = read(queue.outputs).mine
    outputs = licensed(queue.outputs, matlab(1), **{f"j{other}": "matlab", f"j{mine}": "matlab"})
    reading = read(changed(outputs, other, Priority="100", Reason="Resources"))
    assert reading.others == (other,)
    windows = capacities(reading)["matlab"]
    assert {capacity for _, _, capacity in windows} == {0, 1}
    made = slurm.plan(reading, iterations=20, threads=1)
    away = next((start, end) for start, end, capacity in windows if capacity == 0)
    ours = next(one for one in made.jobs if one.job == mine)
    assert ours.end <= away[0] or (away[1] is not None and away[1] <= ours.start)


def test_a_plan_is_stale_if_licences_are_gone(queue: Replayed) -> None:
    mine = read(queue.outputs).mine[0]
    outputs = licensed(queue.outputs, matlab(1), **{f"j{mine}": "matlab"})
    made = slurm.plan(read(outputs), iterations=20, threads=1)
    gone = Replayed({**outputs, "license": matlab(1, used=1)})
    with pytest.raises(slurm.StaleError, match="matlab"):
        slurm.apply(made.schedule, run=gone, operator=True)
    assert not gone.changes


def test_licences_are_asked_for_and_recorded(queue: Replayed, tmp_path: Path) -> None:
    queue.outputs["license"] = matlab(3)
    outputs = live(queue)
    assert outputs["license"] == matlab(3)
    record(outputs, tmp_path)
    assert recorded(tmp_path)["license"] == matlab(3)
