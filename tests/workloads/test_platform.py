"""The cluster that jobs are imported onto: servers from one source, rates, contention."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from documents import instance_data

from rarmodel.errors import InputError, UsageError
from rarmodel.files import parse_instance
from rarmodel.workloads import platform_of
from rarmodel.workloads.importer import DEFAULT_CONTENTION


def test_equal_servers_on_a_star() -> None:
    cluster, contention, partitions, *_ = platform_of(
        servers=11, gpus_per_server=4, rates={"network_gbps": 10}
    )
    assert [cluster.servers[0].name, cluster.servers[-1].name] == ["node00", "node10"]
    assert {server.gpus for server in cluster.servers} == {4}
    assert cluster.network.model_dump() == {"kind": "star", "gbps": 10.0}
    assert (cluster.intra_server_gbps, cluster.reduction_gbps) == (120, 400)
    assert contention.given() == {**DEFAULT_CONTENTION, "model": "count"}
    assert not partitions


@pytest.mark.parametrize("part", ["instance", "cluster"])
def test_cluster_of_a_file(tmp_path: Path, part: str) -> None:
    data = instance_data()
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data if part == "instance" else data["cluster"]), encoding="utf-8")
    cluster, contention, *_ = platform_of(
        cluster=str(path), contention={"overhead_ms_per_server": 9}
    )
    instance = parse_instance(data)
    assert cluster == instance.cluster
    alpha = 0.2 if part == "instance" else 0.1
    assert contention.degradation.alpha == alpha
    assert contention.overhead_ms_per_server == 9


def test_constants_of_contention_can_be_changed() -> None:
    changes = {"alpha": 0.5, "concurrency": 0.25, "overhead_ms_per_server": 3.0}
    contention = platform_of(servers=1, gpus_per_server=1, contention=changes).contention
    assert contention.degradation.alpha == 0.5
    assert (contention.concurrency, contention.overhead_ms_per_server) == (0.25, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one source of servers is needed"),
        ({"gpus_per_server": 1, "slurm_conf": "x"}, "one source of servers is needed"),
        ({"servers": 1}, "give both servers and gpus per server"),
        ({"servers": 0, "gpus_per_server": 1}, "0 servers of 1 GPUs: at least 1"),
        ({"servers": 1, "gpus_per_server": 1, "gpu_slices": 65}, "gpu_slices: 65"),
        ({"servers": 9**9, "gpus_per_server": 1}, "at most 10000000 GPUs in all"),
        ({"servers": 1, "gpus_per_server": 1, "slurm_topology": "x"}, "needs a slurm.conf"),
        (
            {"servers": 1, "gpus_per_server": 1, "rates": {"network_gbps": 0}},
            "network_gbps 0: it must be above 0",
        ),
        (
            {"servers": 1, "gpus_per_server": 1, "rates": {"speed": 1}},
            "no rate speed; choose from network_gbps",
        ),
        (
            {"servers": 1, "gpus_per_server": 1, "contention": {"concurrency": 2}},
            "concurrency: 2; it must be at most 1",
        ),
    ],
)
def test_impossible_platforms_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        platform_of(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"servers": 1, "gpus_per_server": 1}, "one source of servers is needed"),
        ({"gpus_per_server": 1}, "one source of servers is needed"),
        ({"slurm_conf": "x"}, "one source of servers is needed"),
        ({"rates": {"network_gbps": 1}}, "network_gbps: the cluster file has its"),
    ],
)
def test_cluster_of_a_file_stands_for_itself(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(instance_data()), encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        platform_of(cluster=str(path), **options)


def test_calibrated_sections_go_with_servers_from_elsewhere(tmp_path: Path) -> None:
    sections = {
        "cluster": {"network": {"kind": "star", "gbps": 9.0}, "reduction_gbps": 77.0},
        "contention": {
            "concurrency": 0.5,
            "degradation": {"kind": "linear", "alpha": 0.3},
            "overhead_ms_per_server": 2.0,
        },
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(sections), encoding="utf-8")
    cluster, contention, *_ = platform_of(
        cluster=str(path),
        servers=2,
        gpus_per_server=4,
        rates={"reduction_gbps": 78.0},
        contention={"alpha": 0.4},
    )
    assert [server.gpus for server in cluster.servers] == [4, 4]
    assert cluster.network.model_dump() == {"kind": "star", "gbps": 9.0}
    assert (cluster.intra_server_gbps, cluster.reduction_gbps) == (120, 78)
    assert (contention.concurrency, contention.degradation.alpha) == (0.5, 0.4)


def test_contention_alone_goes_with_servers_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"contention": instance_data()["contention"]}), encoding="utf-8")
    expected = platform_of(servers=2, gpus_per_server=4).cluster
    found = platform_of(cluster=str(path), servers=2, gpus_per_server=4)
    assert found.cluster == expected
    assert found.contention.degradation.alpha == 0.2
    with pytest.raises(UsageError, match=r"x.json has no servers: one source of servers is"):
        platform_of(cluster=str(path))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (
            {"servers": [{"name": "s", "gpus": 1}], "network": {"kind": "star", "gbps": 1}},
            ["x.json: intra_server_gbps: missing", "x.json: reduction_gbps: missing"],
        ),
        ({"speed": 1}, ["x.json: speed: unknown field"]),
        (
            {"cluster": {"reduction_gbps": -1}, "contention": {"degradation": None}},
            [
                "x.json: cluster.reduction_gbps: -1; it must be above 0",
                "x.json: contention.concurrency: missing",
                "x.json: contention.degradation: null; an object is expected",
                "x.json: contention.overhead_ms_per_server: missing",
            ],
        ),
    ],
)
def test_malformed_cluster_file_is_refused(tmp_path: Path, data: Any, lines: list[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        platform_of(cluster=str(path))
    found = [line.removeprefix(f"{tmp_path}/") for line in caught.value.lines()]
    assert [line[: len(start)] for line, start in zip(found, lines, strict=True)] == lines
