"""Servers and networks: distinct names, one tree, every server a leaf."""

from __future__ import annotations

import pytest
from documents import Data, instance_data, replaced, tree_data
from pydantic import ValidationError

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.schema import Cluster, Server, StarNetwork, TreeNetwork
from rarmodel.schema.cluster import MAX_GPUS

RACKS = [("s0", "r0"), ("s1", "r1"), ("r0", "core"), ("r1", "core")]

TWO_ROOTS = (
    "cluster.network.links: 2 separate trees, with roots 'left', 'right'; there must be one root"
)


def lines_of(data: Data) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    return refused.value.lines()


def test_total_is_the_sum_of_all_servers() -> None:
    assert parse_instance(instance_data(servers=[1, 2, 4])).cluster.total_gpus == 7


def test_second_server_of_a_name_is_one_line_at_its_place() -> None:
    data = instance_data(servers=[2, 2, 2])
    data["cluster"]["servers"][2]["name"] = "s0"
    assert lines_of(data) == [
        "cluster.servers[2].name: 's0' names two servers; names must be unique"
    ]


def test_names_that_differ_in_case_or_space_are_distinct() -> None:
    data = instance_data(servers=[2, 2, 2])
    data["cluster"]["servers"][1]["name"] = "S0"
    data["cluster"]["servers"][2]["name"] = "s0 "
    assert len(parse_instance(data).cluster.servers) == 3


def test_cluster_beyond_all_measure_is_refused_before_it_fills_the_memory() -> None:
    assert lines_of(instance_data(servers=[10**12, 2])) == [
        f"cluster.servers: 1000000000002 GPUs in all; at most {MAX_GPUS} are supported"
    ]


def test_largest_cluster_is_accepted() -> None:
    assert parse_instance(instance_data(servers=[MAX_GPUS])).cluster.total_gpus == MAX_GPUS
    assert len(lines_of(instance_data(servers=[MAX_GPUS, 1]))) == 1


def test_tree_of_racks_is_accepted() -> None:
    network = parse_instance(tree_data(*RACKS)).cluster.network
    assert isinstance(network, TreeNetwork)
    assert [link.node for link in network.links] == ["s0", "s1", "r0", "r1"]


def test_links_may_come_in_any_order() -> None:
    parse_instance(tree_data(*reversed(RACKS)))


def test_tree_with_one_server_is_accepted() -> None:
    parse_instance(tree_data(("s0", "core"), servers=[4]))


def test_chain_of_switches_is_accepted() -> None:
    parse_instance(tree_data(("s0", "a"), ("a", "b"), ("b", "c"), ("s1", "c")))


def test_switch_without_servers_is_accepted() -> None:
    parse_instance(tree_data(*RACKS, ("r2", "core")))


def test_very_long_chain_is_no_deep_recursion() -> None:
    chain = [("s0", "n0"), *((f"n{i}", f"n{i + 1}") for i in range(5000)), ("s1", "n5000")]
    parse_instance(tree_data(*chain))


def test_second_uplink_of_a_node_is_one_line_at_its_place() -> None:
    assert lines_of(tree_data(*RACKS, ("s0", "r1"))) == [
        "cluster.network.links[4].node: 's0' already has an uplink; every node has one uplink"
    ]


def test_link_to_itself_is_a_cycle() -> None:
    assert lines_of(tree_data(("s0", "core"), ("s1", "core"), ("core", "core"))) == [
        "cluster.network.links[2]: a cycle, 'core' → 'core'; a tree has none"
    ]


def test_cycle_of_switches_is_one_line_naming_its_nodes() -> None:
    data = tree_data(("s0", "a"), ("s1", "b"), ("a", "b"), ("b", "c"), ("c", "a"))
    assert lines_of(data) == [
        "cluster.network.links[2]: a cycle, 'a' → 'b' → 'c' → 'a'; a tree has none"
    ]


def test_each_of_several_cycles_is_a_line() -> None:
    data = tree_data(("s0", "a"), ("a", "a"), ("s1", "b"), ("b", "c"), ("c", "b"))
    assert lines_of(data) == [
        "cluster.network.links[1]: a cycle, 'a' → 'a'; a tree has none",
        "cluster.network.links[3]: a cycle, 'b' → 'c' → 'b'; a tree has none",
    ]


def test_two_roots_are_one_line_naming_them() -> None:
    assert lines_of(tree_data(("s0", "left"), ("s1", "right"))) == [TWO_ROOTS]


def test_cycle_beside_two_roots_is_two_lines() -> None:
    data = tree_data(("s0", "left"), ("s1", "right"), ("a", "b"), ("b", "a"))
    assert lines_of(data) == [
        "cluster.network.links[2]: a cycle, 'a' → 'b' → 'a'; a tree has none",
        TWO_ROOTS,
    ]


def test_names_in_a_cycle_cannot_break_the_line() -> None:
    (line,) = lines_of(tree_data(("s0", "a\nb"), ("s1", "a\nb"), ("a\nb", "a\nb")))
    assert "\\n" in line
    assert "\n" not in line


def test_server_as_parent_is_one_line_at_its_place() -> None:
    assert lines_of(tree_data(("s1", "s0"), ("s0", "core"))) == [
        "cluster.network.links[0].parent: 's0' is a server; only a switch can have links below it"
    ]


def test_server_as_root_is_two_lines() -> None:
    assert lines_of(tree_data(("s1", "s0"))) == [
        "cluster.network.links[0].parent: 's0' is a server; only a switch can have links below it",
        "cluster.network.links: no uplink for server 's0'; every server needs one",
    ]


def test_missing_servers_are_one_line_naming_them() -> None:
    assert lines_of(tree_data(("s1", "core"), servers=[2, 2, 2])) == [
        "cluster.network.links: no uplink for servers 's0', 's2'; every server needs one"
    ]


def test_misspelt_server_is_a_missing_one() -> None:
    assert lines_of(tree_data(("s0", "core"), ("S1", "core"))) == [
        "cluster.network.links: no uplink for server 's1'; every server needs one"
    ]


def test_tree_without_links_misses_every_server() -> None:
    assert lines_of(tree_data()) == [
        "cluster.network.links: no uplink for servers 's0', 's1'; every server needs one"
    ]
    assert lines_of(tree_data(servers=[4])) == [
        "cluster.network.links: no uplink for server 's0'; every server needs one"
    ]


def test_fields_of_the_other_kind_of_network_are_unknown() -> None:
    data = replaced(instance_data(), ("cluster", "network", "links"), [])
    assert lines_of(data) == ["cluster.network.links: unknown field; remove it or correct its name"]
    data = replaced(tree_data(*RACKS), ("cluster", "network", "gbps"), 10.0)
    assert lines_of(data) == ["cluster.network.gbps: unknown field; remove it or correct its name"]


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("node", "", "node: an empty text; it must not be empty"),
        ("parent", None, "parent: null; a text is expected"),
        ("gbps", 0, "gbps: 0; it must be above 0"),
        ("gbps", float("inf"), "gbps: Infinity; a finite number is expected"),
        ("color", 1, "color: unknown field; remove it or correct its name"),
    ],
)
def test_malformed_link_is_one_line_at_its_place(field: str, value: object, line: str) -> None:
    data = replaced(tree_data(*RACKS), ("cluster", "network", "links", 2, field), value)
    assert lines_of(data) == [f"cluster.network.links[2].{line}"]


def test_python_objects_are_checked_as_files_are() -> None:
    with pytest.raises(ValidationError, match="names two servers"):
        Cluster(
            servers=(Server(name="s", gpus=1), Server(name="s", gpus=1)),
            network=StarNetwork(kind="star", gbps=1.0),
            intra_server_gbps=1.0,
            reduction_gbps=1.0,
        )
