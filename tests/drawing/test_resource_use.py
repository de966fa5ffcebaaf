"""Charts of what jobs use of resources over time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from documents import assignment_data, instance_data, job_data, schedule_of

import rarmodel
from rarmodel.drawing.drawing import draw
from rarmodel.drawing.resource_use import MOST_RESOURCES, drawn_resources, use_over_time
from rarmodel.errors import UsageError
from rarmodel.files import parse_instance
from rarmodel.schema import Instance
from rarmodel.verifier import verify

POWER = {"name": "power", "capacity": [{"from": 0, "to": 5, "capacity": 0.5}]}


def powered(*resources: dict[str, Any]) -> Instance:
    """Job a draws 0.4 for 2 slots, job b 0.1 for 3; job c uses nothing."""
    data = instance_data(
        job_data("a", gpus=2, iterations=20, resources_per_gpu={"power": 0.2}),
        job_data("b", iterations=30, resources={"power": 0.1}),
        job_data("c", iterations=10),
    )
    return parse_instance({**data, "resources": list(resources)})


SCHEDULE = schedule_of(
    assignment_data("a", 1, s0=[0, 1]),
    assignment_data("b", 2, s1=[0]),
    assignment_data("c", 0, s1=[1]),
)


def test_use_is_that_of_the_jobs_that_hold_gpus() -> None:
    instance = powered(POWER)
    drawing = draw(instance, SCHEDULE, verify(instance, SCHEDULE))
    (limit,) = drawn_resources(instance)
    slots, values = use_over_time(drawing, limit, drawing.end)
    assert slots.tolist() == [0, 1, 2, 3, 5, 5]
    assert values.tolist() == pytest.approx([0, 0.4, 0.5, 0.1, 0, 0])


def test_plot_and_page_have_a_chart_of_each_resource() -> None:
    text = json.dumps(rarmodel.plot(powered(POWER), SCHEDULE).to_dict())
    assert "use of power over time" in text
    assert "Use of power over time; dashed: capacity" in rarmodel.report(powered(POWER), [SCHEDULE])
    only = rarmodel.plot(powered(POWER), SCHEDULE, parts=["resources"])
    assert "GPUs held" not in json.dumps(only.to_dict())


def test_instance_without_resources_has_no_such_chart() -> None:
    data = instance_data(job_data("a", gpus=2), job_data("b"), job_data("c"))
    instance = parse_instance(data)
    assert " over time" not in json.dumps(rarmodel.plot(instance, SCHEDULE).to_dict())
    with pytest.raises(UsageError, match="no jobs of the instance use resources"):
        rarmodel.plot(instance, SCHEDULE, parts=["resources"])


def test_many_resources_have_a_chart_up_to_some_number() -> None:
    data = instance_data(job_data("a", resources={f"r{i}": 1 for i in range(20)}))
    resources = [{"name": f"r{i}", "capacity": 1} for i in range(20)]
    assert len(drawn_resources(parse_instance({**data, "resources": resources}))) == MOST_RESOURCES
