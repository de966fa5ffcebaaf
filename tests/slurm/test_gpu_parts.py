"""Shards and slices (MIG), recorded from a real Slurm 22.05.

Nodes 1 and 2 have four H100 of four shards each, 3 two A100 of seven slices each, 4 an A100 beside
slices, 5 four H100 of 15 shards in all, 6 three slices of which a GPU has two.
"""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from depth import first
from recorded_slurm import Replayed, changed

from rarmodel import slurm
from rarmodel.schema import Assignment, Job
from rarmodel.slurm.gpu_parts import HeldPart, parts_in
from rarmodel.slurm.held_slices import with_held_slices
from rarmodel.slurm.nodes import Node
from rarmodel.slurm.program_outputs import recorded
from rarmodel.slurm.queue_account import Reading
from rarmodel.slurm.queue_reading import read
from rarmodel.slurm.slurm_jobs import SlurmJob
from rarmodel.slurm.slurms_gpus import first_with_room
from rarmodel.verifier import verify
from rarmodel.workloads.gpu_divisions import instances_per_gpu

Outputs = dict[str, str]
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.fixture
def parts() -> Outputs:
    """The recording."""
    return recorded(EXAMPLES / "slurm-parts")


def jobs_of(reading: Reading) -> dict[str, Job]:
    return {job.name: job for job in reading.instance.jobs}


def why(reading: Reading, name: str) -> str:
    """What the account says of a job."""
    return "; ".join(note for note, ids in reading.notes.items() if name in ids)


def held(reading: Reading) -> dict[str, tuple[int | None, dict[str, tuple[int, ...]]]]:
    """Slices and GPUs of the running jobs."""
    return {
        job.name: (job.slices, dict(job.running.gpus))
        for job in reading.instance.jobs
        if job.running
    }


def test_equal_shards_and_slices_are_slices_of_servers(parts: Outputs) -> None:
    reading = read(parts)
    cluster = reading.instance.cluster
    found = {s.name: (s.gpus, s.gpu_type, cluster.slices_of(s)) for s in cluster.servers}
    assert found == {
        "node1": (4, "h100", 4),
        "node2": (4, "h100", 4),
        "node3": (2, "a100_1g.5gb", 7),
        "node4": (1, "a100", 1),
        "node5": (4, "h100", 1),
    }
    told = reading.lines()
    assert "node4: slices a100_1g.5gb:7 beside whole GPUs, left out" in told
    assert "node5: 15 shards of 4 GPUs, not equal, left out" in told
    assert "node6: slices a100_3g.20gb:3, which fill no whole GPUs, left out" in told


def test_running_jobs_hold_slices_of_the_gpus_that_slurm_tells(parts: Outputs) -> None:
    reading = read(parts)
    assert held(reading) == {
        "1": (1, {"node1": (0,)}),
        "2": (3, {"node1": (0,)}),
        "3": (2, {"node1": (1,), "node2": (0,)}),
        "4": (None, {"node2": (1,)}),
        "5": (1, {"node3": (0,)}),
        "6": (3, {"node3": (0,)}),
        "7": (1, {"node3": (0,)}),  # It named no type, and got a slice.
        "9": (None, {"node4": (0,)}),
    }
    assert "running on parts" in why(reading, "8")
    assert {job.sensitivity for job in reading.instance.jobs if job.slices} == {0}
    assert not reading.instance.cluster.reservations


def test_waiting_jobs_ask_for_parts_on_the_nodes_that_have_them(parts: Outputs) -> None:
    reading = read(parts)
    found = {
        name: (job.gpus, job.slices, job.servers)
        for name, job in jobs_of(reading).items()
        if not job.running
    }
    assert found == {
        "10": (1, 2, ("node1", "node2")),
        "11": (2, 4, ("node1", "node2")),
        "12": (1, 1, ("node3",)),
        "13": (1, 1, ("node3",)),
        "19": (4, None, ("node1", "node2", "node5")),
        "20": (1, 1, ("node1", "node2")),
    }
    spread = jobs_of(reading)["11"].spread
    assert spread is not None
    assert (spread.min_servers, spread.max_servers) == (2, 2)
    assert "by job or task" in why(reading, "14")
    assert "by job or task" in why(reading, "15")
    assert "range of nodes" in why(reading, "16")
    assert "5 shards on a node, and each GPU has 4" in why(reading, "17")
    assert "no node has equal slices a100_3g.20gb" in why(reading, "18")
    assert "8 slices a100_1g.5gb on a node, and each GPU has 7" in why(reading, "21")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("gres:shard:2,gres:gpu:1", "several kinds of parts"),
        ("gres:mps:50", "MPS"),
        ("gres:gpu:a100_1g.5gb:1,gres:shard:1", "several kinds of parts"),
        ("gres:shard:a100:2", "no node has equal shards"),
        ("gres:shard:2x", "a number of GPUs is expected"),
    ],
)
def test_requests_that_are_no_slices_say_why(parts: Outputs, asked: str, told: str) -> None:
    assert told in why(read(changed(parts, "10", TresPerNode=asked)), "10")


@pytest.mark.parametrize("asked", ["gres/shard:2", "gres:shard:h100:2", "gres/shard=2"])
def test_requests_in_the_words_of_other_versions_are_the_same(parts: Outputs, asked: str) -> None:
    ten = jobs_of(read(changed(parts, "10", TresPerNode=asked)))["10"]
    assert (ten.slices, ten.servers) == (2, ("node1", "node2"))


def newer(parts: Outputs, of_node: str = "4/4,2/4,0/4,0/4") -> Outputs:
    """The recording as Slurm 23 and later tell shards: in use and all, for each GPU."""
    job = re.sub(r"shard:h100:(\d)\(IDX:0\)", r"shard:h100:\1(\1/4,0/4,0/4,0/4)", parts["job"])
    job = re.sub(r"shard:h100:(\d)\(IDX:1\)", r"shard:h100:\1(0/4,\1/4,0/4,0/4)", job)
    job = re.sub(r"shard:(\d)\(IDX:0\)", r"shard:\1(\1/4,0/4,0/4,0/4)", job)
    node = parts["node"].replace("shard:h100:2(IDX:0-1)", f"shard:h100:6({of_node})")
    assert node != parts["node"]
    assert job != parts["job"]
    return {**parts, "job": job, "node": node}


def test_newer_versions_tell_shards_by_gpu(parts: Outputs) -> None:
    assert read(newer(parts)).instance == read(parts).instance
    unequal = read(newer(parts, "4/6,2/6,0/2,0/2"))
    assert "node1: 16 shards of 4 GPUs, not equal, left out" in unequal.lines()
    assert jobs_of(unequal)["10"].servers == ("node2",)


def test_shards_of_several_gpus_of_a_job_make_these_gpus_taken(parts: Outputs) -> None:
    """Slurm 22.05 does not tell how many shards of each of them: nobody may join there."""
    text = parts["job"].replace("shard:h100:3(IDX:0)", "shard:h100:3(IDX:0,2)")
    assert text != parts["job"]
    node = parts["node"].replace("shard:h100:2(IDX:0-1)", "shard:h100:3(IDX:0-2)")
    reading = read({**parts, "job": text, "node": node})
    assert {"1", "2"} & held(reading).keys() == set()  # 1 is beside 2 on GPU 0.
    assert held(reading)["3"] == (2, {"node1": (1,), "node2": (0,)})
    (away,) = reading.instance.cluster.reservations
    assert (away.server, away.gpus) == ("node1", 2)


def test_slices_of_jobs_that_slurm_does_not_show_take_the_node(parts: Outputs) -> None:
    """Any slice may be theirs, so no job counts as a holder there."""
    row = next(row for row in parts["job"].split("\n") if row.startswith("JobId=6 "))
    reading = read({**parts, "job": parts["job"].replace(row, "")})
    assert {"5", "6", "7"} & held(reading).keys() == set()
    (away,) = reading.instance.cluster.reservations
    assert (away.server, away.gpus) == ("node3", 2)


def test_limits_on_gpus_count_slices_and_no_shards(parts: Outputs) -> None:
    """As Slurm does; job 8 is not in the instance, and counts."""
    config = parts["config"].replace("Enforce = none", "Enforce = associations,limits")
    text = re.sub(r"Account=\(null\)( +)QOS=\(null\)", r"Account=vision\1QOS=normal", parts["job"])
    qos = "normal|0||cluster|gres/gpu=16|||\n"
    found = changed({**parts, "config": config, "job": text, "qos": qos}, "6", QOS="normal")
    reading = read(changed(found, "12", TresPerNode="gres:gpu:a100_1g.5gb:2"))
    uses = {job.name: job.resources_per_gpu for job in reading.instance.jobs}
    limit = "QOS normal"
    assert {name: one[limit] for name, one in uses.items() if one} == {
        "4": 1, "5": 1, "6": 3, "7": 1, "9": 1, "12": 2, "13": 1, "19": 1
    }  # fmt: skip
    (resource,) = reading.instance.resources
    assert resource.windows[0].capacity == 15
    low = read({**found, "qos": qos.replace("16", "2")})
    assert "asks for 4 GPUs" in why(low, "19")
    assert jobs_of(low)["11"].slices == 4


def test_a_profile_tells_how_jobs_on_parts_slow_each_other_down(parts: Outputs) -> None:
    told = 'rarmodel {"sensitivity":0.5,"pressure":0.25}'
    row = next(row for row in parts["job"].split("\n") if row.startswith("JobId=10 "))
    found = {**parts, "job": parts["job"].replace(row, row.replace("rarmodel", told))}
    ten = jobs_of(read(found))["10"]
    assert (ten.sensitivity, ten.pressure) == (0.5, 0.25)


def test_a_plan_is_handed_back_with_its_requests_as_they_were(parts: Outputs) -> None:
    replayed = Replayed(parts)
    reading = slurm.read(run=replayed)
    made = slurm.plan(reading, iterations=20, threads=1)
    rows = {row["job"]: row["GPUs"] for row in made.rows()}
    assert rows["11"] == "4/4 on node[1-2]"
    assert rows["12"] == "1/7 on node3"
    assert {one["job"]: one["slices"] for one in made.summary()["jobs"]}["10"] == 2
    told = "Slurm itself chooses of which GPU a job gets shards"
    assert told in "\n".join(made.head())
    applied = slurm.apply(made.schedule, run=replayed)
    assert told in "\n".join(applied.lines())
    changes = {one.job: " ".join(one.update()) for one in applied.plan}
    assert "numnodes=2-2" in changes["11"]
    assert all("gres" not in changes[name] for name in ("10", "11", "12", "13", "20"))
    assert "gres=gpu:h100:4" in changes["19"]  # Of whole GPUs.
    assert "TresPerNode=gres:shard:2" in applied.undo()
    assert applied.report is not None
    assert not applied.report.violations


def test_a_plan_without_shards_has_no_word_of_them(parts: Outputs) -> None:
    named = ["12", "13", "19"]
    text = parts["job"].replace("Comment=rarmodel", "Comment=(null)")
    reading = slurm.read(run=Replayed({**parts, "job": text}), named=named)
    made = slurm.plan(reading, iterations=20, threads=1)
    assert {one.job for one in made.jobs} == {*named}
    assert "shards" not in "\n".join(made.head())


def test_shards_that_another_job_took_make_the_plan_stale(parts: Outputs) -> None:
    made = slurm.plan(slurm.read(run=Replayed(parts)), iterations=20, threads=1)
    text, node = parts["job"], parts["node"]
    # Since the plan job 4 has got all GPUs of node 2 but the one that is shared.
    text = re.sub(r"GRES=gpu:h100:1\(IDX:1\)", "GRES=gpu:h100:3(IDX:1-3)", text)
    node = node.replace("GresUsed=gpu:h100:1(IDX:1)", "GresUsed=gpu:h100:3(IDX:1-3)")
    assert text != parts["job"]
    with pytest.raises(slurm.StaleError, match=r"11.*node2"):
        slurm.apply(made.schedule, run=Replayed({**parts, "job": text, "node": node}))


@pytest.mark.parametrize("seed", first(10, range(100)))
def test_slices_are_numbered_so_that_no_gpu_has_more_than_it_can(seed: int) -> None:
    random = Random(seed)
    gpus, slices = random.randint(1, 4), random.choice([2, 3, 7])
    sizes = [random.randint(1, slices) for _ in range(random.randint(0, 6))]
    hidden = random.choice([0, 0, 1])
    used = sum(sizes) + hidden
    node = Node("n", gpus, "1g.5gb", 0, 1, 1, frozenset(), "", "1g.5gb", slices, used)
    record = {"JobState": "RUNNING"}
    jobs = [
        SlurmJob(str(i), record, {}, {"n": HeldPart("1g.5gb", size, ())})
        for i, size in enumerate(sizes)
    ]
    nodes, found = with_held_slices({"n": node}, jobs)
    loads = [0] * gpus
    for job in found:
        for gpu in job.held.get("n", ()):
            loads[gpu] += job.slices
    assert max(loads) <= slices
    if hidden or sum(sizes) > gpus * slices:
        assert not any(job.held for job in found)
    if all(job.held for job in found) and not hidden:
        assert sum(loads) == sum(sizes)
        assert nodes["n"].used == sum(load > 0 for load in loads)
    else:
        assert nodes["n"].used == gpus


@pytest.mark.parametrize("seed", first(5, range(50)))
def test_the_first_gpus_with_room_are_no_conflict(parts: Outputs, seed: int) -> None:
    """Jobs of one part each always find room where the plan has it; others may not."""
    random = Random(seed)
    instance = read(parts).instance
    slices = {
        server.name: instance.cluster.slices_of(server) for server in instance.cluster.servers
    }
    jobs = tuple(
        job
        if job.running
        else job.model_copy(update={"gpus": 1, "slices": 1, "spread": None, "servers": None})
        for job in instance.jobs
    )
    instance = instance.model_copy(update={"jobs": jobs})
    full = {("node1", 0), ("node2", 1), ("node4", 0)}
    places = [
        (s.name, gpu)
        for s in instance.cluster.servers
        for gpu in range(s.gpus)
        for _ in range(slices[s.name] - 5 * (s.name == "node3" and gpu == 0))
        if (s.name, gpu) not in full and (s.name, gpu) not in {("node1", 1), ("node2", 0)}
    ]
    random.shuffle(places)
    planned = [
        Assignment(job=job.name, start=0, gpus=job.running.gpus)
        if job.running
        else Assignment(job=job.name, start=0, gpus={(place := places.pop())[0]: (place[1],)})
        for job in jobs
    ]
    ends = dict.fromkeys((job.name for job in jobs), 10**6)
    found = first_with_room(instance, planned, ends)
    assert found is not None
    schedule = slurm.plan(read(parts), iterations=1, threads=1).schedule
    report = verify(instance, schedule.model_copy(update={"assignments": found}))
    assert not report.violations


@pytest.mark.parametrize(
    ("slices", "first", "fullest"),
    [
        ((3, 2, 2, 2, None), [0, 1, 1, 2, 3], [0, 1, 1, 2, 3]),
        ((2, 3, 1, 1, 1), [0, 1, 0, 0, 1], [0, 1, 1, 0, 0]),
        ((3, 3, 3, 3, 3), None, None),
    ],
)
def test_slurm_takes_the_first_gpu_with_room(
    parts: Outputs,
    slices: tuple[int | None, ...],
    first: list[int] | None,
    fullest: list[int] | None,
) -> None:
    instance = read(parts).instance
    names = ("10", "11", "12", "13", "19")
    jobs = {job.name: job for job in instance.jobs}
    some = tuple(
        jobs[name].model_copy(update={"gpus": 1, "slices": n, "servers": None, "spread": None})
        for name, n in zip(names, slices, strict=True)
    )
    alone = instance.model_copy(update={"jobs": some})
    planned = [
        Assignment(job=name, start=start, gpus={"node1": (0,)}) for start, name in enumerate(names)
    ]
    ends = dict.fromkeys(names, 10**6)
    for full, expected in ((False, first), (True, fullest)):
        found = first_with_room(alone, planned, ends, fullest=full)
        assert (found and [one.gpus["node1"][0] for one in found]) == expected


@pytest.mark.parametrize(
    ("kind", "count", "each"),
    [
        ("1g.5gb", 14, 7),
        ("a100_1g.10gb", 28, 7),
        ("nvidia_a100-pcie-40gb_1g.10gb", 8, 4),
        ("2g.10gb", 3, 3),
        ("3g.20gb", 4, 2),
        ("7g.80gb", 8, 1),
        ("1g.5gb", 6, None),
        ("1g.10gb+me", 1, None),
        ("5g.1gb", 1, None),
        ("h100", 8, None),
    ],
)
def test_instances_of_a_gpu_follow_from_the_profile(
    kind: str, count: int, each: int | None
) -> None:
    assert instances_per_gpu(kind, count) == each


def test_parts_are_read_in_the_words_of_each_version() -> None:
    assert parts_in("gpu:h100:2(IDX:0-1),shard:(null):3(IDX:2)") == [HeldPart("shard", 3, (2,))]
    assert parts_in("shard:15(10/10,5/10,0/10)") == [HeldPart("shard", 15, (0, 1))]
    assert parts_in("gpu:a100:0(IDX:N/A),gpu:a100_1g.5gb:3(IDX:1-2,4)") == [
        HeldPart("a100_1g.5gb", 3, (1, 2, 4))
    ]
