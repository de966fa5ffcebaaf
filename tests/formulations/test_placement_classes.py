"""Placements that are alike as one class: nothing is lost, nothing is added, and models shrink."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

import pyomo.environ as pyo
import pytest
from pyomo.repn import generate_standard_repn
from random_instances import random_instance
from scopes import scope_of
from wide_instances import FEATURES, random_wide

from rarmodel.files import parse_instance
from rarmodel.formulations import Scope
from rarmodel.formulations.placement_classes import (
    class_of,
    number_of_classes,
    placement_classes,
)
from rarmodel.formulations.placements import placements
from rarmodel.formulations.time_indexed import TIME_INDEXED
from rarmodel.model import horizon_of
from rarmodel.schema import Instance


def even_on_the_first(scope: Scope, job: str, workers: Mapping[str, int], left: int) -> bool:
    """A rule that refuses some of the placements on a set of servers."""
    return workers.get("s0", 0) % 2 == 0


def not_on_the_first(scope: Scope, job: str, workers: Mapping[str, int], left: int) -> bool:
    """A rule that refuses whole sets of servers."""
    return "s0" not in workers


def scopes(seed: int) -> list[Scope]:
    plain = random_instance(
        Random(seed), jobs=3, servers=4, tree=bool(seed % 2), most_gpus=4, sizes=(1, 3, 6)
    )
    wide = random_wide(Random(seed), FEATURES, jobs=3, objectives=["makespan"])
    ruled = [
        replace(scope_of(plain, 1000), allowed=(rule,))
        for rule in (even_on_the_first, not_on_the_first)
    ]
    whole = replace(scope_of(plain, 1000), every_schedule=True)
    return [scope_of(plain, 1000), whole, scope_of(wide, horizon_of(wide)), *ruled]


@pytest.mark.parametrize("seed", range(12))
def test_each_placement_is_in_one_class_that_rates_it_alike(seed: int) -> None:
    for scope in scopes(seed):
        classes = placement_classes(scope)
        for j, ways in placements(scope).items():
            for way in ways.values():
                found = [k for k, one in classes[j].items() if one.contains(way.workers)]
                assert found == [class_of(scope, j, way.workers).label]
                one = classes[j][found[0]]
                assert (one.alone, one.least_slots, one.size) == (
                    way.alone,
                    way.least_slots,
                    sum(way.workers.values()),
                )
                if not found[0].endswith("anywhere"):
                    assert (one.links, one.pace, one.weights) == (way.links, way.pace, way.weights)
                    assert set(one.workers) == set(way.workers)


@pytest.mark.parametrize("seed", range(12))
def test_no_class_has_anything_but_placements(seed: int) -> None:
    """The bounds of each class are met: by counting its members, and by listing them."""
    for scope in scopes(seed):
        listed = {j: list(ways.values()) for j, ways in placements(scope).items()}
        for j, classes in placement_classes(scope).items():
            for one in classes.values():
                members = sum(one.contains(way.workers) for way in listed[j])
                assert members == count_of({s: one.more.get(s, 0) for s in one.more}, one.left)


def count_of(room: Mapping[str, int], left: int) -> int:
    """The number of ways to put `left` workers where there is room."""
    ways = {0: 1}
    for most in room.values():
        ways = {
            total: sum(ways.get(total - here, 0) for here in range(most + 1))
            for total in range(left + 1)
        }
    return ways.get(left, 0)


@pytest.mark.parametrize("seed", range(6))
def test_classes_are_counted_as_they_are_listed(seed: int) -> None:
    for i, scope in enumerate(scopes(seed)):
        wide = replace(scope, horizon=10**6)
        for j, (number, _) in number_of_classes(wide).items():
            listed = len(placement_classes(wide)[j])
            assert number >= listed  # Those that stall or miss a deadline are not listed.
            if i < 2:
                assert number == listed


RACKS = {"a1": 8, "a2": 4, "a3": 2, "b1": 8, "b2": 4, "b3": 4}
JOBS = (
    # GPUs, iterations, MB, batch, ms per sample, ms.
    *((8, 3000, 400, 32, 2, 120), (6, 4000, 300, 32, 1.5, 100), (4, 5000, 550, 32, 1.5, 90)),
    *((4, 2500, 440, 16, 4, 130), (3, 3500, 200, 32, 1, 80), (3, 2000, 100, 64, 1, 80)),
    *((12, 1500, 250, 32, 2, 150), (2, 6000, 100, 32, 1, 60), (2, 3000, 120, 32, 0.5, 50)),
    *((2, 4500, 500, 8, 9, 150), (1, 4000, 50, 64, 0.8, 70), (1, 2000, 60, 64, 0.8, 70)),
    *((5, 2500, 350, 32, 1, 100), (4, 3000, 450, 32, 2, 100)),
)


def two_racks() -> Instance:
    """14 jobs on six servers in two racks; one of them has 2,141 placements."""
    names = "gpus", "iterations", "gradient_mb", "batch_size", "forward_ms_per_sample"
    links = [
        {"node": s, "parent": f"rack {s[0]}", "gbps": 10 if s == "a3" else 25} for s in RACKS
    ] + [{"node": f"rack {rack}", "parent": "core", "gbps": 40} for rack in "ab"]
    return parse_instance(
        {
            "schema_version": 1,
            "name": "two racks",
            "time": {"slot_seconds": 60, "horizon": 200},
            "cluster": {
                "servers": [{"name": s, "gpus": gpus} for s, gpus in RACKS.items()],
                "network": {"kind": "tree", "links": links},
                "intra_server_gbps": 300,
                "reduction_gbps": 800,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.2},
                "overhead_ms_per_server": 2,
            },
            "jobs": [
                {"name": f"j{i}", "backward_ms": last} | dict(zip(names, numbers, strict=True))
                for i, (*numbers, last) in enumerate(JOBS)
            ],
        }
    )


def test_a_ring_of_twelve_on_six_servers_is_no_trouble() -> None:
    scope = scope_of(two_racks(), 21)
    assert max(map(len, placements(scope).values())) > 2000
    assert max(map(len, placement_classes(scope).values())) < 64
    model = TIME_INDEXED.build(scope)
    terms = sum(
        len(generate_standard_repn(one.body).linear_vars)
        for one in model.component_data_objects(pyo.Constraint)
    )
    assert terms <= 300_000
    assert terms <= TIME_INDEXED.size(scope) <= 4 * terms


def test_without_contention_a_model_has_no_rings_and_no_links() -> None:
    instance = two_racks()
    quiet = instance.model_copy(
        update={
            "contention": instance.contention.model_copy(update={"overhead_ms_per_server": 0.0}),
            "jobs": tuple(one.model_copy(update={"gradient_mb": 0.0}) for one in instance.jobs),
        }
    )
    scope = scope_of(quiet, 20)
    model = TIME_INDEXED.build(scope)
    for name in ("at_least", "reaches", "slowed", "work"):
        assert len(model.component(name)) == 0
    assert all(len(ways) == 1 for ways in placement_classes(scope).values())
    # Additions may refer to servers and links.
    whole = TIME_INDEXED.build(replace(scope, every_schedule=True))
    assert len(whole.at_least) > 0
    assert len(whole.placed) > len(model.placed)
