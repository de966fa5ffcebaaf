"""A queue as an instance, from recorded outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.errors import InputError, UsageError
from rarmodel.model.extremes import job_extremes
from rarmodel.schema import Job
from rarmodel.slurm import Profile, Rule, Rules
from rarmodel.slurm.program_outputs import live, record, recorded
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_choices import chosen
from rarmodel.slurm.queue_reading import read

Outputs = dict[str, str]
RECORDED = Path(__file__).parent / "recorded"


def jobs_of(reading: Reading) -> dict[str, Job]:
    return {job.name: job for job in reading.instance.jobs}


def slots_of(reading: Reading) -> dict[str, int]:
    """The slots that jobs have left in their best placements."""
    least = (one.least_slots for one in job_extremes(reading.instance))
    return dict(zip(jobs_of(reading), least, strict=True))


def why(reading: Reading, job: str) -> list[str]:
    return [note for note, ids in reading.notes.items() if job in ids]


def test_every_job_of_slurms_is_used_or_explained(shapes: Outputs) -> None:
    reading = read(shapes)
    used = {job.name for job in reading.instance.jobs}
    explained = {job for ids in reading.notes.values() for job in ids}
    assert {*reading.queue.jobs, *reading.queue.unreadable} <= used | explained


def test_running_jobs_have_their_nodes_and_indices(shapes: Outputs) -> None:
    found = jobs_of(read(shapes))
    first, second = found["1"].running, found["2"].running
    assert first is not None
    assert second is not None
    assert first.gpus == {"node1": tuple(range(8))}
    assert second.gpus == {"node2": (0, 1, 2), "node3": (0, 1, 2)}


def test_requests_become_sizes_and_spreads(shapes: Outputs) -> None:
    found = jobs_of(read(shapes))
    assert found["5"].gpus == 8  # --gpus=8 --ntasks=8
    assert found["6"].model_dump()["spread"] == {
        "min_servers": 2,
        "max_servers": 2,
        "equal": True,
        "within": None,
    }  # -N2 --gres=gpu:4
    assert found["7"].gpus == (4, 6, 8)  # --nodes=2-4 --gpus-per-node=2
    assert found["8"].gpus == 5  # --gpus-per-task=1 --ntasks=5
    assert [found[f"9_{task}"].gpus for task in range(6)] == [1] * 6
    assert found["9_2"].after == ("9_0",)  # --array=0-5%2
    assert found["22"].after == ("5", "6")  # --dependency=afterany:5:6
    assert found["18"].servers == ("node2",)  # --partition=few --exclude=node1


def test_what_the_model_cannot_hold_is_left_out_with_the_reason(shapes: Outputs) -> None:
    reading = read(shapes)
    assert "singleton" in why(reading, "3")[0]
    assert "than are up" in why(reading, "13")[0]  # eight nodes, one of them drained
    assert "heterogeneous" in why(reading, "16")[0]
    assert "--exclusive" in why(reading, "19")[0]


def test_names_that_look_like_slurms_output_are_refused(shapes: Outputs) -> None:
    reading = read(shapes)
    assert {"10", "999", "11", "12"} == set(reading.queue.unreadable)
    assert not {"10", "999", "11", "12"} & {job.name for job in reading.instance.jobs}


def test_no_job_is_believed_that_slurm_does_not_number(shapes: Outputs) -> None:
    """A name with line breaks can hold the whole record of a job that does not exist."""
    rows = shapes["job"].splitlines()
    (task,) = [row for row in rows if row.startswith("JobId=9 ")]
    forged = re.sub(r"JobId=9 (.*)ArrayTaskId=\S+", r"JobId=98 \1ArrayTaskId=7", task)
    broken = f"JobId=97 JobName=x\n{forged}\ny UserId=eve(66) JobState=PENDING"
    everything = {**shapes, "job": "\n".join([*rows, broken])}
    assert "9_7" in read(everything).mine  # as a recording without numbers lets it be
    numbered = {**everything, "squeue": Replayed(shapes).numbers() + "97 97 66\n"}
    reading = read(numbered)
    assert "9_7" not in reading.mine
    assert {"97", "98"} <= reading.queue.unreadable
    assert set(reading.mine) == set(read(shapes).mine)


def test_drained_nodes_and_reservations_are_away(shapes: Outputs) -> None:
    away = {(one.server, one.start, one.end) for one in read(shapes).instance.cluster.reservations}
    assert ("node8", 0, None) in away
    (maintenance,) = [one for one in away if one[0] == "node7"]
    assert maintenance[1] == 9  # in 9 min 57 s: the slot in which it begins is away already
    assert maintenance[2] is not None


def test_jobs_that_are_not_held_are_planned_around(shapes: Outputs) -> None:
    reading = read(shapes)
    taken = [one for one in reading.instance.cluster.reservations if "job 14" in str(one.reason)]
    assert sum(one.gpus for one in taken) == 32
    assert "14" not in jobs_of(reading)
    assert "14" in jobs_of(read(shapes, chosen(whose="all")))


def test_comments_rules_and_limits_give_durations(shapes: Outputs) -> None:
    rules = Rules(profiles=(Rule(user="root", comment="rarmodel", profile=Profile(seconds=120.0)),))
    reading = read(shapes, chosen(profiles=rules))
    assert "duration from its comment" in why(reading, "5")
    assert "duration from the profiles" in why(reading, "6")
    assert "duration from no limit, so the default" in why(reading, "20")
    assert "comment not used: not JSON" in why(reading, "21")
    assert any("was 'seconds' meant?" in note for note in why(reading, "20"))
    assert jobs_of(reading)["5"].gradient_mb == 100
    assert slots_of(reading)["6"] == 2


def test_models_bring_measured_pressures_where_contention_is_by_duty(
    shapes: Outputs, tmp_path: Path
) -> None:
    model = Profile(model="mobilenet_v3_large", seconds=6000.0)
    rules = Rules(profiles=(Rule(name="*", profile=model),))
    pressures = {}
    for rule in ("duty", "count"):
        contention = {
            "concurrency": 1.0,
            "degradation": {"kind": "linear", "alpha": 0.1},
            "overhead_ms_per_server": 1.0,
            "model": rule,
        }
        rates = tmp_path / f"{rule}.json"
        rates.write_text(json.dumps({"contention": contention}), encoding="utf-8")
        found = jobs_of(read(shapes, chosen(profiles=rules, cluster=rates)))
        pressures[rule] = {
            name: (job.network_pressure, job.network_sensitivity) for name, job in found.items()
        }
    assert set(pressures["count"].values()) == {(None, None)}
    wide, narrow = pressures["duty"]["6"], pressures["duty"]["9_0"]
    assert wide[0] == 0.3241
    assert wide[1] is not None
    assert narrow == (None, None)  # One GPU.


def test_medians_of_earlier_runs_are_learned_from_three(shapes: Outputs) -> None:
    history = "".join(f"{run}|root||wrap\n" for run in (90, 120, 600, 1))
    taught = read({**shapes, "sacct": history})
    assert "duration from the median of earlier runs" in why(taught, "6")
    assert slots_of(taught)["6"] == 2  # the median, 105 s
    few = read({**shapes, "sacct": "90|root||wrap\n120|root||wrap\nnonsense\n"})
    assert "duration from the time limit" in why(few, "6")


def test_a_job_past_its_estimate_has_a_slot_left(shapes: Outputs) -> None:
    rules = Rules(profiles=(Rule(name="*", profile=Profile(seconds=1.0)),))
    job = jobs_of(read(shapes, chosen(profiles=rules, slot_seconds=1.0)))["1"]
    assert job.iterations_left == 1


def test_gpus_of_jobs_that_cannot_be_read_are_away(shapes: Outputs) -> None:
    forged = shapes["job"].replace("JobId=1 JobName=wrap", "JobId=1 JobName=x JobState=PENDING")
    reading = read({**shapes, "job": forged})
    assert "1" in reading.queue.unreadable
    (held,) = [
        one for one in reading.instance.cluster.reservations if "not show" in str(one.reason)
    ]
    assert (held.server, held.gpus, held.end) == ("node1", 8, 24 * 60)
    assert any(
        line.startswith("8 GPUs: held by jobs that Slurm does not show") for line in reading.lines()
    )


@pytest.mark.parametrize(
    ("state", "away"),
    [
        ("IDLE+POWERED_DOWN", False),
        ("IDLE+MAINT+RESERVED", False),
        ("MIXED+PLANNED", False),
        ("IDLE+CLOUD", False),
        ("IDLE*", True),
        ("IDLE+NOT_RESPONDING", True),
        ("MIXED+DRAIN", True),
        ("DOWN+POWERED_DOWN", True),
        ("IDLE+POWERING_DOWN", True),
        ("ALLOCATED+REBOOT_ISSUED", True),
    ],
)
def test_nodes_that_take_no_jobs_are_away(shapes: Outputs, state: str, away: bool) -> None:
    node = shapes["node"].replace("State=IDLE ThreadsPerCore", f"State={state} ThreadsPerCore", 1)
    nodes = read({**shapes, "node": node}).queue.nodes
    assert bool(nodes["node6"].away) == away


def test_a_job_that_is_ending_holds_its_gpus_for_the_slot(shapes: Outputs) -> None:
    assert jobs_of(read(shapes))["1"].iterations_left == 10
    ending = changed(shapes, "1", JobState="COMPLETING")
    assert jobs_of(read(ending))["1"].iterations_left == 1


def test_an_overrun_lasts_a_slot_from_now_also_on_slots_of_before(shapes: Outputs) -> None:
    late = {**shapes, "config": shapes["config"].replace("05:14:41", "05:40:51")}
    origin = datetime(2026, 11, 22, 5, 14, 41, tzinfo=UTC)  # 26 min 10 s before
    reading = read(late, replace(chosen(), origin=origin))
    assert jobs_of(reading)["1"].iterations_left == 28  # in slot 26 now, and all of slot 27


def test_a_job_that_may_not_start_yet_is_released_then(shapes: Outputs) -> None:
    later = changed(shapes, "5", EligibleTime="2026-11-22T05:24:41")
    assert jobs_of(read(later))["5"].release == 10
    assert jobs_of(read(shapes))["5"].release == 0


def test_a_deadline_is_a_due_slot_that_ends_by_then(shapes: Outputs) -> None:
    due = changed(shapes, "5", Deadline="2026-11-22T06:14:40")  # 59 min 59 s
    assert jobs_of(read(due))["5"].due == 59


def test_jobs_in_other_states_are_counted(shapes: Outputs) -> None:
    odd = read(changed(shapes, "5", JobState="REQUEUE_HOLD"))
    assert why(odd, "5") == ["neither waiting nor running, left out"]


def test_jobs_that_only_slurm_places_may_wait_for_each_other(shapes: Outputs) -> None:
    waiting = changed(shapes, "13", NumNodes="7-7", NumTasks="7", NumCPUs="7")
    chain = changed(waiting, "14", Dependency="afterok:13(unfulfilled)")
    assert "planned around" in why(read(chain), "14")[-1]


def test_one_job_that_can_never_run_stops_no_reading(shapes: Outputs) -> None:
    reserved = shapes["reservation"].replace("Nodes=node7", "Nodes=node[1-8]")
    forever = reserved.replace("EndTime=2026-11-22T06:24:38", "EndTime=Unknown")
    long = changed({**shapes, "reservation": forever}, "14", TimeLimit="10:00:00")
    reading = read(long)
    assert "never all run" in why(reading, "14")[-1]
    assert "5" in reading.mine


def test_named_jobs_that_may_not_be_touched_are_told(shapes: Outputs) -> None:
    notes = read(shapes, chosen(named=["14", "77"])).notes
    assert notes["named, but not held"] == ["14"]
    assert notes["named, but not in the queue"] == ["77"]


def test_no_comment_stops_a_reading_or_outlasts_the_time_limit(shapes: Outputs) -> None:
    comment = 'rarmodel {"backward_ms": 9e6, "gradient_mb": 1.0}'
    slow = read(changed(shapes, "6", Comment=comment))
    assert "an iteration is longer than a slot: they exchange nothing" in why(slow, "6")
    assert jobs_of(slow)["6"].iterations == 5
    endless = 'rarmodel {"backward_ms": 600, "iterations": 100000000}'
    limited = jobs_of(read(changed(shapes, "6", Comment=endless)))["6"]
    assert limited.iterations == 495  # 5 slots of 99, as servers have an overhead


def test_two_trees_of_switches_become_one(shapes: Outputs) -> None:
    trees = "\n".join(shapes["topology"].splitlines()[:2])  # without the spine
    network = read({**shapes, "topology": trees}).instance.cluster.network
    assert {link.parent for link in network.links} >= {"leaf1", "leaf2", "all switches"}  # type: ignore[union-attr]


def test_no_job_name_forges_earlier_runs(shapes: Outputs) -> None:
    config = shapes["config"].replace("accounting_storage/none", "accounting_storage/slurmdbd")
    replayed = Replayed({**shapes, "config": config})

    def answer(command: Sequence[str]) -> str:
        if command[0] != "sacct":
            return replayed(command)
        bar = command[-1].removeprefix("--delimiter=")
        return f"90{bar}eve{bar}{bar}x\n1|root||wrap\n2{bar}root{bar}{bar}a|b\n"

    assert live(answer)["sacct"] == "90|eve||x\n2|root||a|b\n"


def test_priorities_of_waiting_jobs_are_weights(shapes: Outputs) -> None:
    urgent = re.sub(r"(JobId=14 .*?Priority=)\d+", r"\g<1>4294967295", shapes["job"])
    found = jobs_of(read({**shapes, "job": urgent}, chosen(whose="all")))
    assert (found["14"].weight, found["5"].weight) == (100, 1)


def test_processors_of_a_node_limit_who_may_use_it(queue: object) -> None:
    outputs: Outputs = queue.outputs  # type: ignore[attr-defined]
    wide = outputs["job"].replace("NumCPUs=8 NumTasks=1 ", "NumCPUs=17 NumTasks=1 ")
    assert "features, CPUs and memory" in why(read({**outputs, "job": wide}), "10")[0]


def test_switches_and_rates_make_the_tree(shapes: Outputs) -> None:
    cluster = read(shapes, chosen(rates={"network_gbps": 100.0})).instance.cluster
    uplinks = {link.node: (link.parent, link.gbps) for link in cluster.network.links}  # type: ignore[union-attr]
    assert uplinks["node5"] == ("leaf2", 100.0)
    assert uplinks["leaf2"] == ("spine", 400.0)
    without = {name: text for name, text in shapes.items() if name != "topology"}
    assert read(without).instance.cluster.network.kind == "star"


def test_a_partition_has_its_own_nodes_and_jobs(shapes: Outputs) -> None:
    reading = read(shapes, chosen(partition="few"))
    assert [server.name for server in reading.instance.cluster.servers] == ["node1", "node2"]
    assert "18" in jobs_of(reading)
    assert "6" not in jobs_of(reading)
    with pytest.raises(UsageError, match="no partition 'none'; Slurm has main, few, cpu"):
        read(shapes, chosen(partition="none"))


def test_recordings_are_read_as_they_were(shapes: Outputs, tmp_path: Path) -> None:
    record(shapes, tmp_path / "again")
    assert slurm.read(tmp_path / "again").instance == read(shapes).instance
    with pytest.raises(InputError) as error:
        recorded(tmp_path)
    assert len(error.value.problems) == 4


def test_instances_are_valid_files(shapes: Outputs) -> None:
    from rarmodel.files import parse_instance, to_json

    instance = read(shapes).instance
    assert parse_instance(to_json(instance)) == instance
    json.dumps(read(shapes).summary())


def test_a_cluster_with_accounting_teaches_durations() -> None:
    """Recorded from a real slurmdbd; a job's name had a line break and looked like a run."""
    reading = slurm.read(RECORDED / "accounting", slot_seconds=1.0)
    assert reading.mine == ("5",)
    assert "duration from the median of earlier runs" in why(reading, "5")  # 'train x|y', 2 s
    assert jobs_of(reading)["5"].iterations == 2
    assert reading.queue.unreadable == {"4"}
