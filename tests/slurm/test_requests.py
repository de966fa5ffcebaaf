"""What waiting jobs ask for, from recorded outputs."""

from __future__ import annotations

import re

import pytest
from recorded_slurm import changed

from rarmodel.schema import Job
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_reading import read

Outputs = dict[str, str]


def job(reading: Reading, name: str) -> Job:
    """The job of the instance."""
    return next(one for one in reading.instance.jobs if one.name == name)


def why(reading: Reading, name: str) -> str:
    """What the account says of a job."""
    return "; ".join(note for note, ids in reading.notes.items() if name in ids)


def spread(one: Job) -> tuple[int | None, int | None]:
    """Fewest and most servers of a job."""
    assert one.spread is not None
    return one.spread.min_servers, one.spread.max_servers


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"Switches": "1@00:05:00"}, "--switches"),
        ({"Contiguous": "1"}, "--contiguous"),
        ({"TresPerJob": "gres:gpu:8,gres:nvme:1"}, "asks for nvme beside GPUs"),
        ({"TresPerJob": "gres/gpu:8,gres/nvme:1"}, "asks for nvme beside GPUs"),
        ({"ReqNodeList": "node[1-2]", "NumNodes": "1-1"}, "than it names"),
        ({"ReqNodeList": "node1", "NumNodes": "2-2"}, "than it names"),
        ({"TresPerNode": "gres:gpu:3"}, "asks for 8 GPUs, 3 on each node"),
    ],
)
def test_what_no_plan_can_keep_is_left_out(
    shapes: Outputs, values: dict[str, str], told: str
) -> None:
    assert told in why(read(changed(shapes, "5", **values)), "5")


def test_nodes_that_a_job_names_are_kept_also_if_it_is_marked(shapes: Outputs) -> None:
    named = job(read(changed(shapes, "5", ReqNodeList="node[3,6]")), "5")
    assert named.servers == ("node3", "node6")
    assert spread(named) == (2, 2)


def test_tasks_per_node_set_the_number_of_nodes(shapes: Outputs) -> None:
    fixed = changed(shapes, "5", **{"NtasksPerN:B:S:C": "4:0:*:*"})  # 8 tasks, 8 GPUs
    assert spread(job(read(fixed), "5")) == (2, 2)
    ranged = changed(shapes, "7", **{"NtasksPerN:B:S:C": "1:0:*:*"})  # --nodes=2-4
    assert job(read(ranged), "7").gpus == (4, 6, 8)


def test_processors_and_memory_by_gpu_limit_who_may_use_a_node(shapes: Outputs) -> None:
    assert job(read(changed(shapes, "5", CpusPerTres="gres:gpu:8")), "5").servers is None
    many = changed(shapes, "8", CpusPerTres="gres:gpu:65")  # nodes have 64
    assert "features, CPUs and memory" in why(read(many), "8")
    much = changed(shapes, "6", MemPerTres="gres/gpu:30000")  # 4 GPUs on nodes of 100,000 MB
    assert "features, CPUs and memory" in why(read(much), "6")


def test_a_job_runs_in_one_of_its_partitions_within_its_limits(shapes: Outputs) -> None:
    both = changed(shapes, "18", Partition="few,main")  # It excludes node1.
    assert len(job(read(both), "18").servers or ()) == 7
    down = {**both, "partition": re.sub("(=main .*?)State=UP", r"\1State=DOWN", both["partition"])}
    assert job(read(down), "18").servers == ("node2",)
    small = {**shapes, "partition": shapes["partition"].replace("MaxNodes=UNLIMITED", "MaxNodes=3")}
    assert spread(job(read(small), "7")) == (2, 3)
    assert job(read(small), "7").gpus == (4, 6)
    whole = shapes["partition"].replace("OverSubscribe=NO", "OverSubscribe=EXCLUSIVE")
    assert "its partition gives these" in why(read({**shapes, "partition": whole}), "5")


def test_a_type_of_gpu_is_not_looked_for_on_nodes_of_several(shapes: Outputs) -> None:
    mixed = shapes["node"].replace("Gres=gpu:h100:8", "Gres=gpu:h100:4,gpu:t4:4", 1)
    typed = changed({**shapes, "node": mixed}, "5", TresPerJob="gres:gpu:h100:8")
    assert "node1" not in (job(read(typed), "5").servers or ())


@pytest.mark.parametrize(
    ("tasks", "numbers"),
    [("0-9:3%2", [0, 3, 6, 9]), ("1,3-4,95", [1, 3, 4, 95]), ("7", [7]), ("1,3,...", [])],
)
def test_every_task_of_an_array_is_a_job(shapes: Outputs, tasks: str, numbers: list[int]) -> None:
    reading = read(changed(shapes, "9", ArrayTaskId=tasks))
    found = {one.name for one in reading.instance.jobs if one.name.startswith("9_")}
    assert found == {f"9_{number}" for number in numbers}
    assert ("9" in reading.queue.unreadable) == (not numbers)
