"""The frontier of services: each point is the cheapest of all mixes, and none left is worse."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest
from depth import first
from serving_instances import (
    batch,
    cheapest_without_startup,
    demand,
    random_serving,
    service,
    variant,
    with_services,
)

import rarmodel
from rarmodel.errors import InputError, UsageError
from rarmodel.files import parse_instance
from rarmodel.model.services import why_unanswerable


def chat(**fields: object) -> dict[str, object]:
    """10 slots of 90 requests a second, by a good variant on two GPUs and a poor one on one."""
    good = variant("good", batch(1, 20.0), batch(4, 50.0), gpus=2, accuracy=0.9)
    poor = variant("poor", batch(1, 20.0), accuracy=0.5)
    return with_services(service("chat", demand(0, 10, 90.0), variants=[good, poor], **fields))


def test_by_hand_speed_and_accuracy_cost_gpus() -> None:
    """Within 40 ms a replica answers 50, within 100 ms the good one 80."""
    found = rarmodel.frontier(chat(), latencies_ms=[40, 100], accuracies=[0.5, 0.9])
    hours = {(one.latency_ms, one.min_accuracy): one.cost for one in found.points}
    assert hours == {
        (40, 0.5): Fraction(2 * 10, 3600),
        (40, 0.9): Fraction(4 * 10, 3600),
        (100, 0.5): Fraction(2 * 10, 3600),
        (100, 0.9): Fraction(4 * 10, 3600),
    }
    kept = [(one.latency_ms, one.min_accuracy) for one in found.efficient]
    assert kept == [(40, 0.5), (40, 0.9)]
    assert [row["efficient"] for row in found.rows()] == [True, True, False, False]


def test_by_default_latencies_are_those_at_which_another_batch_counts() -> None:
    found = rarmodel.frontier(chat(min_accuracy=0.7))
    assert sorted({one.latency_ms for one in found.points}) == [40.0, 100.0]
    asked = sorted({one.min_accuracy or 0 for one in found.points})
    assert asked == [0.5, 0.6, 0.7, 0.8, 0.9]


def test_what_no_replicas_answer_says_why() -> None:
    found = rarmodel.frontier(chat(), latencies_ms=[39], accuracies=[0.5])
    (point,) = found.points
    assert point.cost is None
    assert point.why.startswith("service 'chat': no variant answers within 39 ms")
    assert found.efficient == ()


@pytest.mark.parametrize("seed", first(4, range(40)))
def test_each_point_is_the_cheapest_of_all_mixes(seed: int) -> None:
    instance = random_serving(Random(seed), servers=6)
    for point in rarmodel.frontier(instance, latencies_ms=[60, 100]).points:
        (one,) = instance.services
        asked = one.model_copy(
            update={"latency_ms": point.latency_ms, "min_accuracy": point.min_accuracy}
        )
        alone = instance.model_copy(update={"services": (asked,)})
        if point.cost is not None:
            assert point.cost >= cheapest_without_startup(alone, asked)
            roomy = alone.model_copy(update={"cluster": _roomy(instance)})
            (same,) = rarmodel.frontier(
                roomy,
                latencies_ms=[point.latency_ms],
                accuracies=[] if point.min_accuracy is None else [point.min_accuracy],
            ).points
            assert same.cost == cheapest_without_startup(roomy, asked)
        else:
            assert why_unanswerable(alone) or "find no room" in point.why


def _roomy(instance: rarmodel.Instance) -> object:
    """The cluster with ten times as many GPUs on each server."""
    cluster = instance.cluster
    servers = tuple(one.model_copy(update={"gpus": 10 * one.gpus}) for one in cluster.servers)
    return cluster.model_copy(update={"servers": servers})


def test_wrong_questions_are_refused_in_a_line() -> None:
    plain = variant("plain", batch(1, 20.0))
    served = with_services(service("chat", demand(0, 1, 1.0), variants=[plain]))
    cases: list[tuple[dict[str, object], str]] = [
        ({"services": ["mail"]}, "no service 'mail'; the instance has 'chat'"),
        ({"latencies_ms": [0]}, "latency 0 ms; it must be above 0"),
        ({"accuracies": [0.5]}, "some variant has no accuracy"),
    ]
    for fields, line in cases:
        with pytest.raises(UsageError, match=line):
            rarmodel.frontier(served, **fields)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="has no services"):
        rarmodel.frontier("two-servers")
    with pytest.raises((UsageError, InputError, TypeError)):
        rarmodel.frontier(served, latencies_ms=["fast"])  # type: ignore[list-item]


def test_without_accuracies_any_will_do() -> None:
    plain = variant("plain", batch(1, 20.0))
    served = parse_instance(with_services(service("chat", demand(0, 9, 60.0), variants=[plain])))
    (point,) = rarmodel.frontier(served, latencies_ms=[50]).points
    assert point.min_accuracy is None
    assert (point.replicas, point.gpus) == (2, Fraction(2))
