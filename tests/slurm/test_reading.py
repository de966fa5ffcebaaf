"""A queue as an instance, from recorded outputs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rarmodel import slurm
from rarmodel.errors import InputError, UsageError
from rarmodel.schema import Job
from rarmodel.slurm.choices import chosen
from rarmodel.slurm.outputs import record, recorded
from rarmodel.slurm.profiles import Profile, Rule, Rules
from rarmodel.slurm.reading import Reading, read

Outputs = dict[str, str]


def jobs_of(reading: Reading) -> dict[str, Job]:
    return {job.name: job for job in reading.instance.jobs}


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
    assert jobs_of(reading)["6"].iterations == 2


def test_medians_of_earlier_runs_are_learned_from_three(shapes: Outputs) -> None:
    history = "".join(f"{run}|root||wrap\n" for run in (90, 120, 600, 1))
    taught = read({**shapes, "sacct": history})
    assert "duration from the median of earlier runs" in why(taught, "6")
    assert jobs_of(taught)["6"].iterations == 2  # the median, 105 s
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
        one for one in reading.instance.cluster.reservations if "cannot be read" in str(one.reason)
    ]
    assert (held.server, held.gpus, held.end) == ("node1", 8, None)


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
