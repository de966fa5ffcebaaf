"""Model profiles: names as traces write them, nearest batch and GPUs, and the seeded draw."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from traces import imported, rows

from rarmodel.model import plain_pace, topology
from rarmodel.model.sharing_rule import DUTY, UNITS
from rarmodel.workloads import Imported
from rarmodel.workloads.measured_pressures import measured_pressures
from rarmodel.workloads.model_profiles import (
    LICENCES,
    assigned_model,
    known_model,
    profile_of,
    profiles,
)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("vgg16", "vgg16"),
        ("VGG-16", "vgg16"),
        ("ResNet50", "resnet50"),
        ("ResNet-18", "resnet18_cifar10"),
        ("resnet18", "resnet18"),
        ("LM", "lstm_lm"),
        ("inception4", "inception_v4"),
        ("Recommendation", "recommendation"),
        ("ncf", "ncf"),
        ("chainermn", None),
        ("", None),
    ],
)
def test_names_of_traces_are_known(name: str, model: str | None) -> None:
    assert known_model(name) == model


def test_profile_is_that_of_batch_and_gpus() -> None:
    found = profile_of("vgg16", 8, 16)
    assert (found.compute_ms, found.gradient_mb, found.gpus) == (75, 553.43, 8)
    assert profile_of("vgg16", 9, 16) == found
    assert profile_of("vgg16", 8, None) == found


def test_other_batch_scales_the_nearest_in_proportion() -> None:
    nearest, found = profile_of("resnet50", 1, 128), profile_of("resnet50", 1, 256)
    assert found.batch_size == 256
    assert found.compute_ms == pytest.approx(2 * nearest.compute_ms)
    assert found.iteration_ms is None


def test_every_row_of_the_table_is_usable_and_unique() -> None:
    every = [row for found in profiles().values() for row in found]
    assert all(row.compute_ms > 0 and row.gradient_mb > 0 for row in every)
    keys = {(row.model, row.hardware, row.batch_size, row.gpus) for row in every}
    assert len(keys) == len(every)
    assert {(model, hardware, batch, 1) for model, hardware, batch, _ in keys} <= keys


def test_a_type_of_gpu_has_its_own_profile() -> None:
    alone = {kind: profile_of("bert", 4, 12, kind).compute_ms for kind in ("t4", "a100", "rtx6000")}
    assert alone["t4"] > alone["rtx6000"] > alone["a100"]
    assert profile_of("bert", 1, 12, "Tesla-T4").hardware == "T4"
    assert profile_of("bert", 1, 12).hardware == profile_of("bert", 1, 12, "K80").hardware == "V100"


def test_draw_is_pinned_and_spreads_over_measured_models() -> None:
    assert [assigned_model(0, f"j{k}") for k in range(4)] == PINNED
    drawn = Counter(assigned_model(5, str(k)) for k in range(2000))
    measured = {
        model
        for model, rows in profiles().items()
        if rows[0].measured and rows[0].hardware in {"V100", "A100"}
    }
    assert set(drawn) == measured
    assert min(drawn.values()) > 60


def test_models_that_were_measured_by_placement_have_an_error() -> None:
    every = [row for found in profiles().values() for row in found]
    assert all((row.error is not None) == (row.source == "Sia") for row in every)
    assert all(0 < row.error < 0.25 for row in every if row.error is not None)
    assert {row.source for row in every} <= LICENCES.keys()
    assert profile_of("bert", 4, 12, "T4").error == 0.069


def ring(gpus: int, model: str, rule: str, tmp_path: Path) -> Imported:
    """A job on a cluster whose contention is by that rule."""
    line = rows(f"a,0,{gpus},0,6000,,{model},32,")
    contention = {
        "concurrency": 1.0,
        "degradation": {"kind": "linear", "alpha": 0.1},
        "overhead_ms_per_server": 1.0,
        "model": rule,
    }
    rates = tmp_path / "rates.json"
    rates.write_text(json.dumps({"contention": contention}), encoding="utf-8")
    return imported(tmp_path / "t.csv", line, cluster=str(rates))


def test_measured_pressures_go_with_contention_by_duty(tmp_path: Path) -> None:
    made = ring(16, "MobileNetV3-Large", "duty", tmp_path).instance
    known, (job,) = measured_pressures()["mobilenet_v3_large"], made.jobs
    assert job.network_pressure == known.pressure
    assert job.network_sensitivity is not None
    # Over two servers its slowdown beside one of pressure 1 is the measured one.
    bare = job.model_copy(update={"network_pressure": None, "network_sensitivity": None})
    alone = plain_pace(made.model_copy(update={"jobs": (bare,)}), 0)
    duty = alone.weight(DUTY, 2, topology(made.cluster).links[0].gbps) / UNITS
    assert 0 < duty < 1
    assert job.network_sensitivity * duty == pytest.approx(known.sensitivity, rel=0.05)


@pytest.mark.parametrize(
    ("gpus", "model", "rule"),
    [
        (16, "mobilenet_v3_large", "count"),  # There they would be an error.
        (1, "mobilenet_v3_large", "duty"),
        (16, "resnet50", "duty"),  # Nobody has measured it.
    ],
)
def test_other_jobs_have_no_pressures(gpus: int, model: str, rule: str, tmp_path: Path) -> None:
    (job,) = ring(gpus, model, rule, tmp_path).instance.jobs
    assert (job.network_pressure, job.network_sensitivity) == (None, None)


def test_the_account_tells_known_errors_and_counts_the_others(tmp_path: Path) -> None:
    line = rows("a,0,16,0,6000,,deepspeech2,10,", "b,0,2,0,600,,vgg16,16,", "c,0,1,0,600,,bert,4,")
    account = imported(tmp_path / "t.csv", line).account
    assert account.lines()[-2] == (
        "error of profiles: deepspeech2 on T4 7.0%, "
        "nobody has measured 1 model over several servers"
    )


PINNED = ["inception_v3", "transformer", "resnet50", "vgg19"]
