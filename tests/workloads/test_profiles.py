"""Model profiles: names as traces write them, nearest batch and GPUs, and the seeded draw."""

from __future__ import annotations

from collections import Counter

import pytest

from rarmodel.workloads.model_profiles import assigned_model, known_model, profile_of, profiles


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
    rows = [row for found in profiles().values() for row in found]
    assert all(row.compute_ms > 0 and row.gradient_mb > 0 for row in rows)
    keys = {(row.model, row.hardware, row.batch_size, row.gpus) for row in rows}
    assert len(keys) == len(rows)
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


PINNED = ["inception_v3", "transformer", "resnet50", "vgg19"]
