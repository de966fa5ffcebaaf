"""Kueue's and Volcano's packing, on the examples of their documentation and by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rarmodel.online import Asked, Site
from rarmodel.online.cluster_packing import kueue_best_fit, kueue_least_free, volcano_binpack
from rarmodel.online.placement import Place
from rarmodel.schema import Cluster


def cluster(racks: Mapping[str, Sequence[int]]) -> Cluster:
    """Racks below one spine; a rack with its servers' GPUs."""
    servers: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for rack, gpus in racks.items():
        links.append({"node": rack, "parent": "spine", "gbps": 100.0, "level": "rack"})
        for count in gpus:
            name = f"s{len(servers)}"
            servers.append({"name": name, "gpus": count})
            links.append({"node": name, "parent": rack, "gbps": 25.0})
    return Cluster.model_validate(
        {
            "servers": servers,
            "network": {"kind": "tree", "links": links},
            "intra_server_gbps": 100.0,
            "reduction_gbps": 100.0,
        }
    )


def site(made: Cluster, idle: Sequence[int]) -> Site:
    """The cluster with so many idle GPUs on each server."""
    return Site(
        cluster=made,
        idle=np.array(idle, np.int64),
        rings=lambda: np.zeros(len(idle), np.int64),
        lost=lambda _: (0.0, 1.0),
        random=np.random.default_rng(0),
    )


def asked(
    size: int,
    servers: int,
    *,
    pods: int | None = None,
    fewest: int = 1,
    parts: Sequence[Sequence[int]] = (),
) -> Asked:
    """A ring on any servers, of so many equal pods."""

    def mask(some: Sequence[int]) -> npt.NDArray[np.bool_]:
        found = np.zeros(servers, np.bool_)
        found[list(some)] = True
        return found

    return Asked(
        size=size,
        allowed=(np.ones(servers, np.bool_),),
        fewest=fewest,
        most=pods or min(size, servers),
        equal=pods is not None,
        parts=tuple(map(mask, parts)),
    )


ONE_RACK = cluster({"r": [3, 3, 2, 1]})
"""The example of Kueue's design: nodes with room for 3, 3, 2 and 1 pods."""


def test_best_fit_takes_the_largest_and_ends_with_the_tightest() -> None:
    found = kueue_best_fit(asked(7, 4), site(ONE_RACK, [3, 3, 2, 1]))
    assert found == {0: 3, 1: 3, 3: 1}


def test_least_free_begins_with_the_smallest() -> None:
    found = kueue_least_free(asked(7, 4), site(ONE_RACK, [3, 3, 2, 1]))
    assert found == {3: 1, 2: 2, 0: 3, 1: 1}


@pytest.mark.parametrize("rule", [kueue_best_fit, kueue_least_free])
def test_one_server_that_has_just_enough_comes_first(rule: Place) -> None:
    assert rule(asked(2, 4), site(ONE_RACK, [3, 3, 2, 1])) == {2: 2}


TWO_RACKS = cluster({"r0": [8, 8, 8], "r1": [8, 8]})


def test_best_fit_stays_in_the_rack_with_the_least_room_that_suffices() -> None:
    assert kueue_best_fit(asked(12, 5), site(TWO_RACKS, [8, 8, 4, 8, 5])) == {3: 8, 4: 4}
    # A server alone goes before a rack.
    assert kueue_best_fit(asked(8, 5), site(TWO_RACKS, [8, 2, 2, 7, 7])) == {0: 8}
    # And no rack has room for all: the emptier one, and the rest where it fits tightest.
    assert kueue_best_fit(asked(24, 5), site(TWO_RACKS, [8, 8, 4, 8, 5])) == {0: 8, 1: 8, 3: 8}


def test_best_fit_keeps_to_a_required_level() -> None:
    inside = asked(12, 5, parts=[[0, 1, 2], [3, 4]])
    assert kueue_best_fit(inside, site(TWO_RACKS, [8, 2, 1, 8, 4])) == {3: 8, 4: 4}
    assert kueue_best_fit(inside, site(TWO_RACKS, [8, 2, 1, 8, 3])) is None
    assert kueue_least_free(inside, site(TWO_RACKS, [8, 2, 2, 8, 4])) == {0: 8, 1: 2, 2: 2}


def test_pods_are_not_divided() -> None:
    # Four pods of 4: servers with 6 idle GPUs have room for one, and parts must be equal.
    found = kueue_best_fit(asked(16, 5, pods=4), site(TWO_RACKS, [6, 6, 6, 6, 3]))
    assert found == {0: 4, 1: 4, 2: 4, 3: 4}


def test_pods_apart_are_on_servers_of_their_own() -> None:
    found = kueue_best_fit(asked(6, 5, pods=3, fewest=3), site(TWO_RACKS, [8, 8, 8, 8, 8]))
    assert found == {0: 2, 1: 2, 2: 2}


def test_binpack_fills_the_fullest_server() -> None:
    assert volcano_binpack(asked(3, 5), site(TWO_RACKS, [8, 8, 2, 8, 5])) == {2: 2, 4: 1}
    # By the part in use with the pod, and not by idle GPUs: 7 of 8, or 3 of 4.
    mixed = cluster({"r": [8, 4]})
    assert volcano_binpack(asked(1, 2), site(mixed, [2, 2])) == {0: 1}
    assert volcano_binpack(asked(1, 2), site(mixed, [5, 2])) == {1: 1}


def test_binpack_takes_the_fullest_part_of_the_lowest_tier() -> None:
    inside = asked(10, 5, parts=[[0, 1, 2], [3, 4]])
    assert volcano_binpack(inside, site(TWO_RACKS, [8, 8, 8, 8, 3])) == {4: 3, 3: 7}
    assert volcano_binpack(inside, site(TWO_RACKS, [8, 2, 0, 8, 8])) == {1: 2, 0: 8}


@pytest.mark.parametrize("rule", [kueue_best_fit, kueue_least_free, volcano_binpack])
@pytest.mark.parametrize("seed", range(50))
def test_every_rule_finds_room_where_there_is_some(rule: Place, seed: int) -> None:
    rng = np.random.default_rng(seed)
    idle = rng.integers(0, 9, 5).tolist()
    parts = [[0, 1, 2], [3, 4]] if seed % 2 else []
    pods = int(rng.integers(1, 5)) if seed % 3 == 0 else None
    size = int(rng.integers(1, 20)) if pods is None else pods * int(rng.integers(1, 5))
    wanted = asked(size, 5, pods=pods, parts=parts)
    here = site(TWO_RACKS, idle)
    found = rule(wanted, here)
    most = max((sum(idle[s] for s in part) for part in parts), default=sum(idle))
    if pods is None:
        assert (found is not None) == (most >= size)
    if found is not None:
        assert wanted.kept_by(found)
        assert all(idle[server] >= count for server, count in found.items())
