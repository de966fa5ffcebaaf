"""Rings that must stay within one node of a level, and the links that rings use, by hand."""

from __future__ import annotations

import pytest
from documents import Data, assignment_data, instance_data, job_data, schedule_data

from rarmodel.files import parse_instance, parse_schedule
from rarmodel.verifier import Report, verify

NAMES = [f"s{i}" for i in range(5)]


def cluster(*jobs: Data, **fields: object) -> Data:
    """Two racks of two servers in a pod, and a server beside them that is in no rack."""
    data = instance_data(*jobs)
    data["cluster"]["servers"] = [{"name": name, "gpus": 2} for name in NAMES]
    above = {"s0": "r0", "s1": "r0", "s2": "r1", "s3": "r1", "s4": "pod"}
    links = [{"node": node, "parent": parent, "gbps": 10.0} for node, parent in above.items()]
    links += [{"node": r, "parent": "pod", "gbps": 10.0, "level": "rack"} for r in ("r0", "r1")]
    links += [{"node": "pod", "parent": "core", "gbps": 10.0}]
    data["cluster"]["network"] = {"kind": "tree", "links": links}
    data["objective"] = "total-links"
    return data | fields


def report_of(data: Data, *assignments: Data) -> Report:
    instance = parse_instance(data)
    return verify(instance, parse_schedule(schedule_data(*assignments)))


@pytest.mark.parametrize(
    ("gpus", "links"),
    [
        ({"s0": [0, 1]}, 0),
        ({"s0": [0], "s1": [0]}, 2),
        ({"s0": [0], "s2": [0]}, 4),
        ({"s0": [0], "s1": [0], "s2": [0]}, 5),
        ({"s0": [0], "s4": [0]}, 3),
        ({"s0": [0], "s1": [0], "s2": [0], "s3": [0], "s4": [0]}, 7),
    ],
)
def test_links_of_a_ring(gpus: dict[str, list[int]], links: int) -> None:
    data = cluster(job_data("a", gpus=sum(map(len, gpus.values()))))
    report = report_of(data, assignment_data("a", 0, **gpus))
    assert report.feasible
    assert report.objective == {"total-links": links}
    assert report.lines()["total-links"] == f"{links} links"


def test_a_job_counts_as_in_the_segment_that_uses_the_most_links() -> None:
    data = cluster(job_data("a", gpus=2, iterations=60), preemption={"restore_seconds": 0})
    near, far, packed = {"s0": [0], "s1": [0]}, {"s0": [0], "s2": [0]}, {"s0": [0, 1]}
    segments: list[Data] = [
        {"start": i, "end": i + 1, "gpus": gpus} for i, gpus in enumerate([near, far, packed])
    ]
    report = report_of(data, {"job": "a", "segments": [*segments, {"start": 3, "gpus": near}]})
    assert report.feasible
    assert report.objective == {"total-links": 4}


@pytest.mark.parametrize(
    ("gpus", "told"),
    [
        ({"s0": [0], "s1": [0]}, []),
        ({"s0": [0], "s2": [0]}, [(None, "job 'a' is below 'r0', 'r1'; it asks for one rack")]),
        (
            {"s0": [0], "s4": [0]},
            [("s4", "job 'a' is on server 's4', which lies below no rack; it asks for one rack")],
        ),
    ],
)
def test_within(gpus: dict[str, list[int]], told: list[tuple[str | None, str]]) -> None:
    data = cluster(job_data("a", gpus=2, spread={"within": "rack"}))
    report = report_of(data, assignment_data("a", 3, **gpus))
    assert [(v.constraint, v.slot) for v in report.violations] == [("within", 3)] * len(told)
    assert [(v.server, v.message) for v in report.violations] == told
