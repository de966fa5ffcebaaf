"""Labels of rows: each row is named, alone or in a range, and labels get fewer and higher."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise

import pytest
from documents import instance_data, instance_of, job_data, tree_data
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rarmodel.drawing.row_labels import LABEL, kinds_of, levels, racks_of, row_labels
from rarmodel.files import parse_instance

alt = pytest.importorskip("altair")

SPANS = st.one_of(
    st.lists(st.integers(1, 64), min_size=1, max_size=60),
    st.builds(lambda n, span: [span] * n, st.integers(1, 300), st.integers(1, 8)),
)


@given(SPANS)
def test_every_row_has_a_label_at_each_level(spans: list[int]) -> None:
    names = [f"s{i}" for i in range(len(spans))]
    edges: list[float] = [0, *accumulate(spans)]
    found = levels(names, edges)
    assert found[0].names == tuple(names)
    for level in found:
        assert level.edges[0] == 0
        assert level.edges[-1] == edges[-1]
        assert level.least == min(b - a for a, b in pairwise(level.edges))
        for label, (begin, end) in zip(level.names, pairwise(level.edges), strict=True):
            inside = [names[i] for i in range(len(names)) if begin <= edges[i] < end]
            assert edges.index(begin) < edges.index(end)
            assert label == (inside[0] if len(inside) == 1 else f"{inside[0]}–{inside[-1]}")
    for fine, coarse in pairwise(found):
        assert len(fine.names) > len(coarse.names)
        assert set(coarse.edges) < set(fine.edges) | set(edges)
    assert len(found[-1].names) <= 4 or len(names) <= 4


@settings(deadline=None)
@given(SPANS, st.floats(0.01, 30))
def test_level_that_fits_is_the_finest_of_those(spans: list[int], unit: float) -> None:
    edges = [0, *accumulate(spans)]
    found = levels([f"s{i}" for i in range(len(spans))], edges)
    assume(all(abs(level.least * unit / LABEL - 1) > 1e-4 for level in found))
    fitting = [level for level in found if level.least * unit >= LABEL]
    expected = max(fitting, key=lambda level: len(level.names)) if fitting else found[-1]
    (chart,) = row_labels(found, edges[-1] * unit, alt.Y("row:Q"), str(edges[-1]))
    table = json.loads(chart.data.values)[0]
    whole = zip(table["name"], table["above"], table["most"], strict=True)
    shown = [name for name, above, most in whole if above < edges[-1] <= most + 1e-6]
    assert shown == list(expected.names)


def test_equal_rows_are_grouped_in_round_numbers() -> None:
    found = levels([f"s{i}" for i in range(1000)], range(1001))
    sizes = [level.edges[1] for level in found]
    assert sizes == [1, 2, 5, 10, 20, 25, 50, 100, 250, 500]
    assert found[3].names[:2] == ("s0–s9", "s10–s19")


def test_low_rows_at_the_end_join_the_range_before() -> None:
    assert levels("abcde", range(6))[1].names == ("a–b", "c–e")


def test_racks_are_named_where_they_lie_together() -> None:
    servers = [f"s{i}" for i in range(8)]
    racks = [f"rack{i // 2}" for i in range(8)]
    names = [level.names for level in levels(servers, range(9), racks)]
    assert names[0] == tuple(servers)
    assert names[1] == ("rack0", "rack1", "rack2", "rack3")
    assert names[2] == ("rack0–rack1", "rack2–rack3")
    scattered = levels(servers, range(9), [f"rack{i % 2}" for i in range(8)])
    assert scattered == levels(servers, range(9))


def test_rack_of_a_server_is_the_switch_above_it() -> None:
    links = [("s0", "rack0"), ("s1", "rack0"), ("s2", "rack1")]
    data = tree_data(*links, ("rack0", "core"), ("rack1", "core"), servers=(1, 1, 1))
    assert racks_of(parse_instance(data).cluster) == ["rack0", "rack0", "rack1"]
    assert racks_of(instance_of().cluster) is None


def test_long_names_lose_their_middle() -> None:
    names = [f"very-long-cluster-name-rack01-node{i:02}" for i in range(4)]
    found = levels(names, range(5), letters=24)
    assert found[0].names[3] == "very-long-c…ack01-node03"
    assert len(found[0].names[3]) <= 24
    assert found[1].names[1] == "very-…node02–very-…node03"


def test_labels_name_the_kinds_of_rows_alone_and_in_ranges() -> None:
    kinds = [("A100",), ("A100",), ("V100",), (), ("H100",), ("B200",)]
    found = levels("abcdef", range(7), kinds=kinds)
    assert found[0].names == ("a · A100", "b · A100", "c · V100", "d", "e · H100", "f · B200")
    assert found[1].names == ("a–b · A100", "c–d · V100", "e–f · H100, B200")
    racks = levels("abcdef", range(7), ["r0"] * 3 + ["r1"] * 3, kinds=kinds)
    assert ("r0 · A100, V100", "r1 · H100, B200") in [level.names for level in racks]
    long = levels("ab", range(3), kinds=[("NVIDIA-A100-SXM4-80GB",), ("x",)])
    assert long[0].names == ("a · NVID…-80GB", "b · x")


def test_types_are_named_where_there_are_two() -> None:
    def of(*types: str | None) -> object:
        data = instance_data(job_data("a"), servers=[1] * len(types))
        for server, kind in zip(data["cluster"]["servers"], types, strict=True):
            if kind is not None:
                server["gpu_type"] = kind
        return kinds_of(parse_instance(data).cluster)

    assert of("A100", "V100", None) == [("A100",), ("V100",), ()]
    assert of("A100", "A100") is None
    assert of(None, None) is None
