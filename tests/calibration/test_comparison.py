"""Models of contention on made measurements: by hand, fitted, tested and refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from made_runs import CONSTANTS, LOSSY, RATES, made, rows_of

import rarmodel
from rarmodel.calibration import Measurement, Rates
from rarmodel.calibration.beside import runs_of
from rarmodel.calibration.contention_models import MODELS
from rarmodel.calibration.measurement_table import made_measurements
from rarmodel.errors import InputError

ONE_MB_MS = 80.0
"""Exchange of 1 MB between two workers at 0.1 Gbit/s."""

FITTED = ("count", "duty", "max-min by duty")
"""Models that every run finds again among all; the factors of each are worked out by hand."""

Change = Callable[[list[dict[str, Any]]], None]


def levels(model: str, *rings: tuple[str, float, float], **constants: float) -> list[float]:
    """By how much each of some rings is slowed."""
    runs = runs_of(made_measurements(rows_of(list(rings))), Rates(**RATES))
    values = {"concurrency": 1.0, "alpha": 0.0, "overhead_ms_per_server": 0.0, **constants}
    return [round(float(factor), 3) for factor in MODELS[model](runs, values)]


def only(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Compare one model, as fits of the others take long."""
    chosen = {model: MODELS[model]}
    monkeypatch.setattr("rarmodel.calibration.model_comparison.MODELS", chosen)


TWO_THAT_COMPUTE = ("01", 1.0, ONE_MB_MS), ("01", 1.0, ONE_MB_MS)
ACROSS = ("01", 1.0, 0.0), ("12", 1.0, 0.0), ("23", 1.0, 0.0)


@pytest.mark.parametrize(
    ("model", "compute", "across"),
    [
        ("count", [2, 2], [2, 2, 2]),
        ("duty", [1.5, 1.5], [2, 2, 2]),
        ("duty-fixed-point", [1.618, 1.618], [2, 2, 2]),
        ("max-min", [2, 2], [2, 2, 2]),
        ("max-min by duty", [1.5, 1.5], [2, 2, 2]),
        ("proportional", [2, 2], [1.5, 3, 1.5]),
        ("proportional by duty", [1.5, 1.5], [1.5, 3, 1.5]),
    ],
)
def test_models_by_hand(model: str, compute: list[float], across: list[float]) -> None:
    assert levels(model, *TWO_THAT_COMPUTE) == compute
    assert levels(model, *ACROSS) == across


@pytest.mark.parametrize("model", MODELS)
def test_a_lone_ring_and_one_within_a_server_are_not_slowed(model: str) -> None:
    constants = {"concurrency": 0.5, "alpha": 1.0}
    assert levels(model, ("01", 1.0, 0.0), ("23", 1.0, 5.0), **constants) == [1, 1]
    inner = rows_of([("", 1.0, 0.0), ("01", 1.0, 0.0), ("01", 1.0, 0.0)])
    runs = runs_of(made_measurements(inner), Rates(**RATES, intra_server_gbps=10.0))
    constants = {"concurrency": 1.0, "alpha": 0.1, "overhead_ms_per_server": 0.0}
    factors = MODELS[model](runs, constants)
    assert factors[0] == 1
    assert factors[1] == factors[2] == pytest.approx(2.1)


@pytest.mark.parametrize(
    ("model", "constants"),
    [
        *(
            pytest.param(model, CONSTANTS, marks=() if model in FITTED else pytest.mark.slow)
            for model in MODELS
        ),
        pytest.param("duty", LOSSY, marks=pytest.mark.slow),
        ("proportional by duty", LOSSY),
    ],
)
def test_a_model_explains_what_it_made_and_finds_its_constants(
    model: str, constants: dict[str, float]
) -> None:
    compared = rarmodel.compare_models(made(model, constants), rates=RATES)
    found = {one.model: one for one in compared.models}
    assert found[model].constants == pytest.approx(constants, rel=0.01, abs=1e-3)
    assert found[model].fit.worst < 1e-3
    assert found[model].test.worst < 1e-3
    others = [one.test.mean for name, one in found.items() if name != model]
    assert min(others) > 10 * found[model].test.mean


def test_by_duty_rings_that_share_worse_than_equally_have_a_cost_alpha(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, "duty")
    both = {"concurrency": 0.8, "alpha": 0.5, "overhead_ms_per_server": 0.5}
    compared = rarmodel.compare_models(made("duty", both), rates=RATES)
    found = {one.model: one for one in compared.models}["duty"]
    # (1 + 0.5)·0.8 = 1.2 = (1 + 0.2)·1
    assert found.constants == pytest.approx({**both, "concurrency": 1.0, "alpha": 0.2}, rel=0.01)
    assert found.test.worst < 1e-3


def test_errors_are_those_of_the_rows() -> None:
    found = rarmodel.compare_models(made("duty", noise=0.1), rates=RATES)
    for one in found.models:
        for errors, rows in ((one.fit, one.fitted), (one.test, one.tested)):
            sizes = [abs(row.predicted / row.measured - 1) for row in rows]
            assert errors.worst == max(sizes)
            assert errors.mean == pytest.approx(sum(sizes) / len(sizes))


def test_given_constants_stay() -> None:
    given = {"concurrency": 0.7, "alpha": 0.3, "overhead_ms_per_server": 1.0}
    for name in given:
        part = {key: value for key, value in given.items() if key != name}
        for one in rarmodel.compare_models(made("duty"), rates=RATES, contention=part).models:
            assert one.constants.items() >= part.items()
    (first, *_) = rarmodel.compare_models(made("duty"), rates=RATES, contention=given).models
    assert first.constants == given


def test_rates_of_an_instance_are_used() -> None:
    problem = rarmodel.load_instance("two-servers")
    found = rarmodel.compare_models(made("duty"), instance=problem, rates=RATES)
    assert found.rates.network_gbps == 0.1
    assert found.rates.reduction_gbps == problem.cluster.reduction_gbps


def test_without_parts_half_of_the_runs_are_fitted_and_runs_stay_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    only(monkeypatch, "count")
    rows = [{**row, "part": None} for row in made("count")]
    first, again, other = (
        rarmodel.compare_models(rows, rates=RATES, seed=seed).models[0] for seed in (0, 0, 1)
    )
    assert first.fitted == again.fitted != other.fitted
    run_of = {line: row["run"] for line, row in enumerate(rows, 1)}
    halves = [{run_of[row.line] for row in part} for part in (first.fitted, first.tested)]
    assert not halves[0] & halves[1]
    assert [len(half) for half in halves] == [10, 10]


def _drop(field: str) -> Change:
    return lambda rows: rows[1].pop(field)


def _put(field: str, value: object) -> Change:
    return lambda rows: rows[1].update({field: value})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_drop("run"), "line 2: no run; its name is expected, to know what ran beside"),
        (
            _drop("compute_ms"),
            "line 2: no compute_ms; it is expected, to know how often a ring exchanges",
        ),
        (
            _put("network_gbps", 1.0),
            "line 2: network_gbps; one rate for all links is expected, as an option",
        ),
        (_put("links", ""), "line 2: no links; a ring on 2 servers uses some"),
        (_put("links", " "), "line 2: no links; a ring on 2 servers uses some"),
        (_put("concurrent_jobs", 3), "line 2: concurrent_jobs 3; by the run's links it is 2"),
        (_put("part", "test"), "line 2: run 'fit 0' is in several parts; one is expected"),
        (_put("servers", 1), "line 2: links '0 1'; a ring on one server uses none"),
    ],
)
def test_rows_that_cannot_be_compared_are_refused(change: Change, problem: str) -> None:
    rows = rows_of([("01", 1.0, 0.0)] * 2, part="fit") + rows_of([("01", 1.0, 0.0)], part="test")
    change(rows)
    with pytest.raises(InputError) as caught:
        rarmodel.compare_models(rows, rates=RATES)
    assert f"measurements: {problem}" in caught.value.lines()


@pytest.mark.parametrize("part", ["fit", "test"])
def test_a_table_of_one_part_is_refused(part: str) -> None:
    other = "test" if part == "fit" else "fit"
    with pytest.raises(InputError, match=f"no runs to {other}; at least one to fit and one to"):
        rarmodel.compare_models(rows_of([("01", 1.0, 0.0)] * 2, part=part), rates=RATES)


def test_runs_without_contention_cannot_be_fitted() -> None:
    rows = [
        *rows_of([("01", 1.0, 0.0)], part="fit"),
        *rows_of([("01", 1.0, 0.0)] * 2, part="test"),
    ]
    with pytest.raises(InputError, match="measurements, runs to fit: the rows determine none of"):
        rarmodel.compare_models(rows, rates=RATES, contention={"overhead_ms_per_server": 0.0})


def test_a_row_without_part_among_others_is_refused() -> None:
    rows = [*made("count"), *rows_of([("01", 1.0, 0.0)])]
    with pytest.raises(InputError, match=rf"line {len(rows)}: no part; other rows have one"):
        rarmodel.compare_models(rows, rates=RATES)


def test_picture_has_a_panel_for_each_model() -> None:
    pytest.importorskip("altair")
    from rarmodel.drawing import image_of, models_chart

    chart = models_chart(rarmodel.compare_models(made("duty"), rates=RATES))
    drawn = image_of(chart, "svg").decode()
    for model in MODELS:
        assert drawn.count(f">{model}<") == 1


def test_columns_for_comparisons_change_nothing_else() -> None:
    row = rows_of([("01", 1.0, 0.0)] * 2, part="fit")[0]
    plain = {key: value for key, value in row.items() if key not in {"run", "links", "part"}}
    assert Measurement(**row).measured == Measurement(**plain).measured
