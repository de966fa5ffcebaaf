"""Levels of links, and jobs that stay within one node of a level (model, section 18)."""

from __future__ import annotations

from typing import Any

import pytest
from documents import Data, instance_data, job_data

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import instance_digest, used
from rarmodel.schema import Spread


def lines_of(data: Data) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    return refused.value.lines()


def link(node: str, parent: str, level: str | None = None) -> Data:
    return {"node": node, "parent": parent, "gbps": 10.0} | ({"level": level} if level else {})


def racks(*jobs: Data, servers: int = 4, links: tuple[Data, ...] = ()) -> Data:
    """Racks of two servers with two GPUs each, below a core."""
    data = instance_data(*jobs)
    data["cluster"]["servers"] = [{"name": f"s{i}", "gpus": 2} for i in range(servers)]
    own = [link(f"s{i}", f"r{i // 2}") for i in range(servers)]
    above = [link(f"r{i}", "core", "rack") for i in range(servers // 2)]
    data["cluster"]["network"] = {"kind": "tree", "links": [*own, *(links or above)]}
    return data


def within(level: Any, **spread: Any) -> Data:
    return {"spread": {"within": level, **spread}}


def test_a_level_and_a_job_within_it_are_read_and_written() -> None:
    instance = parse_instance(racks(job_data("a", gpus=3, **within("rack"))))
    assert instance.cluster.levels() == ("rack",)
    assert instance.cluster.nodes_at("rack") == {"s0": "r0", "s1": "r0", "s2": "r1", "s3": "r1"}
    assert parse_instance(to_json(instance)) == instance
    assert used(instance)["levels"] == "jobs[0].spread.within"


def test_a_file_without_levels_keeps_its_digest() -> None:
    plain, named = (
        parse_instance(racks(job_data("a"), links=links))
        for links in (
            (link("r0", "core"), link("r1", "core")),
            (link("r0", "core", "rack"), link("r1", "core", "rack")),
        )
    )
    assert "level" not in to_json(plain)
    assert instance_digest(plain) != instance_digest(named)


def test_the_link_of_a_server_may_have_a_level() -> None:
    data = racks(job_data("a", gpus=2, **within("host")))
    for one in data["cluster"]["network"]["links"][:4]:
        one["level"] = "host"
    instance = parse_instance(data)
    assert instance.cluster.levels() == ("host", "rack")
    assert instance.cluster.nodes_at("host")["s2"] == "s2"


def test_nodes_of_a_level_below_one_another_are_all_told() -> None:
    links = (
        *(link("r0", "p0", "rack"), link("r1", "p0", "rack")),
        *(link("p0", "q", "pod"), link("q", "core", "rack")),
    )
    assert lines_of(racks(job_data("a"), links=links)) == [
        *(
            f"cluster.network.links[{i}].level: 'rack'; node 'r{i - 4}' lies below 'q', which has "
            "this level; nodes of one level lie beside each other"
            for i in (4, 5)
        )
    ]


def test_levels_that_no_link_has_are_told_with_other_faults() -> None:
    data = racks(
        job_data("a", **within("row")), job_data("b", after=["c"]), job_data("c", **within("rack"))
    )
    data["jobs"][1]["after"] = ["d"]
    assert lines_of(data) == [
        "jobs[1].after[0]: 'd'; there is no such job",
        "jobs[0].spread.within: 'row'; no link has this level; their levels are 'rack'",
    ]


def test_a_star_has_no_levels() -> None:
    line = "jobs[0].spread.within: 'rack'; no link has this level, as no link has a level"
    assert lines_of(instance_data(job_data("a", **within("rack")))) == [line]
    data = instance_data()
    data["cluster"]["network"]["level"] = "rack"
    assert lines_of(data) == ["cluster.network.level: unknown field; remove it or correct its name"]


def test_a_ring_that_no_rack_has_room_for() -> None:
    assert lines_of(racks(job_data("a", gpus=5, **within("rack")))) == [
        (
            "jobs[0].gpus: job 'a' asks for 5 GPUs on any number of servers within one rack; the "
            "servers that it may use, with 2, 2, 2, 2 GPUs, have no room for it"
        )
    ]
    there = racks(job_data("a", gpus=3, servers=["s0", "s2"], **within("rack")))
    assert lines_of(there)[0].startswith("jobs[0].gpus: job 'a' asks for 3 GPUs")
    below_none = racks(
        job_data("a", servers=["s3"], **within("rack")),
        links=(
            link("r0", "core", "rack"),
            link("r1", "core"),
        ),
    )
    assert "have no room for it" in lines_of(below_none)[0]


def test_a_running_job_is_within_its_level() -> None:
    def job(*servers: str) -> Data:
        running = {"gpus": {name: [0] for name in servers}, "iterations_done": 1}
        return job_data("a", gpus=len(servers), iterations=9, running=running, **within("rack"))

    parse_instance(racks(job("s0", "s1")))
    assert lines_of(racks(job("s1", "s2"))) == [
        "jobs[0].running.gpus: on servers that do not lie within one rack, as the job asks for"
    ]


def test_words() -> None:
    assert Spread(within="rack").told() == "any number of servers within one rack"
    assert Spread(max_servers=1, within="pod").told() == "1 server within one pod"
