"""Tables of nodes and switches as clusters."""

from __future__ import annotations

from pathlib import Path

import pytest

from rarmodel.errors import InputError, UsageError
from rarmodel.schema import Cluster, TreeNetwork
from rarmodel.workloads import Rates, platform_of
from rarmodel.workloads.nodes import table_cluster

COUNTS = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n"

HOSTS = """ip,DSW,PSW,ASW
a,G,P1,S1
b,G,P2,S1
c,G,P1,S2
d,G,P2,S2
"""


def cluster(folder: Path, content: str, gpus: int | None = None, **rates: float) -> Cluster:
    path = folder / "nodes.csv"
    path.write_text(content, encoding="utf-8")
    return table_cluster(str(path), gpus, Rates(**rates))


def links(found: Cluster) -> dict[str, tuple[str, float]]:
    assert isinstance(found.network, TreeNetwork)
    return {link.node: (link.parent, link.gbps) for link in found.network.links}


def test_nodes_with_gpus_become_a_star(tmp_path: Path) -> None:
    found = cluster(tmp_path, "sn,cpu_milli,gpu,model\nn1,64000,2,P100\nn2,1,0,\nn3,1,8,T4\n")
    assert {server.name: server.gpus for server in found.servers} == {"n1": 2, "n3": 8}
    assert found.network.model_dump() == {"kind": "star", "gbps": 25.0}


def test_parallel_switches_above_one_are_taken_as_one(tmp_path: Path) -> None:
    found = cluster(tmp_path, HOSTS, 8, network_gbps=100, oversubscription=2)
    assert [server.gpus for server in found.servers] == [8] * 4
    assert links(found) == {
        "a": ("ASW S1", 100),
        "b": ("ASW S1", 100),
        "c": ("ASW S2", 100),
        "d": ("ASW S2", 100),
        "ASW S1": ("DSW G", 100),
        "ASW S2": ("DSW G", 100),
    }


def test_switches_without_anything_parallel_keep_their_levels(tmp_path: Path) -> None:
    text = "ip,ASW,PSW\na,1,1\nb,2,1\nc,3,2\n"
    found = links(cluster(tmp_path, text, 4))
    assert {node: parent for node, (parent, _) in found.items()} == {
        "a": "ASW 1", "b": "ASW 2", "c": "ASW 3",
        "ASW 1": "PSW 1", "ASW 2": "PSW 1", "ASW 3": "PSW 2",
        "PSW 1": "core", "PSW 2": "core",
    }  # fmt: skip


def test_counts_of_switches_nodes_and_gpus(tmp_path: Path) -> None:
    found = cluster(tmp_path, f"{COUNTS}2,3,4,92,520\n")
    assert [(server.name, server.gpus) for server in found.servers] == [
        (f"node{s}", 4) for s in range(6)
    ]
    parents = {node: parent for node, (parent, _) in links(found).items()}
    assert [parents[f"node{s}"] for s in range(6)] == ["switch0"] * 3 + ["switch1"] * 3
    assert parents["switch0"] == parents["switch1"] == "core"


def test_one_switch_is_a_star(tmp_path: Path) -> None:
    found = cluster(tmp_path, f"{COUNTS}1,8,8,92,520\n")
    assert (len(found.servers), found.total_gpus, found.network.kind) == (8, 64, "star")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty; a table of servers is expected"),
        ("sn,gpu\n", "no rows below the names of columns"),
        ("a,b\n1,2\n", "line 1: columns 'a', 'b'; ip and ASW, or sn and gpu, or num_switch"),
        ("sn,gpu,gpu\nn,1,1\n", "line 1: column 'gpu' is there 2 times; once is expected"),
        ("sn,gpu\nn\n", "line 2: 1 cells; 2 are expected, as in the first line"),
        ("sn,gpu\nn,-1\n", "line 2, column 'gpu': -1; it must not be negative"),
        ("sn,gpu\nn,2.5\n", "line 2, column 'gpu': 2.5; a whole number is expected"),
        ("sn,gpu\nn,\n", "line 2, column 'gpu': empty; a whole number is expected"),
        ("sn,gpu\n,1\n", "line 2, column 'sn': empty; a name is expected"),
        ("sn,gpu\nn,1\nn,1\n", "line 3: 'n' occurs twice; keep one"),
        ("sn,gpu\nn,0\n", "0 GPUs; 1 to 10000000 are expected"),
        (f"{COUNTS}9999,9999,9999,1,1\n", "column 'num_switch': 9999 × 9999 × 9999 GPUs; at most"),
    ],
)
def test_bad_table_is_refused_in_one_line(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        cluster(tmp_path, content)
    (line,) = caught.value.lines()
    assert message in line


def test_gpus_of_each_server_are_needed_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not say the GPUs of its servers"):
        cluster(tmp_path, HOSTS)
    with pytest.raises(UsageError, match="has the GPUs of its servers"):
        cluster(tmp_path, "sn,gpu\nn,1\n", 8)


def test_a_table_can_be_the_cluster_of_an_import(tmp_path: Path) -> None:
    expected = cluster(tmp_path, HOSTS, 8, network_gbps=50)
    path = tmp_path / "nodes.csv"
    found = platform_of(cluster=str(path), gpus_per_server=8, rates={"network_gbps": 50})
    assert found.cluster == expected
