"""Services (section 16) in files: every fault with its place, and what is read is written again."""

from __future__ import annotations

from typing import Any

import pytest
from documents import Data, schedule_data
from serving_instances import batch, demand, service, variant, with_services

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, parse_schedule, to_json
from rarmodel.model import instance_digest


def chat(*demands: Data, **fields: Any) -> Data:
    return with_services(service("chat", *(demands or [demand(0, 4, 10.0)]), **fields))


def on(data: Data, **cluster: Any) -> Data:
    """The same with other fields of the cluster."""
    return {**data, "cluster": {**data["cluster"], **cluster}}


FAULTS: list[tuple[str, Data, list[str]]] = [
    (
        "entries of demand that overlap",
        chat(demand(4, 8, 1.0), demand(0, 5, 1.0)),
        [
            "services[0].demand[0].from: 4; entry [1] holds until slot 5, and two must not overlap",
        ],
    ),
    (
        "ends before begins, slots below 0, rates below 0",
        chat(demand(4, 4, 1.0), demand(-1, 2, 1.0), demand(5, 6, -1.0)),
        [
            "services[0].demand[0].to: 4; it must be above from, 4",
            "services[0].demand[1].from: -1; it must be at least 0",
            "services[0].demand[2].requests_per_second: -1.0; it must be at least 0",
        ],
    ),
    (
        "an entry without an end",
        chat({"from": 0, "requests_per_second": 1}),
        ["services[0].demand[0].to: missing; this field is required"],
    ),
    (
        "an accuracy asked for that variants do not have",
        chat(min_accuracy=0.5, variants=[variant("a", accuracy=0.9), variant("b")]),
        ["services[0].variants[1].accuracy: missing; min_accuracy needs it"],
    ),
    (
        "slices of several GPUs",
        on(chat(variants=[variant("a", gpus=2, slices=1)]), gpu_slices=4),
        [
            "services[0].variants[0].slices: 1; a replica takes slices of one GPU, and gpus is 2",
        ],
    ),
    (
        "names twice",
        with_services(
            service("chat", demand(0, 1, 1.0), variants=[variant("a"), variant("a")]),
        ),
        ["services[0].variants[1].name: 'a' names two variants; names must be unique"],
    ),
    (
        "services twice, servers and tenants that are not there",
        with_services(
            service("chat", demand(0, 1, 1.0)),
            service("chat", demand(0, 1, 1.0), servers=["s0", "s9"], tenant="web"),
        ),
        [
            "services[1].name: 'chat' names two services; names must be unique",
            "services[1].servers[1]: 's9'; the cluster has no such server",
            "services[1].tenant: 'web'; tenants lists no such name",
        ],
    ),
    (
        "variants that no server can hold",
        on(
            chat(
                variants=[
                    variant("wide", gpus=3),
                    variant("typed", gpu_type="A"),
                    variant("sliced", slices=5),
                    variant("fat", memory_gb=41),
                ]
            ),
            gpu_slices=4,
            gpu_memory_gb=40,
        ),
        [
            "services[0].variants[0].gpus: 3; the largest server that it may use has 2 GPUs",
            (
                "services[0].variants[1].gpu_type: 'A'; the servers that the service may use have "
                "no gpu_type"
            ),
            (
                "services[0].variants[2].slices: 5; the GPUs of the servers that it may use have "
                "at most 4 (gpu_slices)"
            ),
            (
                "services[0].variants[3].memory_gb: 41; no GPU of the servers that it may use has "
                "as much (gpu_memory_gb)"
            ),
        ],
    ),
    (
        "a batch size twice, and none",
        chat(variants=[variant("a", batch(1, 2.0), batch(1, 3.0)), {"name": "b", "batches": []}]),
        [
            "services[0].variants[0].batches[1].size: 1; entry [0] has this size already",
            "services[0].variants[1].batches: an empty list; at least one entry is expected",
        ],
    ),
    (
        "a misspelt field",
        chat(min_acuracy=0.5),
        ["services[0].min_acuracy: unknown field; was 'min_accuracy' meant?"],
    ),
]


@pytest.mark.parametrize(("case", "data", "lines"), FAULTS, ids=[case for case, *_ in FAULTS])
def test_every_fault_is_named(case: str, data: Data, lines: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        parse_instance(data)
    assert caught.value.lines() == lines


def test_what_is_read_is_written_again() -> None:
    data = chat(
        demand(0, 4, 10.5),
        demand(4, 8, 0),
        min_accuracy=0.5,
        variants=[variant("a", accuracy=0.9, startup_seconds=1.5)],
        servers=["s1"],
    )
    instance = parse_instance(data)
    assert parse_instance(to_json(instance)) == instance
    assert '"from": 4' in to_json(instance)
    schedule = parse_schedule(
        {
            **schedule_data(),
            "services": [
                {"service": "chat", "variant": "a", "from": 0, "to": 8, "gpus": {"s1": [1]}}
            ],
        }
    )
    assert parse_schedule(to_json(schedule)) == schedule


def test_a_variant_may_be_too_slow_or_too_poor_as_that_is_for_the_verifier_to_say() -> None:
    slow = variant("slow", batch(1, 1000.0), accuracy=0.1)
    assert parse_instance(chat(variants=[slow], min_accuracy=0.9)).services[0].variants


def test_services_are_part_of_what_an_instance_is() -> None:
    one, other = chat(demand(0, 4, 10.0)), chat(demand(0, 4, 11.0))
    assert instance_digest(parse_instance(one)) != instance_digest(parse_instance(other))
