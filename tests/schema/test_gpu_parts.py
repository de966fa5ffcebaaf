"""Slices and memory of GPUs, and measured pairs, in files: what is refused, and what stays."""

from __future__ import annotations

from typing import Any

import pytest
from documents import instance_data, job_data

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, to_json
from rarmodel.model import instance_digest
from rarmodel.schema import Instance
from rarmodel.schema.cluster import MOST_PARTS

Data = dict[str, Any]


def data(*jobs: Data, servers: list[Data] | None = None, **cluster: Any) -> Data:
    """Jobs of one GPU on s0 and s1, of 2 GPUs each."""
    found = instance_data(*(job_data(f"j{i}") | job for i, job in enumerate(jobs)))
    for server, own in zip(found["cluster"]["servers"], servers or [], strict=False):
        server.update(own)
    found["cluster"] |= cluster
    return found


def refused(found: Data) -> list[str]:
    with pytest.raises(InputError) as error:
        parse_instance(found)
    return str(error.value).splitlines()


def running(*gpus: int, server: str = "s0") -> Data:
    return {"gpus": len(gpus), "running": {"gpus": {server: list(gpus)}, "iterations_done": 0}}


def test_fields_are_kept_as_written_and_absent_ones_stay_absent() -> None:
    own = {"slices": 3, "memory_gb": 10.1, "sensitivity": 0.5, "pressure": 2, "kind": "vision"}
    found = data(own, {}, servers=[{"gpu_slices": 7, "gpu_memory_gb": 80}], gpu_slices=2)
    found["colocation"] = [{"kind": "vision", "beside": "text", "slowdown": 1.5}]
    instance = parse_instance(found)
    first, second = instance.jobs
    assert (first.slices, first.memory_gb, first.sensitivity) == (3, 10.1, 0.5)
    assert (second.slices, second.memory_gb, second.kind) == (None, None, None)
    assert (second.sensitivity, second.pressure) == (1.0, 1.0)
    assert [*map(instance.cluster.slices_of, instance.cluster.servers)] == [7, 2]
    assert [*map(instance.cluster.memory_gb_of, instance.cluster.servers)] == [80.0, None]
    assert parse_instance(to_json(instance)) == instance
    assert to_json(instance).count("slices") == 3
    plain = parse_instance(data({}))
    assert "slices" not in to_json(plain)
    assert "colocation" not in to_json(plain)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("slices", 0, "0; it must be at least 1"),
        ("slices", 1.0, "1.0; a whole number is expected"),
        ("memory_gb", -1, "-1; it must be at least 0"),
        ("sensitivity", 1000.5, "1000.5; it must be at most 1000"),
        ("pressure", -0.1, "-0.1; it must be at least 0"),
        ("kind", "", "an empty text; it must not be empty"),
    ],
)
def test_other_values_of_a_job_are_a_line(field: str, value: Any, message: str) -> None:
    assert refused(data({field: value})) == [f"jobs[0].{field}: {message}"]


@pytest.mark.parametrize("value", [0, 65])
def test_a_gpu_has_1_to_64_slices(value: int) -> None:
    limit = "at least 1" if value == 0 else "at most 64"
    assert refused(data({}, gpu_slices=value)) == [
        f"cluster.gpu_slices: {value}; it must be {limit}"
    ]


@pytest.mark.parametrize(("value", "limit"), [(0.5, "at least 1"), (1e6 + 1, "at most 1e+06")])
def test_a_slowdown_is_1_to_a_million(value: float, limit: str) -> None:
    found = data({}) | {"colocation": [{"kind": "a", "beside": "b", "slowdown": value}]}
    (line,) = refused(found)
    assert line == f"colocation[0].slowdown: {value}; it must be {limit}"


def test_a_pair_is_given_once_but_may_be_given_the_other_way_round() -> None:
    pairs = [("a", "b"), ("b", "a"), ("a", "a"), ("a", "b")]
    found = data({})
    found["colocation"] = [{"kind": k, "beside": b, "slowdown": 2} for k, b in pairs]
    assert refused(found) == [
        (
            "colocation[3]: 'a' beside 'b' once more; entry [0] gives this pair, and each pair "
            "may be given once"
        )
    ]
    found["colocation"].pop()
    assert len(parse_instance(found).colocation) == 3


def test_a_job_that_no_gpu_has_slices_or_memory_for_is_a_line() -> None:
    found = data(
        {"slices": 5}, {"memory_gb": 80.5}, {"slices": 4, "servers": ["s1"]}, {"slices": 4},
        servers=[{"gpu_slices": 4, "gpu_memory_gb": 80}, {"gpu_memory_gb": 40}],
    )  # fmt: skip
    assert refused(found) == [
        (
            "jobs[0].slices: 5 slices; the GPUs of the servers that the job may use have 4 at most "
            "(gpu_slices)"
        ),
        (
            "jobs[1].memory_gb: 80.5 GB; the GPUs of the servers that the job may use have 80 at "
            "most (gpu_memory_gb)"
        ),
        (
            "jobs[2].slices: 4 slices; the GPUs of the servers that the job may use have 1 at most "
            "(gpu_slices)"
        ),
    ]


def test_a_ring_with_too_few_gpus_of_enough_slices_is_a_line() -> None:
    found = data({"slices": 2, "gpus": 3}, servers=[{"gpu_slices": 2}])
    assert refused(found) == [
        (
            "jobs[0].gpus: job 'j0' asks for 3 GPUs; the servers that it may use, with 2 GPUs, "
            "have no room for it"
        )
    ]


def test_running_jobs_conflict_where_slices_or_memory_are_exceeded() -> None:
    part = {"slices": 2, "memory_gb": 30}
    found = data(running(0) | part, running(0) | part, gpu_slices=4, gpu_memory_gb=60)
    parse_instance(found)
    less = data(running(0) | part, running(0) | part, gpu_slices=4, gpu_memory_gb=59.9)
    assert refused(less) == [
        (
            "jobs[1].running.gpus: GPU 0 of 's0'; running jobs need 60 GB of its memory, and it "
            "has 59.9"
        )
    ]
    fewer = data(running(0) | part, running(0) | part, gpu_slices=3)
    assert refused(fewer) == [
        "jobs[1].running.gpus: GPU 0 of 's0'; running jobs take 4 slices of it, and it has 3"
    ]


def test_running_jobs_without_slices_conflict_as_ever() -> None:
    taken = "jobs[1].running.gpus: GPU 0 of 's0'; running job 'j0' holds it already"
    assert refused(data(running(0), running(0), gpu_slices=4)) == [taken]
    assert refused(data(running(0), running(0) | {"slices": 1}, gpu_slices=4)) == [taken]
    twice = "jobs[0].running.gpus: GPU 0 of 's0'; it is listed twice"
    assert refused(data(running(0, 0) | {"slices": 1}, gpu_slices=4)) == [twice]


def test_a_running_job_is_on_gpus_that_hold_it() -> None:
    found = data(
        running(0) | {"slices": 2, "memory_gb": 50},
        servers=[{"gpu_slices": 1}, {"gpu_slices": 2}],
    )
    assert refused(found) == [
        (
            "jobs[0].running.gpus: 's0'; its GPUs have 1 slice (gpu_slices), and a worker of the "
            "job takes 2"
        )
    ]


def test_memory_is_added_in_whole_numbers() -> None:
    found = data({"memory_gb": 1e-20}, {"memory_gb": 1e3})
    assert refused(found) == [
        (
            "jobs[0].memory_gb: 1e-20, beside what other jobs need; the greatest need must be "
            "below 2^47 times the greatest number of which each is a multiple, 1e-20"
        )
    ]


def test_what_workers_hold_is_added_in_whole_numbers() -> None:
    servers = [{"name": f"s{i}", "gpus": 1, "gpu_slices": i} for i in (64, 63, 61, 59)]
    (line,) = refused(data({}) | {"cluster": data({})["cluster"] | {"servers": servers}})
    assert line.startswith("cluster.servers: the GPUs of servers have 59, 61, 63, 64 slices; the ")
    assert line.endswith("must be at most 2^20")
    assert MOST_PARTS == 2**20


def test_the_digest_sees_each_field() -> None:
    base = parse_instance(data({"slices": 1}, gpu_slices=2))
    others = [
        data({"slices": 2}, gpu_slices=2),
        data({"slices": 1}, gpu_slices=4),
        data({"slices": 1, "memory_gb": 1}, gpu_slices=2),
        data({"slices": 1, "sensitivity": 2}, gpu_slices=2),
        data({"slices": 1, "kind": "a"}, gpu_slices=2),
    ]
    digests = {instance_digest(parse_instance(one)) for one in others}
    assert len({*digests, instance_digest(base)}) == 6


def test_json_schema_has_the_ranges() -> None:
    schema = Instance.model_json_schema()["$defs"]
    assert schema["Cluster"]["properties"]["gpu_slices"]["maximum"] == 64
    assert schema["Job"]["properties"]["sensitivity"]["maximum"] == 1000
    assert schema["Colocated"]["properties"]["slowdown"]["minimum"] == 1
