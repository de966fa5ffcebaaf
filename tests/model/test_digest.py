"""The digest by which an instance is recognised."""

from __future__ import annotations

from typing import Any

import pytest
from documents import Data, Path, instance_data, job_data, label, replaced
from hypothesis import given
from wide_instances import wide_instances

import rarmodel
from rarmodel.files import parse_instance, to_json
from rarmodel.model import instance_digest
from rarmodel.schema import Instance


def digest(data: Data) -> str:
    return instance_digest(parse_instance(data))


@pytest.mark.parametrize(
    ("name", "begins"), [("two-servers", "7fb21cea658b69b7"), ("paper-160", "5d7586184bba8f7f")]
)
def test_plain_instances_keep_the_digest_they_had_before_wider_ones(name: str, begins: str) -> None:
    assert instance_digest(rarmodel.load_instance(name)).startswith(begins)


def wide_data() -> Data:
    """Servers with types, a job that runs, a moldable one, and one to change."""
    data = instance_data(
        job_data("a", running={"gpus": {"s0": [0]}, "iterations_done": 2}),
        job_data("b", gpus=[1, 2], global_batch_size=8),
        job_data("c", gpus=2),
        servers=(2, 4),
    )
    del data["jobs"][1]["batch_size"]
    for server, kind in zip(data["cluster"]["servers"], ("A100", "V100"), strict=True):
        server["gpu_type"] = kind
    data["cluster"]["reservations"] = [{"server": "s1", "gpus": 1, "from": 2, "to": 4}]
    data["tenants"] = [{"name": "x", "gpus": 3}]
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("jobs", 2, "release"), -3),
        (("jobs", 2, "release"), 3),
        (("jobs", 2, "weight"), 2),
        (("jobs", 2, "due"), 9),
        (("jobs", 2, "due"), 0),
        (("jobs", 2, "deadline"), 20),
        (("jobs", 2, "tenant"), "x"),
        (("jobs", 2, "after"), ["b"]),
        (("jobs", 2, "servers"), ["s1"]),
        (("jobs", 2, "spread"), {"min_servers": 2}),
        (("jobs", 2, "spread"), {"max_servers": 1}),
        (("jobs", 2, "spread"), {"equal": True}),
        (("jobs", 1, "gpus"), [1, 3]),
        (("jobs", 1, "global_batch_size"), 9),
        (("jobs", 0, "running", "gpus"), {"s0": [1]}),
        (("jobs", 0, "running", "iterations_done"), 3),
        (("cluster", "servers", 0, "gpu_type"), "H100"),
        (("cluster", "servers", 0, "intra_server_gbps"), 100.0),
        (("cluster", "reservations", 0, "from"), 1),
        (("cluster", "reservations", 0, "to"), None),
        (("cluster", "reservations", 0, "gpus"), 2),
        (("cluster", "reservations", 0, "server"), "s0"),
        (("cluster", "prices_per_gpu_hour"), 2.0),
        (("cluster", "prices_per_gpu_hour"), {"A100": 2.0, "V100": 1.0}),
        (("tenants", 0, "gpus"), 2),
        (("objective",), "cost"),
        (("objective",), ["makespan", "cost"]),
        (("preemption",), {"restore_seconds": 0}),
        (("time", "horizon"), None),
    ],
    ids=label,
)
def test_every_new_field_changes_the_digest(path: Path, value: Any) -> None:
    assert digest(replaced(wide_data(), path, value)) != digest(wide_data())


def test_times_by_type_change_the_digest() -> None:
    data = wide_data()
    job = data["jobs"][2]
    times = {name: job.pop(name) for name in ("forward_ms_per_sample", "backward_ms")}
    job["times"] = {"A100": times, "V100": times}
    assert digest(data) != digest(wide_data())
    slower = replaced(data, ("jobs", 2, "times", "V100", "backward_ms"), 200.0)
    assert digest(slower) != digest(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("name",), "another"),
        (("description",), "for people"),
        (("time", "origin"), "2026-03-02T08:00:00"),
        (("cluster", "reservations", 0, "reason"), "maintenance"),
        (("jobs", 2, "release"), 0),
        (("jobs", 2, "weight"), 1),
        (("jobs", 2, "due"), None),
        (("jobs", 2, "after"), []),
        (("jobs", 2, "spread"), None),
        (("objective",), "makespan"),
        (("preemption",), None),
    ],
    ids=label,
)
def test_names_words_and_defaults_do_not_count(path: Path, value: Any) -> None:
    assert digest(replaced(wide_data(), path, value)) == digest(wide_data())


@given(instance=wide_instances())
def test_digest_of_a_file_is_that_of_its_instance(instance: Instance) -> None:
    assert instance_digest(parse_instance(to_json(instance))) == instance_digest(instance)
