"""Each change does what it says, leaves the rest of the file as it is, and says what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from documents import instance_data, job_data

from rarmodel import InputError, Instance
from rarmodel.changes import changed, parse_alternatives
from rarmodel.files import parse_instance


def cluster() -> dict[str, Any]:
    """Four servers of two types in two racks, with everything that a change can touch."""
    names = ("s0", "s1", "s2", "s3")
    links = [
        {"node": name, "parent": f"r{i // 2}", "gbps": 10.0} for i, name in enumerate(names)
    ] + [{"node": f"r{i}", "parent": "core", "gbps": 20.0, "level": "rack"} for i in range(2)]
    jobs = [
        job_data("a", times={"old": {"forward_ms_per_sample": 4.0, "backward_ms": 8.0}}),
        job_data("b", release=9, due=20, deadline=30, tenant="t", resources={"licence": 1.0}),
        job_data("c", servers=["s2", "s3"]),
    ]
    for field in ("forward_ms_per_sample", "backward_ms"):
        jobs[0].pop(field, None)
    data = instance_data()
    data["jobs"] = jobs
    data["cluster"] |= {
        "servers": [
            {"name": name, "gpus": 4, "gpu_type": "old" if i < 2 else "new"}
            for i, name in enumerate(names)
        ],
        "network": {"kind": "tree", "links": links},
        "prices_per_gpu_hour": {"old": 1.0, "new": 2.0},
        "reservations": [{"server": "s3", "gpus": 1, "from": 3, "to": 5}],
    }
    data["time"] |= {"origin": "2026-03-02T06:00:00", "slot_seconds": 3600.0, "horizon": 60}
    data["tenants"] = [{"name": "t", "gpus": 4}]
    data["resources"] = [{"name": "licence", "capacity": 2.0}]
    return data


@pytest.fixture
def instance() -> Instance:
    return parse_instance(cluster())


def made(instance: Instance, text: str) -> Instance:
    (alternative,), problems = parse_alternatives([text])
    assert not problems
    return changed(instance, alternative)


def differences(one: Any, other: Any, place: str = "") -> dict[str, tuple[Any, Any]]:
    """Places at which two instances differ, with what is there."""
    if isinstance(one, dict) and isinstance(other, dict):
        found: dict[str, tuple[Any, Any]] = {}
        for key in {**one, **other}:
            found |= differences(one.get(key), other.get(key), f"{place}.{key}".lstrip("."))
        return found
    listed = isinstance(one, list | tuple) and isinstance(other, list | tuple)
    if listed and one and isinstance(one[0], dict):
        found = {}
        for i in range(max(len(one), len(other))):
            before, after = (some[i] if i < len(some) else None for some in (one, other))
            found |= differences(before, after, f"{place}[{i}]")
        return found
    return {} if one == other else {place: (one, other)}


def told(instance: Instance, text: str) -> dict[str, Any]:
    """What is new after a change, by place."""
    after = made(instance, text)
    found = differences(instance.model_dump(), after.model_dump())
    return {place: new for place, (_, new) in found.items()}


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("network-gbps=25", {f"cluster.network.links[{i}].gbps": 25.0 for i in range(4)}),
        ("links.rack=x3", {f"cluster.network.links[{i}].gbps": 60.0 for i in (4, 5)}),
        (
            "network=x0.5",
            {f"cluster.network.links[{i}].gbps": 5.0 if i < 4 else 10.0 for i in range(6)},
        ),
        ("intra-server-gbps=7", {"cluster.intra_server_gbps": 7.0}),
        ("tenant.t=2", {"tenants[0].gpus": 2}),
        ("tenant.t=x1.6", {"tenants[0].gpus": 6}),
        ("tenant.t=none", {"tenants[0].gpus": None}),
        ("resource.licence=5", {"resources[0].capacity": 5.0}),
        ("resource.licence=x2", {"resources[0].capacity": 4.0}),
        ("price.old=3", {"cluster.prices_per_gpu_hour.old": 3.0}),
        (
            "price=x2",
            {"cluster.prices_per_gpu_hour.old": 2.0, "cluster.prices_per_gpu_hour.new": 4.0},
        ),
        ("arrivals=x2", {"jobs[1].release": 4, "jobs[1].due": 15, "jobs[1].deadline": 25}),
        ("preemption=30", {"preemption": {"restore_seconds": 30.0}}),
        ("policy=srtf", {}),
        (
            "gpu-type=old:fast:x2,price.fast=9",
            {
                "cluster.servers[0].gpu_type": "fast",
                "cluster.servers[1].gpu_type": "fast",
                "cluster.prices_per_gpu_hour.fast": 9.0,
                "jobs[0].times.old": None,
                "jobs[0].times.fast": {"forward_ms_per_sample": 2.0, "backward_ms": 4.0},
            },
        ),
    ],
)
def test_a_change_leaves_the_rest_as_it_is(
    instance: Instance, text: str, new: dict[str, Any]
) -> None:
    found = told(instance, text)
    times = [place for place in found if place.startswith(("jobs[1].times", "jobs[2].times"))]
    for place in times:  # Jobs with one time for all types have one for each now.
        found.pop(place)
    if times:
        found = {p: one for p, one in found.items() if not p.endswith(("_sample", "_ms"))}
    assert found == new


def test_a_job_with_one_time_for_all_types_is_faster_on_the_new_one() -> None:
    data = cluster()
    data["jobs"] = data["jobs"][1:]
    after = made(parse_instance(data), "gpu-type=old:fast:x2,price.fast=9").jobs[0]
    plain = parse_instance(data).jobs[0].milliseconds()
    assert after.milliseconds("new") == plain
    assert after.milliseconds("fast") == (plain[0] / 2, plain[1] / 2)


def test_all_gpus_are_faster(instance: Instance) -> None:
    after = made(instance, "gpu-speed=x4")
    for job, other in zip(instance.jobs, after.jobs, strict=True):
        assert other.milliseconds("old") == tuple(one / 4 for one in job.milliseconds("old"))
        assert other.iterations == job.iterations


def test_new_servers_are_like_their_model(instance: Instance) -> None:
    after = made(instance, "servers=+1:s2")
    assert after.cluster.servers[-1].gpu_type == "new"
    assert after.cluster.network.links[-1].model_dump() == {  # type: ignore[union-attr]
        "node": "new-1",
        "parent": "r1",
        "gbps": 10.0,
        "level": None,
    }
    assert after.jobs[2].servers == ("s2", "s3", "new-1")
    assert after.jobs[:2] == instance.jobs[:2]


def test_new_servers_go_where_few_are() -> None:
    data = cluster()
    data["jobs"] = data["jobs"][1:2]
    for server in data["cluster"]["servers"]:
        server["gpu_type"] = "old"
    data["cluster"]["network"]["links"][2]["parent"] = "r0"
    after = made(parse_instance(data), "servers=+3")
    parents = [link.parent for link in after.cluster.network.links[-3:]]  # type: ignore[union-attr]
    assert parents == ["r1", "r1", "r0"]


def test_a_server_that_is_down_leaves_everywhere(instance: Instance) -> None:
    after = made(instance, "down=s3")
    assert [server.name for server in after.cluster.servers] == ["s0", "s1", "s2"]
    assert after.cluster.reservations == ()
    assert after.jobs[2].servers == ("s2",)
    assert made(instance, "servers=-1") == after
    assert after.jobs[:2] == instance.jobs[:2]


@pytest.mark.parametrize(("interval", "left"), [(1, 2), (2, 3), (None, 5)])
def test_a_job_that_ran_on_a_server_that_is_down_begins_from_its_last_checkpoint(
    interval: int | None, left: int
) -> None:
    data = instance_data()
    data["jobs"][0] |= {
        "iterations": 5,
        "checkpoint_iterations": interval,
        "running": {"gpus": {"s0": [0, 1]}, "iterations_done": 3},
    }
    after = made(parse_instance(data), "down=s0").jobs[0]
    assert (after.running, after.iterations) == (None, left)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("reserve=s0:2@5..9", [("s0", 2, 5, 9)]),
        ("reserve=s0:all@5..", [("s0", 4, 5, None)]),
        ("reserve=s0:1@2026-03-02T07:30..2026-03-02T09:30", [("s0", 1, 1, 4)]),
        (
            "reserve=s1:2@08:00..20:00",
            [("s1", 2, 2, 14), ("s1", 2, 26, 38), ("s1", 2, 50, 62)],
        ),
        (
            "reserve=s1:2@20:00..07:00",
            [("s1", 2, 0, 1), ("s1", 2, 14, 25), ("s1", 2, 38, 49)],
        ),
        ("reserve=all:1@0..1", [(f"s{i}", 1, 0, 1) for i in range(4)]),
    ],
)
def test_reservations(instance: Instance, text: str, spans: list[tuple[Any, ...]]) -> None:
    after = made(instance, text)
    new = after.cluster.reservations[1:]
    assert [(one.server, one.gpus, one.start, one.end) for one in new] == spans


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("servers=4", "change 'servers=4': '4'; +4 or -2 is expected"),
        ("servers=+2", "the servers are not alike, such as 's0', 's2'"),
        ("servers=-9", "there are 4 such servers; 9 cannot leave"),
        ("servers=+1:s9", "'s9' is no type and no server; types are 'old', 'new', and servers"),
        ("servers=+999999999999:s0", "a cluster has at most 10,000,000 GPUs"),
        ("down=s9", "no server 's9'; there are 's0', 's1', 's2', 's3'"),
        ("down=s2,down=s3", "down: jobs 'c' may use no other server"),
        ("down=s0,down=s1", "down: jobs 'a' run on no type of GPU that would be left"),
        ("network-gbps=fast", "'fast'; a number above 0 or a factor such as x2 is expected"),
        ("network=5", "'5'; a factor such as x1.5 is expected"),
        ("links.rak=5", "no level rak; choose from rack; was 'rack' meant?"),
        ("gpu-type=old:fast", "jobs 'a', 'b', 'c' have no times on 'fast'; say how much faster"),
        ("gpu-type=old", "'old'; a100:h100 or a100:h100:x1.8 is expected"),
        ("gpu-type=olld:fast:x2", "no GPU type olld; choose from old, new; was 'old' meant?"),
        ("gpu-type=old:fast:x2", "cluster.prices_per_gpu_hour: no price for GPU type 'fast'"),
        ("price=2", "prices are by type"),
        ("price.odd=x2", "type 'odd' has no price"),
        ("tenant.u=3", "no tenant u; choose from t"),
        ("tenant.t=2.5", "'2.5'; a whole number of GPUs is expected"),
        ("resource.power=3", "no resource power; choose from licence"),
        ("reserve=s0:9@0..5", "at slot 0, 9 GPUs of server 's0' are away at once; it has 4"),
        ("reserve=s0@0..5", "'s0@0..5'; s0:8@0..600,"),
        ("reserve=s0:1@9..5", "'5'; a whole number of at least 10 is expected"),
        ("reserve=s0:1@2026-13-02..5", "'2026-13-02'; s0:8@0..600,"),
        ("reserve=s0:1@2026-03-01..2026-03-02", "is before slot 0"),
        ("arrivals=2", "'2'; a factor such as x1.5 is expected"),
        ("preemption=x2", "jobs are not interrupted; give seconds instead of a factor"),
    ],
)
def test_what_is_wrong_is_said(instance: Instance, text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        made(instance, text)
    (line,) = refused.value.lines()
    assert said in line
    assert f"change {text!r}" in line


def test_every_problem_of_the_grammar_is_found_at_once() -> None:
    _, problems = parse_alternatives(
        [
            *("foo=1,network-gbps", "", "policy=srft", "tenant=4"),
            *("network=x2,network=x3", "down=a", "down=a"),
        ]
    )
    said = [problem.message for problem in problems]
    starts = [
        *("no change foo; choose from servers,", "network-gbps has no value; network-gbps=100"),
        *("it is empty; a change such as servers=+4", "no policy 'srft'; choose one of"),
        *("tenant says not which; tenant.NAME=16", "network is given twice", "it is given twice"),
    ]
    assert len(said) == len(starts)
    assert all(one.startswith(start) for one, start in zip(said, starts, strict=True)), said
