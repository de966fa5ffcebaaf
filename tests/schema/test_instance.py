"""Instances: what makes one meaningless, and the JSON Schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from documents import Data, instance_data, job_data, replaced, tree_data
from pydantic import ValidationError

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.schema import Instance


def lines_of(data: Data) -> list[str]:
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    return refused.value.lines()


def test_fields_are_read_as_they_stand() -> None:
    instance = parse_instance(instance_data(job_data("a", gpus=3, iterations=40)))
    assert instance.name == "example"
    assert instance.description is None
    assert instance.time.horizon == 20
    assert instance.jobs[0].size == 3
    assert instance.jobs[0].backward_ms == 100.0


def test_second_and_third_job_of_a_name_are_a_line_each() -> None:
    data = instance_data(*(job_data(name) for name in ("a", "b", "a", "a")))
    assert lines_of(data) == [
        "jobs[2].name: 'a' names two jobs; names must be unique",
        "jobs[3].name: 'a' names two jobs; names must be unique",
    ]


def test_job_larger_than_the_cluster_is_one_line_with_both_sizes() -> None:
    data = instance_data(job_data("a", gpus=4), job_data("big", gpus=5))
    assert lines_of(data) == ["jobs[1].gpus: job 'big' asks for 5 GPUs; the cluster has 4"]


def test_job_as_large_as_the_cluster_is_accepted() -> None:
    parse_instance(instance_data(job_data("a", gpus=4)))


def test_repeated_names_and_too_large_jobs_are_listed_together() -> None:
    data = instance_data(job_data("a", gpus=9), job_data("a"))
    assert lines_of(data) == [
        "jobs[1].name: 'a' names two jobs; names must be unique",
        "jobs[0].gpus: job 'a' asks for 9 GPUs; the cluster has 4",
    ]


def test_meaningless_network_and_repeated_jobs_are_listed_together() -> None:
    data = tree_data(("s0", "a"), ("s1", "a"), ("a", "a"))
    data["jobs"][1]["name"] = "a"
    assert lines_of(data) == [
        "cluster.network.links[2]: a cycle, 'a' → 'a'; a tree has none",
        "jobs[1].name: 'a' names two jobs; names must be unique",
    ]


def test_same_name_for_a_job_and_a_server_is_accepted() -> None:
    parse_instance(instance_data(job_data("s0")))


def test_slot_too_short_is_one_line_naming_job_and_time() -> None:
    data = replaced(instance_data(), ("time", "slot_seconds"), 0.09)
    (line,) = lines_of(data)
    assert line == (
        "time.slot_seconds: 0.09; slot too short for jobs 'a', 'b': alone in its best placement "
        "an iteration takes 0.1 s, and a slot must hold one"
    )


def test_slot_that_just_holds_an_iteration_is_accepted() -> None:
    parse_instance(replaced(instance_data(), ("time", "slot_seconds"), 0.1))


def test_a_running_job_without_progress_is_one_line_with_its_placement() -> None:
    held = {"gpus": {"s0": [0, 1], "s1": [1]}, "iterations_done": 1}
    jobs = [job_data("a", gpus=3, gradient_mb=4000.0, running=held), job_data("b", gpus=1)]
    data = instance_data(*jobs)
    (line,) = lines_of(data)
    assert line == (
        "jobs[0].running.gpus: job 'a' makes no progress where it runs, on 's0' (2 GPUs) and 's1' "
        "(1 GPU): an iteration takes 4.42 s there even without other rings, a slot has 1 s and "
        "must hold one, and jobs are not interrupted"
    )


def test_best_placement_decides_whether_a_slot_is_too_short() -> None:
    # 2·125 MB·8e6·(1/2) = 1e9 bit: 0.005 s at 200 Gbit/s within a server, 0.1 s at 10 across.
    ring = job_data("a", gpus=2, gradient_mb=125.0, backward_ms=0.0)
    data = instance_data(ring, servers=[2, 2])
    parse_instance(replaced(data, ("time", "slot_seconds"), 0.01))
    data = instance_data(ring, servers=[1, 1])
    (line,) = lines_of(replaced(data, ("time", "slot_seconds"), 0.01))
    assert line.startswith("time.slot_seconds: 0.01; slot too short for job 'a': ")


def test_iteration_that_takes_no_time_is_one_line_at_the_job() -> None:
    data = instance_data(job_data("a"), job_data("b", backward_ms=0.0))
    assert lines_of(data) == ["jobs[1]: an iteration of job 'b' takes 0 s; it must take more"]


def test_overhead_is_time_enough() -> None:
    data = instance_data(job_data("a", backward_ms=0.0))
    parse_instance(replaced(data, ("contention", "overhead_ms_per_server"), 1e-3))


def test_extreme_but_allowed_numbers_neither_overflow_nor_divide_by_zero() -> None:
    largest, least = 1e30, 1e-30
    rings = [job_data(name, gpus=2, gradient_mb=largest) for name in "abcd"]
    data = instance_data(*rings, servers=[2] * 8)
    data["contention"]["degradation"]["alpha"] = largest
    data["contention"]["overhead_ms_per_server"] = largest
    data["cluster"].update(intra_server_gbps=least, reduction_gbps=least)
    data["cluster"]["network"]["gbps"] = least
    (line,) = lines_of(data)
    assert line.startswith("time.slot_seconds: 1.0; slot too short for jobs 'a', 'b', 'c', 'd'")
    data["cluster"].update(intra_server_gbps=largest, reduction_gbps=largest)
    data["contention"]["overhead_ms_per_server"] = 0.0
    data["time"]["slot_seconds"] = largest
    parse_instance(data)


@pytest.mark.parametrize("description", ["", "two\nlines", None])
def test_description_is_any_text_or_null(description: str | None) -> None:
    data = {**instance_data(), "description": description}
    assert parse_instance(data).description == description


def test_python_objects_are_checked_as_files_are() -> None:
    with pytest.raises(ValidationError, match="names two jobs"):
        Instance.model_validate(instance_data(job_data("a"), job_data("a")))


def test_instances_are_equal_by_value() -> None:
    assert parse_instance(instance_data()) == parse_instance(instance_data())
    assert parse_instance(instance_data()) != parse_instance(instance_data(horizon=21))


def objects_in(schema: Any) -> list[dict[str, Any]]:
    found = []
    if isinstance(schema, dict):
        found = [schema] if schema.get("type") == "object" and "properties" in schema else []
        schema = list(schema.values())
    if isinstance(schema, list):
        found += [inner for value in schema for inner in objects_in(value)]
    return found


def test_json_schema_refuses_unknown_fields_and_describes_every_field() -> None:
    objects = objects_in(Instance.model_json_schema())
    assert len(objects) >= 8
    for schema in objects:
        assert schema["additionalProperties"] is False
        for field in schema["properties"].values():
            assert field["description"]


def test_json_schema_has_the_ranges() -> None:
    schema = Instance.model_json_schema()
    definitions = schema["$defs"]
    assert schema["properties"]["schema_version"]["const"] == 1
    one, several = definitions["Job"]["properties"]["gpus"]["oneOf"]
    assert one["type"] == "integer"
    assert one["minimum"] == several["items"]["minimum"] == several["minItems"] == 1
    assert definitions["Time"]["properties"]["slot_seconds"]["minimum"] > 0
    assert definitions["Contention"]["properties"]["concurrency"]["exclusiveMinimum"] == 0
    assert definitions["Contention"]["properties"]["concurrency"]["maximum"] == 1
    number, null = definitions["Job"]["properties"]["backward_ms"]["anyOf"]
    assert number["minimum"] == 0
    assert null == {"type": "null"}
    assert definitions["Job"]["properties"]["weight"]["minimum"] == 1
    assert definitions["Reservation"]["properties"]["from"]["minimum"] == 0
    assert schema["properties"]["jobs"]["minItems"] == 1
    assert definitions["Server"]["properties"]["name"]["minLength"] == 1


def test_json_schema_requires_what_has_no_default() -> None:
    schema = Instance.model_json_schema()
    optional = {"colocation", "description", "objective", "preemption", "resources", "services"}
    optional.add("tenants")
    assert set(schema["properties"]) - set(schema["required"]) == optional
    assert schema["$defs"]["Reservation"]["required"] == ["server", "gpus", "from"]
    assert schema["$defs"]["Time"]["required"] == ["slot_seconds"]
    assert schema["$defs"]["Cluster"]["required"] == [
        *("servers", "network", "intra_server_gbps", "reduction_gbps")
    ]


TIMES = {"A100": {"forward_ms_per_sample": 1.0, "backward_ms": 2.0}}


@pytest.mark.parametrize(
    ("left_out", "added", "valid"),
    [
        ([], {}, True),
        ([], {"gpus": [1, 2]}, False),
        (["batch_size"], {"gpus": [1, 2], "global_batch_size": 8}, True),
        (["batch_size"], {"gpus": [1, 2]}, False),
        (["batch_size"], {"global_batch_size": 8}, True),
        ([], {"global_batch_size": 8}, False),
        ([], {"global_batch_size": None}, True),
        ([], {"batch_size": None, "global_batch_size": 8}, True),
        (["batch_size"], {}, False),
        ([], {"times": TIMES}, False),
        ([], {"times": None}, True),
        (["backward_ms"], {"times": TIMES}, False),
        (["forward_ms_per_sample", "backward_ms"], {"times": TIMES}, True),
        (["forward_ms_per_sample", "backward_ms"], {}, False),
        (["backward_ms"], {}, False),
    ],
)
def test_json_schema_and_rarmodel_agree_on_fields_that_stand_in_for_others(
    left_out: list[str], added: Data, valid: bool
) -> None:
    data = instance_data()
    for server in data["cluster"]["servers"]:
        server["gpu_type"] = "A100"
    for name in left_out:
        del data["jobs"][0][name]
    data["jobs"][0].update(added)
    validator = jsonschema.Draft202012Validator(Instance.model_json_schema())
    assert validator.is_valid(data) == valid
    if valid:
        parse_instance(data)
    else:
        assert all(line.startswith("jobs[0].") for line in lines_of(data))
