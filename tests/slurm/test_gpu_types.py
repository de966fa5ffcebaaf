"""Types of GPU, slices, shares, and `--gpus` alone, recorded from a real Slurm.

Nodes 1 to 3 have eight H100, 4 and 5 eight V100, 6 two A100 and seven slices, 7 four H100 that may
be shared, and 8 slices alone.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.errors import UsageError
from rarmodel.schema import Job
from rarmodel.slurm import Profile, Rule, Rules
from rarmodel.slurm.job_profiles import ASSUMED
from rarmodel.slurm.program_outputs import recorded
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_choices import chosen
from rarmodel.slurm.queue_reading import read

Outputs = dict[str, str]
RECORDED = Path(__file__).parent / "recorded"
SPEEDS = {"h100": 4.0, "a100": 2.0, "v100": 1.0}


@pytest.fixture
def types() -> Outputs:
    """The recording."""
    return recorded(RECORDED / "types")


def job(reading: Reading, name: str) -> Job:
    """The job of the instance."""
    return next(one for one in reading.instance.jobs if one.name == name)


def why(reading: Reading, name: str) -> str:
    """What the account says of a job."""
    return "; ".join(note for note, ids in reading.notes.items() if name in ids)


def kinds(reading: Reading, one: Job) -> set[str | None]:
    """The types of GPU that a job may use."""
    servers = reading.instance.cluster.servers
    return {s.gpu_type for s in servers if one.servers is None or s.name in one.servers}


@pytest.mark.parametrize("told", ["1", "1-1"])
@pytest.mark.parametrize(
    ("request_", "name", "nodes", "equal"),
    [
        ("gres:gpu:16", "6", 2, True),
        ("gres:gpu:12", "7", 2, False),
        ("gres:gpu:h100:24", "7", 3, True),
        ("gres:gpu:v100:12", "8", 2, False),
    ],
)
def test_gpus_alone_start_on_the_fewest_nodes(
    types: Outputs, told: str, request_: str, name: str, nodes: int, *, equal: bool
) -> None:
    reading = read(changed(types, name, TresPerJob=request_, NumNodes=told))
    spread = job(reading, name).spread
    assert spread is not None
    assert (spread.min_servers, spread.max_servers, spread.equal) == (nodes, nodes, equal)


def test_more_gpus_than_are_up_are_left_out(types: Outputs) -> None:
    assert "more GPUs" in why(read(changed(types, "6", TresPerJob="gres:gpu:64")), "6")


def test_unequal_parts_are_left_to_slurm_on_the_nodes_of_the_plan(types: Outputs) -> None:
    replayed = Replayed(types)
    reading = slurm.read(run=replayed)
    made = slurm.plan(reading, iterations=20, threads=1)
    planned = {one.job: one for one in made.jobs}
    assert sorted(planned["8"].gpus.values()) == [4, 8]
    applied = slurm.apply(made.schedule, run=replayed)
    (eight,) = [one for one in applied.plan if one.job == "8"]
    update = " ".join(eight.update())
    assert "numnodes=2-2 nodelist=node4,node5" in update
    assert "gpu" not in update  # The job's own --gpus stays.
    assert "gres=gpu:8 TresPerJob=" in applied.script()  # Of job 6, in equal parts.
    assert "job 8" not in str(applied.left)


def test_slices_and_shares_are_no_whole_gpus(types: Outputs) -> None:
    reading = read(types)
    servers = {one.name: (one.gpus, one.gpu_slices) for one in reading.instance.cluster.servers}
    assert [servers[name] for name in ("node6", "node7", "node8")] == [(2, None), (4, 4), (1, 7)]
    assert "node6: slices 1g.10gb:7 beside whole GPUs, left out" in reading.lines()
    assert why(reading, "2") == "running on parts of GPUs (slices, shards), left out"
    for name, index in (("3", 0), ("5", 1)):
        running = job(reading, name).running
        assert running is not None
        assert running.gpus == {"node6": (index,)}
    shared = job(reading, "4")
    assert (shared.slices, shared.running and shared.running.gpus) == (3, {"node7": (0,)})


def test_slices_before_whole_gpus_do_not_move_them_out_of_the_node(types: Outputs) -> None:
    moved = {**types, "job": types["job"].replace("gpu:a100:1(IDX:0)", "gpu:a100:1(IDX:7)")}
    reading = read(moved)
    held = job(reading, "3").running, job(reading, "5").running
    assert sorted(one.gpus["node6"] for one in held if one) == [(0,), (1,)]


def test_a_job_of_no_type_gets_no_node_with_slices(types: Outputs) -> None:
    reading = read(types)
    assert "node6" not in (job(reading, "14").servers or ())
    assert job(reading, "11").servers == ("node6",)  # It names a100.


def test_a_ring_stays_on_one_type_and_the_plan_says_so(types: Outputs) -> None:
    reading = read(types)
    for name in ("6", "7", "12"):
        assert len(kinds(reading, job(reading, name))) == 1
        assert "nothing is known of how fast types of GPU are (--gpu-speed)" in why(reading, name)
    assert len(kinds(reading, job(reading, "13"))) > 1  # On one node in any case.
    made = slurm.plan(reading, iterations=20, threads=1)
    assert any("one type of GPU" in one for one in made.head())
    assert "gap" not in made.lines()


def test_with_factors_a_ring_may_have_several_types_at_the_pace_of_the_slowest(
    types: Outputs,
) -> None:
    reading = read(types, chosen(gpu_speeds=SPEEDS))
    twelve = job(reading, "12")
    assert kinds(reading, twelve) == {"h100", "v100"}
    assert twelve.times is not None
    slow, fast = twelve.times["v100"].backward_ms, twelve.times["h100"].backward_ms
    assert slow == 4 * fast == 4 * ASSUMED["backward_ms"]
    made = slurm.plan(reading, iterations=20, threads=1)
    assert "gap" in made.lines()
    rules = Rules(profiles=(Rule(name="x", profile=Profile(seconds=1.0)),), gpu_speeds=SPEEDS)
    assert job(read(types, chosen(profiles=rules)), "12").times == twelve.times


@pytest.mark.parametrize(
    ("speeds", "told"),
    [
        ({"h100": 2.0, "v100": 1.0}, "'a100' has no factor"),
        ({**SPEEDS, "t4": 1.0}, "'t4' is no type of this cluster"),
        ({**SPEEDS, "v100": 0.0}, "0.001 to 1000"),
    ],
)
def test_factors_are_of_all_types_and_of_no_others(
    types: Outputs, speeds: dict[str, float], told: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        read(types, chosen(gpu_speeds=speeds))


def test_a_job_without_a_profile_exchanges_as_the_middle_one_and_is_counted(
    types: Outputs,
) -> None:
    reading = read(types)
    assert job(reading, "12").gradient_mb == ASSUMED["gradient_mb"]
    assert "no profile, so they exchange as resnet50 does" in why(reading, "12")
    assert job(reading, "13").gradient_mb == 0  # On one node no exchange matters.


def test_an_idle_cluster_gets_compact_rings(shapes: Outputs) -> None:
    """Two leaves of four nodes: rings have the fewest nodes, below one leaf."""
    idle = "\n".join(row for row in shapes["job"].split("\n") if re.match("JobId=(5|8) ", row))
    free = re.sub(r"GresUsed=\S+", "GresUsed=gpu:h100:0", shapes["node"])
    outputs = changed({**shapes, "job": idle, "node": free}, "5", Comment="rarmodel")
    outputs = changed(outputs, "5", TresPerJob="gres:gpu:16", NumTasks="16", NumNodes="1")
    reading = read(outputs)
    made = slurm.plan(reading, iterations=100, threads=1)
    leaf = reading.queue.parents or {}
    for one in made.jobs:
        total = sum(one.gpus.values())
        assert len(one.gpus) == -(-total // 8)
        assert len({leaf[node] for node in one.gpus}) == 1
