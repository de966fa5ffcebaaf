"""Rings that nobody slows, in racks: kept within one where they must, and where links count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from documents import instance_data, job_data

from rarmodel.files import parse_instance
from rarmodel.limits import Limits
from rarmodel.lists.list_schedules import ListSchedules
from rarmodel.lists.network_parts import MOST_PARTS
from rarmodel.lists.order_search import STARTS, OrderSearch
from rarmodel.lists.placement_options import NARROWED
from rarmodel.lists.server_bits import as_truths
from rarmodel.model import topology
from rarmodel.schema import Instance
from rarmodel.verifier import require_feasible


def racks(*jobs: dict[str, Any], count: int = 4, objective: Any = "makespan") -> Instance:
    """Racks of four servers with 8 GPUs each; the servers of a rack do not stand together."""
    data = instance_data(*jobs, servers=(8,) * (4 * count), horizon=200)
    names = [server["name"] for server in data["cluster"]["servers"]]
    links = [
        {"node": name, "parent": f"r{i % count}", "gbps": 10.0} for i, name in enumerate(names)
    ]
    links += [
        {"node": f"r{i}", "parent": "core", "gbps": 40.0, "level": "rack"} for i in range(count)
    ]
    data["cluster"]["network"] = {"kind": "tree", "links": links}
    return parse_instance(data | {"objective": objective})


def wide(name: str, gpus: int = 16, **fields: Any) -> dict[str, Any]:
    return job_data(name, gpus=gpus, gradient_mb=0.0, **fields)


@pytest.mark.parametrize("rule", STARTS, ids=lambda rule: rule.name)
@pytest.mark.parametrize("count", [4, MOST_PARTS + 1])
def test_rules_keep_rings_within_a_rack(rule: Any, count: int) -> None:
    jobs = [wide(f"j{i}", gpus=20 + i % 8, spread={"within": "rack"}) for i in range(2 * count)]
    instance = racks(*jobs, count=count)
    schedule = rule(instance, Limits()).schedule
    assert schedule is not None
    report = require_feasible(instance, schedule)
    # One ring fits a rack at a time.
    assert len(set(report.completion.values())) == 2


@pytest.mark.parametrize("objective", ["total-links", ["makespan", "total-links"]])
def test_search_puts_a_ring_that_nobody_slows_on_two_servers_of_one_rack(objective: Any) -> None:
    instance = racks(wide("a"), wide("b", gpus=12), objective=objective)
    search = OrderSearch(instance, Limits(threads=1), "search")
    search.run(None, iterations=10)
    assert search.best.schedule is not None
    report = require_feasible(instance, search.best.schedule)
    assert report.objective is not None
    assert report.objective["total-links"] == 4
    assert search.best.values[-1] == 4.0
    tree = topology(instance.cluster)
    names = {server.name: s for s, server in enumerate(instance.cluster.servers)}
    for one in search.best.schedule.assignments:
        used = {tree.links[tree.paths[names[name]][1]].node for name in one.gpus}
        assert len(one.gpus) == 2
        assert len(used) == 1


def test_rings_may_choose_their_rack_where_racks_are_few() -> None:
    one = ListSchedules(racks(wide("a", spread={"within": "rack"})))
    many = ListSchedules(racks(wide("a", spread={"within": "rack"}), count=MOST_PARTS + 1))
    for lists, racks_alone in (one, 4), (many, 0):
        options = lists.arrays.options
        servers = as_truths(options.sets, len(lists.arrays.server_gpus)).sum(axis=1)
        narrow = servers[options.allowed] == 4
        assert narrow.sum() == racks_alone * len(NARROWED)
        # Any other ring is below one of the racks.
        rows = options.queue_switches[options.queue[~narrow]]
        length = np.diff(options.switch_at)[rows]
        assert set(length.tolist()) == {4 if racks_alone else MOST_PARTS + 1}
