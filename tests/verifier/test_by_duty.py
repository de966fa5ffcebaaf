"""Duties in the verifier, worked by hand."""

from __future__ import annotations

import pytest

from rarmodel.errors import InputError
from rarmodel.files import parse_instance
from rarmodel.schema import Instance
from rarmodel.verifier import Run, simulate


def instance(model: str, **contention: object) -> Instance:
    """Two jobs of 2 GPUs, which exchange for 1 s at 10 Gbit/s and compute for 1 s."""
    job = {"gpus": 2, "iterations": 1_000, "gradient_mb": 1250.0, "batch_size": 1}
    return parse_instance(
        {
            "schema_version": 1,
            "name": "by-hand",
            "time": {"slot_seconds": 1000.0, "horizon": 100},
            "cluster": {
                "servers": [{"name": "s0", "gpus": 2}, {"name": "s1", "gpus": 2}],
                "network": {"kind": "star", "gbps": 10.0},
                "intra_server_gbps": 1e9,
                "reduction_gbps": 1e30,
            },
            "contention": {
                "concurrency": 1.0,
                "degradation": {"kind": "linear", "alpha": 0.0},
                "overhead_ms_per_server": 0.0,
                "model": model,
                **contention,
            },
            "jobs": [
                {"name": name, **job, "forward_ms_per_sample": 0.0, "backward_ms": 1000.0}
                for name in ("a", "b")
            ],
        }
    )


@pytest.mark.parametrize(("model", "seconds"), [("count", 3.0), ("duty", 2.5)])
def test_a_ring_that_exchanges_half_of_its_time_counts_half(model: str, seconds: float) -> None:
    found = instance(model)
    runs = [Run(job, 0, {0: 1, 1: 1}) for job in found.jobs]
    (first, *_) = simulate(found, runs).periods
    assert first.rings["a"].iteration_seconds == pytest.approx(seconds, rel=1e-5)
    assert first.rings["a"].contention == 2  # The number of rings, whatever they count.
    assert first.links == {"s0": 2, "s1": 2}


def test_concurrency_and_degradation_apply_to_duties_too() -> None:
    found = instance("duty", concurrency=0.5, degradation={"kind": "linear", "alpha": 0.2})
    runs = [Run(job, 0, {0: 1, 1: 1}) for job in found.jobs]
    (first, *_) = simulate(found, runs).periods
    # k = 1 + 0.5·0.5 and f = k + 0.2·(k − 1).
    assert first.rings["a"].iteration_seconds == pytest.approx(1.0 + 1.25 + 0.05)


def test_a_ring_in_one_server_counts_nothing() -> None:
    found = instance("duty")
    runs = [Run(found.jobs[0], 0, {0: 1, 1: 1}), Run(found.jobs[1], 0, {0: 2})]
    (first, *_) = simulate(found, runs).periods
    assert first.rings["a"].bandwidth_gbps == 10.0


@pytest.mark.parametrize("model", ["weights", "duty-fixed-point"])
def test_an_unknown_model_is_one_line(model: str) -> None:
    with pytest.raises(InputError) as error:
        instance(model)
    assert str(error.value) == f"contention.model: {model!r}; 'count' or 'duty' is expected"
