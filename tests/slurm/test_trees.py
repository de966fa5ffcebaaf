"""Trees of switches that no switch joins, and nodes below no switch."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_slurm import changed

from rarmodel import slurm
from rarmodel.errors import InputError
from rarmodel.schema import TreeNetwork
from rarmodel.slurm.program_outputs import recorded
from rarmodel.slurm.queue_reading import read

RECORDED = Path(__file__).parent / "recorded"
HALLS = [{"n1", "n2"}, {"n3", "n4"}]


@pytest.fixture
def halls() -> dict[str, str]:
    """Four nodes in two halls; a job runs on a node of each, and one waits for two nodes."""
    return recorded(RECORDED / "two-trees")


def of_two(outputs: dict[str, str], job: str = "3") -> dict[str, str]:
    """The outputs with job 4, as job 3."""
    (row,) = [line for line in outputs["job"].split("\n") if line.startswith(f"JobId={job} ")]
    more = outputs["job"].rstrip("\n") + "\n" + row.replace(f"JobId={job} ", "JobId=4 ") + "\n"
    return {**outputs, "job": more}


def planned(outputs: dict[str, str]) -> slurm.Plan:
    return slurm.plan(read(outputs), iterations=20, threads=1)


def test_a_ring_stays_in_one_tree(halls: dict[str, str]) -> None:
    made = planned(halls)
    assert [{*one.gpus} for one in made.jobs] == [HALLS[0]]
    for one in made.jobs:  # The free nodes of two halls are no room: it waits for a running job.
        assert one.why == "GPUs of 1"


def test_jobs_are_dealt_to_the_tree_with_least_work(halls: dict[str, str]) -> None:
    made = planned(of_two(halls))
    assert sorted({*one.gpus} == HALLS[0] for one in made.jobs) == [False, True]
    assert all({*one.gpus} in HALLS for one in made.jobs)


def test_no_gap_is_claimed_where_a_tree_was_chosen(halls: dict[str, str]) -> None:
    made = planned(halls)
    (told,) = made.head()
    assert told.startswith("rarmodel chose a tree of switches")
    assert told.endswith("so no gap is claimed")
    assert "gap" not in made.lines()
    assert not any("at least" in line for line in made.lines().values())
    assert made.summary()["plan"]["gap"] is None
    assert made.schedule.bound is None
    again = slurm.plan(read(halls).instance, iterations=20, threads=1)  # As of a file.
    assert again.head() == made.head()
    named = changed(halls, "3", ReqNodeList="n[3-4]")
    assert not planned(named).caveats  # Only one tree has room for it.


def test_what_no_tree_can_hold_is_left_out(halls: dict[str, str]) -> None:
    wide = changed(halls, "3", NumNodes="3-3", NumTasks="3")
    reading = read(wide)
    assert "3" not in {job.name for job in reading.instance.jobs}
    assert any("no tree of switches has room" in n and "3" in i for n, i in reading.notes.items())
    across = changed(halls, "3", ReqNodeList="n[2-3]")
    assert "3" not in {job.name for job in read(across).instance.jobs}


def test_a_job_of_one_node_may_go_to_any_tree(halls: dict[str, str]) -> None:
    one = changed(halls, "3", NumNodes="1-1", NumTasks="1")
    (job,) = [job for job in read(one).instance.jobs if job.name == "3"]
    assert job.servers is None


def test_a_plan_across_trees_is_refused(halls: dict[str, str]) -> None:
    made = planned(halls)
    (row,) = [one for one in made.schedule.assignments if one.job == "3"]
    gpus = {"n2": tuple(range(8)), "n4": tuple(range(8))}
    others = [one for one in made.schedule.assignments if one.job != "3"]
    moved = row.model_copy(update={"gpus": gpus, "start": 1421})
    crossed = made.schedule.model_copy(update={"assignments": (*others, moved)})
    from rarmodel.slurm.applying import checked
    from rarmodel.slurm.queue_choices import chosen

    with pytest.raises(slurm.StaleError, match="job 3 changed"):
        checked(crossed, halls, chosen())
    other = moved.model_copy(update={"gpus": {"n3": gpus["n2"], "n4": gpus["n4"]}})
    kept = made.schedule.model_copy(update={"assignments": (*others, other)})
    (handed,) = checked(kept, halls, chosen()).plan  # The plan's tree is as good as another.
    assert handed.nodes == ("n3", "n4")


def test_switches_bind_no_job_where_slurm_says_so(halls: dict[str, str]) -> None:
    free = {**halls, "config": halls["config"] + "TopologyParam           = TopoOptional\n"}
    reading = read(free)
    assert not reading.queue.trees
    (job,) = [job for job in reading.instance.jobs if job.name == "3"]
    assert job.servers is None


def test_a_node_below_no_switch_gets_no_job_and_the_tree_stays() -> None:
    reading = slurm.read(RECORDED / "node-without-switch")
    network = reading.instance.cluster.network
    assert isinstance(network, TreeNetwork)
    parents = {link.node: link.parent for link in network.links}
    assert parents["n1"] == parents["n2"] == "hallA"
    assert parents["hallA"] == parents["hallB"] == "top"
    assert "1 node: below no switch, so Slurm places no job there ('n4')" in reading.lines()
    (away,) = [one for one in reading.instance.cluster.reservations if one.server == "n4"]
    assert (away.gpus, away.end) == (8, None)
    made = slurm.plan(reading, iterations=20, threads=1)
    assert not any("n4" in one.gpus for one in made.jobs)
    assert not made.caveats


BLOCKS = (
    "BlockName=b1 BlockIndex=0 Nodes=node[1-4] BlockSize=4\n"
    "BlockName=b2 BlockIndex=1 Nodes=node[5-7] BlockSize=4\n"
    "AggregatedBlock=b[1-2] BlockIndex=2 Nodes=node[1-7] BlockSize=8\n"
)
YAML = """\
- topology: other
  tree:
    switches:
      - switch: s
        nodes: node[1-8]
- topology: blocks
  cluster_default: true
  block:
    block_sizes: [4, 8]
    blocks:
      - block: b1
        nodes: node[1-4]
      - block: b2
        nodes: node[5-7]
"""


@pytest.mark.parametrize("text", [BLOCKS, YAML])
def test_blocks_are_switches_below_one(shapes: dict[str, str], text: str) -> None:
    queue = read({**shapes, "topology": text}).queue
    parents = queue.parents or {}
    assert {parents[f"node{n}"] for n in (1, 2, 3, 4)} == {"b1"}
    assert {parents[f"node{n}"] for n in (5, 6, 7)} == {"b2"}
    assert parents["b1"] == parents["b2"] == "all blocks"
    assert not queue.trees  # Jobs may cross blocks.
    assert queue.outside == ("node8",) or queue.nodes["node8"].away


def test_trees_of_yaml_are_read_and_flat_ones_are_stars(shapes: dict[str, str]) -> None:
    tree = YAML.replace("cluster_default: true", "cluster_default: false")
    assert (read({**shapes, "topology": tree}).queue.parents or {})["node8"] == "s"
    flat = "---\n- topology: flat\n  cluster_default: true\n  flat: true\n"
    assert read({**shapes, "topology": flat}).queue.parents is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- topology: a\n  tree: 3\n", "a list switches is expected"),
        ("- topology: a\n  block:\n    blocks: [3]\n", "an entry with block is expected"),
        (
            "- topology: a\n  tree:\n    switches:\n      - switch: s\n        nodes: n[1\n",
            "brackets that do not match",
        ),
    ],
)
def test_a_wrong_topology_yaml_is_refused_in_one_line(
    shapes: dict[str, str], text: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        read({**shapes, "topology": text})
