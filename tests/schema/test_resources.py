"""Resources (model, section 19): every fault with its place, and numbers read as decimals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from documents import Data, instance_data, job_data

from rarmodel.errors import InputError
from rarmodel.files import parse_instance, to_json
from rarmodel.schema.base import common_unit

POWER = {"name": "power_w", "capacity": 700}


def with_resources(*resources: Data, **fields: Any) -> Data:
    """Two jobs of one GPU, the first with the fields, and resources."""
    data = instance_data(job_data("a", **fields), job_data("b"))
    return {**data, "resources": list(resources)}


def window(start: int, end: int | None = None, capacity: float = 1) -> Data:
    ends = {} if end is None else {"to": end}
    return {"from": start, **ends, "capacity": capacity}


def stepped(*windows: Data) -> Data:
    return {"name": "power_w", "capacity": list(windows)}


FAULTS: list[tuple[str, Data, list[str]]] = [
    (
        "a resource twice",
        with_resources(POWER, POWER),
        ["resources[1].name: 'power_w' names two resources; names must be unique"],
    ),
    (
        "names that no resource has",
        with_resources(POWER, resources={"licence": 1, "a b": 2}, resources_per_gpu={"power": 1}),
        [
            "jobs[0].resources.licence: 'licence'; resources lists no such name",
            "jobs[0].resources[\"a b\"]: 'a b'; resources lists no such name",
            "jobs[0].resources_per_gpu.power: 'power'; resources lists no such name",
        ],
    ),
    (
        "numbers below 0, and none",
        with_resources(
            {"name": "x", "capacity": -1},
            resources={"x": -2},
            resources_per_gpu={"x": "much", "": 1},
        ),
        [
            "resources[0].capacity: -1; it must be at least 0",
            "jobs[0].resources.x: -2; it must be at least 0",
            "jobs[0].resources_per_gpu.x: 'much'; a number is expected",
            'jobs[0].resources_per_gpu[""]: an empty text; it must not be empty',
        ],
    ),
    (
        "no capacity, and no window",
        with_resources({"name": "x"}, {"name": "y", "capacity": []}, {"name": "", "capacity": 1}),
        [
            "resources[0].capacity: missing; this field is required",
            "resources[1].capacity: an empty list; at least one entry is expected",
            "resources[2].name: an empty text; it must not be empty",
        ],
    ),
    (
        "windows that overlap",
        with_resources(stepped(window(5, 9), window(0, 6), window(8), window(12, 13))),
        [
            (
                "resources[0].capacity[0].from: 5; window [1] holds until slot 6, and two must not "
                "overlap"
            ),
            (
                "resources[0].capacity[2].from: 8; window [0] holds until slot 9, and two must not "
                "overlap"
            ),
            (
                "resources[0].capacity[3].from: 12; window [2] holds for ever, and two must not "
                "overlap"
            ),
        ],
    ),
    (
        "windows that make no sense",
        with_resources(stepped(window(4, 4), {"from": -1, "to": 3, "capacty": 2})),
        [
            "resources[0].capacity[0].to: 4; it must be above from, 4",
            "resources[0].capacity[1].from: -1; it must be at least 0",
            (
                "resources[0].capacity[1].capacty: unknown field; 'capacity' is missing here, was "
                "it meant?"
            ),
        ],
    ),
    (
        "amounts with too many digits",
        with_resources(POWER, resources={"power_w": 1e9}, resources_per_gpu={"power_w": 1e-9}),
        [
            (
                "jobs[0].resources_per_gpu.power_w: 1e-09, beside what other jobs use of "
                "'power_w'; all amounts together must be below 2^53 times the greatest number of "
                "which each is a multiple, 1e-09"
            )
        ],
    ),
    (
        "faults of resources beside faults of jobs",
        with_resources(POWER, gpus=0, resources={"licence": 1}),
        ["jobs[0].gpus: 0; it must be at least 1"],
    ),
]


@pytest.mark.parametrize(
    ("data", "lines"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_each_fault_is_a_line_with_its_place(data: Data, lines: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    assert refused.value.lines() == lines


def test_unknown_resource_is_told_beside_the_fault_of_another_job() -> None:
    data = with_resources(POWER, resources={"licence": 1})
    data["jobs"][1]["gpus"] = 0
    with pytest.raises(InputError) as refused:
        parse_instance(data)
    assert refused.value.lines() == [
        "jobs[1].gpus: 0; it must be at least 1",
        "jobs[0].resources.licence: 'licence'; resources lists no such name",
    ]


def test_file_with_resources_round_trips() -> None:
    data = with_resources(
        POWER,
        {"name": "licence", "capacity": [window(3, 9, 2.5), window(9, capacity=0)]},
        resources={"licence": 1},
        resources_per_gpu={"power_w": 0.1},
    )
    instance = parse_instance(data)
    assert parse_instance(to_json(instance)) == instance
    dumped = instance.model_dump(mode="json", exclude_unset=True)
    assert dumped["resources"] == data["resources"]
    assert dumped["jobs"] == data["jobs"]
    assert [one.start for one in instance.resources[1].windows] == [3, 9]
    (always,) = instance.resources[0].windows
    assert (always.start, always.end, always.capacity) == (0, None, 700)


@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        ([0.1, 0.2, 0.3], Fraction(1, 10)),
        ([300, 450, 7500], Fraction(150)),
        ([0.25, 1e-3], Fraction(1, 1000)),
        ([0, 0], Fraction(1)),
        ([], Fraction(1)),
        ([1e30], Fraction(10**30)),
        ([2.5, 0], Fraction(5, 2)),
    ],
)
def test_unit_is_the_greatest_of_which_all_amounts_are_multiples(
    numbers: list[float], unit: Fraction
) -> None:
    assert common_unit(numbers) == unit
