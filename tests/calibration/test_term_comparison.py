"""Terms on measured GPUs: constants found again, parts that no fit has seen, and sections."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_tables import JOBS, RATES, all_reduces, pairs, steps

import rarmodel
from rarmodel.calibration import PublishedTable, TermComparison, compare_terms, read_published
from rarmodel.calibration.published_tables import Step
from rarmodel.calibration.scoped_fit import fit_scoped
from rarmodel.calibration.term_comparison import EARNED, _held_out
from rarmodel.calibration.term_questions import asked_of
from rarmodel.errors import InputError, UsageError

WITH_TERMS: Any = {"overlap": 2.0, "latency_ms": 0.2, "overhead_ms_per_server": 1.0}


def values_of(found: TermComparison, name: str) -> dict[tuple[str | None, str | None], float]:
    return {(one.cluster, one.job): one.value for one in found.constants if one.name == name}


def earning(found: TermComparison) -> list[str]:
    return [one.term for one in found.terms if one.earns]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> TermComparison:
    return rarmodel.compare_terms(
        steps(tmp_path_factory.mktemp("made") / "steps.csv", **WITH_TERMS)
    )


def test_constants_of_steps_are_found_again(found: TermComparison) -> None:
    assert earning(found) == ["(8)", "overlap", "latency"]
    # Two of the three gradients are known, so rates come out in Gbit/s.
    for name, place in (("intra_server_gbps", 0), ("network_gbps", 1)):
        expected = {(cluster, None): rates[place] for cluster, rates in RATES.items()}
        assert values_of(found, name) == pytest.approx(expected, rel=0.15)
    gradients = {(None, job): mb for job, (mb, _, _) in JOBS.items()}
    assert values_of(found, "gradient_mb") == pytest.approx(gradients, rel=0.1)
    for value in values_of(found, "overlap").values():
        assert value == pytest.approx(2.0, rel=0.15)
    for value in values_of(found, "latency_ms").values():
        assert value == pytest.approx(0.2, rel=0.3)
    assert found.best.mean < 0.03


def test_true_values_are_within_a_few_standard_errors(found: TermComparison) -> None:
    errors = [
        (one.value - WITH_TERMS[one.name]) / one.standard_error
        for one in found.constants
        if one.name in WITH_TERMS and one.standard_error
    ]
    assert len(errors) == 6
    assert max(map(abs, errors)) < 4


def test_without_terms_in_the_world_none_is_kept(tmp_path: Path) -> None:
    found = rarmodel.compare_terms(steps(tmp_path / "steps.csv", overhead_ms_per_server=1.0))
    assert earning(found) == ["(8)"]
    assert all("does not earn" in verdict for verdict in found.verdicts)


def test_constants_of_all_reduces_are_found_again(tmp_path: Path) -> None:
    made = all_reduces(
        tmp_path / "made.csv", network_cards=4.0, latency_ms=0.02, overhead_ms_per_server=0.05
    )
    found = rarmodel.compare_terms(made)
    assert earning(found) == ["(8)", "network cards", "latency"]
    assert values_of(found, "network_cards") == {("box", None): 4}
    assert values_of(found, "network_gbps")["box", None] == pytest.approx(160, rel=0.03)
    assert values_of(found, "latency_ms")["box", None] == pytest.approx(0.02, rel=0.1)
    assert found.across == ()
    applied = found.applied(rarmodel.load_instance("two-servers"))
    assert {server.network_cards for server in applied.cluster.servers} == {4}
    assert applied.contention.latency_ms == pytest.approx(0.02, rel=0.1)
    assert applied.contention.concurrency == 1.0


def test_sensitivity_and_pressure_are_found_again(tmp_path: Path) -> None:
    found = rarmodel.compare_terms(pairs(tmp_path / "pairs.csv"))
    assert earning(found)[-1] == "sensitivity × pressure"
    profiles = found.sections()["profiles"]
    products = [
        (one["network_sensitivity"] * one["network_pressure"], (0.1 + 0.1 * i) * (1.0 - 0.1 * i))
        for i, one in enumerate(profiles.values())
    ]
    for value, expected in products:
        assert value == pytest.approx(expected, rel=0.1)
    with pytest.raises(UsageError, match="no cluster; an instance takes constants of one"):
        found.applied(rarmodel.load_instance("two-servers"))


def changed(table: PublishedTable, rows: list[int]) -> PublishedTable:
    """The table with absurd times in some rows."""
    return replace(
        table,
        rows=tuple(
            row.model_copy(update={"step_seconds": 1e3 * row.step_seconds})
            if i in rows and isinstance(row, Step)
            else row
            for i, row in enumerate(table.rows)
        ),
    )


def test_no_fit_has_seen_the_part_that_it_predicts(tmp_path: Path) -> None:
    table = read_published(str(steps(tmp_path / "steps.csv", **WITH_TERMS)))
    asks = asked_of(table, 0)
    names = asks.terms[0].constants
    part = [int(i) for i in np.flatnonzero(asks.folds == 2)]
    before = _held_out(asks, names)[part]
    after = _held_out(asked_of(changed(table, part), 0), names)[part]
    assert list(before) == list(after)


def test_steps_of_a_placement_are_in_one_part_and_those_on_one_gpu_in_none(tmp_path: Path) -> None:
    table = read_published(str(steps(tmp_path / "steps.csv")))
    parts: dict[tuple[str, tuple[int, ...]], set[int]] = {}
    for row, part in zip(table.rows, asked_of(table, 3).folds, strict=True):
        assert isinstance(row, Step)
        parts.setdefault((row.cluster, row.gpus_by_server), set()).add(int(part))
    assert {len(one) for one in parts.values()} == {1}
    alone = {part for (_, placed), (part,) in parts.items() if placed == (1,)}
    assert alone == {-1}


def test_fits_are_repeatable(tmp_path: Path) -> None:
    table = read_published(str(pairs(tmp_path / "pairs.csv")))
    first, second = (compare_terms(table).summary() for _ in range(2))
    assert first == second
    other = compare_terms(table, seed=1).summary()
    assert other["constants"] == first["constants"]
    assert other["terms"] != first["terms"]


def test_rows_far_off_do_not_decide(tmp_path: Path) -> None:
    table = read_published(str(steps(tmp_path / "steps.csv", **WITH_TERMS)))
    asks, all_rows = asked_of(table, 0), np.arange(len(table.rows))
    names = (*asks.terms[0].constants, "overlap", "latency_ms")
    sound = fit_scoped(asks.question(names, all_rows), all_rows)
    odd = asked_of(changed(table, [10]), 0)
    off = fit_scoped(odd.question(names, all_rows), all_rows)
    assert off.values["network_gbps"] == pytest.approx(sound.values["network_gbps"], rel=0.1)


def test_another_table_is_tested(tmp_path: Path) -> None:
    made = steps(tmp_path / "steps.csv", **WITH_TERMS)
    again = steps(tmp_path / "again.csv", seed=5, **WITH_TERMS)
    found = rarmodel.compare_terms(made, test=again)
    assert sum(one.rows for one in found.tested) == len(found.rows) + 12
    assert max(one.mean for one in found.tested) < 0.04
    strange = tmp_path / "strange.csv"
    strange.write_text(again.read_text(encoding="utf-8").replace("mine", "yours"), encoding="utf-8")
    with pytest.raises(InputError, match="line 46: 'yours'; no row of"):
        rarmodel.compare_terms(made, test=strange)
    with pytest.raises(InputError, match="pairs of jobs; step times by placement are expected"):
        rarmodel.compare_terms(made, test=pairs(tmp_path / "pairs.csv"))


def test_a_term_that_is_kept_lowers_the_mean(found: TermComparison) -> None:
    kept = [one.mean for one in found.terms if one.earns]
    assert all(later < (1 - EARNED) * earlier for earlier, later in pairwise(kept))
    assert found.best.mean == min(kept)


def test_sections_by_cluster_and_profiles(found: TermComparison) -> None:
    clusters = found.sections()["clusters"]
    assert clusters.keys() == RATES.keys()
    near = clusters["near"]
    assert near["cluster"]["network"]["kind"] == "star"
    assert near["contention"].keys() == {
        *("concurrency", "degradation", "overhead_ms_per_server", "latency_ms", "overlap")
    }
    profile = near["profiles"]["vgg16"]
    assert profile.keys() == {"gradient_mb", "forward_ms_per_sample", "backward_ms"}
    with pytest.raises(UsageError, match="several clusters"):
        found.applied(rarmodel.load_instance("two-servers"))


def test_one_cluster_leaves_no_other_to_learn_from(tmp_path: Path) -> None:
    made = steps(tmp_path / "steps.csv")
    lines = made.read_text(encoding="utf-8").splitlines()
    one = tmp_path / "one.csv"
    one.write_text("\n".join(line for line in lines if "far" not in line), encoding="utf-8")
    assert rarmodel.compare_terms(one).across == ()


def test_errors_across_clusters(found: TermComparison) -> None:
    assert [(one.cluster, one.measured) for one in found.across] == [
        ("near", "vgg16"),
        ("far", "vgg16"),
    ]
    assert all(one.rows == 40 for one in found.across)
