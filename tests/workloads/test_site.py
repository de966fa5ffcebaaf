"""Types of GPU and partitions: from node tables and Slurm to jobs bound to some servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from traces import jobs_of, reasons, rows

import rarmodel
from rarmodel.model import used
from rarmodel.workloads import Imported
from rarmodel.workloads.model_profiles import is_type, profile_of

ALIBABA = (
    "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,"
    "job_type"
)
NODES = "sn,gpu,model\nn0,8,V100M32\nn1,8,V100M16\nn2,4,A100\nn3,4,A100\nlogin,0,\n"
CONF = (
    "NodeName=DEFAULT CPUs=64\n"
    "NodeName=a[1-2] Gres=gpu:a100:8 Feature=fast,new\n"
    "NodeName=v[1-2] Gres=gpu:v100:4\n"
    "NodeName=cpu1\n"
    "NodeSet=quick Feature=fast\n"
    "PartitionName=DEFAULT State=UP\n"
    "PartitionName=big Nodes=quick\n"
    "PartitionName=old Nodes=v[1-2],cpu1\n"
    "PartitionName=all Nodes=ALL Default=YES\n"
    "PartitionName=cpu Nodes=cpu1\n"
)


def onto(tmp_path: Path, nodes: str, text: str, **options: Any) -> Imported:
    """Import onto the nodes of a table."""
    (tmp_path / "nodes.csv").write_text(nodes, encoding="utf-8")
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return rarmodel.import_trace(tmp_path / "t.csv", cluster=tmp_path / "nodes.csv", **options)


def sacct(tmp_path: Path, text: str, conf: str = CONF) -> Imported:
    """Import onto the nodes of a slurm.conf."""
    (tmp_path / "slurm.conf").write_text(conf, encoding="utf-8")
    (tmp_path / "jobs.txt").write_text(text, encoding="utf-8")
    return rarmodel.import_trace(tmp_path / "jobs.txt", slurm_conf=tmp_path / "slurm.conf")


def alibaba(*jobs: tuple[str, str, int]) -> str:
    lines = [f"{name},org,{model},8,{gpus},1,0,900,HP" for name, model, gpus in jobs]
    return rows(*lines, header=ALIBABA)


@pytest.mark.parametrize(
    ("gpu_type", "name", "same"),
    [
        ("V100", "v100", True),
        ("V100M32", "V100", True),
        ("Tesla-V100-SXM2", "V100", True),
        ("nvidia_a100-sxm4-80gb", "A100", True),
        ("A100", "A10", False),
        ("GA10", "A10", False),
        ("A100", "A100-80GB", False),
    ],
)
def test_types_of_gpu_by_name(gpu_type: str, name: str, same: bool) -> None:
    assert is_type(gpu_type, name) is same


def test_types_of_a_node_table_are_those_of_servers(tmp_path: Path) -> None:
    found = onto(tmp_path, NODES, alibaba(("a", "", 8)))
    types = [server.gpu_type for server in found.instance.cluster.servers]
    assert types == ["V100M32", "V100M16", "A100", "A100"]
    assert used(found.instance) == {}
    assert found.account.kept[-2] == (
        "kept: types of GPU 'V100M32', 'V100M16', 'A100'; 0 jobs bound to some of them"
    )
    assert "no profiles on every type of GPU; it runs alike on all" in reasons(found.account.notes)


def test_job_bound_to_a_type_has_times_of_it_alone(tmp_path: Path) -> None:
    asked = (("v", "V100", 16), ("m", "V100M16", 8), ("a", "A100", 8), ("or", "A100|V100M16", 9))
    found = onto(tmp_path, NODES, alibaba(*asked))
    jobs = jobs_of(found.instance)
    assert {name: tuple(job.times or ()) for name, job in jobs.items()} == {
        "v": ("V100M32", "V100M16"),
        "m": ("V100M16",),
        "a": ("A100",),
        "or": ("V100M16", "A100"),
    }
    assert {job.forward_ms_per_sample for job in jobs.values()} == {None}
    # Recorded durations are kept on these types.
    extremes = rarmodel.model.job_extremes(found.instance)
    assert {extreme.least_slots for extreme in extremes} == {15}
    assert reasons(found.account.notes)["no profile on A100; that on another type is used"] >= 1


def test_type_that_no_server_has_leaves_a_job_out_with_a_line(tmp_path: Path) -> None:
    found = onto(tmp_path, NODES, alibaba(("t", "T4", 1), ("a", "A100", 1), ("w", "A100", 9)))
    assert reasons(found.account.left_out) == {
        "no server has GPUs of type 'T4'; the cluster has 'V100M32', 'V100M16', 'A100'": 1,
        "more GPUs than the 8 that it may use": 1,
    }


def test_type_is_noted_where_the_cluster_has_none_and_says_nothing_where_it_has_one(
    tmp_path: Path,
) -> None:
    without = onto(tmp_path, "sn,gpu\nn0,8\n", alibaba(("a", "A100", 8)))
    note = "bound to a type of GPU, which is not kept: the cluster's have none"
    assert reasons(without.account.notes)[note] == 1
    one = onto(tmp_path, "sn,gpu,gpu_type\nn0,8,A100\n", alibaba(("a", "A100", 8)))
    assert one.instance.jobs[0].times is None
    assert one.instance.jobs == without.instance.jobs


def test_servers_without_a_type_among_others_make_a_list_of_servers(tmp_path: Path) -> None:
    nodes = "sn,gpu,model\nn0,8,V100\nn1,8,\n"
    (job,) = onto(tmp_path, nodes, alibaba(("a", "V100", 8))).instance.jobs
    assert (job.servers, job.times) == (("n0",), None)


def test_model_measured_on_every_type_has_times_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = profile_of("vgg16", 1, None)
    fast = slow._replace(compute_ms=slow.compute_ms / 2, hardware="A100")
    both = {"vgg16": (slow, fast)}
    monkeypatch.setattr("rarmodel.workloads.model_profiles.profiles", lambda: both)
    profile_of.cache_clear()
    nodes = "sn,gpu,model\nn0,8,V100M32\nn1,8,A100\n"
    text = rows("a,0,1,0,600,,vgg16,,")
    try:
        (job,) = onto(tmp_path, nodes, text).instance.jobs
    finally:
        profile_of.cache_clear()
    assert job.times is not None
    assert list(job.times) == ["V100M32", "A100"]
    assert job.milliseconds("V100M32") == pytest.approx([2 * x for x in job.milliseconds("A100")])


def test_slurm_types_and_partitions_bind_jobs(tmp_path: Path) -> None:
    found = sacct(
        tmp_path,
        "JobID|Account|Partition|Submit|Start|ElapsedRaw|ReqTRES|AllocTRES\n"
        "1|phys|big|2024-05-01T10:00:00||600|gres/gpu=8|gres/gpu=8,gres/gpu:a100=8\n"
        "2|phys|old,big|2024-05-01T10:01:00||600|gres/gpu:v100=4|gres/gpu=4,gres/gpu:v100=4\n"
        "3|bio|all|2024-05-01T10:02:00||600|gres/gpu=4|gres/gpu=4,gres/gpu:v100=4\n"
        "4|bio|gone|2024-05-01T10:03:00||600|gres/gpu=1|gres/gpu=1,gres/gpu:v100=1\n"
        "5|bio|cpu|2024-05-01T10:04:00||600|gres/gpu=1|gres/gpu=1\n"
        "6|bio|old|2024-05-01T10:05:00||600|gres/gpu:a100=4|gres/gpu:a100=4\n"
        "7|bio|old|2024-05-01T10:05:00||600|gres/gpu=9|gres/gpu=9\n",
    )
    servers = {server.name: server.gpu_type for server in found.instance.cluster.servers}
    assert servers == {"a1": "a100", "a2": "a100", "v1": "v100", "v2": "v100"}
    jobs = jobs_of(found.instance)
    assert {name: (job.servers, tuple(job.times or ())) for name, job in jobs.items()} == {
        "1": (("a1", "a2"), ()),
        "2": (None, ("v100",)),
        "3": (None, ()),
        "4": (None, ()),
    }
    assert [job.tenant for job in jobs.values()] == ["phys", "phys", "bio", "bio"]
    assert reasons(found.account.left_out) == {
        "partition 'cpu' has no GPUs": 1,
        "partition 'old' has no GPUs of type 'a100'": 1,
        "more GPUs than the 8 that it may use": 1,
    }
    note = "of a partition that slurm.conf does not have; it may use any server"
    assert reasons(found.account.notes)[note] == 1
    assert "kept: lists of servers of 1 job" in found.account.kept


def test_types_of_all_servers_are_needed_for_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = profile_of("vgg16", 1, None)
    both = {"vgg16": (slow, slow._replace(hardware="A100"))}
    monkeypatch.setattr("rarmodel.workloads.model_profiles.profiles", lambda: both)
    profile_of.cache_clear()
    nodes = "sn,gpu,model\nn0,8,V100\nn1,8,A100\nn2,8,\n"
    try:
        (job,) = onto(tmp_path, nodes, rows("a,0,1,0,600,,vgg16,,")).instance.jobs
    finally:
        profile_of.cache_clear()
    assert job.times is None


def test_partition_of_one_type_needs_no_profile_on_others(tmp_path: Path) -> None:
    text = "JobID|Partition|ElapsedRaw|AllocTRES\n1|old|600|gres/gpu=4\n"
    found = sacct(tmp_path, text)
    assert found.instance.jobs[0].servers == ("v1", "v2")
    assert not any("profiles" in note for note in reasons(found.account.notes))


def test_allocated_type_binds_where_nobody_recorded_what_was_asked_for(tmp_path: Path) -> None:
    text = "JobID|ElapsedRaw|AllocTRES\n1|600|gres/gpu:v100=4\n"
    (job,) = sacct(tmp_path, text).instance.jobs
    assert list(job.times or ()) == ["v100"]


def test_node_with_two_types_has_both_in_its_type(tmp_path: Path) -> None:
    conf = "NodeName=n1 Gres=gpu:a100:4,gpu:t4:4,shard:8\nNodeName=n2 Gres=gpu:8\n"
    text = "JobID|ElapsedRaw|AllocTRES\n1|600|gres/gpu:t4=2\n2|600|gres/gpu=8\n"
    found = sacct(tmp_path, text, conf)
    assert [server.gpu_type for server in found.instance.cluster.servers] == ["a100+t4", None]
    assert [job.servers for job in found.instance.jobs] == [("n1",), None]


@pytest.mark.parametrize(
    "line", ["PartitionName=x Nodes=n[1-", "NodeSet=x Nodes=n[3-1]", "PartitionName=x Nodes=n[b]"]
)
def test_malformed_partition_is_a_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(rarmodel.errors.InputError, match=r"slurm.conf: line 2: "):
        sacct(tmp_path, "JobID|ElapsedRaw|AllocTRES\n", f"NodeName=n[1-4] Gres=gpu:1\n{line}\n")


def test_columns_of_any_file_can_name_types_partitions_and_tenants(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(CONF, encoding="utf-8")
    (tmp_path / "t.csv").write_text("g,d,k,p,w\n4,600,V100,all,me\n4,600,,old,\n", encoding="utf-8")
    found = rarmodel.import_trace(
        tmp_path / "t.csv",
        slurm_conf=tmp_path / "slurm.conf",
        columns={"gpus": "g", "duration": "d", "gpu-type": "k", "partition": "p", "tenant": "w"},
    )
    one, other = found.instance.jobs
    assert (list(one.times or ()), one.tenant) == (["v100"], "me")
    assert (other.servers, other.tenant) == (("v1", "v2"), None)
