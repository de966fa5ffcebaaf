"""Slurm's slurm.conf and topology.conf as a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from traces import imported, rows

from rarmodel import import_trace
from rarmodel.errors import InputError
from rarmodel.schema import Cluster, TreeNetwork
from rarmodel.workloads import Rates, slurm_cluster
from rarmodel.workloads.slurm import expand, read_slurm

CONF = """
# a cluster
ClusterName=lab
NodeName=DEFAULT CPUs=64 Gres=gpu:a100:8
NodeName=node[01-04] \\
    RealMemory=512000   # eight each
NodeName=old[1-2],login Gres=gpu:2(S:0)
NodeName=cpu[1-100] gres=nvme:1
PartitionName=all Nodes=ALL
"""

TOPOLOGY = """
SwitchName=leaf1 Nodes=node[01-02],cpu[1-50]
SwitchName=leaf2 Nodes=node[03-04]
SwitchName=leaf3 Nodes=old[1-2],login LinkSpeed=1000
SwitchName=leaf4 Nodes=cpu[51-100]
SwitchName=core Switches=leaf[1-4]
"""


def cluster(folder: Path, conf: str, topology: str | None = None, **rates: float) -> Cluster:
    path, switches = folder / "slurm.conf", folder / "topology.conf"
    path.write_text(conf, encoding="utf-8")
    if topology is not None:
        switches.write_text(topology, encoding="utf-8")
    return slurm_cluster(str(path), None if topology is None else str(switches), Rates(**rates))


def test_nodes_with_gpus_become_servers_in_their_order(tmp_path: Path) -> None:
    found = cluster(tmp_path, CONF)
    assert {server.name: server.gpus for server in found.servers} == {
        "node01": 8, "node02": 8, "node03": 8, "node04": 8, "old1": 2, "old2": 2, "login": 2
    }  # fmt: skip
    assert found.network.kind == "star"


def test_switches_become_a_tree_without_those_that_have_no_gpus_below(tmp_path: Path) -> None:
    network = cluster(tmp_path, CONF, TOPOLOGY, network_gbps=100, oversubscription=2).network
    assert isinstance(network, TreeNetwork)
    assert {link.node: (link.parent, link.gbps) for link in network.links} == {
        "node01": ("leaf1", 100.0),
        "node02": ("leaf1", 100.0),
        "node03": ("leaf2", 100.0),
        "node04": ("leaf2", 100.0),
        "old1": ("leaf3", 100.0),
        "old2": ("leaf3", 100.0),
        "login": ("leaf3", 100.0),
        "leaf1": ("core", 100.0),
        "leaf2": ("core", 100.0),
        "leaf3": ("core", 150.0),
    }


def test_included_files_stand_for_their_line(tmp_path: Path) -> None:
    expected = cluster(tmp_path, CONF, TOPOLOGY)
    first, *rest = CONF.splitlines(keepends=True)[3:]
    parts = tmp_path / "parts"
    parts.mkdir()
    (parts / "nodes.conf").write_text("include more.conf # beside it\n", encoding="utf-8")
    (parts / "more.conf").write_text("".join(rest), encoding="utf-8")
    conf = f"{first}Include parts/nodes.conf\n"
    (parts / "switches.conf").write_text(TOPOLOGY, encoding="utf-8")
    assert cluster(tmp_path, conf, f"Include {parts / 'switches.conf'}\n") == expected


@pytest.mark.parametrize(
    ("included", "message"),
    [
        ("Include slurm.conf", "more.conf: line 1: slurm.conf includes itself"),
        ("Include loop.conf", "loop.conf: cannot be read: too many levels of symbolic links"),
        ("Include " + 300 * "a", "aaa: cannot be read: file name too long"),
        ("Include .", "cannot be read: is a directory"),
        ("Include no.conf", "no.conf: cannot be read: no such file or directory"),
        ("\nNodeName=a Gres=gpu:x1y,gpu:2z", "more.conf: line 2: 'gpu:2z'; a number of GPUs"),
        ("NodeName=a Gres=gpu:2", "slurm.conf: line 2: node 'a' occurs twice; keep one"),
    ],
)
def test_problem_of_an_included_file_names_it(tmp_path: Path, included: str, message: str) -> None:
    (tmp_path / "more.conf").write_text(included, encoding="utf-8")
    (tmp_path / "loop.conf").symlink_to("loop.conf")
    with pytest.raises(InputError) as caught:
        cluster(tmp_path, "Include more.conf\nNodeName=a Gres=gpu:1\n")
    (line,) = caught.value.lines()
    assert message in line


def test_files_within_each_other_are_limited(tmp_path: Path) -> None:
    for i in range(3, 30):
        (tmp_path / f"{i}.conf").write_text(f"Include {i + 1}.conf\n", encoding="utf-8")
    (tmp_path / "20.conf").write_text("NodeName=a Gres=gpu:1\n", encoding="utf-8")
    (tmp_path / "2.conf").write_text("Include 3.conf\n", encoding="utf-8")
    assert [server.name for server in cluster(tmp_path, "Include 2.conf\n").servers] == ["a"]
    (tmp_path / "20.conf").write_text("Include 21.conf\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        cluster(tmp_path, "Include 2.conf\n")
    (line,) = caught.value.lines()
    assert line.endswith(
        "20.conf: line 1: more than 20 files, one within the other; put lines together"
    )


def test_files_that_double_the_number_of_files_are_limited(tmp_path: Path) -> None:
    for i in range(15):
        (tmp_path / f"{i}.conf").write_text(f"Include {i + 1}.conf\n" * 2, encoding="utf-8")
    (tmp_path / "15.conf").write_text("NodeName=a Gres=gpu:1\n", encoding="utf-8")
    with pytest.raises(InputError, match="more than 1000 files with those that are included"):
        cluster(tmp_path, "Include 0.conf\n")


def test_nodes_that_need_not_exist_are_left_out(tmp_path: Path) -> None:
    conf = "NodeName=DEFAULT Gres=gpu:4\nNodeName=a\nNodeName=b,c State=FUTURE\n"
    assert [server.name for server in cluster(tmp_path, conf).servers] == ["a"]


def test_traces_are_imported_onto_it(tmp_path: Path) -> None:
    expected = cluster(tmp_path, CONF, TOPOLOGY)
    found = imported(
        tmp_path / "t.csv",
        rows("a,0,16,0,600,,vgg16,16,"),
        slurm_conf=tmp_path / "slurm.conf",
        slurm_topology=tmp_path / "topology.conf",
    )
    assert found.instance.cluster == expected


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,12]", ["n08", "n09", "n10", "n12"]),
        ("r[1-2]n[1-2]x", ["r1n1x", "r1n2x", "r2n1x", "r2n2x"]),
        ("a[1],b[2-3],c", ["a1", "b2", "b3", "c"]),
        (" a , n [1,2] ,", ["a", "n 1", "n 2"]),
        ("," * 200_000 + "a", ["a"]),
        ("", []),
    ],
)
def test_host_lists_are_expanded(hosts: str, names: list[str]) -> None:
    assert expand(hosts) == names


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ("n[3-1]", "range '3-1' ends before it begins"),
        ("n[a-b]", "'a-b' is no range"),
        ("n[1-2", "brackets that do not match"),
        ("very-long-gpu-cluster-name-rack01-node[01-16", "brackets that do not match"),
        ("[" * 200_000, "brackets that do not match"),
        ("n[[1]]", "brackets that do not match"),
        ("n1-2]", "brackets that do not match"),
        ("n[]", "'' is no range"),
        ("n[1-999999999]", "more than 1000000 hosts"),
        ("n[1-10000]m[1-10000]", "more than 1000000 hosts"),
        (f"n[{','.join(['1-900000'] * 2000)}]", "more than 1000000 hosts"),
    ],
)
def test_bad_host_list_is_refused(hosts: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("'", ".")):
        expand(hosts)


HALLS = "SwitchName=a Nodes=node[01-02]\nSwitchName=b Nodes=node[03-04]\n"
JOBS = """\
JobID|Submit|ElapsedRaw|AllocTRES|State
1|2026-11-22T05:00:00|600|gres/gpu=16|COMPLETED
2|2026-11-22T05:00:00|600|gres/gpu=16|COMPLETED
3|2026-11-22T05:00:00|600|gres/gpu=1|COMPLETED
4|2026-11-22T05:00:00|600|gres/gpu=24|COMPLETED
"""


def test_trees_that_no_switch_joins_stay_apart(tmp_path: Path) -> None:
    """As `slurm read` reads them: no job crosses, and nodes below no switch are named."""
    (tmp_path / "slurm.conf").write_text(CONF, encoding="utf-8")
    (tmp_path / "topology.conf").write_text(HALLS, encoding="utf-8")
    (tmp_path / "jobs.txt").write_text(JOBS, encoding="utf-8")
    found = import_trace(
        tmp_path / "jobs.txt",
        slurm_conf=tmp_path / "slurm.conf",
        slurm_topology=tmp_path / "topology.conf",
    )
    assert [server.name for server in found.instance.cluster.servers] == [
        f"node0{i}" for i in range(1, 5)
    ]
    network = found.instance.cluster.network
    assert isinstance(network, TreeNetwork)
    assert {link.node: link.parent for link in network.links} == {
        **{f"node0{i}": "a" if i < 3 else "b" for i in range(1, 5)},
        "a": "all switches",
        "b": "all switches",
    }
    servers = {job.name: job.servers for job in found.instance.jobs}
    assert {servers["1"], servers["2"]} == {("node01", "node02"), ("node03", "node04")}
    assert servers["3"] is None
    told = "\n".join(found.account.lines())
    assert "1 row: more GPUs than the 16 of one tree of switches" in told
    assert "kept to the tree of switches with least work so far" in told
    assert "3 nodes below no switch: 'old1', 'old2', 'login'; Slurm places no job there" in told


def test_what_slurm_shows_of_its_topology_is_read_alike(tmp_path: Path) -> None:
    """`scontrol show topology` names the nodes below each switch also at the switches above."""
    shown = (
        "SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=node[01-02]\n"
        "SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=node[03-04]\n"
        "SwitchName=core Level=1 LinkSpeed=1 Nodes=node[01-04] Switches=leaf[1-2]\n"
    )
    network = cluster(tmp_path, CONF, shown).network
    assert isinstance(network, TreeNetwork)
    parents = {link.node: link.parent for link in network.links}
    assert (parents["node01"], parents["leaf1"]) == ("leaf1", "core")
    assert "core" not in parents


@pytest.mark.parametrize(
    ("conf", "topology", "message"),
    [
        ("", None, "slurm.conf: no line NodeName=…"),
        ("NodeName=a CPUs=3", None, "slurm.conf: no node has GPUs"),
        ("NodeName=a Gres=gpu:2x", None, "slurm.conf: line 1: 'gpu:2x'; a number of GPUs"),
        ("NodeName=a[ Gres=gpu:2", None, "slurm.conf: line 1: 'a[': brackets that do not match"),
        ("NodeName=a Gres=gpu:2\nNodeName=a Gres=gpu:2", None, "line 2: node 'a' occurs twice"),
        ("NodeName=a Gres=gpu:99999999", None, "99999999 GPUs; at most"),
        ("NodeName=a[1-900000]\nNodeName=b[1-900000]", None, "line 2: more than 1000000 hosts"),
        (CONF, "", "topology.conf: no line SwitchName=…"),
        (
            CONF,
            "SwitchName=a Nodes=a[1-900000]\nSwitchName=b Switches=b[1-900000]",
            "line 2: more than 1000000 hosts",
        ),
        (CONF, "BlockName=b Nodes=cpu1", "topology.conf: no switch has nodes of slurm.conf"),
        (CONF, "SwitchName=s[1-2] Nodes=a", "line 1: 2 switches; one is expected"),
        (CONF, "SwitchName=s Nodes=cpu[1-9]", "topology.conf: no switch has nodes of slurm.conf"),
        (
            CONF,
            f"{TOPOLOGY}SwitchName=more Nodes=node01",
            "line 7: 'node01' is below 'leaf1' and 'more'; a tree has one uplink for each node",
        ),
        (CONF, f"{TOPOLOGY}SwitchName=leaf1 Switches=core", "is above itself"),
    ],
)
def test_bad_configuration_is_refused_in_one_line(
    tmp_path: Path, conf: str, topology: str | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        cluster(tmp_path, conf, topology)
    (line,) = caught.value.lines()
    assert message in line


@pytest.mark.parametrize(
    ("text", "gpus"), [("a" * 200_000, 2), ("NodeName=b Gres=" + "(" * 200_000, 2)]
)
def test_line_takes_one_pass_however_long_it_is(tmp_path: Path, text: str, gpus: int) -> None:
    # Where each character began a search of its own for what is not there, it took hours.
    found = cluster(tmp_path, f"{text}\nNodeName=a Gres=gpu:{gpus}\n")
    assert [(server.name, server.gpus) for server in found.servers] == [("a", gpus)]


def test_configuration_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_bytes(b"# \xe9\nNodeName=a Gres=gpu:1\n")
    with pytest.raises(InputError, match=r"slurm.conf: line 1: byte 0xe9 is not UTF-8"):
        slurm_cluster(str(tmp_path / "slurm.conf"), None, Rates())


def test_slices_of_gpus_are_no_gpus_of_a_node(tmp_path: Path) -> None:
    conf = "NodeName=a Gres=gpu:a100:4,gpu:1g.5gb:14\nNodeName=b Gres=gpu:1g.10gb:7\n"
    conf += "NodeName=c Gres=gpu:8,shard:32\n"
    path = tmp_path / "slurm.conf"
    path.write_text(conf, encoding="utf-8")
    cluster = slurm_cluster(str(path), None, Rates())
    found = [(server.name, server.gpus, server.gpu_type) for server in cluster.servers]
    assert found == [("a", 4, "a100"), ("c", 8, None)]
    assert [server.gpu_slices for server in cluster.servers] == [None, 4]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topology.conf", "BlockName=b1 Nodes=node01\nBlockName=b2 Nodes=node02\nBlockSizes=1\n"),
        (
            "topology.yaml",
            """- topology: t
  block:
    block_sizes: [1]
    blocks:
      - block: b1
        nodes: node01
      - block: b2
        nodes: node02
""",
        ),
    ],
)
def test_blocks_are_switches(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "slurm.conf").write_text(CONF)
    (tmp_path / name).write_text(text)
    found = read_slurm(str(tmp_path / "slurm.conf"), str(tmp_path / name), Rates())
    network = found.cluster.network
    assert isinstance(network, TreeNetwork)
    parents = {link.node: link.parent for link in network.links}
    assert (parents["node01"], parents["node02"]) == ("b1", "b2")
    assert parents["b1"] == parents["b2"] == "all blocks"
