"""Running jobs that give way to urgent ones, recorded where Slurm did the same.

Four nodes of eight GPUs: jobs 1 to 3 of the lower tier have a node each, job 4 half of node4. Job 5
waits and is not held, job 6 is held, both of the lower tier; job 7, held, is urgent, and asks for
two nodes. When it was released, Slurm requeued jobs 3 and 4.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.slurm.program_outputs import live, record, recorded
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_reading import read

Outputs = dict[str, str]
RECORDED = Path(__file__).parent / "recorded"
QOS = "normal|0||cluster||||\ncheap|0||{mode}||||\nexpress|100|cheap|cluster||||\n"


@pytest.fixture
def tiers() -> Outputs:
    """The recording."""
    return recorded(RECORDED / "tiers")


def starts(reading: Reading) -> dict[str, int]:
    """The starts of the waiting jobs in a plan."""
    return {one.job: one.start for one in slurm.plan(reading, iterations=50, threads=1).jobs}


def with_mode(outputs: Outputs, mode: str) -> Outputs:
    """The outputs where Slurm does this to jobs of the lower tier."""
    text = re.sub(r"(=low .*?PreemptMode=)\S+", rf"\g<1>{mode}", outputs["partition"])
    return {**outputs, "partition": text}


def by_qos(outputs: Outputs, mode: str = "cluster", default: str = "REQUEUE") -> Outputs:
    """The outputs of a cluster that preempts by QOS: job 7 is express, the others are cheap."""
    config = outputs["config"].replace("partition_prio", "qos")
    config = re.sub(r"PreemptMode( *)= \S+", rf"PreemptMode\1= {default}", config)
    made = {**outputs, "config": config, "qos": QOS.replace("{mode}", mode)}
    for name in "123456":
        made = changed(made, name, QOS="cheap", Partition="main")
    return changed(made, "7", QOS="express", Partition="main")


def test_an_urgent_job_starts_at_once_and_the_least_give_way(tiers: Outputs) -> None:
    reading = read(tiers)
    assert {name: one.to for name, one in reading.given.items()} == {"3": "7", "4": "7"}
    assert any("give way: Slurm requeues them" in line for line in reading.lines())
    made = slurm.plan(reading, iterations=50, threads=1)
    planned = {one.job: one for one in made.jobs}
    assert planned["7"].start == planned["7"].by_slurm == 0
    assert planned["7"].gpus == {"node3": 8, "node4": 8}
    assert planned["3"].start >= planned["7"].end
    assert "gap" not in made.lines()
    requeued = next(job for job in reading.instance.jobs if job.name == "3")
    assert requeued.running is None
    assert requeued.iterations == 240  # All of its four hours again.
    assert not {"3", "4"} & {*reading.mine}


def test_what_is_handed_back_tells_whom_slurm_interrupts(tiers: Outputs) -> None:
    queue = Replayed(tiers)
    made = slurm.plan(slurm.read(run=queue), iterations=50, threads=1)
    applied = slurm.apply(made.schedule, run=queue)
    assert {one.job for one in applied.plan} == {"6", "7"}
    assert "to start jobs of the plan, Slurm requeues job 3 for job 7" in applied.lines()
    assert "to start jobs of the plan, Slurm requeues job 4 for job 7" in applied.lines()
    assert not {"jobid=3", "jobid=4"} & {word for line in queue.changes for word in line}
    assert not re.search(r"jobid=[1-5]\b", applied.script())
    assert applied.untouched == ("5",)


def test_a_running_job_that_is_marked_and_gives_way_is_not_touched(tiers: Outputs) -> None:
    marked = changed(tiers, "3", Comment="rarmodel", Priority="0")
    reading = read(marked)
    assert "3" in reading.given
    assert "3" not in reading.mine


def test_a_suspended_job_goes_on_where_it_was_for_what_it_has_left(tiers: Outputs) -> None:
    early = changed(tiers, "3", EndTime="2026-11-28T15:27:29")
    now = "Configuration data as of 2026-11-28T14:27:29"
    reading = read(
        {
            **with_mode(early, "GANG,SUSPEND"),
            "config": re.sub(r"Configuration data as of \S+", now, tiers["config"]),
        }
    )
    suspended = next(job for job in reading.instance.jobs if job.name == "3")
    assert suspended.servers == ("node3",)
    assert suspended.iterations == 60
    assert any("Slurm suspends them" in line for line in reading.lines())


def test_a_cancelled_job_is_gone(tiers: Outputs) -> None:
    reading = read(with_mode(tiers, "CANCEL"))
    assert {*reading.given} == {"3", "4"}
    assert not {"3", "4"} & {job.name for job in reading.instance.jobs}
    assert starts(reading)["7"] == 0


@pytest.mark.parametrize("mode", ["OFF", "GANG"])
def test_jobs_that_slurm_lets_run_do_not_give_way(tiers: Outputs, mode: str) -> None:
    reading = read(with_mode(tiers, mode))
    assert not reading.given
    assert starts(reading)["7"] > 0


@pytest.mark.parametrize(
    "values", [{"Dependency": "afterok:1(unfulfilled)"}, {"EligibleTime": "2027-01-01T00:00:00"}]
)
def test_nothing_gives_way_to_a_job_that_may_not_start_yet(
    tiers: Outputs, values: dict[str, str]
) -> None:
    assert not read(changed(tiers, "7", **values)).given


def test_no_more_give_way_than_are_needed(tiers: Outputs) -> None:
    one = changed(tiers, "7", NumNodes="1-1", TresPerNode="gres:gpu:4")
    assert not read(one).given  # Half of node4 is free.
    eight = changed(tiers, "7", NumNodes="1-1", TresPerNode="gres:gpu:8", NumTasks="1")
    assert [*read(eight).given] == ["4"]
    all_of_them = changed(tiers, "7", NumNodes="4-4", NumTasks="4")
    assert {*read(all_of_them).given} == {"1", "2", "3", "4"}
    too_many = changed(tiers, "7", NumNodes="5-5", NumTasks="5")
    assert not read(too_many).given


def test_qos_preempts_as_it_says(tiers: Outputs) -> None:
    reading = read(by_qos(tiers))
    assert {*reading.given} == {"3", "4"}
    assert any("QOS express before cheap" in line for line in reading.lines())
    assert starts(reading)["7"] == 0
    assert not read(by_qos(tiers, default="OFF")).given
    assert {one.mode for one in read(by_qos(tiers, "cancel")).given.values()} == {"CANCEL"}
    unknown = {**by_qos(tiers)}
    del unknown["qos"]
    assert not read(unknown).given
    assert "PreemptType=preempt/qos" in str(read(unknown).lines())


def limited(outputs: Outputs, qos: str = "", assoc: str = "", enforce: str = "limits") -> Outputs:
    """The outputs with these limits, all jobs in QOS normal of root's account lab."""
    config = outputs["config"].replace("Enforce = none", f"Enforce = associations,{enforce}")
    made = {**outputs, "config": config, "qos": qos, "assoc": assoc}
    for name in "1234567":
        made = changed(made, name, QOS="normal", Account="vision", Partition="main")
    return made


@pytest.mark.parametrize(
    ("qos", "assoc", "limit"),
    [
        ("normal|0||cluster||gres/gpu=32||\n", "", "user root in QOS normal"),
        ("normal|0||cluster|cpu=9,gres/gpu=32|||\n", "", "QOS normal"),
        ("normal|0||cluster|||gres/gpu=32|\n", "", "account vision in QOS normal"),
        ("", "lab|vision|||root|gres/gpu=32|\n", "account vision"),
        ("", "lab|vision|root||||\nlab|vision|||top||\nlab|top||||gres/gpu=32|\n", "account top"),
        ("", "lab|vision|root|||gres/gpu=32|\n", "user root of account vision"),
    ],
)
def test_limits_on_gpus_are_resources(tiers: Outputs, qos: str, assoc: str, limit: str) -> None:
    """Jobs 1 to 4 hold 28 GPUs, so job 6 of four GPUs just fits, and the others wait."""
    reading = read(limited(tiers, qos, assoc))
    (resource,) = reading.instance.resources
    assert (resource.name, resource.windows[0].capacity) == (limit, 32)
    assert all(job.resources_per_gpu == {limit: 1} for job in reading.instance.jobs)
    tight = read(limited(tiers, qos.replace("=32", "=28"), assoc.replace("=32", "=28")))
    made = slurm.plan(tight, iterations=50, threads=1)
    (six,) = [one for one in made.jobs if one.job == "6"]
    assert six.start > 0
    assert limit in six.why


def test_limits_that_slurm_does_not_enforce_do_not_count(tiers: Outputs) -> None:
    qos = "normal|0||cluster||gres/gpu=28||\n"
    assert not read(limited(tiers, qos, enforce="qos")).instance.resources
    elsewhere = read(limited(tiers, assoc="other|vision|root|||gres/gpu=28|\n"))
    assert not elsewhere.instance.resources


def test_a_job_above_its_limit_is_left_out(tiers: Outputs) -> None:
    for qos in ("normal|0||cluster||gres/gpu=8||\n", "normal|0||cluster||||gres/gpu=8\n"):
        reading = read(limited(tiers, qos))
        notes = [note for note, ids in reading.notes.items() if "7" in ids]
        assert any("asks for 16 GPUs" in note for note in notes)


def test_the_limit_of_a_qos_counts_before_that_of_an_account(tiers: Outputs) -> None:
    qos = "normal|0||cluster|gres/gpu=32|||\n"
    reading = read(limited(tiers, qos, "lab|vision|root|||gres/gpu=4|\n"))
    assert [one.name for one in reading.instance.resources] == ["QOS normal"]


@pytest.mark.parametrize(
    ("qos", "assoc", "limit"),
    [
        ("normal|0||cluster||gres/gpu:h100=32||\n", "", "user root in QOS normal (h100)"),
        ("normal|0||cluster|gres/gpu:h100=32|||\n", "", "QOS normal (h100)"),
        ("", "lab|vision|||root|gres/gpu:h100=32|\n", "account vision (h100)"),
    ],
)
def test_a_limit_on_a_type_holds_for_the_jobs_that_name_it(
    tiers: Outputs, qos: str, assoc: str, limit: str
) -> None:
    """Jobs 1 to 4 hold 28 h100, whatever they named; of those that wait only job 6 names it."""
    named = changed(limited(tiers, qos, assoc), "6", TresPerNode="gres:gpu:h100:4")
    reading = read(named)
    (resource,) = reading.instance.resources
    assert (resource.name, resource.windows[0].capacity) == (limit, 32)
    under = {job.name for job in reading.instance.jobs if job.resources_per_gpu == {limit: 1}}
    assert under == {"1", "2", "3", "4", "6"}
    (free,) = [ids for note, ids in reading.notes.items() if "name no type of GPU" in note]
    assert {*free} == {"5", "7"}
    tight = read({**named, **{k: named[k].replace("=32", "=31") for k in ("qos", "assoc")}})
    assert starts(reading)["6"] == 0 < starts(tight)["6"]
    lower = read({**named, **{k: named[k].replace("=32", "=3") for k in ("qos", "assoc")}})
    (told,) = [note for note, ids in lower.notes.items() if "6" in ids and "left out" in note]
    assert told == f"left out: asks for 4 GPUs, and {limit} may have 3"


def test_gpus_of_a_job_on_two_types_count_by_type(tiers: Outputs) -> None:
    """Job 3 has node3 with h100, and here half of node4, which has a100."""
    qos = "normal|0||cluster|gres/gpu:h100=32,gres/gpu:a100=32|||\n"
    made = limited(tiers, qos)
    node = re.sub(r"(NodeName=node4 .*)", lambda row: row[0].replace("h100", "a100"), made["node"])
    rows = made["job"].split("\n")
    (at,) = [i for i, row in enumerate(rows) if row.startswith("JobId=3 ")]
    more = " Nodes=node4 CPU_IDs=0 Mem=0 GRES=gpu:a100:4(IDX:4-7)"
    rows[at] = re.sub(r"(GRES=gpu:h100:8\(IDX:0-7\))", rf"\g<1>{more}", rows[at])
    reading = read({**made, "node": node, "job": "\n".join(rows)})
    (three,) = [job for job in reading.instance.jobs if job.name == "3"]
    assert three.gpus == 12
    assert three.resources == {"QOS normal (h100)": 8, "QOS normal (a100)": 4}


def test_limits_on_all_gpus_and_on_a_type_hold_together(tiers: Outputs) -> None:
    qos = "normal|0||cluster|gres/gpu=32,gres/gpu:h100=16|||gres/gpu:h100=8\n"
    reading = read(changed(limited(tiers, qos), "6", TresPerNode="gres:gpu:h100:4"))
    # The running jobs hold more of the type than the limit has now; Slurm ends none of them.
    assert {one.name: one.windows[0].capacity for one in reading.instance.resources} == {
        "QOS normal": 32,
        "QOS normal (h100)": 28,
    }
    above = read(changed(limited(tiers, qos), "7", TresPerNode="gres:gpu:h100:8"))
    (told,) = [note for note, ids in above.notes.items() if "7" in ids and "left out" in note]
    assert told.endswith("asks for 16 GPUs, and its QOS or association lets a job have 8 h100")


def test_recordings_keep_qos_and_associations(tiers: Outputs, tmp_path: Path) -> None:
    queue = Replayed(limited(tiers, "normal|0||cluster||gres/gpu=32||\n", "lab|vision|||top||\n"))
    queue.outputs["config"] += "AccountingStorageType   = accounting_storage/slurmdbd\n"
    queue.outputs["sacct"] = ""
    record(live(queue), tmp_path / "again")
    again = recorded(tmp_path / "again")
    assert again["qos"] == queue.outputs["qos"]
    assert again["assoc"] == queue.outputs["assoc"]
    assert read(again).instance.resources


@pytest.mark.parametrize("further", [0, 2])
def test_what_sacctmgr_prints_by_default_is_read_too(tiers: Outputs, further: int) -> None:
    """Without a format: 26 columns of a QOS, two more since 25.05, and 20 of an association."""
    qos = ["normal", "7", "00:00:00", "", "", "cluster", "", "", "1.0", "gres/gpu=32"]
    qos += [""] * 9 + ["gres/gpu=30"] + [""] * (6 + further)
    assoc = ["lab", "vision", "root", "", "1", "", "", "gres/gpu=4", *[""] * 12]
    reading = read(limited(tiers, "|".join(qos) + "\n", "|".join(assoc) + "\n"))
    assert {one.name: one.windows[0].capacity for one in reading.instance.resources} == {
        "QOS normal": 32,
        "user root in QOS normal": 30,
    }
    alone = read(limited(tiers, assoc="|".join(assoc).replace("=4", "=31") + "\n"))
    assert [one.name for one in alone.instance.resources] == ["user root of account vision"]
